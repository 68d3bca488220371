/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conform/record.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/object.h>

enum { NAME_BYTES = 64 };

struct weft_test_recorder {
    char folder[512];
    unsigned number; /* of the last object */
    FILE *records;
    bool failed;
};

weft_test_recorder *weft_test_recorder_create(const char *folder)
{
    char path[600];
    weft_test_recorder *recorder = calloc(1, sizeof *recorder);
    if (recorder == NULL) return NULL;
    snprintf(recorder->folder, sizeof recorder->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/records", folder);
    recorder->records = fopen(path, "ab");
    if (recorder->records != NULL) return recorder;
    perror(path);
    free(recorder);
    return NULL;
}

bool weft_test_recorder_finish(weft_test_recorder *recorder)
{
    bool good = fclose(recorder->records) == 0 && !recorder->failed;
    free(recorder);
    return good;
}

void weft_test_recorder_number(weft_test_recorder *recorder, unsigned number)
{
    recorder->number = number;
}

/* ---- objects ---- */

static bool write_object(const weft_test_recorder *recorder, const weft_object *object)
{
    char path[600];
    size_t size;
    const void *code = weft_object_code(object, &size);
    snprintf(path, sizeof path, "%s/c%u.o", recorder->folder, recorder->number);
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(code, 1, size, file) == size;
    return file != NULL && fclose(file) == 0 && good;
}

bool weft_test_record_program(weft_test_recorder *recorder, const weft_program *program,
                              const weft_object_options *options, char *out_problem, size_t size)
{
    char name[32];
    weft_object *object;
    recorder->number++;
    snprintf(name, sizeof name, "c%u", recorder->number);
    weft_object_options named = *options;
    named.name = name;
    weft_status *status = weft_object_create(program, &named, &object);
    if (status != NULL) {
        snprintf(out_problem, size, "an object: %s", weft_status_message(status));
        weft_status_destroy(status);
        return false;
    }
    if (!write_object(recorder, object)) recorder->failed = true;
    weft_object_destroy(object);
    return true;
}

/* ---- records ---- */

static void put(weft_test_recorder *recorder, const void *data, size_t size)
{
    if (fwrite(data, 1, size, recorder->records) != size) recorder->failed = true;
}

static void put_count(weft_test_recorder *recorder, size_t count)
{
    put(recorder, &(uint32_t){(uint32_t)count}, sizeof(uint32_t));
}

typedef struct element_writer {
    weft_test_recorder *recorder;
    size_t size;
} element_writer;

static void put_element(void *context, int64_t number, void *element)
{
    const element_writer *writer = context;
    (void)number;
    put(writer->recorder, element, writer->size);
}

static void put_array(weft_test_recorder *recorder, const weft_array *array)
{
    size_t rank = weft_array_rank(array), size = weft_dtype_size(weft_array_dtype(array));
    put_count(recorder, size);
    put_count(recorder, rank);
    put(recorder, weft_array_shape(array), rank * sizeof(int64_t));
    put(recorder, weft_array_strides(array), rank * sizeof(int64_t));
    weft_test_visit(array, put_element, &(element_writer){recorder, size});
}

void weft_test_record_run(weft_test_recorder *recorder, const weft_test_run *run, size_t output_count,
                          weft_array *const *outputs, const char *failed)
{
    const weft_test_binding *binding = run->binding;
    const weft_test_inputs *inputs = run->inputs;
    put_count(recorder, recorder->number);
    put_count(recorder, binding->count);
    for (size_t i = 0; i < binding->count; i++) {
        char name[NAME_BYTES] = {0};
        snprintf(name, sizeof name, "%s", binding->items[i].name);
        put(recorder, name, sizeof name);
        put(recorder, &binding->items[i].value, sizeof(int64_t));
    }
    size_t taken = weft_program_input_count(run->program);
    put_count(recorder, taken);
    put_count(recorder, failed != NULL ? 0 : output_count);
    for (size_t i = 0; i < taken; i++) {
        size_t at = 0;
        while (strcmp(inputs->names[at], weft_program_input_name(run->program, i)) != 0) at++;
        put_array(recorder, inputs->places[at].array);
    }
    for (size_t i = 0; i < output_count && failed == NULL; i++) put_array(recorder, outputs[i]);
    size_t length = failed == NULL ? 0 : strlen(failed);
    put_count(recorder, length);
    put(recorder, failed, length);
}
