/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/cost.h"
#include <math.h>
#include <string.h>
#include "lib/loop/inst.h"
#include "lib/loop/table.h"

/*
 * What a scheduled kernel takes, from its text alone. Instructions are counted where code generation leaves them: at
 * the innermost range that they depend on, by vector where that varies along the lanes. Memory is found by walking: the
 * first points in the order in which they run, whose addresses are counted in cache lines. Both overlap, but never
 * entirely.
 */

/* Points that are walked for each stage. */
#define WALKED 4096
/* Distinct lines of them: a power of two, and more than there can be. */
#define LINES 16384
/* What the smaller one of computing and memory adds to the larger one. */
#define NOT_OVERLAPPED 0.25
/* Elements along a symbol that nothing else is known of. */
#define TYPICAL_EXTENT 1024

/* Cycles, of one vector register where not said otherwise, in round numbers for Zen 3. What was compared with
 * measurements is the order in which they put the schedules of 36 kernels. */
#define PLAIN 0.5
#define DIVISION 4.0
#define CONVERSION 1.0
#define LANE 1.0     /* an element that is loaded, stored or looked up alone */
#define SHUFFLES 2.0 /* of a vector that is transposed with others */
#define MASK 2.0     /* a condition on lanes, without mask registers */
#define LATENCY 4.0
#define LOOP 1.0       /* an iteration of a loop */
#define ENTRY 6.0      /* before its first one */
#define ITERATION 15.0 /* an iteration of the ranges that are for threads */
#define CALL 40.0

typedef struct loop {
    weft_expr variable;
    double trips; /* rounds, along the lanes */
    int64_t at;   /* while points are walked: from 0 to the extent */
    bool lanes;
} loop;

typedef struct model {
    const weft_kernel *kernel;
    const weft_machine *machine;
    const weft_stage *stage;
    uint32_t loop_count;
    loop loops[2 * WEFT_MAX_RANK + 2]; /* around the stage, outer ones first */
    const weft_range *lanes;           /* NULL: none */
    double vectors;                    /* of a round */
    uint64_t lines[LINES];
} model;

/* ---- numbers ---- */

static int64_t symbol_value(const model *m, weft_expr e)
{
    int64_t least, most;
    for (uint32_t i = 0; i < m->loop_count; i++)
        if (m->loops[i].variable == e) return m->loops[i].at;
    if (weft_expr_bound(m->kernel->exprs, e) != WEFT_EXPR_NONE) return 0;
    weft_expr_range(m->kernel->exprs, e, &least, &most);
    return most < TYPICAL_EXTENT ? most : least > TYPICAL_EXTENT ? least : TYPICAL_EXTENT;
}

/* Divisors may be 0 where other symbols than the typical ones are meant. */
static int64_t floor_div(int64_t a, int64_t b)
{
    return b == 0 ? 0 : weft_expr_floor_div(a, b);
}

/* At the current point. Sums that overflow are of no use, but do no harm. */
static int64_t evaluate(const model *m, weft_expr e)
{
    const weft_expr_context *x = m->kernel->exprs;
    weft_expr_kind kind = weft_expr_kind_of(x, e);
    size_t arity = weft_expr_arity(x, e);
    int64_t value = 0;
    if (kind == WEFT_EXPR_CONSTANT) return weft_expr_is_constant(x, e, &value) ? value : 0;
    if (kind == WEFT_EXPR_SYMBOL) return symbol_value(m, e);
    value = kind == WEFT_EXPR_SUM ? weft_expr_offset(x, e) : evaluate(m, weft_expr_operand(x, e, 0));
    for (size_t i = kind != WEFT_EXPR_SUM; i < arity; i++) {
        int64_t next = evaluate(m, weft_expr_operand(x, e, i));
        switch (kind) {
        case WEFT_EXPR_SUM:
            value = (int64_t)((uint64_t)value + (uint64_t)weft_expr_coefficient_of(x, e, i) * (uint64_t)next);
            break;
        case WEFT_EXPR_PRODUCT: value = (int64_t)((uint64_t)value * (uint64_t)next); break;
        case WEFT_EXPR_DIV: value = floor_div(value, next); break;
        case WEFT_EXPR_MOD:
            value = (int64_t)((uint64_t)value - (uint64_t)next * (uint64_t)floor_div(value, next));
            break;
        case WEFT_EXPR_MIN: value = value < next ? value : next; break;
        default: value = value > next ? value : next; break;
        }
    }
    return value;
}

/* ---- loops ---- */

static void add_loop(model *m, const weft_range *range)
{
    double extent = (double)evaluate(m, range->extent), round = (double)range->width * range->unroll;
    bool lanes = range->bind == WEFT_BIND_LANE;
    if (extent < 0) extent = 0;
    m->loops[m->loop_count++] = (loop){range->variable, lanes ? floor((extent + round - 1) / round) : extent, 0, lanes};
    if (lanes) m->lanes = range;
}

static void enter_stage(model *m, const weft_stage *stage)
{
    m->stage = stage;
    m->loop_count = 0;
    m->lanes = NULL;
    for (uint32_t i = 0; i < m->kernel->range_count; i++) add_loop(m, &m->kernel->ranges[i]);
    for (uint32_t i = 0; i < stage->range_count; i++) add_loop(m, &stage->ranges[i]);
    m->vectors = m->lanes != NULL ? m->lanes->unroll : 1;
}

/* Points of the loops up to `depth`, rounds along the lanes. */
static double trips(const model *m, uint32_t depth)
{
    double product = 1;
    for (uint32_t i = 0; i < depth; i++) product *= m->loops[i].trips;
    return product;
}

/* ---- computing ---- */

/* Loops around an expression, up to the innermost one that it depends on; `*out_lanes`: the lanes are among them. */
static uint32_t depth_of(const model *m, weft_expr e, bool *out_lanes)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; e != WEFT_EXPR_NONE && i < m->loop_count; i++) {
        if (!weft_expr_uses(m->kernel->exprs, e, m->loops[i].variable)) continue;
        depth = i + 1;
        *out_lanes |= m->loops[i].lanes;
    }
    return depth;
}

typedef struct position {
    uint32_t depth;
    bool lanes; /* differs from lane to lane */
} position;

static position later(position a, position b)
{
    return (position){a.depth > b.depth ? a.depth : b.depth, a.lanes || b.lanes};
}

/* Where an instruction is computed; `positions` has those before it. */
static position place(const model *m, const weft_inst *inst, const position *positions)
{
    position p = {0, false};
    bool result = inst->op == WEFT_SCALAR_result || inst->op == WEFT_SCALAR_running;
    for (uint32_t a = 0; a < inst->arg_count; a++) p = later(p, positions[inst->args[a]]);
    if (inst->op == WEFT_SCALAR_result) p.depth = m->kernel->range_count;
    if (inst->op == WEFT_SCALAR_running) p.depth = m->loop_count;
    if (result && m->lanes != NULL && m->kernel->range_count > 0) p.lanes |= m->loops[m->kernel->range_count - 1].lanes;
    position own = {depth_of(m, inst->index, &p.lanes), p.lanes};
    p = later(p, own);
    for (uint32_t i = 0; i < inst->predicate_count; i++) {
        own.depth = depth_of(m, inst->predicates[i], &own.lanes);
        p = later(p, own);
    }
    return p;
}

static uint32_t width_of(const model *m)
{
    return m->lanes != NULL ? m->lanes->width : 1;
}

/* Registers of a vector of the dtype, one at least. */
static double registers_of(const model *m, weft_dtype dtype)
{
    double bytes = (double)weft_dtype_size(dtype) * width_of(m);
    return bytes < m->machine->vector_bytes ? 1 : bytes / m->machine->vector_bytes;
}

/* Of a vector whose elements have addresses `index`, and may have conditions. */
static double access_cycles(const model *m, weft_expr index, bool is_indirect, weft_dtype dtype, bool masked)
{
    weft_expr_context *x = m->kernel->exprs;
    weft_expr step, rest;
    bool dense = !is_indirect && weft_expr_affine(x, index, m->lanes->variable, &step, &rest);
    int64_t by = 2;
    if (dense && !weft_expr_is_constant(x, step, &by)) by = 2;
    dense = dense && (by == 1 || by == -1 || by == 0);
    if (!dense || (masked && weft_dtype_size(dtype) < 4)) return LANE * m->lanes->width;
    bool masks = m->machine->registers > 16;
    return registers_of(m, dtype) * (PLAIN + (by == -1 ? PLAIN : 0) + (masked && !masks ? MASK : 0));
}

static bool is_masked(const model *m, uint32_t count, const weft_expr *predicates)
{
    for (uint32_t i = 0; i < count; i++)
        if (weft_expr_uses(m->kernel->exprs, predicates[i], m->lanes->variable)) return true;
    return false;
}

static double lookup_cycles(const model *m, const weft_inst *inst)
{
    bool held = weft_table_of(inst->buffer)->rows <= WEFT_TABLE_REGISTER_ROWS;
    return held ? PLAIN * registers_of(m, inst->dtype) : LANE * width_of(m);
}

static double op_cycles(const model *m, const weft_inst *inst)
{
    double registers = registers_of(m, inst->dtype);
    switch (inst->op) {
    case WEFT_SCALAR_const:
    case WEFT_SCALAR_index:
    case WEFT_SCALAR_param:
    case WEFT_SCALAR_result:
    case WEFT_SCALAR_running: return 0;
    case WEFT_SCALAR_div:
    case WEFT_SCALAR_sqrt: return DIVISION * registers * (double)weft_dtype_size(inst->dtype) / 4;
    case WEFT_SCALAR_cast: return CONVERSION * registers;
    case WEFT_SCALAR_lookup: return lookup_cycles(m, inst);
    default: return PLAIN * registers;
    }
}

/* One vector of an instruction, or its one value where lanes share it. */
static double inst_cycles(const model *m, const weft_inst *inst, bool lanes)
{
    if (!lanes) return PLAIN;
    if (inst->op == WEFT_SCALAR_load)
        return access_cycles(m, inst->index, inst->arg_count != 0, inst->dtype,
                             is_masked(m, inst->predicate_count, inst->predicates));
    return op_cycles(m, inst);
}

/* Whether the stage copies rows to columns, which are transposed in registers. */
static bool is_turned(const model *m, const weft_store *store)
{
    weft_expr_context *x = m->kernel->exprs;
    const weft_stage *stage = m->stage;
    weft_expr step, rest;
    if (stage->range_count < 2 || stage->accumulator_count != 0) return false;
    if (m->lanes != &stage->ranges[stage->range_count - 1] || store->is_indirect || store->predicate_count != 0)
        return false;
    for (uint32_t i = 0; i < stage->inst_count; i++)
        if (m->kernel->insts[stage->inst_first + i].op != WEFT_SCALAR_load) return false;
    return weft_expr_affine(x, store->index, m->lanes[-1].variable, &step, &rest) && step == weft_expr_constant(x, 1);
}

static double store_cycles(const model *m, const weft_store *store)
{
    weft_dtype dtype = m->kernel->buffers[store->buffer].dtype;
    if (m->lanes == NULL) return 2 * PLAIN;
    if (is_turned(m, store)) return registers_of(m, dtype) * (2 * PLAIN + SHUFFLES);
    return 2 * access_cycles(m, store->index, store->is_indirect, dtype,
                             is_masked(m, store->predicate_count, store->predicates));
}

static double combiner_cycles(const model *m, const weft_combiner *combiner)
{
    double cycles = 0;
    for (uint32_t i = 0; i < combiner->count; i++) cycles += op_cycles(m, &combiner->insts[i]);
    return cycles;
}

/* An innermost round: what its instructions take, or what accumulators wait for each other. */
static double innermost_cycles(const model *m, double cycles)
{
    double chain = 0;
    for (uint32_t a = 0; a < m->stage->accumulator_count; a++) {
        const weft_accumulator *accumulator = &m->kernel->accumulators[m->stage->accumulator_first + a];
        cycles += m->vectors * combiner_cycles(m, weft_accumulator_step(accumulator));
        chain = LATENCY;
    }
    for (uint32_t i = 0; i < m->stage->store_count; i++) cycles += m->vectors * store_cycles(m, &m->stage->stores[i]);
    return cycles > chain ? cycles : chain;
}

/* Values of a round beyond the registers go to memory and back. */
static double spilled(const model *m, uint32_t live)
{
    double values = live * m->vectors, registers = m->machine->registers;
    return values > registers ? (values - registers) * 2 * PLAIN : 0;
}

static double loops_cycles(const model *m)
{
    double cycles = 0;
    for (uint32_t i = 0; i < m->loop_count; i++) {
        bool threads = i < m->kernel->range_count && !m->loops[i].lanes;
        if (!threads) cycles += trips(m, i) * ENTRY + trips(m, i + 1) * LOOP;
        else if (i + 1 == m->kernel->range_count || m->loops[i + 1].lanes) cycles += trips(m, i + 1) * ITERATION;
    }
    return cycles;
}

/* `positions` is for all instructions of the kernel. */
static double stage_cycles(const model *m, position *positions)
{
    const weft_kernel *kernel = m->kernel;
    double innermost = 0, cycles = loops_cycles(m);
    uint32_t live = m->stage->accumulator_count;
    for (uint32_t i = m->stage->inst_first; i < m->stage->inst_first + m->stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        position p = positions[i] = place(m, inst, positions);
        double each = inst_cycles(m, inst, p.lanes) * (p.lanes ? m->vectors : 1);
        if (p.depth == m->loop_count) innermost += each;
        else cycles += each * trips(m, p.depth);
        /* A value that is there all the time, or computed and used at once: one of three. */
        live += p.depth < m->loop_count ? p.lanes : i % 3 == 0;
    }
    innermost = innermost_cycles(m, innermost) + spilled(m, live);
    return cycles + trips(m, m->loop_count) * innermost;
}

/* ---- memory ---- */

/* The next point, the lanes of a round first; false after the last one. */
static bool step(model *m)
{
    int64_t round = 1;
    for (uint32_t i = 0; i < m->loop_count; i++) {
        loop *l = &m->loops[i];
        if (!l->lanes) continue;
        round = (int64_t)m->lanes->width * m->lanes->unroll;
        int64_t extent = evaluate(m, m->lanes->extent);
        if (++l->at % round != 0 && l->at < extent) return true;
        l->at = (l->at - 1) / round * round;
    }
    for (uint32_t i = m->loop_count; i-- > 0;) {
        loop *l = &m->loops[i];
        l->at += l->lanes ? round : 1;
        if ((double)(l->lanes ? l->at / round : l->at) < l->trips) return true;
        l->at = 0;
    }
    return false;
}

/* Whether the line was not there yet. */
static bool add_line(model *m, uint32_t buffer, int64_t line)
{
    uint64_t key = ((uint64_t)line << 12 ^ buffer) + 1;
    for (uint64_t at = key * 0x9e3779b97f4a7c15u >> 50;; at = (at + 1) % LINES) {
        if (m->lines[at] == key) return false;
        if (m->lines[at] != 0) continue;
        m->lines[at] = key;
        return true;
    }
}

/* Bytes that an access of the stage takes from, or gives to, memory for each of its points. */
static double walk(model *m, uint32_t buffer, weft_expr index)
{
    int64_t size = (int64_t)weft_dtype_size(m->kernel->buffers[buffer].dtype), line = m->machine->line_bytes;
    double points = 0, lines = 0;
    memset(m->lines, 0, sizeof m->lines);
    for (uint32_t i = 0; i < m->loop_count; i++) m->loops[i].at = 0;
    do {
        int64_t place = (int64_t)((uint64_t)evaluate(m, index) * (uint64_t)size);
        lines += add_line(m, buffer, floor_div(place, line));
        points++;
    } while (points < WALKED && step(m));
    for (uint32_t i = 0; i < m->loop_count; i++) m->loops[i].at = 0;
    return lines * (double)line / points;
}

static double points_of(const model *m)
{
    double points = 1;
    for (uint32_t i = 0; i < m->loop_count; i++)
        points *= m->loops[i].lanes ? (double)evaluate(m, m->lanes->extent) : m->loops[i].trips;
    return points;
}

/* L3, of which the model says nothing: as much of it, in caches of L2, as a core has of a server's, and its rate as a
 * part of that of the caches. */
#define SHARED 32
#define SHARED_RATE 0.5

/* What a line takes that comes from memory, or from the caches where the whole array would fit them. */
static double access_ns(model *m, uint32_t buffer, weft_expr index)
{
    if (m->kernel->buffers[buffer].local != 0) return 0;
    double bytes = walk(m, buffer, index) * points_of(m);
    double cached = (double)m->machine->cache_bytes[1], rate = m->machine->cache_bandwidth;
    if (bytes > cached) rate *= SHARED_RATE;
    if (bytes > SHARED * cached && m->machine->bandwidth < rate) rate = m->machine->bandwidth;
    return 1e9 * bytes / rate;
}

static double stage_memory_ns(model *m)
{
    double ns = 0;
    for (uint32_t i = m->stage->inst_first; i < m->stage->inst_first + m->stage->inst_count; i++) {
        const weft_inst *inst = &m->kernel->insts[i];
        if (inst->op == WEFT_SCALAR_load && inst->arg_count == 0) ns += access_ns(m, inst->buffer, inst->index);
    }
    for (uint32_t i = 0; i < m->stage->store_count; i++)
        if (!m->stage->stores[i].is_indirect) ns += access_ns(m, m->stage->stores[i].buffer, m->stage->stores[i].index);
    return ns;
}

/* ---- all of it ---- */

weft_status *weft_kernel_estimate(const weft_kernel *kernel, const weft_machine *machine, weft_estimate *out_estimate)
{
    const weft_allocator *allocator = kernel->arena.allocator;
    model *m = weft_allocate_zeroed(allocator, sizeof *m);
    position *positions = weft_allocate_zeroed(allocator, (kernel->inst_count + 1) * sizeof *positions);
    double cycles = CALL, ns = 0;
    bool made = m != NULL && positions != NULL;
    if (made) {
        m->kernel = kernel;
        m->machine = machine;
    }
    for (uint32_t s = 0; made && s < kernel->stage_count; s++) {
        enter_stage(m, &kernel->stages[s]);
        cycles += stage_cycles(m, positions);
        ns += stage_memory_ns(m);
    }
    if (m != NULL) weft_free(allocator, m, sizeof *m);
    if (positions != NULL) weft_free(allocator, positions, (kernel->inst_count + 1) * sizeof *positions);
    if (!made) return weft_status_out_of_memory();
    /* A model's operation is of four bytes, eight of them a vector. */
    double computing = 1e9 * cycles * 8 / machine->operations;
    double least = computing < ns ? computing : ns, most = computing < ns ? ns : computing;
    *out_estimate = (weft_estimate){computing, ns, most + NOT_OVERLAPPED * least};
    return NULL;
}
