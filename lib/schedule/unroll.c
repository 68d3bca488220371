/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/schedule/unroll.h"
#include "lib/loop/table.h"

/* Instructions, without constants, up to which vectors are emitted eight, four or two times per round: more would
 * spill, one alone would wait for itself. Of 20 functions on Zen 3 two vectors of cbrt take 0.82 of the time of one,
 * those of sin in f64 0.87; four of exp take 0.91 of two, but those of sin 1.10. */
#define SMALL_BODY 6u
#define MEDIUM_BODY 24u
#define LARGE_BODY 110u
/* With 32 registers, four vectors of up to so many instructions, where these times the longest row of those that need
 * each other are at least so many: to keep values in memory takes less than to wait. Of 40 functions on Zen 5 tan takes
 * 0.91 of the time of two vectors, atan and sigmoid 0.87, pow 0.82; in f64 sin and tan 0.8, the mean is 0.92. Where
 * registers hold a table, cbrt, acosh and asinh take 0.9, shorter ones such as logarithms 1.04. */
#define OVERLAPPED_BODY 150u
#define LEAST_WAITS 500u
#define LEAST_WAITS_BESIDE_TABLE 2000u
/* Of a vector of f32 with AVX-512. */
#define LANES 16u

static uint32_t max_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool is_masked(const weft_kernel *kernel, const weft_inst *load, weft_expr lanes)
{
    for (uint32_t i = 0; i < load->predicate_count; i++)
        if (weft_expr_uses(kernel->exprs, load->predicates[i], lanes)) return true;
    return false;
}

uint32_t weft_unroll_body(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes)
{
    enum { TESTED_MASK = 8 };
    uint32_t body = 0;
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        body += inst->op != WEFT_SCALAR_const;
        bool is_narrow = inst->op == WEFT_SCALAR_load && weft_dtype_size(inst->dtype) < 4;
        if (is_narrow && is_masked(kernel, inst, lanes)) body += TESTED_MASK;
    }
    return body;
}

/* Whether an access is not contiguous from lane to lane, so that it is made one lane at a time. */
static bool jumps(const weft_kernel *kernel, weft_expr index, bool is_indirect, weft_expr lanes)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    if (is_indirect) return true;
    if (!weft_expr_uses(x, index, lanes)) return false;
    if (!weft_expr_affine(x, index, lanes, &step, &rest)) return true;
    return step != weft_expr_constant(x, 1) && step != weft_expr_constant(x, -1);
}

/* A load that is made lane by lane. */
static uint32_t load_weight(const weft_inst *load)
{
    return LANES * (1 + load->arg_count);
}

/* Eight vectors of accesses that are made lane by lane are no faster than two, and took most of code generation. */
uint32_t weft_unroll_emitted(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes)
{
    uint32_t body = weft_unroll_body(kernel, stage, lanes);
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_load && jumps(kernel, inst->index, inst->arg_count != 0, lanes))
            body += load_weight(inst);
    }
    for (uint32_t i = 0; i < stage->store_count; i++)
        if (jumps(kernel, stage->stores[i].index, stage->stores[i].is_indirect, lanes)) body += LANES;
    return body;
}

/* Whether each lane of `width` loads from a row of its own, along which a range goes that may be as long. */
static bool goes_along_rows(const weft_kernel *kernel, const weft_inst *load, const weft_range *along, weft_expr lanes,
                            uint32_t width)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr step, rest;
    int64_t pitch, least, most;
    if (load->op != WEFT_SCALAR_load || load->arg_count != 0 || load->predicate_count != 0) return false;
    if (!weft_expr_affine(x, load->index, along->variable, &step, &rest) || step != weft_expr_constant(x, 1))
        return false;
    weft_expr_range(x, along->extent, &least, &most);
    if (most < width || !weft_expr_uses(x, load->index, lanes)) return false;
    if (!weft_expr_affine(x, load->index, lanes, &step, &rest)) return false;
    return !weft_expr_is_constant(x, step, &pitch) || pitch >= width || -pitch >= width;
}

/* Whether so many rows, one for each element of the lanes, have more lines in a set of L1 than that holds. */
static bool evicts_rows(const weft_kernel *kernel, const weft_inst *load, weft_expr lanes, int64_t rows)
{
    enum { SETS = 4096, WAYS = 8 };
    weft_expr step, rest;
    int64_t pitch;
    bool is_known = weft_expr_affine(kernel->exprs, load->index, lanes, &step, &rest) &&
                    weft_expr_is_constant(kernel->exprs, step, &pitch);
    return is_known && rows * weft_expr_gcd(pitch * (int64_t)weft_dtype_size(load->dtype), SETS) > WAYS * SETS;
}

uint32_t weft_unroll_across_rows(const weft_kernel *kernel, weft_expr lanes, uint32_t width)
{
    uint32_t unroll = 0;
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        const weft_stage *stage = &kernel->stages[s];
        for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count && stage->range_count > 0; i++) {
            const weft_inst *inst = &kernel->insts[i];
            if (!goes_along_rows(kernel, inst, &stage->ranges[stage->range_count - 1], lanes, width)) continue;
            if (evicts_rows(kernel, inst, lanes, 2 * (int64_t)width)) return 1;
            unroll = 2;
        }
    }
    return unroll;
}

uint32_t weft_unroll_of(uint32_t body)
{
    return body <= SMALL_BODY ? 8 : body <= MEDIUM_BODY ? 4 : body <= LARGE_BODY ? 2 : 1;
}

uint32_t weft_unroll_walking(const weft_machine *machine, uint32_t unroll)
{
    return machine->vector_bytes >= 64 && unroll > 4 ? 4 : unroll;
}

uint32_t weft_unroll_limit(const weft_kernel *kernel, uint32_t unroll, weft_expr extent, uint32_t width)
{
    int64_t least, most;
    weft_expr_range(kernel->exprs, extent, &least, &most);
    while (unroll > 1 && (int64_t)width * unroll > most) unroll /= 2;
    return unroll;
}

uint32_t weft_unroll_for(const weft_kernel *kernel, uint32_t body, weft_expr extent, uint32_t width)
{
    return weft_unroll_limit(kernel, weft_unroll_of(body), extent, width);
}

/* The most instructions of a stage, without constants, that need each other one after another. What data say where it
 * is takes about as long as it is emitted for. */
static weft_status *find_chain(weft_kernel *kernel, const weft_stage *stage, uint32_t *out_chain)
{
    uint32_t *lengths = weft_arena_allocate(&kernel->arena, (stage->inst_count + 1) * sizeof *lengths), most = 0;
    if (lengths == NULL) return weft_status_out_of_memory();
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        lengths[i] = 0;
        for (uint32_t j = 0; j < inst->arg_count; j++)
            lengths[i] = max_of(lengths[i], lengths[inst->args[j] - stage->inst_first]);
        lengths[i] += inst->op != WEFT_SCALAR_const;
        if (inst->op == WEFT_SCALAR_load && inst->arg_count != 0) lengths[i] += load_weight(inst);
        most = max_of(most, lengths[i]);
    }
    *out_chain = most;
    return NULL;
}

/* Whether a table is in registers, which values then lack. */
static bool holds_table(const weft_kernel *kernel, const weft_stage *stage)
{
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_lookup && weft_table_of(inst->buffer)->rows <= WEFT_TABLE_REGISTER_ROWS)
            return true;
    }
    return false;
}

/* Of what fits in no registers: random normal numbers, 197 instructions, of which 99 in a row, take 0.47 of the time
 * with four vectors, pow in f64 (57 of 125) 0.68; exp of c64 (48 of 171) takes 0.83 with two; lgamma (43 of 214) 1.04
 * and digamma (37 of 204) 1.16 (Zen 3). */
static uint32_t spilled_unroll(uint32_t emitted, uint32_t chain)
{
    return 5 * chain > 2 * emitted ? 4 : 4 * chain > emitted ? 2 : 1;
}

/* Whether four vectors overlap where there are 32 registers. */
static bool overlaps(const weft_kernel *kernel, uint32_t emitted, uint32_t chain)
{
    uint32_t least = holds_table(kernel, &kernel->stages[0]) ? LEAST_WAITS_BESIDE_TABLE : LEAST_WAITS;
    return chain * emitted >= least;
}

/* Whether more than half of the instructions need each other, one after another: four vectors wait, too, and eight,
 * though more values go to memory, take 0.92 to 0.95 of the time (tanh and sigmoid of f64, sigmoid and atan of f32; Zen
 * 5). Of half or less they take 0.95 to 1.3 times as long. What data place waits for memory. */
static bool waits(const weft_kernel *kernel, const weft_stage *stage, uint32_t emitted, uint32_t chain)
{
    for (uint32_t i = 0; i < stage->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[stage->inst_first + i];
        if (inst->op == WEFT_SCALAR_load && inst->arg_count != 0) return false;
    }
    return 15 * chain > 8 * emitted;
}

weft_status *weft_unroll_choose(weft_kernel *kernel, const weft_machine *machine, uint32_t emitted, weft_expr extent,
                                uint32_t width, uint32_t *out_unroll)
{
    uint32_t chain = 0, unroll = weft_unroll_walking(machine, weft_unroll_of(emitted));
    bool asks = machine->registers >= 32 && emitted <= OVERLAPPED_BODY && unroll < 4;
    if (kernel->stage_count == 1 && (asks || emitted > LARGE_BODY)) {
        WEFT_TRY(find_chain(kernel, &kernel->stages[0], &chain));
        if (!asks) unroll = spilled_unroll(emitted, chain);
        else if (overlaps(kernel, emitted, chain)) unroll = waits(kernel, &kernel->stages[0], emitted, chain) ? 8 : 4;
    }
    *out_unroll = weft_unroll_limit(kernel, unroll, extent, width);
    return NULL;
}
