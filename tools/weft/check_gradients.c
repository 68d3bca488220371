/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/inspect.h>
#include "../interrupt.h"
#include "binding.h"
#include "command.h"
#include "element.h"
#include "file.h"
#include "module.h"
#include "plugins.h"
#include "slope.h"
#include "vector.h"
#include "widen.h"

enum { EXTENT = 4, POINTS = 3, TYPE_TEXT = 200 };

static bool is_float(weft_dtype dtype)
{
    return weft_element_rounding(dtype) > 0;
}

/* ---- the graph ---- */

/* Parses the graph in f64, or else as it is. */
static weft_status *parse(const char *name, const char *text, size_t length, const weft_plugins *plugins,
                          weft_module **out_module)
{
    char *wide;
    size_t wide_length;
    weft_module *given;
    WEFT_TRY(weft_graph_parse(name, text, length, NULL, plugins->count, plugins->extensions, &given));
    weft_status *status = weft_text_widen(text, length, &wide, &wide_length);
    if (status != NULL) {
        weft_module_destroy(given);
        return status;
    }
    status = weft_graph_parse(name, wide, wide_length, NULL, plugins->count, plugins->extensions, out_module);
    free(wide);
    if (status == NULL) {
        weft_module_destroy(given);
        return NULL;
    }
    printf("in its own dtypes, with tolerances to match, since it is no graph in f64: %s\n",
           weft_status_message(status));
    weft_status_destroy(status);
    *out_module = given;
    return NULL;
}

static weft_status *load(const weft_arguments *arguments, const weft_plugins *plugins, weft_module **out_module)
{
    char *text;
    size_t length;
    const char *path = arguments->operands[0];
    WEFT_TRY(weft_source_check_name(path));
    WEFT_TRY(weft_file_read(path, &text, &length));
    weft_status *status = NULL;
    if (weft_program_is_saved(text, length))
        status = weft_misuse("'%s' is a saved program; gradients are those of a graph", weft_file_name(path));
    if (status == NULL) status = parse(weft_file_name(path), text, length, plugins, out_module);
    free(text);
    return status;
}

/* ---- symbols ---- */

static bool is_set(const weft_option_value *value)
{
    return strcmp(value->option->name, "--set") == 0;
}

static weft_status *set_symbol(const weft_program *program, weft_graph *graph, weft_setting *setting,
                               const weft_binding *binding)
{
    if (!weft_binding_is_needed(program, binding->name)) return weft_binding_check_unneeded(program, graph, binding);
    if (weft_setting_extent(setting, binding->name) >= 0) return weft_misuse("--set gives '%s' twice", binding->name);
    return weft_setting_bind(setting, binding->name, binding->value);
}

static weft_status *set_symbols(const weft_arguments *arguments, const weft_program *program, weft_graph *graph,
                                weft_setting *setting)
{
    for (size_t i = 0; i < arguments->value_count; i++) {
        weft_binding binding;
        if (!is_set(&arguments->values[i])) continue;
        WEFT_TRY(weft_binding_parse(arguments->values[i].text, &binding));
        weft_status *status = set_symbol(program, graph, setting, &binding);
        free((char *)binding.name);
        WEFT_TRY(status);
    }
    return NULL;
}

/* Binds the symbols that nothing else gives a value. */
static weft_status *fill_symbols(const weft_program *program, weft_setting *setting)
{
    for (size_t i = 0; i < weft_program_symbol_count(program); i++) {
        const weft_program_symbol *symbol = weft_program_symbol_at(program, i);
        int64_t extent = symbol->min > EXTENT ? symbol->min : symbol->max < EXTENT ? symbol->max : EXTENT;
        if (weft_setting_extent(setting, symbol->name) < 0) WEFT_TRY(weft_setting_bind(setting, symbol->name, extent));
    }
    return NULL;
}

/* Binds the symbols in the shape of an input that has an array. */
static weft_status *bind_shape(weft_setting *setting, const weft_program *program, size_t output,
                               const weft_array *array)
{
    const weft_program_axis *axes = weft_program_output_axes(program, output);
    if (weft_array_rank(array) != weft_program_output_rank(program, output)) return NULL; /* the run will say so */
    for (size_t axis = 0; axis < weft_array_rank(array); axis++) {
        if (axes[axis].symbol_count != 1) continue;
        const char *symbol = weft_program_symbol_at(program, axes[axis].symbols[0])->name;
        if (strcmp(axes[axis].extent, symbol) == 0 && weft_setting_extent(setting, symbol) < 0)
            WEFT_TRY(weft_setting_bind(setting, symbol, weft_array_shape(array)[axis]));
    }
    return NULL;
}

/* ---- inputs ---- */

/* A row-major copy, of the dtype that the graph has now if both are real, or complex, floats. */
static weft_status *convert(weft_array *given, weft_dtype dtype, weft_array **out_array)
{
    weft_array *copy;
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    bool is_alike = is_float(dtype) && kind == weft_dtype_info_of(weft_array_dtype(given))->kind;
    WEFT_TRY(weft_array_create(NULL, weft_array_dtype(given), weft_array_rank(given), weft_array_shape(given), &copy));
    weft_status *status = weft_array_copy(copy, given);
    if (status == NULL && (!is_alike || dtype == weft_array_dtype(given))) {
        *out_array = copy;
        return NULL;
    }
    if (status == NULL)
        status = weft_array_create(NULL, dtype, weft_array_rank(given), weft_array_shape(given), out_array);
    if (status == NULL) {
        const char *from = weft_array_data(copy);
        char *to = weft_array_data(*out_array);
        for (size_t i = 0; i < (size_t)weft_array_count(copy); i++)
            weft_element_write(
                dtype, to + i * weft_dtype_size(dtype),
                weft_element_read(weft_array_dtype(copy), from + i * weft_dtype_size(weft_array_dtype(copy))));
    }
    weft_array_release(copy);
    return status;
}

/* Names the inputs that there are. */
static weft_status *refuse_input(const weft_module *module, const char *name, size_t length)
{
    char names[512] = "none";
    size_t used = 0;
    for (size_t i = 0; i < module->inputs.count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                                 weft_tensor_name(module->inputs.items[i]));
    return weft_misuse("the graph has no input '%.*s'; its inputs: %s", (int)length, name, names);
}

/* The input that "NAME=FILE" is for. */
static weft_status *find_input(const weft_module *module, const char *text, size_t *out_input)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; i < module->inputs.count && equals != NULL; i++) {
        const char *name = weft_tensor_name(module->inputs.items[i]);
        if (strlen(name) != (size_t)(equals - text) || strncmp(name, text, strlen(name)) != 0) continue;
        *out_input = i;
        return NULL;
    }
    if (equals != NULL) return refuse_input(module, text, (size_t)(equals - text));
    return weft_misuse("'%s' does not begin with the name of an input and '=', as in %s=%s", text,
                       module->inputs.count == 0 ? "x" : weft_tensor_name(module->inputs.items[0]), text);
}

static weft_status *load_inputs(const weft_arguments *arguments, const weft_module *module, const weft_program *shapes,
                                weft_setting *setting)
{
    for (size_t i = 1; i < arguments->operand_count; i++) {
        size_t input = 0;
        weft_array *given, *array;
        const char *text = arguments->operands[i];
        WEFT_TRY(find_input(module, text, &input));
        weft_tensor tensor = module->inputs.items[input];
        if (weft_setting_find(setting, weft_tensor_name(tensor)) != NULL)
            return weft_misuse("input '%s' is given twice", weft_tensor_name(tensor));
        WEFT_TRY(weft_file_load(strchr(text, '=') + 1, weft_tensor_name(tensor), &given));
        weft_status *status = convert(given, weft_tensor_dtype(tensor), &array);
        weft_array_release(given);
        WEFT_TRY(status);
        WEFT_TRY(weft_setting_put(setting, weft_tensor_name(tensor), array));
        WEFT_TRY(bind_shape(setting, shapes, input, array));
    }
    return NULL;
}

/* ---- the check ---- */

static weft_status *add_tangent(weft_slope_check *check, const weft_program *shapes, size_t output, weft_slope_input *x)
{
    char name[64];
    weft_array *array;
    snprintf(name, sizeof name, "check.tangent.%zu", check->input_count);
    x->tangent = weft_input(check->graph, name, weft_tensor_dtype(x->tensor), weft_tensor_shape(x->tensor));
    WEFT_TRY(weft_setting_create_array(&check->setting, shapes, output, &array));
    x->size = weft_vector_size(array);
    WEFT_TRY(weft_setting_put(&check->setting, name, array));
    check->input_count++;
    x->point = calloc(2 * x->size + 1, sizeof *x->point);
    if (x->point == NULL) return weft_status_out_of_memory();
    x->direction = x->point + x->size;
    return NULL;
}

/* "f64[4, 3]", or "[4, 3]" where no dtype is shown, as far as there is room. */
static void print_type(const weft_array *array, bool with_dtype, char text[TYPE_TEXT])
{
    size_t rank = weft_array_rank(array), used = 0;
    used += (size_t)snprintf(text, TYPE_TEXT, "%s[", with_dtype ? weft_dtype_name(weft_array_dtype(array)) : "");
    for (size_t i = 0; i < rank && used < TYPE_TEXT; i++)
        used += (size_t)snprintf(text + used, TYPE_TEXT - used, i == 0 ? "%" PRId64 : ", %" PRId64,
                                 weft_array_shape(array)[i]);
    if (used < TYPE_TEXT) snprintf(text + used, TYPE_TEXT - used, "]");
}

/* Whether what was given for an input is what the graph has there. */
static weft_status *check_given(const weft_slope_check *check, const weft_program *shapes, const char *name,
                                size_t output)
{
    weft_array *wanted;
    const weft_array *given = weft_setting_find(&check->setting, name);
    WEFT_TRY(weft_setting_create_array(&check->setting, shapes, output, &wanted));
    size_t rank = weft_array_rank(wanted);
    bool same_dtype = weft_array_dtype(given) == weft_array_dtype(wanted);
    bool fits = weft_array_rank(given) == rank && same_dtype;
    for (size_t i = 0; i < rank && fits; i++) fits = weft_array_shape(given)[i] == weft_array_shape(wanted)[i];
    char text[2][TYPE_TEXT];
    print_type(given, !same_dtype, text[0]);
    print_type(wanted, !same_dtype, text[1]);
    weft_array_release(wanted);
    return fits ? NULL : weft_misuse("input '%s' is %s in its file, but %s in the graph", name, text[0], text[1]);
}

static weft_status *add_input(weft_slope_check *check, const weft_program *shapes, weft_tensor tensor, size_t output)
{
    weft_array *array;
    const char *name = weft_tensor_name(tensor);
    bool given = weft_setting_find(&check->setting, name) != NULL;
    weft_slope_input *x = &check->inputs[check->input_count];
    if (!given) {
        WEFT_TRY(weft_setting_create_array(&check->setting, shapes, output, &array));
        WEFT_TRY(weft_setting_put(&check->setting, name, array));
    } else {
        WEFT_TRY(check_given(check, shapes, name, output));
    }
    *x = (weft_slope_input){.name = name, .tensor = tensor, .given = given};
    if (is_float(weft_tensor_dtype(tensor))) return add_tangent(check, shapes, output, x);
    if (!given) check->drawn[check->drawn_count++] = name;
    return NULL;
}

static void consider(weft_slope_check *check, weft_tensor tensor)
{
    double rounding = weft_element_rounding(weft_tensor_dtype(tensor));
    if (rounding > check->rounding) check->rounding = rounding;
}

static weft_status *check_outputs(weft_slope_check *check, const weft_module *module)
{
    size_t count = module->outputs.count;
    weft_tensor *tensors = calloc(count, sizeof *tensors);
    const char **names = calloc(count, sizeof *names);
    weft_status *status = tensors == NULL || names == NULL ? weft_status_out_of_memory() : NULL;
    weft_slope_outputs outputs = {0, tensors, names};
    for (size_t i = 0; i < count && status == NULL; i++) {
        if (!is_float(weft_tensor_dtype(module->outputs.items[i]))) continue;
        consider(check, module->outputs.items[i]);
        tensors[outputs.count] = module->outputs.items[i];
        names[outputs.count++] = module->output_names[i];
    }
    if (status == NULL && (outputs.count == 0 || check->input_count == 0))
        status = weft_misuse("the graph has no gradient: it takes an input and an output of a float dtype");
    if (status == NULL) status = weft_slope_check_outputs(check, outputs);
    free(tensors);
    free(names);
    return status;
}

static weft_status *run_module(const weft_arguments *arguments, const weft_module *module, const weft_program *shapes,
                               weft_slope_check *check)
{
    WEFT_TRY(set_symbols(arguments, shapes, module->graph, &check->setting));
    WEFT_TRY(load_inputs(arguments, module, shapes, &check->setting));
    WEFT_TRY(fill_symbols(shapes, &check->setting));
    check->inputs = calloc(module->inputs.count + 1, sizeof *check->inputs);
    check->drawn = calloc(module->inputs.count + 1, sizeof *check->drawn);
    if (check->inputs == NULL || check->drawn == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < module->inputs.count; i++) {
        consider(check, module->inputs.items[i]);
        WEFT_TRY(add_input(check, shapes, module->inputs.items[i], i));
    }
    WEFT_TRY(check_outputs(check, module));
    return NULL;
}

/* A program whose outputs are the inputs and the outputs of the graph: the shapes of all. */
static weft_status *compile_shapes(const weft_module *module, weft_program **out_program)
{
    size_t count = module->inputs.count + module->outputs.count;
    weft_tensor *all = calloc(count, sizeof *all);
    if (all == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
        all[i] = i < module->inputs.count ? module->inputs.items[i] : module->outputs.items[i - module->inputs.count];
    weft_status *status = weft_compile(module->graph, (weft_tensors){count, all}, NULL, out_program);
    free(all);
    return status;
}

static weft_status *check_module(const weft_arguments *arguments, const weft_plugins *plugins,
                                 const weft_module *module, weft_status **out_verdict)
{
    weft_program *shapes;
    weft_slope_check check = {.graph = module->graph,
                              .seed = (uint64_t)weft_arguments_count(arguments, "--seed", 1),
                              .points = (size_t)weft_arguments_count(arguments, "--points", POINTS),
                              .order = (size_t)(weft_arguments_text(arguments, "--order", "1")[0] - '0')};
    WEFT_TRY(compile_shapes(module, &shapes));
    weft_status *status = weft_executor_create_standard(NULL, &check.setting.executor);
    if (status == NULL) status = weft_plugins_register(plugins, check.setting.executor);
    if (status == NULL) status = run_module(arguments, module, shapes, &check);
    if (status == NULL && check.wrong > 0)
        *out_verdict = weft_status_create(NULL, WEFT_DATA_ERROR, NULL, "%zu of %zu derivative%s %s wrong", check.wrong,
                                          check.pairs, check.pairs == 1 ? "" : "s", check.wrong == 1 ? "is" : "are");
    for (size_t i = 0; i < check.input_count; i++) free(check.inputs[i].point);
    free(check.inputs);
    free(check.drawn);
    weft_setting_finish(&check.setting);
    weft_program_release(shapes);
    return status;
}

/* What keeps it from checking is told from what it found by the exit status, except for a signal. */
static weft_status *as_misuse(weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_CANCELLED) return status;
    weft_status *misuse = weft_misuse("%s", weft_status_message(status));
    weft_status_destroy(status);
    return misuse;
}

static weft_status *run(const weft_arguments *arguments)
{
    weft_plugins plugins;
    weft_module *module = NULL;
    weft_status *verdict = NULL;
    weft_status *status = weft_plugins_init(&plugins, arguments);
    if (status == NULL) status = load(arguments, &plugins, &module);
    weft_interrupt_begin();
    if (status == NULL)
        status = weft_binding_name_source(check_module(arguments, &plugins, module, &verdict),
                                          "by --set, or else by default");
    weft_interrupt_end();
    weft_module_destroy(module);
    weft_plugins_finish(&plugins);
    return status == NULL ? verdict : as_misuse(status);
}

static const weft_option options[] = {
    {"--seed", WEFT_OPTION_SEED, "N", "of the points that are drawn (1)"},
    {"--points", WEFT_OPTION_COUNT, "N", "how many for each input (3)"},
    /* each order takes many times what the one below it takes */
    {"--order", WEFT_OPTION_CHOICE, "1|2|3|4", "also derivatives of gradients, up to this order (1)"},
    {"--set", WEFT_OPTION_TEXTS, "SYMBOL=N", "the value of a symbol (4, or the nearest it may have); may be repeated"},
    WEFT_PLUGIN_OPTION,
};

const weft_command weft_command_check_gradients = {
    .name = "check-gradients",
    .operands = " GRAPH [NAME=IN.npy|IN.npz:ARRAY ...] [OPTION ...]",
    .summary = "compare the gradients of a graph with differences of its values",
    .detail = "GRAPH is a .weft file, which is taken in f64 and run by the reference. For each float output and input "
              "a line\n"
              "says by how much jvp in a random direction differs from differences of fourth order, and <cotangent, "
              "jvp> from\n"
              "<vjp, tangent>, both relative. Points where differences do not converge, at a kink or outside of a "
              "domain, are\n"
              "drawn again, and what is left of them is skipped. Inputs that are integers are drawn from 0 to 3. "
              "Inputs from\n"
              "files stay as they are. With --order 2 the gradient of <output, cotangent> is checked in the same way: "
              "jvp is\n"
              "forward over reverse then, and vjp reverse over reverse. At a kink any derivative between the one-sided "
              "ones\n"
              "is right. The exit status is 1 where a derivative is wrong, 2 where none could be checked.",
    .least = 1,
    .most = SIZE_MAX,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
