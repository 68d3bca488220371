/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/build.h"
#include "lib/build/builder.h"
#include "lib/build/pack.h"
#include "lib/graph/indexing.h"
#include "lib/lower/update_order.h"
#include "lib/schedule/schedule.h"
#include <string.h>
#include "runtime/data/device.h"

/*
 * A variant is built in attempts. Each fills in the fusion plan, gives memory to values, lowers every kernel and finds
 * the operands of every product; if a value turns out to need memory of its own, or a product to be better permuted
 * afterwards, that is recorded in the fusion plan, and the next attempt begins with it. Code is generated for the
 * attempt that succeeds. Attempts end because each adds a record.
 */

static void drop_kernels(variant_builder *builder)
{
    for (uint32_t i = 0; i < builder->step_count; i++) {
        planned_step *step = &builder->steps[i];
        weft_kernel_destroy(step->lowered.kernel);
        step->lowered.kernel = NULL;
        for (size_t part = 0; part < 2; part++)
            if (step->parts[part] != NULL) drop_kernels(step->parts[part]);
    }
}

static void builder_finish(variant_builder *builder)
{
    drop_kernels(builder);
    weft_expr_context_destroy(builder->exprs);
    weft_arena_finish(&builder->own_arena);
}

static void init_space(variant_builder *builder)
{
    builder->space = (weft_space){.graph = builder->graph,
                                  .exprs = builder->exprs,
                                  .arena = builder->arena,
                                  .fixed = builder->fixed,
                                  .equal = builder->fusion->space->equal};
}

/* Attempts to build a variant. */
typedef struct attempts {
    const weft_build_request *request;
    weft_fixed fixed; /* symbols that the request has values of */
    weft_fusion *fusion;
    weft_attempt_end end;
    const void *context;
} attempts;

static weft_status *builder_init(variant_builder *builder, const attempts *a, weft_variant *variant)
{
    const weft_compiled *compiled = a->fusion->compiled;
    *builder = (variant_builder){.request = a->request,
                                 .compiled = compiled,
                                 .graph = compiled->graph,
                                 .fusion = a->fusion,
                                 .fixed = a->fixed,
                                 .variant = variant};
    weft_arena_init(&builder->own_arena, a->request->allocator);
    builder->arena = &builder->own_arena;
    builder->root = builder;
    WEFT_TRY(weft_expr_context_create(a->request->allocator, &builder->exprs));
    init_space(builder);
    return NULL;
}

static weft_status *lower_part(variant_builder *builder, uint32_t node, weft_lower_part part, uint32_t target)
{
    planned_step *step = &builder->steps[builder->step_count++];
    *step =
        (planned_step){.kind = WEFT_STEP_KERNEL, .node = node, .target = target, .updates = part == WEFT_LOWER_UPDATE};
    WEFT_TRY(weft_lower_root(&builder->lowering, node, part, target, &step->lowered));
    if (step->lowered.kernel == NULL) return NULL; /* the fusion plan has changed */
    bool is_cpu = builder->request->machine->device == WEFT_DEVICE_CPU;
    weft_status *status = weft_kernel_stage_cse(step->lowered.kernel, is_cpu);
    return weft_node_error(weft_graph_node(builder->graph, node), builder->request->allocator, status);
}

static weft_status *plan_kernel(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    uint32_t target = builder->first_memory[n];
    weft_reduction reduction = {.chunk = 0};
    if (node->op->op_class == WEFT_CLASS_REDUCE) weft_reduction_fill(builder->graph, n, &reduction);
    if (weft_indexing_updates(weft_op_id_of(node->op))) {
        planned_step *base = &builder->steps[builder->step_count];
        WEFT_TRY(lower_part(builder, n, WEFT_LOWER_BASE, target));
        base->copies = builder->first_memory[node->inputs[0].node] != WEFT_MEMORY_NONE;
        if (base->copies) base->source = weft_builder_memory(builder, node->inputs[0]);
        return lower_part(builder, n, WEFT_LOWER_UPDATE, target);
    }
    if (node->op->op_class == WEFT_CLASS_SCAN && weft_scan_chunk(builder->fusion, node) != 0) {
        weft_dtype dtypes[WEFT_MAX_COMPONENTS];
        WEFT_TRY(lower_part(builder, n, WEFT_LOWER_TOTALS, target + 1));
        uint32_t width = weft_reduction_components(builder->graph, n, dtypes);
        WEFT_TRY(lower_part(builder, n, WEFT_LOWER_PREFIX, target + 1 + width));
    }
    if (reduction.chunk == 0) return lower_part(builder, n, WEFT_LOWER_WHOLE, target);
    WEFT_TRY(lower_part(builder, n, WEFT_LOWER_PARTIAL, target + 1));
    return lower_part(builder, n, WEFT_LOWER_FINAL, target);
}

/* Whether all results are known to be empty. */
static bool puts_nothing_out(variant_builder *builder, const weft_node *node)
{
    uint32_t i = 0;
    while (i < node->output_count && weft_space_is_empty(&builder->space, node->types[i].shape)) i++;
    return i == node->output_count;
}

/* Whether there are no indices to check: of a scatter of nothing, and of an op that updates nothing. */
static bool checks_nothing(variant_builder *builder, const weft_node *node)
{
    weft_op_id id = weft_op_id_of(node->op);
    if (id == WEFT_OP_scatter)
        return weft_space_is_empty(&builder->space, weft_value_type(builder->graph, node->inputs[1])->shape);
    return !weft_indexing_updates(id);
}

/* Whether the node needs no step. */
static bool is_idle(variant_builder *builder, uint32_t n)
{
    const weft_node *node = weft_graph_node(builder->graph, n);
    weft_role role = builder->fusion->roles[n];
    bool is_plain = role == WEFT_ROLE_GEMM || role == WEFT_ROLE_SORT || role == WEFT_ROLE_KERNEL;
    return is_plain && puts_nothing_out(builder, node) && checks_nothing(builder, node);
}

static weft_status *plan_node(variant_builder *builder, uint32_t n)
{
    weft_role role = builder->fusion->roles[n];
    if (is_idle(builder, n)) return NULL;
    if (role == WEFT_ROLE_KERNEL) return plan_kernel(builder, n);
    if (role == WEFT_ROLE_REGION) return weft_builder_plan_region(builder, n);
    if (role < WEFT_ROLE_GEMM) return NULL;
    static const weft_step_kind kinds[] = {
        [WEFT_ROLE_GEMM] = WEFT_STEP_GEMM, [WEFT_ROLE_SORT] = WEFT_STEP_SORT, [WEFT_ROLE_HOST] = WEFT_STEP_HOST};
    planned_step *step = &builder->steps[builder->step_count++];
    *step = (planned_step){.kind = kinds[role], .node = n, .target = builder->first_memory[n]};
    if (role == WEFT_ROLE_GEMM) return weft_builder_plan_gemm(builder, step);
    return role == WEFT_ROLE_SORT ? weft_builder_plan_sort(builder, step) : NULL;
}

weft_status *weft_builder_plan_copy(variant_builder *builder, uint32_t source, uint32_t target)
{
    weft_value value = builder->memories[source].value;
    if (weft_space_is_empty(&builder->space, weft_value_type(builder->graph, value)->shape)) return NULL;
    planned_step *step = &builder->steps[builder->step_count++];
    *step = (planned_step){
        .kind = WEFT_STEP_KERNEL, .node = value.node, .target = target, .copies = true, .source = source};
    return weft_lower_copy(&builder->lowering, source, target, &step->lowered);
}

/* The most steps there can be: three for a scan that is cut, one for each copy. */
static size_t step_bound(const variant_builder *builder)
{
    size_t bound = 3 * builder->graph->node_count + builder->compiled->output_count + 1;
    for (size_t n = 0; n < builder->graph->node_count; n++)
        if (builder->fusion->roles[n] == WEFT_ROLE_REGION) bound += builder->graph->nodes[n].input_count;
    return bound;
}

/* Finds operands that products cannot read as they are, before kernels are lowered, which takes longer. */
static weft_status *check_products(variant_builder *builder)
{
    for (uint32_t n = 0; n < builder->graph->node_count; n++) {
        planned_step unused = {.kind = WEFT_STEP_GEMM, .node = n, .target = builder->first_memory[n]};
        if (builder->fusion->roles[n] == WEFT_ROLE_GEMM && !is_idle(builder, n))
            WEFT_TRY(weft_builder_plan_gemm(builder, &unused));
    }
    return NULL;
}

/* Plans every step but its code. */
static weft_status *plan_steps(variant_builder *builder)
{
    size_t count = builder->graph->node_count;
    WEFT_TRY(check_products(builder));
    if (builder->fusion->changed) return NULL;
    builder->steps = weft_arena_allocate(builder->arena, step_bound(builder) * sizeof *builder->steps);
    uint32_t *order = weft_arena_allocate(builder->arena, (count + 1) * sizeof *order);
    builder->begun = weft_arena_allocate(builder->arena, (count + 1) * sizeof *builder->begun);
    if (builder->steps == NULL || order == NULL || builder->begun == NULL) return weft_status_out_of_memory();
    memset(builder->begun, 0, (count + 1) * sizeof *builder->begun);
    builder->lowering = (weft_lowering){.allocator = builder->request->allocator,
                                        .without_folders = builder->request->without_folders,
                                        .arena = &builder->variant->arena,
                                        .fusion = builder->fusion,
                                        .memories = builder->memories,
                                        .first_memory = builder->first_memory,
                                        .fixed = builder->fixed};
    WEFT_TRY(weft_update_order(builder->fusion, order));
    for (size_t i = 0; i < count; i++) WEFT_TRY(plan_node(builder, order[i]));
    for (uint32_t i = 0; i < builder->copy_count; i++)
        WEFT_TRY(weft_builder_plan_copy(builder, builder->copies[i].source, builder->copies[i].target));
    weft_builder_drop_copies(builder);
    weft_builder_defer_outputs(builder);
    return NULL;
}

weft_status *weft_builder_open(variant_builder *builder, uint32_t node, uint32_t region,
                               const region_interface *interface, variant_builder **out_inner)
{
    variant_builder *inner = weft_arena_allocate(builder->arena, sizeof *inner);
    if (inner == NULL) return weft_status_out_of_memory();
    weft_fusion *fusion = weft_fusion_of_region(builder->fusion, node, region);
    *inner = (variant_builder){.root = builder->root,
                               .interface = interface,
                               .request = builder->request,
                               .compiled = fusion->compiled,
                               .graph = fusion->compiled->graph,
                               .fusion = fusion,
                               .variant = builder->variant,
                               .arena = builder->arena,
                               .exprs = builder->exprs,
                               .fixed = builder->fixed,
                               .trips = WEFT_EXPR_NONE};
    init_space(inner);
    *out_inner = inner;
    WEFT_TRY(weft_builder_place(inner));
    return plan_steps(inner);
}

/* Steps planned, with those of regions. */
static size_t step_count(const variant_builder *builder)
{
    size_t count = builder->step_count;
    for (uint32_t i = 0; i < builder->step_count; i++)
        for (size_t part = 0; part < 2; part++)
            if (builder->steps[i].parts[part] != NULL) count += step_count(builder->steps[i].parts[part]);
    return count;
}

static weft_status *fill_steps(variant_builder *builder, weft_step **next);

/* The steps of its parts follow it. */
static weft_status *fill_region(const planned_step *planned, weft_step *out_step, weft_step **next)
{
    out_step->region = planned->region;
    out_step->buffers = planned->buffers;
    out_step->buffer_count = planned->buffer_count;
    for (size_t part = 0; part < 2 && planned->parts[part] != NULL; part++) {
        out_step->region.parts[part] = (uint32_t)step_count(planned->parts[part]);
        WEFT_TRY(fill_steps(planned->parts[part], next));
    }
    return NULL;
}

static weft_status *fill_step(variant_builder *builder, const planned_step *planned, weft_step **next)
{
    weft_step *step = (*next)++;
    bool is_product = planned->kind == WEFT_STEP_GEMM;
    uint32_t number = is_product ? weft_fusion_dot(builder->fusion, planned->node) : planned->node;
    const weft_node *node = weft_graph_node(builder->graph, number);
    const char *name = node->name != NULL ? node->name : node->op->name;
    step->kind = planned->kind;
    step->name = weft_arena_string(&builder->variant->arena, name, strlen(name));
    if (step->name == NULL) return weft_status_out_of_memory();
    switch (planned->kind) {
    case WEFT_STEP_GEMM: return weft_builder_fill_gemm(builder, planned, step);
    case WEFT_STEP_SORT: return weft_builder_fill_sort(builder, planned, step);
    case WEFT_STEP_HOST:
        return weft_builder_fill_host(builder, planned, step,
                                      &builder->variant->resolved[step - builder->variant->steps]);
    case WEFT_STEP_REGION: step->written = node->output_count; return fill_region(planned, step, next);
    default:
        builder->root->kernels[step - builder->variant->steps] = planned->lowered.kernel;
        step->copies = planned->copies;
        return weft_builder_fill_kernel(builder, planned, step);
    }
}

static weft_status *fill_steps(variant_builder *builder, weft_step **next)
{
    for (uint32_t i = 0; i < builder->step_count; i++) WEFT_TRY(fill_step(builder, &builder->steps[i], next));
    return NULL;
}

static weft_status *attempt(const attempts *a, weft_variant *variant)
{
    variant_builder builder;
    weft_status *status = builder_init(&builder, a, variant);
    if (status == NULL)
        status = weft_formulas_copy(a->request->allocator, &a->request->program->formulas, &variant->formulas);
    if (status == NULL) status = weft_fusion_fill(a->fusion);
    if (status == NULL) status = weft_builder_place(&builder);
    if (status == NULL) status = plan_steps(&builder);
    if (status == NULL)
        status = weft_fusion_has_changed(a->fusion) ? weft_expr_context_take_out_of_memory(builder.exprs)
                                                    : a->end(&builder, a->context);
    builder_finish(&builder);
    return status;
}

static weft_status *attempt_until_through(const attempts *a, weft_variant **out_variant)
{
    const weft_build_request *request = a->request;
    do {
        weft_variant *variant;
        WEFT_TRY(weft_variant_create(request->allocator, &variant));
        variant->driver = request->runtime != NULL ? request->runtime->driver : NULL;
        weft_status *status = attempt(a, variant);
        if (status != NULL || weft_fusion_has_changed(a->fusion)) {
            weft_variant_destroy(variant);
            if (status != NULL) return status;
        } else {
            *out_variant = variant;
        }
    } while (weft_fusion_has_changed(a->fusion));
    return NULL;
}

/*
 * With values for the symbols more axes can be merged, and products and repeated values have their own sizes, by which
 * passes and the fusion plan decide: bits do not depend on it, since the order of sums is that of the graph's extents
 * (numerics.h). What callers know of a program are the inputs that outputs may share memory with: these must be the
 * same in all variants, so a variant of which others would come decides as the one for all sizes does.
 */
typedef struct basis {
    const weft_compiled *compiled;
    weft_fixed fixed;
} basis;

static basis basis_for_all(const weft_build_request *request)
{
    return (basis){.compiled = request->program->graph};
}

/* Whether the library multiplies bytes: from AVX2 on. */
static bool multiplies_bytes(const weft_build_request *request)
{
    enum { LEAST_VECTOR = 32 };
    const weft_machine *machine = request->machine;
    if (request->runtime == NULL) return machine->device == WEFT_DEVICE_CPU && machine->vector_bytes >= LEAST_VECTOR;
    return !weft_device_is_apart(request->runtime) && weft_pack_find_engine(request, WEFT_U8) != NULL;
}

static weft_status *fusion_init(const weft_build_request *request, basis by, weft_fusion *fusion)
{
    size_t threads = request->pool != NULL ? weft_pool_width(request->pool) : request->machine->threads;
    if (request->is_limited) threads = 1; /* what is cut takes memory */
    const weft_space space = {.vector_bytes = request->machine->vector_bytes,
                              .multiplies_bytes = multiplies_bytes(request),
                              .is_limited = request->is_limited,
                              .threads = (int64_t)threads,
                              .fixed = by.fixed};
    return weft_fusion_init(fusion, request->allocator, by.compiled, request->program->policy.products, space);
}

static weft_status *fill_aliases(variant_builder *builder, const void *context)
{
    (void)context;
    return weft_builder_fill_aliases(builder);
}

/* Has `fusion` go as far as attempts take it with `fixed`; the variant has aliases and nothing else. */
static weft_status *settle(const weft_build_request *request, weft_fixed fixed, weft_fusion *fusion,
                           weft_variant **out_variant)
{
    const attempts a = {.request = request, .fixed = fixed, .fusion = fusion, .end = fill_aliases};
    return attempt_until_through(&a, out_variant);
}

/* A variant that decides by `by`, with aliases and nothing else. */
static weft_status *find_aliases(const weft_build_request *request, basis by, weft_variant **out_variant)
{
    weft_fusion fusion;
    WEFT_TRY(fusion_init(request, by, &fusion));
    weft_status *status = settle(request, by.fixed, &fusion, out_variant);
    weft_fusion_finish(&fusion);
    return status;
}

/* Whether a variant that decides by `by` has the aliases of the one for all sizes. */
static weft_status *keeps_aliases(const weft_build_request *request, basis by, bool *out_keeps)
{
    weft_variant *own = NULL, *general = NULL;
    *out_keeps = true;
    if (by.fixed.count == 0) return NULL;
    weft_status *status = find_aliases(request, by, &own);
    if (status == NULL) status = find_aliases(request, basis_for_all(request), &general);
    if (status == NULL)
        *out_keeps = memcmp(own->output_alias, general->output_alias,
                            request->program->input_count * sizeof *own->output_alias) == 0;
    weft_variant_destroy(own);
    weft_variant_destroy(general);
    return status;
}

/* As `settle`, for all sizes. */
static weft_status *settle_for_all(const weft_build_request *request, weft_fusion *fusion)
{
    weft_variant *variant = NULL;
    WEFT_TRY(settle(request, (weft_fixed){.count = 0}, fusion, &variant));
    weft_variant_destroy(variant);
    return NULL;
}

static weft_status *run_attempts(const weft_build_request *request, basis by, weft_attempt_end end, const void *context,
                                 weft_variant **out_variant)
{
    weft_fusion fusion;
    bool keeps;
    WEFT_TRY(keeps_aliases(request, by, &keeps));
    WEFT_TRY(fusion_init(request, keeps ? by : basis_for_all(request), &fusion));
    const attempts a = {.request = request, .fixed = by.fixed, .fusion = &fusion, .end = end, .context = context};
    weft_status *status = keeps ? NULL : settle_for_all(request, &fusion);
    if (status == NULL) status = attempt_until_through(&a, out_variant);
    weft_fusion_finish(&fusion);
    return status;
}

static void destroy_graph(void *graph)
{
    weft_graph_destroy(graph);
}

/* The variant has constants and attributes of the graph. */
static void hand_over_graph(weft_graph *graph, weft_variant *variant)
{
    variant->self = graph;
    variant->self_bytes = sizeof *graph + graph->arena.used + graph->node_capacity * sizeof *graph->nodes;
    variant->destroy_self = destroy_graph;
}

static weft_status *run_for(const weft_build_request *request, weft_fixed fixed, weft_attempt_end end,
                            const void *context, weft_variant **out_variant)
{
    weft_compiled own = {.graph = NULL};
    weft_status *status = request->specialized_count == 0
                              ? NULL
                              : weft_compiled_for(request->allocator, request->program, request->specialized, &own);
    const basis by = {.compiled = own.graph != NULL ? &own : request->program->graph, .fixed = fixed};
    if (status == NULL) status = run_attempts(request, by, end, context, out_variant);
    if (status == NULL && own.graph != NULL) hand_over_graph(own.graph, *out_variant);
    else weft_graph_destroy(own.graph);
    return status;
}

weft_status *weft_builder_run(const weft_build_request *request, weft_attempt_end end, const void *context,
                              weft_variant **out_variant)
{
    weft_arena arena;
    weft_fixed fixed;
    weft_arena_init(&arena, request->allocator);
    weft_status *status = weft_builder_fixed(request, &arena, &fixed);
    if (status == NULL) status = run_for(request, fixed, end, context, out_variant);
    weft_arena_finish(&arena);
    return status;
}

/* All but the code. */
static weft_status *fill_variant(variant_builder *builder)
{
    weft_variant *variant = builder->variant;
    WEFT_TRY(weft_variant_make_steps(variant, step_count(builder)));
    variant->step_count = step_count(builder);
    weft_step *next = variant->steps;
    size_t size = (variant->step_count + 1) * sizeof *builder->kernels;
    builder->kernels = weft_arena_allocate(builder->arena, size);
    if (builder->kernels == NULL) return weft_status_out_of_memory();
    memset(builder->kernels, 0, size);
    WEFT_TRY(weft_builder_fill_aliases(builder));
    WEFT_TRY(fill_steps(builder, &next));
    WEFT_TRY(weft_builder_pack_constants(builder));
    WEFT_TRY(weft_builder_pack_in_loops(builder));
    return weft_builder_find_chains(builder, builder->kernels);
}

static weft_status *generate(variant_builder *builder, const void *context)
{
    WEFT_TRY(fill_variant(builder));
    return weft_builder_make_code(builder, context);
}

weft_status *weft_variant_build(const weft_build_request *request, const weft_code_generator *generator,
                                weft_variant **out_variant)
{
    return weft_builder_run(request, generate, generator, out_variant);
}

typedef struct variant_visit {
    weft_variant_visitor visit;
    void *context;
} variant_visit;

static weft_status *hand_over(variant_builder *builder, const void *context)
{
    const variant_visit *visit = context;
    WEFT_TRY(fill_variant(builder));
    return visit->visit(visit->context, builder->variant, builder->kernels);
}

weft_status *weft_variant_visit(const weft_build_request *request, weft_variant_visitor visit, void *context)
{
    weft_variant *variant = NULL;
    weft_status *status = weft_builder_run(request, hand_over, &(variant_visit){visit, context}, &variant);
    weft_variant_destroy(variant);
    return status;
}
