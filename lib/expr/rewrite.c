/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions made from others: affine parts, substitution, import from another context, compilation to formulas. */
#include "lib/expr/node.h"

#include <string.h>

bool weft_expr_affine(weft_expr_context *exprs, weft_expr e, weft_expr variable, weft_expr *out_coefficient,
                      weft_expr *out_rest)
{
    if (e == WEFT_EXPR_NONE || variable == WEFT_EXPR_NONE) return false;
    weft_expr coefficient, rest;
    weft_expr_cofactor(exprs, e, variable, &coefficient, &rest);
    if (coefficient == WEFT_EXPR_NONE || rest == WEFT_EXPR_NONE) return false;
    if (weft_expr_uses(exprs, coefficient, variable) || weft_expr_uses(exprs, rest, variable)) return false;
    *out_coefficient = coefficient;
    *out_rest = rest;
    return true;
}

/* One walk over the operands of an expression; results are kept by id, and operands are older than what uses them. */
typedef struct rewriter {
    weft_expr_context *target;
    const weft_expr_context *source;
    size_t count;
    const weft_expr *symbols, *values;
    size_t instead_count;
    const weft_expr *instead; /* symbols and constants of the source to import, by id */
    weft_expr *done;          /* by id of the source */
} rewriter;

static weft_expr rewrite(rewriter *r, weft_expr e);

static weft_expr import_symbol(rewriter *r, const weft_expr_node *node)
{
    if (node->id < r->instead_count) node = weft_expr_node_of(r->source, r->instead[node->id]);
    if (node->kind == WEFT_EXPR_CONSTANT) return weft_expr_constant(r->target, node->value);
    if (node->bound != WEFT_EXPR_NONE) return weft_expr_variable(r->target, node->name, rewrite(r, node->bound));
    return weft_expr_symbol(r->target, node->name, node->min, node->max);
}

static weft_expr rewrite_symbol(rewriter *r, const weft_expr_node *node)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->symbols[i] == node->id) return r->values[i];
    return r->source == r->target ? node->id : import_symbol(r, node);
}

static weft_expr rewrite_sum(rewriter *r, const weft_expr_node *node)
{
    weft_expr sum = weft_expr_constant(r->target, node->value);
    for (uint32_t i = 0; i < node->count; i++)
        sum = weft_expr_combine(r->target, sum, 1, rewrite(r, (weft_expr)node->terms[i].expr),
                                node->terms[i].coefficient);
    return sum;
}

static weft_expr rewrite_product(rewriter *r, const weft_expr_node *node)
{
    weft_expr product = rewrite(r, (weft_expr)node->terms[0].expr);
    for (uint32_t i = 1; i < node->count; i++)
        product = weft_expr_mul(r->target, product, rewrite(r, (weft_expr)node->terms[i].expr));
    return product;
}

static weft_expr rewrite_node(rewriter *r, const weft_expr_node *node)
{
    switch (node->kind) {
    case WEFT_EXPR_CONSTANT: return weft_expr_constant(r->target, node->value);
    case WEFT_EXPR_SYMBOL: return rewrite_symbol(r, node);
    case WEFT_EXPR_SUM: return rewrite_sum(r, node);
    case WEFT_EXPR_PRODUCT: return rewrite_product(r, node);
    default: break;
    }
    weft_expr a = rewrite(r, (weft_expr)node->terms[0].expr), b = rewrite(r, (weft_expr)node->terms[1].expr);
    if (node->kind == WEFT_EXPR_DIV) return weft_expr_div(r->target, a, b);
    if (node->kind == WEFT_EXPR_MOD) return weft_expr_mod(r->target, a, b);
    return node->kind == WEFT_EXPR_MIN ? weft_expr_min(r->target, a, b) : weft_expr_max(r->target, a, b);
}

static bool uses_replaced(const rewriter *r, weft_expr e)
{
    for (size_t i = 0; i < r->count; i++)
        if (weft_expr_uses(r->source, e, r->symbols[i])) return true;
    return false;
}

static weft_expr rewrite(rewriter *r, weft_expr e)
{
    if (e == WEFT_EXPR_NONE || r->done[e] != WEFT_EXPR_NONE) return e == WEFT_EXPR_NONE ? e : r->done[e];
    const weft_expr_node *node = weft_expr_node_of(r->source, e);
    bool same = r->source == r->target && !uses_replaced(r, e);
    return r->done[e] = same ? e : rewrite_node(r, node);
}

static weft_expr run_rewriter(rewriter *r, weft_expr e)
{
    size_t size = ((size_t)e + 1) * sizeof *r->done;
    r->done = weft_allocate_zeroed(r->target->allocator, size);
    if (r->done == NULL) return weft_expr_fail(r->target, WEFT_OUT_OF_MEMORY, "out of memory");
    weft_expr result = rewrite(r, e);
    weft_free(r->target->allocator, r->done, size);
    return result;
}

weft_expr weft_expr_substitute(weft_expr_context *exprs, weft_expr e, size_t count, const weft_expr *symbols,
                               const weft_expr *values)
{
    rewriter r = {.target = exprs, .source = exprs, .count = count, .symbols = symbols, .values = values};
    if (e == WEFT_EXPR_NONE) return e;
    return uses_replaced(&r, e) ? run_rewriter(&r, e) : e;
}

weft_expr weft_expr_import(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e)
{
    return source == exprs ? e : weft_expr_import_as(exprs, source, e, 0, NULL);
}

weft_expr weft_expr_import_as(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e, size_t count,
                              const weft_expr *instead)
{
    rewriter r = {.target = exprs, .source = source, .instead_count = count, .instead = instead};
    return e == WEFT_EXPR_NONE ? e : run_rewriter(&r, e);
}

weft_expr weft_expr_import_with(weft_expr_context *exprs, const weft_expr_context *source, weft_expr e, size_t count,
                                const weft_expr *symbols, const weft_expr *values)
{
    rewriter r = {.target = exprs, .source = source, .count = count, .symbols = symbols, .values = values};
    return e == WEFT_EXPR_NONE ? e : run_rewriter(&r, e);
}

/* ---- formulas ---- */

typedef struct compiler {
    const weft_expr_context *exprs;
    weft_formulas *formulas;
    uint32_t *done; /* slot + 1, by id */
} compiler;

static weft_status *compile(compiler *c, weft_expr e, uint32_t *out_slot);

static weft_status *add_constant(compiler *c, int64_t value, uint32_t *out_slot)
{
    return weft_formulas_add(c->formulas, (weft_formula){.op = WEFT_FORMULA_CONSTANT, .constant = value}, out_slot);
}

static weft_status *add_pair(compiler *c, weft_formula_op op, uint32_t a, uint32_t b, uint32_t *out_slot)
{
    return weft_formulas_add(c->formulas, (weft_formula){.op = op, .a = a, .b = b}, out_slot);
}

static weft_status *compile_term(compiler *c, weft_term term, uint32_t *out_slot)
{
    uint32_t factor, value;
    WEFT_TRY(compile(c, (weft_expr)term.expr, &value));
    *out_slot = value;
    if (term.coefficient == 1) return NULL;
    WEFT_TRY(add_constant(c, term.coefficient, &factor));
    return add_pair(c, WEFT_FORMULA_MUL, factor, value, out_slot);
}

/* Terms first, the offset last: the usual extents then stay in range all the way. */
static weft_status *compile_terms(compiler *c, const weft_expr_node *node, weft_formula_op op, uint32_t *out_slot)
{
    uint32_t slot, next;
    WEFT_TRY(compile_term(c, node->terms[0], &slot));
    for (uint32_t i = 1; i < node->count; i++) {
        WEFT_TRY(compile_term(c, node->terms[i], &next));
        WEFT_TRY(add_pair(c, op, slot, next, &slot));
    }
    if (node->value != 0) {
        WEFT_TRY(add_constant(c, node->value, &next));
        WEFT_TRY(add_pair(c, op, slot, next, &slot));
    }
    *out_slot = slot;
    return NULL;
}

static weft_status *compile_node(compiler *c, const weft_expr_node *node, uint32_t *out_slot)
{
    switch (node->kind) {
    case WEFT_EXPR_CONSTANT: return add_constant(c, node->value, out_slot);
    case WEFT_EXPR_SYMBOL: return weft_formulas_add_symbol(c->formulas, node->name, node->min, node->max, out_slot);
    case WEFT_EXPR_SUM: return compile_terms(c, node, WEFT_FORMULA_ADD, out_slot);
    case WEFT_EXPR_PRODUCT: return compile_terms(c, node, WEFT_FORMULA_MUL, out_slot);
    case WEFT_EXPR_DIV: return compile_terms(c, node, WEFT_FORMULA_DIV, out_slot);
    case WEFT_EXPR_MOD: return compile_terms(c, node, WEFT_FORMULA_MOD, out_slot);
    case WEFT_EXPR_MIN: return compile_terms(c, node, WEFT_FORMULA_MIN, out_slot);
    case WEFT_EXPR_MAX: break;
    }
    return compile_terms(c, node, WEFT_FORMULA_MAX, out_slot);
}

static weft_status *compile(compiler *c, weft_expr e, uint32_t *out_slot)
{
    if (c->done[e] == 0) {
        uint32_t slot;
        WEFT_TRY(compile_node(c, weft_expr_node_of(c->exprs, e), &slot));
        c->done[e] = slot + 1;
    }
    *out_slot = c->done[e] - 1;
    return NULL;
}

weft_status *weft_expr_compile(const weft_expr_context *exprs, weft_expr e, weft_formulas *formulas, uint32_t *out_slot)
{
    if (e == WEFT_EXPR_NONE)
        return weft_status_create(exprs->allocator, WEFT_INVALID_ARGUMENT, NULL, "there is no expression to compile");
    compiler c = {.exprs = exprs, .formulas = formulas};
    size_t size = ((size_t)e + 1) * sizeof *c.done;
    c.done = weft_allocate_zeroed(exprs->allocator, size);
    if (c.done == NULL) return weft_status_out_of_memory();
    weft_status *status = compile(&c, e, out_slot);
    weft_free(exprs->allocator, c.done, size);
    return status;
}
