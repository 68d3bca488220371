/* SPDX-License-Identifier: Apache-2.0 */
/* Finding rules, and what they share. */
#include <weft/elementwise.h>
#include <weft/shape.h>
#include <stdarg.h>
#include "lib/composite/composite.h"
#include "lib/grad/grad.h"
#include "lib/trace/trace.h"
#include "runtime/base/status.h"
#include "runtime/program/extension.h"

bool weft_gradient_has(weft_dtype dtype)
{
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    return kind == WEFT_KIND_FLOAT || kind == WEFT_KIND_COMPLEX;
}

weft_tensor weft_gradient_conj(weft_tensor x)
{
    bool is_complex = weft_tensor_is_valid(x) && weft_dtype_info_of(weft_tensor_dtype(x))->kind == WEFT_KIND_COMPLEX;
    return is_complex ? weft_conj(x) : x;
}

static weft_tensor zero_like(weft_tensor x)
{
    return weft_scalar(x.graph, weft_tensor_dtype(x), 0);
}

/* Where the product is 0 though the slope is not finite. */
static weft_tensor find_dead(weft_tensor g, weft_tensor d)
{
    return weft_and(weft_eq(g, zero_like(g)), weft_not(weft_is_finite(d)));
}

weft_tensor weft_gradient_scale(weft_tensor g, weft_tensor d)
{
    weft_tensor product = weft_select(find_dead(g, d), zero_like(g), weft_mul(g, d));
    return weft_composite_as(WEFT_COMPOSED_scale, WEFT_TENSORS(g, d), NULL, product);
}

weft_status *weft_gradient_refuse(const weft_gradient_context *context, const char *function, const char *format, ...)
{
    weft_location location = weft_graph_root(context->graph)->location;
    va_list arguments;
    va_start(arguments, format);
    weft_status *reason = weft_status_create_v(context->graph->allocator, WEFT_UNSUPPORTED, NULL, format, arguments);
    va_end(arguments);
    if (weft_status_code(reason) == WEFT_OUT_OF_MEMORY) return reason;
    weft_status *status = weft_status_create(context->graph->allocator, WEFT_UNSUPPORTED, function, "%s: %s", function,
                                             weft_status_message(reason));
    weft_status_destroy(reason);
    return weft_status_of_op(status, function, location.file, location.line);
}

weft_tensor weft_gradient_zeros(weft_tensor like)
{
    return weft_zeros(like.graph, weft_tensor_dtype(like), weft_tensor_shape(like));
}

weft_tensor weft_gradient_afresh(weft_tensor x)
{
    int64_t count;
    bool is_known = weft_extent_is_static(weft_extent_product(weft_tensor_shape(x), 0, weft_tensor_rank(x)), &count);
    return is_known && count > WEFT_GRADIENT_NEAR ? weft_trace_barrier(WEFT_TENSORS(x), true) : x;
}

weft_tensor weft_gradient_again(const weft_gradient_context *context, weft_tensors inputs)
{
    return weft_graph_trace(context->graph, context->op, inputs, context->attrs);
}

weft_status *weft_gradient_jvp_linear(const weft_gradient_context *context, weft_tensor *out_values)
{
    out_values[0] = weft_gradient_again(context, context->given);
    return NULL;
}

/* ---- the rule of weft_gradient_scale, of which the derivatives are products with slopes in turn ---- */

static weft_status *vjp_scale(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor g = c->inputs.items[0], d = c->inputs.items[1], given = c->given.items[0];
    if (c->needs[0]) out_values[0] = weft_gradient_scale(given, weft_gradient_conj(d));
    if (c->needs[1]) {
        weft_tensor share = weft_gradient_scale(given, weft_gradient_conj(g));
        out_values[1] = weft_select(find_dead(g, d), zero_like(g), share);
    }
    return NULL;
}

static weft_status *jvp_scale(const weft_gradient_context *c, weft_tensor *out_values)
{
    weft_tensor g = c->inputs.items[0], d = c->inputs.items[1], dg = c->given.items[0], dd = c->given.items[1];
    if (dg.graph != NULL) dg = weft_gradient_scale(dg, d);
    if (dd.graph != NULL) dd = weft_select(find_dead(g, d), zero_like(g), weft_gradient_scale(dd, g));
    out_values[0] = weft_gradient_add(dg, dd);
    return NULL;
}

static const weft_gradient_row rows[] = {{WEFT_COMPOSED_scale, vjp_scale, jvp_scale, NULL}};

static const weft_gradient_family shared = {sizeof rows / sizeof *rows, rows};

/* ---- finding rules ---- */

static const weft_gradient_row *find(const weft_gradient_family *family, unsigned id)
{
    for (size_t i = 0; i < family->count; i++)
        if (family->rows[i].id == id) return &family->rows[i];
    return NULL;
}

static const weft_gradient_row *find_op(weft_op_id id)
{
    const weft_gradient_family *const families[] = {&weft_gradient_elementwise, &weft_gradient_movement,
                                                    &weft_gradient_index,       &weft_gradient_reduce,
                                                    &weft_gradient_scan,        &weft_gradient_region};
    const weft_gradient_row *row = NULL;
    for (size_t i = 0; row == NULL && i < sizeof families / sizeof *families; i++) row = find(families[i], id);
    return row;
}

static const weft_gradient_row *find_composed(weft_composed_id id)
{
    const weft_gradient_family *const families[] = {
        &weft_gradient_activation,  &weft_gradient_normalize, &weft_gradient_loss,      &weft_gradient_attention,
        &weft_gradient_convolution, &weft_gradient_pool,      &weft_gradient_snapshots, &shared};
    const weft_gradient_row *row = NULL;
    for (size_t i = 0; row == NULL && i < sizeof families / sizeof *families; i++) row = find(families[i], id);
    return row;
}

const weft_gradient_row *weft_gradient_row_of(const weft_op_def *op, weft_gradient_row *out_own)
{
    weft_op_id id = weft_op_id_of(op);
    weft_composed_id composed = weft_composed_id_of(op);
    if (id != WEFT_OP_EXTENSION) return find_op(id);
    if (composed != WEFT_COMPOSED_COUNT) return find_composed(composed);
    if (!weft_op_knows_gradients(op) || (op->vjp == NULL && op->jvp == NULL)) return NULL;
    *out_own = (weft_gradient_row){.vjp = op->vjp, .jvp = op->jvp};
    return out_own;
}
