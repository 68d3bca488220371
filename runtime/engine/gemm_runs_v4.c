/* SPDX-License-Identifier: Apache-2.0 */
/* Panels of lines that come in runs, with AVX-512: whole registers, and a last one under a mask. */
#include "runtime/engine/gemm_runs.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

enum { REGISTER = 64, NUMBERS = REGISTER / sizeof(float) };

INLINE void copy_last(char *to, const char *from, __mmask64 mask)
{
    _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
}

/* Inlined with a constant number of registers. */
INLINE void copy_runs(const weft_gemm_runs *p, int64_t registers)
{
    const int64_t rest = p->count * (int64_t)p->size - (registers - 1) * REGISTER;
    const __mmask64 mask = ~(__mmask64)0 >> (REGISTER - rest);
    char *to = p->out;
    for (int64_t t = 0; t < p->terms; t++, to += p->pitch) {
        const char *from = p->from + p->offsets[t];
        for (int64_t i = 0; i < registers - 1; i++)
            _mm512_storeu_si512(to + i * REGISTER, _mm512_loadu_si512(from + i * REGISTER));
        copy_last(to + (registers - 1) * REGISTER, from + (registers - 1) * REGISTER, mask);
    }
}

/* Every second one of the numbers that lie from `from` on, as many as two masks say. */
INLINE __m512 load_even(const any_float *from, __mmask16 low, __mmask16 high)
{
    const __m512i places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512 first = _mm512_maskz_loadu_ps(low, from), second = _mm512_maskz_loadu_ps(high, from + NUMBERS);
    return _mm512_permutex2var_ps(first, places, second);
}

INLINE void copy_even_runs(const weft_gemm_runs *p, int64_t registers)
{
    const int64_t rest = p->count - (registers - 1) * NUMBERS;
    const uint32_t read = UINT32_MAX >> (2 * NUMBERS + 1 - 2 * rest);
    const __mmask16 low = (__mmask16)read, high = (__mmask16)(read >> NUMBERS), last = (__mmask16)((1U << rest) - 1);
    char *out = p->out;
    for (int64_t t = 0; t < p->terms; t++, out += p->pitch) {
        const any_float *from = (const any_float *)(p->from + p->offsets[t]);
        any_float *to = (any_float *)out;
        for (int64_t i = 0; i < registers - 1; i++, from += 2 * NUMBERS, to += NUMBERS)
            _mm512_storeu_ps(to, load_even(from, UINT16_MAX, UINT16_MAX));
        _mm512_mask_storeu_ps(to, last, load_even(from, low, high));
    }
}

INLINE void move_runs(const weft_gemm_runs *p, int64_t registers)
{
    if (p->stride == 1) copy_runs(p, registers);
    else copy_even_runs(p, registers);
}

void weft_gemm_runs_v4(const weft_gemm_runs *p)
{
    int64_t registers = (p->count * (int64_t)p->size + REGISTER - 1) / REGISTER;
    switch (registers) {
    case 1: move_runs(p, 1); break;
    case 2: move_runs(p, 2); break;
    case 3: move_runs(p, 3); break;
    default: move_runs(p, registers);
    }
}
