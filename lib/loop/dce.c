/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include <string.h>

bool weft_inst_has_effect(const weft_inst *inst)
{
    return weft_scalar_is_check(inst->op) || (inst->op == WEFT_SCALAR_div && inst->position != WEFT_EXPR_NONE);
}

/* What depends on ranges belongs where they are, not where it is used. */
static bool is_placed(const weft_inst *inst)
{
    unsigned fields = weft_inst_fields(inst->op, inst->dtype);
    return (fields & (WEFT_INST_INDEX | WEFT_INST_POSITION | WEFT_INST_PREDICATES)) != 0;
}

void weft_kernel_mark(const weft_kernel *kernel, bool rare_too, uint32_t *needed)
{
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) {
        const weft_accumulator *accumulator = &kernel->accumulators[a];
        for (uint32_t v = 0; v < accumulator->value_count; v++) needed[accumulator->values[v]] = 1;
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = 0; i < stage->store_count; i++) {
            needed[stage->stores[i].value] = 1;
            if (stage->stores[i].is_indirect) needed[stage->stores[i].offset] = 1;
        }
    }
    for (uint32_t i = kernel->inst_count; i-- > 0;) {
        const weft_inst *inst = &kernel->insts[i];
        if (weft_inst_has_effect(inst) || (!rare_too && is_placed(inst))) needed[i] = 1;
        for (uint32_t a = 0; needed[i] && a < inst->arg_count; a++)
            if (rare_too || inst->op != WEFT_SCALAR_rarely || a != 1) needed[inst->args[a]] = 1;
    }
}

/* Compacts the list; `number` then maps each remaining instruction to its new number. */
static void compact(weft_kernel *kernel, uint32_t *number)
{
    uint32_t next = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        weft_stage *stage = &kernel->stages[s];
        uint32_t first = next;
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
            if (number[i] == 0) continue;
            weft_inst inst = kernel->insts[i];
            for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = number[inst.args[a]];
            kernel->insts[next] = inst;
            number[i] = next++;
        }
        stage->inst_first = first;
        stage->inst_count = next - first;
        for (uint32_t i = 0; i < stage->store_count; i++) {
            weft_store *store = &stage->stores[i];
            store->value = number[store->value];
            if (store->is_indirect) store->offset = number[store->offset];
        }
    }
    kernel->inst_count = next;
    for (uint32_t a = 0; a < kernel->accumulator_count; a++) {
        weft_accumulator *accumulator = &kernel->accumulators[a];
        for (uint32_t v = 0; v < accumulator->value_count; v++) accumulator->values[v] = number[accumulator->values[v]];
    }
}

weft_status *weft_kernel_dce(weft_kernel *kernel)
{
    uint32_t *number = weft_arena_allocate(&kernel->arena, (kernel->inst_count + 1) * sizeof *number);
    if (number == NULL) return weft_status_out_of_memory();
    memset(number, 0, (kernel->inst_count + 1) * sizeof *number);
    weft_kernel_mark(kernel, true, number);
    compact(kernel, number);
    return NULL;
}
