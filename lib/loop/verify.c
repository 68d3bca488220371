/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include <inttypes.h>
#include <stdio.h>

/* Dtype kinds that an operation takes in its last operand, as scalar.def calls them. */
enum {
    KINDS_NONE = 0,
    KINDS_INTEGER = 1 << WEFT_KIND_UNSIGNED | 1 << WEFT_KIND_SIGNED,
    KINDS_FLOAT = 1 << WEFT_KIND_FLOAT,
    KINDS_COMPLEX = 1 << WEFT_KIND_COMPLEX,
    KINDS_INEXACT = KINDS_FLOAT | KINDS_COMPLEX,
    KINDS_BITS = KINDS_INTEGER | 1 << WEFT_KIND_BOOL,
    KINDS_REAL = KINDS_INTEGER | KINDS_FLOAT,
    KINDS_NUMERIC = KINDS_REAL | 1 << WEFT_KIND_COMPLEX,
    KINDS_ORDERED = KINDS_BITS | KINDS_FLOAT,
    KINDS_ALL = KINDS_NUMERIC | KINDS_BITS
};

static const uint8_t operand_kinds[WEFT_SCALAR_COUNT] = {
#define WEFT_SCALAR(name, operands, kinds, result) KINDS_##kinds,
#include "lib/loop/scalar.def"
#undef WEFT_SCALAR
};

/* The position of the verifier, for messages. */
typedef struct verifier {
    weft_kernel *kernel;
    const weft_stage *stage;             /* NULL: the outer ranges */
    const weft_accumulator *accumulator; /* or NULL */
    const weft_combiner *block;          /* one of its blocks, where instructions are numbered from 0; NULL: outside */
    const weft_inst *inst;               /* or NULL */
    weft_inst_id id;                     /* number of inst, or of the first that does not come before */
} verifier;

static uint32_t stage_number(const verifier *v)
{
    return (uint32_t)(v->stage - v->kernel->stages);
}

static weft_status *broken(const verifier *v, const char *format, ...) WEFT_FORMAT(2, 3);

/* "stage 1, accumulator 0, instruction %3 (add): sentence". */
static weft_status *broken(const verifier *v, const char *format, ...)
{
    const weft_allocator *allocator = v->kernel->arena.allocator;
    weft_bytes text;
    weft_bytes_init(&text, allocator);
    if (v->stage == NULL) weft_bytes_print(&text, "kernel");
    else weft_bytes_print(&text, "stage %" PRIu32, stage_number(v));
    if (v->accumulator != NULL)
        weft_bytes_print(&text, ", accumulator a%" PRIu32, (uint32_t)(v->accumulator - v->kernel->accumulators));
    if (v->inst != NULL)
        weft_bytes_print(&text, ", instruction %%%" PRIu32 " (%s)", v->id, weft_scalar_name(v->inst->op));
    va_list arguments;
    va_start(arguments, format);
    weft_status *sentence = weft_status_create_v(allocator, WEFT_INTERNAL, NULL, format, arguments);
    va_end(arguments);
    weft_status *status = weft_status_out_of_memory();
    if (!text.failed && weft_status_code(sentence) == WEFT_INTERNAL)
        status = weft_status_create(allocator, WEFT_INTERNAL, "kernel verifier", "%s: %s", text.data,
                                    weft_status_message(sentence));
    weft_status_destroy(sentence);
    weft_bytes_finish(&text);
    return status;
}

/* ---- expressions ---- */

static bool has_variable(const weft_range *ranges, uint32_t count, weft_expr variable)
{
    for (uint32_t r = 0; r < count; r++)
        if (ranges[r].variable == variable) return true;
    return false;
}

/* Only scalars, variables of the first `outer` outer ranges and the first `inner` ranges of the stage appear in `e`. */
static weft_status *verify_scope(const verifier *v, weft_expr e, const char *what, uint32_t outer, uint32_t inner)
{
    const weft_kernel *kernel = v->kernel;
    if (e == WEFT_EXPR_NONE) return broken(v, "%s is missing", what);
    for (size_t s = 0; s < weft_expr_context_symbol_count(kernel->exprs); s++) {
        weft_expr symbol = weft_expr_context_symbol(kernel->exprs, s);
        if (weft_expr_bound(kernel->exprs, symbol) == WEFT_EXPR_NONE) continue;
        if (!weft_expr_uses(kernel->exprs, e, symbol)) continue;
        const char *name = weft_expr_name(kernel->exprs, symbol);
        if (has_variable(kernel->ranges, outer, symbol)) continue;
        if (inner > 0 && has_variable(v->stage->ranges, inner, symbol)) continue;
        return broken(v, "%s uses the loop variable %s, which no range around it binds", what, name);
    }
    return NULL;
}

/* Any range around the place will do. */
static weft_status *verify_expr(const verifier *v, weft_expr e, const char *what)
{
    return verify_scope(v, e, what, v->kernel->range_count, v->stage == NULL ? 0 : v->stage->range_count);
}

static weft_status *verify_predicates(const verifier *v, uint32_t count, const weft_expr *predicates)
{
    for (uint32_t p = 0; p < count; p++) WEFT_TRY(verify_expr(v, predicates[p], "a predicate"));
    return NULL;
}

/* ---- instructions ---- */

static weft_status *verify_visible(const verifier *v, weft_inst_id id, const char *what)
{
    const weft_kernel *kernel = v->kernel;
    if (id >= v->id) return broken(v, "%s %%%" PRIu32 " is not an earlier value", what, id);
    if (v->block != NULL || id >= v->stage->inst_first) return NULL;
    for (const weft_stage *stage = kernel->stages; stage < v->stage; stage++)
        if (id - stage->inst_first < stage->inst_count && stage->range_count != 0)
            return broken(v, "%s %%%" PRIu32 " is of stage %" PRIu32 ", whose inner ranges end with it", what, id,
                          (uint32_t)(stage - kernel->stages));
    return NULL;
}

static const weft_inst *inst_at(const verifier *v, weft_inst_id id)
{
    return v->block != NULL ? &v->block->insts[id] : &v->kernel->insts[id];
}

static const weft_inst *operand_of(const verifier *v, uint32_t i)
{
    return inst_at(v, v->inst->args[i]);
}

static weft_status *verify_operands(const verifier *v)
{
    const weft_inst *inst = v->inst;
    int wanted = weft_scalar_operands(inst->op);
    bool count_fits = wanted < 0 ? inst->arg_count <= 1 : inst->arg_count == (uint32_t)wanted;
    if (!count_fits) return broken(v, "it has %" PRIu32 " operands, which is not what it takes", inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; i++) WEFT_TRY(verify_visible(v, inst->args[i], "operand"));
    if (inst->arg_count == 0) return NULL;
    uint32_t last = inst->arg_count - 1;
    weft_dtype dtype = operand_of(v, last)->dtype;
    if ((operand_kinds[inst->op] >> weft_dtype_info_of(dtype)->kind & 1) == 0)
        return broken(v, "operand %" PRIu32 " is %s, which it does not take", last, weft_dtype_name(dtype));
    for (uint32_t i = 0; i < last; i++) {
        weft_dtype needed = weft_scalar_is_choice(inst->op) && i == 0 ? WEFT_BOOL : dtype;
        weft_dtype found = operand_of(v, i)->dtype;
        if (found != needed)
            return broken(v, "operand %" PRIu32 " is %s, but has to be %s", i, weft_dtype_name(found),
                          weft_dtype_name(needed));
    }
    return NULL;
}

static weft_status *verify_result(const verifier *v, weft_dtype needed)
{
    if (v->inst->dtype == needed) return NULL;
    return broken(v, "its dtype is %s, but has to be %s", weft_dtype_name(v->inst->dtype), weft_dtype_name(needed));
}

static weft_status *verify_const(const verifier *v, weft_dtype dtype, uint64_t bits)
{
    size_t size = weft_dtype_size(dtype);
    if (size > 8) return broken(v, "a constant of dtype %s does not fit 64 bits", weft_dtype_name(dtype));
    if (size < 8 && bits >> (8 * size) != 0)
        return broken(v, "the constant 0x%" PRIx64 " has bits above the %zu bytes of %s", bits, size,
                      weft_dtype_name(dtype));
    if (dtype == WEFT_BOOL && bits > 1) return broken(v, "the bool constant 0x%" PRIx64 " is neither 0 nor 1", bits);
    return NULL;
}

static weft_status *verify_load(const verifier *v)
{
    const weft_inst *inst = v->inst;
    if (inst->buffer >= v->kernel->buffer_count)
        return broken(v, "buffer b%" PRIu32 " does not exist: there are %" PRIu32, inst->buffer,
                      v->kernel->buffer_count);
    if (inst->arg_count == 1 && operand_of(v, 0)->dtype != WEFT_I64)
        return broken(v, "the offset is %s, but has to be i64", weft_dtype_name(operand_of(v, 0)->dtype));
    return verify_result(v, v->kernel->buffers[inst->buffer].dtype);
}

static weft_status *verify_component(const verifier *v)
{
    const weft_inst *inst = v->inst;
    const weft_accumulator *accumulator = &v->kernel->accumulators[inst->buffer];
    if (inst->number >= accumulator->width)
        return broken(v, "component %" PRIu32 " of accumulator a%" PRIu32 " does not exist: it has %" PRIu32,
                      inst->number, inst->buffer, accumulator->width);
    return verify_result(v, accumulator->dtypes[inst->number]);
}

/* Whether a stage scans in virtual lanes, whose last group may have no end, with that accumulator. */
static bool has_no_result(const verifier *v, uint32_t accumulator)
{
    const weft_stage *stage = v->kernel->stages;
    while (accumulator >= stage->accumulator_first + stage->accumulator_count) stage++;
    if (stage->range_count == 0) return false;
    const weft_range *last = &stage->ranges[stage->range_count - 1];
    return last->scans && weft_expr_divisor(v->kernel->exprs, last->extent) % last->virtual_lanes != 0;
}

static weft_status *verify_accumulator_result(const verifier *v)
{
    if (v->inst->buffer >= v->stage->accumulator_first)
        return broken(v, "accumulator a%" PRIu32 " is not of an earlier stage", v->inst->buffer);
    if (has_no_result(v, v->inst->buffer))
        return broken(v, "accumulator a%" PRIu32 " is of a scan whose last virtual lanes may be empty",
                      v->inst->buffer);
    return verify_component(v);
}

/* The accumulators of the stage have taken in the point before it, in the order of the points. */
static weft_status *verify_running(const verifier *v)
{
    const weft_stage *stage = v->stage;
    uint32_t first = stage->accumulator_first;
    if (v->inst->buffer - first >= stage->accumulator_count)
        return broken(v, "accumulator a%" PRIu32 " is not of this stage", v->inst->buffer);
    for (uint32_t r = 0; r < stage->range_count; r++) {
        const weft_range *range = &stage->ranges[r];
        if ((range->virtual_lanes != 1 && !range->scans) || (range->blocks && stage->range_count != 1) ||
            range->blocks == WEFT_BLOCKS_NESTED)
            return broken(v, "the stage has virtual lanes or blocks, whose order is not that of a scan");
    }
    for (uint32_t a = first; a < first + stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = &v->kernel->accumulators[a];
        for (uint32_t i = 0; i < accumulator->value_count && i < WEFT_MAX_COMPONENTS; i++)
            if (accumulator->values[i] >= v->id)
                return broken(v, "accumulator a%" PRIu32 " takes in %%%" PRIu32 ", which comes after it", a,
                              accumulator->values[i]);
    }
    return verify_component(v);
}

static weft_status *verify_in_block(const verifier *v)
{
    return v->block != NULL ? NULL : broken(v, "it stands outside of a combine block");
}

static weft_status *verify_param(const verifier *v)
{
    WEFT_TRY(verify_in_block(v));
    const weft_accumulator *accumulator = v->accumulator;
    uint32_t width = accumulator->width, number = v->inst->number;
    bool step = v->block == &accumulator->step;
    uint32_t count = width + (step ? accumulator->value_count : width);
    if (number >= count) return broken(v, "parameter %" PRIu32 " does not exist: there are %" PRIu32, number, count);
    bool taken = step && number >= width;
    return verify_result(v, taken ? v->kernel->insts[accumulator->values[number - width]].dtype
                                  : accumulator->dtypes[number % width]);
}

static weft_status *verify_bitcast(const verifier *v)
{
    weft_dtype from = operand_of(v, 0)->dtype, to = v->inst->dtype;
    if (weft_dtype_size(from) == weft_dtype_size(to)) return NULL;
    return broken(v, "%s and %s differ in size", weft_dtype_name(from), weft_dtype_name(to));
}

static weft_status *verify_complex(const verifier *v)
{
    weft_dtype part = operand_of(v, 0)->dtype, dtype = v->inst->dtype;
    if (weft_dtype_component(dtype) == part && dtype != part) return NULL;
    return broken(v, "%s has no parts of dtype %s", weft_dtype_name(dtype), weft_dtype_name(part));
}

static weft_status *verify_lookup(const verifier *v)
{
    const weft_table *table = weft_table_of(v->inst->buffer);
    if (table == NULL) return broken(v, "table %" PRIu32 " does not exist", v->inst->buffer);
    if (v->inst->number >= table->columns)
        return broken(v, "column %" PRIu32 " of table %s does not exist: it has %" PRIu32, v->inst->number, table->name,
                      table->columns);
    return verify_result(v, table->dtype);
}

static weft_status *verify_given(const verifier *v)
{
    switch (v->inst->op) {
    case WEFT_SCALAR_const: return verify_const(v, v->inst->dtype, v->inst->bits);
    case WEFT_SCALAR_index: return verify_result(v, WEFT_I64);
    case WEFT_SCALAR_load: return verify_load(v);
    case WEFT_SCALAR_param: return verify_param(v);
    case WEFT_SCALAR_earlier: return verify_in_block(v);
    case WEFT_SCALAR_result: return verify_accumulator_result(v);
    case WEFT_SCALAR_running: return verify_running(v);
    case WEFT_SCALAR_bitcast: return verify_bitcast(v);
    case WEFT_SCALAR_complex: return verify_complex(v);
    case WEFT_SCALAR_lookup: return verify_lookup(v);
    case WEFT_SCALAR_check:
    case WEFT_SCALAR_within: return verify_result(v, WEFT_I64);
    default: return NULL;
    }
}

static weft_status *verify_fields(const verifier *v)
{
    const weft_inst *inst = v->inst;
    unsigned fields = weft_inst_fields(inst->op, inst->dtype);
    if (fields & WEFT_INST_INDEX) WEFT_TRY(verify_expr(v, inst->index, "its index"));
    if (fields & WEFT_INST_PREDICATES) WEFT_TRY(verify_predicates(v, inst->predicate_count, inst->predicates));
    if ((fields & WEFT_INST_POSITION) == 0) return NULL;
    if (inst->number >= v->kernel->site_count)
        return broken(v, "site %" PRIu32 " does not exist: there are %" PRIu32, inst->number, v->kernel->site_count);
    return verify_expr(v, inst->position, "its position");
}

static weft_status *verify_inst(const verifier *v)
{
    const weft_inst *inst = v->inst;
    if ((unsigned)inst->op >= WEFT_SCALAR_COUNT) return broken(v, "its operation %d does not exist", (int)inst->op);
    if (weft_dtype_info_of(inst->dtype) == NULL) return broken(v, "its dtype %d does not exist", (int)inst->dtype);
    WEFT_TRY(verify_operands(v));
    weft_scalar_result result = weft_scalar_result_of(inst->op);
    if (result == WEFT_RESULT_BOOL) WEFT_TRY(verify_result(v, WEFT_BOOL));
    weft_dtype last = inst->arg_count == 0 ? inst->dtype : operand_of(v, inst->arg_count - 1)->dtype;
    if (result == WEFT_RESULT_SAME) WEFT_TRY(verify_result(v, last));
    if (result == WEFT_RESULT_PART) WEFT_TRY(verify_result(v, weft_dtype_component(last)));
    WEFT_TRY(verify_given(v));
    return verify_fields(v);
}

/* ---- accumulators and stores ---- */

static bool is_arithmetic(const weft_inst *inst)
{
    unsigned within = WEFT_INST_BITS | WEFT_INST_NUMBER | WEFT_INST_TABLE;
    unsigned elsewhere = weft_inst_fields(inst->op, inst->dtype) & ~within;
    return elsewhere == 0 && inst->op != WEFT_SCALAR_inside;
}

static weft_status *verify_insts(verifier v)
{
    for (v.id = 0; v.id < v.block->count; v.id++) {
        v.inst = &v.block->insts[v.id];
        if ((unsigned)v.inst->op < WEFT_SCALAR_COUNT && !is_arithmetic(v.inst))
            return broken(&v, "a combine block takes parameters, constants and arithmetic that cannot fail");
        WEFT_TRY(verify_inst(&v));
    }
    return NULL;
}

static weft_status *verify_value(const verifier *v, weft_inst_id id, weft_dtype needed, const char *what)
{
    WEFT_TRY(verify_visible(v, id, what));
    weft_dtype found = inst_at(v, id)->dtype;
    if (found == needed) return NULL;
    return broken(v, "%s %%%" PRIu32 " is %s, but has to be %s", what, id, weft_dtype_name(found),
                  weft_dtype_name(needed));
}

static weft_status *verify_combiner(verifier v, const weft_combiner *combiner)
{
    v.block = combiner;
    WEFT_TRY(verify_insts(v));
    v.id = combiner->count;
    for (uint32_t c = 0; c < v.accumulator->width; c++)
        WEFT_TRY(verify_value(&v, combiner->outcomes[c], v.accumulator->dtypes[c], "outcome"));
    return NULL;
}

/* What it takes in: one value of its dtype for each component, or what its step takes. */
static weft_status *verify_taken(const verifier *v)
{
    const weft_accumulator *accumulator = v->accumulator;
    uint32_t count = accumulator->value_count;
    bool step = accumulator->step.count != 0;
    if (step ? count == 0 || count > WEFT_MAX_COMPONENTS : count != accumulator->width)
        return broken(v, "it takes in %" PRIu32 " values, but has %" PRIu32 " components%s", count, accumulator->width,
                      step ? "" : " and no step");
    for (uint32_t i = 0; i < count; i++) {
        WEFT_TRY(verify_visible(v, accumulator->values[i], "value"));
        weft_dtype dtype = inst_at(v, accumulator->values[i])->dtype;
        WEFT_TRY(verify_value(v, accumulator->values[i], step ? dtype : accumulator->dtypes[i], "value"));
    }
    return NULL;
}

/* `v` is after the instructions of the stage. */
static weft_status *verify_accumulator(verifier v, const weft_accumulator *accumulator)
{
    v.accumulator = accumulator;
    if (accumulator->width == 0 || accumulator->width > WEFT_MAX_COMPONENTS)
        return broken(&v, "it has %" PRIu32 " components, but takes 1 to %d", accumulator->width, WEFT_MAX_COMPONENTS);
    for (uint32_t c = 0; c < accumulator->width; c++) {
        weft_dtype dtype = accumulator->dtypes[c];
        if (weft_dtype_info_of(dtype) == NULL) return broken(&v, "dtype %d does not exist", (int)dtype);
        WEFT_TRY(verify_const(&v, dtype, accumulator->init[c]));
    }
    WEFT_TRY(verify_taken(&v));
    if (accumulator->step.count != 0) WEFT_TRY(verify_combiner(v, &accumulator->step));
    return verify_combiner(v, &accumulator->combine);
}

static weft_status *verify_store(const verifier *v, const weft_store *store)
{
    const weft_kernel *kernel = v->kernel;
    const weft_kernel_buffer *buffer = store->buffer < kernel->buffer_count ? &kernel->buffers[store->buffer] : NULL;
    if (buffer == NULL || (!buffer->written && buffer->local == 0))
        return broken(v, "a store goes to b%" PRIu32 ", which is no written buffer", store->buffer);
    WEFT_TRY(verify_expr(v, store->index, "the index of a store"));
    WEFT_TRY(verify_predicates(v, store->predicate_count, store->predicates));
    if (store->is_indirect) WEFT_TRY(verify_value(v, store->offset, WEFT_I64, "the offset of a store"));
    return verify_value(v, store->value, kernel->buffers[store->buffer].dtype, "the stored value");
}

/* ---- ranges ---- */

static bool is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* The extent of a range may depend on the ranges around it. */
static weft_status *verify_loop(const verifier *v, const weft_range *range, uint32_t outer, uint32_t inner)
{
    const weft_expr_context *exprs = v->kernel->exprs;
    WEFT_TRY(verify_scope(v, range->extent, "the extent of a range", outer, inner));
    if (range->variable == WEFT_EXPR_NONE || weft_expr_kind_of(exprs, range->variable) != WEFT_EXPR_SYMBOL)
        return broken(v, "a range has no variable");
    if (weft_expr_bound(exprs, range->variable) != range->extent)
        return broken(v, "the extent of range %s is not the bound of its variable",
                      weft_expr_name(exprs, range->variable));
    return NULL;
}

/* What does not depend on the other ranges. */
static weft_status *verify_vectors(const verifier *v, const weft_range *range, const char *name)
{
    uint64_t vectors = (uint64_t)range->width * range->unroll;
    if (!is_power_of_two(range->virtual_lanes))
        return broken(v, "range %s has %" PRIu32 " lanes, no power of two", name, range->virtual_lanes);
    if (!is_power_of_two(range->width))
        return broken(v, "range %s has width %" PRIu32 ", no power of two", name, range->width);
    if (range->unroll == 0) return broken(v, "range %s is unrolled 0 times", name);
    if (range->bind != WEFT_BIND_LANE && vectors != 1)
        return broken(v, "range %s has vectors, but is not bound to lanes", name);
    if (range->bind == WEFT_BIND_LANE && range->reduce && vectors != range->virtual_lanes)
        return broken(v, "range %s has %" PRIu32 " virtual lanes, but %" PRIu32 " vectors of %" PRIu32, name,
                      range->virtual_lanes, range->unroll, range->width);
    if (!v->kernel->scheduled && range->bind != WEFT_BIND_SERIAL)
        return broken(v, "range %s is bound, but the kernel is not scheduled", name);
    return NULL;
}

static weft_status *verify_outer_range(const verifier *v, uint32_t number)
{
    const weft_kernel *kernel = v->kernel;
    const weft_range *range = &kernel->ranges[number];
    bool collapsed = range->bind == WEFT_BIND_THREAD || range->bind == WEFT_BIND_GRID;
    WEFT_TRY(verify_loop(v, range, collapsed ? 0 : number, 0));
    const char *name = weft_expr_name(kernel->exprs, range->variable);
    if (has_variable(kernel->ranges, number, range->variable))
        return broken(v, "two ranges have the variable %s", name);
    if (range->reduce || range->virtual_lanes != 1 || range->blocks || range->scans)
        return broken(v, "range %s is reduced, but only inner ranges can be", name);
    if (range->bind == WEFT_BIND_LANE && number + 1 != kernel->range_count)
        return broken(v, "range %s is bound to lanes, but is not the last outer one", name);
    if (collapsed && number != 0 && range->bind != kernel->ranges[number - 1].bind)
        return broken(v, "range %s is bound to threads or the grid after one that is not", name);
    return verify_vectors(v, range, name);
}

static weft_status *verify_scanned_range(const verifier *v, const weft_range *range, const char *name)
{
    const weft_stage *stage = v->stage;
    if (!range->scans) return NULL;
    if (range->virtual_lanes == 1 || stage->range_count != 1 || range->blocks == WEFT_BLOCKS_NESTED)
        return broken(v, "range %s scans, but not in virtual lanes, alone and without nested blocks", name);
    for (uint32_t a = 0; a < stage->accumulator_count; a++)
        if (v->kernel->accumulators[stage->accumulator_first + a].step.count != 0)
            return broken(v, "range %s scans in virtual lanes, but an accumulator has a step", name);
    return NULL;
}

static weft_status *verify_inner_range(const verifier *v, uint32_t number)
{
    const weft_kernel *kernel = v->kernel;
    const weft_stage *stage = v->stage;
    const weft_range *range = &stage->ranges[number];
    WEFT_TRY(verify_loop(v, range, kernel->range_count, number));
    const char *name = weft_expr_name(kernel->exprs, range->variable);
    const weft_range *last = kernel->range_count > 0 ? &kernel->ranges[kernel->range_count - 1] : NULL;
    if (last != NULL && last->bind == WEFT_BIND_LANE && weft_expr_uses(kernel->exprs, range->extent, last->variable))
        return broken(v, "the extent of range %s differs between lanes", name);
    if (has_variable(stage->ranges, number, range->variable) ||
        has_variable(kernel->ranges, kernel->range_count, range->variable))
        return broken(v, "two ranges have the variable %s", name);
    if (range->reduce != (stage->accumulator_count != 0))
        return broken(v, "range %s has to be reduced if and only if the stage has accumulators", name);
    if (range->blocks && !range->reduce) return broken(v, "range %s has blocks, but is not reduced", name);
    bool flat = range->blocks > WEFT_BLOCKS_NESTED;
    if (flat && (stage->range_count != 1 || (range->virtual_lanes != 1 && !range->scans)))
        return broken(v, "range %s has flat blocks, but also virtual lanes or other inner ranges", name);
    if (flat && range->blocks % range->virtual_lanes != 0)
        return broken(v, "range %s has blocks that end within a group of lanes", name);
    WEFT_TRY(verify_scanned_range(v, range, name));
    if (range->virtual_lanes != 1 && (!range->reduce || number + 1 != stage->range_count))
        return broken(v, "range %s has virtual lanes, but is not the innermost reduced one", name);
    if (range->bind == WEFT_BIND_THREAD || range->bind == WEFT_BIND_GRID)
        return broken(v, "range %s is bound to threads or the grid, but is an inner one", name);
    return verify_vectors(v, range, name);
}

static weft_status *verify_one_lane(const verifier *v)
{
    const weft_kernel *kernel = v->kernel;
    uint32_t bound = kernel->range_count != 0 && kernel->ranges[kernel->range_count - 1].bind == WEFT_BIND_LANE;
    for (uint32_t r = 0; r < v->stage->range_count; r++) bound += v->stage->ranges[r].bind == WEFT_BIND_LANE;
    return bound <= 1 ? NULL : broken(v, "%" PRIu32 " ranges are bound to lanes, but one can be", bound);
}

/* ---- stages ---- */

static weft_status *verify_stage(verifier v)
{
    const weft_kernel *kernel = v.kernel;
    const weft_stage *stage = v.stage;
    for (uint32_t r = 0; r < stage->range_count; r++) WEFT_TRY(verify_inner_range(&v, r));
    WEFT_TRY(verify_one_lane(&v));
    uint32_t end = stage->inst_first + stage->inst_count;
    for (v.id = stage->inst_first; v.id < end; v.id++) {
        v.inst = &kernel->insts[v.id];
        WEFT_TRY(verify_inst(&v));
    }
    v.inst = NULL;
    for (uint32_t a = 0; a < stage->accumulator_count; a++)
        WEFT_TRY(verify_accumulator(v, &kernel->accumulators[stage->accumulator_first + a]));
    for (uint32_t s = 0; s < stage->store_count; s++) WEFT_TRY(verify_store(&v, &stage->stores[s]));
    return NULL;
}

/* Stages divide instructions and accumulators among them, in order. */
static weft_status *verify_division(verifier v)
{
    const weft_kernel *kernel = v.kernel;
    uint64_t insts = 0, accumulators = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        v.stage = &kernel->stages[s];
        if (v.stage->inst_first != insts || v.stage->accumulator_first != accumulators)
            return broken(&v, "its instructions or accumulators do not begin where those of the stage before end");
        insts += v.stage->inst_count;
        accumulators += v.stage->accumulator_count;
    }
    if (insts == kernel->inst_count && accumulators == kernel->accumulator_count) return NULL;
    return broken(&v, "instructions or accumulators of the kernel belong to no stage");
}

static weft_status *verify_buffers(const verifier *v)
{
    const weft_kernel *kernel = v->kernel;
    for (uint32_t b = 0; b < kernel->buffer_count; b++) {
        if (weft_dtype_info_of(kernel->buffers[b].dtype) == NULL)
            return broken(v, "buffer b%" PRIu32 " has no dtype", b);
        if (b != 0 && kernel->buffers[b].written && !kernel->buffers[b - 1].written)
            return broken(v, "buffer b%" PRIu32 " is written, but comes after one that is not", b);
        if (b != 0 && kernel->buffers[b].local == 0 && kernel->buffers[b - 1].local != 0)
            return broken(v, "buffer b%" PRIu32 " comes after a local one", b);
        if (kernel->buffers[b].unread && (!kernel->buffers[b].written || weft_kernel_loads(kernel, b)))
            return broken(v, "buffer b%" PRIu32 " is unread, but not written alone", b);
    }
    return NULL;
}

weft_status *weft_kernel_verify(weft_kernel *kernel)
{
    verifier v = {.kernel = kernel};
    WEFT_TRY(verify_buffers(&v));
    WEFT_TRY(verify_division(v));
    for (uint32_t r = 0; r < kernel->range_count; r++) WEFT_TRY(verify_outer_range(&v, r));
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        v.stage = &kernel->stages[s];
        WEFT_TRY(verify_stage(v));
    }
    return NULL;
}
