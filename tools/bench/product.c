/* SPDX-License-Identifier: Apache-2.0 */
#include "suite.h"
#include <pthread.h>
#include <blis.h>

/* BLIS called directly, one thread per call; the rows are cut by the caller. */

static cntx_t *context;

static void start(void)
{
    bli_init();
    arch_t arch = bli_arch_query_id();
#if defined(BLIS_CONFIG_SKX) && defined(__x86_64__)
    /* BLIS 0.9 does not know every AVX-512 machine by its name and then runs at half speed. */
    bool wide = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (wide && __builtin_cpu_supports("avx512vl") && arch != BLIS_ARCH_KNL) arch = BLIS_ARCH_SKX;
#endif
    context = bli_gks_lookup_nat_cntx(arch);
}

typedef struct matrix {
    const void *memory;
    int64_t rows, columns;
    int64_t row_stride, column_stride;
} matrix;

static void multiply_matrices(num_t type, bool small, matrix a, matrix b, matrix c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    const matrix *matrices[] = {&a, &b, &c};
    obj_t objects[3];
    for (int i = 0; i < 3; i++) {
        const matrix *m = matrices[i];
        bli_obj_create_with_attached_buffer(type, m->rows, m->columns, (void *)m->memory, m->row_stride,
                                            m->column_stride, &objects[i]);
    }
    rntm_t runtime = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &runtime);
    if (!small) bli_rntm_disable_l3_sup(&runtime);
    bli_gemm_ex(&BLIS_ONE, &objects[0], &objects[1], &BLIS_ZERO, &objects[2], context, &runtime);
}

void weft_bench_blis(bool of_f64, int64_t m, int64_t n, int64_t k, const void *a, const void *b, void *c)
{
    multiply_matrices(of_f64 ? BLIS_DOUBLE : BLIS_FLOAT, true, (matrix){a, m, k, k, 1}, (matrix){b, k, n, n, 1},
                      (matrix){c, m, n, n, 1});
}

static void multiply(const case_data *data, num_t type, bool small, int64_t begin, int64_t end)
{
    int64_t n = data->columns, m = end - begin, skipped = begin * n * (type == BLIS_FLOAT ? 4 : 8);
    multiply_matrices(type, small, (matrix){(const char *)data->inputs[0] + skipped, m, n, n, 1},
                      (matrix){data->inputs[1], n, n, n, 1}, (matrix){(char *)data->output + skipped, m, n, n, 1});
}

void floor_product_f32(const case_data *data, int64_t begin, int64_t end)
{
    multiply(data, BLIS_FLOAT, false, begin, end);
}

void floor_product_f64(const case_data *data, int64_t begin, int64_t end)
{
    multiply(data, BLIS_DOUBLE, false, begin, end);
}

void floor_small_product_f32(const case_data *data, int64_t begin, int64_t end)
{
    multiply(data, BLIS_FLOAT, true, begin, end);
}

void floor_small_product_f64(const case_data *data, int64_t begin, int64_t end)
{
    multiply(data, BLIS_DOUBLE, true, begin, end);
}

/* Rows are blocks of 64 queries, whose scores stay in L2. */
void floor_attention(const case_data *data, int64_t begin, int64_t end)
{
    enum { BLOCK = 64, LENGTH = 512, DEPTH = 64 };
    static _Thread_local float scores[BLOCK * LENGTH], weights[BLOCK * LENGTH];
    for (int64_t block = begin; block < end; block++) {
        int64_t head = block / (LENGTH / BLOCK) * LENGTH * DEPTH, first = block * BLOCK * DEPTH;
        const float *q = (const float *)data->inputs[0] + first, *k = (const float *)data->inputs[1] + head;
        multiply_matrices(BLIS_FLOAT, false, (matrix){q, BLOCK, DEPTH, DEPTH, 1}, (matrix){k, DEPTH, LENGTH, 1, DEPTH},
                          (matrix){scores, BLOCK, LENGTH, LENGTH, 1});
        for (int i = 0; i < BLOCK * LENGTH; i++) scores[i] *= 0.125f;
        for (int i = 0; i < BLOCK; i++) floor_softmax_row(scores + i * LENGTH, weights + i * LENGTH, LENGTH);
        multiply_matrices(BLIS_FLOAT, false, (matrix){weights, BLOCK, LENGTH, LENGTH, 1},
                          (matrix){(const float *)data->inputs[2] + head, LENGTH, DEPTH, DEPTH, 1},
                          (matrix){(float *)data->output + first, BLOCK, DEPTH, DEPTH, 1});
    }
}

void floor_conv(const case_data *data, int64_t begin, int64_t end)
{
    enum { CHANNELS = 64, SUMMED = 64 * 3 * 3, PLACES = 56 * 56 };
    multiply_matrices(BLIS_FLOAT, false, (matrix){data->inputs[1], CHANNELS, SUMMED, SUMMED, 1},
                      (matrix){data->scratch + begin, SUMMED, end - begin, PLACES, 1},
                      (matrix){(float *)data->output + begin, CHANNELS, end - begin, PLACES, 1});
}
