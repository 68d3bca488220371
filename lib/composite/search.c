/* SPDX-License-Identifier: Apache-2.0 */
/* What is found by sorting or searching. */
#include <weft/statistics.h>
#include <inttypes.h>
#include <math.h>
#include <weft/shape.h>
#include "lib/composite/composite.h"
#include "lib/graph/scalar.h"
#include "runtime/base/float_mode.h"

/* ---- order statistics ---- */

/* The element at `place` (f64 of rank 0, not negative) along the axis, which is gone. */
static weft_tensor element_at(weft_tensor sorted, int64_t axis, weft_tensor place)
{
    return weft_gather(sorted, weft_cast(place, WEFT_I64), axis);
}

static weft_tensor interpolate(weft_tensor a, weft_tensor b, weft_tensor t)
{
    /* Where one is infinite, or the distance between them is. */
    weft_tensor far = weft_add(weft_mul(a, weft_sub(weft_scalar_like(t, 1), t)), weft_mul(b, t));
    weft_tensor value = weft_select(weft_is_finite(weft_sub(b, a)), weft_composite_between(a, b, t), far);
    /* The distance between equal infinities is NaN, and an element with weight zero may be infinite. */
    weft_tensor is_a = weft_or(weft_eq(a, b), weft_eq(t, weft_scalar_like(t, 0)));
    return weft_select(is_a, a, value);
}

static weft_tensor compute_quantile(const char *function, weft_tensor x, double q, int64_t axis, bool keep)
{
    int64_t at;
    if (!weft_composite_begin(function, 1, 1, &x) || !weft_composite_wants_float(function, "the operand", x) ||
        !weft_axis_normalize(x.graph, function, axis, weft_tensor_rank(x), &at)) {
        return weft_tensor_failed(x.graph);
    }
    if (!(q >= 0 && q <= 1)) {
        return weft_trace_fail(x.graph, WEFT_OUT_OF_RANGE, function, "the quantile is %.17g, not in [0, 1]", q);
    }
    weft_extent extent = weft_tensor_extent(x, at);
    if (!weft_require_at_most(x.graph, weft_extent_of(1), extent, "%s: axis %" PRId64 " has extent %s, below 1",
                              function, at, weft_extent_describe(extent).text)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor sorted = weft_sort(weft_composite_widen(x), at, false), share = weft_scalar(x.graph, WEFT_F64, q);
    weft_tensor last = weft_extent_like(share, weft_extent_plus(extent, -1)), place = weft_mul(share, last);
    weft_tensor low = weft_cast(weft_cast(place, WEFT_I64), WEFT_F64);
    weft_tensor high = weft_min(weft_add(low, weft_scalar_like(low, 1)), last);
    weft_tensor a = element_at(sorted, at, low), b = element_at(sorted, at, high);
    weft_tensor t = weft_composite_cast(weft_sub(place, low), weft_tensor_dtype(sorted));
    weft_tensor greatest = element_at(sorted, at, last);
    weft_tensor value = weft_select(weft_ne(greatest, greatest), greatest, interpolate(a, b, t));
    value = weft_composite_cast(value, weft_tensor_dtype(x));
    return keep ? weft_unsqueeze(value, at) : value;
}

static weft_tensor quantile(const char *function, weft_tensor x, double q, int64_t axis, bool keep)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = compute_quantile(function, x, q, axis, keep);
    weft_guards_close(scope, 1, &result);
    return result;
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_quantile, (weft_tensor x, double q, int64_t axis, bool keep), (x, q, axis, keep))
{
    return quantile("quantile", x, q, axis, keep);
}

weft_tensor weft_median(weft_tensor x, int64_t axis, bool keep)
{
    return quantile("median", x, 0.5, axis, keep);
}

static weft_tensor top_k(weft_tensor x, int64_t axis, weft_extent k, bool smallest, weft_tensor *out_indices)
{
    int64_t at;
    *out_indices = weft_tensor_failed(x.graph);
    if (!weft_composite_begin("top_k", 1, 1, &x) ||
        !weft_axis_normalize(x.graph, "top_k", axis, weft_tensor_rank(x), &at)) {
        return weft_tensor_failed(x.graph);
    }
    weft_extent extent = weft_tensor_extent(x, at);
    if (!weft_composite_wants_order("top_k", "the operand", x) ||
        !weft_composite_wants_count(x.graph, "top_k", "k", k) ||
        !weft_require_at_most(x.graph, k, extent, "top_k: k is %s but axis %" PRId64 " has extent %s",
                              weft_extent_describe(k).text, at, weft_extent_describe(extent).text)) {
        return weft_tensor_failed(x.graph);
    }
    *out_indices = weft_narrow(weft_argsort(x, at, !smallest), at, weft_extent_of(0), k);
    return weft_take_along_axis(x, *out_indices, at);
}

weft_tensor weft_top_k(weft_tensor x, int64_t axis, weft_extent k, bool smallest, weft_tensor *out_indices)
{
    weft_tensor unused;
    if (out_indices == NULL) out_indices = &unused;
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = top_k(x, axis, k, smallest, out_indices);
    weft_tensor results[] = {result, *out_indices};
    weft_guards_close(scope, 2, results);
    return result;
}

/* ---- searching ---- */

/* Whether `element` comes before the place of `value`, with NaN after all numbers. */
static weft_tensor comes_before(weft_tensor element, weft_tensor value, bool right)
{
    weft_tensor before = right ? weft_le(element, value) : weft_lt(element, value);
    if (weft_dtype_info_of(weft_tensor_dtype(value))->kind != WEFT_KIND_FLOAT) return before;
    weft_tensor is_nan = weft_ne(value, value);
    return weft_or(before, right ? is_nan : weft_and(is_nan, weft_eq(element, element)));
}

/* One element more along the last axis, so that there is one to look at. */
static weft_tensor pad_row(weft_tensor sorted)
{
    weft_extent low[WEFT_MAX_RANK], high[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(sorted);
    for (size_t i = 0; i < rank; i++) {
        low[i] = weft_extent_of(0);
        high[i] = weft_extent_of(i + 1 == rank ? 1 : 0);
    }
    return weft_pad(sorted, weft_scalar_like(sorted, 0), (weft_shape){rank, low}, (weft_shape){rank, high});
}

/* Halves the row: sets bits of the place for as long as what lies before it comes before the value. One at least, so
 * that the operands take part also where there is nothing to search. Bits, and no sums, tell a code generator that no
 * index is out of range. */
static weft_tensor search_rows(weft_tensor sorted, weft_tensor values, bool right)
{
    int64_t least, most;
    size_t rank = weft_tensor_rank(sorted);
    weft_extent extent = weft_tensor_extent(sorted, -1);
    weft_extent_range(extent, &least, &most);
    weft_dtype dtype = most <= INT32_MAX / 2 ? WEFT_I32 : WEFT_I64; /* of places: the narrower, the more in a vector */
    weft_tensor count = weft_extent_like(weft_scalar(sorted.graph, dtype, 0), extent), last = count;
    if (least == 0) sorted = pad_row(sorted);
    else last = weft_extent_like(count, weft_extent_plus(extent, -1));
    weft_tensor one = weft_scalar_like(count, 1);
    weft_tensor place = weft_cast(weft_full_like(values, 0), dtype);
    for (int bit = 62; bit >= 0; bit--) {
        int64_t step = INT64_C(1) << bit;
        if (step > most && bit > 0) continue;
        weft_tensor next = weft_or(place, weft_scalar_like(place, (double)step));
        weft_tensor before = weft_sub(next, one), index = weft_min(before, last);
        weft_tensor element = rank == 1 ? weft_gather(sorted, index, 0) : weft_take_along_axis(sorted, index, -1);
        weft_tensor fits = weft_and(weft_lt(before, count), comes_before(element, values, right));
        place = weft_select(fits, next, place);
    }
    return weft_composite_cast(place, WEFT_I64);
}

/* Whether the leading axes fit; a row goes with values of any shape. */
static bool fits_rows(weft_named values, weft_named sorted)
{
    size_t rank = weft_tensor_rank(sorted.tensor), own = weft_tensor_rank(values.tensor);
    if (rank != 1 && own != rank) {
        weft_trace_fail(sorted.tensor.graph, WEFT_SHAPE_MISMATCH, "searchsorted", "%s has rank %zu but %s have %zu",
                        sorted.name, rank, values.name, own);
        return false;
    }
    for (int64_t axis = 0; axis + 1 < (int64_t)rank; axis++) {
        bool stretches = weft_extent_is_value(weft_tensor_extent(values.tensor, axis), 1) ||
                         weft_extent_is_value(weft_tensor_extent(sorted.tensor, axis), 1);
        if (!stretches && !weft_composite_wants_extent("searchsorted", values, axis, sorted, axis)) return false;
    }
    return true;
}

weft_tensor weft_searchsorted(weft_tensor sorted, weft_tensor values, bool right)
{
    weft_tensor operands[] = {sorted, values};
    if (!weft_composite_begin("searchsorted", 2, 2, operands) ||
        !weft_composite_wants_rank("searchsorted", "the sorted operand", sorted, 1) ||
        !weft_composite_wants_order("searchsorted", "the sorted operand", sorted)) {
        return weft_trace_failed(WEFT_TENSORS(sorted, values));
    }
    if (weft_tensor_dtype(values) != weft_tensor_dtype(sorted)) {
        return weft_trace_fail(sorted.graph, WEFT_DTYPE_MISMATCH, "searchsorted",
                               "the sorted operand has dtype %s but the values have %s",
                               weft_dtype_name(weft_tensor_dtype(sorted)), weft_dtype_name(weft_tensor_dtype(values)));
    }
    if (!fits_rows((weft_named){"the values", values}, (weft_named){"the sorted operand", sorted}))
        return weft_tensor_failed(sorted.graph);
    return search_rows(sorted, values, right);
}

/* ---- counting ---- */

/* Whether that many bins are possible, plus one for elements in none of them. */
static bool wants_bins(weft_graph *graph, const char *function, const char *name, weft_extent count)
{
    if (!weft_composite_wants_count(graph, function, name, count)) return false;
    if (weft_extent_is_valid(weft_extent_plus(count, 1))) return true;
    weft_trace_fail(graph, WEFT_OUT_OF_RANGE, function, "%s is %s, above 2^63 - 2", name,
                    weft_extent_describe(count).text);
    return false;
}

weft_tensor weft_bincount(weft_tensor x, weft_extent count, weft_tensor weights)
{
    weft_tensor operands[] = {x, weights};
    static const char *const names[] = {"the operand", "the tensor of weights"};
    if (!weft_composite_begin_named("bincount", 1, 2, operands, names) ||
        !weft_composite_wants_integer("bincount", "the operand", x) ||
        !wants_bins(x.graph, "bincount", "the count", count)) {
        return weft_trace_failed(WEFT_TENSORS(x, weights));
    }
    if (!weft_composite_is_absent(weights) &&
        (!weft_composite_wants_number("bincount", "the tensor of weights", weights) ||
         !weft_composite_wants_fit("bincount", (weft_named){"the tensor of weights", weights},
                                   (weft_named){"the operand", x}))) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor index = weft_composite_cast(x, WEFT_I64), zero = weft_scalar_like(index, 0);
    weft_tensor limit = weft_extent_like(index, count);
    weft_tensor inside = weft_and(weft_ge(index, zero), weft_lt(index, limit));
    weft_tensor one = weft_scalar_like(index, 1);
    weft_tensor updates = weft_broadcast_like(weft_composite_is_absent(weights) ? one : weights, x);
    if (!weft_tensor_is_valid(updates)) return updates;
    /* What is outside goes to a place of its own after the others. */
    weft_tensor bins = weft_zeros(x.graph, weft_tensor_dtype(updates), WEFT_SHAPE(weft_extent_plus(count, 1)));
    weft_tensor places = weft_select(inside, index, limit);
    weft_tensor sums = weft_scatter(bins, WEFT_TENSORS(places), WEFT_INTS(0), updates, WEFT_SCATTER_ADD);
    return weft_narrow(sums, 0, weft_extent_of(0), count);
}

/* Whether an element of a sorted row is another one than that before it, where there is one; all NaNs are one. */
static weft_tensor differs_from_last(weft_tensor sorted)
{
    weft_tensor last = weft_roll(sorted, WEFT_INTS(1), WEFT_INTS(0)), differs = weft_ne(sorted, last);
    bool is_float = weft_dtype_info_of(weft_tensor_dtype(sorted))->kind == WEFT_KIND_FLOAT;
    return is_float ? weft_and(differs, weft_eq(last, last)) : differs;
}

weft_tensor weft_unique(weft_tensor x, weft_extent size, weft_tensor *out_counts)
{
    if (out_counts != NULL) *out_counts = weft_tensor_failed(x.graph);
    if (!weft_composite_begin("unique", 1, 1, &x) || !weft_composite_wants_order("unique", "the operand", x) ||
        !wants_bins(x.graph, "unique", "the size", size)) {
        return weft_tensor_failed(x.graph);
    }
    weft_tensor sorted = weft_sort(weft_reshape(x, WEFT_SHAPE(WEFT_INFER)), 0, false);
    weft_tensor place = weft_iota(x.graph, WEFT_I64, weft_tensor_shape(sorted), 0);
    weft_tensor is_first = weft_or(weft_eq(place, weft_scalar_like(place, 0)), differs_from_last(sorted));
    weft_tensor one = weft_scalar_like(place, 1);
    weft_tensor index = weft_sub(weft_cumsum(weft_cast(is_first, WEFT_I64), 0, false, false), one);
    weft_tensor limit = weft_extent_like(index, size);
    if (out_counts != NULL) *out_counts = weft_bincount(index, size, WEFT_NO_TENSOR);
    /* What there is no room for goes to a place of its own after the others. */
    weft_tensor room = weft_zeros(x.graph, weft_tensor_dtype(x), WEFT_SHAPE(weft_extent_plus(size, 1)));
    weft_tensor values =
        weft_scatter(room, WEFT_TENSORS(weft_min(index, limit)), WEFT_INTS(0), sorted, WEFT_SCATTER_SET);
    return weft_narrow(values, 0, weft_extent_of(0), size);
}

/* Bins of equal width, with edges that are rounded to `dtype`. */
typedef struct bin_row {
    int64_t count;
    double low, high;
    weft_dtype dtype;
} bin_row;

/* The number as an element of the dtype. */
static double rounded(weft_dtype dtype, double value)
{
    unsigned char element[16];
    double real, imaginary;
    weft_scalar_store(dtype, value, element);
    weft_dtype_load(dtype, element, &real, &imaginary);
    return real;
}

/* That of x; a wider one where it has no room for the range; of integers f64. */
static weft_dtype edge_dtype(weft_dtype x, double low, double high)
{
    if (weft_dtype_info_of(x)->kind != WEFT_KIND_FLOAT) return WEFT_F64;
    const weft_dtype dtypes[] = {x, WEFT_F32};
    for (size_t i = 0; i < 2; i++)
        if (isfinite(rounded(dtypes[i], low)) && isfinite(rounded(dtypes[i], high))) return dtypes[i];
    return WEFT_F64;
}

/* How far it is from `low` to `high` (f64). */
static weft_tensor size_of(const bin_row *bins, weft_tensor like)
{
    return weft_sub(weft_scalar_like(like, bins->high), weft_scalar_like(like, bins->low));
}

/* The lower edge of bin number `i` (f64), as an f64; numpy's linspace. */
static weft_tensor lower_edge(const bin_row *bins, weft_tensor i)
{
    bool has_step = (bins->high - bins->low) / (double)bins->count != 0;
    weft_tensor size = size_of(bins, i), count = weft_scalar_like(i, (double)bins->count);
    weft_tensor way = has_step ? weft_mul(i, weft_div(size, count)) : weft_mul(weft_div(i, count), size);
    weft_tensor edge = weft_add(way, weft_scalar_like(i, bins->low));
    return weft_composite_cast(weft_composite_cast(edge, bins->dtype), WEFT_F64);
}

/* Whether rounding moves edges by less than half a bin: so that an element is at most one bin beside what division
 * says. */
static bool are_wide(const bin_row *bins)
{
    static const struct precision {
        double relative, absolute;
    } precisions[WEFT_DTYPE_COUNT] = {[WEFT_BF16] = {0x1p-8, 0x1p-134},
                                      [WEFT_F16] = {0x1p-11, 0x1p-25},
                                      [WEFT_F32] = {0x1p-24, 0x1p-150},
                                      [WEFT_F64] = {0x1p-53, 0x1p-1074}};
    struct precision p = precisions[bins->dtype];
    double size = fmax(fabs(bins->low), fabs(bins->high)), width = (bins->high - bins->low) / (double)bins->count;
    return width > 2 * (size * (p.relative + 0x1p-49) + p.absolute);
}

/* By division. Rounding may put an element beside its bin; the edges decide. */
static weft_tensor divide_into(const bin_row *bins, weft_tensor wide)
{
    weft_tensor one = weft_scalar_like(wide, 1), count = weft_scalar_like(wide, (double)bins->count);
    weft_tensor last = weft_scalar_like(wide, (double)(bins->count - 1));
    weft_tensor way = weft_sub(wide, weft_scalar_like(wide, bins->low));
    weft_tensor scaled = weft_mul(weft_div(way, size_of(bins, wide)), count);
    weft_tensor bin = weft_min(weft_cast(weft_cast(scaled, WEFT_I64), WEFT_F64), last);
    bin = weft_select(weft_lt(wide, lower_edge(bins, bin)), weft_sub(bin, one), bin);
    weft_tensor next = weft_add(bin, one);
    weft_tensor above = weft_and(weft_ge(wide, lower_edge(bins, next)), weft_lt(bin, last));
    return weft_cast(weft_select(above, next, bin), WEFT_I64);
}

/* By the edges alone. */
static weft_tensor search_among(const bin_row *bins, weft_tensor wide)
{
    weft_tensor numbers = weft_iota(wide.graph, WEFT_F64, WEFT_SHAPE(bins->count), 0);
    weft_tensor place = weft_searchsorted(lower_edge(bins, numbers), wide, true);
    return weft_sub(place, weft_scalar_like(place, 1));
}

static weft_tensor count_in(const bin_row *bins, weft_tensor x)
{
    weft_tensor wide = weft_composite_cast(x, WEFT_F64);
    weft_tensor index = are_wide(bins) ? divide_into(bins, wide) : search_among(bins, wide);
    weft_tensor first = weft_scalar_like(wide, rounded(bins->dtype, bins->low));
    weft_tensor last = weft_scalar_like(wide, rounded(bins->dtype, bins->high));
    weft_tensor inside = weft_and(weft_ge(wide, first), weft_le(wide, last));
    index = weft_select(inside, index, weft_scalar_like(index, -1));
    return weft_bincount(index, weft_extent_of(bins->count), WEFT_NO_TENSOR);
}

WEFT_PLAIN_FUNCTION(weft_tensor, weft_histogram, (weft_tensor x, int64_t bins, double low, double high),
                    (x, bins, low, high))
{
    if (!weft_composite_begin("histogram", 1, 1, &x) || !weft_composite_wants_number("histogram", "the operand", x) ||
        !weft_composite_wants_order("histogram", "the operand", x)) {
        return weft_tensor_failed(x.graph);
    }
    bin_row row = {.count = bins, .low = low == high ? low - 0.5 : low, .high = low == high ? high + 0.5 : high};
    const char *fault = NULL;
    if (bins < 1 || bins == INT64_MAX) fault = "there may be 1 to 2^63 - 2";
    else if (!(low <= high)) fault = "low must not be above high, and neither may be NaN";
    else if (!isfinite(row.high - row.low)) fault = "their distance must be finite";
    else if (row.low == row.high) fault = "low and high are equal, and so are low - 0.5 and high + 0.5 in f64";
    if (fault != NULL) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "histogram",
                               "there are %" PRId64 " bins from %.17g to %.17g: %s", bins, low, high, fault);
    }
    row.dtype = edge_dtype(weft_tensor_dtype(x), row.low, row.high);
    return count_in(&row, x);
}
