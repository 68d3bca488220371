/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_REGION_H
#define WEFT_REGION_H
/*
 * Loops and branches. A body is traced once, by a function that is called before weft_fold and the like return.
 * Everything traced during the call belongs to the body, and runs as often as the body runs; tensors of the enclosing
 * graph, and of enclosing bodies, may be used in it directly. Products, reductions and functions in a fold that no
 * iteration changes are computed once, before it, unless they are large or may fail; trace other loop invariants
 * beforehand.
 *
 *     static void body(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
 *     {
 *         const weft_tensor *a = context;
 *         out_next[0] = weft_matmul(*a, carried[0]);
 *     }
 *     weft_tensor power = weft_fold(weft_extent_of(10), WEFT_TENSORS(x), body, &a, NULL);
 *
 * A tensor made in a body is known only inside it; values needed outside must be among its results. Results have the
 * types of the values they replace: dtypes and ranks are compared at once (DTYPE_MISMATCH, SHAPE_MISMATCH), and so are
 * extents, or they become guards. Errors in a body stick to the outermost graph, with the location in the body.
 *
 * Regions nest at most 64 deep, including those of functions that trace loops; the body of a deeper one, which is
 * UNSUPPORTED, is not called.
 *
 * All return result 0 and write all results to `out_results`, which may be NULL. A data error in a loop names the
 * iteration. Runs check for cancellation in every iteration.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fills out_next[k] with what carried[k] is in the next iteration. `index` is the number of this one, i64 of rank 0. */
typedef void (*weft_fold_body)(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next);

/*
 * The value of `initial` after `trips` iterations of `body`, or `initial` itself if there are none; the body's
 * requirements on extents need not hold then. Requirements that no values of the symbols satisfy are errors anyway if
 * `trips` may be positive, as are einsum labels with several constant extents and a reshape whose inferred extent does
 * not divide. At least one tensor is carried. A trip count that may be negative becomes a guard.
 */
weft_tensor weft_fold(weft_extent trips, weft_tensors initial, weft_fold_body body, void *context,
                      weft_tensor *out_results);

/*
 * weft_fold as a loop over segments of `length` iterations, of which each is a loop, and one over those that are left:
 * `body` is called for both, and its index counts on. The results are those of weft_fold to the bit. The reverse mode
 * of derivatives (gradient.h) stores what is carried into each segment and into each iteration of one of them, instead
 * of all, and so computes every iteration once more: of 10,000 iterations in segments of 100 it stores 200. Of each
 * iteration of that one segment it stores products of carried values, too, up to four times as many elements as are
 * carried. A length of 0 stands for the square root of a constant number of iterations, rounded up, and for 64
 * otherwise.
 */
weft_tensor weft_fold_in_segments(weft_extent trips, weft_extent length, weft_tensors initial, weft_fold_body body,
                                  void *context, weft_tensor *out_results);

/*
 * weft_fold, of which the reverse mode of derivatives stores what is carried into `count` iterations at a time, at
 * least one, and computes the others from those, as few as possible: Griewank and Walther, "Algorithm 799: Revolve",
 * 2000. It computes each iteration at most r times, after the loop itself and besides that of the derivative, if (count
 * + r)! / (count! r!) is not less than `trips`: of 1000 iterations with 10 stored each 4 times, of 10^6 with 20 each 8
 * times. The results, and derivatives, are those of weft_fold to the bit. What the reverse mode computes has no
 * derivative in reverse mode (UNSUPPORTED), but one in forward mode, so that weft_hvp works.
 */
weft_tensor weft_fold_with_snapshots(weft_extent trips, int64_t count, weft_tensors initial, weft_fold_body body,
                                     void *context, weft_tensor *out_results);

/* Whether there is another iteration: bool of rank 0. */
typedef weft_tensor (*weft_while_condition)(void *context, const weft_tensor *carried);
typedef void (*weft_while_body)(void *context, const weft_tensor *carried, weft_tensor *out_next);

/* The value of `initial` after iterating while `condition`, computed before each iteration, is true. At least one
 * tensor is carried. What depends on x through comparisons alone, the condition among them, has a derivative of zero;
 * for all else there is no derivative in reverse mode. */
weft_tensor weft_while(weft_tensors initial, weft_while_condition condition, weft_while_body body, void *context,
                       weft_tensor *out_results);

/* weft_while as a fold of `most` iterations that do nothing once the condition is false: it has derivatives in reverse
 * mode, which weft_while has not, and its results have at most 63 axes. A run in which the condition still holds after
 * `most` iterations is WEFT_DATA_ERROR. `condition` is called twice. */
weft_tensor weft_while_at_most(weft_extent most, weft_tensors initial, weft_while_condition condition,
                               weft_while_body body, void *context, weft_tensor *out_results);

/* Fills in `result_count` results, as passed to weft_cond. */
typedef void (*weft_branch)(void *context, weft_tensor *out_results);

/*
 * The results of `then` if `predicate` (bool of rank 0) is true, otherwise those of `otherwise`: only one of them is
 * computed, where weft_select computes both. The requirements of both branches on extents must hold whichever is taken,
 * and are checked before anything runs: only the data decide which one it will be. There is at least one result.
 */
weft_tensor weft_cond(weft_tensor predicate, size_t result_count, weft_branch then, weft_branch otherwise,
                      void *context, weft_tensor *out_results);

#ifndef WEFT_NO_LOCATIONS
#define weft_fold(...) WEFT_LOCATED_(fold, __VA_ARGS__)
#define weft_fold_in_segments(...) WEFT_LOCATED_(fold_in_segments, __VA_ARGS__)
#define weft_fold_with_snapshots(...) WEFT_LOCATED_(fold_with_snapshots, __VA_ARGS__)
#define weft_while(...) WEFT_LOCATED_(while, __VA_ARGS__)
#define weft_while_at_most(...) WEFT_LOCATED_(while_at_most, __VA_ARGS__)
#define weft_cond(...) WEFT_LOCATED_(cond, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
