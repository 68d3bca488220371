/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs text cases: run [--rewrite] FILE... A file is a sequence of cases, each
 *     # case: what it shows
 *     # passes: a,b                       (none when missing; `kernels`: compiled, and the kernels that
 *                                       makes; `plain,kernels`: compiled by no pass; `kernels_wide`: for vectors of
 *                                       64 bytes)
 *     graph text, or kernel text            (passes of kernels: complex, math, stage_cse, legalize_float16, schedule,
 *                                       schedule_gpu, schedule_wide for vectors of 64 bytes; `apply MOVES` is a
 *                                       schedule, up to the end of the line)
 *     # expect                          and the text after the passes; or # error: part of the message
 * What is expected must also survive being printed again, and a schedule that is chosen must give the same kernel when
 * its text is applied. Ops of einsum are known. With --rewrite what a case expects becomes what it gives, where these
 * differ: the differences are to be read before they are committed. A text does not become an error, nor an error a
 * text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/weft.h>
#include "lib/build/build.h"
#include "lib/math/math.h"
#include "lib/pass/rewrite.h"
#include "lib/schedule/schedule.h"

/* A part of the file, and what is to be there instead; NULL: nothing else. */
typedef struct text_edit {
    const char *begin, *end;
    char *text;
} text_edit;

typedef struct text_case {
    const char *file;
    size_t line; /* of the first line */
    char title[128], passes[512], error[512];
    char *graph, *expected; /* NULL where there is none */
    size_t expected_line;
    text_edit edit; /* of what is expected */
} text_case;

static bool rewriting;
static const char applies[] = "apply";

/* ---- reading ---- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = calloc((size_t)size + 1, 1);
    if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = '\0';
    fclose(file);
    return text;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

/* Copies what follows `key` on the line, if it starts with that. */
static bool take_directive(const char *line, const char *key, char *out_value, size_t size)
{
    size_t length = strlen(key);
    if (strncmp(line, key, length) != 0) return false;
    line += length;
    while (*line == ' ') line++;
    snprintf(out_value, size, "%.*s", (int)strcspn(line, "\n"), line);
    return true;
}

static void append_line(char **text, const char *line, size_t length)
{
    size_t old = *text == NULL ? 0 : strlen(*text);
    char *grown = realloc(*text, old + length + 1);
    if (grown == NULL) abort();
    memcpy(grown + old, line, length);
    grown[old + length] = '\0';
    *text = grown;
}

/* Reads one case from `*cursor`; false at the end of the file. */
static bool read_case(const char **cursor, size_t *line_number, text_case *c)
{
    char ignored[8];
    bool started = false;
    while (**cursor != '\0') {
        const char *line = *cursor;
        size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
        if (strncmp(line, "# case:", 7) == 0 && started) return true;
        *cursor += length;
        *line_number += 1;
        if (take_directive(line, "# case:", c->title, sizeof c->title)) {
            c->line = *line_number;
            started = true;
        } else if (take_directive(line, "# expect", ignored, sizeof ignored)) {
            c->expected_line = *line_number;
            c->edit.begin = *cursor;
            append_line(&c->expected, "", 0);
        } else if (take_directive(line, "# error: ", c->error, sizeof c->error)) {
            c->edit.begin = line + strlen("# error: ");
            c->edit.end = line + strcspn(line, "\n");
        } else if (started && !take_directive(line, "# passes:", c->passes, sizeof c->passes)) {
            append_line(c->expected_line != 0 ? &c->expected : &c->graph, line, length);
        }
    }
    return started;
}

/* ---- running ---- */

static weft_status *apply(weft_kernel *kernel, const char *moves, const weft_machine *machine)
{
    moves += *moves == ' ';
    weft_schedule schedule;
    weft_schedule_init(&schedule, NULL);
    weft_status *status = weft_schedule_parse("schedule", moves, &schedule);
    if (status == NULL) status = weft_schedule_apply(kernel, &schedule, machine);
    weft_schedule_finish(&schedule);
    return status;
}

static weft_status *compare_kernels(const weft_kernel *a, const weft_kernel *b, const char *moves)
{
    weft_bytes texts[2];
    weft_bytes_init(&texts[0], NULL);
    weft_bytes_init(&texts[1], NULL);
    weft_status *status = weft_kernel_print(a, &texts[0]);
    if (status == NULL) status = weft_kernel_print(b, &texts[1]);
    if (status == NULL && strcmp(texts[0].data, texts[1].data) != 0)
        status = weft_status_create(NULL, WEFT_INTERNAL, NULL, "%s gives another kernel:\n%s", moves, texts[1].data);
    weft_bytes_finish(&texts[0]);
    weft_bytes_finish(&texts[1]);
    return status;
}

/* Chooses a schedule, and applies its text to `clone`. */
static weft_status *schedule_both(weft_kernel *kernel, weft_kernel *clone, const weft_machine *machine)
{
    weft_schedule schedule;
    weft_bytes moves;
    weft_schedule_init(&schedule, NULL);
    weft_bytes_init(&moves, NULL);
    weft_status *status = weft_schedule_choose(kernel, machine, &(weft_template){.form = WEFT_FORM_ANY}, &schedule);
    if (status == NULL) status = weft_schedule_print(&schedule, &moves);
    const char *text = moves.size == 0 ? "" : moves.data;
    if (status == NULL) status = apply(clone, text, machine);
    if (status == NULL) status = compare_kernels(kernel, clone, text);
    weft_schedule_finish(&schedule);
    weft_bytes_finish(&moves);
    return status;
}

static weft_status *schedule(weft_kernel *kernel, const weft_machine *machine)
{
    weft_kernel *clone;
    WEFT_TRY(weft_kernel_clone(kernel, &clone));
    weft_status *status = schedule_both(kernel, clone, machine);
    weft_kernel_destroy(clone);
    return status;
}

/* The reference machine with vectors of 64 bytes. */
static weft_machine wide_machine(void)
{
    weft_machine machine = *weft_machine_reference();
    machine.vector_bytes = 64;
    machine.registers = 32;
    return machine;
}

static weft_status *run_kernel_pass(weft_kernel *kernel, const char *pass, size_t length)
{
    weft_machine gpu = *weft_machine_reference(), wide = wide_machine();
    gpu.device = WEFT_DEVICE_CUDA;
    if (strncmp(pass, applies, strlen(applies)) == 0)
        return apply(kernel, pass + strlen(applies), weft_machine_reference());
    if (strncmp(pass, "complex", length) == 0) return weft_kernel_expand_complex(kernel);
    if (strncmp(pass, "math", length) == 0) return weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE);
    if (strncmp(pass, "legalize_float16", length) == 0) return weft_kernel_legalize_float16(kernel);
    if (strncmp(pass, "stage_cse", length) == 0) return weft_kernel_stage_cse(kernel, true);
    if (strncmp(pass, "schedule_wide", length) == 0 && length > strlen("schedule")) return schedule(kernel, &wide);
    return schedule(kernel, strncmp(pass, "schedule", length) == 0 ? weft_machine_reference() : &gpu);
}

/* Replaces the kernel by a clone that the pass has changed, if the kernel prints after it as it did before. */
static weft_status *run_on_clone(weft_kernel **kernel, const char *pass, size_t length)
{
    weft_kernel *clone;
    weft_bytes before, after;
    WEFT_TRY(weft_kernel_clone(*kernel, &clone));
    weft_bytes_init(&before, NULL);
    weft_bytes_init(&after, NULL);
    weft_status *status = weft_kernel_print(*kernel, &before);
    if (status == NULL) status = run_kernel_pass(clone, pass, length);
    if (status == NULL) status = weft_kernel_verify(clone);
    if (status == NULL) status = weft_kernel_print(*kernel, &after);
    if (status == NULL && strcmp(before.data, after.data) != 0)
        status =
            weft_status_create(NULL, WEFT_INTERNAL, NULL, "a pass over a clone changed the kernel:\n%s", after.data);
    weft_bytes_finish(&before);
    weft_bytes_finish(&after);
    weft_kernel_destroy(status == NULL ? *kernel : clone);
    if (status == NULL) *kernel = clone;
    return status;
}

static weft_status *transform_kernel(const char *name, const char *text, const char *passes, weft_bytes *out_text)
{
    weft_kernel *kernel;
    WEFT_TRY(weft_kernel_parse(NULL, name, text, strlen(text), &kernel));
    weft_status *status = NULL;
    for (const char *pass = passes; *pass != '\0' && status == NULL; pass += strspn(pass, ",")) {
        size_t length = strncmp(pass, applies, strlen(applies)) == 0 ? strlen(pass) : strcspn(pass, ",");
        status = run_on_clone(&kernel, pass, length);
        pass += length;
    }
    if (status == NULL) status = weft_kernel_print(kernel, out_text);
    weft_kernel_destroy(kernel);
    return status;
}

static weft_status *print_kernel(void *context, const weft_kernel_view *kernel)
{
    return weft_kernel_print(kernel->lowered, context);
}

/* Compiles the graph and prints its kernels, unscheduled, in the order of their steps. */
static weft_status *print_kernels(const weft_module *module, const char *passes, weft_bytes *out_text)
{
    weft_program *program;
    const weft_policy plain = {.size = sizeof plain, .passes = ""};
    const weft_machine wide = wide_machine();
    bool is_plain = strcmp(passes, "plain,kernels") == 0, is_wide = strcmp(passes, "kernels_wide") == 0;
    WEFT_TRY(weft_compile(module->graph, module->outputs, is_plain ? &plain : NULL, &program));
    const weft_machine *machine = is_wide ? &wide : weft_machine_reference();
    weft_status *status = weft_program_visit_kernels(program, machine, NULL, print_kernel, out_text);
    weft_program_release(program);
    return status;
}

static bool makes_kernels(const char *passes)
{
    return strcmp(passes, "kernels") == 0 || strcmp(passes, "plain,kernels") == 0 ||
           strcmp(passes, "kernels_wide") == 0;
}

/* Parses, runs the passes and prints. */
static weft_status *transform(const char *name, const char *text, const char *passes, weft_bytes *out_text)
{
    if (strncmp(text, "kernel", strlen("kernel")) == 0) return transform_kernel(name, text, passes, out_text);
    const weft_extension *extensions[] = {weft_einsum_extension()};
    weft_module *module;
    WEFT_TRY(weft_graph_parse(name, text, strlen(text), NULL, 1, extensions, &module));
    if (makes_kernels(passes)) {
        weft_status *status = print_kernels(module, passes, out_text);
        weft_module_destroy(module);
        return status;
    }
    size_t count = module->outputs.count;
    weft_value *outputs = calloc(count, sizeof *outputs);
    if (outputs == NULL) abort();
    for (size_t i = 0; i < count; i++)
        outputs[i] = (weft_value){module->outputs.items[i].node, module->outputs.items[i].output};
    weft_policy policy = {.size = sizeof policy, .passes = passes};
    weft_status *status = weft_graph_verify(module->graph, count, outputs);
    if (status == NULL) status = weft_passes_run(module->graph, &policy, count, outputs);
    if (status == NULL) status = weft_graph_verify(module->graph, count, outputs);
    if (status == NULL) status = weft_graph_print_named(module->graph, count, outputs, module->output_names, out_text);
    free(outputs);
    weft_module_destroy(module);
    return status;
}

static bool report(const text_case *c, const char *what, const char *detail)
{
    printf("%s:%zu: %s: %s%s\n", c->file, c->line, c->title, what, detail);
    return false;
}

/* Blank lines at the end of a case only part it from the next. */
static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '\n' && text[length - 2] == '\n') text[--length] = '\0';
}

static bool compare(const text_case *c, const char *actual)
{
    const char *a = actual, *e = c->expected;
    for (size_t line = c->expected_line + 1;; line++) {
        size_t a_length = strcspn(a, "\n"), e_length = strcspn(e, "\n");
        if (a_length != e_length || memcmp(a, e, a_length) != 0) {
            printf("%s:%zu: %s: this line differs\n  expected: %.*s\n  actual:   %.*s\nall of it:\n%s", c->file, line,
                   c->title, (int)e_length, e, (int)a_length, a, actual);
            return false;
        }
        a += a_length;
        e += e_length;
        if (*a == '\0' || *e == '\0') return *a == *e || report(c, "one text ends before the other:\n", actual);
        a++;
        e++;
    }
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) abort();
    return copy;
}

/* Keeps what the case gives for its file. */
static bool rewrite(text_case *c, const char *actual)
{
    c->edit.text = copy_text(actual);
    printf("%s:%zu: %s: rewritten\n", c->file, c->line, c->title);
    return true;
}

static bool check_error(text_case *c, weft_status *status)
{
    bool failed = status != NULL && c->error[0] != '\0';
    bool good = failed && strstr(weft_status_message(status), c->error) != NULL;
    if (failed && !good && rewriting) good = rewrite(c, weft_status_message(status));
    if (!good) report(c, status == NULL ? "no error was reported" : "error: ", weft_status_message(status));
    weft_status_destroy(status);
    return good;
}

static bool run_case(text_case *c)
{
    if (c->graph == NULL || (c->expected == NULL && c->error[0] == '\0'))
        return report(c, "the case expects nothing", "");
    weft_bytes text, again;
    weft_bytes_init(&text, NULL);
    weft_bytes_init(&again, NULL);
    weft_status *status = transform("graph", c->graph, c->passes, &text);
    weft_bytes_append(&text, "", 1); /* a text even where there is no kernel */
    bool good;
    if (status != NULL || c->expected == NULL) {
        good = check_error(c, status);
    } else {
        trim_end(c->expected);
        good = rewriting && strcmp(c->expected, text.data) != 0 ? rewrite(c, text.data) : compare(c, text.data);
        bool one_text = !makes_kernels(c->passes);
        if (one_text) status = transform("printed", text.data, "", &again);
        if (good && status != NULL) good = report(c, "what was printed does not parse: ", weft_status_message(status));
        else if (good && one_text && strcmp(text.data, again.data) != 0)
            good = report(c, "printed again it differs:\n", again.data);
        weft_status_destroy(status);
    }
    weft_bytes_finish(&text);
    weft_bytes_finish(&again);
    return good;
}

/* Blank lines before the next case stay. */
static void find_end(text_case *c, const char *end)
{
    if (c->expected == NULL) return;
    while (end - c->edit.begin > 1 && end[-1] == '\n' && end[-2] == '\n') end--;
    c->edit.end = end;
}

/* From `begin` to `end`, with the edit of the case there. */
static void append_edited(char **text, const char *begin, const char *end, const text_edit *edit)
{
    if (edit->text != NULL) {
        append_line(text, begin, (size_t)(edit->begin - begin));
        append_line(text, edit->text, strlen(edit->text));
        begin = edit->end;
    }
    append_line(text, begin, (size_t)(end - begin));
}

static size_t run_cases(const char *path, const char *cursor, size_t *count, char **out_edited)
{
    size_t failed = 0, line = 0;
    for (bool found = true; found;) {
        text_case c = {.file = path};
        const char *begin = cursor;
        found = read_case(&cursor, &line, &c);
        if (found) {
            find_end(&c, cursor);
            *count += 1;
            failed += !run_case(&c);
        }
        append_edited(out_edited, begin, cursor, &c.edit);
        free(c.graph);
        free(c.expected);
        free(c.edit.text);
    }
    return failed;
}

static size_t run_file(const char *path, size_t *count)
{
    char *text = read_file(path), *edited = NULL;
    if (text == NULL) {
        printf("%s cannot be read\n", path);
        return 1;
    }
    size_t failed = run_cases(path, text, count, &edited);
    if (strcmp(text, edited) != 0 && !write_file(path, edited)) {
        printf("%s cannot be written\n", path);
        failed++;
    }
    free(text);
    free(edited);
    return failed;
}

int main(int argc, char **argv)
{
    size_t failed = 0, count = 0;
    rewriting = argc > 1 && strcmp(argv[1], "--rewrite") == 0;
    for (int i = 1 + rewriting; i < argc; i++) failed += run_file(argv[i], &count);
    printf("%zu cases, %zu failed\n", count, failed);
    return failed != 0 || count == 0;
}
