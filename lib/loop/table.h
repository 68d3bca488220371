/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_TABLE_H
#define WEFT_LIB_LOOP_TABLE_H
/*
 * Constant tables for `lookup` instructions. They are part of the library, like operations: a kernel names them, and
 * its text is a key only together with the version of the library.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/dtype.h>

typedef enum weft_table_id {
#define WEFT_TABLE(name, dtype, rows, columns, first) WEFT_TABLE_##name,
#include "lib/loop/table.def"
#undef WEFT_TABLE
    WEFT_TABLE_COUNT
} weft_table_id;

/* The most rows of a table whose columns registers hold: a lookup there is an instruction. */
enum { WEFT_TABLE_REGISTER_ROWS = 16 };

typedef struct weft_table {
    const char *name;
    weft_dtype dtype;       /* of its elements: WEFT_F32 or WEFT_F64 */
    uint32_t rows, columns; /* rows are a power of two */
    const double *data;     /* row by row */
    bool reads_first;       /* most elements read row 0 */
} weft_table;

/* NULL if there is no table of that number. */
const weft_table *weft_table_of(uint32_t id);
/* The number of the table of that name, or WEFT_TABLE_COUNT. */
uint32_t weft_table_find(const char *name, size_t length);
#endif
