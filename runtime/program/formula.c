/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/formula.h"
#include <inttypes.h>
#include <string.h>
#include "runtime/base/memory.h"

static const char *const op_names[] = {
    [WEFT_FORMULA_SYMBOL] = "symbol", [WEFT_FORMULA_CONSTANT] = "constant",
    [WEFT_FORMULA_ADD] = "+",         [WEFT_FORMULA_MUL] = "*",
    [WEFT_FORMULA_DIV] = "/",         [WEFT_FORMULA_MOD] = "mod",
    [WEFT_FORMULA_MIN] = "min",       [WEFT_FORMULA_MAX] = "max",
};

void weft_formulas_init(weft_formulas *formulas, const weft_allocator *allocator)
{
    *formulas = (weft_formulas){.allocator = weft_allocator_or_default(allocator)};
}

void weft_formulas_finish(weft_formulas *formulas)
{
    const weft_allocator *allocator = formulas->allocator;
    for (size_t i = 0; i < formulas->symbol_count; i++)
        weft_free(allocator, formulas->symbols[i].name, strlen(formulas->symbols[i].name) + 1);
    weft_free(allocator, formulas->symbols, formulas->symbol_capacity * sizeof *formulas->symbols);
    weft_free(allocator, formulas->symbol_slots, formulas->symbol_capacity * sizeof *formulas->symbol_slots);
    weft_free(allocator, formulas->items, formulas->capacity * sizeof *formulas->items);
    weft_formulas_init(formulas, allocator);
}

static bool reserve_items(weft_formulas *formulas, size_t needed)
{
    return weft_reserve(formulas->allocator, &formulas->items, &formulas->capacity, needed, sizeof *formulas->items);
}

/* Room for one more symbol. The two arrays over symbols share one capacity, so both grow or neither does. */
static bool reserve_symbol(weft_formulas *formulas)
{
    size_t capacity = formulas->symbol_capacity;
    if (formulas->symbol_count < capacity) return true;
    size_t grown = capacity + capacity / 2 + 8;
    uint32_t *slots = weft_allocate(formulas->allocator, grown * sizeof *slots);
    if (slots == NULL) return false;
    if (!weft_reserve(formulas->allocator, &formulas->symbols, &formulas->symbol_capacity, grown,
                      sizeof *formulas->symbols)) {
        weft_free(formulas->allocator, slots, grown * sizeof *slots);
        return false;
    }
    if (capacity != 0) memcpy(slots, formulas->symbol_slots, capacity * sizeof *slots);
    weft_free(formulas->allocator, formulas->symbol_slots, capacity * sizeof *slots);
    formulas->symbol_slots = slots;
    return true;
}

size_t weft_formulas_find_symbol(const weft_formulas *formulas, const char *name)
{
    for (size_t i = 0; i < formulas->symbol_count; i++)
        if (strcmp(formulas->symbols[i].name, name) == 0) return i;
    return SIZE_MAX;
}

static weft_status *check_formula(const weft_formulas *formulas, weft_formula formula)
{
    if ((unsigned)formula.op > WEFT_FORMULA_MAX)
        return weft_status_create(formulas->allocator, WEFT_INVALID_ARGUMENT, "weft_formulas_add",
                                  "formula op %u does not exist", (unsigned)formula.op);
    if (formula.op == WEFT_FORMULA_CONSTANT) return NULL;
    if (formula.op == WEFT_FORMULA_SYMBOL) {
        if (formula.constant >= 0 && (uint64_t)formula.constant < formulas->symbol_count) return NULL;
        return weft_status_create(formulas->allocator, WEFT_OUT_OF_RANGE, "weft_formulas_add",
                                  "symbol %" PRId64 " of a formula is not below the symbol count %zu", formula.constant,
                                  formulas->symbol_count);
    }
    if (formula.a < formulas->count && formula.b < formulas->count) return NULL;
    return weft_status_create(formulas->allocator, WEFT_OUT_OF_RANGE, "weft_formulas_add",
                              "operand slots %" PRIu32 " and %" PRIu32 " of a formula must be below its own slot %zu",
                              formula.a, formula.b, formulas->count);
}

weft_status *weft_formulas_add(weft_formulas *formulas, weft_formula formula, uint32_t *out_slot)
{
    WEFT_TRY(check_formula(formulas, formula));
    /* Members that the op does not use are cleared, so that equal formulas compare equal. */
    if (formula.op <= WEFT_FORMULA_CONSTANT) formula.a = formula.b = 0;
    else formula.constant = 0;
    for (size_t i = 0; i < formulas->count; i++) {
        const weft_formula *known = &formulas->items[i];
        if (known->op != formula.op || known->a != formula.a || known->b != formula.b) continue;
        if (known->constant != formula.constant) continue;
        *out_slot = (uint32_t)i;
        return NULL;
    }
    if (formulas->count == UINT32_MAX || !reserve_items(formulas, formulas->count + 1))
        return weft_status_out_of_memory();
    formulas->items[formulas->count] = formula;
    *out_slot = (uint32_t)formulas->count++;
    return NULL;
}

/* The slot of symbol `index`, provided it has just this range. */
static weft_status *same_symbol(const weft_formulas *formulas, size_t index, int64_t min, int64_t max,
                                uint32_t *out_slot)
{
    const weft_symbol_info *info = &formulas->symbols[index];
    if (info->min != min || info->max != max)
        return weft_status_create(formulas->allocator, WEFT_INVALID_ARGUMENT, "weft_formulas_add_symbol",
                                  "symbol '%s' has the range [%" PRId64 ", %" PRId64 "] and cannot have [%" PRId64
                                  ", %" PRId64 "] as well",
                                  info->name, info->min, info->max, min, max);
    *out_slot = formulas->symbol_slots[index];
    return NULL;
}

weft_status *weft_formulas_add_symbol(weft_formulas *formulas, const char *name, int64_t min, int64_t max,
                                      uint32_t *out_slot)
{
    size_t index = weft_formulas_find_symbol(formulas, name);
    if (index != SIZE_MAX) return same_symbol(formulas, index, min, max, out_slot);
    if (min > max)
        return weft_status_create(formulas->allocator, WEFT_OUT_OF_RANGE, __func__,
                                  "symbol '%s' has the empty range [%" PRId64 ", %" PRId64 "]", name, min, max);
    size_t size = strlen(name) + 1;
    if (formulas->count == UINT32_MAX || !reserve_items(formulas, formulas->count + 1) || !reserve_symbol(formulas))
        return weft_status_out_of_memory();
    char *copy = weft_allocate(formulas->allocator, size);
    if (copy == NULL) return weft_status_out_of_memory();
    memcpy(copy, name, size);
    index = formulas->symbol_count++;
    *out_slot = (uint32_t)formulas->count++;
    formulas->symbols[index] = (weft_symbol_info){copy, min, max};
    formulas->symbol_slots[index] = *out_slot;
    formulas->items[*out_slot] = (weft_formula){.op = WEFT_FORMULA_SYMBOL, .constant = (int64_t)index};
    return NULL;
}

weft_status *weft_formulas_copy(const weft_allocator *allocator, const weft_formulas *source, weft_formulas *out_copy)
{
    weft_formulas copy;
    weft_formulas_init(&copy, allocator);
    weft_status *status = NULL;
    /* Slots keep their order, so each formula gets its old number again. */
    for (size_t i = 0; i < source->count && status == NULL; i++) {
        weft_formula formula = source->items[i];
        const weft_symbol_info *info = formula.op == WEFT_FORMULA_SYMBOL ? &source->symbols[formula.constant] : NULL;
        uint32_t slot;
        status = info != NULL ? weft_formulas_add_symbol(&copy, info->name, info->min, info->max, &slot)
                              : weft_formulas_add(&copy, formula, &slot);
    }
    if (status == NULL) *out_copy = copy;
    else weft_formulas_finish(&copy);
    return status;
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t rest = b == -1 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0) return 0;
    bool fine = a != WEFT_FORMULA_NONE && b != WEFT_FORMULA_NONE && !__builtin_mul_overflow(a, b, &product);
    return fine ? product : WEFT_FORMULA_NONE;
}

static int64_t apply(weft_formula_op op, int64_t a, int64_t b)
{
    int64_t sum;
    if (op == WEFT_FORMULA_MUL) return multiply(a, b);
    if (a == WEFT_FORMULA_NONE || b == WEFT_FORMULA_NONE) return WEFT_FORMULA_NONE;
    switch (op) {
    case WEFT_FORMULA_ADD: return __builtin_add_overflow(a, b, &sum) ? WEFT_FORMULA_NONE : sum;
    case WEFT_FORMULA_DIV: return b == 0 ? WEFT_FORMULA_NONE : floor_div(a, b);
    case WEFT_FORMULA_MOD: return b == 0 ? WEFT_FORMULA_NONE : floor_mod(a, b);
    case WEFT_FORMULA_MIN: return a < b ? a : b;
    case WEFT_FORMULA_MAX: return a > b ? a : b;
    default: return WEFT_FORMULA_NONE;
    }
}

void weft_formulas_evaluate(const weft_formulas *formulas, const int64_t *symbols, int64_t *out_values)
{
    for (size_t i = 0; i < formulas->count; i++) {
        const weft_formula *formula = &formulas->items[i];
        if (formula->op == WEFT_FORMULA_CONSTANT) out_values[i] = formula->constant;
        else if (formula->op == WEFT_FORMULA_SYMBOL) out_values[i] = symbols[formula->constant];
        else out_values[i] = apply(formula->op, out_values[formula->a], out_values[formula->b]);
    }
}

uint32_t weft_formulas_find_cause(const weft_formulas *formulas, const int64_t *values, uint32_t slot)
{
    const weft_formula *formula = &formulas->items[slot];
    while (formula->op > WEFT_FORMULA_CONSTANT) {
        if (values[formula->a] == WEFT_FORMULA_NONE) slot = formula->a;
        else if (values[formula->b] == WEFT_FORMULA_NONE) slot = formula->b;
        else break;
        formula = &formulas->items[slot];
    }
    return slot;
}

weft_status *weft_formulas_check(const weft_formulas *formulas, const char *where, const int64_t *values,
                                 const uint32_t *slots, size_t count)
{
    size_t i = 0;
    while (i < count && values[slots[i]] != WEFT_FORMULA_NONE) i++;
    if (i == count) return NULL;
    const weft_formula *formula = &formulas->items[weft_formulas_find_cause(formulas, values, slots[i])];
    if (formula->op <= WEFT_FORMULA_CONSTANT)
        return weft_status_create(formulas->allocator, WEFT_OUT_OF_RANGE, where, "%" PRId64 " is no extent",
                                  WEFT_FORMULA_NONE);
    int64_t a = values[formula->a], b = values[formula->b];
    bool divides = formula->op == WEFT_FORMULA_DIV || formula->op == WEFT_FORMULA_MOD;
    return weft_status_create(formulas->allocator, WEFT_OUT_OF_RANGE, where, "%" PRId64 " %s %" PRId64 " %s", a,
                              op_names[formula->op], b, divides && b == 0 ? "divides by zero" : "overflows 64 bits");
}
