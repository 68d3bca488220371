/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/support.h"
#include "tools/interrupt.h"

/* The signal that comes as soon as a file has its final name; 0: none. */
static int late_signal;

/* In place of the C library's. */
int rename(const char *from, const char *to)
{
    int result = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (result == 0 && late_signal != 0) raise(late_signal);
    return result;
}

typedef struct fixture {
    char folder[32], first[48], second[48];
} fixture;

static int set_up(void **state)
{
    static fixture f;
    strcpy(f.folder, "/tmp/weft-output-XXXXXX");
    if (mkdtemp(f.folder) == NULL) return 1;
    snprintf(f.first, sizeof f.first, "%s/first", f.folder);
    snprintf(f.second, sizeof f.second, "%s/second", f.folder);
    late_signal = 0;
    /* Whoever began this may ignore some. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    weft_interrupt_end();
    remove(f->first);
    remove(f->second);
    return rmdir(f->folder);
}

static weft_status *print(const void *context, FILE *file)
{
    if (context != NULL) raise(*(const int *)context);
    fputs("whole", file);
    return NULL;
}

static void check_whole(const char *path)
{
    char text[16] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_ptr_equal(fgets(text, sizeof text, file), text);
    assert_string_equal(text, "whole");
    fclose(file);
}

static void a_signal_while_it_is_written_leaves_nothing(void **state)
{
    const fixture *f = *state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        weft_test_fails(weft_output_write(f->first, print, &signals[i]), WEFT_CANCELLED, "interrupted while");
        assert_int_equal(access(f->first, F_OK), -1);
        assert_int_equal(weft_interrupt_exit_status(), 128 + signals[i]);
    }
}

static void a_signal_after_it_is_written_is_too_late(void **state)
{
    const fixture *f = *state;
    late_signal = SIGINT;
    weft_test_ok(weft_output_write(f->first, print, NULL));
    check_whole(f->first);
}

static void it_ends_what_comes_next(void **state)
{
    const fixture *f = *state;
    late_signal = SIGTERM;
    weft_test_ok(weft_output_write(f->first, print, NULL));
    weft_test_fails(weft_output_write(f->second, print, NULL), WEFT_CANCELLED, "interrupted while");
    check_whole(f->first);
    assert_int_equal(access(f->second, F_OK), -1);
}

/* The process is not ended by it while it cleans up. */
static void signals_after_a_result_end_nothing(void **state)
{
    const fixture *f = *state;
    weft_test_ok(weft_output_write(f->first, print, NULL));
    raise(SIGINT);
    assert_true(*weft_interrupt_flag());
    check_whole(f->first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signal_while_it_is_written_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_signal_after_it_is_written_is_too_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_ends_what_comes_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_after_a_result_end_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
