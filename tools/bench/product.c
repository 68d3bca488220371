/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"
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

static void multiply(const case_data *data, num_t type, bool small, int64_t begin, int64_t end)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    int64_t n = data->columns, skipped = begin * n * (type == BLIS_FLOAT ? 4 : 8);
    obj_t a, b, c;
    bli_obj_create_with_attached_buffer(type, end - begin, n, (char *)data->inputs[0] + skipped, n, 1, &a);
    bli_obj_create_with_attached_buffer(type, n, n, (void *)data->inputs[1], n, 1, &b);
    bli_obj_create_with_attached_buffer(type, end - begin, n, (char *)data->output + skipped, n, 1, &c);
    rntm_t runtime = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &runtime);
    if (!small) bli_rntm_disable_l3_sup(&runtime);
    bli_gemm_ex(&BLIS_ONE, &a, &b, &BLIS_ZERO, &c, context, &runtime);
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
