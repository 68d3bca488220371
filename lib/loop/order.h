/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_LOOP_ORDER_H
#define WEFT_LIB_LOOP_ORDER_H
/*
 * The constants of the order in which reductions combine: they decide bits, so they depend on nothing but the graph.
 * loop.h and README.md have the order itself.
 */

/* Elements that combine one by one, as do results of so many, results of those, and so on: an error grows with the
 * length of a chain, so no chain is longer. Blocks need nothing of each other: lanes of blocks may be computed anywhere
 * and combined later, with the same bits. So a GPU has a thread for every 128 elements of a row, a warp at 4096 and 16
 * warps at 65536, as many as row reductions there want; half the block would have more, and on a CPU cost more. At each
 * end of a chain all accumulators are combined once more, which costs under one part in a hundred. */
#define WEFT_ORDER_BLOCK 128
/* A reduced range inside another goes on with the accumulators around it up to so many elements for each lane: starting
 * afresh would cost as much as the elements of a small window do. */
#define WEFT_ORDER_SHORT 8

/* Virtual lanes go along what lies innermost in memory. Their bytes: four AVX vectors or two AVX-512 ones, enough to
 * hide the latency of an addition. */
#define WEFT_ORDER_LANE_BYTES 128u
/* Sixteen vectors of the widest elements that may come along: of the position of an argmax of bools, with AVX. */
#define WEFT_ORDER_MOST_LANES 64u
/* Products that sum fewer along their last axis, those of small windows, have lanes across the results. Of several rows
 * or columns, at most so many, those of complex numbers or i64 being two each, there are as many terms for each and
 * once more at least, beside which it takes little to combine lanes; so many bytes of all at most, which stay in L1
 * while they are multiplied with every row of the other operand; and so many rows of that for each, if what does not
 * lie along the terms is copied. */
#define WEFT_ORDER_FEWEST_IN_LANES 8
#define WEFT_ORDER_MOST_ROWS 8
#define WEFT_ORDER_TERMS_OF_ROW 16
#define WEFT_ORDER_BYTES_OF_ROWS (40 << 10)
#define WEFT_ORDER_ROWS_OF_COPY 4

/* Scans along what lies innermost: bytes of the elements that a tree takes together, one AVX-512 vector, and the most
 * elements, since each level of the tree costs as much as an element does in order. */
#define WEFT_ORDER_SCAN_BYTES 64u
#define WEFT_ORDER_SCAN_MOST_LANES 16u
/* Elements for each lane of a block of a scan, which may be computed apart from others: 64 KB of f32, which stay in L2
 * between the pass for totals and that for results, and half of a percent of additions more along an axis. */
#define WEFT_ORDER_SCAN_BLOCK 1024

/* Elements of one partial result of a reduction with more than LONG elements and fewer than MANY results, which alone
 * would occupy too few threads. Blocks of blocks: where there are no lanes, partial results change no bits. */
#define WEFT_ORDER_CHUNK (WEFT_ORDER_BLOCK * WEFT_ORDER_BLOCK)
#define WEFT_ORDER_LONG 65536
#define WEFT_ORDER_MANY 64
#endif
