/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include "runtime/data/array.h"
#include "runtime/run/call.h"
#include "runtime/base/memory.h"

/* The checks of a call whose key was not seen before. Every message says which input bound the symbols it names. */

static const char where[] = "weft_executor_run";

enum { NOT_BOUND = -2, GIVEN = -1 };

/* Where a symbol's value comes from: axis `axis` of input `input`, or the call's extents. */
struct origin {
    int64_t input; /* or NOT_BOUND, GIVEN */
    size_t axis;
};

struct binder {
    const weft_allocator *allocator;
    const weft_program *program;
    const weft_run *run;
    struct origin *origins; /* per symbol */
    bool *used;             /* per slot */
    int64_t *symbols;
    int64_t *values;
};

/* ---- messages ---- */

enum { LONGEST_FORMULA = 200 };

/* How tightly the operator of a formula binds. */
static int tightness(weft_formula_op op)
{
    switch (op) {
    case WEFT_FORMULA_ADD: return 1;
    case WEFT_FORMULA_MUL:
    case WEFT_FORMULA_DIV:
    case WEFT_FORMULA_MOD: return 2;
    default: return 3;
    }
}

static void print_formula(weft_bytes *text, const weft_formulas *formulas, uint32_t slot, int outer);

/* The constant, or constant factor, that a term begins with, or 1. */
static int64_t factor_of(const weft_formulas *formulas, uint32_t slot)
{
    const weft_formula *term = &formulas->items[slot];
    if (term->op == WEFT_FORMULA_MUL) term = &formulas->items[term->a];
    return term->op == WEFT_FORMULA_CONSTANT ? term->constant : 1;
}

/* A term whose factor is negative, without its sign. */
static void print_negated(weft_bytes *text, const weft_formulas *formulas, uint32_t slot)
{
    const weft_formula *term = &formulas->items[slot];
    uint64_t factor = 0 - (uint64_t)factor_of(formulas, slot);
    bool product = term->op == WEFT_FORMULA_MUL;
    if (!product || factor != 1) weft_bytes_print(text, product ? "%" PRIu64 "*" : "%" PRIu64, factor);
    if (product) print_formula(text, formulas, term->b, tightness(WEFT_FORMULA_MUL) + 1);
}

static void print_operator(weft_bytes *text, const weft_formulas *formulas, const weft_formula *formula, int outer)
{
    static const char *const between[] = {
        [WEFT_FORMULA_ADD] = " + ", [WEFT_FORMULA_MUL] = "*", [WEFT_FORMULA_DIV] = " / ", [WEFT_FORMULA_MOD] = " mod "};
    int own = tightness(formula->op);
    const weft_formula *left = &formulas->items[formula->a];
    bool minus = formula->op == WEFT_FORMULA_ADD && factor_of(formulas, formula->b) < 0;
    bool negates = formula->op == WEFT_FORMULA_MUL && left->op == WEFT_FORMULA_CONSTANT && left->constant == -1;
    if (own < outer) weft_bytes_print(text, "(");
    if (!negates) print_formula(text, formulas, formula->a, own);
    weft_bytes_print(text, "%s", negates ? "-" : minus ? " - " : between[formula->op]);
    if (minus) print_negated(text, formulas, formula->b);
    else print_formula(text, formulas, formula->b, own + 1);
    if (own < outer) weft_bytes_print(text, ")");
}

static void print_function(weft_bytes *text, const weft_formulas *formulas, const weft_formula *formula)
{
    weft_bytes_print(text, formula->op == WEFT_FORMULA_MIN ? "min(" : "max(");
    print_formula(text, formulas, formula->a, 0);
    weft_bytes_print(text, ", ");
    print_formula(text, formulas, formula->b, 0);
    weft_bytes_print(text, ")");
}

/* Shared parts are printed again at each use, hence the limit. */
static void print_formula(weft_bytes *text, const weft_formulas *formulas, uint32_t slot, int outer)
{
    const weft_formula *formula = &formulas->items[slot];
    if (text->size > LONGEST_FORMULA || text->failed) {
        weft_bytes_print(text, "...");
        return;
    }
    switch (formula->op) {
    case WEFT_FORMULA_SYMBOL: weft_bytes_print(text, "%s", formulas->symbols[formula->constant].name); break;
    case WEFT_FORMULA_CONSTANT: weft_bytes_print(text, "%" PRId64, formula->constant); break;
    case WEFT_FORMULA_MIN:
    case WEFT_FORMULA_MAX: print_function(text, formulas, formula); break;
    default: print_operator(text, formulas, formula, outer); break;
    }
}

/* By itself first: the limit is the formula's, whatever the text has before it. */
static void add_formula(weft_bytes *text, const weft_formulas *formulas, uint32_t slot)
{
    weft_bytes formula;
    weft_bytes_init(&formula, text->allocator);
    print_formula(&formula, formulas, slot, 0);
    if (formula.failed) text->failed = true;
    else weft_bytes_print(text, "%s", formula.data);
    weft_bytes_finish(&formula);
}

static void print_origin(weft_bytes *text, const struct binder *binder, size_t symbol)
{
    const struct origin *origin = &binder->origins[symbol];
    if (origin->input == GIVEN) weft_bytes_print(text, "given in extents");
    else
        weft_bytes_print(text, "bound by input \"%s\" axis %zu", binder->program->inputs[origin->input].name,
                         origin->axis);
}

/* " (n = 2 bound by ...; m = 3 given in extents)" for the symbols that `slot` uses. */
static void print_origins(weft_bytes *text, const struct binder *binder, uint32_t slot)
{
    const weft_formulas *formulas = &binder->program->formulas;
    const char *before = " (";
    memset(binder->used, 0, formulas->count * sizeof(bool));
    binder->used[slot] = true;
    for (size_t i = slot + (size_t)1; i-- > 0;) {
        const weft_formula *formula = &formulas->items[i];
        if (!binder->used[i] || formula->op == WEFT_FORMULA_CONSTANT) continue;
        if (formula->op == WEFT_FORMULA_SYMBOL) {
            weft_bytes_print(text, "%s%s = %" PRId64 " ", before, formulas->symbols[formula->constant].name,
                             binder->symbols[formula->constant]);
            print_origin(text, binder, (size_t)formula->constant);
            before = "; ";
        } else {
            binder->used[formula->a] = binder->used[formula->b] = true;
        }
    }
    if (before[0] == ';') weft_bytes_print(text, ")");
}

/* 784, or n = 2 (bound by input "w" axis 0), or n + 1 = 3 (n = 2 bound by input "w" axis 0). */
static void print_value(weft_bytes *text, const struct binder *binder, uint32_t slot)
{
    const weft_formulas *formulas = &binder->program->formulas;
    const weft_formula *formula = &formulas->items[slot];
    add_formula(text, formulas, slot);
    if (formula->op == WEFT_FORMULA_CONSTANT) return;
    weft_bytes_print(text, " = %" PRId64, binder->values[slot]);
    if (formula->op == WEFT_FORMULA_SYMBOL) {
        weft_bytes_print(text, " (");
        print_origin(text, binder, (size_t)formula->constant);
        weft_bytes_print(text, ")");
    } else {
        print_origins(text, binder, slot);
    }
}

/* Takes `text`. */
static weft_status *fail(const struct binder *binder, weft_code code, weft_bytes *text)
{
    weft_status *status = text->failed ? weft_status_out_of_memory()
                                       : weft_status_create(binder->allocator, code, where, "%s", text->data);
    weft_bytes_finish(text);
    return status;
}

/* ---- symbols ---- */

static weft_status *bind_given(struct binder *binder)
{
    for (size_t i = 0; i < binder->run->extent_count; i++) {
        const weft_binding *extent = &binder->run->extents[i];
        size_t symbol = weft_formulas_find_symbol(&binder->program->formulas, extent->name);
        if (symbol == SIZE_MAX) continue; /* nothing needs it */
        if (binder->origins[symbol].input == GIVEN && binder->symbols[symbol] != extent->value)
            return weft_status_create(binder->allocator, WEFT_INVALID_ARGUMENT, where,
                                      "extent \"%s\" is given twice, as %" PRId64 " and as %" PRId64, extent->name,
                                      binder->symbols[symbol], extent->value);
        binder->origins[symbol].input = GIVEN;
        binder->symbols[symbol] = extent->value;
    }
    return NULL;
}

static weft_status *check_symbol(const struct binder *binder, size_t symbol)
{
    const weft_symbol_info *info = &binder->program->formulas.symbols[symbol];
    int64_t value = binder->symbols[symbol];
    if (binder->origins[symbol].input == NOT_BOUND)
        return weft_status_create(binder->allocator, WEFT_INVALID_ARGUMENT, where,
                                  "symbol %s is not bound by any input and not given in extents", info->name);
    if (value >= info->min && value <= info->max) return NULL;
    weft_bytes text;
    weft_bytes_init(&text, binder->allocator);
    weft_bytes_print(&text, "symbol %s = %" PRId64 " is outside [%" PRId64 ", %" PRId64 "] (", info->name, value,
                     info->min, info->max);
    print_origin(&text, binder, symbol);
    weft_bytes_print(&text, ")");
    return fail(binder, WEFT_SHAPE_MISMATCH, &text);
}

/* n / m divides by zero (n = 2 bound by ...; m = 0 given in extents) */
static weft_status *check_value(const struct binder *binder, uint32_t slot)
{
    if (binder->values[slot] != WEFT_FORMULA_NONE) return NULL;
    slot = weft_formulas_find_cause(&binder->program->formulas, binder->values, slot);
    const weft_formula *formula = &binder->program->formulas.items[slot];
    bool divides = formula->op == WEFT_FORMULA_DIV || formula->op == WEFT_FORMULA_MOD;
    weft_bytes text;
    weft_bytes_init(&text, binder->allocator);
    weft_bytes_print(&text, "an extent cannot be computed: ");
    add_formula(&text, &binder->program->formulas, slot);
    weft_bytes_print(&text, divides && binder->values[formula->b] == 0 ? " divides by zero" : " overflows 64 bits");
    print_origins(&text, binder, slot);
    return fail(binder, WEFT_OUT_OF_RANGE, &text);
}

/* Whether the guard has to hold. */
static bool counts(const struct binder *binder, const weft_program_guard *guard)
{
    return !guard->conditional || binder->values[guard->when] > 0;
}

/* All values that are read afterwards. */
static weft_status *check_values(const struct binder *binder)
{
    const weft_program *program = binder->program;
    for (size_t i = 0; i < program->input_count + program->output_count; i++) {
        bool is_input = i < program->input_count;
        const weft_program_value *value = is_input ? &program->inputs[i] : &program->outputs[i - program->input_count];
        for (size_t axis = 0; axis < value->rank; axis++) WEFT_TRY(check_value(binder, value->extents[axis]));
    }
    for (size_t i = 0; i < program->guard_count; i++) {
        const weft_program_guard *guard = &program->guards[i];
        if (guard->conditional) WEFT_TRY(check_value(binder, guard->when));
        if (!counts(binder, guard)) continue;
        WEFT_TRY(check_value(binder, guard->a));
        WEFT_TRY(check_value(binder, guard->b));
    }
    return NULL;
}

/* A symbol that is not given is bound by the first axis whose extent it is. */
static weft_status *bind_symbols(struct binder *binder)
{
    const weft_formulas *formulas = &binder->program->formulas;
    for (size_t i = 0; i < formulas->symbol_count; i++) binder->origins[i].input = NOT_BOUND;
    WEFT_TRY(bind_given(binder));
    for (size_t i = 0; i < binder->run->input_count; i++) {
        const weft_program_value *input = &binder->program->inputs[i];
        for (size_t axis = 0; axis < input->rank; axis++) {
            const weft_formula *formula = &formulas->items[input->extents[axis]];
            if (formula->op != WEFT_FORMULA_SYMBOL || binder->origins[formula->constant].input != NOT_BOUND) continue;
            binder->origins[formula->constant] = (struct origin){.input = (int64_t)i, .axis = axis};
            binder->symbols[formula->constant] = weft_array_shape(binder->run->inputs[i])[axis];
        }
    }
    for (size_t i = 0; i < formulas->symbol_count; i++) WEFT_TRY(check_symbol(binder, i));
    weft_formulas_evaluate(formulas, binder->symbols, binder->values);
    return check_values(binder);
}

/* ---- axes and guards ---- */

static weft_status *check_axes(const struct binder *binder, const char *kind, const weft_program_value *value,
                               const weft_array *array)
{
    for (size_t axis = 0; axis < value->rank && array != NULL; axis++) {
        int64_t extent = weft_array_shape(array)[axis];
        if (extent == binder->values[value->extents[axis]]) continue;
        weft_bytes text;
        weft_bytes_init(&text, binder->allocator);
        weft_bytes_print(&text, "%s \"%s\": axis %zu has extent %" PRId64 ", but the program requires ", kind,
                         value->name, axis, extent);
        print_value(&text, binder, value->extents[axis]);
        return fail(binder, WEFT_SHAPE_MISMATCH, &text);
    }
    return NULL;
}

static weft_status *check_not_negative(const struct binder *binder, const weft_program_value *value)
{
    for (size_t axis = 0; axis < value->rank; axis++) {
        if (binder->values[value->extents[axis]] >= 0) continue;
        weft_bytes text;
        weft_bytes_init(&text, binder->allocator);
        weft_bytes_print(&text, "output \"%s\": axis %zu would have a negative extent, ", value->name, axis);
        print_value(&text, binder, value->extents[axis]);
        return fail(binder, WEFT_SHAPE_MISMATCH, &text);
    }
    return NULL;
}

static weft_status *check_guard(const struct binder *binder, const weft_program_guard *guard)
{
    int64_t a = binder->values[guard->a], b = binder->values[guard->b];
    if (!counts(binder, guard) || (guard->equal ? a == b : a <= b)) return NULL;
    weft_bytes text;
    weft_bytes_init(&text, binder->allocator);
    weft_bytes_print(&text, "%s: ", guard->message == NULL ? "a guard of the program fails" : guard->message);
    print_value(&text, binder, guard->a);
    weft_bytes_print(&text, guard->equal ? " must equal " : " must be at most ");
    print_value(&text, binder, guard->b);
    if (guard->location != NULL) weft_bytes_print(&text, " (%s)", guard->location);
    return fail(binder, WEFT_SHAPE_MISMATCH, &text);
}

static weft_status *check_output(const struct binder *binder, size_t output)
{
    const weft_program_value *value = &binder->program->outputs[output];
    const weft_array *array = binder->run->outputs[output];
    WEFT_TRY(check_not_negative(binder, value));
    if (array == NULL) return NULL;
    WEFT_TRY(check_axes(binder, "output", value, array));
    size_t axis;
    const char *repeat = weft_array_find_repeat(array, &axis);
    if (repeat == NULL) return NULL;
    return weft_status_create(binder->allocator, WEFT_INVALID_ARGUMENT, where,
                              "output \"%s\": stride %" PRId64 " of axis %zu over extent %" PRId64 " %s", value->name,
                              weft_array_strides(array)[axis], axis, weft_array_shape(array)[axis], repeat);
}

static weft_status *bind_and_check(struct binder *binder)
{
    const weft_program *program = binder->program;
    WEFT_TRY(bind_symbols(binder));
    for (size_t i = 0; i < program->input_count; i++)
        WEFT_TRY(check_axes(binder, "input", &program->inputs[i], binder->run->inputs[i]));
    for (size_t i = 0; i < program->guard_count; i++) WEFT_TRY(check_guard(binder, &program->guards[i]));
    for (size_t i = 0; i < program->output_count; i++) WEFT_TRY(check_output(binder, i));
    return NULL;
}

weft_status *weft_call_bind(const weft_allocator *allocator, const weft_call *call, int64_t *out_symbols,
                            int64_t *out_values)
{
    const weft_formulas *formulas = &call->program->formulas;
    size_t size = formulas->symbol_count * sizeof(struct origin) + formulas->count * sizeof(bool);
    struct origin *origins = weft_allocate(allocator, size);
    if (origins == NULL) return weft_status_out_of_memory();
    struct binder binder = {.allocator = allocator,
                            .program = call->program,
                            .run = call->run,
                            .origins = origins,
                            .used = (bool *)(origins + formulas->symbol_count),
                            .symbols = out_symbols,
                            .values = out_values};
    weft_status *status = bind_and_check(&binder);
    weft_free(allocator, origins, size);
    return status;
}
