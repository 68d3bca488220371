/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/gemm_instructions.h"

/* The level is read once, so each value is tried by a child, which says by its exit status what became of it. */
enum { FINE = 0, FAILED = 1 };

static int child_of(int (*run)(const char *asked), const char *asked)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (asked == NULL) unsetenv("WEFT_ISA");
        else setenv("WEFT_ISA", asked, 1);
        _exit(run(asked));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Exit status: the code of making an executor. */
static int create(const char *asked)
{
    weft_executor *executor = NULL;
    weft_status *status = weft_executor_create(NULL, &executor);
    int code = (int)weft_status_code(status);
    char shown[64];
    weft_text_escape(asked, shown, sizeof shown);
    bool named = status == NULL || strstr(weft_status_message(status), shown) != NULL;
    bool clean = (status == NULL) == (executor != NULL);
    weft_status_destroy(status);
    weft_executor_destroy(executor);
    return named && clean ? code : 255;
}

static int level(const char *asked)
{
    (void)asked;
    return (int)weft_isa_level();
}

static int has_level(const char *asked)
{
    bool forced = asked != NULL && *asked != '\0';
    if (weft_isa_is_forced() != forced) return FAILED;
    return !forced || strcmp(weft_isa_name(), asked) == 0 ? FINE : FAILED;
}

/* What keys have: a level says it all, a processor says more than its level. */
static int has_text(const char *asked)
{
    bool forced = asked != NULL && *asked != '\0';
    const char *text = weft_isa_text(), *name = weft_isa_name();
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || (text[length] == '\0') != forced) return FAILED;
    return forced || strspn(text + length, "+.0123456789abcdef") == strlen(text + length) ? FINE : FAILED;
}

static int has_configuration(const char *asked)
{
    (void)asked;
    static const char *const names[] = {"portable", "portable", "haswell", "skx"};
    return strcmp(weft_gemm_configuration(), names[weft_isa_level()]) == 0 ? FINE : FAILED;
}

static void test_levels(void **state)
{
    (void)state;
    int host = child_of(level, NULL);
    assert_int_equal(child_of(has_level, NULL), FINE);
    assert_int_equal(child_of(has_level, ""), FINE);
    assert_int_equal(child_of(has_text, NULL), FINE);
    for (int i = 0; i < WEFT_ISA_COUNT; i++) {
        const char *name = weft_isa_level_name((weft_isa)i);
        bool runs = weft_isa_includes((weft_isa)host, (weft_isa)i);
        assert_int_equal(child_of(create, name), runs ? WEFT_OK : WEFT_UNSUPPORTED);
        assert_int_equal(child_of(level, name), runs ? i : host);
        if (runs) assert_int_equal(child_of(has_level, name), FINE);
        if (runs) assert_int_equal(child_of(has_text, name), FINE);
        assert_int_equal(child_of(has_configuration, name), FINE);
    }
}

/* Products without tiles, nor pairs, are those of the level. */
static int has_no_tiles(const char *asked)
{
    (void)asked;
    const weft_gemm_engine *engine = weft_gemm_engine_find_here(weft_isa_level(), WEFT_BF16, true);
    bool is_of_level = engine == weft_gemm_engine_find(weft_isa_level(), WEFT_BF16);
    return !weft_tiles_acquire() && is_of_level != weft_pairs_are_fast() ? FINE : FAILED;
}

static int has_no_pairs(const char *asked)
{
    return !weft_pairs_are_fast() ? has_no_tiles(asked) : FAILED;
}

/* The system refuses tiles to a process with a stack for signals that they would not fit on. */
static int has_short_stack(const char *asked)
{
    static char memory[4096];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    return sigaltstack(&stack, NULL) != 0 ? FINE : has_no_tiles(asked);
}

static void test_tiles(void **state)
{
    (void)state;
    assert_int_equal(child_of(has_short_stack, NULL), FINE);
    for (int i = 0; i < WEFT_ISA_COUNT; i++)
        if (weft_isa_includes((weft_isa)child_of(level, NULL), (weft_isa)i))
            assert_int_equal(child_of(has_no_pairs, weft_isa_level_name((weft_isa)i)), FINE);
}

static void test_unknown_names(void **state)
{
    (void)state;
    static const char *const names[] = {"v3", "x86-64-v5", "X86-64-V2", "x86-64-v2 ", "haswell", " ", "\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(child_of(create, names[i]), WEFT_INVALID_ARGUMENT);
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(child_of(level, text), child_of(level, NULL));
    text[30] = '\0';
    assert_int_equal(child_of(create, text), WEFT_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_unknown_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
