/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/pass/compile.h"
#include "runtime/base/map.h"
#include "runtime/base/status.h"
#include "runtime/data/output_file.h"
#include "runtime/program/program.h"

/*
 * A saved program is a text: a line that says what it is and has the digest and the length of the text after it, and
 * the length of the code that follows; lines for what the text of a graph does not say; an empty line; the optimised
 * graph. Inputs that no output needs are further outputs of that graph. Code is entries as a cache on disk has them,
 * each with its own checksum.
 */

#define MAGIC "weft program "
enum { HEAD = 128 }; /* the longest first line */

/* ---- saving ---- */

static bool is_needed(const weft_compiled *compiled, const uint8_t *live, size_t input)
{
    return live[compiled->inputs[input]] != 0;
}

/* That no output has; NULL when out of memory. */
static const char *free_name(const weft_program *program, weft_arena *arena, size_t input)
{
    char name[64];
    size_t number = input;
    do snprintf(name, sizeof name, "input.%zu.%zu", input, number++);
    while (weft_program_find_output(program, name) != SIZE_MAX);
    return weft_arena_string(arena, name, strlen(name));
}

/* Outputs, then the inputs that none of them needs, under names of their own. */
static weft_status *print_graph(const weft_program *program, weft_arena *arena, weft_bytes *text)
{
    const weft_compiled *compiled = program->graph;
    size_t count = compiled->output_count, most = count + program->input_count;
    uint8_t *live = weft_arena_allocate(arena, compiled->graph->node_count + 1);
    weft_value *values = weft_arena_allocate(arena, (most + 1) * sizeof *values);
    const char **names = weft_arena_allocate(arena, (most + 1) * sizeof *names);
    if (live == NULL || values == NULL || names == NULL) return weft_status_out_of_memory();
    weft_graph_mark(compiled->graph, count, compiled->outputs, live);
    for (size_t i = 0; i < count; i++) {
        values[i] = compiled->outputs[i];
        names[i] = program->outputs[i].name;
    }
    for (size_t i = 0; i < program->input_count; i++) {
        if (is_needed(compiled, live, i)) continue;
        values[count] = (weft_value){compiled->inputs[i], 0};
        names[count] = free_name(program, arena, i);
        if (names[count++] == NULL) return weft_status_out_of_memory();
    }
    return weft_graph_print_named(compiled->graph, count, values, names, text);
}

static weft_status *print_rest(const weft_program *program, weft_bytes *text)
{
    weft_arena arena;
    weft_bytes graph;
    weft_bytes_print(text, "outputs %zu\npolicy %d %d\n", program->output_count, (int)program->policy.products,
                     (int)program->policy.functions);
    for (size_t i = 0; i < program->idle_count; i++)
        weft_bytes_print(text, "idle %" PRId64 " %" PRId64 " %s\n", program->idle[i].min, program->idle[i].max,
                         program->idle[i].name);
    weft_bytes_print(text, "\n");
    weft_arena_init(&arena, program->allocator);
    weft_bytes_init(&graph, program->allocator);
    weft_status *status = print_graph(program, &arena, &graph);
    if (status == NULL) weft_bytes_append(text, graph.data, graph.size);
    weft_bytes_finish(&graph);
    weft_arena_finish(&arena);
    return status == NULL ? weft_bytes_status(text) : status;
}

/* The first line without its end. */
static void print_head(char out_head[HEAD], uint64_t digest, size_t size, size_t code_size)
{
    snprintf(out_head, HEAD, MAGIC "%d.%d %016" PRIx64 " %zu %zu", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, digest, size,
             code_size);
}

static bool write_file(const char *path, size_t text_size, const weft_bytes *text)
{
    char head[HEAD];
    print_head(head, weft_hash(text->data, text_size), text_size, text->size - text_size);

    weft_output_file file;
    if (!weft_output_file_open(&file, path)) return false;
    bool good = fprintf(file.file, "%s\n", head) > 0 && fwrite(text->data, 1, text->size, file.file) == text->size;
    return weft_output_file_close(&file, good);
}

weft_status *weft_program_save(const weft_program *program, const char *path)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(path);
    weft_bytes text;
    weft_bytes_init(&text, program->allocator);
    weft_status *status = print_rest(program, &text);
    size_t text_size = text.size;
    weft_kept_code_append(program->kept, &text);
    if (status == NULL) status = weft_bytes_status(&text);
    if (status == NULL && !write_file(path, text_size, &text))
        status = weft_status_create(program->allocator, WEFT_BAD_FILE, __func__, "%s cannot be written: %s",
                                    *path == '\0' ? "\"\"" : path, strerror(errno));
    weft_bytes_finish(&text);
    return status;
}

/* ---- loading ---- */

/* What is left of the file. */
typedef struct rest {
    const char *at;
    size_t size;
} rest;

typedef struct loader {
    const weft_allocator *allocator;
    const char *where; /* the function that was called */
    const char *name;  /* of the file */
    weft_arena arena; /* of lines */
    rest text, code;
    size_t output_count;
    weft_policy policy;
    size_t idle_count;
    rest idle; /* from the first of their lines on */
} loader;

static weft_status *refuse(const loader *l, const char *reason)
{
    return weft_status_create(l->allocator, WEFT_BAD_FILE, l->where, "%s: %s", *l->name == '\0' ? "\"\"" : l->name,
                              reason);
}

/* The next line without its end; "" when there is none. */
static weft_status *take_line(loader *l, rest *from, const char **out_line)
{
    const char *end = from->size == 0 ? NULL : memchr(from->at, '\n', from->size);
    size_t length = end == NULL ? 0 : (size_t)(end - from->at), past = end == NULL ? 0 : length + 1;
    *out_line = weft_arena_string(&l->arena, length == 0 ? "" : from->at, length);
    *from = (rest){from->at + past, from->size - past};
    return *out_line == NULL ? weft_status_out_of_memory() : NULL;
}

bool weft_program_is_saved(const void *data, size_t size)
{
    return data != NULL && size >= strlen(MAGIC) && memcmp(data, MAGIC, strlen(MAGIC)) == 0;
}

/* Reads the first line, and takes apart what follows: it is one, of this version, and has its length. */
static weft_status *read_head(loader *l, uint64_t *out_digest)
{
    unsigned major = 0, minor = 0;
    size_t size = 0, code_size = 0;
    const char *line;
    char again[HEAD];
    if (!weft_program_is_saved(l->text.at, l->text.size)) return refuse(l, "it is no saved program");
    WEFT_TRY(take_line(l, &l->text, &line));
    int read = sscanf(line, MAGIC "%u.%u %16" SCNx64 " %zu %zu", &major, &minor, out_digest, &size, &code_size);
    if (read >= 2 && (major != WEFT_VERSION_MAJOR || minor != WEFT_VERSION_MINOR))
        return weft_status_create(l->allocator, WEFT_VERSION_MISMATCH, l->where,
                                  "%s: it was saved by weft %u.%u, this is %d.%d", l->name, major, minor,
                                  WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR);
    print_head(again, *out_digest, size, code_size);
    if (read != 5 || strcmp(line, again) != 0) return refuse(l, "its first line is damaged");
    if (size > l->text.size || code_size != l->text.size - size) return refuse(l, "it is damaged");
    l->code = (rest){l->text.at + size, code_size};
    l->text.size = size;
    return NULL;
}

/* The lines between the first one and the graph. */
static weft_status *read_lines(loader *l)
{
    int products, functions;
    const char *outputs, *policy, *line;
    WEFT_TRY(take_line(l, &l->text, &outputs));
    WEFT_TRY(take_line(l, &l->text, &policy));
    if (sscanf(outputs, "outputs %zu", &l->output_count) != 1 ||
        sscanf(policy, "policy %d %d", &products, &functions) != 2)
        return refuse(l, "it is damaged");
    l->policy = (weft_policy){.size = sizeof l->policy,
                              .passes = "",
                              .keep_symbolic_extensions = true,
                              .products = (weft_product_policy)products,
                              .functions = (weft_function_policy)functions};
    l->idle = l->text;
    WEFT_TRY(take_line(l, &l->text, &line));
    for (; *line != '\0'; l->idle_count++) WEFT_TRY(take_line(l, &l->text, &line));
    return NULL;
}

static weft_status *add_idle(loader *l, weft_program *program)
{
    const char *line;
    program->idle = weft_arena_allocate(&program->arena, (l->idle_count + 1) * sizeof *program->idle);
    if (program->idle == NULL) return weft_status_out_of_memory();
    program->idle_count = 0;
    for (size_t i = 0; i < l->idle_count; i++) {
        weft_symbol_info *idle = &program->idle[program->idle_count];
        int used = 0;
        WEFT_TRY(take_line(l, &l->idle, &line));
        if (sscanf(line, "idle %" SCNd64 " %" SCNd64 " %n", &idle->min, &idle->max, &used) != 2 || used == 0 ||
            line[used] == '\0' || idle->min > idle->max)
            return refuse(l, "it is damaged");
        idle->name = weft_arena_string(&program->arena, line + used, strlen(line + used));
        if (idle->name == NULL) return weft_status_out_of_memory();
        program->idle_count++;
    }
    return NULL;
}

static weft_status *compile(loader *l, const weft_module *module, weft_program **out_program)
{
    weft_tensors outputs = module->outputs, inputs = module->outputs;
    if (l->output_count > outputs.count) return refuse(l, "it is damaged");
    outputs.count = l->output_count;
    inputs.items += l->output_count;
    inputs.count -= l->output_count;
    for (size_t i = 0; i < inputs.count; i++)
        if (weft_op_id_of(weft_graph_node(module->graph, inputs.items[i].node)->op) != WEFT_OP_input)
            return refuse(l, "it is damaged");
    weft_program *program;
    WEFT_TRY(weft_compile_with_inputs(module->graph, outputs, module->output_names, inputs, &l->policy, &program));
    weft_status *status = add_idle(l, program);
    if (status == NULL) *out_program = program;
    else weft_program_release(program);
    return status;
}

static weft_status *parse(loader *l, size_t extension_count, const weft_extension *const *extensions,
                          weft_program **out_program)
{
    weft_module *module;
    uint64_t digest = 0;
    WEFT_TRY(read_head(l, &digest));
    if (weft_hash(l->text.at, l->text.size) != digest) return refuse(l, "it is damaged");
    WEFT_TRY(read_lines(l));
    const weft_graph_options options = {.allocator = l->allocator};
    WEFT_TRY(weft_graph_parse(l->name, l->text.at, l->text.size, &options, extension_count, extensions, &module));
    weft_status *status = compile(l, module, out_program);
    weft_module_destroy(module);
    return status;
}

static weft_status *parse_program(const char *where, const char *name, rest file, const weft_allocator *allocator,
                                  size_t extension_count, const weft_extension *const *extensions,
                                  weft_program **out_program)
{
    loader l = {.allocator = weft_allocator_or_default(allocator), .where = where, .name = name, .text = file};
    weft_arena_init(&l.arena, l.allocator);
    weft_status *status = parse(&l, extension_count, extensions, out_program);
    weft_arena_finish(&l.arena);
    return status;
}

weft_status *weft_program_parse(const char *name, const void *data, size_t size, const weft_allocator *allocator,
                                size_t extension_count, const weft_extension *const *extensions,
                                weft_program **out_program)
{
    WEFT_REQUIRE(name);
    WEFT_REQUIRE(data);
    WEFT_REQUIRE(out_program);
    return parse_program(__func__, name, (rest){data, size}, allocator, extension_count, extensions, out_program);
}

static weft_status *parse_entries(loader *l, weft_program *program)
{
    uint64_t digest = 0;
    WEFT_TRY(read_head(l, &digest));
    WEFT_TRY(weft_program_make_kept(program));
    return weft_kept_code_add_entries(program->kept, l->code.at, l->code.size);
}

static weft_status *parse_code(const char *where, weft_program *program, const char *name, rest file, size_t *out_count)
{
    loader l = {.allocator = program->allocator, .where = where, .name = name, .text = file};
    weft_arena_init(&l.arena, l.allocator);
    weft_status *status = parse_entries(&l, program);
    weft_arena_finish(&l.arena);
    if (status == NULL && out_count != NULL) *out_count = weft_program_code_count(program);
    return status;
}

weft_status *weft_program_parse_code(weft_program *program, const char *name, const void *data, size_t size,
                                     size_t *out_count)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(name);
    WEFT_REQUIRE(data);
    return parse_code(__func__, program, name, (rest){data, size}, out_count);
}

/* ---- files ---- */

static weft_status *refuse_file(const char *where, const weft_bytes *text, const char *path, int error)
{
    return weft_status_create(text->allocator, WEFT_BAD_FILE, where, "%s: %s", *path == '\0' ? "\"\"" : path,
                              strerror(error));
}

static rest rest_of(const weft_bytes *text)
{
    return (rest){text->data == NULL ? "" : text->data, text->size};
}

/* No more than the beginning of what is no saved program. */
static weft_status *read_file(const char *where, const char *path, weft_bytes *text)
{
    char part[4096];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return refuse_file(where, text, path, errno);
    for (size_t size; !text->failed && (size = fread(part, 1, sizeof part, file)) > 0;) {
        weft_bytes_append(text, part, size);
        if (!weft_program_is_saved(text->data, text->size)) break;
    }
    bool failed = ferror(file) != 0;
    int error = errno;
    fclose(file);
    return failed ? refuse_file(where, text, path, error) : weft_bytes_status(text);
}

weft_status *weft_program_load(const weft_allocator *allocator, const char *path, size_t extension_count,
                               const weft_extension *const *extensions, weft_program **out_program)
{
    WEFT_REQUIRE(path);
    WEFT_REQUIRE(out_program);
    weft_bytes text;
    weft_bytes_init(&text, weft_allocator_or_default(allocator));
    weft_status *status = read_file(__func__, path, &text);
    if (status == NULL)
        status = parse_program(__func__, path, rest_of(&text), allocator, extension_count, extensions, out_program);
    weft_bytes_finish(&text);
    return status;
}

weft_status *weft_program_load_code(weft_program *program, const char *path, size_t *out_count)
{
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(path);
    weft_bytes text;
    weft_bytes_init(&text, program->allocator);
    weft_status *status = read_file(__func__, path, &text);
    if (status == NULL) status = parse_code(__func__, program, path, rest_of(&text), out_count);
    weft_bytes_finish(&text);
    return status;
}
