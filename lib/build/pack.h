/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_BUILD_PACK_H
#define WEFT_LIB_BUILD_PACK_H
/* What is the same for constants and for operands of loops that products read packed (gemm_panels.h). */
#include "lib/build/builder.h"
#include "runtime/engine/gemm.h"

typedef struct known_product {
    weft_gemm_call call;
    int64_t batch[4][2 * WEFT_MAX_RANK];
} known_product;

/* Whether the products of this variant may read packed operands: on the host, by our engines. */
bool weft_pack_is_possible(const variant_builder *builder);
/* Fills in the product, if all about it is known. */
bool weft_pack_find_product(const weft_variant *variant, const weft_gemm *gemm, known_product *out_product);
/* What products of the variant are run with. Programs compiled ahead of time, for no runtime, have no fast ones. */
const weft_gemm_engine *weft_pack_find_engine(const weft_build_request *request, weft_dtype dtype);
/* Whether panels of the operand take no more than twice the memory of its buffer, of known size: it is not broadcast,
 * nor read in windows. */
bool weft_pack_is_whole(const weft_variant *variant, const weft_step *step, const weft_gemm_call *call, size_t operand);
/* Adds a temporary for the panels of an operand: a list of numbers. */
weft_status *weft_pack_add_buffer(variant_builder *builder, const weft_gemm_engine *engine, const weft_gemm_call *call,
                                  weft_panels operand, uint32_t *out_buffer) WEFT_MUST_USE;
/* Has the product read them in place of the operand. */
weft_status *weft_pack_read_panels(variant_builder *builder, weft_step *step, weft_panels operand,
                                   uint32_t panels) WEFT_MUST_USE;
#endif
