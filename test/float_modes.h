/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_FLOAT_MODES_H
#define WEFT_TEST_FLOAT_MODES_H
/* What the user's thread may do with floats; the first of these is what it does at its start. */

typedef struct weft_test_float_mode {
    const char *name;
    void (*set)(void);
} weft_test_float_mode;

enum { WEFT_TEST_FLOAT_MODES = 8 };
extern const weft_test_float_mode weft_test_float_modes[WEFT_TEST_FLOAT_MODES];
#endif
