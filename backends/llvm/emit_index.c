/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/emit.h"
#include <stdio.h>
#include <string.h>

bool weft_index_varies(const weft_emitter *e, weft_expr expr)
{
    return e->lane.variable != WEFT_EXPR_NONE && weft_expr_uses(e->exprs, expr, e->lane.variable);
}

uint32_t weft_index_level(weft_emitter *e, weft_expr expr)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < e->variable_count; i++) {
        if (e->variables[i].level > level && weft_expr_uses(e->exprs, expr, e->variables[i].variable))
            level = e->variables[i].level;
    }
    return level;
}

/* ---- leaves ---- */

static LLVMValueRef load_scalar(weft_emitter *e, weft_expr symbol)
{
    const char *name = weft_expr_name(e->exprs, symbol);
    size_t i = 0;
    while (i < weft_kernel_scalar_count(e->kernel) && strcmp(weft_kernel_scalar_name(e->kernel, i), name) != 0) i++;
    if (i == weft_kernel_scalar_count(e->kernel)) {
        weft_emitter_fail(e, weft_status_create(e->allocator, WEFT_INTERNAL, "llvm",
                                                "the loop variable '%s' is used where no range binds it", name));
        return weft_int(e, 0);
    }
    if (e->scalars[i] == NULL) {
        weft_scope_move(e, 0);
        LLVMValueRef index = weft_int(e, (int64_t)i);
        LLVMValueRef address = LLVMBuildGEP2(e->builder, e->i64, e->scalar_array, &index, 1, "");
        e->scalars[i] = LLVMBuildLoad2(e->builder, e->i64, address, "");
    }
    return e->scalars[i];
}

static LLVMValueRef emit_symbol(weft_emitter *e, weft_expr symbol, uint32_t part)
{
    const weft_variable *variable = NULL;
    for (uint32_t i = e->variable_count; i-- > 0 && variable == NULL;)
        if (e->variables[i].variable == symbol) variable = &e->variables[i];
    if (variable == NULL) return load_scalar(e, symbol);
    if (part == 0 || symbol != e->lane.variable) return variable->value;
    weft_scope_move(e, variable->level);
    return LLVMBuildAdd(e->builder, variable->value, weft_int(e, (int64_t)part * e->lane.width), "");
}

/* ---- arithmetic, on scalars and vectors of i64 ---- */

/* Whether the quotient of the truncating division with this remainder is above the floor. */
static LLVMValueRef rounds_up(weft_emitter *e, LLVMValueRef remainder, LLVMValueRef b)
{
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(b));
    LLVMValueRef inexact = LLVMBuildICmp(e->builder, LLVMIntNE, remainder, zero, "");
    LLVMValueRef signs = LLVMBuildXor(e->builder, remainder, b, "");
    return LLVMBuildAnd(e->builder, inexact, LLVMBuildICmp(e->builder, LLVMIntSLT, signs, zero, ""), "");
}

/* A floor division, modulo, minimum or maximum, of the values of its operands. */
static LLVMValueRef build_binary(weft_emitter *e, weft_expr expr, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = e->builder;
    LLVMTypeRef type = LLVMTypeOf(b);
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    int64_t a_min, b_min, ignored;
    weft_expr_range(e->exprs, weft_expr_operand(e->exprs, expr, 0), &a_min, &ignored);
    weft_expr_range(e->exprs, weft_expr_operand(e->exprs, expr, 1), &b_min, &ignored);
    weft_scope_move(e, weft_index_level(e, expr));
    if (kind != WEFT_EXPR_DIV && kind != WEFT_EXPR_MOD) {
        LLVMIntPredicate better = kind == WEFT_EXPR_MIN ? LLVMIntSLT : LLVMIntSGT;
        return LLVMBuildSelect(builder, LLVMBuildICmp(builder, better, a, b, ""), a, b, "");
    }
    if (b_min < 1) {
        /* A divisor is zero only where no point is reached, but code is hoisted out of loops that do not run. */
        LLVMValueRef zero = LLVMBuildICmp(builder, LLVMIntEQ, b, LLVMConstNull(type), "");
        b = LLVMBuildSelect(builder, zero, weft_int_like(type, 1), b, "");
    }
    if (a_min >= 0 && b_min >= 0) return (kind == WEFT_EXPR_DIV ? LLVMBuildUDiv : LLVMBuildURem)(builder, a, b, "");
    if (kind == WEFT_EXPR_DIV) {
        LLVMValueRef quotient = LLVMBuildSDiv(builder, a, b, "");
        LLVMValueRef up = rounds_up(e, LLVMBuildSRem(builder, a, b, ""), b);
        return LLVMBuildAdd(builder, quotient, LLVMBuildSExt(builder, up, type, ""), "");
    }
    LLVMValueRef remainder = LLVMBuildSRem(builder, a, b, ""), wrapped = LLVMBuildAdd(builder, remainder, b, "");
    return LLVMBuildSelect(builder, rounds_up(e, remainder, b), wrapped, remainder, "");
}

static LLVMValueRef scaled(weft_emitter *e, LLVMValueRef value, int64_t factor)
{
    return factor == 1 ? value : LLVMBuildMul(e->builder, value, weft_int_like(LLVMTypeOf(value), factor), "");
}

/* ---- tables: digits of a variable of a short range are looked up, not divided ---- */

/* The most elements of a table. */
#define TABLE 4096

/* Whether the expression is one of digits of the variable alone: what is divided is not negative, divisors are positive
 * constants. */
static bool is_function_of(const weft_emitter *e, weft_expr expr, weft_expr variable)
{
    int64_t constant, low, high;
    if (expr == variable || weft_expr_is_constant(e->exprs, expr, &constant)) return true;
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_SYMBOL || kind == WEFT_EXPR_MIN || kind == WEFT_EXPR_MAX) return false;
    if (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) {
        weft_expr_range(e->exprs, weft_expr_operand(e->exprs, expr, 0), &low, &high);
        bool known = weft_expr_is_constant(e->exprs, weft_expr_operand(e->exprs, expr, 1), &constant);
        if (low < 0 || !known || constant < 1) return false;
    }
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++)
        if (!is_function_of(e, weft_expr_operand(e->exprs, expr, i), variable)) return false;
    return true;
}

static bool divides(const weft_emitter *e, weft_expr expr)
{
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) return true;
    for (size_t i = 0; kind != WEFT_EXPR_SYMBOL && i < weft_expr_arity(e->exprs, expr); i++)
        if (divides(e, weft_expr_operand(e->exprs, expr, i))) return true;
    return false;
}

/* The only variable that the expression depends on, if its range is short enough for a table, or NULL. */
static const weft_variable *table_variable(const weft_emitter *e, weft_expr expr)
{
    int64_t extent;
    for (uint32_t i = 0; i < e->variable_count && !e->gpu; i++) {
        const weft_variable *variable = &e->variables[i];
        if (!weft_expr_uses(e->exprs, expr, variable->variable)) continue;
        weft_expr bound = weft_expr_bound(e->exprs, variable->variable);
        bool is_short = weft_expr_is_constant(e->exprs, bound, &extent) && extent <= TABLE;
        bool open = variable->variable != e->lane.variable && LLVMIsAConstantInt(variable->value) == NULL;
        return is_short && open && is_function_of(e, expr, variable->variable) ? variable : NULL;
    }
    return NULL;
}

/* The variable by which the expression is looked up in a table; NULL if it is not. */
static const weft_variable *find_table(const weft_emitter *e, weft_expr expr)
{
    return divides(e, expr) ? table_variable(e, expr) : NULL;
}

/* The value of a function of one variable at `at`; divisors of digits are positive. */
static int64_t evaluate(const weft_emitter *e, weft_expr expr, int64_t at)
{
    int64_t constant;
    if (weft_expr_is_constant(e->exprs, expr, &constant)) return constant;
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_SYMBOL) return at;
    int64_t total = kind == WEFT_EXPR_SUM ? weft_expr_offset(e->exprs, expr) : 1;
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
        int64_t value = evaluate(e, weft_expr_operand(e->exprs, expr, i), at);
        if (kind == WEFT_EXPR_SUM) total += value * weft_expr_coefficient_of(e->exprs, expr, i);
        else if (kind == WEFT_EXPR_PRODUCT) total *= value;
        else if (i == 0) total = value;
        else total = kind == WEFT_EXPR_DIV ? total / value : total % value;
    }
    return total;
}

static LLVMValueRef emit_table(weft_emitter *e, weft_expr expr, const weft_variable *variable)
{
    char name[256];
    size_t length;
    int64_t extent = 0;
    LLVMValueRef index = variable->value;
    weft_expr_is_constant(e->exprs, weft_expr_bound(e->exprs, variable->variable), &extent);
    LLVMValueRef *elements = weft_arena_allocate(&e->arena, ((size_t)extent + 1) * sizeof(LLVMValueRef));
    if (elements == NULL) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return weft_int(e, 0);
    }
    for (int64_t i = 0; i < extent; i++) elements[i] = weft_int(e, evaluate(e, expr, i));
    snprintf(name, sizeof name, "%s_offsets", LLVMGetValueName2(e->function, &length));
    LLVMValueRef table = LLVMAddGlobal(e->module, LLVMArrayType2(e->i64, (uint64_t)extent), name);
    LLVMSetInitializer(table, LLVMConstArray2(e->i64, elements, (uint64_t)extent));
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(table, true);
    LLVMSetUnnamedAddress(table, LLVMGlobalUnnamedAddr);
    weft_scope_move(e, variable->level);
    LLVMValueRef address = LLVMBuildGEP2(e->builder, e->i64, table, &index, 1, "");
    return LLVMBuildLoad2(e->builder, e->i64, address, "");
}

/* ---- scalars ---- */

/* The terms of a sum that depend on `variable` alone, if together they are a table; NONE if not. */
static weft_expr pick_table(weft_emitter *e, weft_expr sum, const weft_variable *variable)
{
    weft_expr total = weft_expr_constant(e->exprs, 0);
    for (size_t i = 0; i < weft_expr_arity(e->exprs, sum); i++) {
        weft_expr operand = weft_expr_operand(e->exprs, sum, i);
        if (table_variable(e, operand) != variable) continue;
        weft_expr factor = weft_expr_constant(e->exprs, weft_expr_coefficient_of(e->exprs, sum, i));
        total = weft_expr_add(e->exprs, total, weft_expr_mul(e->exprs, operand, factor));
    }
    return total != WEFT_EXPR_NONE && find_table(e, total) == variable ? total : WEFT_EXPR_NONE;
}

/* Adds to `total` the terms available at `level` that depend on `variable` alone, or for NULL those that are in no
 * table. */
static LLVMValueRef add_terms(weft_emitter *e, weft_expr sum, uint32_t level, const weft_variable *variable,
                              uint32_t part, LLVMValueRef total)
{
    for (size_t i = 0; i < weft_expr_arity(e->exprs, sum); i++) {
        weft_expr operand = weft_expr_operand(e->exprs, sum, i);
        if (weft_index_level(e, operand) != level || table_variable(e, operand) != variable) continue;
        LLVMValueRef term = weft_index_emit(e, operand, part);
        weft_scope_move(e, level);
        term = scaled(e, term, weft_expr_coefficient_of(e->exprs, sum, i));
        total = total == NULL ? term : LLVMBuildAdd(e->builder, total, term, "");
    }
    return total;
}

/* Several variables may be bound at one scope: the terms that depend on one of them alone are a table of it, or are
 * added one by one. A table needs no other expression, and a term is smaller than the sum, so the recursion ends. */
LLVMValueRef weft_index_terms(weft_emitter *e, weft_expr sum, uint32_t level, uint32_t part)
{
    LLVMValueRef total = NULL;
    for (uint32_t v = 0; v < e->variable_count; v++) {
        const weft_variable *variable = &e->variables[v];
        if (variable->level != level) continue;
        weft_expr table = pick_table(e, sum, variable);
        if (table == WEFT_EXPR_NONE) {
            total = add_terms(e, sum, level, variable, part, total);
            continue;
        }
        LLVMValueRef loaded = weft_index_emit(e, table, 0);
        weft_scope_move(e, level);
        total = total == NULL ? loaded : LLVMBuildAdd(e->builder, total, loaded, "");
    }
    return add_terms(e, sum, level, NULL, part, total);
}

/* The terms of a longer sum that no loop changes are frozen, which makes them one value: LLVM's loop strength reduction
 * tries ways to combine the terms of addresses, in time that explodes with their number. */
#define LONG_SUM 8

static LLVMValueRef emit_sum(weft_emitter *e, weft_expr expr, uint32_t part)
{
    LLVMValueRef total = weft_int(e, weft_expr_offset(e->exprs, expr));
    for (uint32_t level = 0; level <= weft_index_level(e, expr); level++) {
        LLVMValueRef terms = weft_index_terms(e, expr, level, part);
        if (terms == NULL) continue;
        weft_scope_move(e, level);
        if (level == 0 && weft_expr_arity(e->exprs, expr) > LONG_SUM) terms = LLVMBuildFreeze(e->builder, terms, "");
        total = LLVMBuildAdd(e->builder, terms, total, "");
    }
    return total;
}

/* Factors are multiplied from the outer levels to the inner ones, like the terms of a sum. */
static LLVMValueRef emit_product(weft_emitter *e, weft_expr expr, uint32_t part)
{
    LLVMValueRef total = NULL;
    for (uint32_t level = 0; level <= weft_index_level(e, expr); level++) {
        for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
            weft_expr operand = weft_expr_operand(e->exprs, expr, i);
            if (weft_index_level(e, operand) != level) continue;
            LLVMValueRef factor = weft_index_emit(e, operand, part);
            weft_scope_move(e, level);
            total = total == NULL ? factor : LLVMBuildMul(e->builder, total, factor, "");
        }
    }
    return total;
}

static LLVMValueRef emit_scalar(weft_emitter *e, weft_expr expr, uint32_t part)
{
    int64_t constant;
    if (weft_expr_is_constant(e->exprs, expr, &constant)) return weft_int(e, constant);
    const weft_variable *variable = find_table(e, expr);
    if (variable != NULL) return emit_table(e, expr, variable);
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_SYMBOL) return emit_symbol(e, expr, part);
    if (kind == WEFT_EXPR_SUM) return emit_sum(e, expr, part);
    if (kind == WEFT_EXPR_PRODUCT) return emit_product(e, expr, part);
    LLVMValueRef a = weft_index_emit(e, weft_expr_operand(e->exprs, expr, 0), part);
    LLVMValueRef b = weft_index_emit(e, weft_expr_operand(e->exprs, expr, 1), part);
    return build_binary(e, expr, a, b);
}

/* The memo of `expr`; NULL when out of memory. */
static weft_index_memo *memo_of(weft_emitter *e, weft_expr expr)
{
    size_t old = e->memo_capacity;
    if (!weft_reserve(e->allocator, &e->memo, &e->memo_capacity, (size_t)expr + 1, sizeof *e->memo)) {
        weft_emitter_fail(e, weft_status_out_of_memory());
        return NULL;
    }
    if (e->memo_capacity > old) memset(e->memo + old, 0, (e->memo_capacity - old) * sizeof *e->memo);
    return &e->memo[expr];
}

LLVMValueRef weft_index_emit(weft_emitter *e, weft_expr expr, uint32_t part)
{
    if (expr == WEFT_EXPR_NONE) {
        weft_emitter_fail(e, weft_status_create(e->allocator, WEFT_INTERNAL, "llvm", "an address has no expression"));
        return weft_int(e, 0);
    }
    if (part != 0 && weft_index_varies(e, expr)) return emit_scalar(e, expr, part);
    weft_index_memo *memo = memo_of(e, expr);
    if (memo != NULL && memo->value != NULL && weft_value_is_open(e, memo->level, memo->serial)) return memo->value;
    LLVMValueRef value = emit_scalar(e, expr, 0);
    uint32_t level = weft_index_level(e, expr);
    memo = memo_of(e, expr);
    if (memo != NULL) *memo = (weft_index_memo){level, e->scopes[level].serial, value};
    return value;
}

/* ---- steps from lane to lane ---- */

/* The one division after whose period lanes may go on in the next one; its operands are NONE until it is found. */
typedef struct wrap {
    weft_expr dividend, period;
} wrap;

static bool vector_step(weft_emitter *e, weft_expr expr, wrap *w, int64_t *out_step);

/* Whether (a + lane) is divided by a divisor or modulus of at least the width: a vector leaves a period at most once.
 */
static bool wraps_once(weft_emitter *e, weft_expr expr)
{
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind != WEFT_EXPR_DIV && kind != WEFT_EXPR_MOD) return false;
    weft_expr b = weft_expr_operand(e->exprs, expr, 1);
    int64_t step, min, max;
    weft_expr_range(e->exprs, b, &min, &max);
    if (min < (int64_t)e->lane.width || weft_index_varies(e, b)) return false;
    return vector_step(e, weft_expr_operand(e->exprs, expr, 0), NULL, &step) && step == 1;
}

/* Takes the quotient or remainder as what it is before its period ends, if that ends where the others' does. */
static bool joins_wrap(weft_emitter *e, weft_expr expr, wrap *w)
{
    weft_expr a = weft_expr_operand(e->exprs, expr, 0), b = weft_expr_operand(e->exprs, expr, 1);
    if (w == NULL || !wraps_once(e, expr)) return false;
    if (w->dividend == WEFT_EXPR_NONE) *w = (wrap){a, b};
    return w->dividend == a && w->period == b;
}

/* Vectors start at multiples of their width: where (v + r) and m are multiples of it too, a vector lies inside of one
 * period of m. */
static bool vector_step_divided(weft_emitter *e, weft_expr expr, wrap *w, int64_t *out_step)
{
    weft_expr a = weft_expr_operand(e->exprs, expr, 0), b = weft_expr_operand(e->exprs, expr, 1);
    int64_t step;
    if (weft_index_varies(e, b) || !vector_step(e, a, w, &step)) return false;
    *out_step = 0;
    if (step == 0) return true;
    bool is_remainder = weft_expr_kind_of(e->exprs, expr) == WEFT_EXPR_MOD;
    weft_expr rest = weft_expr_sub(e->exprs, a, e->lane.variable);
    int64_t width = e->lane.width;
    *out_step = is_remainder;
    if (step != 1 || weft_index_varies(e, rest)) return joins_wrap(e, expr, w);
    bool inside = weft_expr_divisor(e->exprs, b) % width == 0 && weft_expr_divisor(e->exprs, rest) % width == 0;
    return inside || joins_wrap(e, expr, w);
}

/* The growth of `expr` from lane to lane within one vector, if it is the same for all lanes: with `w`, for all lanes
 * before that wrap, and for all after it. */
static bool vector_step(weft_emitter *e, weft_expr expr, wrap *w, int64_t *out_step)
{
    *out_step = expr == e->lane.variable;
    if (*out_step != 0 || !weft_index_varies(e, expr)) return true;
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) return vector_step_divided(e, expr, w, out_step);
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
        int64_t step;
        if (!vector_step(e, weft_expr_operand(e->exprs, expr, i), w, &step)) return false;
        if (kind == WEFT_EXPR_SUM) *out_step += step * weft_expr_coefficient_of(e->exprs, expr, i);
        else if (step != 0) return false;
    }
    return true;
}

weft_lane_stride weft_index_lane_stride(weft_emitter *e, weft_expr expr)
{
    if (!weft_index_varies(e, expr)) return (weft_lane_stride){.kind = WEFT_LANE_STRIDE_CONSTANT, .exact = true};
    weft_expr coefficient, rest;
    if (weft_expr_affine(e->exprs, expr, e->lane.variable, &coefficient, &rest)) {
        weft_lane_stride step = {.kind = WEFT_LANE_STRIDE_SYMBOLIC, .exact = true, .stride = coefficient};
        if (weft_expr_is_constant(e->exprs, coefficient, &step.step)) step.kind = WEFT_LANE_STRIDE_CONSTANT;
        return step;
    }
    weft_lane_stride step = {.kind = WEFT_LANE_STRIDE_ANY};
    if (vector_step(e, expr, NULL, &step.step)) step.kind = WEFT_LANE_STRIDE_CONSTANT;
    return step;
}

/* The value of `expr` at the first lane after the wrap, `left` lanes after the first one. */
static weft_expr after_wrap(weft_emitter *e, weft_expr expr, const wrap *w, weft_expr left)
{
    weft_expr_context *x = e->exprs;
    if (!weft_index_varies(e, expr)) return expr;
    if (expr == e->lane.variable) return weft_expr_add(x, expr, left);
    weft_expr_kind kind = weft_expr_kind_of(x, expr);
    weft_expr first = weft_expr_operand(x, expr, 0);
    bool divides = kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD;
    if (divides && first == w->dividend && weft_expr_operand(x, expr, 1) == w->period)
        return kind == WEFT_EXPR_MOD ? weft_expr_constant(x, 0) : weft_expr_add(x, expr, weft_expr_constant(x, 1));
    weft_expr total = weft_expr_constant(x, kind == WEFT_EXPR_SUM ? weft_expr_offset(x, expr) : 1);
    for (size_t i = 0; i < weft_expr_arity(x, expr); i++) {
        weft_expr operand = after_wrap(e, weft_expr_operand(x, expr, i), w, left);
        if (kind == WEFT_EXPR_SUM)
            total = weft_expr_add(
                x, total, weft_expr_mul(x, operand, weft_expr_constant(x, weft_expr_coefficient_of(x, expr, i))));
        else if (kind == WEFT_EXPR_PRODUCT) total = weft_expr_mul(x, total, operand);
        else if (i == 0) total = operand;
        else if (kind == WEFT_EXPR_DIV) total = weft_expr_div(x, total, operand);
        else if (kind == WEFT_EXPR_MOD) total = weft_expr_mod(x, total, operand);
        else total = (kind == WEFT_EXPR_MIN ? weft_expr_min : weft_expr_max)(x, total, operand);
    }
    return total;
}

bool weft_index_lane_wrap(weft_emitter *e, weft_expr expr, weft_lane_wrap *out_wrap)
{
    wrap w = {WEFT_EXPR_NONE, WEFT_EXPR_NONE};
    if (!vector_step(e, expr, &w, &out_wrap->step) || w.dividend == WEFT_EXPR_NONE) return false;
    out_wrap->left = weft_expr_sub(e->exprs, w.period, weft_expr_mod(e->exprs, w.dividend, w.period));
    out_wrap->after = after_wrap(e, expr, &w, out_wrap->left);
    return true;
}

/* ---- distances from lane to lane ---- */

/* The most that steps, divisors and distances may be: lanes that far apart have nothing in common. */
#define FAR 65536

/* A quotient or remainder of step * v + rest by a constant that the step of a whole vector is a multiple of: what is
 * divided leaves the same remainder at the first lane of every vector. */
static bool add_divided(weft_emitter *e, weft_expr expr, int64_t factor, int64_t *distances)
{
    weft_expr_context *x = e->exprs;
    weft_expr b = weft_expr_operand(x, expr, 1), coefficient, rest;
    int64_t divisor, step, from;
    uint32_t width = e->lane.width;
    if (!weft_expr_is_constant(x, b, &divisor) || divisor < 1 || divisor > FAR) return false;
    if (!weft_expr_affine(x, weft_expr_operand(x, expr, 0), e->lane.variable, &coefficient, &rest)) return false;
    if (!weft_expr_is_constant(x, coefficient, &step) || step < 1 || step > FAR) return false;
    if (step * width % divisor != 0 || !weft_expr_is_constant(x, weft_expr_mod(x, rest, b), &from)) return false;
    for (uint32_t i = 0; i < width * e->lane.parts; i++) {
        int64_t quotient = (from + step * i) / divisor;
        bool is_quotient = weft_expr_kind_of(x, expr) == WEFT_EXPR_DIV;
        distances[i] += factor * (is_quotient ? quotient : step * i - quotient * divisor);
    }
    return true;
}

/* A function of the lane alone, where the lanes are constants; false leaves `distances` as they may be. */
static bool add_function(weft_emitter *e, weft_expr expr, int64_t factor, int64_t *distances)
{
    LLVMValueRef value = weft_index_emit(e, e->lane.variable, 0);
    if (LLVMIsAConstantInt(value) == NULL || !is_function_of(e, expr, e->lane.variable)) return false;
    int64_t start = LLVMConstIntGetSExtValue(value), first = evaluate(e, expr, start);
    for (uint32_t i = 0; i < e->lane.width * e->lane.parts; i++) {
        int64_t distance = evaluate(e, expr, start + i) - first;
        if (distance < -FAR || distance > FAR) return false;
        distances[i] += factor * distance;
    }
    return true;
}

static bool add_distances(weft_emitter *e, weft_expr expr, int64_t factor, int64_t *distances)
{
    if (!weft_index_varies(e, expr)) return true;
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_SUM) {
        for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
            int64_t each = weft_expr_coefficient_of(e->exprs, expr, i);
            if (each < -FAR || each > FAR) return false;
            if (!add_distances(e, weft_expr_operand(e->exprs, expr, i), factor * each, distances)) return false;
        }
        return true;
    }
    for (uint32_t i = 0; expr == e->lane.variable && i < e->lane.width * e->lane.parts; i++) distances[i] += factor * i;
    if (expr == e->lane.variable || add_function(e, expr, factor, distances)) return true;
    return (kind == WEFT_EXPR_DIV || kind == WEFT_EXPR_MOD) && add_divided(e, expr, factor, distances);
}

bool weft_index_lane_distances(weft_emitter *e, weft_expr expr, int64_t *out_distances)
{
    memset(out_distances, 0, e->lane.width * e->lane.parts * sizeof *out_distances);
    return add_distances(e, expr, 1, out_distances);
}

/* ---- vectors ---- */

static LLVMValueRef lanes_of_sum(weft_emitter *e, weft_expr expr, uint32_t part)
{
    LLVMValueRef total = NULL;
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
        LLVMValueRef term = weft_index_lanes(e, weft_expr_operand(e->exprs, expr, i), part);
        weft_scope_move(e, weft_index_level(e, expr));
        term = scaled(e, term, weft_expr_coefficient_of(e->exprs, expr, i));
        total = total == NULL ? term : LLVMBuildAdd(e->builder, total, term, "");
    }
    return LLVMBuildAdd(e->builder, total, weft_int_like(LLVMTypeOf(total), weft_expr_offset(e->exprs, expr)), "");
}

static LLVMValueRef lanes_of_product(weft_emitter *e, weft_expr expr, uint32_t part)
{
    LLVMValueRef total = NULL;
    for (size_t i = 0; i < weft_expr_arity(e->exprs, expr); i++) {
        LLVMValueRef factor = weft_index_lanes(e, weft_expr_operand(e->exprs, expr, i), part);
        weft_scope_move(e, weft_index_level(e, expr));
        total = total == NULL ? factor : LLVMBuildMul(e->builder, total, factor, "");
    }
    return total;
}

static LLVMValueRef lanes_of_wrap(weft_emitter *e, weft_expr expr, uint32_t part)
{
    weft_expr a = weft_expr_operand(e->exprs, expr, 0), b = weft_expr_operand(e->exprs, expr, 1);
    uint32_t width = e->lane.width;
    LLVMValueRef first = weft_index_emit(e, weft_expr_mod(e->exprs, a, b), part), period = weft_index_emit(e, b, part);
    LLVMValueRef quotient = weft_index_emit(e, weft_expr_div(e->exprs, a, b), part);
    weft_scope_move(e, weft_index_level(e, expr));
    LLVMValueRef lanes = LLVMBuildAdd(e->builder, weft_splat(e, first, width), weft_lane_steps(e->i64, width, 1), "");
    LLVMValueRef periods = weft_splat(e, period, width);
    LLVMValueRef wraps = LLVMBuildICmp(e->builder, LLVMIntSGE, lanes, periods, "");
    if (weft_expr_kind_of(e->exprs, expr) == WEFT_EXPR_DIV) {
        LLVMValueRef carry = LLVMBuildZExt(e->builder, wraps, LLVMTypeOf(lanes), "");
        return LLVMBuildAdd(e->builder, weft_splat(e, quotient, width), carry, "");
    }
    return LLVMBuildSelect(e->builder, wraps, LLVMBuildSub(e->builder, lanes, periods, ""), lanes, "");
}

LLVMValueRef weft_index_lanes(weft_emitter *e, weft_expr expr, uint32_t part)
{
    weft_lane_stride step = weft_index_lane_stride(e, expr);
    uint32_t width = e->lane.width;
    if (step.kind != WEFT_LANE_STRIDE_ANY) {
        LLVMValueRef first = weft_index_emit(e, expr, part);
        LLVMValueRef stride = step.kind == WEFT_LANE_STRIDE_SYMBOLIC ? weft_index_emit(e, step.stride, part) : NULL;
        weft_scope_move(e, weft_index_level(e, expr));
        LLVMValueRef offsets = weft_lane_steps(e->i64, width, stride == NULL ? step.step : 1);
        if (stride != NULL) offsets = LLVMBuildMul(e->builder, offsets, weft_splat(e, stride, width), "");
        return LLVMBuildAdd(e->builder, weft_splat(e, first, width), offsets, "");
    }
    if (wraps_once(e, expr)) return lanes_of_wrap(e, expr, part);
    weft_expr_kind kind = weft_expr_kind_of(e->exprs, expr);
    if (kind == WEFT_EXPR_SUM) return lanes_of_sum(e, expr, part);
    if (kind == WEFT_EXPR_PRODUCT) return lanes_of_product(e, expr, part);
    LLVMValueRef a = weft_index_lanes(e, weft_expr_operand(e->exprs, expr, 0), part);
    LLVMValueRef b = weft_index_lanes(e, weft_expr_operand(e->exprs, expr, 1), part);
    return build_binary(e, expr, a, b);
}

weft_expr weft_index_at(weft_emitter *e, const weft_stage *stage, weft_expr index, bool last)
{
    const weft_kernel *kernel = e->kernel;
    weft_expr zero = weft_expr_constant(e->exprs, 0), one = weft_expr_constant(e->exprs, 1);
    for (uint32_t i = stage->range_count + kernel->range_count; i-- > 0;) {
        const weft_range *range =
            i < kernel->range_count ? &kernel->ranges[i] : &stage->ranges[i - kernel->range_count];
        weft_expr end = weft_expr_max(e->exprs, weft_expr_sub(e->exprs, range->extent, one), zero);
        index = weft_expr_substitute(e->exprs, index, 1, &range->variable, last ? &end : &zero);
    }
    return index;
}

bool weft_extent_is_cut(const weft_emitter *e, weft_expr extent)
{
    bool cut = false;
    for (uint32_t i = 0; i < e->kernel->range_count; i++)
        cut |= weft_expr_uses(e->exprs, extent, e->kernel->ranges[i].variable);
    return cut;
}
