/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_H
#define WEFT_RUNTIME_ENGINE_GEMM_H
/* Batched matrix products over our own thread pool. */
#include <weft/runtime.h>
#include "runtime/data/block.h"
#include "runtime/base/isa.h"
#include "runtime/base/pool.h"
#include "runtime/engine/float16.h"

/* Real products that are added up in order, fused, before their sum is added to those of the terms before: a complex
 * number gives two. The order of products in generated loops too (lib/lower/numerics.c). */
#define WEFT_GEMM_TERMS 256

/* What products of one dtype are computed with, on one ISA level. Bits are the same with all levels, and other ones
 * beyond them. */
typedef struct weft_gemm_engine {
    const struct weft_gemm_kernel *kernel;   /* of real numbers */
    const struct weft_gemm_numbers *numbers; /* how elements become these */
    const weft_float16 *float16;             /* NULL: elements are not of 16 bits */
} weft_gemm_engine;

/* Each refers to what it needs and nothing else. */
extern const weft_gemm_engine weft_gemm_portable_engine_f16, weft_gemm_portable_engine_bf16,
    weft_gemm_portable_engine_f32, weft_gemm_portable_engine_f64, weft_gemm_portable_engine_c64,
    weft_gemm_portable_engine_c128;
extern const weft_gemm_engine weft_gemm_v3_engine_f16, weft_gemm_v3_engine_bf16, weft_gemm_v3_engine_f32,
    weft_gemm_v3_engine_f64, weft_gemm_v3_engine_c64, weft_gemm_v3_engine_c128, weft_gemm_v3_engine_u8;
extern const weft_gemm_engine weft_gemm_v4_engine_f16, weft_gemm_v4_engine_bf16, weft_gemm_v4_engine_f32,
    weft_gemm_v4_engine_f64, weft_gemm_v4_engine_c64, weft_gemm_v4_engine_c128, weft_gemm_v4_engine_u8;

/* By instructions beyond the levels, for processes that gemm_instructions.h grants them. */
extern const weft_gemm_engine weft_gemm_amx_engine_bf16, weft_gemm_dot_engine_bf16, weft_gemm_dot_engine_u8;

/* Of an ISA level; NULL for a dtype without products: u8, whose products are i32, has them from v3 on. Static. */
const weft_gemm_engine *weft_gemm_engine_find(weft_isa level, weft_dtype dtype);

/* The same, or by instructions that this process has, whatever the level: for u8, and, if `is_fast`, with other bits,
 * for WEFT_PRODUCTS_FAST. */
const weft_gemm_engine *weft_gemm_engine_find_here(weft_isa level, weft_dtype dtype, bool is_fast);

/* f16, bf16, f32, f64, c64, c128: what engines of all levels multiply. */
bool weft_gemm_supports(weft_dtype dtype);
/* Bytes of an element of C: products of u8 are i32. */
size_t weft_gemm_result_size(weft_dtype dtype);
/* Whether C has no elements. */
bool weft_gemm_is_empty(const weft_gemm_call *call);
/* The bytes of the largest block of the store that weft_gemm_run acquires, one for each thread at a time, with a pool
 * of so many threads of the machine; 0: none. `call` is as for weft_gemm_run. */
size_t weft_gemm_bytes(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                       size_t threads);
/* About how many nanoseconds weft_gemm_run takes with that many threads of the machine. */
double weft_gemm_estimate(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                          size_t threads);
/*
 * C[b] = A[b] * B[b]; C is only written. Without terms it becomes zero. Each element's bits depend on its row of A, its
 * column of B and the engine, not on strides, m, n or the pool. No byte but those of the elements is touched. Operands
 * are packed into blocks of `store`; WEFT_OUT_OF_MEMORY without them, and C is unspecified then.
 */
weft_status *weft_gemm_run(const weft_gemm_engine *engine, weft_pool *pool, weft_block_store *store,
                           const weft_gemm_call *call, const void *a, const void *b, void *c) WEFT_MUST_USE;

/* What weft_gemm_run decides before it sees arrays, for a call that is made again and again. */
typedef struct weft_gemm_plan weft_gemm_plan;
size_t weft_gemm_plan_size(void);
/* Fills memory of that size, which is aligned as for any type. `call` is not empty, and stays where it is. */
void weft_gemm_plan_fill(weft_gemm_plan *plan, const weft_gemm_engine *engine, const weft_machine *machine,
                         const weft_gemm_call *call, size_t threads);
/* weft_gemm_run of that call. */
weft_status *weft_gemm_plan_run(const weft_gemm_plan *plan, weft_pool *pool, weft_block_store *store, const void *a,
                                const void *b, void *c) WEFT_MUST_USE;
#endif
