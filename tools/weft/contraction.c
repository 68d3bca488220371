/* SPDX-License-Identifier: Apache-2.0 */
#include "contraction.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "random.h"

void weft_contraction_finish(weft_contraction *contraction)
{
    weft_session_finish(&contraction->session);
    weft_einsum_plan_destroy(contraction->plan);
    for (size_t i = 0; contraction->arrays != NULL && i < contraction->instance.count; i++)
        weft_array_release(contraction->arrays[i]);
    free(contraction->arrays);
    weft_instance_finish(&contraction->instance);
    weft_plugins_finish(&contraction->plugins);
}

/* ---- arrays ---- */

static weft_status *load_array(const char *path, weft_array **out_array, weft_ints *out_shape)
{
    WEFT_TRY(weft_file_load(path, NULL, out_array));
    size_t rank = weft_array_rank(*out_array);
    int64_t *shape = calloc(rank + 1, sizeof *shape);
    if (shape == NULL) return weft_status_out_of_memory();
    if (rank > 0) memcpy(shape, weft_array_shape(*out_array), rank * sizeof *shape);
    *out_shape = (weft_ints){rank, shape};
    return NULL;
}

weft_status *weft_contraction_load_arrays(weft_contraction *contraction)
{
    weft_instance *x = &contraction->instance;
    const char *const *operands = contraction->arguments->operands;
    x->count = contraction->arguments->operand_count - 1;
    x->text = calloc(strlen(operands[0]) + 1, 1);
    x->shapes = calloc(x->count, sizeof *x->shapes);
    contraction->arrays = calloc(x->count, sizeof(weft_array *));
    if (x->text == NULL || x->shapes == NULL || contraction->arrays == NULL) return weft_status_out_of_memory();
    strcpy(x->text, operands[0]);
    for (size_t i = 0; i < x->count; i++) WEFT_TRY(load_array(operands[i + 1], &contraction->arrays[i], &x->shapes[i]));
    x->dtype = weft_array_dtype(contraction->arrays[0]);
    return NULL;
}

static double log2_elements(weft_ints shape)
{
    double sum = 0;
    for (size_t axis = 0; axis < shape.count; axis++) sum += log2(fmax((double)shape.items[axis], 1));
    return sum;
}

/* "23.481 GiB". */
typedef struct size_text {
    char text[24];
} size_text;

static size_text describe_bytes(double log2_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    enum { LARGEST = 1000 }; /* that a double holds */
    size_text result;
    size_t unit = 0;
    if (log2_bytes > LARGEST) {
        snprintf(result.text, sizeof result.text, "2^%.1f B", log2_bytes);
        return result;
    }
    double bytes = exp2(log2_bytes);
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) bytes /= 1024;
    snprintf(result.text, sizeof result.text, "%.5g %s", bytes, units[unit]);
    return result;
}

static double bytes_of(weft_dtype dtype, weft_ints shape)
{
    double bytes = (double)weft_dtype_size(dtype);
    for (size_t axis = 0; axis < shape.count; axis++) bytes *= (double)shape.items[axis];
    return bytes;
}

weft_status *weft_contraction_check_memory(const weft_contraction *contraction, const weft_einsum_plan *plan)
{
    const weft_instance *x = &contraction->instance;
    double most = (double)weft_memory_size(), arrays = bytes_of(x->dtype, weft_einsum_plan_shape(plan));
    for (size_t i = 0; i < x->count; i++) arrays += bytes_of(x->dtype, x->shapes[i]);
    double live = log2((double)weft_dtype_size(x->dtype)) + weft_einsum_plan_log2_peak(plan);
    bool has_limit = weft_arguments_find(contraction->arguments, "--memory-limit") != NULL;
    if (arrays + exp2(live) <= most) return NULL;
    return weft_status_create(
        NULL, WEFT_OVER_LIMIT, NULL,
        "%s%sthe plan needs %s for live intermediates and %s for operands and result, but the process may "
        "have %s%s",
        contraction->path == NULL ? "" : contraction->path, contraction->path == NULL ? "" : ": ",
        describe_bytes(live).text, describe_bytes(log2(arrays)).text, describe_bytes(log2(most)).text,
        arrays > most || has_limit ? "" : "; --memory-limit BYTES has intermediates sliced");
}

/* Each operand is made smaller by a share of its size, so that results are around 1, however many terms they sum. */
weft_status *weft_contraction_draw_arrays(weft_contraction *contraction)
{
    const weft_instance *x = &contraction->instance;
    const weft_einsum_plan *plan = contraction->plan;
    double all = 0, summed = weft_einsum_plan_log2_points(plan) - log2_elements(weft_einsum_plan_shape(plan));
    uint64_t seed = (uint64_t)weft_arguments_count(contraction->arguments, "--seed", 1);
    contraction->arrays = calloc(x->count, sizeof(weft_array *));
    if (contraction->arrays == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->count; i++) all += log2_elements(x->shapes[i]);
    double share = all > 0 ? summed / all : 0;
    for (size_t i = 0; i < x->count; i++) {
        double scale = exp2(-share * log2_elements(x->shapes[i]));
        WEFT_TRY(weft_random_create(x->dtype, x->shapes[i], scale, seed << 32 | i, &contraction->arrays[i]));
    }
    return NULL;
}

/* ---- planning ---- */

static weft_status *create_plan(const weft_instance *x, const weft_einsum_options *options, weft_einsum_plan **out_plan)
{
    if (x->labels != NULL)
        return weft_einsum_plan_create_labels(NULL, x->count, x->labels, x->output, x->shapes, options, out_plan);
    return weft_einsum_plan_create(NULL, x->text, x->count, x->shapes, options, out_plan);
}

weft_status *weft_contraction_plan(const weft_contraction *contraction, const weft_einsum_options *options,
                                   weft_einsum_plan **out_plan)
{
    weft_status *status = create_plan(&contraction->instance, options, out_plan);
    if (status == NULL || contraction->path == NULL) return status;
    const char *message = weft_status_message(status), *family = "einsum: ";
    if (strncmp(message, family, strlen(family)) == 0) message += strlen(family);
    weft_status *named = weft_status_create(NULL, weft_status_code(status), weft_status_where(status), "%s: %s",
                                            contraction->path, message);
    weft_status_destroy(status);
    return named;
}

/* ---- running ---- */

/* An extent of one is what broadcasts, so it is never a symbol. */
static weft_extent extent_of(const weft_contraction *contraction, weft_graph *graph, size_t operand, size_t axis)
{
    int64_t extent = contraction->instance.shapes[operand].items[axis];
    bool symbolic = weft_arguments_find(contraction->arguments, "--symbolic") != NULL;
    char name[48];
    if (extent == 1 || !symbolic) return weft_extent_of(extent);
    snprintf(name, sizeof name, "n%zu_%zu", operand, axis);
    return weft_symbol(graph, name, 0, extent);
}

static weft_tensor trace_operand(const weft_contraction *contraction, weft_graph *graph, size_t operand)
{
    weft_extent extents[WEFT_MAX_RANK];
    const weft_array *array = contraction->arrays[operand];
    size_t rank = weft_array_rank(array);
    char name[32];
    for (size_t axis = 0; axis < rank; axis++) extents[axis] = extent_of(contraction, graph, operand, axis);
    snprintf(name, sizeof name, "operand%zu", operand);
    return weft_input(graph, name, weft_array_dtype(array), (weft_shape){rank, extents});
}

static weft_status *compile(const weft_contraction *contraction, weft_graph *graph, const weft_einsum_options *options,
                            weft_session *session)
{
    const weft_instance *x = &contraction->instance;
    weft_tensor *items = calloc(x->count, sizeof *items);
    weft_tensors operands = {x->count, items};
    if (items == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->count; i++) items[i] = trace_operand(contraction, graph, i);
    weft_tensor result = x->labels != NULL ? weft_einsum_labels(operands, x->labels, x->output, options)
                                           : (weft_einsum)(x->text, operands, options);
    free(items);
    weft_module module = {.graph = graph, .outputs = WEFT_TENSORS(result)};
    WEFT_TRY(weft_session_compile(session, &(weft_source){.module = &module}));
    for (size_t i = 0; i < x->count; i++) session->inputs[i] = weft_array_retain(contraction->arrays[i]);
    return NULL;
}

weft_status *weft_contraction_run(const weft_contraction *contraction, const weft_einsum_options *options,
                                  weft_session *session)
{
    weft_graph *graph;
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_status *status = compile(contraction, graph, options, session);
    weft_graph_destroy(graph);
    return status == NULL ? weft_session_run(session, contraction->arguments) : status;
}
