/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "element.h"

enum { ABBREVIATED_FROM = 1000, EDGE = 3, LINE_WIDTH = 100 };

typedef struct element_text {
    char text[80];
} element_text;

typedef struct printer {
    FILE *file;
    const weft_array *array;
    bool abbreviated;
    int width;  /* of the widest element; elements are aligned to it */
    int column; /* reached on the line */
} printer;

static void print_real(char *out_text, size_t size, double value, int digits)
{
    int length = isnan(value) ? snprintf(out_text, size, "nan") : snprintf(out_text, size, "%.*g", digits, value);
    bool plain = strspn(out_text, "-0123456789") == (size_t)length;
    if (plain) snprintf(out_text + length, size - (size_t)length, ".");
}

static element_text describe(weft_dtype dtype, const void *data)
{
    element_text out = {""};
    char re[32], im[32];
    weft_element e = weft_element_read(dtype, data);
    size_t size = sizeof out.text;
    switch (dtype) {
    case WEFT_BOOL: snprintf(out.text, size, "%s", *(const uint8_t *)data ? "True" : "False"); break;
    case WEFT_U8: snprintf(out.text, size, "%" PRIu8, *(const uint8_t *)data); break;
    case WEFT_I32: snprintf(out.text, size, "%" PRId32, *(const int32_t *)data); break;
    case WEFT_U32: snprintf(out.text, size, "%" PRIu32, *(const uint32_t *)data); break;
    case WEFT_I64: snprintf(out.text, size, "%" PRId64, *(const int64_t *)data); break;
    case WEFT_BF16: print_real(out.text, size, e.re, 4); break;
    case WEFT_F16: print_real(out.text, size, e.re, 5); break;
    case WEFT_F32: print_real(out.text, size, e.re, 8); break;
    case WEFT_F64: print_real(out.text, size, e.re, 9); break;
    case WEFT_C64:
    case WEFT_C128:
        print_real(re, sizeof re, e.re, 8);
        print_real(im, sizeof im, e.im, 8);
        snprintf(out.text, size, "%s%s%sj", re, im[0] == '-' ? "" : "+", im);
        break;
    default: break;
    }
    return out;
}

/* The element `offset` elements after the first. */
static const void *element(const weft_array *array, int64_t offset)
{
    int64_t size = (int64_t)weft_dtype_size(weft_array_dtype(array));
    return (const char *)weft_array_data(array) + offset * size;
}

/* The index that follows `i` on an axis that is printed. */
static int64_t following(const printer *p, int64_t i, int64_t extent)
{
    return p->abbreviated && extent > 2 * EDGE && i == EDGE - 1 ? extent - EDGE : i + 1;
}

static void measure(printer *p, size_t axis, int64_t offset)
{
    if (axis == weft_array_rank(p->array)) {
        element_text found = describe(weft_array_dtype(p->array), element(p->array, offset));
        int width = (int)strlen(found.text);
        if (width > p->width) p->width = width;
        return;
    }
    int64_t extent = weft_array_shape(p->array)[axis], stride = weft_array_strides(p->array)[axis];
    for (int64_t i = 0; i < extent; i = following(p, i, extent)) measure(p, axis + 1, offset + i * stride);
}

static void start_line(printer *p, size_t depth)
{
    fprintf(p->file, "\n%*s", (int)depth, "");
    p->column = (int)depth;
}

/* Between two entries of an axis. */
static void print_gap(printer *p, size_t axis, bool omitted)
{
    bool last = axis + 1 == weft_array_rank(p->array);
    if (omitted && last) {
        fprintf(p->file, " ...");
        p->column += 4;
    } else if (omitted) {
        start_line(p, axis + 1);
        fprintf(p->file, "...");
    }
    if (!last || p->column + p->width + 1 > LINE_WIDTH) start_line(p, axis + 1);
    else p->column += fprintf(p->file, " ");
}

static void print(printer *p, size_t axis, int64_t offset)
{
    if (axis == weft_array_rank(p->array)) {
        element_text found = describe(weft_array_dtype(p->array), element(p->array, offset));
        p->column += fprintf(p->file, "%*s", axis == 0 ? 0 : p->width, found.text);
        return;
    }
    int64_t extent = weft_array_shape(p->array)[axis], stride = weft_array_strides(p->array)[axis];
    p->column += fprintf(p->file, "[");
    for (int64_t i = 0; i < extent;) {
        print(p, axis + 1, offset + i * stride);
        int64_t next = following(p, i, extent);
        if (next < extent) print_gap(p, axis, next != i + 1);
        i = next;
    }
    p->column += fprintf(p->file, "]");
}

weft_status *weft_array_print(FILE *file, const weft_array *array)
{
    printer p = {.file = file, .array = array, .abbreviated = weft_array_count(array) >= ABBREVIATED_FROM};
    if (weft_array_count(array) > 0) {
        measure(&p, 0, 0);
        print(&p, 0, 0);
    } else {
        fprintf(file, "[]");
    }
    fprintf(file, "\n");
    return ferror(file) ? weft_status_create(NULL, WEFT_BAD_FILE, NULL, "standard output cannot be written") : NULL;
}
