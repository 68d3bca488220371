/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose inputs or outputs are given by name: the same run with them in the program's order. */
#include "runtime/run/named.h"
#include <string.h>
#include "runtime/run/executor.h"
#include "runtime/base/memory.h"
#include "runtime/program/program.h"

enum { LONGEST_LIST = 400 };

/* One direction of a program, and what the run gives for it by name. */
typedef struct side {
    const weft_allocator *allocator;
    const char *kind; /* "input" */
    size_t count;
    const weft_program_value *values;
    const weft_program *program;
    size_t (*find)(const weft_program *program, const char *name); /* the number of a value; SIZE_MAX: none */
    weft_named_arrays named;
    size_t *places; /* of each value in the list of names; SIZE_MAX: not there */
} side;

/* ---- errors ---- */

/* "...; the program has inputs x, w". Takes `text`. */
static weft_status *fail(const side *s, weft_bytes *text)
{
    weft_bytes_print(text, "; the program has %ss ", s->kind);
    size_t begin = text->size;
    for (size_t i = 0; i < s->count; i++) {
        bool cut = text->size - begin > LONGEST_LIST;
        weft_bytes_print(text, "%s%s", i == 0 ? "" : ", ", cut ? "..." : s->values[i].name);
        if (cut) break;
    }
    if (s->count == 0) weft_bytes_print(text, "none");
    weft_status *status = weft_bytes_status(text);
    if (status == NULL)
        status = weft_status_create(s->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run", "%s", text->data);
    weft_bytes_finish(text);
    return status;
}

static weft_status *wrong_name(const side *s, const char *name, const char *what)
{
    weft_bytes text;
    weft_bytes_init(&text, s->allocator);
    if (name == NULL) weft_bytes_print(&text, "the name of an %s is NULL", s->kind);
    else weft_bytes_print(&text, "%s \"%s\" %s", s->kind, name, what);
    return fail(s, &text);
}

/* The list itself. */
static weft_status *check_list(const side *s, size_t in_order)
{
    if (in_order > 0)
        return weft_status_create(s->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run",
                                  "%ss are given both by name and in order", s->kind);
    if (s->named.items == NULL)
        return weft_status_create(s->allocator, WEFT_INVALID_ARGUMENT, "weft_executor_run",
                                  "the list of %zu named %ss is NULL", s->named.count, s->kind);
    return NULL;
}

/* ---- names ---- */

static weft_status *place_names(side *s, bool all)
{
    for (size_t i = 0; i < s->count; i++) s->places[i] = SIZE_MAX;
    for (size_t i = 0, next = 0; i < s->named.count; i++, next++) {
        const char *name = s->named.items[i].name;
        /* Names often come in the program's order. */
        bool in_order = name != NULL && next < s->count && strcmp(s->values[next].name, name) == 0;
        size_t found = in_order ? next : s->find(s->program, name);
        if (found == SIZE_MAX) return wrong_name(s, name, "does not exist");
        if (s->places[found] != SIZE_MAX) return wrong_name(s, name, "is given twice");
        s->places[found] = i;
        next = found;
    }
    for (size_t i = 0; all && i < s->count; i++)
        if (s->places[i] == SIZE_MAX) return wrong_name(s, s->values[i].name, "is not given");
    return NULL;
}

/* ---- the run ---- */

typedef struct named_run {
    weft_run plain;
    const weft_run *given;
    side inputs, outputs;
    weft_arena arena;
} named_run;

static weft_status *fill_inputs(named_run *n)
{
    side *s = &n->inputs;
    const bool *donated = n->given->donated;
    if (s->named.count == 0) return NULL;
    WEFT_TRY(check_list(s, n->given->input_count));
    s->places = weft_arena_allocate(&n->arena, s->count * sizeof *s->places);
    weft_array **arrays = weft_arena_allocate(&n->arena, s->count * sizeof *arrays);
    bool *flags = weft_arena_allocate(&n->arena, s->count);
    if (s->places == NULL || arrays == NULL || flags == NULL) return weft_status_out_of_memory();
    WEFT_TRY(place_names(s, true));
    for (size_t i = 0; i < s->count; i++) {
        arrays[i] = s->named.items[s->places[i]].array;
        flags[i] = donated != NULL && donated[s->places[i]];
    }
    n->plain.input_count = s->count;
    n->plain.inputs = arrays;
    if (donated != NULL) n->plain.donated = flags;
    return NULL;
}

static weft_status *fill_outputs(named_run *n)
{
    side *s = &n->outputs;
    if (s->named.count == 0) return NULL;
    WEFT_TRY(check_list(s, n->given->output_count));
    s->places = weft_arena_allocate(&n->arena, s->count * sizeof *s->places);
    weft_array **arrays = weft_arena_allocate(&n->arena, s->count * sizeof *arrays);
    if (s->places == NULL || arrays == NULL) return weft_status_out_of_memory();
    WEFT_TRY(place_names(s, false));
    for (size_t i = 0; i < s->count; i++)
        arrays[i] = s->places[i] == SIZE_MAX ? NULL : s->named.items[s->places[i]].array;
    n->plain.output_count = s->count;
    n->plain.outputs = arrays;
    return NULL;
}

/* Hands over the outputs that were named and releases the others. */
static void take_outputs(named_run *n)
{
    side *s = &n->outputs;
    for (size_t i = 0; s->named.count > 0 && i < s->count; i++) {
        if (s->places[i] == SIZE_MAX) weft_array_release(n->plain.outputs[i]);
        else s->named.items[s->places[i]].array = n->plain.outputs[i];
    }
}

static weft_status *run_plain(named_run *n, weft_executor *executor, weft_program *program)
{
    WEFT_TRY(fill_inputs(n));
    WEFT_TRY(fill_outputs(n));
    WEFT_TRY(weft_executor_run(executor, program, &n->plain));
    take_outputs(n);
    return NULL;
}

weft_status *weft_run_named(weft_executor *executor, weft_program *program, const weft_run *run)
{
    named_run n = {.plain = *run, .given = run};
    n.inputs = (side){.allocator = &executor->allocator,
                      .kind = "input",
                      .count = program->input_count,
                      .values = program->inputs,
                      .program = program,
                      .find = weft_program_find_input,
                      .named = run->named_inputs};
    n.outputs = (side){.allocator = &executor->allocator,
                       .kind = "output",
                       .count = program->output_count,
                       .values = program->outputs,
                       .program = program,
                       .find = weft_program_find_output,
                       .named = run->named_outputs};
    n.plain.named_inputs = n.plain.named_outputs = (weft_named_arrays){0, NULL};
    weft_arena_init(&n.arena, &executor->allocator);
    weft_status *status = run_plain(&n, executor, program);
    weft_arena_finish(&n.arena);
    return status;
}
