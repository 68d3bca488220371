/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_FIX_H
#define WEFT_TEST_FIX_H
/* Values of symbols: read from a line of a case, and put in place of the symbols in a text. */
#include "test/conform/subject.h"

/* Reads "n=0 m=1 | ..." up to the bar; returns what follows it. Names are kept in `names`. */
const char *weft_test_binding_parse(const char *source, weft_test_binding *out_binding, char *names, size_t size);
/* The text without symbols; freed with free. */
char *weft_test_fix_symbols(const char *text, const weft_test_binding *binding);
#endif
