/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RT_H
#define WEFT_RT_H
/*
 * What programs compiled ahead of time need where they run. `weft compile` writes an object and a header NAME.h, which
 * includes this one; the application links the object and libweft-rt, and needs no compiler.
 *
 *     mlp_call call = {.extents = {.n = 3}, .x = x, .w = w, .y = y};
 *     weft_rt_workspace workspace = {0};
 *     weft_rt_error error;
 *     if (mlp_prepare(&call, &workspace, NULL, &error) != WEFT_RT_OK) ...  // error.message
 *     workspace.memory = malloc(workspace.size);
 *     if (mlp_run(&call, &workspace, &error) != WEFT_RT_OK) ...
 *
 * A run uses the caller's memory alone: it allocates nothing, takes no lock and starts no thread, unless the workspace
 * has a pool. Any number of threads may run one program, each with a workspace of its own.
 *
 * A freestanding object (`weft compile --freestanding`) contains what it needs of libweft-rt: it calls at most memcpy,
 * memmove and memset, and has no use for a pool. Of this header it takes the types; the functions declared here are
 * those of the library. Its _prepare finds out in the memory of the workspace, and what was bound there is gone then;
 * arrays between steps need not fit, only what describes them. If there is too little, the code is OUT_OF_MEMORY and
 * `size` a number of bytes to try with, 8192 or twice what there was. Memory that does not suffice is no longer in the
 * workspace afterwards:
 *
 *     weft_rt_workspace workspace = {.memory = memory, .size = sizeof memory};
 *     if (mlp_prepare(&call, &workspace, NULL, &error) != WEFT_RT_OK) ...
 *     if (workspace.memory == NULL) ...  // a run takes more than sizeof memory: workspace.size
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The codes of <weft/status.def> that a run can end with. */
typedef enum weft_rt_code {
    WEFT_RT_OK,
    WEFT_RT_OUT_OF_MEMORY,    /* the workspace is too small, or, in _prepare, the C library has no memory */
    WEFT_RT_INVALID_ARGUMENT, /* a pointer is NULL, arrays overlap, a stride addresses elements twice */
    WEFT_RT_SHAPE_MISMATCH,   /* an extent is out of its range, is not what another one requires, or breaks a guard */
    WEFT_RT_OUT_OF_RANGE,     /* a size overflows */
    WEFT_RT_UNSUPPORTED,      /* the processor has none of the instruction sets that the object was compiled for */
    WEFT_RT_BAD_FILE,         /* weights that cannot be read, or are not those of the program */
    WEFT_RT_DATA_ERROR,       /* an index out of range, an integer division by zero */
    WEFT_RT_VERSION_MISMATCH, /* the object was compiled for another version of libweft-rt */
    WEFT_RT_INTERNAL          /* a bug */
} weft_rt_code;

/* What was wrong, and where: one line, with the argument, the axis and the values; cut if it is longer. Untouched where
 * nothing was wrong. */
typedef struct weft_rt_error {
    weft_rt_code code;
    char message[508];
} weft_rt_error;

/* How an array lies in memory. What is NULL is as the extents say, and row-major. */
typedef struct weft_rt_layout {
    const int64_t *shape;   /* the extent of each axis, checked against what the program requires */
    const int64_t *strides; /* of each axis, in elements, of any sign */
} weft_rt_layout;

/* Complex numbers. Floats of 16 bits are uint16_t, booleans uint8_t that are 0 or 1. */
typedef struct weft_rt_c64 {
    float re, im;
} weft_rt_c64;

typedef struct weft_rt_c128 {
    double re, im;
} weft_rt_c128;

typedef struct weft_rt_pool weft_rt_pool;

/* Memory for runs, one at a time. Zero-initialise. `memory` may be replaced; where it is changed, or used for something
 * else, between two runs, `binding` must be set to NULL. */
typedef struct weft_rt_workspace {
    void *memory;       /* of any alignment */
    size_t size;        /* bytes of it; where a call needs more, _prepare says how many, and makes `memory` NULL */
    weft_rt_pool *pool; /* NULL: the run uses the thread that calls it */
    void *binding;      /* what the last run found out about its extents, in `memory` */
} weft_rt_workspace;

/* Threads that runs share; they start with the first run that needs them. 0: as many as processors that the process may
 * use. NULL without memory, and for more than 1024. Pools may be used by several runs at a time: one that finds it busy
 * uses the thread that calls it. */
weft_rt_pool *weft_rt_pool_create(unsigned threads);
/* No run may be using it. Workspaces that have it must be given another, and binding NULL. */
void weft_rt_pool_destroy(weft_rt_pool *pool);

/* The name of a code: "SHAPE_MISMATCH". */
const char *weft_rt_code_name(weft_rt_code code);

/* ---- what an object says about itself ---- */

/* An input or output. */
typedef struct weft_rt_value {
    const char *name;
    const char *dtype; /* "f32" */
    uint32_t rank;
    const char *const *extents; /* of each axis, as text: "784", "n", "(n + 3) / 4" */
} weft_rt_value;

typedef struct weft_rt_symbol {
    const char *name;
    int64_t min, max;
} weft_rt_symbol;

/* NAME_manifest() returns it. Constant. */
typedef struct weft_rt_manifest {
    uint32_t size, abi;  /* of this struct; what the object and libweft-rt have to agree about */
    const char *version; /* of weft */
    const char *name;
    uint32_t symbol_count, input_count, output_count;
    const weft_rt_symbol *symbols;
    const weft_rt_value *inputs, *outputs;
    const char *isa;                       /* levels it has code for, the lowest first: "x86-64-v3,x86-64-v4" */
    uint64_t weights_size, weights_digest; /* of NAME.weights; 0: constants are in the object */
    const char *text;                      /* all of this and more, as `weft info NAME.o` prints it */
} weft_rt_manifest;

/*
 * Maps NAME.weights, read-only, for all runs of the program that the manifest is of; they have it as `call.weights`. A
 * file of another program, or one that was cut or altered, is BAD_FILE, found by reading it once. The bytes of the file
 * may also be anywhere else in memory, aligned to 64 bytes.
 */
weft_rt_code weft_rt_weights_map(const weft_rt_manifest *manifest, const char *path, const void **out_weights,
                                 weft_rt_error *out_error);
void weft_rt_weights_unmap(const weft_rt_manifest *manifest, const void *weights);

/* ---- what NAME.h calls ---- */

typedef struct weft_rt_object weft_rt_object;

/* The symbol that a function has in the object: it names the contents of the header. With another header than the one
 * that was written with the object, or an equal one, a program does not link. The object has NAME_prepare and NAME_run
 * as well, for those who call them without the header. */
#if defined(__GNUC__)
#define WEFT_RT_SYMBOL(symbol) __asm__(symbol)
#else
#define WEFT_RT_SYMBOL(symbol)
#endif

/* NAME_prepare and NAME_run, whose contracts NAME.h has; call those, as they check the type of `call`. */
weft_rt_code weft_rt_prepare(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                             int64_t *out_shapes, weft_rt_error *out_error);
weft_rt_code weft_rt_run(const weft_rt_object *object, const void *call, weft_rt_workspace *workspace,
                         weft_rt_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
