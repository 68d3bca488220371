/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_PROGRAM_H
#define WEFT_RUNTIME_PROGRAM_PROGRAM_H
/* The inside of a program: what the runtime needs, filled in by the compiler, and the graph, which only compilers
 * read. */
#include <weft/program.h>
#include <stdatomic.h>
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/program/formula.h"
#include "runtime/program/kept_code.h"

typedef struct weft_program_value {
    const char *name;
    weft_dtype dtype;
    uint32_t rank;
    const uint32_t *extents; /* slots of program->formulas */
    const weft_program_axis *axes;
} weft_program_value;

typedef struct weft_program_guard {
    bool equal;    /* a == b; otherwise a <= b */
    uint32_t a, b; /* slots */
    const char *message;
    const char *location; /* "file:line" of who asked for it, or NULL */
    bool conditional;     /* it has to hold only where slot `when` is positive */
    uint32_t when;
} weft_program_guard;

struct weft_program {
    atomic_size_t references;
    weft_allocator own_allocator;    /* a copy: a program outlives the graph it is made from */
    const weft_allocator *allocator; /* that copy */
    uint64_t serial;                 /* distinct for every program of the process */
    weft_arena arena;                /* everything below lives here, except for formulas */
    weft_formulas formulas;          /* symbols, in the order of their creation, and every extent named below */
    size_t input_count, output_count, guard_count;
    weft_program_value *inputs, *outputs;
    weft_map inputs_by_name, outputs_by_name; /* names without their NUL; weft_program_index_names */
    weft_program_guard *guards;
    size_t family_count; /* extensions the remaining nodes need at a run */
    const weft_extension **families;
    const weft_op_def **family_ops;     /* an op of each that the program has */
    const weft_program_symbol *symbols; /* as many as formulas have */
    weft_symbol_info *idle;             /* other symbols of the graph; names are of the arena */
    size_t idle_count;
    size_t bytes;       /* of all that the compiler made */
    bool has_limited;   /* runs with a memory limit have variants of their own (variant.h) */
    weft_policy policy; /* what variants depend on, and programs that kernels of extensions compile: no `passes` */
    void *graph;        /* the compiler's; destroyed by destroy_graph */
    void (*destroy_graph)(void *graph);
    /* Prints the graph; any thread may call it. */
    weft_status *(*print)(const struct weft_program *program, weft_bytes *out_text);
    _Atomic(weft_bytes *) text; /* NULL until it is asked for */
    struct weft_shared *shared; /* weft_program_share */
    _Atomic(weft_kept_code *) kept; /* NULL: none; runs and the background read it */
};

/* An empty program with one reference; the compiler fills it in. */
weft_status *weft_program_create(const weft_allocator *allocator, weft_program **out_program) WEFT_MUST_USE;
/* Makes place for code, unless there is one. */
weft_status *weft_program_make_kept(weft_program *program) WEFT_MUST_USE;
/* Makes inputs and outputs, which are all there, known by name: once. */
weft_status *weft_program_index_names(weft_program *program) WEFT_MUST_USE;

/*
 * Memory that the program's variants share, under a key: `size` bytes aligned to 64, zero, which `fill` fills in when
 * the first one asks for it. It lives as long as the program. Any thread may call it.
 */
weft_status *weft_program_share(const weft_program *program, const weft_bytes *key, size_t size,
                                void (*fill)(void *context, void *memory), void *context,
                                const void **out_memory) WEFT_MUST_USE;

/* How values of symbols that nothing needs are judged. */
typedef struct weft_idle_check {
    const weft_allocator *allocator; /* of errors */
    const char *where;
    weft_code out_of_range; /* of a value that the symbol cannot have */
} weft_idle_check;

/* bindings[number], of a symbol that formulas do not have: NULL where it is an idle one, which nothing needs, and may
 * have the value. INVALID_ARGUMENT for a symbol that the graph did not have, or with another value before. */
weft_status *weft_program_check_idle(const weft_program *program, const weft_idle_check *check,
                                     const weft_binding *bindings, size_t number) WEFT_MUST_USE;
#endif
