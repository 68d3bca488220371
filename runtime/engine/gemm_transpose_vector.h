/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weft_gemm_transpose for one size of numbers and one ISA level: squares of as many registers as one has lanes.
 * Included once for each, after the macros below; it ends by undefining them.
 *
 *     SOURCE, ELEMENT, NAME(x)        where numbers lie, and where they go; the name of a function
 *     FUNCTION, VECTOR                what is defined; a register of numbers
 *     LOAD, LOAD_FIRST(p, n)          from memory; the first n alone, others are zero
 *     STORE, STORE_FIRST(p, v, n)     to memory; the first n alone
 *     TRANSPOSE(v)                    of a square of registers
 */
enum { NAME(LANES) = sizeof(VECTOR) / sizeof(ELEMENT) };

/* Inlined with constants where the square is whole. Where lines are missing the last one is read again. */
static inline __attribute__((always_inline)) void
NAME(move_square)(const char *from, const ptrdiff_t *offsets, int64_t lines, int64_t terms, ELEMENT *out, int64_t width)
{
    VECTOR square[NAME(LANES)];
    UNROLL for (int64_t i = 0; i < NAME(LANES); i++)
    {
        const SOURCE *line = (const SOURCE *)(from + offsets[i < lines ? i : lines - 1]);
        square[i] = terms == NAME(LANES) ? LOAD(line) : LOAD_FIRST(line, terms);
    }
    TRANSPOSE(square);
    UNROLL for (int64_t t = 0; t < NAME(LANES); t++)
    {
        if (t == terms) break;
        if (lines == NAME(LANES)) STORE(out, square[t]);
        else STORE_FIRST(out, square[t], lines);
        out += width;
    }
}

void FUNCTION(const char *from, const ptrdiff_t *offsets, int64_t lines, int64_t terms, char *out, int64_t width)
{
    for (int64_t i = 0; i < lines; i += NAME(LANES)) {
        const char *at = from;
        ELEMENT *column = (ELEMENT *)out + i;
        int64_t count = lines - i < NAME(LANES) ? lines - i : NAME(LANES), t = 0;
        for (; count == NAME(LANES) && t + NAME(LANES) <= terms; t += NAME(LANES), at += NAME(LANES) * sizeof(SOURCE))
            NAME(move_square)(at, offsets + i, NAME(LANES), NAME(LANES), column + t * width, width);
        for (; t < terms; t += NAME(LANES), at += NAME(LANES) * sizeof(SOURCE)) NAME(move_square)
        (at, offsets + i, count, terms - t < NAME(LANES) ? terms - t : NAME(LANES), column + t * width, width);
    }
}

#undef SOURCE
#undef ELEMENT
#undef NAME
#undef FUNCTION
#undef VECTOR
#undef LOAD
#undef LOAD_FIRST
#undef STORE
#undef STORE_FIRST
#undef TRANSPOSE
