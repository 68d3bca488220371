/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_GEMM_H
#define WEFT_RUNTIME_ENGINE_GEMM_H
/* Batched matrix products with BLIS's kernels, over our own thread pool. */
#include <weft/runtime.h>
#include "runtime/data/block.h"
#include "runtime/base/pool.h"

/* Real products that are added up in order, fused, before their sum is added to those of the terms before: a complex
 * number gives two. The order of products in generated loops too (lib/lower/numerics.c). */
#define WEFT_GEMM_TERMS 256

/* f16, bf16, f32, f64, c64, c128. */
bool weft_gemm_supports(weft_dtype dtype);
/* Whether C has no elements. */
bool weft_gemm_is_empty(const weft_gemm_call *call);
/* At least as many bytes as a thread packs for it, or for a part of it. */
size_t weft_gemm_most_bytes(const weft_machine *machine, const weft_gemm_call *call);
/* About how many nanoseconds weft_gemm_run takes with that many threads of the machine. */
double weft_gemm_estimate(const weft_machine *machine, const weft_gemm_call *call, size_t threads);
/*
 * C[b] = A[b] * B[b]; C is only written. Without terms it becomes zero. Each element's bits depend on its row of A, its
 * column of B and the engine, not on strides, m, n or the pool. No byte but those of the elements is touched. Operands
 * are packed into blocks of `store`; WEFT_OUT_OF_MEMORY without them, and C is unspecified then.
 */
weft_status *weft_gemm_run(weft_pool *pool, weft_block_store *store, const weft_gemm_call *call, const void *a,
                           const void *b, void *c) WEFT_MUST_USE;
#endif
