/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation. */
#include <weft/nn.h>
#include <inttypes.h>
#include <weft/statistics.h>
#include "lib/composite/composite.h"
#include "runtime/base/float_mode.h"

#define DEFAULT_EPSILON 1e-5

/* Computed plainly, as a thread may take denormals for 0. */
static WEFT_PLAIN_FUNCTION(double, epsilon_of, (const weft_norm_options *options), (options))
{
    return options->epsilon == 0 ? DEFAULT_EPSILON : options->epsilon;
}

/* The sum with a variance may not be negative. */
static WEFT_PLAIN_FUNCTION(bool, wants_epsilon, (weft_graph * graph, const char *function, double epsilon),
                           (graph, function, epsilon))
{
    if (epsilon > 0) return true;
    weft_trace_fail(graph, WEFT_INVALID_ARGUMENT, function, "epsilon is %g, but may not be negative or NaN", epsilon);
    return false;
}

/* Common prologue: checks that x and the options' operands are valid floats, and widens them. */
static bool begin(const char *function, weft_tensor x, const weft_norm_options *options, weft_tensor *out_x,
                  weft_norm_options *out_options)
{
    *out_options = options == NULL ? (weft_norm_options){.epsilon = 0} : *options;
    out_options->epsilon = epsilon_of(out_options);
    weft_tensor operands[] = {x, out_options->scale, out_options->bias};
    static const char *const names[] = {"the operand", "the scale", "the bias"};
    weft_named operand = {names[0], x};
    bool fine = weft_composite_begin_named(function, 1, 3, operands, names) &&
                weft_composite_wants_float(function, names[0], x) &&
                wants_epsilon(x.graph, function, out_options->epsilon) &&
                weft_composite_join(function, names[1], operand, &out_options->scale) &&
                weft_composite_join(function, names[2], operand, &out_options->bias);
    if (fine) *out_x = weft_composite_widen(x);
    return fine;
}

/* After that. */
static weft_tensor failed(weft_tensor x, const weft_norm_options *options)
{
    return weft_trace_failed(WEFT_TENSORS(x, options->scale, options->bias));
}

static weft_tensor inverse_root(weft_tensor variance, double epsilon)
{
    weft_tensor root = weft_sqrt(weft_add(variance, weft_scalar_like(variance, epsilon)));
    return weft_div(weft_scalar_like(variance, 1), root);
}

weft_normal weft_composite_normal(weft_tensor x, weft_ints axes, double epsilon, bool centers)
{
    weft_tensor centered = centers ? weft_sub(x, weft_mean(x, axes, true)) : x;
    weft_tensor square = centers ? weft_variance(x, axes, 0, true) : weft_mean(weft_mul(x, x), axes, true);
    return (weft_normal){centered, inverse_root(square, epsilon)};
}

static weft_tensor normalize(weft_tensor x, weft_ints axes, double epsilon, bool centers)
{
    weft_normal normal = weft_composite_normal(x, axes, epsilon, centers);
    const weft_attr attrs[] = {{.ints = axes}, {.real = epsilon}, {.integer = centers}};
    weft_tensor y = weft_mul(normal.centered, normal.factor);
    return weft_composite_as(WEFT_COMPOSED_normalize, WEFT_TENSORS(x), attrs, y);
}

/* y * scale + bias, in the dtype of `like`. Scale and bias have axis `first` of y and following ones. */
static weft_tensor finish(weft_tensor y, const weft_norm_options *options, size_t first, weft_tensor like)
{
    size_t rank = weft_tensor_rank(y);
    weft_tensor scale = options->scale, bias = options->bias;
    if (!weft_composite_is_absent(scale)) y = weft_mul(y, weft_composite_align(scale, first, rank));
    if (!weft_composite_is_absent(bias)) y = weft_add(y, weft_composite_align(bias, first, rank));
    return weft_composite_cast(y, weft_tensor_dtype(like));
}

/* ---- over the last axes ---- */

/* Whether an operand broadcasts to the axes of x from `axis` on. */
static bool fits_after(const char *function, weft_named operand, int64_t axis, weft_tensor x)
{
    size_t own = weft_tensor_rank(operand.tensor), most = weft_tensor_rank(x) - (size_t)axis;
    if (weft_composite_is_absent(operand.tensor)) return true;
    if (own <= most) return weft_composite_wants_fit(function, operand, (weft_named){"the operand", x});
    weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu, above that of what is normalised, %zu",
                    operand.name, own, most);
    return false;
}

static bool begin_scaled(const char *function, weft_tensor x, int64_t axis, const weft_norm_options *options,
                         weft_tensor *out_x, weft_norm_options *out_options, weft_axis_list *out_axes)
{
    size_t rank = weft_tensor_rank(x);
    int64_t first;
    bool fine = begin(function, x, options, out_x, out_options) &&
                weft_axis_normalize(x.graph, function, axis, rank, &first) &&
                fits_after(function, (weft_named){"the scale", out_options->scale}, first, x) &&
                fits_after(function, (weft_named){"the bias", out_options->bias}, first, x);
    if (fine) *out_axes = weft_axis_range((size_t)first, rank);
    return fine;
}

/* Scale and bias are aligned at the right. */
static weft_tensor finish_scaled(weft_tensor y, const weft_norm_options *options, weft_tensor like)
{
    if (!weft_composite_is_absent(options->scale)) y = weft_mul(y, options->scale);
    if (!weft_composite_is_absent(options->bias)) y = weft_add(y, options->bias);
    return weft_composite_cast(y, weft_tensor_dtype(like));
}

weft_tensor weft_layer_norm(weft_tensor x, int64_t axis, const weft_norm_options *options)
{
    weft_tensor wide;
    weft_norm_options o;
    weft_axis_list axes;
    if (!begin_scaled("layer_norm", x, axis, options, &wide, &o, &axes)) return failed(x, &o);
    return finish_scaled(normalize(wide, weft_axis_list_ints(&axes), o.epsilon, true), &o, x);
}

weft_tensor weft_rms_norm(weft_tensor x, int64_t axis, const weft_norm_options *options)
{
    weft_tensor wide;
    weft_norm_options o;
    weft_axis_list axes;
    if (!begin_scaled("rms_norm", x, axis, options, &wide, &o, &axes)) return failed(x, &o);
    return finish_scaled(normalize(wide, weft_axis_list_ints(&axes), o.epsilon, false), &o, x);
}

/* ---- by channel ---- */

/* Whether an operand is [c]. */
static bool fits_channels(const char *function, const char *name, weft_tensor operand, weft_tensor x)
{
    if (weft_composite_is_absent(operand)) return true;
    if (weft_tensor_rank(operand) != 1) {
        weft_trace_fail(x.graph, WEFT_SHAPE_MISMATCH, function, "%s has rank %zu, not 1", name,
                        weft_tensor_rank(operand));
        return false;
    }
    weft_extent own = weft_tensor_extent(operand, 0), channels = weft_tensor_extent(x, 1);
    return weft_require_equal(x.graph, own, channels, "%s: %s has extent %s but there are %s channels", function, name,
                              weft_extent_describe(own).text, weft_extent_describe(channels).text);
}

static bool begin_channels(const char *function, weft_tensor x, const weft_norm_options *options, weft_tensor *out_x,
                           weft_norm_options *out_options)
{
    return begin(function, x, options, out_x, out_options) &&
           weft_composite_wants_rank(function, "the operand", x, 2) &&
           fits_channels(function, "the scale", out_options->scale, x) &&
           fits_channels(function, "the bias", out_options->bias, x);
}

static weft_tensor group_norm(weft_tensor x, int64_t groups, const weft_norm_options *options)
{
    weft_tensor wide;
    weft_norm_options o;
    if (!begin_channels("group_norm", x, options, &wide, &o)) return failed(x, &o);
    weft_extent channels = weft_tensor_extent(x, 1), count = weft_extent_of(groups);
    if (groups < 1) {
        return weft_trace_fail(x.graph, WEFT_INVALID_ARGUMENT, "group_norm", "there are %" PRId64 " groups", groups);
    }
    if (!weft_require_equal(x.graph, weft_extent_mod(channels, count), weft_extent_of(0),
                            "group_norm: %s channels are not a multiple of %" PRId64 " groups",
                            weft_extent_describe(channels).text, groups)) {
        return weft_tensor_failed(x.graph);
    }
    weft_extent split[] = {count, weft_extent_div(channels, count)};
    weft_tensor grouped = weft_composite_unravel(wide, 1, 2, split);
    weft_axis_list axes = weft_axis_range(2, weft_tensor_rank(x) + 1);
    weft_tensor normal = normalize(grouped, weft_axis_list_ints(&axes), o.epsilon, true);
    return finish(weft_tensor_is_valid(normal) ? weft_reshape(normal, weft_tensor_shape(x)) : normal, &o, 1, x);
}

weft_tensor weft_group_norm(weft_tensor x, int64_t groups, const weft_norm_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = group_norm(x, groups, options);
    weft_guards_close(scope, 1, &result);
    return result;
}

static weft_tensor batch_norm(weft_tensor x, weft_tensor mean, weft_tensor variance, const weft_norm_options *options)
{
    weft_tensor wide, operands[] = {x, mean, variance};
    weft_norm_options o;
    static const char *const names[] = {"the operand", "the mean", "the variance"};
    weft_named operand = {names[0], x};
    if (!weft_composite_begin_named("batch_norm", 3, 3, operands, names) ||
        !begin_channels("batch_norm", x, options, &wide, &o) ||
        !weft_composite_join("batch_norm", names[1], operand, &mean) ||
        !fits_channels("batch_norm", "the mean", mean, x) ||
        !weft_composite_join("batch_norm", names[2], operand, &variance) ||
        !fits_channels("batch_norm", "the variance", variance, x)) {
        return weft_trace_failed(WEFT_TENSORS(x, mean, variance));
    }
    size_t rank = weft_tensor_rank(x);
    weft_tensor centered = weft_sub(wide, weft_composite_align(mean, 1, rank));
    weft_tensor factor = inverse_root(weft_composite_align(variance, 1, rank), o.epsilon);
    return finish(weft_mul(centered, factor), &o, 1, x);
}

weft_tensor weft_batch_norm(weft_tensor x, weft_tensor mean, weft_tensor variance, const weft_norm_options *options)
{
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = batch_norm(x, mean, variance, options);
    weft_guards_close(scope, 1, &result);
    return result;
}

static weft_tensor batch_norm_train(weft_tensor x, const weft_norm_options *options, weft_tensor *out_mean,
                                    weft_tensor *out_variance)
{
    weft_tensor wide;
    weft_norm_options o;
    *out_mean = *out_variance = weft_tensor_failed(x.graph);
    if (!begin_channels("batch_norm_train", x, options, &wide, &o)) return failed(x, &o);
    weft_axis_list axes = weft_axis_range(1, weft_tensor_rank(x));
    axes.items[0] = 0;
    weft_ints along = weft_axis_list_ints(&axes);
    weft_dtype dtype = weft_tensor_dtype(x);
    *out_mean = weft_composite_cast(weft_mean(wide, along, false), dtype);
    *out_variance = weft_composite_cast(weft_variance(wide, along, 0, false), dtype);
    return finish(normalize(wide, along, o.epsilon, true), &o, 1, x);
}

weft_tensor weft_batch_norm_train(weft_tensor x, const weft_norm_options *options, weft_tensor *out_mean,
                                  weft_tensor *out_variance)
{
    weft_tensor unused[2];
    if (out_mean == NULL) out_mean = &unused[0];
    if (out_variance == NULL) out_variance = &unused[1];
    weft_guard_scope scope = weft_guards_open(x.graph);
    weft_tensor result = batch_norm_train(x, options, out_mean, out_variance);
    const weft_tensor results[] = {result, *out_mean, *out_variance};
    weft_guards_close(scope, 3, results);
    return result;
}
