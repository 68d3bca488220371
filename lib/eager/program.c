/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of records, by their structure. */
#include <stdio.h>
#include "lib/eager/record.h"
#include "runtime/base/status.h"

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

weft_tensor weft_eager_leaf(weft_graph *graph, const weft_eager_type *type, size_t number)
{
    char name[32];
    weft_extent extents[WEFT_MAX_RANK];
    name_leaf(name, number);
    for (size_t i = 0; i < type->rank; i++) extents[i] = weft_extent_of(type->extents[i]);
    return weft_input(graph, name, type->dtype, (weft_shape){type->rank, extents});
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

static weft_status *trace_and_compile(weft_eager *eager, weft_eager_program *program, weft_graph *graph,
                                      weft_tensor *leaves, weft_tensor *wanted)
{
    const weft_eager_record *record = &eager->record;
    weft_eager_array **arrays = record->leaves.items;
    const uint64_t *words = record->words.items;
    weft_eager_replay replay = {.node_count = record->nodes.count,
                                .words = words,
                                .leaves = leaves,
                                .wanted_count = record->wanted.count,
                                .wanted = words + record->words.count - 1 - record->wanted.count};
    for (size_t i = 0; i < record->leaves.count; i++) leaves[i] = weft_eager_leaf(graph, arrays[i]->type, i);
    WEFT_TRY(weft_eager_replay_run(eager->allocator, &replay, graph, wanted));
    WEFT_TRY(weft_compile(graph, (weft_tensors){replay.wanted_count, wanted}, eager->policy, &program->program));
    eager->counters.programs++;
    return find_leaves(eager, program);
}

static weft_status *compile(weft_eager *eager, weft_eager_program *program)
{
    weft_graph *graph;
    size_t leaf_count = eager->record.leaves.count;
    size_t size = (leaf_count + eager->record.wanted.count) * sizeof(weft_tensor);
    WEFT_TRY(keep_entries(eager, program));
    weft_tensor *tensors = weft_allocate(eager->allocator, size);
    if (tensors == NULL) return weft_status_out_of_memory();
    weft_status *status = weft_graph_create(&(weft_graph_options){.allocator = eager->allocator}, &graph);
    if (status == NULL) {
        status = trace_and_compile(eager, program, graph, tensors, tensors + leaf_count);
        weft_graph_destroy(graph);
    }
    weft_free(eager->allocator, tensors, size);
    return status;
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
    weft_status *status = compile(eager, program);
    if (status == NULL && !weft_eager_kept_add(&eager->programs, words->items, size, &program->kept))
        status = weft_status_out_of_memory();
    if (status == NULL) *out_program = program;
    else program_destroy(eager, program);
    return status;
}
