/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_EXTENSION_H
#define WEFT_EXTENSION_H
/*
 * Ops: one struct describes a built-in op and an op of a plugin alike.
 *
 * An extension is a table of op definitions. It is linked into the program, or is a shared object with one exported
 * function, WEFT_EXTENSION_QUERY_NAME, of type weft_extension_query. Register it with every graph that traces its ops
 * and with every executor that runs programs which still contain them.
 *
 * Every struct that crosses the interface starts with its size, as known to the side that filled it in: a newer plugin
 * may have longer structs, an older one shorter; fields that the other side does not know are ignored, missing ones
 * count as zero. Neither side frees the other's memory except through the functions here. No exception, longjmp, exit
 * or output may cross the interface.
 */
#include <weft/array.h>
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ABI_MAJOR 0
#define WEFT_ABI_MINOR 2

/* ---- attributes ---- */

typedef enum weft_attr_kind {
    WEFT_ATTR_INT,
    WEFT_ATTR_FLOAT,
    WEFT_ATTR_BOOL,
    WEFT_ATTR_DTYPE,
    WEFT_ATTR_STRING,
    WEFT_ATTR_INTS,
    WEFT_ATTR_EXTENT,
    WEFT_ATTR_EXTENTS,
    WEFT_ATTR_DATA, /* row-major elements of a constant */
    WEFT_ATTR_REGION
} weft_attr_kind;

/* A region: a closed sub-computation with parameters, in a graph of its own that shares the symbols of the graph around
 * it. Those of weft_fold and the like are traced; one of an extension's op comes from .weft text.
 *
 * A lowering or kernel may read the region of its op and compile its results; the parameters become the inputs. It must
 * not trace into that graph, and must hold a lock of its own while it uses it, since concurrent runs share it. The
 * compiled program has the symbols and guards of the enclosing graph. A kernel is not given the values of symbols, so
 * it can only run a program whose parameters bind all of them; otherwise the op must be lowered. */
typedef struct weft_region {
    weft_graph *graph;
    weft_tensors parameters;
    weft_tensors results;
} weft_region;

/* The value of an attribute; the op's schema determines which member is used. Values are copied when a node is made. */
typedef struct weft_attr {
    int64_t integer;    /* INT, BOOL, DTYPE */
    double real;        /* FLOAT */
    const void *data;   /* STRING: bytes without a NUL among them; DATA: bytes */
    size_t size;        /* STRING, DATA: their number */
    weft_ints ints;     /* INTS */
    weft_shape extents; /* EXTENT (one), EXTENTS */
    weft_region region; /* REGION */
} weft_attr;

typedef struct weft_attr_def {
    const char *name;
    weft_attr_kind kind;
} weft_attr_def;

/* ---- types and type rules ---- */

typedef struct weft_type {
    weft_dtype dtype;
    weft_shape shape;
} weft_type;

/* The arguments of a type rule. Extents it makes, and weft_require_*, belong to `graph`. */
typedef struct weft_infer_context {
    size_t size;
    weft_graph *graph;
    const struct weft_op_def *op;
    size_t input_count;
    const weft_type *inputs;
    const weft_attr *attrs; /* as many as the schema has */
    /* Memory that lives until the node is made, for the shapes of the result. NULL when out of memory. */
    void *(*allocate)(const struct weft_infer_context *context, size_t size);
} weft_infer_context;

/* ---- kernels ---- */

/* A view of memory a kernel reads or writes. Strides count elements. */
typedef struct weft_view {
    weft_dtype dtype;
    size_t rank;
    const int64_t *shape;
    const int64_t *strides;
    void *data;
} weft_view;

typedef struct weft_program weft_program;
typedef struct weft_executor weft_executor;

/* The arguments of a kernel. The functions may be called only during the call, from the kernel's thread. */
typedef struct weft_kernel_context {
    size_t size;
    const struct weft_op_def *op;
    const weft_attr *attrs; /* extents in them are already numbers: constant extents */
    size_t input_count, output_count;
    const weft_view *inputs;
    weft_view *outputs;    /* filled in except for the data the kernel writes */
    void *scratch;         /* as many bytes as `scratch_size` asked for, 64-byte aligned */
    void *extension_state; /* of the executor and this extension: weft_extension.state_create; NULL in an object */
    const weft_allocator *allocator;
    weft_executor *executor; /* for nested runs; weft_executor_run may be called with it; NULL in an object */
    const char *runtime;     /* name of the runtime that runs this step */
    /* Runs `task` over disjoint ranges that cover [0, count) on the executor's threads. */
    void (*parallel)(const struct weft_kernel_context *context, int64_t count, int64_t grain,
                     void (*task)(void *argument, int64_t begin, int64_t end), void *argument);
    bool (*is_cancelled)(const struct weft_kernel_context *context);
    void *host; /* private */
    /* What is_cancelled reads, or NULL: for weft_run.cancelled of nested runs. */
    const volatile bool *cancelled;
    /* Where a kernel that runs programs leaves the peak_bytes of the largest, which the report of the outer run adds to
     * its own; NULL if not requested. */
    size_t *nested_bytes;
    /* For programs that a kernel compiles: what of the policy of the program that has the op is to hold for those too.
     * Never NULL; it lives as long as the call. */
    const struct weft_policy *policy;
} weft_kernel_context;

/* ---- derivatives ---- */

/* The arguments of a derivative's rule, of one node. It traces into `graph`; weft_status and sticky errors are both
 * fine. */
typedef struct weft_gradient_context {
    size_t size;
    weft_graph *graph;
    const struct weft_op_def *op;
    const weft_attr *attrs;
    weft_tensors inputs, outputs;
    /* Of a vjp: the cotangents of the outputs; of a jvp: the tangents of the inputs. Those that are zero are
     * WEFT_NO_TENSOR; at least one is not. */
    weft_tensors given;
    const bool *needs; /* of a vjp: for each input, whether its cotangent is asked for; NULL otherwise */
    void *host;        /* private */
} weft_gradient_context;

/* ---- ops ---- */

typedef enum weft_op_class {
    WEFT_CLASS_LEAF,
    WEFT_CLASS_ELEMENTWISE,
    WEFT_CLASS_MOVEMENT,
    WEFT_CLASS_REDUCE,
    WEFT_CLASS_PRODUCT,
    WEFT_CLASS_INDEX,
    WEFT_CLASS_SCAN,
    WEFT_CLASS_SORT,
    WEFT_CLASS_REGION,
    WEFT_CLASS_OPAQUE /* an extension's: lowered, or run as a step of its own */
} weft_op_class;

typedef enum weft_op_trait {
    WEFT_TRAIT_COMMUTATIVE = 1u << 0 /* two operands: op(a, b) and op(b, a) are one node */
} weft_op_trait;

/* Its functions are called with the default floating-point environment of a thread, round to nearest and no traps,
 * whatever the user's thread has set. */
typedef struct weft_op_def {
    size_t size;           /* sizeof(weft_op_def) */
    const char *name;      /* "family.op" for an extension's */
    uint32_t version;      /* of the meaning; part of every key */
    int32_t input_count;   /* -1: any number from 1 */
    uint32_t output_count; /* 0: see count_outputs */
    uint32_t op_class;     /* weft_op_class; WEFT_CLASS_OPAQUE in an extension */
    uint32_t traits;       /* of weft_op_trait; unknown ones are INVALID_ARGUMENT */
    weft_dtype_set dtypes; /* what any of its operands may be; 0: anything; unknown ones are INVALID_ARGUMENT */
    size_t attr_count;
    const weft_attr_def *attrs;
    /*
     * Fills `out_types[0 .. output_count-1]`, or returns an error whose message starts with the op's name. Once
     * weft_require_* has returned false the error is recorded, and any return is fine. Shapes may point into inputs
     * and attrs. Called again when the node is copied to another graph, so the result must depend on the arguments
     * alone; must not trace (INVALID_ARGUMENT). Required.
     */
    weft_status *(*infer)(const weft_infer_context *context, weft_type *out_types);
    /*
     * Traces the op as other ops of `graph`; fills `out_tensors`. Leaving out_tensors[0] invalid without an error
     * declines: the node stays, and guards of what was traced are dropped. Must not make inputs (INVALID_ARGUMENT). The
     * tensors must have the types of `infer`: another dtype or rank is INVALID_ARGUMENT, another extent SHAPE_MISMATCH,
     * one that symbols may make equal becomes a guard. Once tracing has failed, any tensors and any return are fine.
     * NULL: never lowered.
     */
    weft_status *(*lower)(weft_graph *graph, const struct weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                          weft_tensor *out_tensors);
    /* The op on the CPU. Must not keep anything. NULL: it must be lowered. */
    weft_status *(*kernel)(const weft_kernel_context *context);
    /* Bytes of scratch `kernel` needs for these shapes; NULL: none. */
    weft_status *(*scratch_size)(const weft_kernel_context *context, size_t *out_size);
    /*
     * Since 0.2: lowers like `lower`, for a program compiled ahead of time, where no kernel chooses how to work by the
     * extents that it meets. `expected` has one shape for each input, of constant extents that this form of the program
     * is for: what is done, and in which order, may depend on them, but the result must be right for all others. Called
     * for nodes that `lower` declined; may decline too. Where an object is for given sizes alone, `lower` is called for
     * operands of constant extents. NULL: the op has no need of that.
     */
    weft_status *(*lower_for)(weft_graph *graph, const struct weft_op_def *op, const weft_attr *attrs,
                              weft_tensors inputs, const weft_shape *expected, weft_tensor *out_tensors);
    /*
     * Since 0.2: what makes a kernel part of programs compiled ahead of time (<weft/object.h>), which know no extension
     * where they run. The names that `kernel` and `scratch_size` have for a linker: the application that links the
     * object has functions of these names, compiled from the same source; names of weft, of the C library or with a _
     * in front are INVALID_ARGUMENT. NULL: objects cannot contain the op.
     *
     * What such a kernel is given is the same, except that its context has neither executor nor extension_state, that
     * `runtime` is "object", and that `allocator` has little more than an error takes: what it needs is scratch. An
     * attribute of kind REGION is UNSUPPORTED there.
     */
    const char *kernel_symbol, *scratch_symbol;
    /*
     * LLVM bitcode that defines both, which objects then contain instead: position-independent code of clang 19 or
     * older. Objects for another processor are UNSUPPORTED then. What it needs itself, the application has to provide;
     * in freestanding objects it may call memcpy, memmove, memset and the functions of weft_status. NULL: none.
     */
    const void *bitcode;
    size_t bitcode_size; /* in bytes */
    /*
     * Since 0.2: derivatives (<weft/gradient.h>, which has the conventions). `vjp` fills out_values for the inputs that
     * are needed, `jvp` for the outputs; WEFT_NO_TENSOR is zero, and what they are filled with before. Anything else
     * must have the type of the input or output: another dtype or rank is INVALID_ARGUMENT, another extent
     * SHAPE_MISMATCH. Called only for nodes on a path between values that a derivative is asked for. NULL: the lowering
     * is differentiated instead; without one the op is UNSUPPORTED there.
     */
    weft_status *(*vjp)(const weft_gradient_context *context, weft_tensor *out_values);
    weft_status *(*jvp)(const weft_gradient_context *context, weft_tensor *out_values);
    /* Since 0.2: the number of outputs of a node, where it depends on the attributes or on the number of operands;
     * `output_count` is 0 then, and a node for which this gives 0 is INVALID_ARGUMENT. NULL: it is `output_count`. */
    size_t (*count_outputs)(const struct weft_op_def *op, const weft_attr *attrs, size_t input_count);
} weft_op_def;

/* ---- extensions ---- */

typedef struct weft_extension {
    size_t size;                   /* sizeof(weft_extension) */
    uint32_t abi_major, abi_minor; /* WEFT_ABI_MAJOR, WEFT_ABI_MINOR it was built with */
    const char *family;            /* the part before the dot of every op */
    const char *version;           /* of the extension, for people */
    size_t op_count;
    const weft_op_def *const *ops;
    /* State kept for one executor: caches, say. Both NULL when there is none. */
    weft_status *(*state_create)(const weft_allocator *allocator, void **out_state);
    void (*state_destroy)(void *state);
} weft_extension;

/* What the host of a plugin states before anything else is exchanged. */
typedef struct weft_host {
    size_t size;
    uint32_t abi_major, abi_minor;
} weft_host;

#define WEFT_EXTENSION_QUERY_NAME "weft_extension_query"
/* The one function of a plugin. The table it hands out must live as long as the plugin is loaded. */
typedef weft_status *(*weft_extension_query_function)(const weft_host *host, const weft_extension **out_extension);

/* A loaded plugin. Keep it until every graph, program and executor that uses it is gone. */
typedef struct weft_plugin weft_plugin;
/* Loads a shared object. WEFT_BAD_FILE when it cannot be loaded or has no query function, VERSION_MISMATCH for another
 * major version. */
weft_status *weft_plugin_load(const weft_allocator *allocator, const char *path,
                              weft_plugin **out_plugin) WEFT_MUST_USE;
const weft_extension *weft_plugin_extension(const weft_plugin *plugin);
void weft_plugin_destroy(weft_plugin *plugin);

/* Checks a table: names, families, required functions, versions. Registering does this first. */
weft_status *weft_extension_check(const weft_extension *extension) WEFT_MUST_USE;

/* Makes the ops of `extension` known to `graph`. Registering twice is fine; another table of the same family is
 * INVALID_ARGUMENT. */
weft_status *weft_graph_register(weft_graph *graph, const weft_extension *extension) WEFT_MUST_USE;
/* The op of that name that `graph` knows, or NULL. Built-in ops always are. */
const weft_op_def *weft_graph_find_op(const weft_graph *graph, const char *name);
/* Where `graph` takes its memory from, for what an extension needs while it traces; the default allocator for NULL. */
const weft_allocator *weft_graph_allocator(const weft_graph *graph);

/*
 * Makes a node and returns its output 0 (others: the same node, another output number). Errors stick to the graph. This
 * is how every tracing function ends; an extension's own tracing functions call it, passing attributes in the order of
 * the schema. A macro over each of them, with WEFT_LOCATED, attaches the caller's source location to its errors and
 * guards:
 *
 *     weft_tensor mine_swish(weft_tensor x);
 *     #ifndef WEFT_NO_LOCATIONS
 *     #define mine_swish(...) WEFT_LOCATED("mine.swish", mine_swish(__VA_ARGS__))
 *     #endif
 *
 * The source file that defines them must define WEFT_NO_LOCATIONS first: otherwise its own lines would be recorded. An
 * inline function in a header calls (weft_trace)(...) instead. A weft_trace(...) that a user writes has its own
 * location.
 */
weft_tensor weft_trace(weft_graph *graph, const char *op, weft_tensors inputs, const weft_attr *attrs);
#ifndef WEFT_NO_LOCATIONS
/* The messages of an op begin with its name. */
#define weft_trace(...) WEFT_LOCATED(NULL, weft_trace(__VA_ARGS__))
#endif
/* Makes an error stick to the graph (takes `status`); returns a failed tensor of it. */
weft_tensor weft_trace_error(weft_graph *graph, weft_status *status);

#ifdef __cplusplus
}
#endif
#endif
