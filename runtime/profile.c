/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/profile.h"
#include <math.h>
#include <time.h>

int64_t weft_clock_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static double count_elements(const weft_bound_variant *bound, const weft_buffer *buffer)
{
    double count = 1;
    for (uint32_t i = 0; i < buffer->rank; i++) count *= (double)bound->values[buffer->extents[i]];
    return count;
}

static double buffer_bytes(const weft_bound_variant *bound, const weft_step *step, size_t i, double accesses)
{
    const weft_buffer *buffer = &bound->variant->buffers[step->buffers[i]];
    double count = count_elements(bound, buffer);
    return (accesses < count ? accesses : count) * (double)weft_dtype_size(buffer->dtype);
}

/* A kernel that reads a few rows of a table moves no more than it reads. */
static void estimate_kernel(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                            weft_profile_record *record)
{
    const weft_step *step = bound_step->step;
    if (step->accesses == NULL || bound_step->iterations <= 0) return;
    record->flops = (double)weft_bound_variant_estimate(bound, step->flops);
    for (size_t i = 0; i < step->buffer_count; i++)
        record->bytes += buffer_bytes(bound, step, i, (double)weft_bound_variant_estimate(bound, step->accesses[i]));
}

static void estimate_gemm(const weft_gemm_call *gemm, weft_profile_record *record)
{
    double m = (double)gemm->m, n = (double)gemm->n, k = (double)gemm->k, batch = 1;
    bool complex = weft_dtype_info_of(gemm->dtype)->kind == WEFT_KIND_COMPLEX;
    for (size_t i = 0; i < gemm->batch_rank; i++) batch *= (double)gemm->batch[i];
    record->flops = batch * m * n * k * (complex ? 8 : 2);
    record->bytes = batch * (m * k + k * n + m * n) * (double)weft_dtype_size(gemm->dtype);
}

static void estimate_buffers(const weft_bound_variant *bound, const weft_step *step, weft_profile_record *record)
{
    for (size_t i = 0; i < step->buffer_count; i++) record->bytes += buffer_bytes(bound, step, i, HUGE_VAL);
}

void weft_profile_estimate(const weft_bound_variant *bound, const weft_bound_step *bound_step,
                           weft_profile_record *out_record)
{
    *out_record = (weft_profile_record){.size = sizeof *out_record, .name = bound_step->step->name};
    switch (bound_step->step->kind) {
    case WEFT_STEP_KERNEL:
        out_record->kind = WEFT_PROFILE_KERNEL;
        estimate_kernel(bound, bound_step, out_record);
        break;
    case WEFT_STEP_GEMM:
        out_record->kind = WEFT_PROFILE_PRODUCT;
        estimate_gemm(&bound_step->gemm, out_record);
        break;
    case WEFT_STEP_SORT:
        out_record->kind = WEFT_PROFILE_SORT;
        estimate_buffers(bound, bound_step->step, out_record);
        break;
    case WEFT_STEP_HOST:
        out_record->kind = WEFT_PROFILE_HOST;
        estimate_buffers(bound, bound_step->step, out_record);
        break;
    case WEFT_STEP_REGION: out_record->kind = WEFT_PROFILE_REGION; break;
    }
}

void weft_profile_step(const weft_frame *frame, size_t number, int64_t begin, int64_t end)
{
    weft_profile_record record;
    weft_profile_estimate(frame->bound, &frame->bound->steps[number], &record);
    record.step = number;
    record.depth = frame->depth;
    record.begin_ns = begin;
    record.end_ns = end;
    frame->profile->record(frame->profile->self, &record);
}
