/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm_part.h"
#include <stdlib.h>

/* Numbers of a panel at most, or elements that are whole. */
static int64_t most_width(const weft_gemm_block *block, bool left)
{
    const weft_gemm_kernel *kernel = block->kernel;
    int64_t most = left ? kernel->rows : kernel->columns;
    return kernel->is_complex && left == kernel->by_columns ? most / 2 : most;
}

static int64_t panel_bytes(const weft_gemm_block *block, int64_t width)
{
    return weft_gemm_round_up(width * weft_gemm_block_terms(block) * weft_gemm_parts(block) * (int64_t)block->left.size,
                              WEFT_GEMM_ALIGNMENT);
}

/* Panels that are packed at once: about as many as fit, in parts of which none is much smaller than the others. */
static int64_t most_panels(const weft_gemm_block *block, const weft_gemm_side *side, int64_t width, int64_t bytes)
{
    int64_t all =
        weft_gemm_round_up(side->count, weft_gemm_panel_lines(side, width)) / weft_gemm_panel_lines(side, width);
    int64_t fit = bytes / panel_bytes(block, width);
    if (fit >= all) return all;
    if (fit < 1) return 1;
    int64_t parts = (all + fit * 3 / 4) / fit;
    return (all + parts - 1) / parts;
}

bool weft_gemm_is_short(const weft_gemm_block *block, bool left)
{
    const weft_gemm_side *side = left ? &block->left : &block->right;
    int64_t width = most_width(block, left), count = weft_gemm_panel_lines(side, width);
    return weft_gemm_round_up(side->count, count) / count * panel_bytes(block, width) <= block->cache_bytes / 4;
}

bool weft_gemm_is_one_tile(const weft_gemm_block *block, bool left)
{
    const weft_gemm_side *side = left ? &block->left : &block->right;
    return side->count <= weft_gemm_panel_lines(side, most_width(block, left));
}

/* Bytes of a piece of the left operand beside a right one that stays in L2. Small, since it is used a few times only;
 * where it is packed, several panels at once cost less: 64 x 576 x 3136 f32, which is a convolution, takes 0.98 of the
 * time, 128 x 1152 x 784 0.96 (Zen 5). */
static int64_t piece(const weft_gemm_block *block, bool packs)
{
    enum { LEAST = 256 << 10 };
    int64_t small = block->cache_bytes / 8;
    return packs && small < LEAST && LEAST <= block->cache_bytes / 4 ? LEAST : small;
}

/* Whether an operand is read in place from memory, along its terms: lines of several blocks in one go take less time
 * than a part of all lines for each block. */
static bool is_read_along_terms(const weft_gemm_block *block, const weft_gemm_side *side, bool packs)
{
    return !packs && side->terms->stride == 1 && block->terms > weft_gemm_block_terms(block) &&
           side->count * block->terms * weft_gemm_side_element(side) > block->cache_bytes;
}

/* Bytes of an operand that are packed, or read in place, at once. The left one stays in L2; the right one is as large
 * as that, so that much of it is there too: four times as much, read from L3, takes 1.03 of the time (3000^3 f32, Zen
 * 5). Where one is short both stay in L2; the other one comes in pieces, small ones where it is the left one, since
 * each of these is used a few times only, and where one tile reads it panel by panel if it is packed, or else all of
 * it. */
static int64_t limit(const weft_gemm_block *block, bool left, bool packs)
{
    const weft_gemm_side *side = left ? &block->left : &block->right;
    const int64_t once = packs ? 0 : is_read_along_terms(block, side, packs) ? block->cache_bytes / 4 : INT64_MAX;
    if (weft_gemm_is_short(block, true))
        return !left && weft_gemm_is_one_tile(block, true) ? once : block->cache_bytes / 4;
    if (weft_gemm_is_short(block, false))
        return !left ? block->cache_bytes / 4 : weft_gemm_is_one_tile(block, false) ? once : piece(block, packs);
    int64_t parts = block->kernel->parts > 0 ? block->kernel->parts : 2;
    return left ? block->cache_bytes / parts : block->cache_bytes;
}

/* The number of rows or columns of the other operand from which packing this one pays: each number is copied once, and
 * then read from fewer pages and cache sets for every vector. An operand across the vectors with adjacent terms is read
 * in a few streams, any other one a cache line for each term, of which it takes a part only. Lines whose distance is a
 * multiple of 512 bytes share few sets of L1, at a multiple of 4 KB of all caches; at more than 4 KB
 * each needs a TLB entry of its own. Tiles of complex numbers have more rows than a set has ways, and multiply faster
 * where rows are adjacent; 1024^3 f64, whose rows share sets, takes 0.94 of the time packed (Sapphire Rapids). Measured
 * on Zen 3, and on Sapphire Rapids for kernels that ask for what they read ahead of time, for which all of this matters
 * less, unless terms that share sets fill more than half of these in L2: 64 x 256 x 1024 f32 takes 0.93 of the time
 * packed, 96 x 512 x 1024 0.91 (Zen 5). Where the other operand is packed anyway (`beside`) fewer uses are enough: with
 * both packed, kernel->large runs. */
static int64_t uses_worth_packing(const weft_gemm_kernel *kernel, const weft_gemm_side *side, int64_t terms, bool wide,
                                  bool beside, int64_t cache_bytes)
{
    enum { PAGE = 4096, FEW_SETS = 512 };
    int64_t element = weft_gemm_side_element(side), distance = llabs(side->terms->stride) * element;
    bool is_page = distance != 0 && distance % PAGE == 0, shares_a_set = side->lines->stride * element % PAGE == 0;
    bool fills_sets = is_page && weft_gemm_least(terms, kernel->terms) * (distance & -distance) > cache_bytes / 2;
    if (!wide && kernel->ahead && side->lines->stride == 1 && terms < kernel->terms) return INT64_MAX;
    if (!wide && side->terms->stride == 1)
        return !kernel->ahead ? 256 : kernel->is_complex ? (shares_a_set ? 128 : 400) : shares_a_set ? 1024 : 1536;
    if (wide && kernel->ahead && side->lines->stride == 1) {
        if (beside) return is_page ? 32 : distance > PAGE ? 80 : 192;
        return fills_sets ? 40 : is_page ? 128 : distance > PAGE ? 160 : 600;
    }
    if (side->lines->stride != 1 || is_page) return 0;
    if (!wide) return 80;
    return (distance != 0 && distance % FEW_SETS == 0) || distance > PAGE ? 64 : 192;
}

/* Whether lines of an operand along the vectors that is read ahead of time are so far apart, and so many, that packing
 * it pays from fewer uses on: it is then read from memory in long runs. 64 x 256 x 3136 f32 takes 0.88 of the time, 64
 * x 768 x 2304 0.86, but 64 x 64 x 12544 1.2 (Sapphire Rapids). */
static bool is_worth_gathering(const weft_gemm_side *side, int64_t terms, int64_t uses, int64_t cache_bytes)
{
    enum { FAR = 8192, FEWEST_USES = 24, FEWEST_TERMS = 192 };
    int64_t size = weft_gemm_side_element(side);
    return side->lines->stride == 1 && llabs(side->terms->stride) * size > FAR && uses >= FEWEST_USES &&
           terms >= FEWEST_TERMS && side->count * terms * size > cache_bytes;
}

bool weft_gemm_packs(const weft_gemm_kernel *kernel, const weft_gemm_side *side, const weft_gemm_side *other,
                     int64_t terms, bool wide, int64_t cache_bytes)
{
    enum { LEAST = 32 }; /* fewer uses pay in no case, if the kernel asks ahead of time */
    int64_t size = weft_gemm_side_element(side), uses = other->count;
    if (kernel->tile == NULL || kernel->packs || side->panels != NULL || side->float16 != NULL) return true;
    if (!wide && kernel->packs_across) return true;
    if (weft_gemm_side_is_joined(side) || (side->complex && !kernel->is_complex)) return true;
    bool beside = wide && kernel->large != NULL && uses >= LEAST &&
                  weft_gemm_packs(kernel, other, side, terms, false, cache_bytes);
    if (uses >= uses_worth_packing(kernel, side, terms, wide, beside, cache_bytes)) return true;
    if (wide && kernel->ahead) return is_worth_gathering(side, terms, uses, cache_bytes);
    bool is_far = side->lines->stride == 1 && llabs(side->terms->stride) * size > WEFT_GEMM_FAR;
    if (!is_far || side->count * terms * size <= cache_bytes / 2 || uses < kernel->far) return false;
    return cache_bytes / 4 / weft_gemm_least(terms, kernel->terms) >= kernel->run;
}

/* Numbers of a panel. Across the vectors all are about as high as the first, instead of as high as can be with a rest:
 * a tile of few rows takes as long as one of four, since each sum waits for the one before. */
static int64_t panel_width(const weft_gemm_block *block, bool left, bool wide)
{
    const weft_gemm_kernel *kernel = block->kernel;
    const weft_gemm_side *side = left ? &block->left : &block->right;
    int64_t most = most_width(block, left);
    if (!kernel->tile_is_faster || side->form == WEFT_GEMM_DOUBLED || side->panels != NULL) return most;
    if (wide) return weft_gemm_is_one_more(kernel, side->count) ? most - weft_gemm_lanes(kernel) : most;
    int64_t tiles = weft_gemm_round_up(side->count, most) / most;
    return weft_gemm_round_up(side->count, tiles) / tiles;
}

/* Blocks of terms of the first operand that are packed at once, so that each piece of C is computed from these in turn:
 * as many as L2 holds where the other operand is read along its terms; more where C is beyond the last cache, so that
 * it is read and written fewer times. */
static int64_t blocks_at_once(const weft_gemm_block *block, bool left, int64_t bytes)
{
    const weft_gemm_side *side = left ? &block->left : &block->right, *other = left ? &block->right : &block->left;
    const int64_t cache = block->cache_bytes, most = weft_gemm_block_terms(block);
    bool is_short = weft_gemm_is_short(block, left), other_wide = left != block->kernel->by_columns;
    bool packs = weft_gemm_packs(block->kernel, other, side, block->terms, other_wide, cache);
    bool is_beyond = weft_gemm_is_in_memory(block, block->left.count * block->right.count * block->c_element);
    int64_t room = 0;
    if (is_short && is_read_along_terms(block, other, packs)) room = cache;
    if (!is_short && is_beyond) room = block->kernel->blocks * cache;
    int64_t blocks = weft_gemm_least((block->terms + most - 1) / most, room / bytes);
    return blocks < 1 ? 1 : blocks;
}

weft_gemm_part weft_gemm_part_plan(const weft_gemm_block *block, bool left, char *memory)
{
    const weft_gemm_side *side = left ? &block->left : &block->right, *other = left ? &block->right : &block->left;
    bool wide = left == block->kernel->by_columns;
    bool packs = weft_gemm_packs(block->kernel, side, other, block->terms, wide, block->cache_bytes);
    int64_t width = panel_width(block, left, wide);
    int64_t panels = most_panels(block, side, width, limit(block, left, packs && side->panels == NULL));
    int64_t count = panels * weft_gemm_panel_lines(side, width);
    bool is_whole = count >= side->count && block->terms <= weft_gemm_block_terms(block);
    bool is_first = left == weft_gemm_is_short(block, true);
    return (weft_gemm_part){.side = side,
                            .blocks = is_first ? blocks_at_once(block, left, panels * panel_bytes(block, width)) : 1,
                            .kept = is_whole && (left ? block->left_kept : block->right_kept),
                            .wide = wide,
                            .masked = block->kernel->masked,
                            .packs = packs,
                            .width = width,
                            .bytes = panel_bytes(block, width),
                            .count = count,
                            .memory = memory};
}

int64_t weft_gemm_part_block_bytes(const weft_gemm_part *part)
{
    if (!part->packs) return part->wide && !part->masked ? part->bytes : 0;
    return part->count / weft_gemm_panel_lines(part->side, part->width) * part->bytes;
}

int64_t weft_gemm_part_bytes(const weft_gemm_part *part)
{
    if (part->side->panels != NULL) return 0;
    return part->blocks * weft_gemm_part_block_bytes(part) + (part->packs ? WEFT_GEMM_READ_AHEAD : 0);
}
