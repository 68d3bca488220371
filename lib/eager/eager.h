/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_EAGER_EAGER_H
#define WEFT_LIB_EAGER_EAGER_H
/* The inside of eager contexts: types, functions, records, handles. */
#include <weft/eager.h>
#include "lib/eager/kept.h"
#include "runtime/base/memory.h"

/* ---- types: one for each dtype and shape ---- */

typedef struct weft_eager_type {
    size_t references;
    weft_dtype dtype;
    size_t rank;
    int64_t count;
    int64_t extents[];
} weft_eager_type;

/* The type, with a reference more; errors are those of weft_array_create. */
weft_status *weft_eager_type_acquire(weft_eager *eager, weft_dtype dtype, size_t rank, const int64_t *extents,
                                     weft_eager_type **out_type) WEFT_MUST_USE;
void weft_eager_type_release(weft_eager *eager, weft_eager_type *type);

/* ---- functions: with options, called on operands of certain types ---- */

/* A way to move the elements of operand `operand`: what makes result `i` of a call a view of it. */
typedef struct weft_eager_view weft_eager_view;

typedef struct weft_eager_entry {
    weft_eager_kept_item kept;
    size_t references;            /* of the context, of nodes, programs and other entries */
    weft_eager_function function; /* name and options are its own */
    size_t name_size, operand_count;
    weft_eager_type **types;         /* of operands, then of results */
    weft_eager_view **views;         /* of results; NULL: it computes */
    struct weft_eager_entry **parts; /* that the options refer to, each with a reference */
    size_t part_count;
} weft_eager_entry;

/* What a call is: looked up, or traced once. `parts` are entries that the options refer to. The entry is kept by the
 * context, and stays at least until the next one is acquired. */
weft_status *weft_eager_entry_acquire(weft_eager *eager, const weft_eager_function *function,
                                      weft_eager_arrays operands, size_t part_count, weft_eager_entry *const *parts,
                                      weft_eager_entry **out_entry) WEFT_MUST_USE;
void weft_eager_entry_release(weft_eager *eager, weft_eager_entry *entry);
/* Ends the reference of the context. */
void weft_eager_entry_drop(void *context, weft_eager_kept_item *item);
static inline weft_eager_type *weft_eager_entry_result(const weft_eager_entry *entry, size_t result)
{
    return entry->types[entry->operand_count + result];
}
/* Calls the function; false if a result is not a tensor of `graph` of the type it should have. */
bool weft_eager_entry_trace(const weft_eager_entry *entry, weft_graph *graph, const weft_tensor *operands,
                            weft_tensor *out_results);

/* ---- views ---- */

/* How `tensor` reads one of the inputs `operands`, if it only moves its elements; otherwise NULL. */
weft_status *weft_eager_view_find(const weft_allocator *allocator, weft_tensor tensor, size_t count,
                                  const weft_tensor *operands, weft_eager_view **out_view) WEFT_MUST_USE;
void weft_eager_view_destroy(const weft_allocator *allocator, weft_eager_view *view);
/* Which operand it reads. */
size_t weft_eager_view_operand(const weft_eager_view *view);
/* A view of `base`; NULL where strides cannot say it. */
weft_status *weft_eager_view_apply(const weft_eager_view *view, const weft_eager_type *type, weft_array *base,
                                   weft_array **out_view) WEFT_MUST_USE;

/* ---- records ---- */

/* A call: made by weft_eager_node_create, ends with the last of its results that has no value, or of all of them while
 * a tape wants to know how they came about. */
typedef struct weft_eager_node {
    struct weft_eager_node *previous, *next; /* of all nodes of the context; `next` also of those to be freed */
    weft_eager *eager;
    weft_eager_entry *entry;
    size_t attached;           /* results whose `node` it is, and pins */
    size_t depth;              /* of the longest chain of calls without values that it ends */
    uint64_t epoch;            /* of the last walk that met it */
    size_t index;              /* in that walk */
    size_t at;                 /* operands it has seen of this node */
    const char *file;          /* where it was called; NULL: not known */
    int line;
    weft_eager_array *items[]; /* operands, then results; those that are gone are NULL */
} weft_eager_node;

struct weft_eager_array {
    weft_eager *eager;
    weft_eager_type *type;
    weft_array *value;     /* or NULL */
    weft_eager_node *node; /* or NULL */
    size_t output;         /* of the node */
    size_t handles;        /* of callers and scopes */
    size_t uses;           /* by nodes */
    size_t slot;           /* number + 1 in the scopes; 0: none */
    uint64_t tape;         /* serial of the tape that follows it */
    uint64_t watched;      /* of the tape that begins with it */
    uint64_t epoch;        /* of the last walk that met it */
    size_t index;          /* in that walk */
    size_t inside;         /* uses met in that walk */
    bool is_own;           /* the value is memory that a run made */
};

/* A handle, with one reference, of the innermost scope if there is one. Takes neither `type` nor `value`. */
weft_status *weft_eager_array_create(weft_eager *eager, weft_eager_type *type, weft_array *value,
                                     weft_eager_array **out_array) WEFT_MUST_USE;
/* A handle on a copy of `data`, as weft_eager_copy. */
weft_status *weft_eager_array_copy(weft_eager *eager, weft_dtype dtype, weft_ints shape, const void *data,
                                   weft_eager_array **out_array) WEFT_MUST_USE;
/* Frees it if nothing has a hold of it. */
void weft_eager_array_review(weft_eager_array *array);

/* Records a call: makes its results. */
weft_status *weft_eager_node_create(weft_eager *eager, weft_eager_entry *entry, weft_eager_arrays operands,
                                    weft_eager_array **out_results) WEFT_MUST_USE;
/* Lets go of results that have values, if no tape follows them. */
void weft_eager_node_settle(weft_eager_node *node);
void weft_eager_node_pin(weft_eager_node *node);
void weft_eager_node_unpin(weft_eager_node *node);
static inline weft_eager_array **weft_eager_node_results(weft_eager_node *node)
{
    return node->items + node->entry->operand_count;
}

/* ---- programs ---- */

typedef struct weft_eager_program {
    weft_eager_kept_item kept;
    weft_program *program;
    weft_eager_entry **entries; /* in its key, each with a reference */
    size_t entry_count;
    size_t input_count;
    size_t *leaves; /* the number of the leaf that each input of the program is */
} weft_eager_program;

/* Lists that grow and are used again. */
typedef struct weft_eager_list {
    void *items;
    size_t count, capacity;
} weft_eager_list;
bool weft_eager_list_add(weft_eager *eager, weft_eager_list *list, const void *item, size_t size);
/* Room for `count` words more, which count as added; NULL when out of memory. */
static inline uint64_t *weft_eager_list_words(weft_eager_list *list, const weft_allocator *allocator, size_t count)
{
    size_t needed = list->count + count;
    if (needed > list->capacity && !weft_reserve(allocator, &list->items, &list->capacity, needed, sizeof(uint64_t)))
        return NULL;
    uint64_t *words = (uint64_t *)list->items + list->count;
    list->count = needed;
    return words;
}
void weft_eager_list_finish(weft_eager *eager, weft_eager_list *list, size_t size);

/* What a walk found (record.h). */
typedef struct weft_eager_record {
    bool (*is_leaf)(const weft_eager_array *array);
    weft_eager_list nodes;  /* weft_eager_node *: operands first */
    weft_eager_list leaves; /* weft_eager_array *: operands with values */
    weft_eager_list wanted; /* weft_eager_array *: results to compute */
    weft_eager_list words;  /* uint64_t */
    weft_eager_list stack;  /* weft_eager_node * */
} weft_eager_record;

/* The program of the record. Stays at least until the next one is acquired. */
weft_status *weft_eager_program_acquire(weft_eager *eager, weft_eager_program **out_program) WEFT_MUST_USE;
/* Ends one that is not kept any more. */
void weft_eager_program_drop(void *context, weft_eager_kept_item *item);

/* weft_eager_call with operands that are there, for options that refer to entries `parts`. Nothing was made after an
 * error. */
weft_status *weft_eager_call_with(weft_eager *eager, const weft_eager_function *function, weft_eager_arrays operands,
                                  size_t part_count, weft_eager_entry *const *parts,
                                  weft_eager_array **out_results) WEFT_MUST_USE;

/* Computes arrays without values, and whatever else is wanted on the way. */
weft_status *weft_eager_compute(weft_eager *eager, weft_eager_arrays arrays) WEFT_MUST_USE;

/* ---- the context ---- */

enum { WEFT_EAGER_NUMBERS = 32 };

struct weft_eager {
    weft_allocator own_allocator;
    const weft_allocator *allocator;
    weft_executor *executor;
    const weft_policy *policy;
    size_t most_recorded;
    bool fixed_extents;
    const char *runtime;
    bool closed;        /* destroyed; waits for its arrays */
    weft_status *error; /* sticky */
    weft_map types;
    weft_eager_kept entries, programs, generals;
    weft_eager_list scope;           /* weft_eager_array *: what open scopes hold, NULL where released */
    size_t scope_depth, scope_first; /* of the innermost one */
    weft_eager_node *nodes;          /* all of them */
    weft_eager_node *doomed;         /* to be freed */
    bool is_draining;
    uint64_t epoch; /* of walks */
    uint64_t tape;  /* serial of the tape that is open */
    size_t tape_depth;
    weft_eager_record record;                      /* of the walk under way */
    weft_eager_list key;                           /* words: of the entry being looked up */
    weft_bytes general;                            /* that of what is known of a record for any extents */
    weft_eager_list labels;                        /* int64_t: extents in it */
    weft_eager_list packed;                        /* words: options of the call under way */
    weft_eager_list operands;                      /* weft_eager_array *: of the call under way */
    weft_eager_array *numbers[WEFT_EAGER_NUMBERS]; /* lately used as operands */
    weft_eager_counters counters;
};

/* Makes `status` the sticky error unless there is one; takes it. `file` may be NULL. */
void weft_eager_fail(weft_eager *eager, weft_status *status, const char *file, int line);
/* Whether a tape follows the array. */
static inline bool weft_eager_is_taped(const weft_eager_array *array)
{
    return array->eager->tape_depth > 0 && array->tape == array->eager->tape;
}
/* Ends all tapes. */
void weft_eager_tape_forget(weft_eager *eager);
/* Whether a tape follows one of them. */
bool weft_eager_are_taped(weft_eager_arrays operands);
/* Frees a context that was destroyed and has no arrays left. */
void weft_eager_review(weft_eager *eager);
#endif
