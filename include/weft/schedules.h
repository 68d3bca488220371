/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_SCHEDULES_H
#define WEFT_SCHEDULES_H
/*
 * Schedules of kernels that were found by measuring, or given, and take the place of what the rules choose. A schedule
 * is text, such as "fuse i0 i1; split i0 8192; lanes i1 8 x 4"; `weft opt --emit schedule` prints those of a graph. It
 * changes how fast a kernel is, never a bit of what it computes.
 *
 * They are kept by kernel: the loops as they are before they are scheduled, extents that are known included. A program
 * with symbols has kernels for all extents, and what was found with some of them serves all.
 */
#include <weft/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not to be changed while an executor has them and builds programs, or an object is made with them. (Declared in
 * <weft/executor.h>.) */
weft_status *weft_schedules_create(const weft_allocator *allocator, weft_schedules **out_schedules) WEFT_MUST_USE;
/* No executor may have them any more. */
void weft_schedules_destroy(weft_schedules *schedules);
/* Kernels that have one. */
size_t weft_schedules_count(const weft_schedules *schedules);

/* The text form, which begins with the target of weft_emit_target; freed with weft_text_destroy. The errors of
 * weft_emit_target. */
weft_status *weft_schedules_text(const weft_schedules *schedules, char **out_text) WEFT_MUST_USE;
/* Adds what such a text has, in place of what is there for the same kernels; `name` is for errors, text need not end
 * with a NUL. Schedules for another target or of another version of weft are not added: *out_foreign (may be NULL) says
 * so. PARSE_ERROR with line and column, VERSION_MISMATCH for text of another version of this form, and the errors of
 * weft_emit_target: nothing is added. */
weft_status *weft_schedules_parse(weft_schedules *schedules, const char *name, const char *text, size_t length,
                                  bool *out_foreign) WEFT_MUST_USE;

/*
 * Gives a kernel of a program its schedule: number `kernel` of those that weft_program_emit prints, for row-major
 * arrays and without specialisation. OUT_OF_RANGE if there are fewer, PARSE_ERROR for text that is no schedule,
 * INVALID_ARGUMENT for a move that may not be made, with the reason.
 */
weft_status *weft_schedules_set(weft_schedules *schedules, const weft_program *program, size_t kernel,
                                const char *moves) WEFT_MUST_USE;

/* Zero-initialise for the defaults. */
typedef struct weft_tune_options {
    weft_executor_options executor; /* what to measure with: threads and machine; its schedules are ignored */
    double seconds;                 /* after which no other round of runs begins, but those that confirm gains; 0: 10 */
} weft_tune_options;

/* What weft_tune did. */
typedef struct weft_tune_report {
    size_t kernels;           /* of the program */
    size_t tried;             /* schedules run, those of the rules not counted */
    size_t improved;          /* kernels that another schedule makes faster */
    double ruled_ns, best_ns; /* of all kernels of a run: as the rules schedule them, and with what was found */
} weft_tune_report;

/*
 * Runs a program again and again, with schedules that templates give for each of its kernels in place of those of the
 * rules, the most promising ones first, and adds to `schedules` those that turn out to be faster. Each schedule runs in
 * turns with that of the rules, and the best of each kernel in three more rounds at the end: one that does not gain 3 %
 * in each of them is noise. The results of every schedule are compared with those of the rules: WEFT_INTERNAL, should a
 * bit differ, sign and payload of NaNs not counted.
 *
 * `run` is as for weft_executor_run. Its inputs are only read: `donated` is ignored, and so are `outputs`, `profile`,
 * `report`, `queue`, `waits` and `signal`. A run that is cancelled, or fails, ends it: nothing is added, except where
 * memory runs out while something is. `options` and `out_report` may be NULL.
 */
weft_status *weft_tune(weft_program *program, const weft_run *run, const weft_tune_options *options,
                       weft_schedules *schedules, weft_tune_report *out_report) WEFT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
