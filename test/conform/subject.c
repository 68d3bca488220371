/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/subject.h"
#include <stdio.h>
#include <string.h>
#include <weft/einsum.h>
#include "runtime/program/program.h"
#include "test/conform/kernels.h"

weft_status *weft_test_parse(const char *name, const char *text, weft_module **out_module)
{
    const weft_extension *extensions[] = {weft_einsum_extension(), weft_test_outside(), weft_test_inside()};
    size_t count = extensions[2] == NULL ? 2 : 3;
    return weft_graph_parse(name, text, strlen(text), NULL, count, extensions, out_module);
}

weft_status *weft_test_register(weft_executor *executor)
{
    WEFT_TRY(weft_executor_register_extension(executor, weft_test_outside()));
    const weft_extension *inside = weft_test_inside();
    return inside == NULL ? NULL : weft_executor_register_extension(executor, inside);
}

/* Destroys `status` and says what it said; true for success. */
static bool fine(weft_status *status, const char *doing, char *out_problem, size_t size)
{
    if (status == NULL) return true;
    snprintf(out_problem, size, "%s: %s: %s", doing, weft_code_name(weft_status_code(status)),
             weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

static bool compile(weft_module *module, const char *passes, weft_program **out_program, char *out_problem, size_t size)
{
    const weft_policy policy = {.size = sizeof policy, .passes = passes};
    return fine(weft_compile_named(module->graph, module->outputs, module->output_names, &policy, out_program),
                "compiling", out_problem, size);
}

static bool same_text(const char *what, const char *first, const char *second, char *out_problem, size_t size)
{
    if (strcmp(first, second) == 0) return true;
    snprintf(out_problem, size, "%s: printed\n%sand again\n%s", what, first, second);
    return false;
}

/* Whether `text`, printed from `module`, reads back as the same graph and compiles to the same `program`. */
static bool check_again(const char *text, const weft_program *program, char *out_problem, size_t size)
{
    weft_module *module = NULL;
    weft_program *again = NULL;
    char *printed = NULL;
    bool good = fine(weft_test_parse("printed", text, &module), "parsing what was printed", out_problem, size) &&
                fine(weft_graph_print(module->outputs, &printed), "printing again", out_problem, size) &&
                same_text("the text", text, printed, out_problem, size) &&
                compile(module, NULL, &again, out_problem, size) &&
                same_text("the program", weft_program_text(program), weft_program_text(again), out_problem, size);
    weft_text_destroy(printed);
    weft_program_release(again);
    weft_module_destroy(module);
    return good;
}

static bool check_text(const weft_test_subject *subject, char *out_problem, size_t size)
{
    char *text = NULL;
    bool good = fine(weft_graph_print(subject->module->outputs, &text), "printing", out_problem, size) &&
                check_again(text, subject->program, out_problem, size);
    weft_text_destroy(text);
    return good;
}

bool weft_test_subject_create(const char *name, const char *text, weft_test_subject *out_subject, char *out_problem,
                              size_t size)
{
    weft_test_subject subject = {.module = NULL};
    bool good = fine(weft_test_parse(name, text, &subject.module), "parsing", out_problem, size) &&
                compile(subject.module, NULL, &subject.program, out_problem, size) &&
                compile(subject.module, "", &subject.plain, out_problem, size) &&
                check_text(&subject, out_problem, size);
    if (good) *out_subject = subject;
    else weft_test_subject_destroy(&subject);
    return good;
}

void weft_test_subject_destroy(weft_test_subject *subject)
{
    weft_program_release(subject->program);
    weft_program_release(subject->plain);
    weft_module_destroy(subject->module);
    *subject = (weft_test_subject){.module = NULL};
}

/* ---- shapes ---- */

static const int64_t *find_value(const weft_test_binding *binding, const char *name)
{
    for (size_t i = 0; i < binding->count; i++)
        if (strcmp(binding->items[i].name, name) == 0) return &binding->items[i].value;
    return NULL;
}

static bool evaluate(const weft_program *program, const weft_test_binding *binding, const weft_program_value *value,
                     int64_t *out_shape)
{
    int64_t symbols[WEFT_TEST_SYMBOLS] = {0}, slots[4096];
    const weft_formulas *formulas = &program->formulas;
    if (formulas->symbol_count > WEFT_TEST_SYMBOLS || formulas->count > sizeof slots / sizeof *slots) return false;
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        const int64_t *bound = find_value(binding, formulas->symbols[i].name);
        if (bound == NULL) return false;
        symbols[i] = *bound;
    }
    weft_formulas_evaluate(formulas, symbols, slots);
    weft_status *status = weft_formulas_check(formulas, "here", slots, value->extents, value->rank);
    bool good = status == NULL;
    weft_status_destroy(status);
    for (size_t i = 0; i < value->rank && good; i++) out_shape[i] = slots[value->extents[i]];
    return good;
}

bool weft_test_output_shape(const weft_program *program, size_t output, const weft_test_binding *binding,
                            int64_t *out_shape)
{
    return evaluate(program, binding, &program->outputs[output], out_shape);
}

/* ---- inputs ---- */

bool weft_test_inputs_create(const weft_test_subject *subject, const weft_test_binding *binding, unsigned rotation,
                             bool at_end, weft_test_inputs *out_inputs, char *out_problem, size_t size)
{
    weft_test_inputs inputs = {.count = 0};
    const weft_program *program = subject->plain;
    bool good = program->input_count <= WEFT_TEST_INPUTS;
    for (size_t i = 0; i < program->input_count && good; i++) {
        const weft_program_value *value = &program->inputs[i];
        int64_t shape[WEFT_MAX_RANK];
        unsigned layout = rotation == 0 || value->rank == 0 ? 0 : (rotation + (unsigned)i) % WEFT_TEST_LAYOUT_COUNT;
        inputs.names[i] = value->name;
        good = evaluate(program, binding, value, shape) &&
               weft_test_place_create(value->dtype, value->rank, shape, (weft_test_layout)layout, at_end,
                                      &inputs.places[i]);
        inputs.count += good;
    }
    if (good) *out_inputs = inputs;
    else weft_test_inputs_destroy(&inputs);
    if (!good) snprintf(out_problem, size, "the inputs cannot be made");
    return good;
}

void weft_test_inputs_destroy(weft_test_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) weft_test_place_destroy(&inputs->places[i]);
    inputs->count = 0;
}

/* ---- running ---- */

/* Copies of arrays on a device, the same array once. */
typedef struct uploads {
    weft_test_device *device;
    size_t count;
    weft_array *originals[WEFT_TEST_INPUTS + WEFT_TEST_OUTPUTS], *copies[WEFT_TEST_INPUTS + WEFT_TEST_OUTPUTS];
} uploads;

/* NULL where nothing is there to be copied, or no memory for it. */
static weft_array *upload(uploads *all, weft_array *array)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->originals[i] == array) return all->copies[i];
    if (array == NULL) return NULL;
    all->originals[all->count] = array;
    all->copies[all->count] = weft_test_device_upload(all->device, array);
    return all->copies[all->count++];
}

/* An array in memory of the host in place of a new one on the device. */
static weft_status *fetch(weft_array **array)
{
    weft_array *fetched = NULL, *made = *array;
    weft_status *status =
        weft_array_create(NULL, weft_array_dtype(made), weft_array_rank(made), weft_array_shape(made), &fetched);
    if (status == NULL) status = weft_array_copy(fetched, made);
    weft_array_release(made);
    *array = fetched;
    return status;
}

static weft_status *run_on_device(weft_test_device *device, weft_executor *executor, weft_program *program,
                                  const weft_run *given)
{
    uploads all = {.device = device};
    weft_array *inputs[WEFT_TEST_INPUTS], *outputs[WEFT_TEST_OUTPUTS];
    weft_run run = *given;
    run.inputs = inputs;
    run.outputs = outputs;
    for (size_t i = 0; i < run.input_count; i++) inputs[i] = upload(&all, given->inputs[i]);
    for (size_t i = 0; i < run.output_count; i++) outputs[i] = upload(&all, given->outputs[i]);
    weft_status *status = weft_executor_run(executor, program, &run);
    for (size_t i = 0; i < run.output_count; i++) {
        if (given->outputs[i] != NULL || outputs[i] == NULL) continue;
        given->outputs[i] = outputs[i];
        if (status == NULL) status = fetch(&given->outputs[i]);
    }
    for (size_t i = 0; i < all.count; i++) {
        if (status == NULL && !weft_test_device_download(device, all.copies[i], all.originals[i]))
            status = weft_status_create(NULL, WEFT_INTERNAL, "test", "an array has another size on the device");
        weft_array_release(all.copies[i]);
    }
    return status;
}

weft_status *weft_test_run_program(const weft_test_run *run, size_t output_count, weft_array **outputs)
{
    weft_program *program = (weft_program *)run->program;
    weft_array *arrays[WEFT_TEST_INPUTS] = {NULL};
    bool donated[WEFT_TEST_INPUTS] = {false};
    weft_test_binding known = {.count = 0};
    for (size_t i = 0; i < program->input_count; i++)
        for (size_t j = 0; j < run->inputs->count; j++)
            if (strcmp(program->inputs[i].name, run->inputs->names[j]) == 0) {
                arrays[i] = run->inputs->places[j].array;
                donated[i] = run->donated != NULL && run->donated[j];
            }
    for (size_t i = 0; i < run->binding->count; i++)
        if (weft_formulas_find_symbol(&program->formulas, run->binding->items[i].name) != SIZE_MAX)
            known.items[known.count++] = run->binding->items[i];
    const weft_run how = {.runtime = run->runtime,
                          .input_count = program->input_count,
                          .inputs = arrays,
                          .output_count = output_count,
                          .outputs = outputs,
                          .extent_count = known.count,
                          .extents = known.items,
                          .donated = donated,
                          .specialize = run->specialize,
                          .profile = run->profile};
    return run->device != NULL ? run_on_device(run->device, run->executor, program, &how)
                               : weft_executor_run(run->executor, program, &how);
}
