/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_PROGRAM_H
#define WEFT_PROGRAM_H
/* Programs: compiled graphs. Immutable, reference-counted, independent of any target; any thread may use one. */
#include <weft/extension.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What computes products: dots, and what is made of them. GENERATED chooses for each between generated loops and the
 * library, an engine around kernels of BLIS and our own, by what takes less time. LIBRARY leaves all to the library, on
 * operands that are packed for the kernels of BLIS (below x86-64-v3 for one in C): a yardstick for generated code, and
 * less to compile, since a product takes no code generation. What is computed before or after a product is a kernel by
 * itself then, so that programs are mostly slower.
 *
 * Results are the same bits, except for sign and payload of NaNs: both add up in one order. Left to loops are products
 * that the library does not have: those of integers and bools, those without a contracted axis, and those whose order
 * is that of a sum: of vectors, and of a few rows or columns, as far as extents are known, with adjacent terms in the
 * matrix (the guide, numerics). GENERATED and FAST leave large products of u8 that are cast to i32 to the library all
 * the same, from x86-64-v3 on; LIBRARY does not, since BLIS has none. Contractions that the einsum extension compiles
 * in a run follow the program that they belong to; weft_einsum_arrays is always GENERATED. The policy is for runtime
 * "llvm"; others compute all by themselves.
 *
 * FAST is GENERATED, except that products of bf16 may be left to instructions of the processor for them, which take a
 * half to an eighth of the time. Terms are the same, but are added up in another order, in f32, and rounded to bf16
 * at the end, so that they are about as exact; denormals, of bf16 and of sums, count as zero. Bits depend on what
 * the processor has, and on which products are left to it: large ones, as far as a variant knows their sizes. The bits
 * of these depend neither on layouts nor on threads. Such instructions are used where x86-64 has AMX for bf16 and the
 * system grants it (Linux), or has no AMX but AVX512_BF16, unless WEFT_ISA names a level; elsewhere, and in what is
 * compiled ahead of time, products of bf16 are those of GENERATED. The first program with such a product that is run
 * asks Linux for AMX, which then refuses alternate stacks of signals that have no room for the registers.
 */
typedef enum weft_product_policy {
    WEFT_PRODUCTS_GENERATED,
    WEFT_PRODUCTS_LIBRARY,
    WEFT_PRODUCTS_FAST
} weft_product_policy;

/*
 * How exact exp, exp2, sigmoid and tanh of f32 are, and of f16 and bf16, which are computed in f32; no other function
 * depends on it. ACCURATE keeps to the bounds of all functions (the guide, numerics). FAST mostly takes 0.5 to 0.9 of
 * the time (exp 1.0 with AVX-512), keeps to 4 units of the last place of f32, and may return 0 in place of what is
 * below 2^-125. What is computed from these functions, such as softmax, inherits that: a factor that is 0 makes the
 * product 0. Infinities and NaN are the same. The policy is for runtime "llvm"; others compute as they do.
 */
typedef enum weft_function_policy { WEFT_FUNCTIONS_ACCURATE, WEFT_FUNCTIONS_FAST } weft_function_policy;

/* How to compile; zero-initialise for the defaults. Part of every cache key. */
typedef struct weft_policy {
    size_t size;                   /* sizeof(weft_policy); 0 stands for it */
    bool keep_symbolic_extensions; /* do not lower extension nodes whose extents are symbolic */
    const char *passes; /* names in order, between commas or blanks; NULL: the standard pipeline (weft_pass_names) */
    weft_product_policy products;
    weft_function_policy functions;
} weft_policy;

/*
 * Compiles the graph that `outputs` need. The program does not refer to the graph afterwards. `output_names` may be
 * NULL, and so may single names: then outputs are called "out0", "out1", ... Names must differ and not be empty
 * (INVALID_ARGUMENT). The inputs are those that the outputs need as traced, even if a pass finds that they do not
 * matter, in the order in which they were made; inputs of which only the shape or dtype is used, as by weft_full_like,
 * are not among them. INVALID_ARGUMENT for a value of policy->products or functions that there is not. Reports the
 * graph's sticky error if there is one.
 */
weft_status *weft_compile_named(weft_graph *graph, weft_tensors outputs, const char *const *output_names,
                                const weft_policy *policy, weft_program **out_program) WEFT_MUST_USE;
weft_status *weft_compile(weft_graph *graph, weft_tensors outputs, const weft_policy *policy,
                          weft_program **out_program) WEFT_MUST_USE;

/*
 * The program with some of its inputs as constants, of which it has copies; the others are its inputs, in their order.
 * It is compiled once more, so that the passes see the constants, and has all symbols that the program has. For
 * weights, which an object then contains (<weft/object.h>), and a product may read packed. Arrays may have any strides.
 * NOT_FOUND for a name that no input has, INVALID_ARGUMENT for one that is given twice and for bools that are neither 0
 * nor 1, DTYPE_MISMATCH, SHAPE_MISMATCH, and UNSUPPORTED for an input with an extent that is no number, and for an
 * array that is not in memory of the CPU.
 */
weft_status *weft_program_bind(const weft_program *program, weft_named_arrays constants,
                               weft_program **out_program) WEFT_MUST_USE;

weft_program *weft_program_retain(weft_program *program);
void weft_program_release(weft_program *program);

/* What it was compiled for. */
weft_product_policy weft_program_products(const weft_program *program);
weft_function_policy weft_program_functions(const weft_program *program);

size_t weft_program_input_count(const weft_program *program);
size_t weft_program_output_count(const weft_program *program);
/* Name, dtype and rank of an input or output; NULL / 0 when out of range. */
const char *weft_program_input_name(const weft_program *program, size_t input);
const char *weft_program_output_name(const weft_program *program, size_t output);
weft_dtype weft_program_input_dtype(const weft_program *program, size_t input);
weft_dtype weft_program_output_dtype(const weft_program *program, size_t output);
size_t weft_program_input_rank(const weft_program *program, size_t input);
size_t weft_program_output_rank(const weft_program *program, size_t output);
/* The number of the input or output of that name; SIZE_MAX when there is none. */
size_t weft_program_find_input(const weft_program *program, const char *name);
size_t weft_program_find_output(const weft_program *program, const char *name);

/* A symbol that extents in the program depend on. */
typedef struct weft_program_symbol {
    const char *name;
    int64_t min, max; /* what its value may be */
    size_t input;     /* the first input that has it as extent, on axis `axis`, which binds it in a run; SIZE_MAX: */
    size_t axis;      /* none does, so weft_run.extents has to */
} weft_program_symbol;

/* One axis of an input or output. */
typedef struct weft_program_axis {
    int64_t size;          /* if it is the same in every run; otherwise -1 */
    const char *extent;    /* as text: "784", "n", "(n + 3) / 4" */
    size_t symbol_count;   /* that the extent depends on */
    const size_t *symbols; /* their numbers */
} weft_program_axis;

/* The symbols, in the order of their creation; NULL when out of range. */
size_t weft_program_symbol_count(const weft_program *program);
const weft_program_symbol *weft_program_symbol_at(const weft_program *program, size_t symbol);
/* The axes of an input or output, as many as its rank; NULL when out of range. */
const weft_program_axis *weft_program_input_axes(const weft_program *program, size_t input);
const weft_program_axis *weft_program_output_axes(const weft_program *program, size_t output);

/* The value of a symbol. */
typedef struct weft_binding {
    const char *name;
    int64_t value;
} weft_binding;

/*
 * The shape of an output for those values of symbols: out_shape[0 .. rank-1]. Those that its extents depend on must be
 * given, others of the graph may be given; guards are not checked. INVALID_ARGUMENT for a symbol that is missing,
 * unknown, or given twice with different values, OUT_OF_RANGE for one that is outside of its range and for an extent
 * that overflows, divides by zero or is negative.
 */
weft_status *weft_program_output_shape(const weft_program *program, size_t output, size_t binding_count,
                                       const weft_binding *bindings, int64_t *out_shape) WEFT_MUST_USE;

/* The optimised graph as .weft text; lives as long as the program. It is a graph like any other: weft_graph_parse reads
 * it, with the extensions whose ops are in it, unless one of its guards can never hold, and compiling that with the
 * same policy gives the same bits. Symbols that are no longer needed are left out. Printed on the first request, with
 * all constants: large ones take twice their bytes. NULL when there is no memory for it. */
const char *weft_program_text(const weft_program *program);
/*
 * Writes the program to a file, from which weft_program_load makes it again, on any machine, with the same version of
 * weft: a text with the optimised graph, the policy and the guards, and a digest. What runs is the same, to the bit,
 * and so are inputs, outputs and symbols. An existing file is replaced once all is written. BAD_FILE.
 */
weft_status *weft_program_save(const weft_program *program, const char *path) WEFT_MUST_USE;
/* With the extensions whose ops are in it; `allocator` may be NULL. BAD_FILE for a file that cannot be read, is no
 * saved program or is damaged, VERSION_MISMATCH for one of another version, and errors of weft_graph_parse. */
weft_status *weft_program_load(const weft_allocator *allocator, const char *path, size_t extension_count,
                               const weft_extension *const *extensions, weft_program **out_program) WEFT_MUST_USE;
/* The same from the bytes of such a file; `name` is what messages call it. */
weft_status *weft_program_parse(const char *name, const void *data, size_t size, const weft_allocator *allocator,
                                size_t extension_count, const weft_extension *const *extensions,
                                weft_program **out_program) WEFT_MUST_USE;
/* Whether a file that begins with these bytes is meant to be a saved program. */
bool weft_program_is_saved(const void *data, size_t size);

/*
 * Machine code with a program, so that a service starts from one file, without LLVM: after weft_program_keep_code, the
 * program gets the optimised code that executors compile for it, or find in their caches, of every variant that is
 * built from then on, at once whatever the code policy; weft_program_save writes it after the text. Code of programs
 * that kernels of extensions compile in a run is not among it. Where extents are symbolic, a service that is never to
 * load LLVM sets weft_executor_options.specialize_after to WEFT_SPECIALIZE_NEVER. No run may be under way.
 */
weft_status *weft_program_keep_code(weft_program *program) WEFT_MUST_USE;
/*
 * Gives the program the code in the file of a saved one, which executors then use in place of compiling; the program
 * may also be a new one of the same graph. weft_program_load leaves code alone: it runs in this process, and a checksum
 * does not say who made it, so use files that you trust as you trust a library. Code of another build of weft, or for
 * other instructions than the process uses, is not used, and what is damaged is left out: that costs a compilation, and
 * is no error. `out_count` may be NULL: how many kernels the program has code of. No run may be under way. Errors are
 * those of weft_program_load, except the text, which is not read.
 */
weft_status *weft_program_load_code(weft_program *program, const char *path, size_t *out_count) WEFT_MUST_USE;
/* The same from the bytes of such a file. */
weft_status *weft_program_parse_code(weft_program *program, const char *name, const void *data, size_t size,
                                     size_t *out_count) WEFT_MUST_USE;
/* Of how many kernels the program has code. */
size_t weft_program_code_count(const weft_program *program);

/* Approximate memory use of the program in bytes, without its text and its code. Large constants are shared with the
 * graph it was made from and all programs of that graph; here they count in full. Runs with known sizes add a second
 * copy of matrices that are constants, packed for products: it stays with the program. */
size_t weft_program_bytes(const weft_program *program);

/* The names of all passes, in the order of the standard pipeline; NULL-terminated. */
const char *const *weft_pass_names(void);

#ifdef __cplusplus
}
#endif
#endif
