/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_mirror.h"
#include <string.h>

enum { SQUARE = WEFT_GEMM_SQUARE, PART = 8 /* rows of a part on the diagonal */ };

/* Elements of a part beyond the diagonal become those across it, one by one. */
static void copy_elements(const weft_gemm_mirror *m, const int64_t *begin, const int64_t *end)
{
    for (int64_t i = begin[0]; i < end[0]; i++) {
        char *to = m->c + i * m->left + begin[1] * m->right;
        const char *from = m->c + i * m->right + begin[1] * m->left;
        for (int64_t j = begin[1]; j < end[1] && j < i; j++, to += m->right, from += m->left) {
            if (m->size == sizeof(float)) memcpy(to, from, sizeof(float));
            else memcpy(to, from, sizeof(double));
        }
    }
}

/* The same of a part with nothing on the diagonal, by squares of registers where elements are adjacent. */
static void copy_part(const weft_gemm_mirror *m, const int64_t *begin, const int64_t *end)
{
    bool along = m->right == m->size;
    if (!along && m->left != m->size) {
        copy_elements(m, begin, end);
        return;
    }
    ptrdiff_t offsets[SQUARE];
    const int64_t first = begin[along], lines = end[along] - first, terms = end[!along] - begin[!along];
    const int64_t stride = along ? m->left : m->right;
    for (int64_t k = 0; k < lines; k++) offsets[k] = (first + k) * stride;
    char *to = m->c + begin[0] * m->left + begin[1] * m->right;
    m->transpose(m->c + begin[!along] * m->size, offsets, lines, terms, to, stride / m->size);
}

void weft_gemm_mirror_rows(const weft_gemm_mirror *m, int64_t first, int64_t last)
{
    for (int64_t j = 0; j + SQUARE <= first; j += SQUARE)
        copy_part(m, (const int64_t[]){first, j}, (const int64_t[]){last, j + SQUARE});
    for (int64_t i = first; i < last; i += PART) {
        const int64_t on[] = {i, i}, end[] = {i + PART < last ? i + PART : last, i + PART};
        if (i > first) copy_part(m, (const int64_t[]){i, first}, (const int64_t[]){end[0], i});
        copy_elements(m, on, end);
    }
}
