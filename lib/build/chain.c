/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/builder.h"
#include <string.h>
#include "lib/loop/inst.h"

/*
 * Chains: kernels and products that hand intermediates on, each of which only they use. Whether their rows correspond
 * and whether strips of them pay is decided when the variant is bound (runtime/step/chain.c); here is found what could
 * be, and which elements an iteration of a kernel touches.
 *
 * A chain begins with a step that writes an intermediate; the steps that read it belong to it, and those that read what
 * these hand on. Steps in between that need nothing of it, such as a cast of weights, are moved before it. Chains
 * with products are found first; of what is left, kernels that follow each other are chains too, such as a pad and the
 * windows over it.
 */

enum { FARTHEST = 16 /* steps from the first to the last one, those in between included */ };

typedef struct chain_finder {
    weft_arena *arena;
    weft_variant *variant;
    const weft_kernel **kernels; /* of each step */
    uint32_t *uses;              /* of each buffer, by all steps */
    bool *taken;                 /* steps: by a chain */
    bool *rowless;     /* buffers: some kernel uses them in a way that has no rows, so no chain hands them on */
    bool has_products; /* whether chains must have some */
    size_t end;        /* of the sequence */
} chain_finder;

typedef struct chain {
    size_t members[WEFT_CHAIN_STEPS]; /* steps, in order */
    size_t count, products;
    uint32_t intermediates[WEFT_CHAIN_STEPS];
    size_t intermediate_count;
} chain;

/* ---- which elements an iteration touches ---- */

/* The number of iterations that differ only in the `inner` innermost of the ranges that threads share. */
static weft_expr group_of(const weft_kernel *kernel, uint32_t inner)
{
    weft_expr group = weft_expr_constant(kernel->exprs, 1);
    for (uint32_t i = kernel->range_count; i-- > 0 && inner > 0;) {
        if (kernel->ranges[i].bind != WEFT_BIND_THREAD) continue;
        group = weft_expr_mul(kernel->exprs, group, kernel->ranges[i].extent);
        inner--;
    }
    return group;
}

/* Whether the element belongs to the group of iterations: pitch * group <= index < pitch * (group + 1). *pitch is found
 * from the first index. */
static bool belongs(const weft_kernel *kernel, weft_expr index, uint32_t inner, weft_expr *pitch)
{
    weft_expr_context *x = kernel->exprs;
    weft_expr coefficient, step = WEFT_EXPR_NONE;
    for (uint32_t i = kernel->range_count; i-- > 0;) {
        const weft_range *range = &kernel->ranges[i];
        if (range->bind != WEFT_BIND_THREAD || (inner > 0 && inner-- > 0)) continue;
        if (!weft_expr_affine(x, index, range->variable, &coefficient, &index)) return false;
        if (step == WEFT_EXPR_NONE) {
            if (*pitch == WEFT_EXPR_NONE) *pitch = coefficient;
            step = *pitch;
        }
        if (coefficient != step) return false;
        step = weft_expr_mul(x, step, range->extent);
    }
    weft_expr one = weft_expr_constant(x, 1);
    return step != WEFT_EXPR_NONE && weft_expr_always_nonnegative(x, index) &&
           weft_expr_always_nonnegative(x, weft_expr_sub(x, weft_expr_sub(x, *pitch, one), index));
}

/* How many elements of the buffer each group of iterations has for itself; NONE: not known. */
static weft_expr pitch_of(const weft_kernel *kernel, uint32_t buffer, uint32_t inner)
{
    weft_expr pitch = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < kernel->inst_count; i++) {
        const weft_inst *inst = &kernel->insts[i];
        if (inst->op != WEFT_SCALAR_load || inst->buffer != buffer) continue;
        if (inst->arg_count > 0 || !belongs(kernel, inst->index, inner, &pitch)) return WEFT_EXPR_NONE;
    }
    for (uint32_t s = 0; s < kernel->stage_count; s++) {
        for (uint32_t i = 0; i < kernel->stages[s].store_count; i++) {
            const weft_store *store = &kernel->stages[s].stores[i];
            if (store->buffer != buffer) continue;
            if (store->is_indirect || !belongs(kernel, store->index, inner, &pitch)) return WEFT_EXPR_NONE;
        }
    }
    return pitch;
}

/* The same of groups as small as they can be; *out_group has the iterations of one. */
static weft_expr find_pitch(const weft_kernel *kernel, uint32_t buffer, weft_expr *out_group)
{
    uint32_t shared = 0;
    weft_expr pitch = WEFT_EXPR_NONE;
    for (uint32_t i = 0; i < kernel->range_count; i++) shared += kernel->ranges[i].bind == WEFT_BIND_THREAD;
    for (uint32_t inner = 0; inner < shared && pitch == WEFT_EXPR_NONE; inner++) {
        pitch = pitch_of(kernel, buffer, inner);
        *out_group = group_of(kernel, inner);
    }
    return pitch;
}

static bool is_intermediate(const chain *c, uint32_t buffer)
{
    size_t i = 0;
    while (i < c->intermediate_count && c->intermediates[i] != buffer) i++;
    return i < c->intermediate_count;
}

static uint32_t uses_in(const weft_step *step, uint32_t buffer)
{
    uint32_t count = 0;
    for (size_t i = 0; i < step->buffer_count; i++) count += step->buffers[i] == buffer;
    return count;
}

/* Whether several members read the buffer, which none writes. */
static bool is_shared(const chain_finder *f, const chain *c, uint32_t buffer)
{
    size_t readers = 0;
    for (size_t i = 0; i < c->count; i++) {
        const weft_step *step = &f->variant->steps[c->members[i]];
        if (weft_step_writes(step, buffer)) return false;
        readers += uses_in(step, buffer) > 0;
    }
    return readers > 1;
}

/* Slots of the kernel's pitches; *out_fine becomes false, and the buffer rowless, where that of an intermediate is not
 * known. */
static weft_status *fill_pitches(const chain_finder *f, const chain *c, size_t number, bool *out_fine)
{
    weft_step *step = &f->variant->steps[number];
    const weft_kernel *kernel = f->kernels[number];
    uint32_t *pitches = weft_arena_allocate(&f->variant->arena, step->buffer_count * sizeof *pitches);
    uint32_t *groups = weft_arena_allocate(&f->variant->arena, step->buffer_count * sizeof *groups), none;
    if (pitches == NULL || groups == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_expr_compile(kernel->exprs, weft_expr_constant(kernel->exprs, 0), &f->variant->formulas, &none));
    for (size_t i = 0; i < step->buffer_count; i++) {
        pitches[i] = groups[i] = none;
        bool is_handed_on = is_intermediate(c, step->buffers[i]);
        if (!is_handed_on && !is_shared(f, c, step->buffers[i])) continue;
        weft_expr group, pitch = find_pitch(kernel, (uint32_t)i, &group);
        WEFT_TRY(weft_expr_context_take_out_of_memory(kernel->exprs));
        if (pitch == WEFT_EXPR_NONE && !is_handed_on) continue;
        if (pitch == WEFT_EXPR_NONE) {
            f->rowless[step->buffers[i]] = true;
            *out_fine = false;
            return NULL;
        }
        WEFT_TRY(weft_expr_compile(kernel->exprs, pitch, &f->variant->formulas, &pitches[i]));
        WEFT_TRY(weft_expr_compile(kernel->exprs, group, &f->variant->formulas, &groups[i]));
    }
    step->pitches = pitches;
    step->groups = groups;
    return NULL;
}

/* What the kernel does not use of the intermediates that it reads, and what is the same in those that it writes. */
static weft_status *fill_hidden(const chain_finder *f, const chain *c, size_t number)
{
    weft_step *step = &f->variant->steps[number];
    const weft_kernel *kernel = f->kernels[number];
    weft_hidden *hidden = weft_arena_allocate(&f->variant->arena, step->buffer_count * sizeof *hidden);
    bool *memory = weft_arena_allocate(f->arena, kernel->inst_count + 1);
    if (hidden == NULL || memory == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < step->buffer_count; i++) {
        hidden[i] = (weft_hidden){.known = false};
        if (!is_intermediate(c, step->buffers[i])) continue;
        weft_expr extent, from = i < step->written ? weft_repeated_from(kernel, (uint32_t)i, memory, &extent)
                                                   : weft_hidden_from(kernel, (uint32_t)i, &extent);
        WEFT_TRY(weft_expr_context_take_error(kernel->exprs));
        if (from == WEFT_EXPR_NONE) continue;
        hidden[i].known = true;
        WEFT_TRY(weft_expr_compile(kernel->exprs, extent, &f->variant->formulas, &hidden[i].extent));
        WEFT_TRY(weft_expr_compile(kernel->exprs, from, &f->variant->formulas, &hidden[i].from));
    }
    step->hidden = hidden;
    return NULL;
}

/* ---- which steps ---- */

static bool can_belong(const weft_step *step)
{
    return step->kind == WEFT_STEP_GEMM ||
           (step->kind == WEFT_STEP_KERNEL && step->sites == NULL && !step->update.guarded && !step->copies);
}

static bool is_member(const chain *c, size_t number)
{
    size_t i = 0;
    while (i < c->count && c->members[i] != number) i++;
    return i < c->count;
}

/* Makes the step a member; false where there are too many. */
static bool add_member(const chain_finder *f, chain *c, size_t number)
{
    size_t i = c->count;
    if (c->count == WEFT_CHAIN_STEPS || f->taken[number]) return false;
    c->products += f->variant->steps[number].kind == WEFT_STEP_GEMM;
    for (; i > 0 && c->members[i - 1] > number; i--) c->members[i] = c->members[i - 1];
    c->members[i] = number;
    c->count++;
    return true;
}

/* Takes in a buffer that member `number` writes, and all steps that use it; leaves the chain as it was where that
 * cannot be. */
static void take_in(const chain_finder *f, chain *c, size_t number, uint32_t buffer)
{
    const weft_step *steps = f->variant->steps;
    const chain before = *c;
    uint32_t left = f->uses[buffer] - uses_in(&steps[number], buffer);
    bool fine = f->variant->buffers[buffer].kind == WEFT_BUFFER_TEMPORARY && left > 0 && !f->rowless[buffer] &&
                c->intermediate_count < WEFT_CHAIN_STEPS;
    for (size_t s = number + 1; fine && left > 0; s++) {
        fine = s < f->end && s - c->members[0] < FARTHEST && steps[s].kind != WEFT_STEP_REGION;
        uint32_t uses = fine ? uses_in(&steps[s], buffer) : 0;
        left -= uses;
        if (uses == 0 || is_member(c, s)) continue;
        fine = can_belong(&steps[s]) && !weft_step_writes(&steps[s], buffer) && add_member(f, c, s);
    }
    if (fine) c->intermediates[c->intermediate_count++] = buffer;
    else *c = before;
}

/* What a block of an array is a block of. */
static const weft_buffer *whole_of(const weft_variant *variant, uint32_t number)
{
    const weft_buffer *buffer = &variant->buffers[number];
    while (buffer->kind == WEFT_BUFFER_ALIAS && buffer->part_of > 0) buffer = &variant->buffers[buffer->part_of - 1];
    return buffer;
}

/* Whether the step uses the buffer, or what it is a block of, or another block of that. */
static bool touches(const chain_finder *f, const weft_step *step, uint32_t buffer)
{
    const weft_buffer *whole = whole_of(f->variant, buffer);
    for (size_t i = 0; i < step->buffer_count; i++)
        if (whole_of(f->variant, step->buffers[i]) == whole) return true;
    return false;
}

static void take_in_all(const chain_finder *f, chain *c, size_t number)
{
    const weft_step *step = &f->variant->steps[number];
    for (size_t i = 0; i < step->written; i++) take_in(f, c, number, weft_step_written(step, i));
}

/* Whether the buffer is a temporary, or an output that no donated input may be. */
static bool is_own_memory(const weft_variant *variant, uint32_t number)
{
    const weft_buffer *buffer = &variant->buffers[number];
    if (buffer->kind != WEFT_BUFFER_OUTPUT) return buffer->kind == WEFT_BUFFER_TEMPORARY;
    for (size_t i = 0; i < variant->buffer_count; i++) {
        const weft_buffer *input = &variant->buffers[i];
        if (input->kind == WEFT_BUFFER_INPUT && variant->output_alias[input->number] == buffer->number) return false;
    }
    return true;
}

/* Whether step `number`, which is no member, may run before the first one. */
static bool can_hoist(const chain_finder *f, const chain *c, size_t number)
{
    const weft_step *step = &f->variant->steps[number];
    if (!can_belong(step) || step->written != 1) return false;
    uint32_t written = weft_step_written(step, 0);
    if (!is_own_memory(f->variant, written)) return false;
    for (size_t i = 0; i < c->count; i++) {
        const weft_step *member = &f->variant->steps[c->members[i]];
        for (size_t k = 0; k < member->written; k++)
            if (touches(f, step, weft_step_written(member, k))) return false;
        if (c->members[i] < number && uses_in(member, written) > 0) return false; /* it updates it in place */
    }
    return true;
}

/* The members from the first on, no further than up to a step in between that may not run before it. */
static chain gather(chain_finder *f, size_t first)
{
    for (;;) {
        chain c = {.count = 0};
        if (!can_belong(&f->variant->steps[first]) || !add_member(f, &c, first)) return c;
        for (size_t i = 0; i < c.count; i++) take_in_all(f, &c, c.members[i]);
        size_t last = c.members[c.count - 1], s = first + 1;
        while (s < last && (is_member(&c, s) || can_hoist(f, &c, s))) s++;
        if (s >= last) return c;
        f->end = s;
    }
}

/* Moves the members together, to where the last one is. */
static void hoist_others(const chain_finder *f, chain *c)
{
    weft_variant *variant = f->variant;
    for (size_t i = c->count - 1, to = c->members[i]; i-- > 0;) {
        to--;
        const weft_step step = variant->steps[c->members[i]];
        const weft_resolved resolved = variant->resolved[c->members[i]];
        const weft_kernel *kernel = f->kernels[c->members[i]];
        for (size_t s = c->members[i]; s < to; s++) {
            variant->steps[s] = variant->steps[s + 1];
            variant->resolved[s] = variant->resolved[s + 1];
            f->kernels[s] = f->kernels[s + 1];
        }
        variant->steps[to] = step;
        variant->resolved[to] = resolved;
        f->kernels[to] = kernel;
        c->members[i] = to;
    }
}

/* The buffer whose memory an output may have: that of the input it may share; otherwise its own. Blocks may have memory
 * of what a loop carries, which may be that of all else it carries. */
static bool shares(const weft_variant *variant, uint32_t written, uint32_t other)
{
    const weft_buffer *w = whole_of(variant, written), *o = whole_of(variant, other);
    if (w == o) return true;
    if (w->kind == WEFT_BUFFER_ALIAS) return o->kind == WEFT_BUFFER_ALIAS;
    return w->kind == WEFT_BUFFER_OUTPUT && o->kind == WEFT_BUFFER_INPUT &&
           variant->output_alias[o->number] == w->number;
}

/* Whether no other member than number `m` uses what that writes. */
static bool is_own(const chain_finder *f, const chain *c, size_t m, uint32_t written)
{
    for (size_t other = 0; other < c->count; other++) {
        const weft_step *user = &f->variant->steps[c->members[other]];
        for (size_t i = 0; i < user->buffer_count; i++)
            if (!(other == m && (user->buffers[i] == written || user->overwrites)) &&
                shares(f->variant, written, user->buffers[i]))
                return false;
    }
    return true;
}

/* Whether steps take part in nothing but what is handed on: what one of them writes for others, no other one uses. */
static bool is_closed(const chain_finder *f, const chain *c)
{
    for (size_t m = 0; m < c->count; m++) {
        const weft_step *step = &f->variant->steps[c->members[m]];
        for (size_t i = 0; i < step->written; i++) {
            uint32_t written = weft_step_written(step, i);
            const weft_buffer *w = &f->variant->buffers[written];
            if (w->kind == WEFT_BUFFER_ALIAS && w->part_of == 0) return false;
            if (!is_intermediate(c, written) && !is_own(f, c, m, written)) return false;
        }
        if (step->written == 0) return false;
    }
    return true;
}

static weft_status *try_chain(chain_finder *f, size_t first, size_t *out_next)
{
    weft_step *steps = f->variant->steps;
    chain c = gather(f, first);
    bool fine = true;
    *out_next = first + 1;
    if (c.count <= 1) return NULL;
    bool adjacent = c.members[c.count - 1] - first + 1 == c.count;
    if ((f->has_products ? c.products == 0 : !adjacent) || !is_closed(f, &c)) return NULL;
    for (size_t i = 0; i < c.count && fine; i++)
        if (steps[c.members[i]].kind == WEFT_STEP_KERNEL) WEFT_TRY(fill_pitches(f, &c, c.members[i], &fine));
    if (!fine) {
        *out_next = first; /* once more, without that buffer */
        return NULL;
    }
    for (size_t i = 0; i < c.count; i++)
        if (steps[c.members[i]].kind == WEFT_STEP_KERNEL) WEFT_TRY(fill_hidden(f, &c, c.members[i]));
    uint32_t *intermediates =
        weft_arena_copy(&f->variant->arena, c.intermediates, c.intermediate_count * sizeof *intermediates);
    if (intermediates == NULL) return weft_status_out_of_memory();
    hoist_others(f, &c);
    steps[c.members[0]].chain = (weft_chain){(uint32_t)(c.count - 1), c.intermediate_count, intermediates};
    for (size_t i = 0; i < c.count; i++) f->taken[c.members[i]] = true;
    *out_next = c.members[c.count - 1] + 1;
    return NULL;
}

/* ---- all ---- */

static weft_status *find_in(chain_finder *f, size_t first, size_t count)
{
    const weft_step *steps = f->variant->steps;
    for (size_t s = first, next; s < first + count; s = next) {
        f->end = first + count;
        WEFT_TRY(try_chain(f, s, &next));
        if (steps[s].kind != WEFT_STEP_REGION) continue;
        const uint32_t *parts = steps[s].region.parts;
        WEFT_TRY(find_in(f, s + 1, parts[0]));
        WEFT_TRY(find_in(f, s + 1 + parts[0], parts[1]));
        next = s + 1 + parts[0] + parts[1];
    }
    return NULL;
}

static void count_uses(const weft_step *step, uint32_t *uses)
{
    for (size_t i = 0; i < step->buffer_count; i++) uses[step->buffers[i]]++;
    if (step->kind != WEFT_STEP_REGION) return;
    uses[step->region.scalar]++;
    for (size_t i = 0; i < step->region.carried_count; i++) {
        const weft_carried *carried = &step->region.carried[i];
        const uint32_t buffers[] = {carried->initial, carried->current, carried->next, carried->result, carried->spare};
        for (size_t j = 0; j < sizeof buffers / sizeof *buffers; j++) uses[buffers[j]]++;
    }
}

weft_status *weft_builder_find_chains(variant_builder *builder, const weft_kernel **kernels)
{
    weft_variant *variant = builder->variant;
    chain_finder f = {.arena = builder->arena, .variant = variant, .kernels = kernels};
    f.uses = weft_arena_allocate(builder->arena, (variant->buffer_count + 1) * sizeof *f.uses);
    f.taken = weft_arena_allocate(builder->arena, (variant->step_count + 1) * sizeof *f.taken);
    f.rowless = weft_arena_allocate(builder->arena, (variant->buffer_count + 1) * sizeof *f.rowless);
    if (f.uses == NULL || f.taken == NULL || f.rowless == NULL) return weft_status_out_of_memory();
    memset(f.rowless, 0, (variant->buffer_count + 1) * sizeof *f.rowless);
    memset(f.uses, 0, (variant->buffer_count + 1) * sizeof *f.uses);
    memset(f.taken, 0, (variant->step_count + 1) * sizeof *f.taken);
    for (size_t s = 0; s < variant->step_count; s++) count_uses(&variant->steps[s], f.uses);
    f.has_products = true;
    WEFT_TRY(find_in(&f, 0, variant->step_count));
    f.has_products = false;
    return find_in(&f, 0, variant->step_count);
}
