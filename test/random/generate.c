/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/region.h>
#include "test/random/bounds.h"

enum { MOST_TENSORS = 64, MOST_INPUTS = 8, MOST_AXES = 4, MOST_ELEMENTS = 30000 };

typedef struct generator {
    uint64_t state;
    weft_graph *graph;
    weft_extent extents[8]; /* to choose from */
    size_t extent_count;
    weft_tensor tensors[MOST_TENSORS];
    size_t count, inputs;
    weft_test_bound *bounds; /* of the graph's nodes */
    size_t bounded;
} generator;

uint64_t weft_test_below(uint64_t *state, uint64_t count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    return (x ^ x >> 33) % count;
}

static size_t below(generator *g, size_t count)
{
    return (size_t)weft_test_below(&g->state, count);
}

static bool chance(generator *g, size_t of)
{
    return below(g, of) == 0;
}

static weft_tensor any(generator *g)
{
    /* Late ones more often, so that programs grow deep. */
    size_t recent = g->count < 3 ? g->count : 3;
    return chance(g, 4) ? g->tensors[below(g, g->count)] : g->tensors[g->count - 1 - below(g, recent)];
}

static weft_extent extent_of(weft_tensor x, size_t axis)
{
    return weft_tensor_shape(x).extents[axis];
}

static weft_extent constant(int64_t value)
{
    return weft_extent_of(value);
}

static int64_t least(weft_extent extent)
{
    int64_t low, high;
    weft_extent_range(extent, &low, &high);
    return low;
}

static bool is_float(weft_tensor x)
{
    return weft_dtype_info_of(weft_tensor_dtype(x))->kind == WEFT_KIND_FLOAT;
}

static bool is_complex(weft_tensor x)
{
    return weft_dtype_info_of(weft_tensor_dtype(x))->kind == WEFT_KIND_COMPLEX;
}

static weft_tensor filled(weft_tensor like, double value)
{
    return weft_scalar(like.graph, weft_tensor_dtype(like), value);
}

/* ---- leaves ---- */

static weft_dtype any_dtype(generator *g)
{
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F64, WEFT_I64,  WEFT_BOOL, WEFT_U8,
                                        WEFT_I32, WEFT_U32, WEFT_F16, WEFT_F16, WEFT_BF16, WEFT_C64,  WEFT_C128};
    return dtypes[below(g, sizeof dtypes / sizeof *dtypes)];
}

static weft_tensor new_input(generator *g, weft_dtype dtype, weft_shape shape)
{
    char name[16];
    if (g->inputs == MOST_INPUTS) return (weft_tensor){0};
    snprintf(name, sizeof name, "x%zu", g->inputs++);
    return weft_input(g->graph, name, dtype, shape);
}

static weft_tensor any_input(generator *g)
{
    weft_extent extents[MOST_AXES];
    size_t rank = below(g, MOST_AXES);
    for (size_t i = 0; i < rank; i++) extents[i] = g->extents[below(g, g->extent_count)];
    weft_shape shape = {rank, extents};
    if (rank > 0 && chance(g, 8))
        return weft_iota(g->graph, chance(g, 2) ? WEFT_I64 : WEFT_F32, shape, (int64_t)below(g, rank));
    return new_input(g, any_dtype(g), shape);
}

/* Another tensor of the same dtype that broadcasts with `x`: known, new, or a part of its shape. */
static weft_tensor partner(generator *g, weft_tensor x)
{
    weft_shape shape = weft_tensor_shape(x);
    for (size_t tries = 0; tries < 6; tries++) {
        weft_tensor y = any(g);
        weft_shape other = weft_tensor_shape(y);
        bool equal = weft_tensor_dtype(y) == weft_tensor_dtype(x) && other.rank == shape.rank;
        for (size_t i = 0; i < shape.rank && equal; i++) equal = weft_extent_equal(shape.extents[i], other.extents[i]);
        if (equal) return y;
    }
    size_t skipped = chance(g, 2) ? 0 : below(g, shape.rank + 1);
    weft_extent extents[WEFT_MAX_RANK];
    for (size_t i = skipped; i < shape.rank; i++) extents[i - skipped] = chance(g, 5) ? constant(1) : shape.extents[i];
    if (chance(g, 6)) return filled(x, (double)below(g, 4) + 1);
    return new_input(g, weft_tensor_dtype(x), (weft_shape){shape.rank - skipped, extents});
}

/* ---- ops: each makes one tensor, or none where it does not apply ---- */

typedef weft_tensor (*maker)(generator *g, weft_tensor x);
static const weft_tensor none;

static weft_tensor with_magnitude(weft_tensor x, double most)
{
    return weft_max(weft_min(x, filled(x, most)), filled(x, -most));
}

/* |x| + 1 */
static weft_tensor from_one(weft_tensor x)
{
    return weft_add(weft_abs(x), filled(x, 1));
}

typedef weft_tensor (*unary_function)(weft_tensor x);
typedef weft_tensor (*binary_function)(weft_tensor a, weft_tensor b);
#define ANY_OF(table) table[below(g, sizeof table / sizeof *table)]

/* Of the functions that have poles or an end, where they are smooth. */
static weft_tensor make_special(generator *g, weft_tensor x)
{
    static const unary_function bounded[] = {weft_asin, weft_acos, weft_tan};
    static const unary_function gammas[] = {weft_lgamma, weft_tgamma, weft_digamma};
    if (chance(g, 2)) return ANY_OF(bounded)(with_magnitude(x, 0.75));
    return ANY_OF(gammas)(weft_min(from_one(x), filled(x, 6)));
}

static weft_tensor make_complex_function(generator *g, weft_tensor x)
{
    static const unary_function growing[] = {weft_exp, weft_sin, weft_cos, weft_sinh, weft_cosh};
    static const unary_function with_poles[] = {weft_tan,  weft_tanh,  weft_asin,  weft_acos,
                                                weft_atan, weft_asinh, weft_atanh, weft_log1p};
    bool grows = chance(g, 2);
    weft_tensor re = with_magnitude(weft_real(x), grows ? 2 : 0.5);
    weft_tensor near = weft_complex(re, with_magnitude(weft_imag(x), grows ? 2 : 0.5));
    return grows ? ANY_OF(growing)(near) : ANY_OF(with_poles)(near);
}

static weft_tensor make_unary(generator *g, weft_tensor x)
{
    static const unary_function integers[] = {weft_not, weft_neg, weft_abs, weft_sign, weft_population_count};
    static const unary_function plain[] = {
        weft_neg, weft_abs,  weft_tanh,  weft_sigmoid, weft_asinh, weft_cbrt,  weft_sin,  weft_cos,    weft_atan,
        weft_erf, weft_erfc, weft_floor, weft_ceil,    weft_round, weft_trunc, weft_sign, weft_is_nan, weft_is_finite};
    static const unary_function growing[] = {weft_exp, weft_exp2, weft_expm1, weft_sinh, weft_cosh};
    static const unary_function of_positive[] = {weft_log, weft_log2, weft_log10, weft_log1p, weft_sqrt, weft_rsqrt};
    if (weft_tensor_dtype(x) == WEFT_BOOL) return weft_not(x);
    if (is_complex(x)) {
        static const unary_function complexes[] = {weft_conj, weft_neg,    weft_abs,      weft_real,
                                                   weft_imag, weft_is_nan, weft_is_finite};
        return chance(g, 2) ? make_complex_function(g, x) : ANY_OF(complexes)(x);
    }
    if (!is_float(x)) return ANY_OF(integers)(x);
    switch (below(g, 9)) {
    case 8: return make_special(g, x);
    case 0:
    case 1: return ANY_OF(growing)(with_magnitude(x, 2));
    case 2:
    case 3: return ANY_OF(of_positive)(from_one(x));
    case 4: return weft_acosh(weft_add(from_one(x), filled(x, 1)));
    case 5: return weft_atanh(with_magnitude(x, 0.75));
    default: return ANY_OF(plain)(x);
    }
}

static weft_tensor make_integer_binary(generator *g, weft_tensor x, weft_tensor y)
{
    weft_tensor few = weft_remainder(y, filled(y, 4));
    switch (below(g, 5)) {
    case 0: return weft_remainder(x, from_one(weft_abs(y)));
    case 1: return weft_fmod(x, from_one(weft_abs(y)));
    case 2: return weft_pow(with_magnitude(x, 9), few);
    case 3: return weft_shift_left(x, few);
    default: return weft_shift_right(x, few);
    }
}

static weft_tensor make_float_binary(generator *g, weft_tensor x, weft_tensor y)
{
    switch (below(g, 5)) {
    case 0: return weft_remainder(x, from_one(y));
    case 1: return weft_fmod(x, from_one(y));
    case 2: return weft_pow(weft_min(from_one(x), filled(x, 20)), with_magnitude(y, 3));
    case 3: return weft_atan2(x, from_one(y));
    default: return weft_copysign(x, y);
    }
}

static weft_tensor make_binary(generator *g, weft_tensor x)
{
    static const binary_function truth[] = {weft_and, weft_or, weft_xor};
    static const binary_function plain[] = {weft_add, weft_sub, weft_mul, weft_max, weft_min};
    weft_tensor y = partner(g, x);
    if (!weft_tensor_is_valid(y)) return none;
    if (weft_tensor_dtype(x) == WEFT_BOOL) return ANY_OF(truth)(x, y);
    if ((weft_tensor_dtype(x) == WEFT_F32 || weft_tensor_dtype(x) == WEFT_F64) && chance(g, 8))
        return weft_complex(x, y);
    if (is_complex(x)) return plain[below(g, 3)](x, y);
    switch (below(g, 8)) {
    case 0: return weft_div(x, from_one(y));
    case 1:
    case 2: return is_float(x) ? make_float_binary(g, x, y) : make_integer_binary(g, x, y);
    default: return ANY_OF(plain)(x, y);
    }
}

static weft_tensor make_comparison(generator *g, weft_tensor x)
{
    static weft_tensor (*const comparisons[])(weft_tensor, weft_tensor) = {weft_eq, weft_ne, weft_lt,
                                                                           weft_le, weft_gt, weft_ge};
    weft_tensor y = partner(g, x);
    return weft_tensor_is_valid(y) ? comparisons[below(g, is_complex(x) ? 2 : 6)](x, y) : none;
}

static weft_tensor make_selection(generator *g, weft_tensor x)
{
    weft_tensor y = partner(g, x);
    if (!weft_tensor_is_valid(y)) return none;
    weft_tensor p =
        weft_tensor_dtype(x) == WEFT_BOOL ? x : weft_lt(weft_cast(x, WEFT_F32), filled(weft_cast(x, WEFT_F32), 1));
    return weft_select(p, x, y);
}

static weft_tensor make_cast(generator *g, weft_tensor x)
{
    return weft_cast(x, any_dtype(g));
}

static weft_tensor make_permutation(generator *g, weft_tensor x)
{
    int64_t axes[MOST_AXES];
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i < rank; i++) {
        size_t j = below(g, i + 1);
        axes[i] = axes[j];
        axes[j] = (int64_t)i;
    }
    return weft_permute(x, (weft_ints){rank, axes});
}

static weft_tensor make_reshape(generator *g, weft_tensor x)
{
    weft_shape shape = weft_tensor_shape(x);
    weft_extent extents[MOST_AXES + 1];
    size_t rank = 0, at = below(g, shape.rank + 1), kind = below(g, 3);
    int64_t value;
    for (size_t i = 0; i < shape.rank; i++) {
        bool split = kind == 1 && i == at && weft_extent_is_static(shape.extents[i], &value) && value % 2 == 0;
        if (kind == 0 && i == at && i > 0) extents[rank - 1] = weft_extent_mul(extents[rank - 1], shape.extents[i]);
        else if (split) {
            extents[rank++] = constant(2);
            extents[rank++] = constant(value / 2);
        } else extents[rank++] = shape.extents[i];
    }
    if (kind == 2 && rank < MOST_AXES) return weft_unsqueeze(x, (int64_t)at);
    return rank <= MOST_AXES ? weft_reshape(x, (weft_shape){rank, extents}) : none;
}

static weft_tensor make_broadcast(generator *g, weft_tensor x)
{
    weft_shape shape = weft_tensor_shape(x);
    weft_extent extents[MOST_AXES + 1];
    int64_t axes[MOST_AXES];
    size_t at = below(g, shape.rank + 1);
    if (shape.rank >= MOST_AXES) return none;
    for (size_t i = 0; i < shape.rank; i++) {
        axes[i] = (int64_t)(i < at ? i : i + 1);
        extents[axes[i]] = shape.extents[i];
    }
    extents[at] = g->extents[below(g, g->extent_count)];
    return weft_broadcast_in_dim(x, (weft_shape){shape.rank + 1, extents}, (weft_ints){shape.rank, axes});
}

/* A part of each axis, from any element on, forwards or backwards. */
static weft_tensor make_slice(generator *g, weft_tensor x)
{
    weft_shape shape = weft_tensor_shape(x);
    weft_extent starts[MOST_AXES], sizes[MOST_AXES];
    int64_t steps[MOST_AXES];
    for (size_t i = 0; i < shape.rank; i++) {
        weft_extent extent = shape.extents[i];
        int64_t skipped = least(extent) > 1 ? (int64_t)below(g, 2) : 0, step = 1 + (int64_t)below(g, 2);
        weft_extent rest = weft_extent_sub(extent, constant(skipped));
        bool backwards = least(extent) > 0 && chance(g, 3);
        starts[i] = backwards ? weft_extent_sub(rest, constant(1)) : constant(skipped);
        sizes[i] = weft_extent_div(weft_extent_add(rest, constant(step - 1)), constant(step));
        steps[i] = backwards ? -step : step;
    }
    return weft_slice(x, (weft_shape){shape.rank, starts}, (weft_shape){shape.rank, sizes},
                      (weft_ints){shape.rank, steps});
}

static weft_tensor make_pad(generator *g, weft_tensor x)
{
    weft_extent low[MOST_AXES], high[MOST_AXES];
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i < rank; i++) {
        low[i] = constant((int64_t)below(g, 3));
        high[i] = chance(g, 4) ? g->extents[0] : constant((int64_t)below(g, 3));
    }
    return weft_pad(x, filled(x, (double)below(g, 3)), (weft_shape){rank, low}, (weft_shape){rank, high});
}

static weft_tensor make_window(generator *g, weft_tensor x)
{
    if (weft_tensor_rank(x) >= MOST_AXES) return none;
    return weft_window(x, (int64_t)below(g, weft_tensor_rank(x)), constant(1 + (int64_t)below(g, 4)),
                       1 + (int64_t)below(g, 3), 1 + (int64_t)below(g, 2));
}

static weft_tensor make_flip(generator *g, weft_tensor x)
{
    return weft_flip(x, WEFT_INTS((int64_t)below(g, weft_tensor_rank(x))));
}

static weft_tensor make_concat(generator *g, weft_tensor x)
{
    weft_tensor y = any(g);
    if (weft_tensor_dtype(y) != weft_tensor_dtype(x) || weft_tensor_rank(y) != weft_tensor_rank(x)) y = x;
    size_t axis = below(g, weft_tensor_rank(x));
    for (size_t i = 0; i < weft_tensor_rank(x); i++)
        if (i != axis && !weft_extent_equal(extent_of(x, i), extent_of(y, i))) y = x;
    return chance(g, 2) ? weft_concat(WEFT_TENSORS(x, y), (int64_t)axis)
                        : weft_concat(WEFT_TENSORS(y, x, y), (int64_t)axis);
}

/* Indices along an axis of x, at times negative, made of any tensor of so few axes that there is room for them. */
static weft_tensor make_indices(generator *g, weft_tensor x, size_t axis)
{
    weft_tensor y = any(g);
    if (least(extent_of(x, axis)) == 0 || weft_tensor_rank(x) + weft_tensor_rank(y) > MOST_AXES + 1) return none;
    if (weft_tensor_dtype(y) != WEFT_I64) y = weft_cast(y, WEFT_I64);
    weft_tensor last = weft_extent_tensor(g->graph, weft_extent_sub(extent_of(x, axis), constant(1)));
    weft_tensor first = chance(g, 2) ? filled(y, 0) : weft_sub(weft_neg(last), filled(y, 1));
    return weft_min(weft_max(y, first), last);
}

static weft_tensor make_gather(generator *g, weft_tensor x)
{
    size_t axis = below(g, weft_tensor_rank(x)), second = below(g, weft_tensor_rank(x));
    weft_tensor indices = make_indices(g, x, axis);
    if (!weft_tensor_is_valid(indices) || second == axis || chance(g, 2)) return weft_gather(x, indices, (int64_t)axis);
    weft_tensor others =
        weft_min(indices, weft_extent_tensor(g->graph, weft_extent_sub(extent_of(x, second), constant(1))));
    others = weft_max(others, filled(indices, 0));
    return least(extent_of(x, second)) == 0
               ? none
               : weft_gather_axes(x, WEFT_TENSORS(indices, others), WEFT_INTS((int64_t)axis, (int64_t)second));
}

static weft_tensor make_scatter(generator *g, weft_tensor x)
{
    static const weft_scatter_mode modes[] = {WEFT_SCATTER_SET, WEFT_SCATTER_MAX, WEFT_SCATTER_MIN, WEFT_SCATTER_ADD};
    int64_t axis = (int64_t)below(g, weft_tensor_rank(x));
    weft_tensor indices = make_indices(g, x, (size_t)axis);
    weft_tensor updates = weft_flip(weft_gather(x, indices, axis), WEFT_INTS(axis));
    weft_scatter_mode mode = modes[below(g, weft_tensor_dtype(x) == WEFT_BOOL ? 3 : 4)];
    if (weft_tensor_dtype(x) != WEFT_BOOL && chance(g, 2)) updates = weft_neg(updates);
    return weft_scatter(x, WEFT_TENSORS(indices), WEFT_INTS(axis), updates, mode);
}

/* A number in [0, extent of the axis - size] that data make. */
static weft_tensor make_start(generator *g, weft_tensor x, size_t axis, weft_extent size)
{
    weft_tensor y = any(g);
    int64_t axes[MOST_AXES];
    for (size_t i = 0; i < weft_tensor_rank(y); i++) axes[i] = (int64_t)i;
    y = weft_cast(weft_reduce_max(y, (weft_ints){weft_tensor_rank(y), axes}, false), WEFT_I64);
    weft_tensor last = weft_extent_tensor(g->graph, weft_extent_sub(extent_of(x, axis), size));
    return weft_min(weft_max(y, filled(y, 0)), last);
}

static weft_tensor make_dynamic_slice(generator *g, weft_tensor x)
{
    size_t axis = below(g, weft_tensor_rank(x));
    weft_extent size = constant((int64_t)below(g, (size_t)least(extent_of(x, axis)) + 1));
    weft_tensor slice =
        weft_dynamic_slice(x, WEFT_TENSORS(make_start(g, x, axis, size)), WEFT_INTS((int64_t)axis), WEFT_SHAPE(size));
    if (chance(g, 3)) return slice;
    slice = weft_flip(slice, WEFT_INTS((int64_t)axis));
    return weft_dynamic_update_slice(x, slice, WEFT_TENSORS(make_start(g, x, axis, size)), WEFT_INTS((int64_t)axis));
}

static weft_tensor make_diagonal(generator *g, weft_tensor x)
{
    size_t rank = weft_tensor_rank(x);
    for (size_t i = 0; i + 1 < rank; i++)
        for (size_t j = i + 1; j < rank; j++)
            if (weft_extent_equal(extent_of(x, i), extent_of(x, j)))
                return weft_extract_diagonal(x, (int64_t)i, (int64_t)j);
    if (rank >= MOST_AXES) return none;
    return weft_embed_diagonal(x, (int64_t)below(g, rank), (int64_t)below(g, rank + 1));
}

static weft_tensor make_reduction(generator *g, weft_tensor x)
{
    int64_t axes[MOST_AXES];
    size_t count = 0, rank = weft_tensor_rank(x);
    if (chance(g, 6)) return (chance(g, 2) ? weft_argmax : weft_argmin)(x, (int64_t)below(g, rank), chance(g, 3));
    for (size_t i = 0; i < rank; i++)
        if (chance(g, 2)) axes[count++] = (int64_t)i;
    if (count == 0) axes[count++] = (int64_t)below(g, rank);
    weft_ints reduced = {count, axes};
    if (weft_tensor_dtype(x) == WEFT_BOOL && chance(g, 2))
        return (chance(g, 2) ? weft_reduce_any : weft_reduce_all)(x, reduced, chance(g, 3));
    if (weft_tensor_dtype(x) != WEFT_BOOL && chance(g, 5)) return weft_reduce_prod(x, reduced, chance(g, 3));
    if (weft_tensor_dtype(x) == WEFT_BOOL || chance(g, 3))
        return chance(g, 2) ? weft_reduce_max(x, reduced, chance(g, 3)) : weft_reduce_min(x, reduced, false);
    return weft_reduce_sum(x, reduced, chance(g, 3));
}

static weft_tensor make_sort(generator *g, weft_tensor x)
{
    return (chance(g, 2) ? weft_sort : weft_argsort)(x, (int64_t)below(g, weft_tensor_rank(x)), chance(g, 2));
}

static weft_tensor make_scan(generator *g, weft_tensor x)
{
    static weft_tensor (*const scans[])(weft_tensor, int64_t, bool, bool) = {weft_cummax, weft_cummin, weft_cumsum,
                                                                             weft_cumprod};
    size_t kinds = weft_tensor_dtype(x) == WEFT_BOOL ? 2 : 4;
    return scans[below(g, kinds)](x, (int64_t)below(g, weft_tensor_rank(x)), chance(g, 2), chance(g, 3));
}

/* Axes of equal extent pair up, to be batch axes or contracted. */
static weft_tensor make_dot(generator *g, weft_tensor x)
{
    int64_t pairs[4][MOST_AXES];
    size_t counts[2] = {0, 0};
    bool taken[MOST_AXES] = {false};
    weft_tensor y = any(g);
    if (weft_tensor_dtype(y) != weft_tensor_dtype(x)) return none;
    for (size_t i = 0; i < weft_tensor_rank(x); i++)
        for (size_t j = 0; j < weft_tensor_rank(y); j++) {
            size_t kind = below(g, 3);
            if (taken[j] || kind == 2 || !weft_extent_equal(extent_of(x, i), extent_of(y, j))) continue;
            taken[j] = true;
            pairs[2 * kind][counts[kind]] = (int64_t)i;
            pairs[2 * kind + 1][counts[kind]++] = (int64_t)j;
            break;
        }
    size_t rank = weft_tensor_rank(x) + weft_tensor_rank(y) - counts[0] - 2 * counts[1];
    if (rank > MOST_AXES || counts[0] + counts[1] == 0) return none;
    return weft_dot(
        x, y,
        (weft_dot_axes){{counts[0], pairs[0]}, {counts[0], pairs[1]}, {counts[1], pairs[2]}, {counts[1], pairs[3]}});
}

/* ---- loops and branches: bodies of a few elementwise ops over what is carried and anything around ---- */

typedef struct body {
    generator *g;
    weft_tensor x; /* of a branch */
} body;

static weft_tensor make_fold(generator *g, weft_tensor x);

static bool same_type(weft_tensor x, weft_tensor y)
{
    weft_shape a = weft_tensor_shape(x), b = weft_tensor_shape(y);
    if (!weft_tensor_is_valid(y) || weft_tensor_dtype(x) != weft_tensor_dtype(y) || a.rank != b.rank) return false;
    for (size_t i = 0; i < a.rank; i++)
        if (!weft_extent_equal(a.extents[i], b.extents[i])) return false;
    return true;
}

static weft_tensor change(generator *g, weft_tensor x)
{
    weft_tensor result = x;
    for (size_t i = 1 + below(g, 3); i > 0; i--) {
        weft_tensor next = chance(g, 8) ? make_fold(g, result) : (chance(g, 3) ? make_unary : make_binary)(g, result);
        if (same_type(x, next)) result = next;
    }
    return result;
}

static void change_carried(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const body *b = context;
    weft_dtype dtype = weft_tensor_dtype(carried[0]);
    bool counts = dtype != WEFT_BOOL && chance(b->g, 2);
    out_next[0] = change(b->g, counts ? weft_add(carried[0], weft_cast(index, dtype)) : carried[0]);
}

static weft_tensor make_fold(generator *g, weft_tensor x)
{
    body b = {g, x};
    weft_extent trips = chance(g, 3) ? weft_extent_min(g->extents[0], constant(3)) : constant((int64_t)below(g, 4));
    return weft_fold(trips, (weft_tensors){1, &x}, change_carried, &b, NULL);
}

static void change_in_branch(void *context, weft_tensor *out_results)
{
    const body *b = context;
    out_results[0] = change(b->g, b->x);
}

static weft_tensor make_cond(generator *g, weft_tensor x)
{
    body b = {g, x};
    weft_tensor p = weft_lt(new_input(g, WEFT_F32, (weft_shape){0, NULL}), weft_scalar(g->graph, WEFT_F32, 0));
    return weft_tensor_is_valid(p) ? weft_cond(p, 1, change_in_branch, change_in_branch, &b, NULL) : none;
}

static const struct {
    maker make;
    size_t weight, least_rank;
} makers[] = {
    {make_unary, 5, 0},  {make_binary, 8, 0},      {make_comparison, 2, 0}, {make_selection, 2, 0},
    {make_cast, 2, 0},   {make_permutation, 3, 2}, {make_reshape, 4, 1},    {make_broadcast, 3, 0},
    {make_slice, 3, 1},  {make_pad, 2, 1},         {make_flip, 1, 1},       {make_window, 2, 1},
    {make_concat, 2, 1}, {make_gather, 2, 1},      {make_diagonal, 2, 1},   {make_reduction, 6, 1},
    {make_dot, 3, 1},    {make_sort, 2, 1},        {make_scatter, 2, 1},    {make_dynamic_slice, 2, 1},
    {make_fold, 3, 0},   {make_cond, 2, 0},        {make_scan, 3, 1},
};

/* ---- programs ---- */

static bool is_small(weft_tensor x)
{
    int64_t low, high, count = 1;
    for (size_t i = 0; i < weft_tensor_rank(x); i++) {
        weft_extent_range(extent_of(x, i), &low, &high);
        count *= high > 0 ? high : 1;
        if (count > MOST_ELEMENTS) return false;
    }
    return weft_tensor_rank(x) <= MOST_AXES;
}

/* Bounds of the nodes made since the last call; whether that of `x` is known. */
static bool is_known(generator *g, weft_tensor x)
{
    g->bounds = realloc(g->bounds, (g->graph->node_count + 1) * sizeof *g->bounds);
    if (g->bounds == NULL) abort();
    for (; g->bounded < g->graph->node_count; g->bounded++)
        g->bounds[g->bounded] = weft_test_bound_find(g->graph, (uint32_t)g->bounded, g->bounds);
    return g->bounds[x.node].known;
}

static weft_tensor make_any(generator *g)
{
    if (g->count == 0 || chance(g, 12)) return any_input(g);
    weft_tensor x = any(g);
    size_t total = 0, chosen = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) total += makers[i].weight;
    size_t turn = below(g, total);
    while (turn >= makers[chosen].weight) turn -= makers[chosen++].weight;
    return weft_tensor_rank(x) < makers[chosen].least_rank ? none : makers[chosen].make(g, x);
}

static void grow(generator *g, size_t wanted)
{
    for (size_t tries = 0; tries < 8 * wanted && g->count < wanted; tries++) {
        weft_tensor made = make_any(g);
        bool good =
            weft_graph_error(g->graph) == NULL && weft_tensor_is_valid(made) && is_small(made) && is_known(g, made);
        weft_graph_clear_error(g->graph);
        if (good) g->tensors[g->count++] = made;
    }
}

static void choose_extents(generator *g)
{
    g->extents[g->extent_count++] = weft_symbol(g->graph, "n", (int64_t)below(g, 2), 9);
    g->extents[g->extent_count++] = weft_symbol(g->graph, "m", 1, 40);
    for (size_t i = 0; i < 3; i++) {
        static const int64_t values[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 129};
        g->extents[g->extent_count++] = constant(values[below(g, sizeof values / sizeof *values)]);
    }
}

char *weft_test_generate(uint64_t seed)
{
    generator g = {.state = seed};
    char *text = NULL;
    weft_status *status = weft_graph_create(NULL, &g.graph);
    if (status != NULL) abort();
    choose_extents(&g);
    grow(&g, 5 + below(&g, 36));
    weft_tensor outputs[6] = {g.tensors[g.count - 1]};
    size_t count = 1 + below(&g, sizeof outputs / sizeof *outputs);
    for (size_t i = 1; i < count; i++) outputs[i] = any(&g);
    status = weft_graph_print((weft_tensors){count, outputs}, &text);
    if (status != NULL) abort();
    weft_graph_destroy(g.graph);
    free(g.bounds);
    return text;
}
