/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_EAGER_H
#define WEFT_EAGER_H
/*
 * Arrays to compute with at once, without a graph in sight:
 *
 *     weft_array *value;
 *     weft_eager_scope scope = weft_eager_scope_begin(eager);
 *     weft_eager_array *y = weft_eager_apply(weft_softmax, weft_eager_apply(weft_matmul, x, w), -1);
 *     status = weft_eager_value(eager, y, &value);
 *     weft_eager_scope_end(eager, scope);
 *
 * A call is checked at once, against the rules of the function that it names, and its result has a dtype and a shape
 * at once, but it is only recorded. When a value is asked for, everything recorded that it depends on is traced into a
 * graph, compiled and run as one program. Programs are kept by the structure of what was recorded: functions, their
 * options, dtypes and shapes. So a second step of the same kind traces and compiles nothing, and where nothing but a
 * single small op was recorded, costs little more than running it. Of what differs in some extents alone, a third
 * program is for all values of these, if the functions allow: from then on other batches, or longer sequences, compile
 * nothing.
 *
 * What is computed at once: a function that only moves elements (reshape, permute, slice, broadcast, flip and what is
 * composed of them), called on an array that has its value, gives a view of that value and no copy.
 *
 * What becomes memory: with a value, those of all arrays on the way to it that anybody else holds, by a handle or by
 * another recorded call, are computed and kept: they would otherwise have to be computed again. Release what is only
 * needed on the way, and it stays within a loop. An array whose last holder is the call that uses it may be
 * overwritten by the result of that call (donation, as weft_run.donated says): an update of a part of it is then done
 * in place. Memory that a caller wrapped, or has a reference on, is never overwritten.
 *
 * Errors are the tracing functions' own. A call that fails returns NULL, any call with NULL among its operands returns
 * NULL silently, and the first error waits in the context until weft_eager_value, or weft_eager_evaluate, is asked for
 * such an array. Errors that only a run can find (an index out of range, an integer divided by zero) come from these
 * two as well; what failed stays recorded, except that operands which the run was to overwrite are lost
 * (INVALID_ARGUMENT from then on).
 *
 * A context and its arrays belong to one thread at a time. Several contexts may share an executor.
 */
#include <weft/conv.h>
#include <weft/executor.h>
#include <weft/index.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optimize.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_eager weft_eager;
/* A counted handle on a value, or on one to come. Values never change. */
typedef struct weft_eager_array weft_eager_array;

/* Lists, by value; the items stay the caller's. */
typedef struct weft_eager_arrays {
    size_t count;
    weft_eager_array *const *items;
} weft_eager_arrays;

/* Zero-initialise for the defaults. */
typedef struct weft_eager_options {
    const weft_allocator *allocator;
    const char *runtime;       /* of the executor, by name; NULL: the default; outlives the context */
    const weft_policy *policy; /* how programs are compiled; outlives the context; NULL: the defaults */
    /* When a call would depend on a chain of so many recorded ones, or of sixteen times as many under a tape, these are
     * run at once: it bounds what is compiled as one program, and has loops that look at nothing repeat their programs
     * all the same. 0: 64. */
    size_t most_recorded;
    bool fixed_extents;       /* no programs for extents that vary: each has its own */
    size_t program_capacity;  /* programs kept, the most recently used; 0: 1024 */
    size_t function_capacity; /* pairs of a function with its options and the types of its operands; 0: 4096 */
} weft_eager_options;

/* What a context did. */
typedef struct weft_eager_counters {
    uint64_t calls;     /* recorded or made views */
    uint64_t views;     /* of those, views */
    uint64_t traces;    /* functions traced to know their results; each is one of a new function, options or types */
    uint64_t programs;  /* compiled */
    uint64_t runs;      /* of programs */
    uint64_t donations; /* arrays given to a run to be overwritten */
    size_t arrays;      /* that exist now */
} weft_eager_counters;

/* A context on `executor`, which must outlive it and its arrays. */
weft_status *weft_eager_create(weft_executor *executor, const weft_eager_options *options,
                               weft_eager **out_eager) WEFT_MUST_USE;
/* Ends the context and drops its programs. Arrays stay the caller's to release: those with values keep them. */
void weft_eager_destroy(weft_eager *eager);
/* The first error since one was reported or forgotten, or NULL; owned by the context. */
const weft_status *weft_eager_error(const weft_eager *eager);
/* Forgets it. */
void weft_eager_clear_error(weft_eager *eager);
void weft_eager_counters_read(const weft_eager *eager, weft_eager_counters *out_counters);
/* Drops programs and what is known of functions, so that all is traced and compiled anew. */
void weft_eager_clear(weft_eager *eager);

/* ---- arrays in and out ---- */

/* `array` as an operand; retained, not copied: its elements must not change while anything computed from them is only
 * recorded. It has to be on the device of the runtime (INVALID_ARGUMENT of the run). */
weft_eager_array *weft_eager_from(weft_eager *eager, weft_array *array);
/* A copy of `data`, row-major elements of `dtype`. */
weft_eager_array *weft_eager_copy(weft_eager *eager, weft_dtype dtype, weft_ints shape, const void *data);
/* `value` converted to `dtype` as weft_scalar does it, rank 0. */
weft_eager_array *weft_eager_number(weft_eager *eager, weft_dtype dtype, double value);

/* The value, computed now unless it is known. It belongs to the handle and lives as long; retain it to keep it. Its
 * elements must not be written. For NULL the error that made it so, which is forgotten then. */
weft_status *weft_eager_value(weft_eager *eager, weft_eager_array *array, weft_array **out_value) WEFT_MUST_USE;
/* Computes the values of all `arrays` in one program. */
weft_status *weft_eager_evaluate(weft_eager *eager, weft_eager_arrays arrays) WEFT_MUST_USE;
/* Whether the value is there already. */
bool weft_eager_is_known(const weft_eager_array *array);

weft_dtype weft_eager_dtype(const weft_eager_array *array);
size_t weft_eager_rank(const weft_eager_array *array);
/* As many as the rank; lives as long as the handle. */
const int64_t *weft_eager_shape(const weft_eager_array *array);
/* Product of the shape. */
int64_t weft_eager_count(const weft_eager_array *array);

weft_eager_array *weft_eager_retain(weft_eager_array *array);
/* NULL is fine. */
void weft_eager_release(weft_eager_array *array);
/* Releases `*place`, if it is not NULL, and puts `array` there, whose reference it takes:
 * weft_eager_assign(&x, weft_eager_apply(weft_add, x, y)). */
void weft_eager_assign(weft_eager_array **place, weft_eager_array *array);

/*
 * Between begin and end, the references that calls hand out belong to the scope, which ends them: expressions nest
 * without a release for each part. Retain what is to stay; releasing earlier is fine too, and lets go of memory.
 * Scopes nest. Handles of a scope count as holders until it ends: see above on what becomes memory.
 */
typedef struct weft_eager_scope {
    size_t first, outer; /* private */
} weft_eager_scope;
weft_eager_scope weft_eager_scope_begin(weft_eager *eager);
void weft_eager_scope_end(weft_eager *eager, weft_eager_scope scope);

/* ---- gradients ---- */

/*
 * A tape follows arrays, and whatever is computed from them, until it ends: records of calls are then kept even of
 * values that are known, as long as there is a handle on what they made.
 *
 *     weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(w, b));
 *     weft_eager_array *loss = ..., *gradients[2];
 *     weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(w, b), gradients);
 *     weft_eager_tape_end(eager);
 *     weft_eager_assign(&w, weft_eager_apply(weft_sub, w, weft_eager_apply(weft_mul, gradients[0], rate)));
 *     status = weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(loss, w, b));
 *
 * Tapes nest: what an inner one begins to follow is followed until the outermost one ends.
 */
void weft_eager_tape_begin(weft_eager *eager, weft_eager_arrays watched);
/* The outermost end lets go of all records of known values. What is computed from then on is not followed. */
void weft_eager_tape_end(weft_eager *eager);
/*
 * The gradient of `loss` in each of `arrays`, which a tape follows, watched or computed from what is: as weft_grad
 * (gradient.h) says, of the calls from there to `loss`. All are NULL after an error. Gradients are recorded like any
 * other call, and followed too: so there are gradients of gradients.
 *
 * A program that computes a loss and its gradients together computes what they share once: ask for them together
 * (weft_eager_evaluate), or for what is computed from the gradients first. If the loss is known before the gradients
 * are, what it needed is computed again.
 */
void weft_eager_gradient(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays,
                         weft_eager_array **out_gradients);
/* The same, called at `file` and `line`, for errors; `file` may be NULL, and lives as long as what is recorded. */
void weft_eager_gradient_located(weft_eager *eager, weft_eager_array *loss, weft_eager_arrays arrays,
                                 weft_eager_array **out_gradients, const char *file, int line);
#ifndef WEFT_NO_LOCATIONS
#define weft_eager_gradient(...) weft_eager_gradient_located(__VA_ARGS__, __FILE__, __LINE__)
#endif

/* ---- calls ---- */

/* Traces a function into `graph`: fills in all `out_results`. It is called once to know the types of the results, where
 * all extents are numbers, and once for each program that has the call, where those that vary may be symbols (see
 * fixed_extents). It must do the same each time; where it needs a number and finds a symbol, it leaves a result
 * WEFT_NO_TENSOR, and numbers it gets. It must not make inputs, nor use the context. */
typedef void (*weft_eager_trace)(weft_graph *graph, const void *options, const weft_tensor *operands,
                                 weft_tensor *out_results);

/* A function to call; zero-initialise. */
typedef struct weft_eager_function {
    const char *name; /* in messages */
    weft_eager_trace trace;
    /* Handed to `trace`; copied, aligned to 16. Calls are of the same kind if the bytes are the same: padding must be
     * zeroed, and what a pointer in it points to must never change. */
    const void *options;
    size_t options_size;
    size_t result_count; /* 0: 1 */
    const char *file;    /* of the caller, for errors; lives as long as what is recorded; NULL: not known */
    int line;
} weft_eager_function;

/* Calls any tracing function, or a composition of many: it is a unit to what is recorded. Returns result 0 and writes
 * all to `out_results`, which may be NULL if there is only one. */
weft_eager_array *weft_eager_call(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands,
                                  weft_eager_array **out_results);

/*
 * weft_eager_apply(weft_FUNCTION, arguments...): a public tracing function by name, with arrays for tensors, the
 * context for a graph, and integers for extents; 16 arguments at most. C with GCC or clang only.
 *
 *     weft_eager_apply(weft_add, x, y)                  weft_eager_apply(weft_mul, x, 0.5)
 *     weft_eager_apply(weft_reduce_sum, x, WEFT_INTS(-1), false)
 *     weft_eager_apply(weft_reshape, x, WEFT_SHAPE(2, 3))
 *     weft_eager_apply(weft_concat, WEFT_EAGER_ARRAYS(x, y), 0)
 *     weft_eager_apply(weft_zeros, eager, WEFT_F32, WEFT_SHAPE(4))
 *     weft_eager_apply(weft_bce_with_logits, x, y, WEFT_EAGER_NONE, WEFT_REDUCTION_MEAN)
 *     weft_eager_apply(weft_layer_norm, x, -1, (&(weft_norm_options){.epsilon = 1e-6}), scale, bias)
 *     weft_eager_apply(weft_sgd, w, gradient, 0.1, velocity, &(weft_sgd_options){.momentum = 0.9}, &next_velocity)
 *     weft_eager_apply(weft_split, x, 0, 3, parts)
 *
 *  - An optional tensor that is left out is WEFT_EAGER_NONE. (NULL is an array that failed.)
 *  - Options are a pointer to the struct of the function, or NULL: in parentheses if there is a comma in braces, which
 *    would end a macro's argument; weft_dot's axes are the struct itself. Tensors in them stay WEFT_NO_TENSOR: arrays
 *    for these follow the options, in the order of the struct, as many as are wanted. Lists in options have 16 items at
 *    most, all together. weft_resize takes no scales.
 *  - Where the function writes further results there is a place for an array, `&array`, or an array of places, as many
 *    as the function says; all are NULL after an error. NULL leaves them out, if the function allows that. What is
 *    written is a reference like the one that is returned; a result that is both (part 0 of weft_split) is one
 *    reference.
 *
 * The type of the function says what it takes: those of WEFT_EAGER_SIGNATURES_ are known, others do not compile, and
 * are called by weft_eager_call. A user's own function of such a type works as well. Functions that take functions
 * (region.h, gradient.h) and those of extensions are called by weft_eager_call; weft_index is weft_eager_at;
 * in place of weft_input, weft_constant and weft_chunk there are weft_eager_from, weft_eager_copy and weft_split_at.
 *
 * Numbers may stand for arrays beside an array, under the rules of operand.h. Those that are a multiple of 1/2 in
 * [-4, 4] are part of the program, as in a graph: pow(x, 2) is a product. Others are operands, so that a rate that
 * differs in each step compiles nothing. A number in place of an optimiser's step is an operand, too, and an i64. What
 * is no tensor in the function (the probability of weft_dropout, the seed of weft_random_key, all of weft_rate_cosine
 * except the step) is part of the program.
 */
#if defined(__GNUC__) && !defined(__cplusplus)
#define weft_eager_apply(function, ...) WEFT_EAGER_APPLY_(#function, function, WEFT_COUNT_(__VA_ARGS__), __VA_ARGS__)
#endif

/* A list in place: WEFT_EAGER_ARRAYS(x, y). C only. */
#define WEFT_EAGER_ARRAYS(...)                                                                                         \
    ((weft_eager_arrays){sizeof((weft_eager_array *[]){__VA_ARGS__}) / sizeof(weft_eager_array *),                     \
                         (weft_eager_array *[]){__VA_ARGS__}})

/*
 * weft_index and weft_index_update, with the items of index.h, integers, and arrays for index tensors (in place of
 * WEFT_PICK); 16 items at most:
 *
 *     weft_eager_at(x, WEFT_RANGE(1, 5), -1)    weft_eager_set_at(x, 0, rows)    weft_eager_add_at(x, y, WEFT_ALL, 2)
 */
#if defined(__GNUC__) && !defined(__cplusplus)
#define weft_eager_at(x, ...)                                                                                          \
    WEFT_EAGER_APPLIED_(weft_index, WEFT_EAGER_xI, 2, WEFT_EAGER_ARGUMENT_(x), WEFT_EAGER_ITEMS_(__VA_ARGS__))
#define weft_eager_set_at(x, value, ...) WEFT_EAGER_UPDATE_AT_(x, value, WEFT_SCATTER_SET, __VA_ARGS__)
#define weft_eager_add_at(x, value, ...) WEFT_EAGER_UPDATE_AT_(x, value, WEFT_SCATTER_ADD, __VA_ARGS__)
#define WEFT_EAGER_UPDATE_AT_(x, value, mode, ...)                                                                     \
    WEFT_EAGER_APPLIED_(weft_index_update, WEFT_EAGER_xxmI, 4, WEFT_EAGER_ARGUMENT_(x), WEFT_EAGER_ARGUMENT_(value),   \
                        weft_eager_signed_(mode), WEFT_EAGER_ITEMS_(__VA_ARGS__))
#endif

/* An optional operand that is left out. C only. */
typedef struct weft_eager_none {
    char unused;
} weft_eager_none;
#define WEFT_EAGER_NONE ((weft_eager_none){0})

/* Options that weft_eager_apply can take: a letter of their own, and their type. */
#define WEFT_EAGER_OPTIONS_(ROW)                                                                                       \
    ROW(N, weft_norm_options)                                                                                          \
    ROW(A, weft_attention_options)                                                                                     \
    ROW(C, weft_class_options)                                                                                         \
    ROW(V, weft_conv_options)                                                                                          \
    ROW(P, weft_pool_options)                                                                                          \
    ROW(Z, weft_resize_options)                                                                                        \
    ROW(T, weft_dot_axes)                                                                                              \
    ROW(G, weft_sgd_options)                                                                                           \
    ROW(D, weft_adam_options)                                                                                          \
    ROW(M, weft_rmsprop_options)                                                                                       \
    ROW(B, weft_adagrad_options)                                                                                       \
    ROW(L, weft_lion_options)

/*
 * Known types of functions: a name, and what is taken, one letter for each parameter:
 * g graph, x tensor, t tensor whose numbers are i64, X tensors, i int64_t, u uint64_t, z size_t, e extent, b bool,
 * d dtype, m weft_scatter_mode, k weft_reduction_kind, r double, l ints, s shape, I items; options; O a further
 * result, Q a list of these, R a list of all results, as many as the last z, s or X says.
 */
#define WEFT_EAGER_SIGNATURES_(ROW)                                                                                    \
    ROW(x, (weft_tensor))                                                                                              \
    ROW(xx, (weft_tensor, weft_tensor))                                                                                \
    ROW(xxx, (weft_tensor, weft_tensor, weft_tensor))                                                                  \
    ROW(xi, (weft_tensor, int64_t))                                                                                    \
    ROW(xii, (weft_tensor, int64_t, int64_t))                                                                          \
    ROW(xiii, (weft_tensor, int64_t, int64_t, int64_t))                                                                \
    ROW(xib, (weft_tensor, int64_t, bool))                                                                             \
    ROW(xibb, (weft_tensor, int64_t, bool, bool))                                                                      \
    ROW(xie, (weft_tensor, int64_t, weft_extent))                                                                      \
    ROW(xiee, (weft_tensor, int64_t, weft_extent, weft_extent))                                                        \
    ROW(xieii, (weft_tensor, int64_t, weft_extent, int64_t, int64_t))                                                  \
    ROW(xirr, (weft_tensor, int64_t, double, double))                                                                  \
    ROW(xl, (weft_tensor, weft_ints))                                                                                  \
    ROW(xlb, (weft_tensor, weft_ints, bool))                                                                           \
    ROW(xlib, (weft_tensor, weft_ints, int64_t, bool))                                                                 \
    ROW(xlrb, (weft_tensor, weft_ints, double, bool))                                                                  \
    ROW(xll, (weft_tensor, weft_ints, weft_ints))                                                                      \
    ROW(xs, (weft_tensor, weft_shape))                                                                                 \
    ROW(xsl, (weft_tensor, weft_shape, weft_ints))                                                                     \
    ROW(xssl, (weft_tensor, weft_shape, weft_shape, weft_ints))                                                        \
    ROW(xd, (weft_tensor, weft_dtype))                                                                                 \
    ROW(xr, (weft_tensor, double))                                                                                     \
    ROW(xrib, (weft_tensor, double, int64_t, bool))                                                                    \
    ROW(xrr, (weft_tensor, double, double))                                                                            \
    ROW(xex, (weft_tensor, weft_extent, weft_tensor))                                                                  \
    ROW(xed, (weft_tensor, weft_extent, weft_dtype))                                                                   \
    ROW(xxi, (weft_tensor, weft_tensor, int64_t))                                                                      \
    ROW(xxb, (weft_tensor, weft_tensor, bool))                                                                         \
    ROW(xxll, (weft_tensor, weft_tensor, weft_ints, weft_ints))                                                        \
    ROW(xxss, (weft_tensor, weft_tensor, weft_shape, weft_shape))                                                      \
    ROW(xxrr, (weft_tensor, weft_tensor, double, double))                                                              \
    ROW(xxxi, (weft_tensor, weft_tensor, weft_tensor, int64_t))                                                        \
    ROW(xxxim, (weft_tensor, weft_tensor, weft_tensor, int64_t, weft_scatter_mode))                                    \
    ROW(xxk, (weft_tensor, weft_tensor, weft_reduction_kind))                                                          \
    ROW(xxrk, (weft_tensor, weft_tensor, double, weft_reduction_kind))                                                 \
    ROW(xxxk, (weft_tensor, weft_tensor, weft_tensor, weft_reduction_kind))                                            \
    ROW(Xi, (weft_tensors, int64_t))                                                                                   \
    ROW(xXl, (weft_tensor, weft_tensors, weft_ints))                                                                   \
    ROW(xXls, (weft_tensor, weft_tensors, weft_ints, weft_shape))                                                      \
    ROW(xxXl, (weft_tensor, weft_tensor, weft_tensors, weft_ints))                                                     \
    ROW(xXlxm, (weft_tensor, weft_tensors, weft_ints, weft_tensor, weft_scatter_mode))                                 \
    ROW(gds, (weft_graph *, weft_dtype, weft_shape))                                                                   \
    ROW(gdrs, (weft_graph *, weft_dtype, double, weft_shape))                                                          \
    ROW(gdsi, (weft_graph *, weft_dtype, weft_shape, int64_t))                                                         \
    ROW(gdrre, (weft_graph *, weft_dtype, double, double, weft_extent))                                                \
    ROW(gdeei, (weft_graph *, weft_dtype, weft_extent, weft_extent, int64_t))                                          \
    ROW(ix, (int64_t, weft_tensor))                                                                                    \
    ROW(xe, (weft_tensor, weft_extent))                                                                                \
    ROW(xiiie, (weft_tensor, int64_t, int64_t, int64_t, weft_extent))                                                  \
    ROW(xrri, (weft_tensor, double, double, int64_t))                                                                  \
    ROW(xrrii, (weft_tensor, double, double, int64_t, int64_t))                                                        \
    ROW(xds, (weft_tensor, weft_dtype, weft_shape))                                                                    \
    ROW(xdsrr, (weft_tensor, weft_dtype, weft_shape, double, double))                                                  \
    ROW(xdsee, (weft_tensor, weft_dtype, weft_shape, weft_extent, weft_extent))                                        \
    ROW(xxs, (weft_tensor, weft_tensor, weft_shape))                                                                   \
    ROW(xxr, (weft_tensor, weft_tensor, double))                                                                       \
    ROW(xxib, (weft_tensor, weft_tensor, int64_t, bool))                                                               \
    ROW(xxxs, (weft_tensor, weft_tensor, weft_tensor, weft_shape))                                                     \
    ROW(xesbx, (weft_tensor, weft_extent, weft_shape, bool, weft_tensor))                                              \
    ROW(xxT, (weft_tensor, weft_tensor, weft_dot_axes))                                                                \
    ROW(xiN, (weft_tensor, int64_t, const weft_norm_options *))                                                        \
    ROW(xxxN, (weft_tensor, weft_tensor, weft_tensor, const weft_norm_options *))                                      \
    ROW(xNOO, (weft_tensor, const weft_norm_options *, weft_tensor *, weft_tensor *))                                  \
    ROW(xxxA, (weft_tensor, weft_tensor, weft_tensor, const weft_attention_options *))                                 \
    ROW(xxiC, (weft_tensor, weft_tensor, int64_t, const weft_class_options *))                                         \
    ROW(xxV, (weft_tensor, weft_tensor, const weft_conv_options *))                                                    \
    ROW(xlV, (weft_tensor, weft_ints, const weft_conv_options *))                                                      \
    ROW(xP, (weft_tensor, const weft_pool_options *))                                                                  \
    ROW(xsZ, (weft_tensor, weft_shape, const weft_resize_options *))                                                   \
    ROW(xxxxGO, (weft_tensor, weft_tensor, weft_tensor, weft_tensor, const weft_sgd_options *, weft_tensor *))         \
    ROW(xxxtxxDOO, (weft_tensor, weft_tensor, weft_tensor, weft_tensor, weft_tensor, weft_tensor,                      \
                    const weft_adam_options *, weft_tensor *, weft_tensor *))                                          \
    ROW(xxxxxMOO, (weft_tensor, weft_tensor, weft_tensor, weft_tensor, weft_tensor, const weft_rmsprop_options *,      \
                   weft_tensor *, weft_tensor *))                                                                      \
    ROW(xxxtxBO, (weft_tensor, weft_tensor, weft_tensor, weft_tensor, weft_tensor, const weft_adagrad_options *,       \
                  weft_tensor *))                                                                                      \
    ROW(xxxxLO, (weft_tensor, weft_tensor, weft_tensor, weft_tensor, const weft_lion_options *, weft_tensor *))        \
    ROW(XrQ, (weft_tensors, double, weft_tensor *))                                                                    \
    ROW(XbR, (weft_tensors, bool, weft_tensor *))                                                                      \
    ROW(xizR, (weft_tensor, int64_t, size_t, weft_tensor *))                                                           \
    ROW(xisR, (weft_tensor, int64_t, weft_shape, weft_tensor *))                                                       \
    ROW(xiebO, (weft_tensor, int64_t, weft_extent, bool, weft_tensor *))                                               \
    ROW(xeO, (weft_tensor, weft_extent, weft_tensor *))                                                                \
    ROW(ge, (weft_graph *, weft_extent))                                                                               \
    ROW(gu, (weft_graph *, uint64_t))                                                                                  \
    ROW(gdr, (weft_graph *, weft_dtype, double))                                                                       \
    ROW(xI, (weft_tensor, weft_index_items))                                                                           \
    ROW(xxmI, (weft_tensor, weft_tensor, weft_scatter_mode, weft_index_items))

typedef enum weft_eager_signature {
#define WEFT_EAGER_SIGNATURE_NAME_(name, types) WEFT_EAGER_##name,
    WEFT_EAGER_SIGNATURES_(WEFT_EAGER_SIGNATURE_NAME_) WEFT_EAGER_SIGNATURE_COUNT
} weft_eager_signature;

typedef enum weft_eager_kind {
    WEFT_EAGER_CONTEXT,
    WEFT_EAGER_ARRAY,
    WEFT_EAGER_SIGNED,
    WEFT_EAGER_UNSIGNED,
    WEFT_EAGER_REAL,
    WEFT_EAGER_LIST,
    WEFT_EAGER_INTS,
    WEFT_EAGER_SHAPE,
    WEFT_EAGER_ITEMS,
    WEFT_EAGER_ABSENT,
    WEFT_EAGER_OPTIONS,
    WEFT_EAGER_RESULTS,
    WEFT_EAGER_NULL,
    WEFT_EAGER_OTHER
} weft_eager_kind;

typedef enum weft_eager_options_kind {
#define WEFT_EAGER_OPTIONS_NAME_(letter, type) WEFT_EAGER_OPTIONS_##letter,
    WEFT_EAGER_OPTIONS_(WEFT_EAGER_OPTIONS_NAME_) WEFT_EAGER_OPTIONS_COUNT
} weft_eager_options_kind;

/* An item of index.h; one of WEFT_INDEX_TENSOR has its tensor as an array here. */
typedef struct weft_eager_item {
    weft_index_item item;
    weft_eager_array *indices;
} weft_eager_item;

enum { WEFT_EAGER_FEW = 16 };

/* An argument of weft_eager_apply; made by the macro, where lists that are written in place have ended by the time of
 * the call: so up to WEFT_EAGER_FEW items are copied. */
typedef struct weft_eager_argument {
    weft_eager_kind kind;
    /* Of a list; its items are the few, extents as integers, INT64_MIN for one that is none; or, of more than
     * WEFT_EAGER_FEW, those that `many` points to. SIZE_MAX for one that is missing. Of options their kind. */
    size_t count;
    union {
        weft_eager *context;
        weft_eager_array *array;
        int64_t integer;
        uint64_t natural;
        double real;
        const void *many;
        weft_eager_array *few_arrays[WEFT_EAGER_FEW];
        int64_t few_ints[WEFT_EAGER_FEW];
        const weft_eager_item *items; /* WEFT_EAGER_FEW at most */
        weft_eager_array **results;
        struct {
            union {
#define WEFT_EAGER_OPTIONS_FIELD_(letter, type) type options_##letter; /* the letter alone may be a macro */
                WEFT_EAGER_OPTIONS_(WEFT_EAGER_OPTIONS_FIELD_)
            } of;
            /* Of its lists, one after the other, as far as there is room. */
            int64_t items[WEFT_EAGER_FEW];
        } options;
    } value;
} weft_eager_argument;

/* Any tracing function; converted back to its own type before it is called. */
typedef void (*weft_eager_any)(void);

/* What weft_eager_apply calls. Errors name the function, and `file` and `line` if `file` is not NULL; it lives as long
 * as what is recorded. Arguments of the wrong number or kind are INVALID_ARGUMENT where there is a context to record
 * it. */
weft_eager_array *weft_eager_apply_arguments(const char *name, weft_eager_signature signature, weft_eager_any function,
                                             size_t count, const weft_eager_argument *arguments, const char *file,
                                             int line);

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && !defined(__cplusplus)
static inline weft_eager_argument weft_eager_context_(weft_eager *context)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_CONTEXT;
    argument.value.context = context;
    return argument;
}
static inline weft_eager_argument weft_eager_array_(weft_eager_array *array)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_ARRAY;
    argument.value.array = array;
    return argument;
}
static inline weft_eager_argument weft_eager_signed_(int64_t integer)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_SIGNED;
    argument.value.integer = integer;
    return argument;
}
static inline weft_eager_argument weft_eager_unsigned_(uint64_t natural)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_UNSIGNED;
    argument.value.natural = natural;
    return argument;
}
static inline weft_eager_argument weft_eager_real_(double real)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_REAL;
    argument.value.real = real;
    return argument;
}
static inline weft_eager_argument weft_eager_list_(weft_eager_arrays list)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_LIST;
    argument.count = list.items == NULL && list.count > 0 ? SIZE_MAX : list.count;
    argument.value.many = list.items;
    if (argument.count > WEFT_EAGER_FEW) return argument;
    for (size_t i = 0; i < argument.count; i++) argument.value.few_arrays[i] = list.items[i];
    return argument;
}
static inline weft_eager_argument weft_eager_ints_(weft_ints list)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_INTS;
    argument.count = list.items == NULL && list.count > 0 ? SIZE_MAX : list.count;
    argument.value.many = list.items;
    if (argument.count > WEFT_EAGER_FEW) return argument;
    for (size_t i = 0; i < argument.count; i++) argument.value.few_ints[i] = list.items[i];
    return argument;
}
static inline weft_eager_argument weft_eager_shape_(weft_shape list)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_SHAPE;
    argument.count = list.extents == NULL && list.rank > 0 ? SIZE_MAX : list.rank;
    argument.value.many = list.extents;
    if (argument.count > WEFT_EAGER_FEW) return argument;
    for (size_t i = 0; i < argument.count; i++) {
        bool is_number = list.extents[i].graph == NULL;
        argument.value.few_ints[i] = is_number ? list.extents[i].value : INT64_MIN;
    }
    return argument;
}

static inline weft_eager_argument weft_eager_items_(size_t count, const weft_eager_item *items)
{
    weft_eager_argument argument;
    argument.kind = WEFT_EAGER_ITEMS;
    argument.count = count;
    argument.value.items = items;
    return argument;
}
static inline weft_eager_item weft_eager_item_(weft_index_item given)
{
    weft_eager_item item = {given, NULL};
    return item;
}
static inline weft_eager_item weft_eager_item_pick_(weft_eager_array *indices)
{
    weft_eager_item item = {weft_index_pick_(WEFT_NO_TENSOR), indices};
    return item;
}
static inline weft_eager_item weft_eager_item_extent_(weft_extent index)
{
    return weft_eager_item_(weft_index_extent_(index));
}
static inline weft_eager_item weft_eager_item_number_(int64_t index)
{
    return weft_eager_item_(weft_index_number_(index));
}
static inline weft_eager_item weft_eager_item_unsigned_(uint64_t index)
{
    return weft_eager_item_(weft_index_unsigned_(index));
}
static inline weft_eager_argument weft_eager_absent_(weft_eager_none none)
{
    weft_eager_argument argument;
    (void)none;
    argument.kind = WEFT_EAGER_ABSENT;
    return argument;
}
static inline weft_eager_argument weft_eager_results_(weft_eager_array **results)
{
    weft_eager_argument argument;
    argument.kind = results == NULL ? WEFT_EAGER_NULL : WEFT_EAGER_RESULTS;
    argument.value.results = results;
    return argument;
}
/* Of NULL. */
static inline weft_eager_argument weft_eager_null_(const void *null)
{
    weft_eager_argument argument;
    argument.kind = null == NULL ? WEFT_EAGER_NULL : WEFT_EAGER_OTHER;
    return argument;
}
static inline weft_eager_argument weft_eager_extent_(weft_extent extent)
{
    weft_eager_argument argument;
    argument.kind = extent.graph == NULL ? WEFT_EAGER_SIGNED : WEFT_EAGER_OTHER;
    argument.value.integer = extent.value;
    return argument;
}
/* The list after `kept` items, if there is room; how many there are then. */
static inline size_t weft_eager_keep_(int64_t *items, size_t kept, weft_ints list)
{
    if (list.items == NULL || list.count > WEFT_EAGER_FEW - kept) return kept;
    for (size_t i = 0; i < list.count; i++) items[kept + i] = list.items[i];
    return kept + list.count;
}
static inline void weft_eager_keep_all_(int64_t *items, weft_ints a, weft_ints b, weft_ints c, weft_ints d, weft_ints e)
{
    size_t kept = weft_eager_keep_(items, 0, a);
    kept = weft_eager_keep_(items, kept, b);
    kept = weft_eager_keep_(items, kept, c);
    kept = weft_eager_keep_(items, kept, d);
    weft_eager_keep_(items, kept, e);
}
#define WEFT_EAGER_OPTIONS_ARGUMENT_(letter, type)                                                                     \
    static inline weft_eager_argument weft_eager_options_##letter##_(const type *options)                              \
    {                                                                                                                  \
        weft_eager_argument argument;                                                                                  \
        argument.kind = options == NULL ? WEFT_EAGER_NULL : WEFT_EAGER_OPTIONS;                                        \
        argument.count = WEFT_EAGER_OPTIONS_##letter;                                                                  \
        if (options != NULL) argument.value.options.of.options_##letter = *options;                                    \
        return argument;                                                                                               \
    }
WEFT_EAGER_OPTIONS_(WEFT_EAGER_OPTIONS_ARGUMENT_)
static inline weft_eager_argument weft_eager_conv_(const weft_conv_options *o)
{
    weft_eager_argument argument = weft_eager_options_V_(o);
    if (o != NULL)
        weft_eager_keep_all_(argument.value.options.items, o->stride, o->dilation, o->low, o->high, o->output_padding);
    return argument;
}
static inline weft_eager_argument weft_eager_pool_(const weft_pool_options *o)
{
    weft_eager_argument argument = weft_eager_options_P_(o);
    if (o != NULL) weft_eager_keep_all_(argument.value.options.items, o->size, o->stride, o->dilation, o->low, o->high);
    return argument;
}
static inline weft_eager_argument weft_eager_axes_(weft_dot_axes axes)
{
    const weft_ints none = {0, NULL};
    weft_eager_argument argument = weft_eager_options_T_(&axes);
    weft_eager_keep_all_(argument.value.options.items, axes.batch_a, axes.batch_b, axes.contract_a, axes.contract_b,
                         none);
    return argument;
}

/* Once in the text, as WEFT_OPERAND_. */
#define WEFT_EAGER_ARGUMENT_(value) WEFT_EAGER_ARGUMENT_COUNTED_(value, __COUNTER__)
#define WEFT_EAGER_ARGUMENT_COUNTED_(value, count) WEFT_EAGER_ARGUMENT_NAMED_(value, count)
#define WEFT_EAGER_ARGUMENT_NAMED_(value, count)                                                                         \
    __extension__({                                                                                                      \
        __auto_type weft_eager_##count##_ = (value);                                                                     \
        _Generic(weft_eager_##count##_, weft_eager_array *                                                             \
                 : weft_eager_array_, weft_eager_none                                                                  \
                 : weft_eager_absent_, weft_eager *                                                                    \
                 : weft_eager_context_, weft_eager_array **                                                            \
                 : weft_eager_results_, void *                                                                         \
                 : weft_eager_null_, weft_extent                                                                       \
                 : weft_eager_extent_,                                                                                 \
                   WEFT_EAGER_ASSOCIATE_2_(weft_norm_options, weft_eager_options_N_),                                  \
                   WEFT_EAGER_ASSOCIATE_2_(weft_attention_options, weft_eager_options_A_),                             \
                   WEFT_EAGER_ASSOCIATE_2_(weft_class_options, weft_eager_options_C_),                                 \
                   WEFT_EAGER_ASSOCIATE_2_(weft_conv_options, weft_eager_conv_),                                       \
                   WEFT_EAGER_ASSOCIATE_2_(weft_pool_options, weft_eager_pool_),                                       \
                   WEFT_EAGER_ASSOCIATE_2_(weft_resize_options, weft_eager_options_Z_),                                \
                   WEFT_EAGER_ASSOCIATE_2_(weft_sgd_options, weft_eager_options_G_),                                   \
                   WEFT_EAGER_ASSOCIATE_2_(weft_adam_options, weft_eager_options_D_),                                  \
                   WEFT_EAGER_ASSOCIATE_2_(weft_rmsprop_options, weft_eager_options_M_),                               \
                   WEFT_EAGER_ASSOCIATE_2_(weft_adagrad_options, weft_eager_options_B_),                               \
                   WEFT_EAGER_ASSOCIATE_2_(weft_lion_options, weft_eager_options_L_), weft_dot_axes                    \
                 : weft_eager_axes_, weft_eager_arrays                                                                 \
                 : weft_eager_list_, weft_ints                                                                         \
                 : weft_eager_ints_, weft_shape                                                                        \
                 : weft_eager_shape_, float                                                                            \
                 : weft_eager_real_, double                                                                            \
                 : weft_eager_real_, unsigned long                                                                     \
                 : weft_eager_unsigned_, unsigned long long                                                            \
                 : weft_eager_unsigned_, default                                                                       \
                 : weft_eager_signed_)(weft_eager_##count##_); \
    })

#define WEFT_EAGER_ASSOCIATE_2_(type, function) type * : function, const type * : function
#define WEFT_EAGER_ASSOCIATION_(name, types) weft_tensor(*) types : WEFT_EAGER_##name,
#define WEFT_EAGER_SIGNATURE_OF_(function)                                                                             \
    _Generic((function), WEFT_EAGER_SIGNATURES_(WEFT_EAGER_ASSOCIATION_) int : WEFT_EAGER_SIGNATURE_COUNT)

#define WEFT_EAGER_APPLY_(name, function, count, ...) WEFT_EAGER_APPLY_COUNTED_(name, function, count, __VA_ARGS__)
#define WEFT_EAGER_APPLY_COUNTED_(name, function, count, ...)                                                          \
    weft_eager_apply_arguments(name, WEFT_EAGER_SIGNATURE_OF_(function), (weft_eager_any)(function), count,            \
                               (weft_eager_argument[]){WEFT_EACH_##count##_(WEFT_EAGER_ARGUMENT_, __VA_ARGS__, )},     \
                               __FILE__, __LINE__)
#define WEFT_EAGER_APPLIED_(function, signature, count, ...)                                                           \
    weft_eager_apply_arguments(#function, signature, (weft_eager_any)(function), count,                                \
                               (weft_eager_argument[]){__VA_ARGS__}, __FILE__, __LINE__)

#define WEFT_EAGER_ITEM_(value)                                                                                        \
    _Generic((value), weft_index_item                                                                                  \
             : weft_eager_item_, weft_eager_array *                                                                    \
             : weft_eager_item_pick_, void *                                                                           \
             : weft_eager_item_pick_, weft_extent                                                                      \
             : weft_eager_item_extent_, unsigned long                                                                  \
             : weft_eager_item_unsigned_, unsigned long long                                                           \
             : weft_eager_item_unsigned_, default                                                                      \
             : weft_eager_item_number_)(value)
#define WEFT_EAGER_ITEMS_(...) WEFT_EAGER_ITEMS_COUNTED_(WEFT_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define WEFT_EAGER_ITEMS_COUNTED_(count, ...) WEFT_EAGER_ITEMS_OF_(count, __VA_ARGS__)
#define WEFT_EAGER_ITEMS_OF_(count, ...)                                                                               \
    weft_eager_items_(                                                                                                 \
        count, (weft_eager_item[]){{.indices = NULL}, WEFT_EACH_##count##_(WEFT_EAGER_ITEM_, __VA_ARGS__, )} + 1)
#endif
#endif
