/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_SCHEDULE_UNROLL_H
#define WEFT_LIB_SCHEDULE_UNROLL_H
/* How many vectors a round of lanes has. */
#include <weft/machine.h>
#include "lib/loop/loop.h"

/* Instructions of a stage whose lanes run along variable `lanes`, without constants. A mask for elements of one or two
 * bytes is tested. */
uint32_t weft_unroll_body(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes);
/* The same, where an access that is made lane by lane counts as one for each lane of a vector of f32 with AVX-512, and
 * as two where data say where it is. */
uint32_t weft_unroll_emitted(const weft_kernel *kernel, const weft_stage *stage, weft_expr lanes);
/* Of lanes of `width` along which a load jumps, while it walks memory along the last range of its stage, so that code
 * generators read blocks of rows: two, or one where lines of twice as many rows would evict each other from L1; 0: there
 * is no such load. */
uint32_t weft_unroll_across_rows(const weft_kernel *kernel, weft_expr lanes, uint32_t width);
/* Vectors for each round that the registers hold. */
uint32_t weft_unroll_of(uint32_t body);
/* Of what does little but walk through memory: with vectors of 64 bytes four at most. Eight lines of one array that are
 * asked for at once are not fetched ahead as well as four. */
uint32_t weft_unroll_walking(const weft_machine *machine, uint32_t unroll);
/* No more than the range can ever fill. */
uint32_t weft_unroll_limit(const weft_kernel *kernel, uint32_t unroll, weft_expr extent, uint32_t width);
/* Both. */
uint32_t weft_unroll_for(const weft_kernel *kernel, uint32_t body, weft_expr extent, uint32_t width);
/* Of a kernel whose largest stage emits so many instructions: more vectors than the registers hold where most wait for
 * others. */
weft_status *weft_unroll_choose(weft_kernel *kernel, const weft_machine *machine, uint32_t emitted, weft_expr extent,
                                uint32_t width, uint32_t *out_unroll) WEFT_MUST_USE;
#endif
