/* SPDX-License-Identifier: Apache-2.0 */
#include "test/interpret.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test/support.h"

typedef uint64_t bits;

typedef struct machine {
    const weft_kernel *kernel;
    const weft_kernel_frame *frame;
    struct {
        weft_expr variable;
        int64_t value;
    } variables[64];
    size_t variable_count;
    bits *values;                        /* of instructions */
    bits *results;                       /* of accumulators */
    bits (*lanes)[WEFT_MAX_COMPONENTS];  /* of the stage's accumulators, lane by lane; of a scan lanes 0 and 1 are what
                                            they are now and were before the group */
    bits (*groups)[WEFT_MAX_COMPONENTS]; /* what the latest group of a scan has, element by element */
    const bits (*earlier)[WEFT_MAX_COMPONENTS]; /* `lanes` before the block of a scan; NULL: there are no blocks */
} machine;

/* ---- expressions ---- */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t symbol_value(const machine *m, weft_expr symbol)
{
    for (size_t i = 0; i < m->variable_count; i++)
        if (m->variables[i].variable == symbol) return m->variables[i].value;
    const char *name = weft_expr_name(m->kernel->exprs, symbol);
    for (size_t i = 0; i < weft_kernel_scalar_count(m->kernel); i++)
        if (strcmp(weft_kernel_scalar_name(m->kernel, i), name) == 0) return m->frame->scalars[i];
    fail_msg("symbol %s has no value", name);
    return 0;
}

static int64_t evaluate(const machine *m, weft_expr e)
{
    const weft_expr_context *x = m->kernel->exprs;
    int64_t value;
    if (weft_expr_is_constant(x, e, &value)) return value;
    weft_expr_kind kind = weft_expr_kind_of(x, e);
    if (kind == WEFT_EXPR_SYMBOL) return symbol_value(m, e);
    value = kind == WEFT_EXPR_PRODUCT ? 1 : kind == WEFT_EXPR_SUM ? weft_expr_offset(x, e) : 0;
    if (kind == WEFT_EXPR_SUM || kind == WEFT_EXPR_PRODUCT) {
        for (size_t i = 0; i < weft_expr_arity(x, e); i++) {
            int64_t operand = evaluate(m, weft_expr_operand(x, e, i));
            value = kind == WEFT_EXPR_SUM ? value + weft_expr_coefficient_of(x, e, i) * operand : value * operand;
        }
        return value;
    }
    int64_t a = evaluate(m, weft_expr_operand(x, e, 0)), b = evaluate(m, weft_expr_operand(x, e, 1));
    switch (kind) {
    case WEFT_EXPR_DIV: return floor_divide(a, b);
    case WEFT_EXPR_MOD: return a - b * floor_divide(a, b);
    case WEFT_EXPR_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
    }
}

static bool holds(const machine *m, uint32_t count, const weft_expr *predicates)
{
    for (uint32_t i = 0; i < count; i++)
        if (evaluate(m, predicates[i]) < 0) return false;
    return true;
}

/* ---- scalars ---- */

static double as_double(weft_dtype dtype, bits b)
{
    float single;
    double value;
    switch (dtype) {
    case WEFT_F32: memcpy(&single, &b, sizeof single); return single;
    case WEFT_F64: memcpy(&value, &b, sizeof value); return value;
    case WEFT_I32: return (int32_t)b;
    case WEFT_I64: return (double)(int64_t)b;
    default: return (double)b;
    }
}

static bits of_float(weft_dtype dtype, double value)
{
    bits b = 0;
    float single = (float)value;
    if (dtype == WEFT_F32) memcpy(&b, &single, sizeof single);
    else memcpy(&b, &value, sizeof value);
    return b;
}

static bool is_float(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64;
}

static bits truncated(weft_dtype dtype, bits b)
{
    switch (dtype) {
    case WEFT_BOOL: return b != 0;
    case WEFT_U8: return b & 0xff;
    case WEFT_I32:
    case WEFT_U32: return b & 0xffffffff;
    default: return b;
    }
}

static int64_t as_integer(weft_dtype dtype, bits b)
{
    return dtype == WEFT_I32 ? (int32_t)b : (int64_t)b;
}

/* Sums, products and quotients of f32 in double are rounded once more to f32 with the same result as in f32; fma is
 * not. */
static bits apply_float(weft_scalar_op op, weft_dtype dtype, const bits *args)
{
    double a = as_double(dtype, args[0]), b = as_double(dtype, args[1]), c = as_double(dtype, args[2]);
    switch (op) {
    case WEFT_SCALAR_neg: return args[0] ^ (dtype == WEFT_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63);
    case WEFT_SCALAR_abs: return of_float(dtype, fabs(a));
    case WEFT_SCALAR_sqrt: return of_float(dtype, sqrt(a));
    case WEFT_SCALAR_round: return of_float(dtype, rint(a));
    case WEFT_SCALAR_add: return of_float(dtype, a + b);
    case WEFT_SCALAR_sub: return of_float(dtype, a - b);
    case WEFT_SCALAR_mul: return of_float(dtype, a * b);
    case WEFT_SCALAR_div: return of_float(dtype, a / b);
    case WEFT_SCALAR_max: return isnan(a) || a > b ? args[0] : args[1];
    case WEFT_SCALAR_min: return isnan(a) || a < b ? args[0] : args[1];
    case WEFT_SCALAR_scale:
        if (isnan(b)) return args[2];
        return of_float(dtype, dtype == WEFT_F32 ? ldexpf((float)c, (int)floor(b)) : ldexp(c, (int)floor(b)));
    case WEFT_SCALAR_fma: return of_float(dtype, dtype == WEFT_F32 ? fmaf((float)a, (float)b, (float)c) : fma(a, b, c));
    default: fail_msg("operation %s of floats", weft_scalar_name(op)); return 0;
    }
}

static bits apply_integer(weft_scalar_op op, weft_dtype dtype, const bits *args)
{
    int64_t a = as_integer(dtype, args[0]), b = as_integer(dtype, args[1]);
    uint64_t size = 8 * weft_dtype_size(dtype);
    switch (op) {
    case WEFT_SCALAR_neg: return truncated(dtype, 0 - args[0]);
    case WEFT_SCALAR_abs: return truncated(dtype, a < 0 && dtype != WEFT_U32 ? 0 - args[0] : args[0]);
    case WEFT_SCALAR_not: return dtype == WEFT_BOOL ? !args[0] : truncated(dtype, ~args[0]);
    case WEFT_SCALAR_add: return truncated(dtype, args[0] + args[1]);
    case WEFT_SCALAR_sub: return truncated(dtype, args[0] - args[1]);
    case WEFT_SCALAR_mul: return truncated(dtype, args[0] * args[1]);
    case WEFT_SCALAR_div:
        return b == 0 ? 0 : b == -1 ? truncated(dtype, 0 - args[0]) : truncated(dtype, (bits)floor_divide(a, b));
    case WEFT_SCALAR_max: return a > b ? args[0] : args[1];
    case WEFT_SCALAR_min: return a < b ? args[0] : args[1];
    case WEFT_SCALAR_and: return args[0] & args[1];
    case WEFT_SCALAR_or: return args[0] | args[1];
    case WEFT_SCALAR_xor: return args[0] ^ args[1];
    case WEFT_SCALAR_shl: return truncated(dtype, args[0] << (args[1] % size));
    case WEFT_SCALAR_shr: return args[0] >> (args[1] % size);
    case WEFT_SCALAR_sar: return truncated(dtype, (bits)(a >> (args[1] % size)));
    default: fail_msg("operation %s of integers", weft_scalar_name(op)); return 0;
    }
}

/* -1, 0, 1, or 2 with a NaN. */
static int compare(weft_dtype dtype, bits x, bits y)
{
    if (!is_float(dtype)) {
        int64_t a = as_integer(dtype, x), b = as_integer(dtype, y);
        return (a > b) - (a < b);
    }
    double a = as_double(dtype, x), b = as_double(dtype, y);
    return isnan(a) || isnan(b) ? 2 : (a > b) - (a < b);
}

static bool apply_comparison(weft_scalar_op op, weft_dtype dtype, const bits *args)
{
    int order = compare(dtype, args[0], args[1]);
    switch (op) {
    case WEFT_SCALAR_eq: return order == 0;
    case WEFT_SCALAR_ne: return order != 0;
    case WEFT_SCALAR_lt:
    case WEFT_SCALAR_earlier: return order == -1;
    case WEFT_SCALAR_le: return order == -1 || order == 0;
    case WEFT_SCALAR_gt: return order == 1;
    default: return order == 1 || order == 0;
    }
}

static bits saturate(weft_dtype to, double value)
{
    double low = to == WEFT_I32 ? INT32_MIN : to == WEFT_I64 ? (double)INT64_MIN : 0;
    double high = to == WEFT_I32 ? INT32_MAX : to == WEFT_U32 ? UINT32_MAX : to == WEFT_U8 ? UINT8_MAX : 0x1p63;
    if (isnan(value)) return 0;
    if (value <= low) return truncated(to, (bits)(int64_t)low);
    if (value >= high) return to == WEFT_I64 ? (bits)INT64_MAX : truncated(to, (bits)(int64_t)high);
    return truncated(to, (bits)(int64_t)value);
}

static bits round_to_bf16(bits value)
{
    if (isnan(as_double(WEFT_F32, value))) return value >> 16 | 0x40;
    return (value + 0x7fff + (value >> 16 & 1)) >> 16;
}

static bits apply_cast(weft_dtype from, weft_dtype to, bits value)
{
    if (to == WEFT_BF16) return round_to_bf16(value);
    if (from == WEFT_BF16) return apply_cast(WEFT_F32, to, value << 16);
    if (to == WEFT_BOOL) return is_float(from) ? as_double(from, value) != 0 : value != 0;
    if (is_float(from))
        return is_float(to) ? of_float(to, as_double(from, value)) : saturate(to, as_double(from, value));
    if (!is_float(to)) return truncated(to, (bits)as_integer(from, value));
    float single = (float)as_integer(from, value); /* through double it would be rounded twice */
    return to == WEFT_F32 ? of_float(to, single) : of_float(to, as_double(from, value));
}

static bits look_up(const weft_inst *inst, bits row)
{
    const weft_table *table = weft_table_of(inst->buffer);
    return of_float(table->dtype, table->data[row % table->rows * table->columns + inst->number]);
}

static bits apply(const weft_inst *inst, weft_dtype from, const bits *args)
{
    switch (inst->op) {
    case WEFT_SCALAR_const: return truncated(inst->dtype, inst->bits);
    case WEFT_SCALAR_eq:
    case WEFT_SCALAR_ne:
    case WEFT_SCALAR_lt:
    case WEFT_SCALAR_earlier:
    case WEFT_SCALAR_le:
    case WEFT_SCALAR_gt:
    case WEFT_SCALAR_ge: return apply_comparison(inst->op, from, args);
    case WEFT_SCALAR_select:
    case WEFT_SCALAR_rarely: return args[0] != 0 ? args[1] : args[2];
    case WEFT_SCALAR_cast: return apply_cast(from, inst->dtype, args[0]);
    case WEFT_SCALAR_bitcast: return args[0];
    case WEFT_SCALAR_lookup: return look_up(inst, args[0]);
    default: return is_float(from) ? apply_float(inst->op, from, args) : apply_integer(inst->op, from, args);
    }
}

/* ---- instructions ---- */

static void report(machine *m, const weft_inst *inst, int64_t value)
{
    int64_t position = evaluate(m, inst->position);
    if (position >= m->frame->error->position) return;
    *m->frame->error = (weft_error_slot){position, value, inst->number};
}

static bits execute_check(machine *m, const weft_inst *inst, bits operand, bool active)
{
    int64_t extent = evaluate(m, inst->index), given = (int64_t)operand;
    int64_t index = given < 0 && inst->op == WEFT_SCALAR_check ? given + extent : given;
    if (index >= 0 && index < extent) return (bits)index;
    if (active) report(m, inst, given);
    return 0;
}

static bits execute_load(const machine *m, const weft_inst *inst, const bits *args, bool active)
{
    bits value = 0;
    if (!active) return 0;
    int64_t index = evaluate(m, inst->index) + (inst->arg_count != 0 ? (int64_t)args[0] : 0);
    size_t size = weft_dtype_size(inst->dtype);
    memcpy(&value, (const char *)m->frame->buffers[inst->buffer] + index * (int64_t)size, size);
    return truncated(inst->dtype, value);
}

static bits execute(machine *m, const weft_inst *inst)
{
    bits args[3] = {0};
    weft_dtype from = inst->dtype;
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        args[i] = m->values[inst->args[i]];
        from = m->kernel->insts[inst->args[i]].dtype;
    }
    bool active = holds(m, inst->predicate_count, inst->predicates);
    bool divides = inst->op == WEFT_SCALAR_div && !is_float(inst->dtype);
    if (divides && args[1] == 0 && active) report(m, inst, 0);
    switch (inst->op) {
    case WEFT_SCALAR_index: return (bits)evaluate(m, inst->index);
    case WEFT_SCALAR_inside: return active;
    case WEFT_SCALAR_load: return execute_load(m, inst, args, active);
    case WEFT_SCALAR_check:
    case WEFT_SCALAR_within: return execute_check(m, inst, args[0], active);
    case WEFT_SCALAR_result: return m->results[inst->buffer * WEFT_MAX_COMPONENTS + inst->number];
    default: return apply(inst, from, args);
    }
}

/* ---- accumulators ---- */

static void combine(const weft_accumulator *accumulator, const weft_combiner *combiner, bits *left, const bits *right)
{
    bits values[128];
    assert_true(combiner->count <= 128);
    for (uint32_t i = 0; i < combiner->count; i++) {
        const weft_inst *inst = &combiner->insts[i];
        bits args[3] = {0};
        weft_dtype from = inst->dtype;
        for (uint32_t k = 0; k < inst->arg_count; k++) {
            args[k] = values[inst->args[k]];
            from = combiner->insts[inst->args[k]].dtype;
        }
        if (inst->op == WEFT_SCALAR_param)
            values[i] =
                inst->number < accumulator->width ? left[inst->number] : right[inst->number - accumulator->width];
        else values[i] = apply(inst, from, args);
    }
    for (uint32_t c = 0; c < accumulator->width; c++) left[c] = values[combiner->outcomes[c]];
}

static uint32_t lanes_of(const weft_stage *stage)
{
    return stage->range_count == 0 ? 1 : stage->ranges[stage->range_count - 1].virtual_lanes;
}

static bits *lane_of(const machine *m, const weft_stage *stage, uint32_t accumulator, uint32_t lane)
{
    return m->lanes[(size_t)accumulator * lanes_of(stage) + lane];
}

/* An element of a group of virtual lanes of a scan. */
static void take_in_group(machine *m, const weft_stage *stage, uint32_t number, uint32_t k, const bits *value)
{
    const weft_combiner *block = &m->kernel->accumulators[stage->accumulator_first + number].combine;
    const weft_accumulator *accumulator = &m->kernel->accumulators[stage->accumulator_first + number];
    bits(*group)[WEFT_MAX_COMPONENTS] = m->groups + (size_t)number * lanes_of(stage), left[WEFT_MAX_COMPONENTS];
    bits *now = lane_of(m, stage, number, 0), *before = lane_of(m, stage, number, 1);
    memcpy(group[k], value, sizeof left);
    for (uint32_t half = 1; half < lanes_of(stage); half *= 2) {
        if ((k & half) == 0) continue;
        memcpy(left, group[(k & ~(2 * half - 1)) + half - 1], sizeof left);
        combine(accumulator, block, left, group[k]);
        memcpy(group[k], left, sizeof left);
    }
    memcpy(k == 0 ? before : now, k == 0 ? now : before, sizeof left);
    combine(accumulator, block, now, group[k]);
}

/* What component `number` of the accumulator of a scan is, after what there was before the block. */
static bits running(const machine *m, const weft_stage *stage, uint32_t accumulator, uint32_t number)
{
    bits left[WEFT_MAX_COMPONENTS];
    const bits *now = lane_of(m, stage, accumulator - stage->accumulator_first, 0);
    if (m->earlier == NULL) return now[number];
    memcpy(left, m->earlier[(accumulator - stage->accumulator_first) * lanes_of(stage)], sizeof left);
    combine(&m->kernel->accumulators[accumulator], &m->kernel->accumulators[accumulator].combine, left, now);
    return left[number];
}

static void take_in(machine *m, const weft_stage *stage)
{
    int64_t k = stage->range_count == 0 ? 0 : symbol_value(m, stage->ranges[stage->range_count - 1].variable);
    for (uint32_t a = 0; a < stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = &m->kernel->accumulators[stage->accumulator_first + a];
        bits right[WEFT_MAX_COMPONENTS];
        for (uint32_t v = 0; v < accumulator->value_count; v++) right[v] = m->values[accumulator->values[v]];
        uint32_t lane = (uint32_t)(k % lanes_of(stage));
        if (lanes_of(stage) > 1 && stage->ranges[0].scans) take_in_group(m, stage, a, lane, right);
        else combine(accumulator, weft_accumulator_step(accumulator), lane_of(m, stage, a, lane), right);
    }
}

static void execute_point(machine *m, const weft_stage *stage)
{
    bool taken = false;
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++) {
        const weft_inst *inst = &m->kernel->insts[i];
        if (inst->op == WEFT_SCALAR_running && !taken) {
            take_in(m, stage);
            taken = true;
        }
        m->values[i] =
            inst->op == WEFT_SCALAR_running ? running(m, stage, inst->buffer, inst->number) : execute(m, inst);
    }
    if (!taken) take_in(m, stage);
    for (uint32_t s = 0; s < stage->store_count; s++) {
        const weft_store *store = &stage->stores[s];
        if (!holds(m, store->predicate_count, store->predicates)) continue;
        size_t size = weft_dtype_size(m->kernel->buffers[store->buffer].dtype);
        int64_t offset = store->is_indirect ? (int64_t)m->values[store->offset] : 0;
        char *target = (char *)m->frame->buffers[store->buffer] + (evaluate(m, store->index) + offset) * (int64_t)size;
        memcpy(target, &m->values[store->value], size);
    }
}

static void finish_accumulators(machine *m, const weft_stage *stage)
{
    for (uint32_t a = 0; a < stage->accumulator_count; a++) {
        uint32_t number = stage->accumulator_first + a;
        const weft_accumulator *accumulator = &m->kernel->accumulators[number];
        bool scans = stage->range_count > 0 && stage->ranges[0].scans;
        for (uint32_t half = lanes_of(stage) / 2; half > 0 && !scans; half /= 2) {
            for (uint32_t i = 0; i < half; i++)
                combine(accumulator, &accumulator->combine, lane_of(m, stage, a, i), lane_of(m, stage, a, i + half));
        }
        memcpy(&m->results[number * WEFT_MAX_COMPONENTS], lane_of(m, stage, a, 0), sizeof(bits[WEFT_MAX_COMPONENTS]));
    }
}

/* ---- ranges ---- */

static void for_ranges(machine *m, const weft_range *ranges, uint32_t count, const weft_stage *stage);

static void start_lanes(machine *m, const weft_stage *stage)
{
    for (uint32_t a = 0; a < stage->accumulator_count; a++)
        for (uint32_t lane = 0; lane < lanes_of(stage); lane++)
            memcpy(lane_of(m, stage, a, lane), m->kernel->accumulators[stage->accumulator_first + a].init,
                   sizeof m->kernel->accumulators->init);
}

static void execute_stages(machine *m)
{
    for (uint32_t s = 0; s < m->kernel->stage_count; s++) {
        const weft_stage *stage = &m->kernel->stages[s];
        start_lanes(m, stage);
        for_ranges(m, stage->ranges, stage->range_count, stage);
        finish_accumulators(m, stage);
    }
}

/* A reduced range, and what is inside of it. */
typedef struct span {
    const weft_range *ranges;
    uint32_t count;
    const weft_stage *stage;
    size_t slot; /* of its variable */
} span;

static void for_blocks(machine *m, const span *s, int64_t begin, int64_t end);

static int64_t block_size(const weft_range *range)
{
    switch (range->blocks) {
    case WEFT_BLOCKS_NONE: return INT64_MAX;
    case WEFT_BLOCKS_NESTED: return WEFT_ORDER_BLOCK * (int64_t)range->virtual_lanes;
    default: return range->blocks;
    }
}

/* Elements [begin, end) by themselves; then what they give goes into what was there. */
static void for_block(machine *m, const span *s, int64_t begin, int64_t end)
{
    uint32_t count = s->stage->accumulator_count * lanes_of(s->stage);
    bits(*before)[WEFT_MAX_COMPONENTS] = malloc((count + 1) * sizeof *before);
    assert_non_null(before);
    memcpy(before, m->lanes, count * sizeof *before);
    start_lanes(m, s->stage);
    if (weft_stage_scans(m->kernel, s->stage)) m->earlier = (const bits(*)[WEFT_MAX_COMPONENTS])before;
    for_blocks(m, s, begin, end);
    m->earlier = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = s->stage->accumulator_first + i / lanes_of(s->stage);
        combine(&m->kernel->accumulators[number], &m->kernel->accumulators[number].combine, before[i], m->lanes[i]);
        memcpy(m->lanes[i], before[i], sizeof before[i]);
    }
    free(before);
}

static void for_blocks(machine *m, const span *s, int64_t begin, int64_t end)
{
    int64_t size = block_size(s->ranges);
    for (int64_t i = begin; i < end && end - begin <= size; i++) {
        m->variables[s->slot].value = i;
        for_ranges(m, s->ranges + 1, s->count - 1, s->stage);
    }
    if (end - begin <= size) return;
    bool nested = s->ranges->blocks == WEFT_BLOCKS_NESTED;
    while (nested && size < (end - begin + WEFT_ORDER_BLOCK - 1) / WEFT_ORDER_BLOCK) size *= WEFT_ORDER_BLOCK;
    for_blocks(m, s, begin, begin + size);
    for (int64_t i = begin + size; i < end; i += size) for_block(m, s, i, i + size < end ? i + size : end);
}

static void for_ranges(machine *m, const weft_range *ranges, uint32_t count, const weft_stage *stage)
{
    if (count == 0) {
        if (stage != NULL) execute_point(m, stage);
        else execute_stages(m);
        return;
    }
    int64_t extent = evaluate(m, ranges->extent);
    span whole = {ranges, count, stage, m->variable_count++};
    m->variables[whole.slot].variable = ranges->variable;
    bool inside =
        ranges->blocks && ranges > stage->ranges && extent > WEFT_ORDER_SHORT * (int64_t)ranges->virtual_lanes;
    if (inside) for_block(m, &whole, 0, extent);
    else for_blocks(m, &whole, 0, extent);
    m->variable_count--;
}

static uint32_t threaded(const weft_kernel *kernel)
{
    uint32_t count = 0;
    while (count < kernel->range_count &&
           (kernel->ranges[count].bind == WEFT_BIND_THREAD || kernel->ranges[count].bind == WEFT_BIND_GRID))
        count++;
    return count;
}

int64_t weft_test_iterations(const weft_kernel *kernel, const weft_kernel_frame *frame)
{
    machine m = {.kernel = kernel, .frame = frame};
    int64_t product = 1;
    for (uint32_t i = 0; i < threaded(kernel); i++) product *= evaluate(&m, kernel->ranges[i].extent);
    return product;
}

void weft_test_interpret(const weft_kernel *kernel, const weft_kernel_frame *frame, int64_t begin, int64_t end)
{
    machine m = {.kernel = kernel, .frame = frame};
    uint32_t count = threaded(kernel);
    uint32_t slots = 1;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        uint32_t needed = kernel->stages[s].accumulator_count * lanes_of(&kernel->stages[s]);
        if (needed > slots) slots = needed;
    }
    m.values = calloc(kernel->inst_count + 1, sizeof *m.values);
    m.results = calloc(kernel->accumulator_count * WEFT_MAX_COMPONENTS + 1, sizeof *m.results);
    m.lanes = calloc(slots, sizeof *m.lanes);
    m.groups = calloc(slots, sizeof *m.groups);
    assert_true(m.values != NULL && m.results != NULL && m.lanes != NULL && m.groups != NULL);
    for (int64_t t = begin; t < end; t++) {
        int64_t rest = t;
        m.variable_count = count;
        for (uint32_t i = count; i-- > 0;) {
            int64_t extent = evaluate(&m, kernel->ranges[i].extent);
            m.variables[i].variable = kernel->ranges[i].variable;
            m.variables[i].value = rest % extent;
            rest /= extent;
        }
        for_ranges(&m, count == 0 ? kernel->ranges : kernel->ranges + count, kernel->range_count - count, NULL);
    }
    free(m.values);
    free(m.results);
    free(m.lanes);
    free(m.groups);
}
