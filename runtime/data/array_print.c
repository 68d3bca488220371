/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as text, as numpy prints them. */
#include <weft/array.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/float_mode.h"
#include "runtime/base/spelling.h"

enum { ABBREVIATED_FROM = 1000, EDGE = 3, LINE_WIDTH = 100 };

typedef struct element_text {
    char text[80];
} element_text;

typedef struct printer {
    char *text; /* of `size` bytes, of which `length` would be needed so far */
    size_t size, length;
    const weft_array *array;
    bool abbreviated;
    int width;  /* of the widest element; elements are aligned to it */
    int column; /* reached on the line */
} printer;

static int append(printer *p, const char *format, ...) WEFT_FORMAT(2, 3);

/* The length of what is appended, as far as there is room. */
static int append(printer *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool fits = p->length < p->size;
    int length = vsnprintf(fits ? p->text + p->length : NULL, fits ? p->size - p->length : 0, format, arguments);
    va_end(arguments);
    p->length += (size_t)length;
    return length;
}

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
    double real, imaginary;
    weft_dtype_load(dtype, data, &real, &imaginary);
    size_t size = sizeof out.text;
    switch (dtype) {
    case WEFT_BOOL: snprintf(out.text, size, "%s", *(const uint8_t *)data ? "True" : "False"); break;
    case WEFT_U8: snprintf(out.text, size, "%" PRIu8, *(const uint8_t *)data); break;
    case WEFT_I32: snprintf(out.text, size, "%" PRId32, *(const int32_t *)data); break;
    case WEFT_U32: snprintf(out.text, size, "%" PRIu32, *(const uint32_t *)data); break;
    case WEFT_I64: snprintf(out.text, size, "%" PRId64, *(const int64_t *)data); break;
    case WEFT_BF16: print_real(out.text, size, real, 4); break;
    case WEFT_F16: print_real(out.text, size, real, 5); break;
    case WEFT_F32: print_real(out.text, size, real, 8); break;
    case WEFT_F64: print_real(out.text, size, real, 9); break;
    case WEFT_C64:
    case WEFT_C128:
        print_real(re, sizeof re, real, 8);
        print_real(im, sizeof im, imaginary, 8);
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
    append(p, "\n%*s", (int)depth, "");
    p->column = (int)depth;
}

/* Between two entries of an axis; a line begins where `width` more characters after a space would not fit. */
static void print_gap(printer *p, size_t axis, int width)
{
    bool last = axis + 1 == weft_array_rank(p->array);
    if (!last || p->column + 1 + width > LINE_WIDTH) start_line(p, axis + 1);
    else p->column += append(p, " ");
}

/* `closing` brackets follow on the line. */
static void print(printer *p, size_t axis, int64_t offset, int closing)
{
    if (axis == weft_array_rank(p->array)) {
        element_text found = describe(weft_array_dtype(p->array), element(p->array, offset));
        p->column += append(p, "%*s", axis == 0 ? 0 : p->width, found.text);
        return;
    }
    int64_t extent = weft_array_shape(p->array)[axis], stride = weft_array_strides(p->array)[axis];
    p->column += append(p, "[");
    for (int64_t i = 0; i < extent;) {
        int64_t next = following(p, i, extent);
        print(p, axis + 1, offset + i * stride, next < extent ? 0 : closing + 1);
        if (next > i + 1) {
            print_gap(p, axis, 3);
            p->column += append(p, "...");
        }
        if (next < extent) print_gap(p, axis, p->width + (next + 1 < extent ? 0 : closing + 1));
        i = next;
    }
    p->column += append(p, "]");
}

static size_t print_elsewhere(const weft_array *array, char *out_text, size_t size)
{
    printer p = {.text = out_text, .size = size, .length = weft_array_print_type(array, out_text, size)};
    weft_device device = weft_array_device(array);
    append(&p, " on device %d:%d", (int)device.kind, (int)device.index);
    return p.length;
}

WEFT_PLAIN_FUNCTION(size_t, weft_array_print, (const weft_array *array, char *out_text, size_t size),
                    (array, out_text, size))
{
    printer p = {.text = out_text, .size = size, .array = array};
    if (weft_array_device(array).kind != WEFT_DEVICE_CPU) return print_elsewhere(array, out_text, size);
    weft_spelling spelling = weft_spelling_enter();
    p.abbreviated = weft_array_count(array) >= ABBREVIATED_FROM;
    append(&p, "%s", "");
    if (weft_array_count(array) == 0) append(&p, "[]");
    if (weft_array_count(array) > 0) measure(&p, 0, 0);
    if (weft_array_count(array) > 0) print(&p, 0, 0, 0);
    weft_spelling_leave(spelling);
    return p.length;
}

size_t weft_array_print_type(const weft_array *array, char *out_text, size_t size)
{
    printer p = {.text = out_text, .size = size};
    append(&p, "%s[", weft_dtype_name(weft_array_dtype(array)));
    for (size_t i = 0; i < weft_array_rank(array); i++)
        append(&p, "%s%" PRId64, i == 0 ? "" : ", ", weft_array_shape(array)[i]);
    append(&p, "]");
    return p.length;
}
