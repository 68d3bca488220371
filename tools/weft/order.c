/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "tree.h"

/* ---- --optimize ---- */

/* "0-1,0-1" as pairs. */
static weft_status *parse_pairs(const char *name, const char *text, int64_t *path, size_t *out_count)
{
    const char *at = text;
    size_t count = 0;
    for (bool more = true; more; count += 2) {
        int length = 0;
        if (sscanf(at, "%9" SCNd64 "-%9" SCNd64 "%n", &path[count], &path[count + 1], &length) != 2) break;
        at += length;
        more = *at == ',';
        at += more;
        if (!more && *at == 0) {
            *out_count = count + 2;
            return NULL;
        }
    }
    return weft_misuse("--optimize %s: takes pairs such as 0-1,0-1, not '%s'", name, text);
}

static weft_status *parse_named(weft_order *order, const char *text)
{
    static const struct {
        const char *name;
        weft_einsum_order order;
    } words[] = {{"auto", WEFT_EINSUM_AUTO}, {"left", WEFT_EINSUM_LEFT}, {"nested", WEFT_EINSUM_NESTED}},
      lists[] = {{"path", WEFT_EINSUM_PATH}, {"ssa", WEFT_EINSUM_SSA}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i].name) != 0) continue;
        order->order = words[i].order;
        return NULL;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t length = strlen(lists[i].name);
        if (strncmp(text, lists[i].name, length) != 0 || text[length] != ':') continue;
        order->positions = calloc(strlen(text) + 2, sizeof *order->positions);
        if (order->positions == NULL) return weft_status_out_of_memory();
        order->order = lists[i].order;
        order->path.items = order->positions;
        return parse_pairs(lists[i].name, text + length + 1, order->positions, &order->path.count);
    }
    return weft_misuse("--optimize takes auto, left, nested, path:0-1,... or ssa:0-1,..., not '%s'", text);
}

/* ---- --order ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Without white space, with parentheses for brackets and no comma before one that closes; counts the numbers. */
static weft_status *simplify(const char *path, char *text, size_t *out_numbers)
{
    char *to = text, before = ' ';
    *out_numbers = 0;
    for (const char *at = text; *at != 0; before = *at++) {
        if (strchr(" \t\r\n", *at) != NULL) continue;
        char c = *at == '[' ? '(' : *at == ']' ? ')' : *at;
        bool begins = is_digit(c) && !is_digit(before);
        if (strchr("0123456789(),", c) == NULL || (begins && to > text && is_digit(to[-1])))
            return weft_status_create(NULL, WEFT_BAD_FILE, NULL,
                                      "%s: byte %td has no place in an order, which is a list of pairs such as "
                                      "[(0, 1), (0, 1)] or a tree such as ((0, 1), 2)",
                                      path, at - text + 1);
        *out_numbers += begins;
        if (c == ')' && to > text && to[-1] == ',') to--;
        *to++ = c;
    }
    *to = 0;
    return NULL;
}

/* "((0,1),(0,1))" as pairs. */
static weft_status *parse_list(const char *path, const char *text, size_t count, int64_t *out_path)
{
    const char *at = text + (*text == '(');
    for (size_t i = 0; i < count; i += 2) {
        int length = 0;
        sscanf(at, "(%9" SCNd64 ",%9" SCNd64 ")%n", &out_path[i], &out_path[i + 1], &length);
        at += length;
        if (length > 0 && *at == (i + 2 < count ? ',' : ')')) at += i + 2 < count;
        else
            return weft_status_create(NULL, WEFT_BAD_FILE, NULL,
                                      "%s: step %zu of the list is no pair of numbers such as (0, 1)", path, i / 2);
    }
    return NULL;
}

/* A list over positions ends with (0, 1), one over values takes the last result but one in its last step. */
static bool is_path(weft_ints path)
{
    if (path.count <= 2) return true;
    return path.items[path.count - 2] + path.items[path.count - 1] == 1;
}

/* A tree names each operand once, a list takes two values in each of its steps. */
static weft_status *take_text(weft_order *order, const char *path, size_t operand_count)
{
    size_t numbers, steps = operand_count - 1;
    WEFT_TRY(simplify(path, order->nested, &numbers));
    if (numbers == operand_count) {
        order->order = WEFT_EINSUM_NESTED;
        return NULL;
    }
    if (numbers != 2 * steps)
        return weft_status_create(NULL, WEFT_BAD_FILE, NULL,
                                  "%s: the order has %zu numbers; over %zu operands a list of pairs has %zu and a tree "
                                  "%zu",
                                  path, numbers, operand_count, 2 * steps, operand_count);
    order->positions = calloc(numbers + 1, sizeof *order->positions);
    if (order->positions == NULL) return weft_status_out_of_memory();
    WEFT_TRY(parse_list(path, order->nested, numbers, order->positions));
    order->path = (weft_ints){numbers, order->positions};
    order->order = is_path(order->path) ? WEFT_EINSUM_PATH : WEFT_EINSUM_SSA;
    free(order->nested);
    order->nested = NULL;
    return NULL;
}

/* ---- --slice ---- */

/* One character of UTF-8; 0 bytes for what is none. */
static size_t decode(const char *text, int64_t *out_point)
{
    unsigned char first = (unsigned char)*text;
    size_t length = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
    int64_t point = length == 1 ? first : first & (0xff >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    }
    *out_point = point;
    return length;
}

static size_t parse_label(const char *text, bool numbered, int64_t *out_label)
{
    int length = 0;
    if (!numbered) return decode(text, out_label);
    return is_digit(*text) && sscanf(text, "%18" SCNd64 "%n", out_label, &length) == 1 ? (size_t)length : 0;
}

static weft_status *parse_sliced(weft_order *order, const char *text, bool numbered)
{
    int64_t *labels = calloc(strlen(text) + 1, sizeof *labels);
    if (labels == NULL) return weft_status_out_of_memory();
    order->sliced.items = labels;
    for (const char *at = text;; at++) {
        size_t length = parse_label(at, numbered, &labels[order->sliced.count++]);
        at += length;
        if (length > 0 && *at == 0) return NULL;
        if (length == 0 || *at != ',')
            return weft_misuse("--slice takes labels such as %s, not '%s'", numbered ? "3,7" : "i,j", text);
    }
}

weft_status *weft_order_init(weft_order *order, const weft_arguments *arguments, size_t operand_count, bool numbered)
{
    const char *slice = weft_arguments_text(arguments, "--slice", NULL);
    const char *file = weft_arguments_text(arguments, "--order", NULL);
    const char *named = weft_arguments_text(arguments, "--optimize", NULL);
    size_t length;
    *order = (weft_order){0};
    if (file != NULL && named != NULL) return weft_misuse("--optimize and --order both say in which order to contract");
    if (slice != NULL) WEFT_TRY(parse_sliced(order, slice, numbered));
    if (slice != NULL && file == NULL && (named == NULL || strcmp(named, "auto") == 0))
        return weft_misuse("--slice goes with an order that is given: --order, or --optimize left, path: or nested");
    if (file == NULL) return parse_named(order, named == NULL ? "auto" : named);
    WEFT_TRY(weft_file_read(file, &order->nested, &length));
    return take_text(order, file, operand_count);
}

void weft_order_finish(weft_order *order)
{
    free(order->nested);
    free(order->positions);
    free((void *)order->sliced.items);
    *order = (weft_order){0};
}

/* ---- --print-order ---- */

static void print_pairs(weft_ints pairs)
{
    for (size_t i = 0; i < pairs.count; i += 2)
        printf("%s[%" PRId64 ", %" PRId64 "]", i == 0 ? "[" : ", ", pairs.items[i], pairs.items[i + 1]);
    printf("%s\n", pairs.count == 0 ? "[]" : "]");
}

weft_status *weft_order_print(const weft_einsum_plan *plan, const weft_arguments *arguments)
{
    const char *form = weft_arguments_text(arguments, "--print-order", "");
    if (strcmp(form, "path") == 0) print_pairs(weft_einsum_plan_path(plan));
    if (strcmp(form, "ssa") == 0) print_pairs(weft_einsum_plan_ssa(plan));
    if (strcmp(form, "nested") == 0) printf("%s\n", weft_einsum_plan_nested(plan));
    return strcmp(form, "tree") == 0 ? weft_tree_print(plan, stdout) : NULL;
}
