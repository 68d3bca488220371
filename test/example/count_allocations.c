/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked to the decoder with --wrap for each function below: counts what its calls of weft allocate, and says so at the
 * end.
 */
#include <stddef.h>
#include <stdio.h>
#include <weft/rt.h>

static size_t allocations, prepares, runs, in_prepares, in_runs;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
weft_rt_code __real_weft_rt_prepare(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                                    int64_t *out_shapes, weft_rt_error *out_error);
weft_rt_code __real_weft_rt_run(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                                weft_rt_error *out_error);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    allocations++;
    return __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

weft_rt_code __wrap_weft_rt_prepare(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                                    int64_t *out_shapes, weft_rt_error *out_error)
{
    size_t before = allocations;
    weft_rt_code code = __real_weft_rt_prepare(object, call, workspace, out_shapes, out_error);
    prepares++;
    in_prepares += allocations - before;
    return code;
}

weft_rt_code __wrap_weft_rt_run(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                                weft_rt_error *out_error)
{
    size_t before = allocations;
    weft_rt_code code = __real_weft_rt_run(object, call, workspace, out_error);
    runs++;
    in_runs += allocations - before;
    return code;
}

__attribute__((destructor)) static void report(void)
{
    fprintf(stderr, "%zu prepares allocated %zu times, %zu runs %zu times\n", prepares, in_prepares, runs, in_runs);
}
