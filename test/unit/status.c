/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <string.h>

static void codes_have_names(void **state)
{
    (void)state;
    assert_string_equal(weft_code_name(WEFT_OK), "OK");
    assert_string_equal(weft_code_name(WEFT_INTERNAL), "INTERNAL");
    assert_string_equal(weft_code_name(WEFT_CODE_COUNT), "UNKNOWN");
    assert_string_equal(weft_code_name((weft_code)-1), "UNKNOWN");
    for (int i = 0; i < WEFT_CODE_COUNT; i++) assert_true(strlen(weft_code_name((weft_code)i)) > 0);
}

static void null_is_success(void **state)
{
    (void)state;
    assert_int_equal(weft_status_code(NULL), WEFT_OK);
    assert_string_equal(weft_status_message(NULL), "");
    assert_string_equal(weft_status_where(NULL), "");
    assert_null(weft_status_clone(NULL, NULL));
    weft_status_destroy(NULL);
}

static void a_status_carries_code_place_and_sentence(void **state)
{
    (void)state;
    weft_status *status = weft_status_create(NULL, WEFT_OUT_OF_RANGE, "here", "axis %d of %s", 3, "x");
    assert_int_equal(weft_status_code(status), WEFT_OUT_OF_RANGE);
    assert_string_equal(weft_status_message(status), "axis 3 of x");
    assert_string_equal(weft_status_where(status), "here");
    weft_status *clone = weft_status_clone(NULL, status);
    weft_status_destroy(status);
    assert_int_equal(weft_status_code(clone), WEFT_OUT_OF_RANGE);
    assert_string_equal(weft_status_message(clone), "axis 3 of x");
    assert_string_equal(weft_status_where(clone), "here");
    weft_status_destroy(clone);
}

static void an_error_is_never_ok(void **state)
{
    (void)state;
    weft_status *status = weft_status_create(NULL, WEFT_OK, NULL, "%s", "");
    assert_int_equal(weft_status_code(status), WEFT_INTERNAL);
    assert_string_equal(weft_status_where(status), "");
    weft_status_destroy(status);
}

static void one_block_holds_everything(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_status *status = weft_status_create(&test.allocator, WEFT_NOT_FOUND, "where", "%2000d", 1);
    assert_int_equal(strlen(weft_status_message(status)), 2000);
    assert_int_equal(atomic_load(&test.blocks), 1);
    weft_status_destroy(status);
    weft_test_allocator_check(&test);
}

static void a_status_outlives_its_allocator_struct(void **state)
{
    (void)state;
    weft_test_allocator test;
    weft_test_allocator_init(&test, WEFT_TEST_NEVER);
    weft_allocator passing = test.allocator;
    weft_status *status = weft_status_create(&passing, WEFT_NOT_FOUND, "where", "gone");
    memset(&passing, 0, sizeof passing);
    weft_status_destroy(status);
    weft_test_allocator_check(&test);
}

static weft_status *create_and_clone(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_status *status = weft_status_create(allocator, WEFT_NOT_FOUND, "where", "no %s", "such");
    weft_status *clone = weft_status_clone(allocator, status);
    assert_non_null(status);
    assert_non_null(clone);
    bool failed = status == weft_status_out_of_memory() || clone == weft_status_out_of_memory();
    weft_status_destroy(status);
    weft_status_destroy(clone);
    return failed ? weft_status_out_of_memory() : NULL;
}

static void short_memory_gives_the_shared_status(void **state)
{
    (void)state;
    assert_int_equal(weft_test_fail_each(create_and_clone, NULL), 2);
    assert_int_equal(weft_status_code(weft_status_out_of_memory()), WEFT_OUT_OF_MEMORY);
    assert_string_equal(weft_status_message(weft_status_out_of_memory()), "out of memory");
}

/* What is no printable character of UTF-8 is escaped, in the sentence and in the place. */
static void messages_are_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *given, *shown;
    } cases[] = {
        {"\n\t\r\x1b[31m\x7f", "\\n\\t\\x0d\\x1b[31m\\x7f"},
        {"\xc3\xbc.npz \xd0\xb6 \xe6\xbc\xa2 \xf0\x9f\x98\x80 \\n",
         "\xc3\xbc.npz \xd0\xb6 \xe6\xbc\xa2 \xf0\x9f\x98\x80 \\n"},
        {"\xc2\x9bK", "\\xc2\\x9bK"},                                   /* U+009B: what a terminal takes for ESC [ */
        {"\xe2\x80\xa8\xe2\x80\xae", "\\xe2\\x80\\xa8\\xe2\\x80\\xae"}, /* the end of a line, right to left */
        {"\xff\xfe", "\\xff\\xfe"},
        {"a\xc3", "a\\xc3"},                                                     /* cut */
        {"\xc0\x8a\xe0\x80\x8a", "\\xc0\\x8a\\xe0\\x80\\x8a"},                   /* overlong */
        {"\xed\xa0\x80\xf4\x90\x80\x80", "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80"}, /* a surrogate, beyond U+10FFFF */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_status *status = weft_status_create(NULL, WEFT_NOT_FOUND, cases[i].given, "%s", cases[i].given);
        assert_string_equal(weft_status_message(status), cases[i].shown);
        assert_string_equal(weft_status_where(status), cases[i].shown);
        weft_status *again = weft_status_create(NULL, WEFT_NOT_FOUND, NULL, "%s", weft_status_message(status));
        assert_string_equal(weft_status_message(again), cases[i].shown);
        weft_status_destroy(status);
        weft_status_destroy(again);
    }
}

static weft_status *create_escaped(const weft_allocator *allocator, void *context)
{
    (void)context;
    weft_status *status = weft_status_create(allocator, WEFT_NOT_FOUND, "a\nplace", "no\n%s", "such");
    if (status == weft_status_out_of_memory()) return status;
    assert_string_equal(weft_status_message(status), "no\\nsuch");
    weft_status_destroy(status);
    return NULL;
}

static void escaping_may_run_out_of_memory(void **state)
{
    (void)state;
    assert_int_equal(weft_test_fail_each(create_escaped, NULL), 2);
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const cuts[] = {"", "", "a", "a", "a", "a", "a\\x1b", "a\\x1b", "a\\x1b\xc3\xbc"};
    for (size_t size = 1; size < sizeof cuts / sizeof *cuts; size++) {
        char text[16];
        memset(text, 'z', sizeof text);
        assert_int_equal(weft_text_escape("a\x1b\xc3\xbc", text, size), 7);
        assert_string_equal(text, cuts[size]);
        assert_int_equal(text[size], 'z');
    }
    assert_int_equal(weft_text_escape("a\n", NULL, 0), 3);
    assert_int_equal(weft_text_escape(NULL, NULL, 0), 0);
}

static void nearer_names_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *name, *given;
        size_t changes;
    } cases[] = {{"neg", "neg", 0}, {"neg", "nag", 1}, {"neg", "ngX", 2},
                 {"", "abc", 3},    {"abc", "", 3},    {"tanh", "atnh", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t least = cases[i].changes + 1, length = strlen(cases[i].given);
        assert_true(weft_text_is_nearer(cases[i].name, cases[i].given, length, &least));
        assert_int_equal(least, cases[i].changes);
        assert_false(weft_text_is_nearer(cases[i].name, cases[i].given, length, &least));
    }
    size_t least = 100;
    assert_false(weft_text_is_nearer("a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 33, &least));
    assert_false(weft_text_is_nearer(NULL, "a", 1, &least));
    assert_int_equal(least, 100);
}

static weft_status *pass_on(weft_status *status, int *reached)
{
    WEFT_TRY(status);
    *reached = 1;
    return NULL;
}

static void try_returns_errors_only(void **state)
{
    (void)state;
    int reached = 0;
    weft_test_fails(pass_on(weft_status_create(NULL, WEFT_NOT_FOUND, NULL, "x"), &reached), WEFT_NOT_FOUND, "x");
    assert_int_equal(reached, 0);
    weft_test_ok(pass_on(NULL, &reached));
    assert_int_equal(reached, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_names),
        cmocka_unit_test(null_is_success),
        cmocka_unit_test(a_status_carries_code_place_and_sentence),
        cmocka_unit_test(an_error_is_never_ok),
        cmocka_unit_test(one_block_holds_everything),
        cmocka_unit_test(a_status_outlives_its_allocator_struct),
        cmocka_unit_test(short_memory_gives_the_shared_status),
        cmocka_unit_test(messages_are_one_line),
        cmocka_unit_test(escaping_may_run_out_of_memory),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(nearer_names_are_counted),
        cmocka_unit_test(try_returns_errors_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
