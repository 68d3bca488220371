/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/memory.h"
#include <stdio.h>
#include <string.h>
#include <weft/einsum.h>
#include "test/random/draw.h"

enum { TIMES = 4 };

static bool fails_now(weft_test_memory *memory)
{
    size_t left = atomic_load(&memory->left);
    while (left != SIZE_MAX)
        if (atomic_compare_exchange_weak(&memory->left, &left, left == 0 ? SIZE_MAX : left - 1)) return left == 0;
    return false;
}

static void *resize(void *self, void *block, size_t old_size, size_t new_size, size_t alignment)
{
    weft_test_memory *memory = self;
    const weft_allocator *source = memory->source;
    if (new_size > 0 && fails_now(memory)) return NULL;
    void *moved = source->resize(source->self, block, old_size, new_size, alignment);
    if (new_size > 0) atomic_fetch_add(&memory->requests, 1);
    if (block == NULL && moved != NULL) atomic_fetch_add(&memory->blocks, 1);
    if (block != NULL && new_size == 0) atomic_fetch_sub(&memory->blocks, 1);
    return moved;
}

void weft_test_memory_init(weft_test_memory *memory, const weft_allocator *source)
{
    *memory = (weft_test_memory){.allocator = {memory, resize}, .source = source, .left = SIZE_MAX};
}

static weft_status *compile(const weft_allocator *allocator, const char *text, weft_program **out_program)
{
    const weft_extension *einsum = weft_einsum_extension();
    weft_module *module = NULL;
    char *printed = NULL;
    WEFT_TRY(weft_graph_parse("short", text, strlen(text), &(weft_graph_options){.allocator = allocator}, 1, &einsum,
                              &module));
    weft_status *status = weft_graph_print(module->outputs, &printed);
    if (status == NULL)
        status = weft_compile_named(module->graph, module->outputs, module->output_names, NULL, out_program);
    weft_text_destroy(printed);
    weft_module_destroy(module);
    return status;
}

/* Where there is no memory to print an extent, the message of a guard has a question mark. */
static bool is_same(const char *found, const char *whole)
{
    enum { RESUMED = 4 }; /* characters by which the rest is known */
    for (; *found != '\0'; found++) {
        if (*found == *whole) whole++;
        else if (*found != '?') return false;
        else
            while (*whole != '\0' && strncmp(found + 1, whole, RESUMED) != 0) whole++;
    }
    return *whole == '\0';
}

/* Whether a request that failed is what the status says, or did not matter. */
static bool judge(const weft_status *status, const weft_program *program, const weft_program *whole)
{
    if (status != NULL) return weft_status_code(status) == WEFT_OUT_OF_MEMORY;
    return is_same(weft_program_text(program), weft_program_text(whole));
}

static bool fail_one(size_t request, const char *text, const weft_program *whole, char *out_problem, size_t size)
{
    weft_test_memory memory;
    weft_program *program = NULL;
    weft_test_memory_init(&memory, weft_allocator_default());
    atomic_store(&memory.left, request);
    weft_status *status = compile(&memory.allocator, text, &program);
    atomic_store(&memory.left, SIZE_MAX);
    bool good = judge(status, program, whole);
    if (!good)
        snprintf(out_problem, size, "compiling without memory (request %zu): %s: %s", request,
                 weft_code_name(weft_status_code(status)),
                 status == NULL ? "another program" : weft_status_message(status));
    weft_status_destroy(status);
    weft_program_release(program);
    size_t lost = atomic_load(&memory.blocks);
    if (good && lost > 0)
        snprintf(out_problem, size, "compiling without memory (request %zu): %zu blocks are lost", request, lost);
    return good && lost == 0;
}

bool weft_test_compile_short(uint64_t *state, const char *text, char *out_problem, size_t size)
{
    weft_test_memory memory;
    weft_program *whole = NULL;
    weft_test_memory_init(&memory, weft_allocator_default());
    weft_status *status = compile(&memory.allocator, text, &whole);
    bool good = status == NULL;
    if (!good) snprintf(out_problem, size, "compiling again: %s", weft_status_message(status));
    weft_status_destroy(status);
    for (int i = 0; i < TIMES && good; i++)
        good = fail_one(weft_test_below(state, atomic_load(&memory.requests)), text, whole, out_problem, size);
    weft_program_release(whole);
    return good;
}
