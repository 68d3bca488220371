/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of a program's inputs and outputs: extents as text, the symbols they depend on, and what binds those. */
#include "lib/pass/describe.h"
#include <string.h>

/* Marks the symbols of slot `slot`; `used` has a byte for each slot up to it, and for each symbol after these. */
static size_t mark_symbols(const weft_formulas *formulas, uint32_t slot, uint8_t *used)
{
    size_t count = 0;
    uint8_t *symbols = used + formulas->count;
    memset(used, 0, formulas->count + formulas->symbol_count);
    used[slot] = 1;
    for (size_t i = (size_t)slot + 1; i-- > 0;) {
        const weft_formula *formula = &formulas->items[i];
        if (!used[i] || formula->op == WEFT_FORMULA_CONSTANT) continue;
        if (formula->op == WEFT_FORMULA_SYMBOL) {
            count += symbols[formula->constant] == 0;
            symbols[formula->constant] = 1;
        } else {
            used[formula->a] = used[formula->b] = 1;
        }
    }
    return count;
}

static weft_status *list_symbols(weft_program *program, uint32_t slot, weft_program_axis *axis)
{
    const weft_formulas *formulas = &program->formulas;
    uint8_t *used = weft_allocate(program->allocator, formulas->count + formulas->symbol_count);
    if (used == NULL) return weft_status_out_of_memory();
    axis->symbol_count = mark_symbols(formulas, slot, used);
    size_t *symbols = weft_arena_allocate(&program->arena, axis->symbol_count * sizeof *symbols), count = 0;
    for (size_t i = 0; symbols != NULL && i < formulas->symbol_count; i++)
        if (used[formulas->count + i]) symbols[count++] = i;
    axis->symbols = symbols;
    weft_free(program->allocator, used, formulas->count + formulas->symbol_count);
    return symbols == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *print_extent(weft_program *program, const weft_graph *graph, weft_expr expr, const char **out_text)
{
    weft_bytes text;
    weft_bytes_init(&text, program->allocator);
    weft_expr_print(graph->exprs, expr, &text);
    weft_status *status = weft_bytes_status(&text);
    if (status == NULL) *out_text = weft_arena_string(&program->arena, text.data, text.size);
    weft_bytes_finish(&text);
    if (status == NULL && *out_text == NULL) return weft_status_out_of_memory();
    return status;
}

weft_status *weft_describe_axes(weft_program *program, weft_graph *graph, weft_shape shape, const uint32_t *slots,
                                const weft_program_axis **out_axes)
{
    weft_program_axis *axes = weft_arena_allocate(&program->arena, shape.rank * sizeof *axes);
    if (axes == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < shape.rank; i++) {
        axes[i] = (weft_program_axis){.size = -1};
        weft_extent_is_static(shape.extents[i], &axes[i].size);
        WEFT_TRY(print_extent(program, graph, weft_extent_expr(graph, shape.extents[i]), &axes[i].extent));
        WEFT_TRY(list_symbols(program, slots[i], &axes[i]));
    }
    *out_axes = axes;
    return NULL;
}

/* As a run binds symbols: the first axis whose extent is the symbol itself. */
static void find_source(const weft_program *program, size_t number, weft_program_symbol *symbol)
{
    symbol->input = symbol->axis = SIZE_MAX;
    for (size_t i = 0; i < program->input_count; i++)
        for (size_t axis = 0; axis < program->inputs[i].rank; axis++) {
            const weft_formula *formula = &program->formulas.items[program->inputs[i].extents[axis]];
            if (formula->op != WEFT_FORMULA_SYMBOL || (size_t)formula->constant != number) continue;
            symbol->input = i;
            symbol->axis = axis;
            return;
        }
}

weft_status *weft_describe_symbols(weft_program *program)
{
    const weft_formulas *formulas = &program->formulas;
    weft_program_symbol *symbols = weft_arena_allocate(&program->arena, formulas->symbol_count * sizeof *symbols);
    if (symbols == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        const weft_symbol_info *info = &formulas->symbols[i];
        symbols[i] = (weft_program_symbol){.name = info->name, .min = info->min, .max = info->max};
        find_source(program, i, &symbols[i]);
    }
    program->symbols = symbols;
    return NULL;
}
