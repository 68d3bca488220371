/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface of extents: values that carry their graph, over the expressions of lib/expr/expr.h. */
#include "lib/graph/graph.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/text/text.h"
#include "runtime/base/status.h"

/* Without a graph there is nothing to hold an error: this constant stands for the invalid extent. */
#define INVALID_CONSTANT INT64_MIN

/* Of an extent: its text is in graphs and messages. Shared parts are written each time, so it may be far longer than
 * what was done to make it. */
#define MAX_PARTS 32768

weft_extent weft_extent_invalid(weft_graph *graph)
{
    return (weft_extent){graph, graph == NULL ? INVALID_CONSTANT : (int64_t)WEFT_EXPR_NONE};
}

weft_extent weft_extent_of(int64_t value)
{
    return (weft_extent){NULL, value};
}

bool weft_extent_is_valid(weft_extent extent)
{
    return extent.value != (extent.graph == NULL ? INVALID_CONSTANT : (int64_t)WEFT_EXPR_NONE);
}

weft_expr weft_extent_expr(weft_graph *graph, weft_extent extent)
{
    const char *wrong = NULL;
    if (!weft_extent_is_valid(extent)) wrong = "an extent is invalid";
    else if (extent.graph != NULL && extent.graph->exprs != graph->exprs) wrong = "an extent belongs to another graph";
    if (wrong != NULL) {
        weft_graph_fail(graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, NULL, "%s", wrong));
        return WEFT_EXPR_NONE;
    }
    if (extent.graph != NULL) return (weft_expr)extent.value;
    weft_expr expr = weft_expr_constant(graph->exprs, extent.value);
    if (expr == WEFT_EXPR_NONE) weft_graph_fail(graph, weft_expr_context_take_error(graph->exprs));
    return expr;
}

weft_expr weft_shape_elements(weft_graph *graph, weft_shape shape)
{
    weft_expr count = weft_expr_constant(graph->exprs, 1);
    for (size_t i = 0; i < shape.rank; i++)
        count = weft_expr_mul(graph->exprs, count, weft_extent_expr(graph, shape.extents[i]));
    return count;
}

weft_extent weft_extent_from(weft_graph *graph, weft_expr expr)
{
    int64_t value;
    /* Without memory for a simplification there may be an expression, but not the canonical one. */
    weft_status *error = weft_expr_context_take_error(graph->exprs);
    if (expr == WEFT_EXPR_NONE || error != NULL) {
        weft_graph_fail(graph, error);
        return weft_extent_invalid(graph);
    }
    if (weft_expr_is_constant(graph->exprs, expr, &value)) return weft_extent_of(value);
    if (weft_expr_parts(graph->exprs, expr) > MAX_PARTS) {
        weft_graph_fail(graph, weft_status_create(graph->allocator, WEFT_UNSUPPORTED, NULL,
                                                  "an extent, written out, has more than %d numbers, symbols and "
                                                  "operations",
                                                  MAX_PARTS));
        return weft_extent_invalid(graph);
    }
    return (weft_extent){graph, expr};
}

weft_extent weft_symbol(weft_graph *graph, const char *name, int64_t min, int64_t max)
{
    if (graph == NULL) return weft_extent_invalid(NULL);
    weft_status *error = NULL;
    if (name == NULL) {
        error = weft_status_null(__func__, "name");
    } else if (!weft_text_is_identifier(name) || strchr(name, '.') != NULL) {
        error = weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, "weft_symbol",
                                   "name \"%s\" must be a letter or _ followed by letters, digits or _", name);
    } else if (min < 0 || max < min) {
        error = weft_status_create(graph->allocator, WEFT_OUT_OF_RANGE, "weft_symbol",
                                   "symbol %s cannot run over [%" PRId64 ", %" PRId64 "]: 0 <= min <= max must hold",
                                   name, min, max);
    }
    if (error == NULL) return weft_extent_from(graph, weft_expr_symbol(graph->exprs, name, min, max));
    weft_graph_fail(graph, error);
    return weft_extent_invalid(graph);
}

/* ---- arithmetic ---- */

static bool divide(int64_t a, int64_t b, int64_t *out_quotient)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *out_quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static bool add(int64_t a, int64_t b, int64_t *out_result)
{
    return !__builtin_add_overflow(a, b, out_result);
}
static bool sub(int64_t a, int64_t b, int64_t *out_result)
{
    return !__builtin_sub_overflow(a, b, out_result);
}
static bool mul(int64_t a, int64_t b, int64_t *out_result)
{
    return !__builtin_mul_overflow(a, b, out_result);
}

static bool mod(int64_t a, int64_t b, int64_t *out_result)
{
    if (b == 0) return false;
    int64_t rest = b == -1 ? 0 : a % b;
    *out_result = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    return true;
}

static bool min(int64_t a, int64_t b, int64_t *out_result)
{
    *out_result = a < b ? a : b;
    return true;
}

static bool max(int64_t a, int64_t b, int64_t *out_result)
{
    *out_result = a > b ? a : b;
    return true;
}

typedef bool constant_function(int64_t a, int64_t b, int64_t *out_result);
typedef weft_expr expr_function(weft_expr_context *exprs, weft_expr a, weft_expr b);

/* Constants need no graph; anything else is done by the first graph at hand. */
static weft_extent combine(weft_extent a, weft_extent b, constant_function *constants, expr_function *exprs)
{
    weft_graph *graph = a.graph != NULL ? a.graph : b.graph;
    if (graph == NULL) {
        weft_extent result = weft_extent_invalid(NULL);
        int64_t value;
        if (weft_extent_is_valid(a) && weft_extent_is_valid(b) && constants(a.value, b.value, &value))
            result.value = value;
        return result;
    }
    weft_expr x = weft_extent_expr(graph, a), y = weft_extent_expr(graph, b);
    if (x == WEFT_EXPR_NONE || y == WEFT_EXPR_NONE) return weft_extent_invalid(graph);
    return weft_extent_from(graph, exprs(graph->exprs, x, y));
}

weft_extent weft_extent_add(weft_extent a, weft_extent b)
{
    return combine(a, b, add, weft_expr_add);
}
weft_extent weft_extent_sub(weft_extent a, weft_extent b)
{
    return combine(a, b, sub, weft_expr_sub);
}
weft_extent weft_extent_mul(weft_extent a, weft_extent b)
{
    return combine(a, b, mul, weft_expr_mul);
}
weft_extent weft_extent_div(weft_extent a, weft_extent b)
{
    return combine(a, b, divide, weft_expr_div);
}
weft_extent weft_extent_mod(weft_extent a, weft_extent b)
{
    return combine(a, b, mod, weft_expr_mod);
}
weft_extent weft_extent_min(weft_extent a, weft_extent b)
{
    return combine(a, b, min, weft_expr_min);
}
weft_extent weft_extent_max(weft_extent a, weft_extent b)
{
    return combine(a, b, max, weft_expr_max);
}

weft_extent weft_extent_steps(weft_extent way, int64_t step)
{
    int64_t least, most;
    weft_extent none = weft_extent_of(0), one = weft_extent_of(1);
    weft_extent_range(way, &least, &most);
    if (step >= most && most > INT64_MAX - step) return weft_extent_max(weft_extent_min(way, one), none);
    weft_extent last = weft_extent_div(weft_extent_sub(way, one), weft_extent_of(step));
    return weft_extent_max(weft_extent_add(last, one), none);
}

weft_extent weft_extent_windows(weft_extent extent, weft_extent size, int64_t stride, int64_t dilation)
{
    int64_t count, reach;
    if (weft_extent_is_static(size, &count) && __builtin_mul_overflow(count - 1, dilation, &reach))
        return weft_extent_of(0);
    weft_extent one = weft_extent_of(1);
    weft_extent span = weft_extent_add(weft_extent_mul(weft_extent_sub(size, one), weft_extent_of(dilation)), one);
    return weft_extent_steps(weft_extent_add(weft_extent_sub(extent, span), one), stride);
}

/* ---- reading ---- */

bool weft_extent_is_static(weft_extent extent, int64_t *out_value)
{
    if (extent.graph != NULL || !weft_extent_is_valid(extent)) return false;
    if (out_value != NULL) *out_value = extent.value;
    return true;
}

bool weft_extent_equal(weft_extent a, weft_extent b)
{
    if (!weft_extent_is_valid(a) || a.value != b.value || (a.graph == NULL) != (b.graph == NULL)) return false;
    return a.graph == b.graph || a.graph->exprs == b.graph->exprs;
}

bool weft_extent_never_equal(weft_graph *graph, weft_extent a, weft_extent b)
{
    if (weft_graph_never_runs(weft_graph_current(graph))) return false;
    weft_expr x = weft_extent_expr(graph, a), y = weft_extent_expr(graph, b);
    return x != WEFT_EXPR_NONE && y != WEFT_EXPR_NONE && weft_expr_never_equal(graph->exprs, x, y);
}

void weft_extent_range(weft_extent extent, int64_t *out_min, int64_t *out_max)
{
    if (weft_extent_is_static(extent, out_min)) {
        *out_max = *out_min;
    } else if (weft_extent_is_valid(extent)) {
        weft_expr_range(extent.graph->exprs, (weft_expr)extent.value, out_min, out_max);
    } else {
        *out_min = INT64_MIN;
        *out_max = INT64_MAX;
    }
}

size_t weft_extent_print(weft_extent extent, char *out_text, size_t size)
{
    int64_t value;
    if (weft_extent_is_static(extent, &value)) return (size_t)snprintf(out_text, size, "%" PRId64, value);
    if (!weft_extent_is_valid(extent)) return (size_t)snprintf(out_text, size, "?");
    weft_bytes text;
    weft_bytes_init(&text, extent.graph->allocator);
    weft_expr_print(extent.graph->exprs, (weft_expr)extent.value, &text);
    int length = snprintf(out_text, size, "%s", text.failed || text.data == NULL ? "?" : text.data);
    weft_bytes_finish(&text);
    return (size_t)length;
}

weft_extent_text weft_extent_describe(weft_extent extent)
{
    weft_extent_text text;
    weft_extent_print(extent, text.text, sizeof text.text);
    return text;
}

weft_type_text weft_type_describe(const weft_type *type)
{
    weft_type_text text;
    char *cursor = text.text, *end = text.text + sizeof text.text;
    cursor += snprintf(cursor, sizeof text.text, "%s[", weft_dtype_name(type->dtype));
    for (size_t i = 0; i < type->shape.rank && end - cursor > (ptrdiff_t)sizeof(weft_extent_text) + 4; i++) {
        cursor += snprintf(cursor, (size_t)(end - cursor), "%s%s", i == 0 ? "" : ", ",
                           weft_extent_describe(type->shape.extents[i]).text);
    }
    snprintf(cursor, (size_t)(end - cursor), "]");
    return text;
}

weft_status *weft_extent_parse(weft_graph *graph, const char *text, weft_extent *out_extent)
{
    WEFT_REQUIRE(graph);
    WEFT_REQUIRE(text);
    WEFT_REQUIRE(out_extent);
    const char *cursor = text;
    weft_expr expr;
    WEFT_TRY(weft_status_locate(weft_expr_parse(graph->exprs, &cursor, &expr), "weft_extent_parse"));
    cursor += strspn(cursor, " \t\r\n");
    if (*cursor != '\0') {
        return weft_status_create(graph->allocator, WEFT_PARSE_ERROR, "weft_extent_parse",
                                  "\"%s\" has \"%s\" after a complete expression", text, cursor);
    }
    weft_extent extent = weft_extent_from(graph, expr);
    if (!weft_extent_is_valid(extent) && weft_graph_error(graph) == NULL) {
        return weft_status_create(graph->allocator, WEFT_OUT_OF_RANGE, "weft_extent_parse",
                                  "\"%s\" is %" PRId64 ", beyond the range of an extent, which begins at %" PRId64,
                                  text, INT64_MIN, -INT64_MAX);
    }
    *out_extent = extent;
    return NULL;
}
