/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
/*
 * ptx [--shard I/N] FILE...: every kernel of the suite, or of every Nth case, goes through the schedule for GPUs to
 * PTX, and in batches through ptxas, if there is one. Nothing is run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/weft.h>
#include "backends/llvm/runtime.h"
#include "lib/build/build.h"
#include "runtime/base/map.h"
#include "test/conform/case.h"

enum { BATCH = 256 };

typedef struct assembler {
    const weft_llvm_interface *llvm;
    const char *command; /* NULL: there is none */
    const char *title;   /* of the case at hand */
    weft_map seen;       /* texts of kernels */
    char path[64];
    FILE *batch;
    size_t cases, shard, shards;
    size_t kernels, failed;
} assembler;

static void complain(assembler *a, weft_status *status)
{
    if (status == NULL) return;
    printf("FAILED %s: %s\n", a->title, weft_status_message(status));
    weft_status_destroy(status);
    a->failed++;
}

/* ---- batches ---- */

static void begin_batch(assembler *a)
{
    rewind(a->batch);
    if (ftruncate(fileno(a->batch), 0) != 0) a->failed++;
}

static void end_batch(assembler *a)
{
    char command[256];
    fflush(a->batch);
    if (a->command != NULL && ftell(a->batch) > 0) {
        snprintf(command, sizeof command, "%s -arch=sm_90 -O1 -o /dev/null %s", a->command, a->path);
        if (system(command) != 0) {
            printf("FAILED %s: a kernel of %s, or of the cases before\n", command, a->title);
            a->failed++;
        }
    }
    begin_batch(a);
}

/* Functions beside the kernel are in every module that needs them. */
static void append_line(assembler *a, const char *line, size_t length)
{
    static const char shared[] = "weft_local_";
    const char *end = line + length;
    for (const char *at; (at = memmem(line, (size_t)(end - line), shared, sizeof shared - 1)) != NULL;) {
        at += sizeof shared - 1;
        fwrite(line, 1, (size_t)(at - line), a->batch);
        fprintf(a->batch, "%zu", a->kernels);
        line = at;
    }
    fwrite(line, 1, (size_t)(end - line), a->batch);
}

/* A file has one header; each module brings its own. */
static void append_module(assembler *a, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = newline == NULL ? (size_t)(end - text) : (size_t)(newline - text) + 1;
        bool header = strncmp(text, ".version", 8) == 0 || strncmp(text, ".target", 7) == 0 ||
                      strncmp(text, ".address_size", 13) == 0;
        if (!header || a->kernels % BATCH == 1) append_line(a, text, length);
        text += length;
    }
}

/* ---- kernels ---- */

static weft_status *emit(assembler *a, const weft_kernel *kernel)
{
    char symbol[32];
    weft_bytes ptx;
    if (a->kernels % BATCH == 0) end_batch(a);
    snprintf(symbol, sizeof symbol, "kernel%zu", a->kernels);
    WEFT_TRY(a->llvm->emit(weft_allocator_default(), kernel, symbol, WEFT_LLVM_PTX, &ptx));
    a->kernels++;
    append_module(a, ptx.data, ptx.size);
    weft_bytes_finish(&ptx);
    return NULL;
}

static weft_status *visit(void *context, const weft_kernel_view *kernel)
{
    assembler *a = context;
    weft_bytes text;
    weft_bytes_init(&text, weft_allocator_default());
    weft_status *status = weft_kernel_print(kernel->scheduled, &text);
    bool known = status != NULL || weft_map_find(&a->seen, text.data, text.size) != NULL;
    if (!known && !weft_map_insert(&a->seen, text.data, text.size, a)) status = weft_status_out_of_memory();
    if (!known && status == NULL) status = emit(a, kernel->scheduled);
    weft_bytes_finish(&text);
    return status;
}

static void assemble_case(void *context, const weft_test_case *given)
{
    weft_machine machine = *weft_machine_reference();
    assembler *a = context;
    weft_module *module = NULL;
    weft_program *program = NULL;
    if (a->cases++ % a->shards != a->shard) return;
    a->title = given->title;
    machine.device = WEFT_DEVICE_CUDA;
    weft_status *status = weft_graph_parse(given->title, given->text, strlen(given->text), NULL, 0, NULL, &module);
    if (status == NULL)
        status = weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program);
    if (status == NULL) status = weft_program_visit_kernels(program, &machine, NULL, visit, a);
    complain(a, status);
    weft_program_release(program);
    weft_module_destroy(module);
}

static const char *find_assembler(void)
{
    static const char *const commands[] = {"ptxas", "/usr/local/cuda/bin/ptxas"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char probe[128];
        snprintf(probe, sizeof probe, "command -v %s >/dev/null 2>&1", commands[i]);
        if (system(probe) == 0) return commands[i];
    }
    printf("there is no ptxas: PTX is made but not assembled\n");
    return NULL;
}

int main(int argc, char **argv)
{
    assembler a = {.command = find_assembler(), .title = "loading", .path = "/tmp/weft-ptx-XXXXXX", .shards = 1};
    bool sharded = argc > 2 && strcmp(argv[1], "--shard") == 0;
    if (sharded && (sscanf(argv[2], "%zu/%zu", &a.shard, &a.shards) != 2 || a.shard >= a.shards)) return 1;
    int file = mkstemp(a.path);
    a.batch = file < 0 ? NULL : fdopen(file, "w");
    weft_map_init(&a.seen, weft_allocator_default());
    complain(&a, weft_llvm_load(&a.llvm));
    for (int i = sharded ? 3 : 1; i < argc && a.batch != NULL && a.llvm != NULL; i++)
        a.failed += !weft_test_cases_read(argv[i], assemble_case, &a);
    if (a.batch != NULL) {
        end_batch(&a);
        fclose(a.batch);
        remove(a.path);
    }
    weft_map_finish(&a.seen, NULL);
    printf("%zu kernels, %zu failures\n", a.kernels, a.failed);
    return a.failed == 0 && a.kernels > 0 ? 0 : 1;
}
