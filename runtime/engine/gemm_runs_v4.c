/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Panels of lines that come in runs, with AVX-512. A register is put together from pieces of runs, under masks, and
 * written once: registers of panels whose rows are whole ones are lines of the cache, where a store that ends in the
 * next line takes several times as long.
 */
#include "runtime/engine/gemm_runs.h"
#include "runtime/engine/gemm_v4.h"
#include "runtime/engine/vector.h"

enum { REGISTER = 64, NUMBERS = REGISTER / sizeof(float), MOST_PIECES = REGISTER / 2 };

/* What of a register is in one run: its bytes, or, of every second number, the numbers of two registers that are read.
 * `place` is where lane 0 would be. */
struct piece {
    ptrdiff_t place;
    uint64_t mask;
};

INLINE uint64_t ones(int64_t count)
{
    return count == 0 ? 0 : ~(uint64_t)0 >> (REGISTER - count);
}

/* Of the register that begins with number `first` of a row. Returns how many they are. */
static int64_t find_pieces(const weft_gemm_runs *p, int64_t first, struct piece *pieces)
{
    const int64_t size = (int64_t)p->size, end = first + REGISTER / size;
    int64_t found = 0, begin = 0;
    for (int64_t i = 0; i < p->count && begin < end; begin += p->runs[i++].count) {
        int64_t low = begin < first ? first : begin, high = begin + p->runs[i].count;
        if (high > end) high = end;
        if (low >= high) continue;
        uint64_t mask = p->stride == 1 ? ones((high - low) * size) << (low - first) * size
                                       : ones(2 * (high - low) - 1) << 2 * (low - first);
        pieces[found++] = (struct piece){p->runs[i].place + (first - begin) * p->stride * size, mask};
    }
    return found;
}

/* Inlined with a constant number of pieces, so that masks are registers. */
INLINE void copy_pieces(const weft_gemm_runs *p, const struct piece *pieces, int64_t count, __mmask64 written, char *to)
{
    struct piece piece[MOST_PIECES];
    for (int64_t i = 0; i < count; i++) piece[i] = pieces[i];
    const weft_gemm_runs runs = *p;
    for (int64_t t = 0; t < runs.terms; t++, to += runs.pitch) {
        const char *from = runs.from + runs.offsets[t];
        __m512i v = _mm512_maskz_loadu_epi8(piece[0].mask, from + piece[0].place);
        for (int64_t i = 1; i < count; i++) v = _mm512_mask_loadu_epi8(v, piece[i].mask, from + piece[i].place);
        _mm512_mask_storeu_epi8(to, written, v);
    }
}

/* The same of every second number. */
INLINE void copy_even_pieces(const weft_gemm_runs *p, const struct piece *pieces, int64_t count, __mmask64 written,
                             char *to)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    struct piece piece[MOST_PIECES];
    for (int64_t i = 0; i < count; i++) piece[i] = pieces[i];
    const weft_gemm_runs runs = *p;
    for (int64_t t = 0; t < runs.terms; t++, to += runs.pitch) {
        const char *from = runs.from + runs.offsets[t];
        __m512i low = _mm512_setzero_si512(), high = low;
        for (int64_t i = 0; i < count; i++) {
            const char *at = from + piece[i].place;
            low = _mm512_mask_loadu_epi32(low, (__mmask16)piece[i].mask, at);
            high = _mm512_mask_loadu_epi32(high, (__mmask16)(piece[i].mask >> NUMBERS), at + REGISTER);
        }
        _mm512_mask_storeu_epi8(to, written, _mm512_permutex2var_epi32(low, even, high));
    }
}

INLINE void copy_register(const weft_gemm_runs *p, const struct piece *pieces, int64_t count, __mmask64 written,
                          char *to)
{
    if (p->stride == 1) copy_pieces(p, pieces, count, written, to);
    else copy_even_pieces(p, pieces, count, written, to);
}

void weft_gemm_runs_v4(const weft_gemm_runs *p)
{
    int64_t numbers = 0;
    for (int64_t i = 0; i < p->count; i++) numbers += p->runs[i].count;
    for (int64_t first = 0; first < numbers; first += REGISTER / (int64_t)p->size) {
        struct piece pieces[MOST_PIECES];
        int64_t count = find_pieces(p, first, pieces), rest = (numbers - first) * (int64_t)p->size;
        const __mmask64 written = ones(rest < REGISTER ? rest : REGISTER);
        char *to = p->out + first * (int64_t)p->size;
        switch (count) {
        case 1: copy_register(p, pieces, 1, written, to); break;
        case 2: copy_register(p, pieces, 2, written, to); break;
        case 3: copy_register(p, pieces, 3, written, to); break;
        default: copy_register(p, pieces, count, written, to);
        }
    }
}
