/* SPDX-License-Identifier: Apache-2.0 */
#include "setting.h"
#include <stdlib.h>
#include <string.h>
#include "../interrupt.h"

void weft_setting_finish(weft_setting *setting)
{
    for (size_t i = 0; i < setting->count; i++) {
        free(setting->names[i]);
        weft_array_release(setting->arrays[i]);
    }
    for (size_t i = 0; i < setting->extent_count; i++) free((char *)setting->extents[i].name);
    free(setting->names);
    free(setting->arrays);
    free(setting->extents);
    weft_executor_destroy(setting->executor);
    *setting = (weft_setting){0};
}

static size_t find(const weft_setting *setting, const char *name)
{
    size_t i = 0;
    while (i < setting->count && strcmp(setting->names[i], name) != 0) i++;
    return i;
}

static weft_status *grow(weft_setting *setting)
{
    char **names = realloc(setting->names, (setting->count + 1) * sizeof *names);
    if (names != NULL) setting->names = names;
    weft_array **arrays = realloc(setting->arrays, (setting->count + 1) * sizeof *arrays);
    if (arrays != NULL) setting->arrays = arrays;
    return names == NULL || arrays == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *add(weft_setting *setting, const char *name)
{
    WEFT_TRY(grow(setting));
    char *copy = strdup(name);
    if (copy == NULL) return weft_status_out_of_memory();
    setting->names[setting->count] = copy;
    setting->arrays[setting->count++] = NULL;
    return NULL;
}

weft_status *weft_setting_put(weft_setting *setting, const char *name, weft_array *array)
{
    size_t i = find(setting, name);
    weft_status *status = i < setting->count ? NULL : add(setting, name);
    if (status == NULL) {
        weft_array_release(setting->arrays[i]);
        setting->arrays[i] = array;
    } else {
        weft_array_release(array);
    }
    return status;
}

weft_array *weft_setting_find(const weft_setting *setting, const char *name)
{
    size_t i = find(setting, name);
    return i < setting->count ? setting->arrays[i] : NULL;
}

static weft_binding *find_extent(const weft_setting *setting, const char *symbol)
{
    for (size_t i = 0; i < setting->extent_count; i++)
        if (strcmp(setting->extents[i].name, symbol) == 0) return &setting->extents[i];
    return NULL;
}

weft_status *weft_setting_bind(weft_setting *setting, const char *symbol, int64_t extent)
{
    weft_binding *known = find_extent(setting, symbol);
    if (known != NULL) {
        known->value = extent;
        return NULL;
    }
    weft_binding *extents = realloc(setting->extents, (setting->extent_count + 1) * sizeof *extents);
    if (extents == NULL) return weft_status_out_of_memory();
    setting->extents = extents;
    char *name = strdup(symbol);
    if (name == NULL) return weft_status_out_of_memory();
    extents[setting->extent_count++] = (weft_binding){name, extent};
    return NULL;
}

int64_t weft_setting_extent(const weft_setting *setting, const char *symbol)
{
    const weft_binding *known = find_extent(setting, symbol);
    return known == NULL ? -1 : known->value;
}

weft_status *weft_setting_create_array(const weft_setting *setting, const weft_program *program, size_t output,
                                       weft_array **out_array)
{
    int64_t shape[WEFT_MAX_RANK];
    WEFT_TRY(weft_program_output_shape(program, output, setting->extent_count, setting->extents, shape));
    return weft_array_create(NULL, weft_program_output_dtype(program, output),
                             weft_program_output_rank(program, output), shape, out_array);
}

/* The values of those symbols that the program has. */
static size_t fill_extents(const weft_setting *setting, const weft_program *program, weft_binding *out_extents)
{
    size_t count = 0;
    for (size_t i = 0; i < weft_program_symbol_count(program); i++) {
        const weft_binding *known = find_extent(setting, weft_program_symbol_at(program, i)->name);
        if (known != NULL) out_extents[count++] = *known;
    }
    return count;
}

weft_status *weft_setting_run(const weft_setting *setting, weft_program *program, weft_array **outputs)
{
    size_t input_count = weft_program_input_count(program);
    weft_array **inputs = calloc(input_count + 1, sizeof *inputs);
    weft_binding *extents = calloc(weft_program_symbol_count(program) + 1, sizeof *extents);
    weft_status *status = inputs == NULL || extents == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t i = 0; i < input_count && status == NULL; i++)
        inputs[i] = weft_setting_find(setting, weft_program_input_name(program, i));
    if (status == NULL)
        status = weft_executor_run(setting->executor, program,
                                   &(weft_run){.runtime = "ref",
                                               .input_count = input_count,
                                               .inputs = inputs,
                                               .output_count = weft_program_output_count(program),
                                               .outputs = outputs,
                                               .extent_count = fill_extents(setting, program, extents),
                                               .extents = extents,
                                               .cancelled = weft_interrupt_flag()});
    free(inputs);
    free(extents);
    return status;
}
