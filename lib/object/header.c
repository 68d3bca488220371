/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/header.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/object/imports.h"
#include "runtime/base/map.h"
#include "runtime/object/digest.h"
#include "runtime/program/variant.h"

typedef struct header_writer {
    const weft_header_request *request;
    const weft_program *program;
    weft_bytes *text;
    weft_arena arena;
    weft_map used;        /* fields of the struct at hand */
    const char **symbols; /* fields */
    const char **arrays;  /* of inputs, then outputs */
} header_writer;

/* ---- names ---- */

static const char *const keywords[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "const_cast",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "extents",
    "weights",
    "NULL",
    "linux",
    "unix",
    "typeof_unqual",
};

/* Keywords, macros that compilers may have, and types. */
static bool is_reserved(const char *name)
{
    size_t i = 0, length = strlen(name);
    while (i < sizeof keywords / sizeof *keywords && strcmp(keywords[i], name) != 0) i++;
    return i < sizeof keywords / sizeof *keywords || (length > 2 && strcmp(name + length - 2, "_t") == 0);
}

/* Whether the field, and the one of its layout, are free. */
static bool is_free(const header_writer *w, const char *field)
{
    char layout[160];
    snprintf(layout, sizeof layout, "%s_layout", field);
    return !is_reserved(field) && weft_map_find(&w->used, field, strlen(field)) == NULL &&
           weft_map_find(&w->used, layout, strlen(layout)) == NULL;
}

static bool take(header_writer *w, const char *field)
{
    return weft_map_insert(&w->used, field, strlen(field), w);
}

static weft_status *find_field(header_writer *w, const char *name, bool has_layout, const char **out_field)
{
    enum { LONGEST = 100 };
    char field[LONGEST + 24], layout[160];
    size_t length = 0;
    /* No field begins with a digit, or with what belongs to the compiler or to weft. */
    bool prefixed = isdigit((unsigned char)*name) || *name == '_' || strncmp(name, "weft_", strlen("weft_")) == 0;
    if (prefixed || !isascii((unsigned char)*name) || !isalnum((unsigned char)*name)) field[length++] = 'x';
    for (; *name != '\0' && length < LONGEST; name++)
        field[length++] = isascii((unsigned char)*name) && isalnum((unsigned char)*name) ? *name : '_';
    field[length] = '\0';
    for (unsigned number = 2; !is_free(w, field); number++)
        snprintf(field + length, sizeof field - length, "_%u", number);
    snprintf(layout, sizeof layout, "%s_layout", field);
    *out_field = weft_arena_string(&w->arena, field, strlen(field));
    bool made = *out_field != NULL && take(w, field) && (!has_layout || take(w, layout));
    return made ? NULL : weft_status_out_of_memory();
}

static weft_status *find_fields(header_writer *w)
{
    const weft_program *program = w->program;
    size_t symbols = program->formulas.symbol_count, arrays = program->input_count + program->output_count;
    w->symbols = weft_arena_allocate(&w->arena, (symbols + 1) * sizeof *w->symbols);
    w->arrays = weft_arena_allocate(&w->arena, (arrays + 1) * sizeof *w->arrays);
    if (w->symbols == NULL || w->arrays == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < symbols; i++)
        WEFT_TRY(find_field(w, program->formulas.symbols[i].name, false, &w->symbols[i]));
    weft_map_finish(&w->used, NULL);
    weft_map_init(&w->used, w->request->allocator);
    for (size_t i = 0; i < program->input_count; i++)
        WEFT_TRY(find_field(w, program->inputs[i].name, true, &w->arrays[i]));
    for (size_t i = 0; i < program->output_count; i++)
        WEFT_TRY(find_field(w, program->outputs[i].name, true, &w->arrays[program->input_count + i]));
    return NULL;
}

/* ---- comments ---- */

/* A name as it is, as far as nothing in it can end the comment, or begin one: what is not printable ASCII, and a
 * backslash, which may join lines, are escaped, and what is not to meet is apart. */
static void print_comment(weft_bytes *text, const char *name)
{
    for (char last = '\0'; *name != '\0'; last = *name++) {
        unsigned char c = (unsigned char)*name;
        bool ends = (last == '*' && c == '/') || (last == '/' && c == '*') || (last == '?' && c == '?');
        if (c < ' ' || c > '~' || c == '\\') weft_bytes_print(text, "\\x%02x", c);
        else weft_bytes_print(text, ends ? " %c" : "%c", c);
    }
}

static void print_type(weft_bytes *text, const weft_program_value *value)
{
    weft_bytes_print(text, "%s [", weft_dtype_name(value->dtype));
    for (size_t i = 0; i < value->rank; i++) {
        if (i > 0) weft_bytes_print(text, ", ");
        print_comment(text, value->axes[i].extent);
    }
    weft_bytes_print(text, "]");
}

/* Where the name of an array is not that of its field. */
static void print_name(weft_bytes *text, const char *name, const char *field)
{
    if (strcmp(name, field) == 0) return;
    weft_bytes_print(text, "\"");
    print_comment(text, name);
    weft_bytes_print(text, "\": ");
}

/* ---- structs ---- */

static const char *type_of(weft_dtype dtype)
{
    static const char *const types[WEFT_DTYPE_COUNT] = {
        [WEFT_BOOL] = "uint8_t", [WEFT_U8] = "uint8_t",      [WEFT_I32] = "int32_t",       [WEFT_U32] = "uint32_t",
        [WEFT_I64] = "int64_t",  [WEFT_F16] = "uint16_t",    [WEFT_BF16] = "uint16_t",     [WEFT_F32] = "float",
        [WEFT_F64] = "double",   [WEFT_C64] = "weft_rt_c64", [WEFT_C128] = "weft_rt_c128",
    };
    return types[dtype];
}

static void print_extents(const header_writer *w)
{
    const char *name = w->request->name;
    const weft_formulas *formulas = &w->program->formulas;
    if (formulas->symbol_count == 0) return;
    weft_bytes_print(w->text, "/* The sizes of a call. */\ntypedef struct %s_extents {\n", name);
    for (size_t i = 0; i < formulas->symbol_count; i++) {
        const weft_symbol_info *info = &formulas->symbols[i];
        weft_bytes_print(w->text, "    int64_t %s; /* ", w->symbols[i]);
        print_name(w->text, info->name, w->symbols[i]);
        weft_bytes_print(w->text, "%" PRId64 " to %" PRId64 " */\n", info->min, info->max);
    }
    weft_bytes_print(w->text, "} %s_extents;\n\n", name);
}

/* The inputs whose memory the output may have. */
static void print_donors(const header_writer *w, size_t output)
{
    const uint32_t *alias = w->request->output_alias;
    size_t count = 0;
    for (size_t i = 0; alias != NULL && i < w->program->input_count; i++)
        if (alias[i] == output)
            weft_bytes_print(w->text, "%s%s", count++ == 0 ? "; the memory of " : " or ", w->arrays[i]);
    if (count > 0) weft_bytes_print(w->text, " may be given, which is then updated in place");
}

static void print_array(const header_writer *w, size_t array)
{
    const weft_program *program = w->program;
    bool is_input = array < program->input_count;
    size_t output = array - program->input_count;
    const weft_program_value *value = is_input ? &program->inputs[array] : &program->outputs[output];
    weft_bytes_print(w->text, "    %s%s *%s; /* ", is_input ? "const " : "", type_of(value->dtype), w->arrays[array]);
    print_name(w->text, value->name, w->arrays[array]);
    print_type(w->text, value);
    if (!is_input) print_donors(w, output);
    weft_bytes_print(w->text, " */\n");
}

static void print_call(const header_writer *w)
{
    const weft_program *program = w->program;
    const char *name = w->request->name;
    size_t count = program->input_count + program->output_count;
    weft_bytes_print(w->text,
                     "/* What a run reads and writes. Zero-initialise; layouts are NULL where arrays are row-major. "
                     "*/\ntypedef struct %s_call {\n",
                     name);
    if (program->formulas.symbol_count > 0) weft_bytes_print(w->text, "    %s_extents extents;\n", name);
    if (w->request->has_weights)
        weft_bytes_print(w->text, "    const void *weights; /* the bytes of %s.weights: weft_rt_weights_map */\n",
                         name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 && program->input_count > 0) weft_bytes_print(w->text, "    /* inputs */\n");
        if (i == program->input_count) weft_bytes_print(w->text, "    /* outputs */\n");
        print_array(w, i);
    }
    if (count > 0) weft_bytes_print(w->text, "    /* how they lie in memory */\n");
    for (size_t i = 0; i < count; i++)
        weft_bytes_print(w->text, "    const weft_rt_layout *%s_layout;\n", w->arrays[i]);
    weft_bytes_print(w->text, "} %s_call;\n\n", name);
}

static void print_shapes(const header_writer *w)
{
    const weft_program *program = w->program;
    bool any = false;
    for (size_t i = 0; i < program->output_count; i++) any |= program->outputs[i].rank > 0;
    weft_bytes_print(w->text, "/* The extents of each axis of the outputs. */\ntypedef struct %s_shapes {\n",
                     w->request->name);
    for (size_t i = 0; i < program->output_count; i++)
        if (program->outputs[i].rank > 0)
            weft_bytes_print(w->text, "    int64_t %s[%u];\n", w->arrays[program->input_count + i],
                             (unsigned)program->outputs[i].rank);
    if (!any) weft_bytes_print(w->text, "    int64_t none; /* they have no axes */\n");
    weft_bytes_print(w->text, "} %s_shapes;\n\n", w->request->name);
}

/* ---- the whole ---- */

static void print_imports(const header_writer *w)
{
    const weft_imports *imports = w->request->imports;
    for (size_t i = 0; i < imports->count; i++) {
        const weft_op_def *op = imports->items[i].op;
        if (op->bitcode != NULL) continue;
        weft_bytes_print(w->text, "/* To be linked from the source of extension %s: %s%s%s, of op %s. */\n",
                         imports->items[i].extension->family, op->kernel_symbol, op->scratch_symbol != NULL ? ", " : "",
                         op->scratch_symbol != NULL ? op->scratch_symbol : "", op->name);
    }
}

static void print_functions(const header_writer *w, uint32_t digest)
{
    const char *name = w->request->name;
    const char *trial = w->request->freestanding ? " * It finds out in the memory of the workspace, where bindings are "
                                                   "gone then. OUT_OF_MEMORY: `size` is a\n"
                                                   " * number of bytes to try with. Memory that is less than `size` "
                                                   "afterwards is taken out of the workspace.\n"
                                                   " * A pool is not used.\n"
                                                 : "";
    weft_bytes_print(
        w->text,
        "/* Checks the extents and layouts of a call, and fills in the bytes of workspace that it needs; arrays need "
        "not be\n"
        " * there yet. `out_shapes` and `out_error` may be NULL.\n"
        "%s */\n"
        "weft_rt_code %s_prepare(const %s_call *call, weft_rt_workspace *workspace, %s_shapes *out_shapes,\n"
        "    weft_rt_error *out_error) WEFT_RT_SYMBOL(\"%s_prepare" WEFT_HEADER_MARK "%08" PRIx32 "\");\n"
        "/* Computes the outputs. Everything is checked before anything is written; after an error that is not "
        "DATA_ERROR,\n"
        " * outputs are as they were%s. `out_error` may be NULL. */\n"
        "weft_rt_code %s_run(const %s_call *call, weft_rt_workspace *workspace, weft_rt_error *out_error)\n"
        "    WEFT_RT_SYMBOL(\"%s_run" WEFT_HEADER_MARK "%08" PRIx32 "\");\n"
        "/* What the object says about itself. */\n"
        "const weft_rt_manifest *%s_manifest(void);\n\n",
        trial, name, name, name, name, digest,
        w->request->imports->count > 0 ? ", unless it comes from the op of an extension" : "", name, name, name, digest,
        name);
}

static weft_status *write(header_writer *w, uint32_t *out_digest)
{
    const char *name = w->request->name;
    WEFT_TRY(find_fields(w));
    weft_bytes_print(w->text,
                     "/* Written by weft %d.%d.%d, for %s. Link %s.o%s. */\n#ifndef %s_H_INCLUDED\n"
                     "#define %s_H_INCLUDED\n#include <weft/rt.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
                     WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, w->request->isa, name,
                     w->request->freestanding ? ", which needs no library" : " and libweft-rt", name, name);
    print_imports(w);
    size_t begin = w->text->size;
    print_extents(w);
    print_call(w);
    print_shapes(w);
    WEFT_TRY(weft_bytes_status(w->text));
    *out_digest = (uint32_t)weft_digest(w->text->data + begin, w->text->size - begin);
    print_functions(w, *out_digest);
    weft_bytes_print(w->text, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return weft_bytes_status(w->text);
}

weft_status *weft_header_write(const weft_header_request *request, weft_bytes *out_text, uint32_t *out_digest)
{
    header_writer w = {.request = request, .program = request->program, .text = out_text};
    weft_arena_init(&w.arena, request->allocator);
    weft_map_init(&w.used, request->allocator);
    weft_status *status = write(&w, out_digest);
    weft_map_finish(&w.used, NULL);
    weft_arena_finish(&w.arena);
    return status;
}
