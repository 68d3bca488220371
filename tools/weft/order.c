/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "label.h"
#include "order_text.h"
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

/* ---- --slice ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t parse_label(const char *text, bool numbered, int64_t *out_label)
{
    int length = 0;
    if (!numbered) return weft_label_decode(text, out_label);
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

/* ---- all ---- */

static weft_status *take_text(weft_order *order, const char *name, const char *text, size_t operand_count)
{
    order->order = WEFT_EINSUM_SSA;
    WEFT_TRY(weft_order_parse(name, text, operand_count, &order->path));
    order->positions = (int64_t *)order->path.items;
    return NULL;
}

static weft_status *take_given(weft_order *order, const weft_order_subject *subject)
{
    char name[512];
    snprintf(name, sizeof name, "%s: \"order\"", subject->path);
    return take_text(order, name, subject->order, subject->operand_count);
}

static weft_status *load_order(weft_order *order, const char *path, size_t operand_count)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = take_text(order, path, text, operand_count);
    free(text);
    return status;
}

weft_status *weft_order_init(weft_order *order, const weft_arguments *arguments, const weft_order_subject *subject)
{
    const char *slice = weft_arguments_text(arguments, "--slice", NULL);
    const char *file = weft_arguments_text(arguments, "--order", NULL);
    const char *named = weft_arguments_text(arguments, "--optimize", NULL);
    *order = (weft_order){0};
    if (file != NULL && named != NULL) return weft_misuse("--optimize and --order both say in which order to contract");
    if (slice != NULL) WEFT_TRY(parse_sliced(order, slice, subject->numbered));
    bool given = file != NULL || (named == NULL ? subject->order != NULL : strcmp(named, "auto") != 0);
    if (slice != NULL && !given)
        return weft_misuse(
            "--slice goes with an order that is given: --order, or --optimize left, path:, ssa: or nested");
    if (file != NULL) return load_order(order, file, subject->operand_count);
    if (named == NULL && subject->order != NULL) return take_given(order, subject);
    return parse_named(order, named == NULL ? "auto" : named);
}

void weft_order_finish(weft_order *order)
{
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

weft_status *weft_order_print(const weft_einsum_plan *plan, const char *form)
{
    if (form == NULL) return NULL;
    if (strcmp(form, "path") == 0) print_pairs(weft_einsum_plan_path(plan));
    if (strcmp(form, "ssa") == 0) print_pairs(weft_einsum_plan_ssa(plan));
    if (strcmp(form, "nested") == 0) printf("%s\n", weft_einsum_plan_nested(plan));
    return strcmp(form, "tree") == 0 ? weft_tree_print(plan, stdout) : NULL;
}
