/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H
/*
 * Runtimes, which a user registers with an executor. A runtime is a driver (memory, loading and launching code on one
 * kind of device; needs no compiler) and, if one is linked, a compiler, which turns a program into a variant the driver
 * can run. Without it a miss is WEFT_NO_COMPILER.
 */
#include <weft/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_variant weft_variant;
typedef struct weft_build_request weft_build_request;

/* The interface of a kernel: generated code, or a hand-written stand-in for it, sees this and nothing else. */
typedef struct weft_error_slot {
    int64_t position; /* lowest linear position at which data broke a rule; INT64_MAX: none */
    int64_t value;    /* the offending value */
    int64_t site;     /* which check */
} weft_error_slot;

typedef struct weft_kernel_frame {
    void *const *buffers;   /* data of each buffer of the kernel, element (0, ..., 0) */
    const int64_t *scalars; /* its extents and strides, in the order of its symbols */
    weft_error_slot *error;
} weft_kernel_frame;

/* Runs iterations begin <= t < end of the kernel's thread range. Computes nothing in long double (x87). */
typedef void (*weft_kernel_function)(const weft_kernel_frame *frame, int64_t begin, int64_t end);

/* Code loaded by a driver. */
typedef struct weft_image weft_image;

/* ---- devices with queues ---- */

/* Work for a device, executed asynchronously in the order of submission. */
typedef struct weft_driver_queue weft_driver_queue;
/* A point in that order. */
typedef struct weft_driver_event weft_driver_event;

typedef enum weft_copy_kind { WEFT_COPY_TO_DEVICE, WEFT_COPY_TO_HOST, WEFT_COPY_ON_DEVICE } weft_copy_kind;

/* `rows` rows of `width` bytes; pitches are the bytes from one row to the next and may have any sign. Rows of `to` do
 * not overlap each other, nor `from`. */
typedef struct weft_copy {
    size_t size;
    weft_copy_kind kind;
    void *to; /* of the first row, as `from` */
    const void *from;
    size_t width;
    int64_t rows, to_pitch, from_pitch;
} weft_copy;

/* Device memory in which launches report the rule that data broke. */
typedef struct weft_launch_error {
    int64_t tag;          /* of the first launch that has something to say; -1: none has */
    weft_error_slot slot; /* of its iterations, the lowest position, and there the lowest site */
} weft_launch_error;

/* All iterations of a kernel. Does nothing if `error` holds the report of an earlier launch. */
typedef struct weft_launch {
    size_t size;
    const char *name;  /* of the step */
    weft_image *image; /* this and the next as weft_driver.load gave them */
    weft_kernel_function function;
    size_t buffer_count;
    void *const *buffers; /* device memory; the list is the caller's, as the next */
    size_t scalar_count;
    const int64_t *scalars;
    int64_t iterations; /* 1 or more */
    int64_t tag;        /* 0 or more */
    weft_launch_error *error;
} weft_launch;

typedef enum weft_panels { WEFT_PANELS_NONE, WEFT_PANELS_A, WEFT_PANELS_B } weft_panels;

/*
 * C[b] = A[b] * B[b]; b runs over `batch_rank` axes. Strides and offsets count elements and may have any sign; those of
 * A and B may be 0. A batch axis with stride 0 in C is reduced: an element of C sums over all such axes and k, in
 * row-major order, k innermost. There are at most WEFT_MAX_RANK reduced and WEFT_MAX_RANK other batch axes. An empty
 * sum is zero. f16 and bf16 accumulate in f32 and round once. No byte of C except its elements is written, and there
 * are some.
 */
typedef struct weft_gemm_call {
    size_t size;
    /* f16, bf16, f32, f64, c64, c128: a driver multiplies all of them. On the host u8, too, from
     * x86-64-v3 on: C is i32 then. */
    weft_dtype dtype;
    int64_t m, n, k;
    size_t batch_rank;
    const int64_t *batch;                       /* extents */
    const int64_t *a_batch, *b_batch, *c_batch; /* strides */
    int64_t a_row, a_column, b_row, b_column, c_row, c_column;
    int64_t a_offset, b_offset, c_offset; /* of element (0, 0) */
    bool packed; /* on the host: by the kernels of BLIS alone, on packed operands (WEFT_PRODUCTS_LIBRARY) */
    /* On the host: an operand that was packed beforehand for the engine that multiplies, with so many rows of A or
     * columns of B, of which the first are used, and all terms. Its strides and offset say how it lay; it does not move
     * along the batch. */
    weft_panels panels;
    int64_t panel_lines;
} weft_gemm_call;

/* Rows sorted: stable in both directions, -0 and +0 being equal, NaNs last in both. Strides, steps and offsets count
 * elements and may have any sign. What is sorted and the result do not overlap; neither is empty. */
typedef struct weft_sort_call {
    size_t size;
    weft_dtype dtype; /* of what is sorted: all but complex */
    bool positions;   /* the result is where each element was, in i64; otherwise the elements */
    bool descending;
    int64_t length; /* of a row */
    size_t rank;    /* of the rows: all axes but the sorted one */
    const int64_t *rows, *in_strides, *out_strides;
    int64_t in_step, out_step; /* along a row */
    int64_t in_offset, out_offset;
    int64_t wanted; /* only the first `wanted` elements of a sorted row are read, others may be left out; at most
                       `length`. 0: all */
} weft_sort_call;

/*
 * The methods of a device whose memory the host cannot access, or that works asynchronously. All functions are
 * required, and may be called from several threads at the same time, but calls for one queue come from one thread at a
 * time. Arguments need not outlive the call, except device memory and the host memory of a copy. An error is one of the
 * device, or of work that could not be submitted to it; it may stem from earlier work of the queue.
 */
typedef struct weft_queue_methods {
    size_t size;
    weft_status *(*create)(void *self, weft_driver_queue **out_queue);
    /* Waits for the work first. */
    void (*destroy)(void *self, weft_driver_queue *queue);
    /* Queue NULL: done when the call returns, regardless of what queues hold. */
    weft_status *(*copy)(void *self, weft_driver_queue *queue, const weft_copy *copy);
    /* Writes 8 bytes, to an address that is a multiple of 8. */
    weft_status *(*store)(void *self, weft_driver_queue *queue, int64_t *to, int64_t value);
    weft_status *(*launch)(void *self, weft_driver_queue *queue, const weft_launch *launch);
    weft_status *(*multiply)(void *self, weft_driver_queue *queue, const weft_gemm_call *call, const void *a,
                             const void *b, void *c);
    weft_status *(*sort)(void *self, weft_driver_queue *queue, const weft_sort_call *call, const void *in, void *out);
    /* The host waits until all work that the queue was given is done. */
    weft_status *(*finish)(void *self, weft_driver_queue *queue);
    /* An event after all work that the queue was given. */
    weft_status *(*record)(void *self, weft_driver_queue *queue, weft_driver_event **out_event);
    /* Work submitted to the queue from now on waits for an event, of any queue of the driver. */
    weft_status *(*wait)(void *self, weft_driver_queue *queue, weft_driver_event *event);
    bool (*is_done)(void *self, weft_driver_event *event);
    weft_status *(*finish_event)(void *self, weft_driver_event *event); /* the host waits for it */
    void (*destroy_event)(void *self, weft_driver_event *event);
} weft_queue_methods;

typedef struct weft_driver {
    size_t size;
    weft_device device;
    /* Device memory, 64-byte aligned at least. If it is OUT_OF_MEMORY the executor releases the memory it keeps, tries
     * again, and then reports the error itself. Both NULL on the CPU: memory then comes from the executor's
     * allocator. */
    weft_status *(*allocate)(void *self, size_t bytes, void **out_memory);
    void (*release)(void *self, void *memory, size_t bytes);
    /* Loads an object made for this device and finds `symbol` in it; called from several threads at the same time.
     * Loaded code is freed by unload. Both may be NULL: a runtime whose compiler needs them is UNSUPPORTED then. */
    weft_status *(*load)(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function);
    void (*unload)(void *self, weft_image *image);
    /* NULL: the host reads and writes the memory, and the executor does all work itself, on its threads. */
    const weft_queue_methods *queues;
    /* What kernels are scheduled for: its `device` says for which kind of code. Outlives the runtime. NULL: the
     * executor's. */
    const weft_machine *machine;
} weft_driver;

typedef struct weft_compiler {
    size_t size;
    /* Builds the variant that `request` describes; called on a miss, from the thread that missed. */
    weft_status *(*build)(void *self, const weft_build_request *request, weft_variant **out_variant);
} weft_compiler;

struct weft_runtime {
    size_t size;
    const char *name;
    void *self;
    const weft_driver *driver;
    const weft_compiler *compiler; /* may be NULL */
};

/* ---- arrays on a device ---- */

/* weft_array_create and weft_array_wrap for memory of the runtime's device. The runtime must outlive the arrays. */
weft_status *weft_array_create_on(const weft_allocator *allocator, const weft_runtime *runtime, weft_dtype dtype,
                                  size_t rank, const int64_t *shape, weft_array **out_array) WEFT_MUST_USE;
weft_status *weft_array_wrap_on(const weft_allocator *allocator, const weft_runtime *runtime, weft_dtype dtype,
                                size_t rank, const int64_t *shape, const int64_t *strides, void *data,
                                void (*release)(void *context), void *context, weft_array **out_array) WEFT_MUST_USE;

/* Those of libweft. The LLVM code generator is loaded on the first miss. Static, never freed. */
const weft_runtime *weft_runtime_llvm(void);
const weft_runtime *weft_runtime_reference(void);
/* The reference as "ref-ordered": sums and products (dot, reduce_sum, reduce_prod) are those of "llvm" to the bit: in
 * its order, in the dtype that it adds up in. A dot of vectors is an elementwise product and a sum, and elementwise
 * products of complex numbers are those of "ref". Static, never freed. */
const weft_runtime *weft_runtime_reference_ordered(void);

#ifdef __cplusplus
}
#endif
#endif
