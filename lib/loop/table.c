/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/table.h"
#include <string.h>
#include "lib/loop/table_data.h"

static const weft_table tables[WEFT_TABLE_COUNT] = {
#define WEFT_TABLE(name, dtype, rows, columns, first) {#name, WEFT_##dtype, rows, columns, *name##_table, first},
#include "lib/loop/table.def"
#undef WEFT_TABLE
};

#define WEFT_TABLE(name, dtype, rows, columns, first)                                                                  \
    _Static_assert(sizeof name##_table == sizeof(double[rows][columns]), "the size of table " #name);                  \
    _Static_assert(((rows) & ((rows)-1)) == 0, "the rows of table " #name " are no power of two");
#include "lib/loop/table.def"
#undef WEFT_TABLE

const weft_table *weft_table_of(uint32_t id)
{
    return id < WEFT_TABLE_COUNT ? &tables[id] : NULL;
}

uint32_t weft_table_find(const char *name, size_t length)
{
    uint32_t id = 0;
    while (id < WEFT_TABLE_COUNT && (strlen(tables[id].name) != length || memcmp(tables[id].name, name, length) != 0))
        id++;
    return id;
}
