/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_GRAPH_H
#define WEFT_GRAPH_H
/*
 * Graphs: hash-consed nodes over tensors with symbolic extents, built by tracing. Not thread-safe.
 *
 * Tracing functions return values. The first error sticks to the graph with the op and the caller's source location;
 * anything traced from a failed tensor fails silently, so that expressions compose, and weft_compile reports the error.
 * A call that is given no graph, neither as an argument nor through a tensor (an empty list, WEFT_NO_TENSOR), has
 * nowhere to record an error: it returns a failed tensor, which weft_compile reports as such.
 *
 * The floating-point environment of the calling thread (rounding, denormals, traps) does not affect anything that is
 * traced, parsed, planned, compiled, printed or run, nor cause traps in it. Each call restores it, flags included.
 */
#include <weft/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_graph weft_graph;

/* Options of a graph; zero-initialise. NULL stands for all zeros. */
typedef struct weft_graph_options {
    const weft_allocator *allocator;
} weft_graph_options;

/* A new, empty graph. Destroying it invalidates its tensors and extents; compiled programs stay valid. */
weft_status *weft_graph_create(const weft_graph_options *options, weft_graph **out_graph) WEFT_MUST_USE;
void weft_graph_destroy(weft_graph *graph);
/* The first tracing error, or NULL; owned by the graph. */
const weft_status *weft_graph_error(const weft_graph *graph);
/* Forgets the error, so that tracing can go on from the tensors that are valid. */
void weft_graph_clear_error(weft_graph *graph);

/* ---- extents ----------------------------------------------------------------------------------------------- */

/*
 * A value: a canonical integer expression over the symbols of a graph, or a constant (then `graph` is NULL). Equal
 * expressions are equal values. Division is floor division. Overflow is an error of the graph, or gives the invalid
 * extent when there is none.
 */
typedef struct weft_extent {
    weft_graph *graph;
    int64_t value; /* private unless constant */
} weft_extent;

/* A symbol of `graph` that runs over [min, max], 0 <= min <= max. The same name gives the same symbol; another range is
 * an error. A name is letters, digits and _, no digit first, and not mod, min or max. */
weft_extent weft_symbol(weft_graph *graph, const char *name, int64_t min, int64_t max);
/* A constant; INT64_MIN is not allowed and gives the invalid extent. */
weft_extent weft_extent_of(int64_t value);
weft_extent weft_extent_add(weft_extent a, weft_extent b);
weft_extent weft_extent_sub(weft_extent a, weft_extent b);
weft_extent weft_extent_mul(weft_extent a, weft_extent b);
weft_extent weft_extent_div(weft_extent a, weft_extent b);
weft_extent weft_extent_mod(weft_extent a, weft_extent b);
weft_extent weft_extent_min(weft_extent a, weft_extent b);
weft_extent weft_extent_max(weft_extent a, weft_extent b);
bool weft_extent_is_valid(weft_extent extent);
bool weft_extent_is_static(weft_extent extent, int64_t *out_value);
bool weft_extent_equal(weft_extent a, weft_extent b);
/* Proven inclusive range; INT64_MIN or INT64_MAX where unbounded. */
void weft_extent_range(weft_extent extent, int64_t *out_min, int64_t *out_max);
/* Writes at most `size` bytes with the terminating NUL, like snprintf; returns the length of the whole text. "?" of an
 * invalid extent, and where there is no memory to print one. */
size_t weft_extent_print(weft_extent extent, char *out_text, size_t size);
/* Parses an expression over symbols that exist in `graph`: "(n + 3) / 4". */
weft_status *weft_extent_parse(weft_graph *graph, const char *text, weft_extent *out_extent) WEFT_MUST_USE;

/* ---- tensors ----------------------------------------------------------------------------------------------- */

/* A value: output number `output` of node `node`. Failed tensors have an invalid node. */
typedef struct weft_tensor {
    weft_graph *graph;
    uint32_t node;
    uint32_t output;
} weft_tensor;

/* Stands for an optional operand that is omitted. */
#ifdef __cplusplus
#define WEFT_NO_TENSOR (weft_tensor{0, 0, 0})
#else
#define WEFT_NO_TENSOR ((weft_tensor){0, 0, 0})
#endif

/* Lists, by value; the items stay the caller's and need to live for the call only. */
typedef struct weft_shape {
    size_t rank;
    const weft_extent *extents;
} weft_shape;

typedef struct weft_ints {
    size_t count;
    const int64_t *items;
} weft_ints;

typedef struct weft_tensors {
    size_t count;
    const weft_tensor *items;
} weft_tensors;

bool weft_tensor_is_valid(weft_tensor tensor);
weft_dtype weft_tensor_dtype(weft_tensor tensor);
/* 0 for a failed tensor. */
size_t weft_tensor_rank(weft_tensor tensor);
/* Extent of axis `axis`, negative axes count from the end; the invalid extent when out of range. */
weft_extent weft_tensor_extent(weft_tensor tensor, int64_t axis);
/* The whole shape; lives as long as the graph. */
weft_shape weft_tensor_shape(weft_tensor tensor);
/* Sets the name, in text forms and profiles, of the node that has `tensor` as an output; the name is copied. It must be
 * a letter or _ followed by letters, digits, _ or dots: anything else, or NULL, sticks to the graph as
 * INVALID_ARGUMENT. An input keeps the name it was made with, and a failed tensor gets none. Returns `tensor`, or a
 * failed one where the name is refused. */
weft_tensor weft_tensor_set_name(weft_tensor tensor, const char *name);

/*
 * Records a guard: a == b must hold when the graph runs, and is checked before anything runs. `format` (required) is
 * its message, escaped as all messages are. Nothing is recorded if it can be proven; if it can never hold, the error is
 * WEFT_SHAPE_MISMATCH at once and false is returned. A run that violates the guard is WEFT_SHAPE_MISMATCH too. May be
 * used by `infer`.
 */
bool weft_require_equal(weft_graph *graph, weft_extent a, weft_extent b, const char *format, ...) WEFT_FORMAT(4, 5);
/* The same for a <= b, except that the immediate error is WEFT_OUT_OF_RANGE. */
bool weft_require_at_most(weft_graph *graph, weft_extent a, weft_extent b, const char *format, ...) WEFT_FORMAT(4, 5);

/* Attaches the caller's source location to the graph's error if that has none yet, and to everything traced since the
 * last call, so that errors at a run name it. If the error names another function, of which `function` is composed,
 * " (in function)" is added to it, unless `function` is NULL. WEFT_LOCATED calls it. Returns `tensor`. */
weft_tensor weft_tensor_locate(weft_tensor tensor, const char *function, const char *file, int line);
/*
 * A call to a tracing function with the source location of the call; `name` is the function's name in messages, or the
 * op that it traces. Tracing functions of an extension record their callers' locations like this (extension.h):
 *
 *     #define mine_swish(...) WEFT_LOCATED("mine.swish", mine_swish(__VA_ARGS__))
 */
#define WEFT_LOCATED(name, call) weft_tensor_locate(call, name, __FILE__, __LINE__)
/* The same for extents, and for what weft_require_* returned. */
weft_extent weft_extent_locate(weft_extent extent, const char *file, int line);
bool weft_require_locate(bool may_hold, weft_graph *graph, const char *file, int line);

/* The same calls with the caller's source location attached to errors and guards. `graph` is evaluated twice. */
#ifndef WEFT_NO_LOCATIONS
#define WEFT_EXTENT_LOCATED_(name, ...) weft_extent_locate(weft_##name(__VA_ARGS__), __FILE__, __LINE__)
#define weft_symbol(...) WEFT_EXTENT_LOCATED_(symbol, __VA_ARGS__)
#define weft_extent_add(...) WEFT_EXTENT_LOCATED_(extent_add, __VA_ARGS__)
#define weft_extent_sub(...) WEFT_EXTENT_LOCATED_(extent_sub, __VA_ARGS__)
#define weft_extent_mul(...) WEFT_EXTENT_LOCATED_(extent_mul, __VA_ARGS__)
#define weft_extent_div(...) WEFT_EXTENT_LOCATED_(extent_div, __VA_ARGS__)
#define weft_extent_mod(...) WEFT_EXTENT_LOCATED_(extent_mod, __VA_ARGS__)
#define weft_extent_min(...) WEFT_EXTENT_LOCATED_(extent_min, __VA_ARGS__)
#define weft_extent_max(...) WEFT_EXTENT_LOCATED_(extent_max, __VA_ARGS__)
#define weft_tensor_set_name(...) WEFT_LOCATED("tensor_set_name", weft_tensor_set_name(__VA_ARGS__))
#define weft_require_equal(graph, ...)                                                                                 \
    weft_require_locate(weft_require_equal(graph, __VA_ARGS__), graph, __FILE__, __LINE__)
#define weft_require_at_most(graph, ...)                                                                               \
    weft_require_locate(weft_require_at_most(graph, __VA_ARGS__), graph, __FILE__, __LINE__)
#endif

/* ---- text form ------------------------------------------------------------------------------------------------ */

/* Prints the part of the graph that `outputs` need, as .weft text (grammar: text.md of the guide). `*out_text` is
 * NUL-terminated and freed with weft_text_destroy. Parsing the text and printing again gives the same text; only an
 * extent of many minima and maxima may come out as another one of the same value. For a tensor made in a body, which
 * weft_compile refuses, it prints the body as traced so far, for debugging: a graph of its own, whose inputs are what
 * the body is given (index, carried0, ...) and the tensors from around it (captured0, ...). Of a failed tensor it
 * returns the graph's error. */
weft_status *weft_graph_print(weft_tensors outputs, char **out_text) WEFT_MUST_USE;
void weft_text_destroy(char *text);

/* What a .weft text declares. Freed with weft_module_destroy, which also destroys the graph unless it was taken (set to
 * NULL). */
typedef struct weft_module {
    weft_graph *graph;
    weft_tensors outputs;
    const char *const *output_names;
    weft_tensors inputs; /* all that are declared, also those that no output needs; weft_tensor_name is their name */
} weft_module;

struct weft_extension;
/*
 * Parses .weft text of `length` bytes. `name` is used in messages ("name:line:column: ..."), and errors of a run name
 * the line of the text that they are about ("... (name:line)"). Ops of families other than the built-in one need their
 * `extensions`. WEFT_PARSE_ERROR, VERSION_MISMATCH for a text of another version, NOT_FOUND for a symbol that is not
 * declared, NOT_REGISTERED, UNSUPPORTED for regions that nest too deep (region.h), or what the op's rule says.
 */
weft_status *weft_graph_parse(const char *name, const char *text, size_t length, const weft_graph_options *options,
                              size_t extension_count, const struct weft_extension *const *extensions,
                              weft_module **out_module) WEFT_MUST_USE;
void weft_module_destroy(weft_module *module);

#ifdef __cplusplus
}
#endif

#include <weft/list.h>
#endif
