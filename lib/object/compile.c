/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/compile.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/build/build.h"
#include "lib/object/describe.h"
#include "lib/object/forms.h"
#include "lib/object/header.h"
#include "lib/object/imports.h"
#include "lib/object/options.h"
#include "lib/object/tables.h"
#include "runtime/object/digest.h"
#include "runtime/base/float_mode.h"
#include "runtime/base/status.h"

/*
 * For each level of instructions the program is planned once for row-major arrays, once for any strides, and once for
 * each set of sizes asked for. Their tables go into one image of constant data; kernels that are equal are compiled
 * once.
 */

typedef struct object_compiler {
    const weft_allocator *allocator;
    const weft_program *program;
    const weft_object_plan *plan;
    weft_arena arena;
    weft_image_data image;
    weft_constants constants;
    weft_bytes text;  /* that describes all */
    weft_map symbols; /* of kernels, by their key and level */
    size_t kernel_count, kernel_capacity;
    weft_object_kernel *kernels;
    weft_imports imports;
    weft_forms forms;
    size_t variant_count;
    size_t variants;       /* the place of the table */
    weft_isa level;        /* of the variant under way */
    const int64_t *values; /* that it is for */
    bool strided;
    uint32_t *output_alias; /* of the first variant */
    uint32_t header_digest;
} object_compiler;

/* ---- kernels ---- */

static weft_status *add_kernel(object_compiler *c, const weft_kernel *kernel, const char **out_symbol)
{
    char symbol[128];
    if (!weft_reserve(c->allocator, &c->kernels, &c->kernel_capacity, c->kernel_count + 1, sizeof *c->kernels))
        return weft_status_out_of_memory();
    snprintf(symbol, sizeof symbol, "%s_kernel_%zu", c->plan->name, c->kernel_count);
    weft_object_kernel *made = &c->kernels[c->kernel_count];
    weft_kernel *clone;
    *made = (weft_object_kernel){.symbol = weft_arena_string(&c->arena, symbol, strlen(symbol)), .level = c->level};
    if (made->symbol == NULL) return weft_status_out_of_memory();
    WEFT_TRY(weft_kernel_clone(kernel, &clone));
    made->kernel = clone;
    c->kernel_count++;
    *out_symbol = made->symbol;
    return NULL;
}

static weft_status *find_kernel(object_compiler *c, const weft_kernel *kernel, const weft_bytes *key,
                                const char **out_symbol)
{
    *out_symbol = weft_map_find(&c->symbols, key->data, key->size);
    if (*out_symbol != NULL) return NULL;
    WEFT_TRY(add_kernel(c, kernel, out_symbol));
    bool kept = weft_map_insert(&c->symbols, key->data, key->size, (void *)(uintptr_t)*out_symbol);
    return kept ? NULL : weft_status_out_of_memory();
}

static weft_status *name_kernel(object_compiler *c, const weft_kernel *kernel, const char **out_symbol)
{
    weft_bytes key;
    weft_bytes_init(&key, c->allocator);
    weft_bytes_append(&key, &c->level, sizeof c->level);
    weft_status *status = weft_kernel_key(kernel, &key);
    if (status == NULL) status = weft_bytes_status(&key);
    if (status == NULL) status = find_kernel(c, kernel, &key, out_symbol);
    weft_bytes_finish(&key);
    return status;
}

/* ---- variants ---- */

static weft_status *keep_alias(object_compiler *c, const weft_variant *variant)
{
    if (variant->output_alias == NULL || c->output_alias != NULL) return NULL;
    c->output_alias =
        weft_arena_copy(&c->arena, variant->output_alias, c->program->input_count * sizeof *variant->output_alias);
    return c->output_alias == NULL ? weft_status_out_of_memory() : NULL;
}

static weft_status *add_variant(void *context, const weft_variant *variant, const weft_kernel *const *kernels)
{
    object_compiler *c = context;
    size_t symbol_count = c->program->formulas.symbol_count;
    const char **symbols = weft_arena_allocate(&c->arena, (variant->step_count + 1) * sizeof *symbols);
    if (symbols == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < variant->step_count; i++) {
        symbols[i] = NULL;
        if (variant->steps[i].kind == WEFT_STEP_HOST)
            WEFT_TRY(weft_imports_add(&c->imports, &variant->steps[i], &variant->resolved[i]));
        if (kernels[i] != NULL) WEFT_TRY(name_kernel(c, kernels[i], &symbols[i]));
    }
    WEFT_TRY(keep_alias(c, variant));
    size_t at = c->variants + c->variant_count++ * sizeof(weft_rt_variant);
    weft_rt_variant entry;
    memset(&entry, 0, sizeof entry);
    entry.level = c->level;
    entry.strided = c->strided;
    weft_image_write(&c->image, at, &entry, sizeof entry);
    entry.extents = c->values;
    weft_describe_variant(&c->text, c->program, variant, &entry);
    weft_image_point_to_copy(&c->image, at + offsetof(weft_rt_variant, extents), c->values,
                             symbol_count * sizeof *c->values);
    weft_image_point(
        &c->image, at + offsetof(weft_rt_variant, variant),
        weft_tables_put_variant(&c->image, variant, c->level, c->program->input_count, symbols, &c->constants));
    return weft_image_status(&c->image);
}

/* Without a cache that is known, that of the reference. */
static weft_machine machine_of(weft_isa level)
{
    weft_machine machine = *weft_machine_reference();
    machine.vector_bytes = weft_isa_describe(level)->vector_bytes;
    machine.registers = weft_isa_describe(level)->registers;
    return machine;
}

static weft_status *build_variant(object_compiler *c, weft_isa level, const int64_t *values, bool strided)
{
    const weft_program *program = weft_forms_find(&c->forms, values);
    const weft_machine machine = machine_of(level);
    size_t arrays = program->input_count + program->output_count;
    uint8_t *layouts = weft_arena_allocate(&c->arena, arrays + 1);
    if (layouts == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < arrays; i++) {
        bool is_input = i < program->input_count;
        const weft_program_value *value = is_input ? &program->inputs[i] : &program->outputs[i - program->input_count];
        layouts[i] = strided && value->rank > 0 ? WEFT_LAYOUT_STRIDED : WEFT_LAYOUT_CONTIGUOUS;
    }
    const weft_build_request request = {.allocator = c->allocator,
                                        .program = program,
                                        .input_layouts = layouts,
                                        .output_layouts = layouts + program->input_count,
                                        .specialized_count = values == NULL ? 0 : program->formulas.symbol_count,
                                        .specialized = values,
                                        .without_folders = true,
                                        .machine = &machine,
                                        .level = level,
                                        .schedules = c->plan->schedules[level]};
    c->level = level;
    c->values = values;
    c->strided = strided;
    return weft_variant_visit(&request, add_variant, c);
}

/* The best first: of the highest level, for known sizes, for row-major arrays. */
static weft_status *build_level(object_compiler *c, weft_isa level)
{
    for (size_t i = 0; i < c->plan->specialized_count; i++)
        WEFT_TRY(build_variant(c, level, c->plan->specialized[i], false));
    WEFT_TRY(build_variant(c, level, NULL, false));
    return build_variant(c, level, NULL, true);
}

/* ---- the object ---- */

static int compare_pointers(const void *a, const void *b)
{
    const weft_object_pointer *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static weft_status *emit(object_compiler *c, weft_object_emitter emit_object, weft_bytes *out_code)
{
    enum { ENTRIES = 5 };
    const char *name = c->plan->name;
    char data[128], text[128], entry[ENTRIES][128];
    snprintf(data, sizeof data, "%s_object", name);
    snprintf(text, sizeof text, "%s_text", name);
    snprintf(entry[0], sizeof entry[0], "%s_prepare", name);
    snprintf(entry[1], sizeof entry[1], "%s_run", name);
    snprintf(entry[2], sizeof entry[2], "%s_manifest", name);
    snprintf(entry[3], sizeof entry[3], "%s_prepare" WEFT_HEADER_MARK "%08" PRIx32, name, c->header_digest);
    snprintf(entry[4], sizeof entry[4], "%s_run" WEFT_HEADER_MARK "%08" PRIx32, name, c->header_digest);
    weft_image_point_to_symbol(&c->image, offsetof(weft_rt_object, manifest) + offsetof(weft_rt_manifest, text), text);
    WEFT_TRY(weft_image_status(&c->image));
    WEFT_TRY(weft_bytes_status(&c->text));
    const weft_object_entry entries[ENTRIES] = {{entry[0], "weft_rt_prepare", 4},
                                                {entry[1], "weft_rt_run", 3},
                                                {entry[2], NULL, 0},
                                                {entry[3], "weft_rt_prepare", 4},
                                                {entry[4], "weft_rt_run", 3}};
    qsort(c->image.pointers, c->image.pointer_count, sizeof *c->image.pointers, compare_pointers);
    const weft_object_request request = {.architecture = c->plan->architecture,
                                         .kernel_count = c->kernel_count,
                                         .kernels = c->kernels,
                                         .data_symbol = data,
                                         .data = c->image.bytes.data,
                                         .data_bytes = c->image.bytes.size,
                                         .pointer_count = c->image.pointer_count,
                                         .pointers = c->image.pointers,
                                         .text_symbol = text,
                                         .text = c->text.data,
                                         .import_count = c->imports.count,
                                         .imports = c->imports.items,
                                         .entry_count = ENTRIES,
                                         .entries = entries,
                                         .freestanding = c->plan->freestanding,
                                         .levels = c->plan->levels};
    return emit_object(c->allocator, &request, out_code);
}

/* ---- the file of weights ---- */

static void begin_weights(object_compiler *c, weft_bytes *weights)
{
    weft_bytes_append(weights, WEFT_RT_WEIGHTS_MAGIC, strlen(WEFT_RT_WEIGHTS_MAGIC));
    weft_bytes_pad(weights, WEFT_RT_WEIGHTS_HEADER);
    c->constants.weights = weights;
}

/* Whole pages; nothing where there are no constants. */
static weft_status *finish_weights(object_compiler *c, size_t head, weft_bytes *weights)
{
    enum { PAGE = 4096 };
    if (weights->size <= WEFT_RT_WEIGHTS_HEADER) {
        weft_status *status = weft_bytes_status(weights);
        weft_bytes_clear(weights);
        return status;
    }
    weft_bytes_pad(weights, PAGE);
    WEFT_TRY(weft_bytes_status(weights));
    uint64_t numbers[2] = {weights->size};
    numbers[1] = weft_digest(weights->data + WEFT_RT_WEIGHTS_HEADER, weights->size - WEFT_RT_WEIGHTS_HEADER);
    memcpy(weights->data + strlen(WEFT_RT_WEIGHTS_MAGIC), numbers, sizeof numbers);
    weft_tables_fill_weights(&c->image, head + offsetof(weft_rt_object, manifest), weights);
    weft_bytes_print(&c->text, "weights   %s.weights, %zu bytes, digest %016" PRIx64 "\n", c->plan->name, weights->size,
                     numbers[1]);
    return NULL;
}

static weft_status *compile(object_compiler *c, weft_object_emitter emit_object, weft_object *object)
{
    const weft_object_plan *plan = c->plan;
    size_t levels = 0, head = weft_image_put(&c->image, NULL, sizeof(weft_rt_object), 64);
    for (int level = 0; level < WEFT_ISA_COUNT; level++) levels += plan->levels[level];
    size_t count = levels * (plan->specialized_count + 2);
    c->variants =
        weft_image_point_to_room(&c->image, head + offsetof(weft_rt_object, variants), count * sizeof(weft_rt_variant));
    weft_image_write(&c->image, head + offsetof(weft_rt_object, variant_count), &count, sizeof count);
    weft_tables_fill_manifest(&c->image, head + offsetof(weft_rt_object, manifest), c->program, plan->name,
                              plan->isa.data);
    weft_describe_program(&c->text, c->program, plan);
    if (plan->weights_file) begin_weights(c, &object->weights);
    weft_image_point(&c->image, head + offsetof(weft_rt_object, program),
                     weft_tables_put_program(&c->image, c->program));
    WEFT_TRY(weft_image_status(&c->image));
    WEFT_TRY(weft_forms_make(&c->forms));
    weft_forms_describe(&c->forms, &c->text);
    for (int level = WEFT_ISA_COUNT - 1; level >= 0; level--)
        if (plan->levels[level]) WEFT_TRY(build_level(c, (weft_isa)level));
    weft_describe_aliases(&c->text, c->program, c->output_alias);
    weft_imports_describe(&c->imports, &c->text);
    if (plan->weights_file) WEFT_TRY(finish_weights(c, head, &object->weights));
    const weft_header_request header = {.allocator = c->allocator,
                                        .program = c->program,
                                        .name = plan->name,
                                        .isa = plan->isa.data,
                                        .output_alias = c->output_alias,
                                        .has_weights = object->weights.size > 0,
                                        .freestanding = plan->freestanding,
                                        .imports = &c->imports};
    WEFT_TRY(weft_header_write(&header, &object->header, &c->header_digest));
    weft_bytes_print(&object->pkg_config,
                     "Name: %s\nDescription: a tensor program compiled by weft for %s\nVersion: %d.%d.%d\n"
                     "%sCflags: -I${pcfiledir}\nLibs: ${pcfiledir}/%s.o\n",
                     plan->name, plan->isa.data, WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH,
                     plan->freestanding ? "Requires.private: weft-rt-static\n" : "Requires: weft-rt-static\n",
                     plan->name);
    WEFT_TRY(weft_bytes_status(&object->pkg_config));
    return emit(c, emit_object, &object->code);
}

static weft_status *compile_plan(const weft_program *program, const weft_object_plan *plan,
                                 weft_object_emitter emit_object, weft_object *object)
{
    object_compiler c = {.allocator = program->allocator,
                         .program = program,
                         .plan = plan,
                         .imports = {.allocator = program->allocator, .name = plan->name},
                         .forms = {.program = program, .plan = plan}};
    weft_arena_init(&c.arena, c.allocator);
    weft_image_init(&c.image, c.allocator);
    weft_bytes_init(&c.text, c.allocator);
    weft_map_init(&c.constants.places, c.allocator);
    weft_map_init(&c.symbols, c.allocator);
    weft_float_mode saved = weft_float_mode_enter();
    weft_status *status = compile(&c, emit_object, object);
    weft_float_mode_leave(saved);
    for (size_t i = 0; i < c.kernel_count; i++) weft_kernel_destroy((weft_kernel *)(uintptr_t)c.kernels[i].kernel);
    weft_free(c.allocator, c.kernels, c.kernel_capacity * sizeof *c.kernels);
    weft_imports_finish(&c.imports);
    weft_forms_finish(&c.forms);
    weft_map_finish(&c.symbols, NULL);
    weft_map_finish(&c.constants.places, NULL);
    weft_bytes_finish(&c.text);
    weft_image_finish(&c.image);
    weft_arena_finish(&c.arena);
    return status;
}

weft_status *weft_object_compile(const weft_program *program, const weft_object_options *options,
                                 weft_object_emitter emit_object, weft_object **out_object)
{
    weft_object *object = weft_allocate_zeroed(program->allocator, sizeof *object);
    if (object == NULL) return weft_status_out_of_memory();
    object->allocator = *program->allocator;
    weft_bytes_init(&object->code, &object->allocator);
    weft_bytes_init(&object->header, &object->allocator);
    weft_bytes_init(&object->pkg_config, &object->allocator);
    weft_bytes_init(&object->weights, &object->allocator);
    weft_object_plan plan;
    weft_status *status = weft_object_plan_init(&plan, program, options);
    if (status == NULL) status = compile_plan(program, &plan, emit_object, object);
    weft_object_plan_finish(&plan);
    if (status == NULL) *out_object = object;
    else weft_object_destroy(object);
    return status;
}

void weft_object_destroy(weft_object *object)
{
    if (object == NULL) return;
    weft_bytes_finish(&object->code);
    weft_bytes_finish(&object->header);
    weft_bytes_finish(&object->pkg_config);
    weft_bytes_finish(&object->weights);
    weft_allocator allocator = object->allocator;
    weft_free(&allocator, object, sizeof *object);
}

const void *weft_object_code(const weft_object *object, size_t *out_size)
{
    *out_size = object->code.size;
    return object->code.data;
}

const char *weft_object_header(const weft_object *object)
{
    return object->header.data;
}

const char *weft_object_pkg_config(const weft_object *object)
{
    return object->pkg_config.data;
}

const void *weft_object_weights(const weft_object *object, size_t *out_size)
{
    *out_size = object->weights.size;
    return object->weights.size == 0 ? NULL : object->weights.data;
}
