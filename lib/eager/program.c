/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of records, by their structure. */
#include <stdio.h>
#include <string.h>
#include "lib/eager/general.h"
#include "runtime/program/program.h"

/* ---- its life ---- */

static void program_destroy(weft_eager *eager, weft_eager_program *program)
{
    for (size_t i = 0; program->entries != NULL && i < program->entry_count; i++)
        weft_eager_entry_release(eager, program->entries[i]);
    weft_free(eager->allocator, program->entries, program->entry_count * sizeof *program->entries);
    weft_free(eager->allocator, program->leaves, program->input_count * sizeof *program->leaves);
    weft_program_release(program->program);
    weft_free(eager->allocator, program, sizeof *program);
}

void weft_eager_program_drop(void *context, weft_eager_kept_item *item)
{
    program_destroy(context, (weft_eager_program *)item);
}

/* ---- made ---- */

static void name_leaf(char name[32], size_t number)
{
    snprintf(name, 32, "operand%zu", number);
}

static weft_status *keep_entries(weft_eager *eager, weft_eager_program *program)
{
    weft_eager_node **nodes = eager->record.nodes.items;
    program->entry_count = eager->record.nodes.count;
    program->entries = weft_allocate(eager->allocator, program->entry_count * sizeof *program->entries);
    if (program->entries == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < program->entry_count; i++) {
        program->entries[i] = nodes[i]->entry;
        program->entries[i]->references++;
    }
    return NULL;
}

/* Which leaf each input of the program is: those that do not matter are no inputs. */
static weft_status *find_leaves(weft_eager *eager, weft_eager_program *program)
{
    char name[32];
    size_t count = weft_program_input_count(program->program), found = 0;
    program->leaves = weft_allocate(eager->allocator, count * sizeof *program->leaves);
    program->input_count = count;
    if (program->leaves == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < eager->record.leaves.count; i++) {
        name_leaf(name, i);
        size_t input = weft_program_find_input(program->program, name);
        if (input == SIZE_MAX) continue;
        program->leaves[input] = i;
        found++;
    }
    if (found == count) return NULL;
    return weft_status_create(eager->allocator, WEFT_INVALID_ARGUMENT, "weft_eager",
                              "a function that was called made an input, which has no value");
}

/* The leaves as inputs; `general`, if it is not NULL, says which of their extents are symbols. */
static void make_leaves(const weft_eager *eager, const weft_eager_general *general, weft_graph *graph,
                        weft_tensor *out_leaves)
{
    weft_eager_array **arrays = eager->record.leaves.items;
    weft_extent extents[WEFT_MAX_RANK];
    char name[32];
    for (size_t i = 0; i < eager->record.leaves.count; i++) {
        const weft_eager_type *type = arrays[i]->type;
        for (size_t k = 0; k < type->rank; k++) {
            extents[k] = general == NULL ? weft_extent_of(type->extents[k])
                                         : weft_eager_general_extent(eager, general, graph, type->extents[k]);
        }
        name_leaf(name, i);
        out_leaves[i] = weft_input(graph, name, type->dtype, (weft_shape){type->rank, extents});
    }
}

static weft_status *trace_and_compile(weft_eager *eager, weft_eager_program *program, const weft_eager_general *general,
                                      weft_graph *graph, weft_tensor *leaves)
{
    const weft_eager_record *record = &eager->record;
    const uint64_t *words = record->words.items;
    weft_tensor *wanted = leaves + record->leaves.count;
    weft_eager_replay replay = {.node_count = record->nodes.count,
                                .words = words,
                                .leaves = leaves,
                                .wanted_count = record->wanted.count,
                                .wanted = words + record->words.count - 1 - record->wanted.count,
                                .names_calls = true};
    make_leaves(eager, general, graph, leaves);
    WEFT_TRY(weft_eager_replay_run(eager->allocator, &replay, graph, wanted));
    WEFT_TRY(weft_compile(graph, (weft_tensors){replay.wanted_count, wanted}, eager->policy, &program->program));
    eager->counters.programs++;
    return find_leaves(eager, program);
}

static weft_status *compile(weft_eager *eager, weft_eager_program *program, const weft_eager_general *general)
{
    weft_graph *graph;
    size_t size = (eager->record.leaves.count + eager->record.wanted.count) * sizeof(weft_tensor);
    weft_tensor *tensors = weft_allocate(eager->allocator, size);
    if (tensors == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_create(&(weft_graph_options){.allocator = eager->allocator}, &graph);
    if (status == NULL) {
        status = trace_and_compile(eager, program, general, graph, tensors);
        weft_graph_destroy(graph);
    }
    weft_free(eager->allocator, tensors, size);
    return status;
}

/* ---- for any extents ---- */

static weft_status *share(weft_eager *eager, const weft_eager_general *general, weft_eager_program *program)
{
    size_t size = general->input_count * sizeof *program->leaves;
    program->leaves = weft_allocate(eager->allocator, size);
    program->input_count = general->input_count;
    if (program->leaves == NULL) return weft_status_out_of_memory();
    if (size > 0) memcpy(program->leaves, general->leaves, size);
    program->program = weft_program_retain(general->program);
    return NULL;
}

/* Each run has to say what its symbols are, by the shapes of its inputs, and do without extensions: a node that was not
 * lowered, as its extents are not known, may be one that the executor does not have. */
static bool is_complete(const weft_program *program)
{
    if (program->family_count > 0) return false;
    for (size_t i = 0; i < weft_program_symbol_count(program); i++) {
        if (weft_program_symbol_at(program, i)->input == SIZE_MAX) return false;
    }
    return true;
}

static void forget(weft_eager *eager, weft_eager_program *program)
{
    weft_program_release(program->program);
    weft_free(eager->allocator, program->leaves, program->input_count * sizeof *program->leaves);
    program->program = NULL;
    program->leaves = NULL;
    program->input_count = 0;
}

/* Some functions want numbers, and some programs do not depend on an input that has the symbol: then it is not to be,
 * which is no error. */
static weft_status *compile_general(weft_eager *eager, weft_eager_general *general, weft_eager_program *program)
{
    weft_status *status = compile(eager, program, general);
    if (weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    general->refused = status != NULL || !is_complete(program->program);
    weft_status_destroy(status);
    if (!general->refused)
        return weft_eager_general_keep(eager, general, program->program, program->input_count, program->leaves);
    forget(eager, program);
    return NULL;
}

static weft_status *fill(weft_eager *eager, weft_eager_program *program)
{
    weft_eager_general *general;
    WEFT_TRY(keep_entries(eager, program));
    if (eager->fixed_extents) return compile(eager, program, NULL);
    WEFT_TRY(weft_eager_general_acquire(eager, &general));
    if (weft_eager_general_is_due(general)) {
        if (general->program != NULL) return share(eager, general, program);
        WEFT_TRY(compile_general(eager, general, program));
        if (program->program != NULL) return NULL;
    }
    return compile(eager, program, NULL);
}

weft_status *weft_eager_program_acquire(weft_eager *eager, weft_eager_program **out_program)
{
    const weft_eager_list *words = &eager->record.words;
    size_t size = words->count * sizeof(uint64_t);
    weft_eager_kept_item *found = weft_eager_kept_find(&eager->programs, words->items, size);
    if (found != NULL) {
        *out_program = (weft_eager_program *)found;
        return NULL;
    }
    weft_eager_program *program = weft_allocate_zeroed(eager->allocator, sizeof *program);
    if (program == NULL) return weft_status_out_of_memory();
    weft_status *status = fill(eager, program);
    if (status == NULL && !weft_eager_kept_add(&eager->programs, words->items, size, &program->kept))
        status = weft_status_out_of_memory();
    if (status == NULL) *out_program = program;
    else program_destroy(eager, program);
    return status;
}
