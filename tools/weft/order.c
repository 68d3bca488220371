/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "label.h"
#include "order_text.h"
#include "tree.h"

static const char ellipsis[] = "...[";

/* ---- --optimize ---- */

/* "0-1,0-1" as pairs. */
static weft_status *parse_pairs(const char *name, const char *text, int64_t *path, size_t *out_count)
{
    size_t count = 0;
    for (const char *at = text; weft_option_read_integer(&at, false, &path[count++]); at++) {
        bool whole = count % 2 == 0;
        if (whole && *at == 0) {
            *out_count = count;
            return NULL;
        }
        if (*at != (whole ? ',' : '-')) break;
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

/* ---- sliced labels ---- */

/* Bytes of the label, or axis of the ellipsis, at `text`; 0 if there is none. */
static size_t parse_label(const char *text, bool numbered, int64_t *out_label)
{
    bool axis = strncmp(text, ellipsis, strlen(ellipsis)) == 0;
    const char *digits = axis ? text + strlen(ellipsis) : text;
    char *end;
    if (!axis && !numbered) return weft_label_decode(text, out_label);
    errno = 0;
    *out_label = isdigit((unsigned char)*digits) ? strtoll(digits, &end, 10) : -1;
    if (*out_label < 0 || errno != 0) return 0;
    if (axis && *end != ']') return 0;
    if (axis) *out_label = -1 - *out_label;
    return (size_t)(end - text) + axis;
}

static bool ends_line(const char *text)
{
    return *text == 0 || *text == '\n' || (text[0] == '\r' && text[1] == '\n');
}

/* `text` may go on in another line. */
static bool parse_labels(const char *text, bool numbered, weft_ints *sliced)
{
    int64_t *labels = (int64_t *)sliced->items;
    for (const char *at = text;; at++) {
        size_t length = ends_line(at) ? 0 : parse_label(at, numbered, &labels[sliced->count++]);
        at += length;
        if (length > 0 && ends_line(at)) return true;
        if (length == 0 || *at != ',') return false;
    }
}

static bool has_label(weft_ints labels, int64_t label)
{
    size_t i = 0;
    while (i < labels.count && labels.items[i] != label) i++;
    return i < labels.count;
}

static bool has_labels(weft_ints labels, weft_ints wanted)
{
    for (size_t i = 0; i < wanted.count; i++)
        if (!has_label(labels, wanted.items[i])) return false;
    return true;
}

static weft_status *check_slice(weft_ints sliced, const char *text, weft_ints labels)
{
    if (!has_labels(labels, sliced)) return weft_misuse("--slice %s names a label that no operand has", text);
    for (size_t i = 0; i < sliced.count; i++)
        if (has_label((weft_ints){i, sliced.items}, sliced.items[i]))
            return weft_misuse("--slice %s names a label twice", text);
    return NULL;
}

static weft_status *parse_sliced(weft_order *order, const char *text, const weft_order_subject *subject)
{
    order->sliced.items = calloc(strlen(text) + 1, sizeof *order->sliced.items);
    if (order->sliced.items == NULL) return weft_status_out_of_memory();
    if (parse_labels(text, subject->numbered, &order->sliced)) return check_slice(order->sliced, text, subject->labels);
    return weft_misuse("--slice takes labels such as %s, not '%s'", subject->numbered ? "3,7" : "i,j", text);
}

/* What weft_order_print_sliced wrote before the order of `text`. */
static weft_status *read_sliced(weft_order *order, const char *name, const char *text, const char *line,
                                const weft_order_subject *subject)
{
    int64_t count;
    const char *at = weft_order_line_value(line, WEFT_LINE_SLICED);
    size_t offset = (size_t)(line - text);
    order->sliced.items = calloc(strlen(line) + 1, sizeof *order->sliced.items);
    if (order->sliced.items == NULL) return weft_status_out_of_memory();
    if (!weft_option_read_integer(&at, false, &count) || strncmp(at, ": ", 2) != 0 ||
        !parse_labels(at + 2, subject->numbered, &order->sliced))
        return weft_order_refuse(name, text, offset, "sliced labels are such as '2: %s', not '%.*s'",
                                 subject->numbered ? "3,7" : "i,j", (int)strcspn(line, "\r\n"), line);
    if (!has_labels(subject->labels, order->sliced))
        return weft_order_refuse(name, text, offset, "a label that no operand has is named in '%.*s'",
                                 (int)strcspn(line, "\r\n"), line);
    if ((size_t)count == order->sliced.count) return NULL;
    return weft_order_refuse(name, text, offset, "expected %" PRId64 " sliced labels, found %zu in '%.*s'", count,
                             order->sliced.count, (int)strcspn(line, "\r\n"), line);
}

static void print_label(FILE *text, int64_t label, bool numbered)
{
    char letter[WEFT_LETTER_ROOM];
    if (label < 0) {
        fprintf(text, "%s%" PRId64 "]", ellipsis, -1 - label);
    } else if (numbered) {
        fprintf(text, "%" PRId64, label);
    } else {
        fputs(weft_label_encode(label, letter), text);
    }
}

weft_status *weft_order_write_sliced(const weft_einsum_plan *plan, bool numbered, char **out_text)
{
    size_t size;
    weft_ints sliced = weft_einsum_plan_sliced(plan);
    FILE *text = open_memstream(out_text, &size);
    if (text == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < sliced.count; i++) {
        if (i > 0) fputc(',', text);
        print_label(text, sliced.items[i], numbered);
    }
    if (fclose(text) == 0) return NULL;
    free(*out_text);
    return weft_status_out_of_memory();
}

weft_status *weft_order_print_sliced(const weft_einsum_plan *plan, bool numbered)
{
    char *text;
    size_t count = weft_einsum_plan_sliced(plan).count;
    if (count == 0) return NULL;
    WEFT_TRY(weft_order_write_sliced(plan, numbered, &text));
    printf(WEFT_LINE_SLICED "%zu: %s\n", count, text);
    free(text);
    return NULL;
}

/* ---- all ---- */

static weft_status *take_text(weft_order *order, const char *name, const char *text, const weft_order_subject *subject)
{
    weft_order_lines lines;
    order->order = WEFT_EINSUM_SSA;
    WEFT_TRY(weft_order_lines_read(name, text, &subject->counts, &lines));
    WEFT_TRY(weft_order_parse(name, text, &lines, subject->counts.operands, &order->path));
    order->positions = (int64_t *)order->path.items;
    if (order->sliced.count > 0 || lines.sliced == NULL) return NULL;
    return read_sliced(order, name, text, lines.sliced, subject);
}

static weft_status *take_given(weft_order *order, const weft_order_subject *subject)
{
    char name[512];
    snprintf(name, sizeof name, "%s: \"order\"", subject->path);
    return take_text(order, name, subject->order, subject);
}

static weft_status *load_order(weft_order *order, const char *path, const weft_order_subject *subject)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = take_text(order, path, text, subject);
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
    if (slice != NULL) WEFT_TRY(parse_sliced(order, slice, subject));
    bool given = file != NULL || (named == NULL ? subject->order != NULL : strcmp(named, "auto") != 0);
    if (slice != NULL && !given)
        return weft_misuse("--slice requires a given order: --order, or --optimize left, path:, ssa: or nested");
    if (file != NULL) return load_order(order, file, subject);
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
