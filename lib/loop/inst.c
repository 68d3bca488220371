/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include <string.h>

typedef struct scalar_row {
    const char *name;
    int operands;
    weft_scalar_result result;
} scalar_row;

static const scalar_row rows[WEFT_SCALAR_COUNT] = {
#define WEFT_SCALAR(name, operands, kinds, result) {#name, operands, WEFT_RESULT_##result},
#include "lib/loop/scalar.def"
#undef WEFT_SCALAR
};

const char *weft_scalar_name(weft_scalar_op op)
{
    return (unsigned)op < WEFT_SCALAR_COUNT ? rows[op].name : "?";
}

int weft_scalar_operands(weft_scalar_op op)
{
    return rows[op].operands;
}

weft_scalar_result weft_scalar_result_of(weft_scalar_op op)
{
    return rows[op].result;
}

unsigned weft_inst_fields(weft_scalar_op op, weft_dtype dtype)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    bool integer = info != NULL && (info->kind == WEFT_KIND_SIGNED || info->kind == WEFT_KIND_UNSIGNED);
    switch (op) {
    case WEFT_SCALAR_const: return WEFT_INST_BITS;
    case WEFT_SCALAR_index: return WEFT_INST_INDEX;
    case WEFT_SCALAR_inside: return WEFT_INST_PREDICATES;
    case WEFT_SCALAR_load: return WEFT_INST_BUFFER | WEFT_INST_INDEX | WEFT_INST_PREDICATES;
    case WEFT_SCALAR_param: return WEFT_INST_NUMBER;
    case WEFT_SCALAR_result:
    case WEFT_SCALAR_running: return WEFT_INST_BUFFER | WEFT_INST_NUMBER;
    case WEFT_SCALAR_lookup: return WEFT_INST_TABLE | WEFT_INST_NUMBER;
    case WEFT_SCALAR_check:
    case WEFT_SCALAR_within: return WEFT_INST_NUMBER | WEFT_INST_INDEX | WEFT_INST_POSITION | WEFT_INST_PREDICATES;
    case WEFT_SCALAR_div: return integer ? WEFT_INST_NUMBER | WEFT_INST_POSITION | WEFT_INST_PREDICATES : 0;
    default: return 0;
    }
}

void *weft_loop_grow(weft_arena *arena, void *items, uint32_t count, size_t item_size)
{
    bool full = count == 0 || (count >= 4 && (count & (count - 1)) == 0);
    if (!full) return items;
    size_t capacity = count == 0 ? 4 : 2 * (size_t)count;
    void *grown = weft_arena_allocate(arena, capacity * item_size);
    if (grown != NULL && count != 0) memcpy(grown, items, count * item_size);
    return grown;
}

/* ---- lists ---- */

/* `inst` with the fields that mean nothing for it set to zero. */
static weft_inst normalize(const weft_inst *inst)
{
    unsigned fields = weft_inst_fields(inst->op, inst->dtype);
    weft_inst plain = {.op = inst->op, .dtype = inst->dtype, .arg_count = inst->arg_count};
    for (uint32_t i = 0; i < inst->arg_count && i < 3; i++) plain.args[i] = inst->args[i];
    if (fields & (WEFT_INST_BUFFER | WEFT_INST_TABLE)) plain.buffer = inst->buffer;
    if (fields & WEFT_INST_NUMBER) plain.number = inst->number;
    if (fields & WEFT_INST_BITS) plain.bits = inst->bits;
    if (fields & WEFT_INST_INDEX) plain.index = inst->index;
    if (fields & WEFT_INST_POSITION) plain.position = inst->position;
    if (fields & WEFT_INST_PREDICATES && inst->predicate_count != 0) {
        plain.predicate_count = inst->predicate_count;
        plain.predicates = inst->predicates;
    }
    return plain;
}

static bool same_inst(const weft_inst *a, const weft_inst *b)
{
    return a->op == b->op && a->bits == b->bits && a->dtype == b->dtype && a->arg_count == b->arg_count &&
           a->args[0] == b->args[0] && a->args[1] == b->args[1] && a->args[2] == b->args[2] && a->buffer == b->buffer &&
           a->number == b->number && a->index == b->index && a->position == b->position &&
           a->predicate_count == b->predicate_count &&
           (a->predicate_count == 0 ||
            memcmp(a->predicates, b->predicates, a->predicate_count * sizeof *a->predicates) == 0);
}

weft_inst_id weft_inst_list_add(weft_inst_list *list, const weft_inst *inst)
{
    if (list->failed) return 0;
    weft_inst plain = normalize(inst);
    for (uint32_t i = list->count; i > list->visible; i--)
        if (same_inst(&list->items[i - 1], &plain)) return i - 1;
    weft_inst *items = weft_loop_grow(list->arena, list->items, list->count, sizeof *items);
    if (plain.predicate_count != 0)
        plain.predicates =
            weft_arena_copy(list->arena, plain.predicates, plain.predicate_count * sizeof *plain.predicates);
    list->failed = items == NULL || (plain.predicate_count != 0 && plain.predicates == NULL);
    if (list->failed) return 0;
    list->items = items;
    items[list->count] = plain;
    return list->count++;
}

weft_inst_id weft_inst_list_apply(weft_inst_list *list, weft_scalar_op op, uint32_t count, const weft_inst_id *args)
{
    if (list->failed) return 0;
    weft_scalar_result result = weft_scalar_result_of(op);
    weft_dtype dtype = result == WEFT_RESULT_BOOL ? WEFT_BOOL : list->items[args[count - 1]].dtype;
    if (result == WEFT_RESULT_PART) dtype = weft_dtype_component(dtype);
    weft_inst inst = {.op = op, .dtype = dtype, .arg_count = count};
    memcpy(inst.args, args, count * sizeof *args);
    return weft_inst_list_add(list, &inst);
}

weft_inst_id weft_inst_list_constant(weft_inst_list *list, weft_dtype dtype, uint64_t bits)
{
    return weft_inst_list_add(list, &(weft_inst){.op = WEFT_SCALAR_const, .dtype = dtype, .bits = bits});
}

weft_inst_id weft_inst_list_convert(weft_inst_list *list, weft_scalar_op op, weft_dtype dtype, weft_inst_id a)
{
    return weft_inst_list_add(list, &(weft_inst){.op = op, .dtype = dtype, .arg_count = 1, .args = {a}});
}

weft_status *weft_inst_list_combine(weft_inst_list *list, const weft_accumulator *accumulator, weft_inst_id *into,
                                    const weft_inst_id *values, bool next)
{
    const weft_combiner *combiner = next ? weft_accumulator_step(accumulator) : &accumulator->combine;
    weft_inst_id *block = weft_arena_allocate(list->arena, (combiner->count + 1) * sizeof *block);
    if (block == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < combiner->count; i++) {
        weft_inst inst = combiner->insts[i];
        for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = block[inst.args[a]];
        if (inst.op == WEFT_SCALAR_param)
            block[i] = inst.number < accumulator->width ? into[inst.number] : values[inst.number - accumulator->width];
        else if (next && inst.op == WEFT_SCALAR_earlier) block[i] = weft_inst_list_constant(list, WEFT_BOOL, 0);
        else if (inst.op == WEFT_SCALAR_earlier) block[i] = weft_inst_list_apply(list, WEFT_SCALAR_lt, 2, inst.args);
        else block[i] = weft_inst_list_add(list, &inst);
    }
    for (uint32_t c = 0; c < accumulator->width; c++) into[c] = block[combiner->outcomes[c]];
    return NULL;
}

/* ---- rewriting ---- */

/* Appends what becomes of insts[first .. first + count - 1]; new_ids maps old instructions to those of `list`. */
static weft_status *rewrite_run(weft_inst_list *list, const weft_inst *insts, uint32_t first, uint32_t count,
                                weft_inst_id *new_ids, weft_inst_rule rule)
{
    for (uint32_t i = first; i < first + count; i++) {
        weft_inst inst = insts[i];
        for (uint32_t a = 0; a < inst.arg_count; a++) inst.args[a] = new_ids[inst.args[a]];
        new_ids[i] = WEFT_INST_UNCHANGED;
        WEFT_TRY(rule(list, &inst, &new_ids[i]));
        if (new_ids[i] == WEFT_INST_UNCHANGED) new_ids[i] = weft_inst_list_add(list, &inst);
        if (list->failed) return weft_status_out_of_memory();
    }
    return NULL;
}

static weft_status *rewrite_combiner(weft_arena *arena, uint32_t width, weft_combiner *combiner, weft_inst_rule rule)
{
    weft_inst_list list = {.arena = arena};
    weft_inst_id *new_ids = weft_arena_allocate(arena, (combiner->count + 1) * sizeof *new_ids);
    if (new_ids == NULL) return weft_status_out_of_memory();
    WEFT_TRY(rewrite_run(&list, combiner->insts, 0, combiner->count, new_ids, rule));
    for (uint32_t c = 0; combiner->count > 0 && c < width; c++) combiner->outcomes[c] = new_ids[combiner->outcomes[c]];
    combiner->insts = list.items;
    combiner->count = list.count;
    return NULL;
}

static weft_status *rewrite_stage(weft_kernel *kernel, weft_stage *stage, weft_inst_list *list, weft_inst_id *new_ids,
                                  weft_inst_rule rule)
{
    list->visible = list->count;
    WEFT_TRY(rewrite_run(list, kernel->insts, stage->inst_first, stage->inst_count, new_ids, rule));
    stage->inst_first = list->visible;
    stage->inst_count = list->count - list->visible;
    for (uint32_t a = 0; a < stage->accumulator_count; a++) {
        weft_accumulator *accumulator = &kernel->accumulators[stage->accumulator_first + a];
        for (uint32_t v = 0; v < accumulator->value_count; v++)
            accumulator->values[v] = new_ids[accumulator->values[v]];
        WEFT_TRY(rewrite_combiner(&kernel->arena, accumulator->width, &accumulator->step, rule));
        WEFT_TRY(rewrite_combiner(&kernel->arena, accumulator->width, &accumulator->combine, rule));
    }
    for (uint32_t s = 0; s < stage->store_count; s++) {
        weft_store *store = &stage->stores[s];
        store->value = new_ids[store->value];
        if (store->is_indirect) store->offset = new_ids[store->offset];
    }
    return NULL;
}

weft_status *weft_kernel_rewrite(weft_kernel *kernel, weft_inst_rule rule)
{
    weft_inst_list list = {.arena = &kernel->arena};
    weft_inst_id *new_ids = weft_arena_allocate(&kernel->arena, kernel->inst_count * sizeof *new_ids);
    if (new_ids == NULL) return weft_status_out_of_memory();
    for (uint32_t s = 0; s < kernel->stage_count; s++)
        WEFT_TRY(rewrite_stage(kernel, &kernel->stages[s], &list, new_ids, rule));
    kernel->insts = list.items;
    kernel->inst_count = list.count;
    return NULL;
}

weft_inst weft_inst_settled(const weft_inst *inst, bool holds)
{
    bool is_complex = weft_dtype_info_of(inst->dtype)->kind == WEFT_KIND_COMPLEX;
    if (inst->op == WEFT_SCALAR_load && !holds && !is_complex)
        return (weft_inst){.op = WEFT_SCALAR_const, .dtype = inst->dtype};
    if (inst->op == WEFT_SCALAR_inside && (!holds || inst->predicate_count == 0))
        return (weft_inst){.op = WEFT_SCALAR_const, .dtype = WEFT_BOOL, .bits = holds};
    return *inst;
}

bool weft_inst_is_truth(const weft_inst *inst, bool value)
{
    return inst->op == WEFT_SCALAR_const && inst->dtype == WEFT_BOOL && inst->bits == value;
}
