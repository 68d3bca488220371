/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_INDEX_H
#define WEFT_INDEX_H
/*
 * numpy's indexing in one call:
 *
 *     numpy                        weft
 *     x[1:5, -1]                   weft_at(x, WEFT_RANGE(1, 5), -1)
 *     x[..., ::-2]                 weft_at(x, WEFT_ELLIPSIS, WEFT_RANGE(WEFT_OPEN, WEFT_OPEN, -2))
 *     x[:, None, n:]               weft_at(x, WEFT_ALL, WEFT_NEWAXIS, WEFT_RANGE(n, WEFT_OPEN))
 *     x[rows, 0]                   weft_at(x, rows, 0)
 *     y = x.copy(); y[2:] = v      y = weft_set_at(x, v, WEFT_RANGE(2, WEFT_OPEN))
 *     np.add.at(y, rows, v)        y = weft_add_at(x, v, rows)
 *
 * An item is one of the macros below, an integer or an extent (WEFT_INDEX), or a tensor (WEFT_PICK); anything else does
 * not compile. A call takes up to 16; longer lists are arrays, for weft_index.
 */
#include <weft/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numpy's indexing ---- */

typedef enum weft_index_kind {
    WEFT_INDEX_RANGE,    /* elements start, start + step, ... before stop */
    WEFT_INDEX_ONE,      /* element `start`; the axis is gone */
    WEFT_INDEX_NEW_AXIS, /* an axis of extent one */
    WEFT_INDEX_ELLIPSIS, /* all axes that no other item takes; at most once, implied at the end */
    WEFT_INDEX_TENSOR    /* elements selected by an index tensor */
} weft_index_kind;

/* What is taken along one axis. Made by the macros below. */
typedef struct weft_index_item {
    weft_index_kind kind;
    int64_t step; /* RANGE; ONE with an invalid start: the bits of an unsigned number that no int64_t holds */
    weft_extent start, stop; /* RANGE; ONE: start */
    weft_tensor indices;     /* TENSOR: i64 or i32 */
} weft_index_item;

typedef struct weft_index_items {
    size_t count;
    const weft_index_item *items;
} weft_index_items;

/*
 * x[items], with numpy's meaning. Each item except NEW_AXIS and ELLIPSIS takes the next axis of x; more items than axes
 * are WEFT_INVALID_ARGUMENT.
 *
 *  - RANGE: bounds may be symbolic; negative ones count from the end, all are clamped to the axis, and the result
 *    may be empty. A step of 0 is an error. WEFT_RANGE takes integers of any size (write a bit-field x as +x); an
 *    extent of -INT64_MAX is WEFT_OPEN, an invalid one, such as weft_extent_of(INT64_MIN), an error.
 *    Values computed from symbolic bounds must fit 64 bits, otherwise a run is OUT_OF_RANGE.
 *  - ONE: out of range is an error (WEFT_OUT_OF_RANGE), or a guard where extents are symbolic.
 *  - TENSOR: index tensors broadcast to one shape. Its axes replace those indexed if all index tensors and single
 *    indices are adjacent, otherwise they come first. Indices are checked at run time. A mask (bool) is rejected: how
 *    many elements it selects is not known before the run.
 *
 * Ranges, single indices and new axes are views; index tensors are a gather.
 */
weft_tensor weft_index(weft_tensor x, weft_index_items items);
/*
 * x with `value`, of x's dtype, which broadcasts to the shape of x[items], in place of x[items] (SET) or combined with
 * it. Where index tensors name an element more than once, SET keeps the last one and the others combine all, in
 * row-major order, as numpy's `ufunc.at` does.
 */
weft_tensor weft_index_update(weft_tensor x, weft_tensor value, weft_scatter_mode mode, weft_index_items items);

/* ---- items; C only ---- */
/* A bound that is not given. */
#define WEFT_OPEN (weft_extent_of(-INT64_MAX))
/* WEFT_RANGE(start, stop) or WEFT_RANGE(start, stop, step); bounds are integers, extents or WEFT_OPEN. */
#define WEFT_RANGE(...) WEFT_RANGE_(__VA_ARGS__, 1, 0)
#define WEFT_RANGE_(first, end, by, ...)                                                                               \
    ((weft_index_item){                                                                                                \
        .kind = WEFT_INDEX_RANGE, .step = WEFT_STEP_(by), .start = WEFT_BOUND_(first), .stop = WEFT_BOUND_(end)})
#define WEFT_STEP_(value) WEFT_INTEGER_(value, weft_extent_same_, weft_index_step_, weft_index_unsigned_step_)
#define WEFT_BOUND_(value) WEFT_INTEGER_(value, weft_extent_same_, weft_index_bound_, weft_index_unsigned_bound_)
#define WEFT_ALL WEFT_RANGE(WEFT_OPEN, WEFT_OPEN)
/* One element: an integer or an extent. */
#define WEFT_INDEX(index) ((weft_index_item){.kind = WEFT_INDEX_ONE, .start = WEFT_EXTENT_(index)})
#define WEFT_NEWAXIS ((weft_index_item){.kind = WEFT_INDEX_NEW_AXIS})
#define WEFT_ELLIPSIS ((weft_index_item){.kind = WEFT_INDEX_ELLIPSIS})
/* The elements that an index tensor says. */
#define WEFT_PICK(tensor) weft_index_pick_(tensor)
#define WEFT_ITEMS(...) WEFT_ITEMS_(WEFT_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define WEFT_ITEMS_(count, ...) WEFT_ITEMS_OF_(count, __VA_ARGS__)
#define WEFT_ITEMS_OF_(count, ...)                                                                                     \
    ((weft_index_items){                                                                                               \
        count, (weft_index_item[]){{.kind = WEFT_INDEX_RANGE}, WEFT_EACH_##count##_(WEFT_ITEM_, __VA_ARGS__, )} + 1})

static inline int64_t weft_index_step_(int64_t step)
{
    return step;
}
/* Beyond any extent all steps are the same, and so are all bounds. */
static inline int64_t weft_index_unsigned_step_(uint64_t step)
{
    return step > INT64_MAX ? INT64_MAX : (int64_t)step;
}
static inline weft_extent weft_index_bound_(int64_t bound)
{
    return weft_extent_of(bound > -INT64_MAX ? bound : 1 - INT64_MAX);
}
static inline weft_extent weft_index_unsigned_bound_(uint64_t bound)
{
    return weft_extent_of(weft_index_unsigned_step_(bound));
}
static inline weft_index_item weft_index_same_(weft_index_item item)
{
    return item;
}
static inline weft_index_item weft_index_pick_(weft_tensor indices)
{
    weft_index_item item = {WEFT_INDEX_TENSOR, 0, {0, 0}, {0, 0}, {0, 0, 0}};
    item.indices = indices;
    return item;
}
static inline weft_index_item weft_index_extent_(weft_extent start)
{
    weft_index_item item = {WEFT_INDEX_ONE, 0, {0, 0}, {0, 0}, {0, 0, 0}};
    item.start = start;
    return item;
}
static inline weft_index_item weft_index_number_(int64_t index)
{
    return weft_index_extent_(weft_extent_of(index));
}
static inline weft_index_item weft_index_unsigned_(uint64_t index)
{
    weft_index_item item = weft_index_extent_(weft_extent_of_unsigned_(index));
    item.step = (int64_t)index;
    return item;
}

#define WEFT_ITEM_(value)                                                                                              \
    _Generic((value), weft_index_item                                                                                  \
             : weft_index_same_, weft_tensor                                                                           \
             : weft_index_pick_, weft_extent                                                                           \
             : weft_index_extent_, _Bool                                                                               \
             : weft_index_number_, char                                                                                \
             : weft_index_number_, signed char                                                                         \
             : weft_index_number_, short                                                                               \
             : weft_index_number_, int                                                                                 \
             : weft_index_number_, long                                                                                \
             : weft_index_number_, long long                                                                           \
             : weft_index_number_, unsigned char                                                                       \
             : weft_index_number_, unsigned short                                                                      \
             : weft_index_number_, unsigned                                                                            \
             : weft_index_number_, unsigned long                                                                       \
             : weft_index_unsigned_, unsigned long long                                                                \
             : weft_index_unsigned_)(value)

/* x[...] */
#define weft_at(x, ...) weft_index(x, WEFT_ITEMS(__VA_ARGS__))
/* x with x[...] = value, and with x[...] += value. */
#define weft_set_at(x, value, ...) weft_index_update(x, value, WEFT_SCATTER_SET, WEFT_ITEMS(__VA_ARGS__))
#define weft_add_at(x, value, ...) weft_index_update(x, value, WEFT_SCATTER_ADD, WEFT_ITEMS(__VA_ARGS__))

/* The same calls with the caller's source location attached to errors. */
#ifndef WEFT_NO_LOCATIONS
#define weft_index(...) WEFT_LOCATED_(index, __VA_ARGS__)
#if WEFT_TAKES_NUMBERS_
static inline weft_tensor weft_index_update_(weft_tensor x, weft_operand value, weft_scatter_mode mode,
                                             weft_index_items items)
{
    return weft_index_update(x, weft_operand_beside_("index_update", x, value), mode, items);
}
#define weft_index_update(...) WEFT_INDEX_UPDATE_(__VA_ARGS__)
#define WEFT_INDEX_UPDATE_(x, value, ...)                                                                              \
    WEFT_LOCATED("index_update", weft_index_update_(x, WEFT_OPERAND_(value), __VA_ARGS__))
#else
#define weft_index_update(...) WEFT_LOCATED_(index_update, __VA_ARGS__)
#endif
#endif

#ifdef __cplusplus
}
#endif
#endif
