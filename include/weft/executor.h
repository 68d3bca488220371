/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_EXECUTOR_H
#define WEFT_EXECUTOR_H
/*
 * Executors run programs: they bind the extents, check the guards, find or build the variant, and run its steps. An
 * executor owns the caches, the pooled buffers and the thread pool. Any number of threads may run programs on one
 * executor at the same time.
 *
 * A process may fork at any time, also while other threads compile and run. The child has executors, programs and
 * arrays of its own, with all that was compiled: it may run, compile, release and destroy, and neither process sees
 * what the other does. It starts its own threads when it needs them. Fork waits until no thread is inside LLVM, at most
 * about as long as one kernel takes to compile. Memory that runs of other threads held at the fork is not freed in the
 * child. Callbacks (allocators, kernels and lowerings of extensions) must not fork, unless the child calls exec or
 * _exit next; an allocator with fork handlers of its own must have registered them before the first executor is made. A
 * child made by a bare system call, past the C library's fork, may only exec or _exit.
 *
 * A thread that makes an executor, traces, compiles and runs needs a stack of 32 KB, 2 KB more for each region (fold,
 * while, cond) within another, up to 128 KB more where extents nest deep, plus whatever its own callbacks need. LLVM
 * needs more: a first run builds its variant on a thread created for the purpose where less than 1 MiB of stack is
 * left, or where the stack is not the thread's own (coroutines).
 */
#include <weft/machine.h>
#include <weft/program.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_MAX_THREADS = 1024 };        /* of an executor */
#define WEFT_SPECIALIZE_NEVER UINT32_MAX /* weft_executor_options.specialize_after */

typedef struct weft_runtime weft_runtime;     /* <weft/runtime.h> */
typedef struct weft_schedules weft_schedules; /* <weft/schedules.h> */

/* What is done to make code of kernels for the CPU fast, and when. The bits of results are the same, except for sign
 * and payload of NaNs. */
typedef enum weft_code_policy {
    WEFT_CODE_OPTIMIZED, /* all of it, before a kernel runs for the first time */
    /* A new kernel is compiled without optimisation, in 0.25 to 0.5 of the time, and runs up to several times as slow;
     * after the run has been built, a thread of the executor's own optimises its kernels one after another, and runs
     * switch over as they become ready. A kernel for which there is no memory then stays as it is. */
    WEFT_CODE_TIERED,
    WEFT_CODE_QUICK /* without optimisation: for programs that run once and work little */
} weft_code_policy;

/* Zero-initialise for the defaults. */
typedef struct weft_executor_options {
    const weft_allocator *allocator;
    unsigned threads;        /* at most WEFT_MAX_THREADS; 0: as many as processors that the process may use */
    size_t variant_capacity; /* entries; 0: 256 */
    size_t kernel_capacity;  /* entries; 0: 1024 */
    /* Bytes of freed buffers that this executor keeps for reuse, the oldest of which go first; 0: a quarter of
     * weft_memory_size; set it if several executors, or processes, share the machine. Larger ones are given back after
     * each run; allocating them again costs some tenths of a second per GiB. */
    size_t buffer_capacity;
    const weft_machine *machine; /* a CPU; code is scheduled and work is cut for it; NULL: weft_machine_host */
    /* Of kernels for the CPU, in place of what the rules choose; outlive the executor; NULL: none. A schedule that does
     * not fit its kernel is INVALID_ARGUMENT when that is built. */
    const weft_schedules *schedules;
    weft_code_policy code;
    /* After so many runs of a program with the same extents and strides, a variant for exactly these is built, as
     * weft_run.specialize says, by the thread of the executor's own; runs go on meanwhile, and use it when it is ready.
     * Until it is built, or turns out not to be needed, the executor has a reference on the program. Where it fails, as
     * for want of memory, it is not tried again; after each time that it was evicted it takes twice as many runs. A
     * variant has kernels of its own: where neither the program nor a cache directory has their code, LLVM is loaded
     * for them. 0: 100. */
    uint32_t specialize_after;
    size_t specialized_capacity; /* of such variants, the least recently used of which go first; 0: 64 */
    /* That these take; 0: 32 MiB. Of each its tables and the code of all kernels that it runs, also of those that
     * others run too. Kernels that nothing else runs go with their variant. */
    size_t specialized_bytes;
    /* Optimised code of kernels is kept in this directory, where later executors find it, also those of other
     * processes: a program whose kernels are all there, also those of `specialize_after`, runs without LLVM being
     * loaded. Processes may share it. It is made, for nobody but the user, if there is none; the folder that it is to
     * be in must exist. Code is of one build of weft, and runs on processors that have the same instructions. An entry
     * that is damaged costs a compilation, and so does a directory that cannot be read or written any more: neither is
     * an error. Code without optimisation (`code`) is not kept, but optimised code that is there is used in place of
     * it. NULL: code is kept in memory alone. Whoever can write to the directory has code run in this process.
     *
     * A directory that was filled before may be read-only. Entries that cannot be written are counted
     * (weft_disk_counters), no more. */
    const char *cache_directory;
    /* That its files take, or a few hundredths more; the least recently used go first; 0: 256 MiB. */
    uint64_t cache_bytes;
} weft_executor_options;

/*
 * An executor with no runtime registered; libweft's weft_executor_create_standard registers "llvm", "ref" and
 * "ref-ordered".
 *
 * Code and products use the instructions the processor has, or fewer where the environment variable WEFT_ISA names a
 * level: x86-64-v2, x86-64-v3, x86-64-v4 or, for runtime "ref" alone, x86-64. It is read once, and may be empty.
 * WEFT_INVALID_ARGUMENT when it names none of these, WEFT_UNSUPPORTED when the processor lacks that level. Runtime
 * "llvm" needs x86-64-v2: below that its runs are WEFT_UNSUPPORTED. WEFT_OUT_OF_RANGE for more threads than
 * WEFT_MAX_THREADS, WEFT_INVALID_ARGUMENT for a machine that weft_machine_check refuses or that is no CPU, and for a
 * policy of code that is none, WEFT_BAD_FILE for a cache directory that cannot be made or opened, that belongs to
 * another user, that others may write to, or that cannot be written and has nothing to read.
 */
weft_status *weft_executor_create(const weft_executor_options *options, weft_executor **out_executor) WEFT_MUST_USE;
weft_status *weft_executor_create_standard(const weft_executor_options *options,
                                           weft_executor **out_executor) WEFT_MUST_USE;
/* No run may be in progress, and its queues must have been destroyed. Arrays and events that it handed out stay
 * valid. Waits for the kernel that its own thread is compiling, if it is. */
void weft_executor_destroy(weft_executor *executor);

/* Registers a runtime, which must outlive the executor and, if it allocates memory, its arrays. The first one
 * registered is the default. A second one of the same name is INVALID_ARGUMENT. */
weft_status *weft_executor_register_runtime(weft_executor *executor, const weft_runtime *runtime) WEFT_MUST_USE;
/* Makes an extension's kernels available. Registering the same table twice is fine. */
weft_status *weft_executor_register_extension(weft_executor *executor, const weft_extension *extension) WEFT_MUST_USE;

/* What one run did; see weft_run.report. Times in nanoseconds. */
typedef struct weft_report {
    int64_t compile_ns; /* building the variant; 0 on a hit */
    int64_t run_ns;     /* running the steps */
    size_t steps;       /* kernels, library and extension steps of the variant */
    size_t peak_bytes;  /* of the planned arena, and of the largest run that a kernel of an extension started */
    bool hit;           /* the variant was in the cache */
    /* What products take beside the arena to pack their operands, and for sums of f16 and bf16, if all threads of the
     * executor do so at once: exactly that with one thread. Not of runs that kernels of extensions start. */
    size_t packed_bytes;
} weft_report;

typedef enum weft_profile_kind {
    WEFT_PROFILE_KERNEL,  /* generated code */
    WEFT_PROFILE_PRODUCT, /* the library of matrix products */
    WEFT_PROFILE_SORT,    /* the runtime's sort */
    WEFT_PROFILE_HOST,    /* an extension's kernel, the reference runtime */
    WEFT_PROFILE_REGION,  /* a fold, while or cond around the steps of its regions */
    WEFT_PROFILE_PACK     /* an operand of products in a loop, packed for the library before it */
} weft_profile_kind;

/*
 * What one step of a run did. `bytes` and `flops` are estimates from the extents of this run. A kernel's bytes are the
 * elements it accesses in each array, at most the whole array once; those of a matrix product or host step are its
 * operands and results. A kernel's flops are its arithmetic operations, integer ones included: an fma counts as two,
 * exp and the like as the operations they expand to; moves, conversions, comparisons, selects and address computations
 * do not count. A product of m x k and k x n has 2 m n k flops, a complex one 8 m n k; a host step's are unknown: 0. A
 * region's own bytes and flops are 0: they are counted for its steps.
 */
typedef struct weft_profile_record {
    size_t size;      /* of this struct, as the library knows it */
    const char *name; /* of the tensor, or the op, that the step computes; valid during the call */
    weft_profile_kind kind;
    size_t step;              /* its number in the table of steps */
    size_t depth;             /* 0; deeper for steps that another step runs */
    int64_t begin_ns, end_ns; /* of a clock that only goes forward */
    double bytes, flops;
    /* KERNEL, of an executor that has schedules: equal for equal loops before they are scheduled; else 0. */
    uint64_t kernel;
} weft_profile_record;

/* Called after each step that succeeded, on the thread that called weft_executor_run; steps that another step runs come
 * before it, once for each time they ran. Steps run one after another, even those that would otherwise run in parallel.
 * The callback may use the executor for runs of its own, also of the same program, but not destroy it. */
typedef struct weft_profile {
    void *self;
    void (*record)(void *self, const weft_profile_record *record);
} weft_profile;

/* A sequence of runs of one executor that a device performs asynchronously, one after another: weft_run.queue. */
typedef struct weft_queue weft_queue;
/* The end of a run, or of a copy: weft_run.signal. Any thread may use it. */
typedef struct weft_event weft_event;

/*
 * One run; zero-initialise. Nothing in it is kept after the call, except that with a queue the arrays are retained.
 *
 *     weft_named_array y = {"y", NULL};
 *     status = weft_executor_run(executor, program, &(weft_run){.named_inputs = WEFT_NAMED({"w", w}, {"x", x}),
 *                                                               .named_outputs = {1, &y}});
 */
typedef struct weft_run {
    const char *runtime; /* name of a registered runtime; NULL: the default */
    size_t input_count;
    weft_array *const *inputs; /* in the program's order */
    size_t output_count;
    weft_array **outputs; /* entry not NULL: written to, any strides; NULL: a new array, released by the caller */
    size_t extent_count;
    const weft_binding *extents;    /* values for symbols that no input binds; may name bound ones, if equal */
    const bool *donated;            /* NULL or per input as given: outputs may overwrite its memory, see below */
    const volatile bool *cancelled; /* read between steps, between kernels compiled, and while rows sort; NULL: never */
    bool specialize;                /* build (and prefer) a variant for exactly these extents and strides */
    uint32_t wait_count;            /* of `waits`, below */
    weft_report *report;            /* when not NULL: filled in as far as known, even if the run fails; else zeros */
    const weft_profile *profile;    /* called for each step when not NULL */
    /* Bytes that the arena may have: a run that needs more is OVER_LIMIT before it begins, with what it needs in the
     * report; 0: any. Runtime "ref" plans no arena: it takes what it needs under any limit, and its peak_bytes are 0.
     * Not counted either: new outputs, what products pack of their operands (`packed_bytes` of the report: for each
     * thread at most these, and at most 4.5 times L2 of the machine; about 1 MiB more for sums of f16 and bf16), and
     * runs that kernels of extensions start. Steps run in parallel as far as the limit allows; without a limit, as long
     * as that takes at most a quarter plus 1 MiB more than running them one after another. Intermediates that stay in
     * the cache exist once for each thread, or as a whole, and each thread sorts rows in memory of its own; under a
     * limit that this exceeds there is one of each. With a limit no loop packs a matrix of its products beforehand, and
     * no reduction has what it reads across memory turned first. */
    size_t memory_limit;
    /* By name, unless the count is 0. */
    weft_named_arrays named_inputs;  /* instead of `inputs`: each of the program's once, in any order */
    weft_named_arrays named_outputs; /* instead of `outputs`: those that are wanted; others are computed and released */
    weft_queue *queue;        /* of the same executor; `runtime` is its runtime, or NULL; see weft_queue_create */
    weft_event *const *waits; /* ends of runs that this one begins after, also of other queues and executors */
    weft_event **signal;      /* when not NULL: gets the end of this run, released by the caller; NULL after an error */
} weft_run;

/*
 * Runs `program`. Before anything runs: the names, counts, dtypes, ranks and extents of the arrays, the symbols' ranges
 * and the guards are checked (SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT, NOT_REGISTERED). Outputs may overlap
 * only donated inputs; the gaps between the elements of an array count as part of it. An output that is a donated input
 * with some elements updated (weft_scatter, weft_dynamic_update_slice, or a loop that carries the input and does
 * nothing else to it) is updated in place if the same array is passed for both and nothing reads the input afterwards;
 * if no output array is passed, the new one reuses the memory of a row-major input. So is an output of the type of the
 * input that one step computes from it element by element (w - rate * g), or row by row (weft_softmax,
 * weft_layer_norm), reading each of these only for the one that takes its place, if all other steps that read the
 * input, and all that may fail, can come before that step. An output may have several such inputs; an input has one
 * such output. A view of the program (<weft/inspect.h>) lists these inputs, for each output the first. A donated input
 * that any other output overlaps is copied before the first step. Runtime "ref" updates a copy: an array that is passed
 * gets the result at the end, otherwise a new one has it.
 *
 * Steps that may fail are all but generated kernels that check no data: products too, for want of memory. Once a step
 * writes over an input the run is not cancelled any more.
 *
 * After any error, including CANCELLED, entries of `outputs` that were NULL are still NULL. Inputs are unchanged,
 * donated ones included, except one that was being updated in place: it contains the updates made before the error; and
 * one that the rows of a product are added to as they come, strip by strip, if there is no memory for the rest of the
 * product: it is new in part. An update outside of loops is atomic: if an index or start is out of range, or other data
 * are bad, none of it is written. In a loop the failing update may be written in part, with placeholder values for bad
 * data, and at index 0 for an index out of range. Updates are not undone if a later step fails or the run is cancelled.
 * Outputs passed by the caller that do not overlap an input have unspecified contents.
 *
 * Kernels of a new program are compiled on all threads; runs that other threads start in the meantime use one thread
 * each. Independent steps that are too small for all threads each (branches of a graph, folds) run in parallel, each on
 * one thread, where that saves time. Neither this nor the number of threads changes a bit of any result, nor does the
 * caller's floating-point environment (rounding, denormals, traps), which is restored after the run, flags included.
 *
 * Bad data that no output depends on may go unnoticed: code is only made for what is read. Of several errors one is
 * reported, the same for any number of threads and on every run. Runtime "ref" reports by op: the first that fails in
 * the order of weft_program_text, at its lowest position. Runtime "llvm" reports by step, which may be several ops in
 * one loop: the first step that fails, in it the lowest position, and there the first op.
 */
weft_status *weft_executor_run(weft_executor *executor, weft_program *program, const weft_run *run) WEFT_MUST_USE;

/*
 * A queue of a registered runtime (NULL: the default). A run on a queue returns once its work has been submitted to the
 * device: its arrays and program are retained until it is done, its new outputs exist, and none of its arrays may be
 * read or written before its end, except by later runs on the queue and by runs that wait for it. The call returns
 * errors found up to then; data errors on the device are reported at the end of the run, by its event or
 * weft_queue_finish, and its outputs are then unspecified. Later runs are executed nevertheless, on whatever the
 * outputs contain.
 *
 * The call itself waits for the device where it needs a value: the predicate of a cond or a while, the operands of an
 * extension's kernel; it also waits now and then in a fold of many iterations, and after each step if weft_run.profile
 * is set. `cancelled` is read until the call returns, and the report's run_ns ends then. On the CPU, whose memory the
 * caller shares, a run is done when the call returns, with or without a queue.
 *
 * Several threads may submit work to one queue. NOT_REGISTERED for an unknown runtime.
 */
weft_status *weft_queue_create(weft_executor *executor, const char *runtime, weft_queue **out_queue) WEFT_MUST_USE;
/* Waits for all submitted work; must be called before the executor is destroyed. Errors that no call returned are
 * dropped. */
void weft_queue_destroy(weft_queue *queue);
/* Waits for all submitted work. Returns the error of the first run that failed since the last call. */
weft_status *weft_queue_finish(weft_queue *queue) WEFT_MUST_USE;

/* weft_array_copy in the order of the queue: both arrays are retained, and must not be touched until it is done. On the
 * CPU, between two devices, and where the arrays overlap, it is done when the call returns. `out_event` may be NULL. */
weft_status *weft_queue_copy(weft_queue *queue, weft_array *destination, weft_array *source,
                             weft_event **out_event) WEFT_MUST_USE;

/* Waits for the end of the run and returns its outcome, the same each time. A run that waits for another one begins
 * after it even if that one failed. */
weft_status *weft_event_finish(weft_event *event) WEFT_MUST_USE;
/* Whether the run has ended. Does not wait. */
bool weft_event_is_done(weft_event *event);
void weft_event_release(weft_event *event);

/* Statistics of one cache. */
typedef struct weft_cache_counters {
    uint64_t hits;      /* calls that got a value that another call had made or was making */
    uint64_t misses;    /* calls that made a value, or got an error */
    uint64_t evictions; /* values dropped for room, those too large to be kept included */
    size_t entries;     /* kept now */
    size_t bytes;       /* of those, as far as they are known */
} weft_cache_counters;

/* Of kernels, in the directory of the cache. */
typedef struct weft_disk_counters {
    uint64_t hits;      /* kernels whose code was there */
    uint64_t misses;    /* kernels whose code was not, or was refused */
    uint64_t refused;   /* entries that were damaged, or could not be loaded */
    uint64_t writes;    /* entries written */
    uint64_t evictions; /* by this executor */
    uint64_t failures;  /* entries that were to be written and could not be, or had no room */
} weft_disk_counters;

typedef struct weft_executor_counters {
    size_t size; /* sizeof(weft_executor_counters), which the caller sets; 0 stands for it */
    weft_cache_counters variants;
    weft_cache_counters kernels;
    uint64_t kernels_compiled;
    size_t buffer_bytes;           /* freed buffers kept for reuse */
    size_t background_waiting;     /* kernels and variants that the executor's own thread has yet to finish */
    uint64_t kernels_optimized;    /* by it: WEFT_CODE_TIERED */
    uint64_t variants_specialized; /* by it: specialize_after */
    weft_disk_counters disk;       /* zeros without a cache_directory */
} weft_executor_counters;

/* Fills in all fields that `out_counters->size` has room for. */
void weft_executor_counters_read(const weft_executor *executor, weft_executor_counters *out_counters);
/* Drops everything cached that no run is using, and what waits for the executor's own thread; not what is on disk. */
void weft_executor_clear(weft_executor *executor);
/* Waits until nothing is left for the executor's own thread to do. */
void weft_executor_settle(weft_executor *executor);
/* Threads of the pool, the caller's included. */
unsigned weft_executor_threads(const weft_executor *executor);

/* Bytes of memory that this process may use: the machine's, or fewer under a control group or a process limit. The
 * system is asked at each call. */
size_t weft_memory_size(void);
/* The ISA level of this process, "x86-64-v3": what its processor has, or what WEFT_ISA names. Static. */
const char *weft_isa_name(void);
/* Bytes of the vectors that generated code computes with at that level. */
unsigned weft_isa_vector_bytes(void);
/* Name of the BLIS configuration whose kernels matrix products use where weft has no faster ones: "skx" or "haswell";
 * "portable" below x86-64-v3, which has no fused multiplication: the same sums, slowly. Static. */
const char *weft_gemm_configuration(void);
/* The instructions beyond its level that this process multiplies a dtype with, of bf16 with WEFT_PRODUCTS_FAST: "AMX",
 * "AVX512_BF16" or, of u8, "AVX512_VNNI". NULL: none. Asks Linux for AMX (program.h). Static. */
const char *weft_gemm_instructions(weft_dtype dtype);

/* The state that `extension` keeps for this executor (weft_extension.state_create), or NULL; for an extension's own
 * counters. */
void *weft_executor_extension_state(const weft_executor *executor, const weft_extension *extension);

#ifdef __cplusplus
}
#endif
#endif
