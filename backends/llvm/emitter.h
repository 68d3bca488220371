/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BACKENDS_LLVM_EMITTER_H
#define WEFT_BACKENDS_LLVM_EMITTER_H
/*
 * The emitter: one scheduled kernel to one LLVM function, for the CPU (vectors) and for NVPTX (scalars).
 *
 * Scopes. Code is emitted into a stack of open scopes: the function's entry, guards (code that runs under a condition)
 * and loop bodies. Every value belongs to the scope it was emitted at and can be used while that scope is open. An
 * expression or instruction goes to the outermost scope where everything it needs is available; code for a scope that
 * has inner ones open goes in front of the jump into them. What touches memory or reports errors never leaves a guard
 * that decides whether there are any points at all.
 *
 * Lanes. At most one range at a time runs along vector lanes: a value that depends on it has one vector for each part
 * (unroll), any other value is one scalar, splat where vectors need it. A masked pass has one part and a mask.
 */
#include <llvm-c/Core.h>
#include "backends/llvm/target.h"
#include "lib/loop/bf16.h"
#include "lib/loop/interval.h"
#include "lib/loop/narrow.h"
#include "lib/loop/special.h"

#define WEFT_MAX_PARTS WEFT_MAX_UNROLL
#define WEFT_MAX_WIDTH 64
#define WEFT_MAX_THREADED (2 * WEFT_MAX_RANK)

typedef struct weft_emitted {
    uint32_t level, serial; /* the scope */
    bool varying;
    uint32_t splat_width; /* of `splat`; 0: none yet */
    LLVMValueRef splat;
    LLVMValueRef parts[WEFT_MAX_PARTS]; /* the scalar is parts[0] */
} weft_emitted;

typedef struct weft_scope {
    uint32_t serial;
    uint32_t effects;         /* the outermost scope that effects inside this one may move to */
    LLVMBasicBlockRef block;  /* where its code goes */
    LLVMValueRef terminator;  /* of `block`, while an inner scope is open */
    LLVMBasicBlockRef header; /* of a loop */
    LLVMBasicBlockRef after;  /* of a guard that may be skipped */
    bool holds_loops;
    size_t phi_count;
    LLVMValueRef *phis, *initial; /* loops: carried values; guards: `initial` keeps those from before */
} weft_scope;

/* A range variable that is bound now. */
typedef struct weft_variable {
    weft_expr variable;
    uint32_t level;
    LLVMValueRef value; /* of the first lane, if it is the lane range's */
} weft_variable;

typedef struct weft_lane_state {
    weft_expr variable; /* NONE: no lane range is open */
    uint32_t level;     /* of its loop */
    uint32_t width, parts;
    LLVMValueRef mask;                    /* of the last part; NULL: all lanes are valid */
    LLVMValueRef earlier[WEFT_MAX_PARTS]; /* of those before */
    LLVMValueRef left;                    /* of a masked pass: elements from the first lane of the last part on */
    bool paired;                          /* part 2 k has the even elements of two parts, the next one the odd ones */
    uint32_t rows;                        /* not 0: the stage runs for so many points of the range around at once */
} weft_lane_state;

/* An element that each lane of a part loads from its own row, as part of a group. */
typedef struct weft_row_element {
    uint32_t buffer, part;
    weft_expr index;
    uint32_t level, serial; /* the scope */
    LLVMValueRef value;
} weft_row_element;

/* A load whose lanes lie in rows of their own, of which blocks are turned. */
typedef struct weft_turned_load {
    bool is_open;
    uint32_t parts;      /* that `memory` has room for */
    LLVMValueRef memory; /* a vector for each point and part */
} weft_turned_load;

typedef struct weft_index_memo {
    uint32_t level, serial;
    LLVMValueRef value;
} weft_index_memo;

/* The accumulators of the stage being emitted: each component is a slot. */
typedef struct weft_reduce_state {
    const weft_stage *stage;
    uint32_t width, parts; /* a slot is `parts` vectors */
    bool along_lanes;      /* the lanes are virtual lanes of the reduction */
    uint32_t rows;         /* of each slot in memory */
    LLVMValueRef *memory;  /* for each slot */
    LLVMValueRef row;      /* the row that points combine into; NULL: `carried` */
    bool scans;
    uint32_t levels;       /* of a tree of a scan whose lanes run one after the other: a copy of all slots for each */
    LLVMValueRef *running; /* of a scan, as `carried` */
    const LLVMValueRef *before; /* what a scan had before the block; NULL: there are none */
} weft_reduce_state;

typedef struct weft_emitter {
    const weft_allocator *allocator;
    const weft_kernel *kernel;
    weft_expr_context *exprs;
    const weft_processor *processor;
    bool gpu;              /* the processor is one */
    bool constants_stored; /* those of fma are vectors in memory */
    weft_arena arena;
    weft_status *error; /* the first one; what is emitted after it is thrown away */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    const weft_special_kernel *special; /* has a function of its own; NULL: there is none */
    LLVMValueRef special_function;
    bool has_rows_in_lanes;          /* the iterations are what lanes go along: the only outer range */
    LLVMValueRef first_row, end_row; /* then */
    LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, pointer, nothing;

    weft_scope *scopes;
    uint32_t depth, capacity, serial;
    uint32_t stages_level;   /* the scope that all stages are in */
    const weft_stage *stage; /* the one that is emitted now */
    weft_variable *variables;
    uint32_t variable_count;
    weft_lane_state lane;
    weft_row_element *rows; /* loaded so far */
    uint32_t row_count;
    weft_turned_load *turned;        /* of instructions */
    LLVMValueRef turned_row;         /* the point of the block; NULL: none is open */
    const weft_inst *hidden, *shown; /* comparisons: false in all lanes now, and true in the first; NULL: none */
    weft_emitted *values;            /* of instructions */
    const weft_interval *intervals;  /* what integers may be */
    const weft_narrow_kind *narrow;  /* which are computed in 16 bits; NULL: none */
    const uint8_t *bf16;             /* as in lib/loop/bf16.h; NULL: nothing is known */
    uint32_t *common;                /* 0 for instructions that only the second operand of a `rarely` needs */
    uint32_t *surveyed;              /* the last branch that leads to each instruction */
    uint32_t branches;               /* that were emitted; a stage may be emitted again */
    bool detours;          /* what such a branch leads to is being emitted, and is not to be seen outside of it */
    weft_emitted *results; /* of accumulators, WEFT_MAX_COMPONENTS each */
    weft_index_memo *memo; /* of expressions */
    size_t memo_capacity;
    LLVMValueRef buffer_array, scalar_array,
        error_slot;                  /* of the frame; arrays are NULL where the entry fills `buffers` and `scalars` */
    LLVMValueRef *buffers, *scalars; /* NULL until used */
    LLVMValueRef zeros, scrap;       /* what loads and stores that are masked off touch instead; NULL until used */
    bool is_fenced;                  /* there are stores that other processors would see in any order */
    LLVMValueRef report;             /* the function that fills the error slot; NULL until used */

    LLVMValueRef *carried; /* values that open loops hand from one iteration to the next */
    size_t carried_count;
    LLVMValueRef *scratch; /* one more than may be carried */
    LLVMValueRef *block;   /* values of a combine block */
    weft_reduce_state reduction;
} weft_emitter;
#endif
