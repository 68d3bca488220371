/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_CASE_H
#define WEFT_TEST_CASE_H
/*
 * Cases of the conformance suite, read from files. A case is
 *
 *     # case: what it shows
 *     # KEY: VALUE VALUE ...
 *     # bind: n=0 m=1 | n=7 m=31
 *     # data: x special, y below:5
 *     # tolerance: exact | bits | value | ulp N | near N | within N | sum N
 *     # fails: the sentence, from both runtimes
 *     # threads:
 *     graph text
 *
 * All combinations of KEY lines are run, with $KEY replaced in the text and in what follows; `bind` has values of the
 * symbols, one run each; `data` kinds of data of the inputs (see data.h), where others are normal; with `threads` the
 * case runs with several threads, too.
 */
#include "test/conform/data.h"

enum { WEFT_TEST_PARAMETERS = 6 };

typedef struct weft_test_parameter {
    char key[32];
    char values[512]; /* apart by blanks */
} weft_test_parameter;

typedef struct weft_test_case {
    char title[128], bind[512], data[256], tolerance[64], fails[256];
    bool threads;
    size_t parameter_count;
    weft_test_parameter parameters[WEFT_TEST_PARAMETERS];
    char *text;
} weft_test_case;

/* Calls `visit` for every combination of parameters of every case of the file: `chosen` has none left. False when the
 * file cannot be read. */
typedef void (*weft_test_case_visitor)(void *context, const weft_test_case *chosen);
bool weft_test_cases_read(const char *path, weft_test_case_visitor visit, void *context);

/* Reads "ulp 2". */
bool weft_test_tolerance_parse(const char *text, weft_test_tolerance *out_tolerance);
/* Finds the entry of input `name` in "x special, y below:5"; "normal" if there is none. */
void weft_test_data_find(const char *data, const char *name, char *out_kind, size_t size);
#endif
