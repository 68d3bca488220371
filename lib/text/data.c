/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/text/text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "runtime/base/float_bits.h"

/* A constant with more elements is spelled as bytes: shorter, and quick to read and write. */
enum { MOST_SPELLED_OUT = 256 };

/* ---- elements ---- */

static uint64_t load_bits(const void *data, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, data, size);
    return bits;
}

static double load_real(weft_dtype dtype, const void *data)
{
    return weft_float_decode(dtype, load_bits(data, weft_dtype_size(dtype)));
}

/* Writes `value` as an element; returns its bytes. */
static size_t store_real(weft_dtype dtype, double value, void *out_data)
{
    size_t size = weft_dtype_size(dtype);
    uint64_t bits = weft_float_encode(dtype, value);
    memcpy(out_data, &bits, size);
    return size;
}

static int64_t load_integer(weft_dtype dtype, const void *data)
{
    int64_t bits = (int64_t)load_bits(data, weft_dtype_size(dtype));
    return dtype == WEFT_I32 ? (int32_t)bits : bits;
}

/* Whether printing and parsing gives the same bits: not so for a NaN with a payload of its own. */
static bool survives(weft_dtype dtype, const char *data)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    size_t size = weft_dtype_size(dtype);
    if (kind != WEFT_KIND_FLOAT) return true;
    char again[8];
    store_real(dtype, load_real(dtype, data), again);
    double value = load_real(dtype, data);
    if (isnan(value)) store_real(dtype, copysign((double)NAN, value), again);
    return memcmp(again, data, size) == 0;
}

/* ---- printing ---- */

static void print_part(weft_bytes *out_text, weft_dtype dtype, const void *data)
{
    switch (weft_dtype_info_of(dtype)->kind) {
    case WEFT_KIND_BOOL: weft_bytes_print(out_text, "%s", *(const char *)data != 0 ? "true" : "false"); break;
    case WEFT_KIND_UNSIGNED:
    case WEFT_KIND_SIGNED: weft_bytes_print(out_text, "%" PRId64, load_integer(dtype, data)); break;
    default: weft_text_print_real(out_text, load_real(dtype, data), dtype != WEFT_F64); break;
    }
}

static void print_bytes(weft_bytes *out_text, const unsigned char *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    weft_bytes_append(out_text, "bytes \"", 7);
    for (size_t i = 0; i < size; i++) {
        char pair[2] = {digits[data[i] >> 4], digits[data[i] & 15]};
        weft_bytes_append(out_text, pair, 2);
    }
    weft_bytes_append(out_text, "\"", 1);
}

void weft_text_print_data(weft_bytes *out_text, weft_dtype dtype, const void *data, size_t size)
{
    const char *bytes = data;
    weft_dtype part = weft_dtype_component(dtype);
    size_t step = weft_dtype_size(part), parts = size / step, pair = weft_dtype_size(dtype) / step;
    bool spelled = parts * step == size && parts % pair == 0 && parts / pair <= MOST_SPELLED_OUT;
    for (size_t i = 0; spelled && i < parts; i++) spelled = survives(part, bytes + i * step);
    if (!spelled) {
        print_bytes(out_text, data, size);
        return;
    }
    weft_bytes_append(out_text, "[", 1);
    for (size_t i = 0; i < parts; i++) {
        const char *separator = i == 0 ? "" : ", ";
        weft_bytes_print(out_text, "%s%s", separator, pair == 2 && i % 2 == 0 ? "(" : "");
        print_part(out_text, part, bytes + i * step);
        if (pair == 2 && i % 2 == 1) weft_bytes_append(out_text, ")", 1);
    }
    weft_bytes_append(out_text, "]", 1);
}

/* ---- parsing ---- */

static weft_status *parse_bool(weft_lexer *lexer, weft_bytes *out_data)
{
    char value = weft_lexer_at(lexer, "true");
    if (!value && !weft_lexer_at(lexer, "false")) return weft_lexer_unexpected(lexer, "'true' or 'false'");
    weft_lexer_advance(lexer);
    weft_bytes_append(out_data, &value, 1);
    return NULL;
}

static weft_status *parse_integer(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data)
{
    const char *at = lexer->token.start;
    int64_t value;
    WEFT_TRY(weft_lexer_take_integer(lexer, "an integer", &value));
    int bits = (int)weft_dtype_size(dtype) * 8;
    bool is_signed = weft_dtype_info_of(dtype)->kind == WEFT_KIND_SIGNED;
    int64_t max = bits == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    int64_t min = is_signed ? -max - 1 : 0;
    if (value < min || value > max)
        return weft_lexer_error(lexer, at, WEFT_PARSE_ERROR,
                                "%" PRId64 " is not in the range of %s, %" PRId64 " to %" PRId64, value,
                                weft_dtype_name(dtype), min, max);
    weft_bytes_append(out_data, &value, (size_t)bits / 8); /* little-endian, as every host of weft is */
    return NULL;
}

static weft_status *parse_real(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data)
{
    enum { SHOWN = 40 };
    weft_token token = lexer->token;
    double value;
    char element[sizeof value];
    WEFT_TRY(weft_lexer_take_real(lexer, "a number", dtype != WEFT_F64, &value));
    size_t size = store_real(dtype, value, element);
    if (isfinite(value) && !isfinite(load_real(dtype, element)))
        return weft_lexer_error(lexer, token.start, WEFT_PARSE_ERROR, "%.*s%s is not in the range of %s",
                                token.length < SHOWN ? (int)token.length : SHOWN, token.start,
                                token.length < SHOWN ? "" : "...", weft_dtype_name(dtype));
    weft_bytes_append(out_data, element, size);
    return NULL;
}

static weft_status *parse_element(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data)
{
    weft_dtype part = weft_dtype_component(dtype);
    switch (weft_dtype_info_of(dtype)->kind) {
    case WEFT_KIND_BOOL: return parse_bool(lexer, out_data);
    case WEFT_KIND_UNSIGNED:
    case WEFT_KIND_SIGNED: return parse_integer(lexer, dtype, out_data);
    case WEFT_KIND_FLOAT: return parse_real(lexer, dtype, out_data);
    case WEFT_KIND_COMPLEX: break;
    }
    WEFT_TRY(weft_lexer_expect(lexer, "("));
    WEFT_TRY(parse_real(lexer, part, out_data));
    WEFT_TRY(weft_lexer_expect(lexer, ","));
    WEFT_TRY(parse_real(lexer, part, out_data));
    return weft_lexer_expect(lexer, ")");
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static weft_status *parse_bytes(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data)
{
    weft_token token;
    WEFT_TRY(weft_lexer_take(lexer, WEFT_TOKEN_STRING, "a string of hexadecimal digits", &token));
    const char *end = token.start + token.length - 1;
    char block[512];
    size_t used = 0;
    for (const char *c = token.start + 1; c < end; c += 2) {
        int high = digit_of(c[0]), low = digit_of(c[1]);
        if (high < 0 || low < 0)
            return weft_lexer_error(lexer, c, WEFT_PARSE_ERROR,
                                    "bytes are spelled by pairs of the digits 0 to 9 and a to f");
        if (dtype == WEFT_BOOL && (high != 0 || low > 1))
            return weft_lexer_error(lexer, c, WEFT_PARSE_ERROR, "a bool is the byte 00 or 01, not %.2s", c);
        block[used++] = (char)(high * 16 + low);
        if (used < sizeof block) continue;
        weft_bytes_append(out_data, block, used);
        used = 0;
    }
    weft_bytes_append(out_data, block, used);
    return NULL;
}

weft_status *weft_text_parse_data(weft_lexer *lexer, weft_dtype dtype, weft_bytes *out_data)
{
    if (weft_lexer_accept(lexer, "bytes")) {
        WEFT_TRY(parse_bytes(lexer, dtype, out_data));
        return weft_bytes_status(out_data);
    }
    WEFT_TRY(weft_lexer_expect(lexer, "["));
    for (size_t count = 0; !weft_lexer_accept(lexer, "]"); count++) {
        if (count > 0) WEFT_TRY(weft_lexer_expect(lexer, ","));
        WEFT_TRY(parse_element(lexer, dtype, out_data));
    }
    return weft_bytes_status(out_data);
}
