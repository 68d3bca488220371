/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts every dot into the form that a matrix library wants: operands come as batch, free, contracted axes of a and
 * batch, contracted, free axes of b, so that one that has to be copied is copied into that order; and a dot whose
 * result is only wanted with the free axes of b in front is the dot of b and a, and so is one for loops that is wanted
 * with an axis of a last, or has few columns in b. A product of a matrix and a vector has the vector first where a free
 * axis of the matrix lies innermost, and last where a contracted one does: sums run across or along what lies in memory
 * then, in the order of a large matrix, whose result is permuted. Few columns of b beside an a along whose terms there
 * are lanes come with their terms last. Permutes of operands are read through. A dot of 16-bit floats is summed in f32
 * anyhow: a small one becomes a dot of f32 between casts, unless all are the library's; any other one is left to the
 * backend.
 *
 * requires: nothing
 * maintains: values except for the order of sums, guards
 * breaks: nothing; no permute it adds can be merged away
 */
#include <string.h>
#include "lib/pass/pass.h"
#include "lib/pass/uses.h"
#include "lib/trace/trace.h"
#include "runtime/base/float_bits.h"

typedef struct context {
    weft_product_policy policy;
    const weft_expected *expected; /* values of symbols, by which no choice that bits depend on is made; or NULL */
    weft_usages usages;
} context;

static size_t append(weft_ints list, int64_t *order, size_t next)
{
    for (size_t i = 0; i < list.count; i++) order[next++] = list.items[i];
    return next;
}

/* An operand with its axes in order, and where its batch and contracted axes then are. */
typedef struct side {
    weft_tensor operand;
    size_t batch_count, contract_count;
    int64_t batch[WEFT_MAX_RANK], contract[WEFT_MAX_RANK];
} side;

/* Through a permute before it, so that two that undo each other are none. */
static weft_tensor permuted(weft_tensor operand, int64_t *order)
{
    if (!weft_tensor_is_valid(operand)) return operand;
    size_t rank = weft_tensor_rank(operand), in_place = 0;
    if (weft_tensor_is_op(operand, WEFT_OP_permute)) {
        weft_ints before = weft_tensor_node(operand)->attrs[0].ints;
        for (size_t i = 0; i < rank; i++) order[i] = before.items[order[i]];
        operand = weft_tensor_operand(operand, 0);
    }
    while (in_place < rank && order[in_place] == (int64_t)in_place) in_place++;
    return in_place == rank ? operand : weft_permute(operand, (weft_ints){rank, order});
}

static side canonical_side(weft_tensor operand, weft_ints batch, weft_ints contract, bool contract_last)
{
    side s = {.operand = operand, .batch_count = batch.count, .contract_count = contract.count};
    int64_t order[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(operand), next = append(batch, order, 0);
    size_t first_contract = contract_last ? rank - contract.count : next;
    if (!contract_last) next = append(contract, order, next);
    for (size_t i = 0; i < rank; i++) {
        if (!weft_ints_contain(batch, i) && !weft_ints_contain(contract, i)) order[next++] = (int64_t)i;
    }
    if (contract_last) append(contract, order, next);
    for (size_t i = 0; i < batch.count; i++) s.batch[i] = (int64_t)i;
    for (size_t i = 0; i < contract.count; i++) s.contract[i] = (int64_t)(first_contract + i);
    s.operand = permuted(operand, order);
    return s;
}

/* The axis that lies innermost in memory, as far as a permute says. */
static int64_t innermost_axis(weft_tensor operand)
{
    size_t last = weft_tensor_rank(operand) - 1, axis = last;
    if (!weft_tensor_is_op(operand, WEFT_OP_permute)) return (int64_t)last;
    weft_ints order = weft_tensor_node(operand)->attrs[0].ints;
    while ((size_t)order.items[axis] != last) axis--;
    return (int64_t)axis;
}

static size_t free_count(weft_tensor operand, weft_ints batch, weft_ints contract)
{
    return weft_tensor_rank(operand) - batch.count - contract.count;
}

/* Whether a product of a matrix and a vector is to have them the other way round. */
static bool is_turned(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    size_t free_a = free_count(a, axes.batch_a, axes.contract_a);
    size_t free_b = free_count(b, axes.batch_b, axes.contract_b);
    if (free_a > 0 && free_b == 0) {
        int64_t axis = innermost_axis(a);
        return !weft_ints_contain(axes.batch_a, (size_t)axis) && !weft_ints_contain(axes.contract_a, (size_t)axis);
    }
    return free_a == 0 && free_b > 0 && weft_ints_contain(axes.contract_b, (size_t)innermost_axis(b));
}

static weft_dot_axes axes_of(const weft_attr *attrs)
{
    return (weft_dot_axes){attrs[0].ints, attrs[1].ints, attrs[2].ints, attrs[3].ints};
}

static weft_tensor dot_of(const side *a, const side *b)
{
    return weft_dot(a->operand, b->operand,
                    (weft_dot_axes){{a->batch_count, a->batch},
                                    {b->batch_count, b->batch},
                                    {a->contract_count, a->contract},
                                    {b->contract_count, b->contract}});
}

/* Whether B has few columns that are not contiguous along the terms, as A is, along which there are lanes: a copy of it
 * costs little then. */
static bool wants_terms_last(weft_tensor dot)
{
    if (!weft_tensor_is_valid(dot)) return false;
    weft_few_rows few = weft_dot_few_rows(dot.graph, weft_tensor_node(dot));
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    return few.in_lanes && few.may_copy && few.matrix == 0 && free_count(b, axes.batch_b, axes.contract_b) > 0 &&
           weft_ints_contain(axes.contract_a, (size_t)innermost_axis(a)) &&
           !weft_ints_contain(axes.contract_b, (size_t)innermost_axis(b));
}

static weft_tensor arranged_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    if (!weft_tensor_is_valid(a) || !weft_tensor_is_valid(b)) return weft_tensor_failed(a.graph);
    if (is_turned(a, b, axes)) {
        weft_tensor first = b;
        b = a;
        a = first;
        axes = (weft_dot_axes){axes.batch_b, axes.batch_a, axes.contract_b, axes.contract_a};
    }
    side left = canonical_side(a, axes.batch_a, axes.contract_a, true);
    side right = canonical_side(b, axes.batch_b, axes.contract_b, false);
    weft_tensor dot = dot_of(&left, &right);
    if (!wants_terms_last(dot)) return dot;
    right = canonical_side(b, axes.batch_b, axes.contract_b, true);
    return dot_of(&left, &right);
}

/* Whether it is a window of something, permuted or reshaped. */
static bool is_of_window(weft_tensor x)
{
    while (weft_tensor_is_op(x, WEFT_OP_permute) || weft_tensor_is_op(x, WEFT_OP_reshape))
        x = weft_tensor_operand(x, 0);
    return weft_tensor_is_op(x, WEFT_OP_window);
}

/* Casts what windows repeat before they do. */
static weft_tensor widened(weft_tensor x, weft_dtype wide)
{
    enum { MOST = 2 * WEFT_MAX_RANK };
    weft_tensor moved[MOST];
    size_t count = 0;
    while (count < MOST && is_of_window(x)) {
        moved[count++] = x;
        x = weft_tensor_operand(x, 0);
    }
    weft_tensor result = weft_cast(x, wide);
    while (count > 0 && weft_tensor_is_valid(result)) {
        const weft_node *node = weft_tensor_node(moved[--count]);
        result = weft_trace_op(result.graph, weft_op_id_of(node->op), WEFT_TENSORS(result), node->attrs);
    }
    return result;
}

static void range_of(const context *c, weft_tensor x, int64_t axis, int64_t *out_least, int64_t *out_most)
{
    weft_extent extent = weft_tensor_extent(x, axis);
    bool is_open = c->expected != NULL && !weft_extent_is_static(extent, NULL);
    weft_expr e = is_open ? weft_expected_expr(c->expected, x.graph, extent) : WEFT_EXPR_NONE;
    if (e == WEFT_EXPR_NONE) weft_extent_range(extent, out_least, out_most);
    else weft_expr_range(x.graph->exprs, e, out_least, out_most);
}

/* Elements of an operand along some of its axes, at most. */
static double count_along(const context *c, weft_tensor x, weft_ints axes)
{
    double count = 1;
    for (size_t i = 0; i < axes.count; i++) {
        int64_t least, most;
        range_of(c, x, axes.items[i], &least, &most);
        count *= (double)most;
    }
    return count;
}

static double count_free(const context *c, weft_tensor x, weft_ints batch, weft_ints contract)
{
    int64_t free_axes[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(x), count = 0;
    for (size_t i = 0; i < rank; i++)
        if (!weft_ints_contain(batch, i) && !weft_ints_contain(contract, i)) free_axes[count++] = (int64_t)i;
    return count_along(c, x, (weft_ints){count, free_axes});
}

/*
 * Whether a dot of 16-bit floats is better done in f32, its operands being widened once: a small one, or one of few
 * terms, which are loops or almost as fast as such; or many products that are thin, as those of attention, of which
 * every strip of a chain would widen the same operand again, if that stays in caches. One of few rows reads the other
 * operand once, as it is.
 * Fewer are small for instructions that multiply numbers of 16 bits. Measured on Sapphire Rapids.
 */
static bool is_better_widened(const context *c, weft_tensor a, weft_tensor b, weft_dot_axes axes, bool is_fast)
{
    enum { FEW_ROWS = 4, FEW_TERMS = 32, MOST_WIDENED = 128 * 128 * 128, MOST_WIDENED_OF_FAST = 50 * 50 * 50 };
    enum { THIN = 128, LEAST_ROWS_OF_THIN = 32, MOST_OF_THIN = 1 << 20 /* elements of B */ };
    double rows = count_free(c, a, axes.batch_a, axes.contract_a);
    double columns = count_free(c, b, axes.batch_b, axes.contract_b), terms = count_along(c, a, axes.contract_a);
    if (rows <= FEW_ROWS || columns <= FEW_ROWS) return false;
    bool is_thin = axes.batch_a.count > 0 && rows >= LEAST_ROWS_OF_THIN && (terms <= THIN || columns <= THIN) &&
                   terms * columns <= MOST_OF_THIN;
    return (is_thin && !is_fast) || terms <= FEW_TERMS ||
           rows * columns * terms <= (is_fast ? MOST_WIDENED_OF_FAST : MOST_WIDENED);
}

static weft_tensor widened_dot(const context *c, weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    weft_dtype dtype = weft_tensor_dtype(a), wide = weft_accumulator_dtype(dtype);
    bool is_fast = c->policy == WEFT_PRODUCTS_FAST && dtype == WEFT_BF16; /* other bits than those of f32 */
    bool is_left = dtype == wide || c->policy == WEFT_PRODUCTS_LIBRARY || (is_fast && c->expected != NULL);
    if (is_left || !is_better_widened(c, a, b, axes, is_fast)) return arranged_dot(a, b, axes);
    weft_tensor left = widened(a, wide), right = widened(b, wide);
    return weft_cast(arranged_dot(left, right, axes), dtype);
}

/* Whether `order` leaves the batch axes of the dot and swaps the free axes of a with those of b. */
static bool swaps_free_axes(weft_tensor dot, weft_ints order)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    size_t batch = axes.batch_a.count;
    size_t free_a = weft_tensor_rank(weft_tensor_operand(dot, 0)) - batch - axes.contract_a.count;
    size_t free_b = order.count - batch - free_a;
    for (size_t i = 0; i < order.count; i++) {
        size_t from = i < batch ? i : i < batch + free_b ? i + free_a : i - free_b;
        if ((size_t)order.items[i] != from) return false;
    }
    return free_a > 0 && free_b > 0;
}

static bool is_complex(weft_tensor x)
{
    return weft_dtype_info_of(weft_tensor_dtype(x))->kind == WEFT_KIND_COMPLEX;
}

/* The dot of b and a. */
static weft_tensor swapped_dot(weft_tensor a, weft_tensor b, weft_dot_axes axes)
{
    return arranged_dot(b, a, (weft_dot_axes){axes.batch_b, axes.batch_a, axes.contract_b, axes.contract_a});
}

/*
 * Whether a large dot of few terms is wanted with a free axis of a last, which fills half a vector: loops compute
 * such a dot, with lanes along the last axis of b, and in the order of the result if that is its last axis, too. That
 * beats a product and a copy of it where a costs little to copy beside the result, or beside reading it with a stride
 * for each column of b, or lies along that axis: 12^4 by 10 x 10 elements with 12 terms take 0.4 of the time,
 * cbae,ed->adbc of 8, 29, 85, 41, 18 0.65 (Sapphire Rapids). A copy of a as long as that of the result pays where a
 * whole vector is filled: efbad,cf->abcde of 24, 18, 18, 24, 12, 18 takes 0.82 of the time (Zen 5).
 */
static bool wants_lanes_of_a(const context *c, weft_tensor dot, weft_ints order)
{
    enum { LEAST_LANES = 8, MOST_TERMS = 24, LITTLE_BESIDE = 6 };
    enum { LEAST_TERMS = 5, LEAST_COLUMNS = 16, VECTOR = 16 };
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    size_t batch = axes.batch_a.count, free_a = free_count(a, axes.batch_a, axes.contract_a);
    if (is_complex(dot) || free_a == 0 || batch + free_a == order.count) return false;
    size_t last = (size_t)order.items[order.count - 1];
    if (last < batch || last >= batch + free_a) return false;
    int64_t least, most;
    range_of(c, dot, (int64_t)last, &least, &most);
    double lines = count_along(c, a, axes.batch_a) * count_free(c, a, axes.batch_a, axes.contract_a);
    double columns = count_free(c, b, axes.batch_b, axes.contract_b), terms = count_along(c, a, axes.contract_a);
    bool lies_along = innermost_axis(a) == (int64_t)last, is_little = terms * LITTLE_BESIDE <= columns;
    bool is_less = terms < columns || (terms == columns && least >= VECTOR);
    is_little |= terms >= LEAST_TERMS && columns >= LEAST_COLUMNS && is_less;
    return least >= LEAST_LANES && lines * columns >= WEFT_DOT_LARGE_RESULT && terms <= MOST_TERMS &&
           (lies_along || is_little);
}

/* Of b and a, with the last axis of `order` as the last one of a, in that order. Both are arranged. */
static weft_tensor with_lanes_of_a(weft_tensor dot, weft_ints order)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    size_t batch = axes.batch_a.count, free_a = free_count(a, axes.batch_a, axes.contract_a), next = 0;
    size_t free_b = order.count - batch - free_a, lanes = (size_t)order.items[order.count - 1];
    int64_t of_a[WEFT_MAX_RANK], contract[WEFT_MAX_RANK], of_dot[WEFT_MAX_RANK];
    for (size_t i = 0; i < weft_tensor_rank(a); i++)
        if (i != lanes) of_a[next++] = (int64_t)i;
    of_a[next] = (int64_t)lanes;
    for (size_t i = 0; i < axes.contract_a.count; i++) contract[i] = axes.contract_a.items[i] - 1;
    axes.contract_a.items = contract;
    for (size_t i = 0; i < order.count; i++) {
        size_t from = (size_t)order.items[i];
        if (from >= batch + free_a) from -= free_a;
        else if (from == lanes) from = order.count - 1;
        else if (from >= batch) from += free_b - (from > lanes);
        of_dot[i] = (int64_t)from;
    }
    return permuted(swapped_dot(permuted(a, of_a), b, axes), of_dot);
}

/*
 * Whether a large dot whose b has fewer columns than two vectors, but more than are added up in lanes, is permuted to
 * end with an axis of a, which lies along a longer one: as the dot of b and a its lanes go along that, of which none is
 * idle, and several vectors share a factor. dbea,ec->abcd of 48, 42, 12, 24, 48 takes 0.55 of the time, 72 random dots
 * of 9 to 31 columns 0.9 on average, 0.5 to 1.16 (Zen 5).
 */
static bool has_few_columns(const context *c, weft_tensor dot, weft_ints order)
{
    enum { MOST_IN_LANES = 8, VECTOR = 16, LEAST_LANES = 32 };
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    size_t end = axes.batch_a.count + free_count(a, axes.batch_a, axes.contract_a);
    double lines = count_along(c, a, axes.batch_a) * count_free(c, a, axes.batch_a, axes.contract_a);
    double columns = count_free(c, b, axes.batch_b, axes.contract_b);
    int64_t least, most;
    if (is_complex(dot) || end == axes.batch_a.count || (size_t)order.items[order.count - 1] >= end) return false;
    if (innermost_axis(a) != (int64_t)end - 1) return false;
    range_of(c, dot, (int64_t)end - 1, &least, &most);
    return columns > MOST_IN_LANES && columns < 2 * VECTOR && least >= LEAST_LANES &&
           lines * columns >= WEFT_DOT_LARGE_RESULT;
}

/* Of b and a, permuted so that its axes come in that order. */
static weft_tensor turned_dot(weft_tensor dot, weft_ints order)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    size_t batch = axes.batch_a.count, free_a = free_count(a, axes.batch_a, axes.contract_a);
    int64_t of_dot[WEFT_MAX_RANK];
    for (size_t i = 0; i < order.count; i++) {
        size_t from = (size_t)order.items[i];
        if (from >= batch + free_a) from -= free_a;
        else if (from >= batch) from += order.count - batch - free_a;
        of_dot[i] = (int64_t)from;
    }
    return permuted(swapped_dot(a, b, axes), of_dot);
}

/* One side's free axes: where they begin in the operand, which is arranged, and in the dot, and where each would be,
 * were they in the order in which they lie. */
typedef struct free_axes {
    size_t count, first, first_of_dot;
    int64_t places[WEFT_MAX_RANK];
    bool lie_so;
} free_axes;

static free_axes free_axes_of(weft_tensor dot, size_t which)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), x = weft_tensor_operand(dot, which);
    weft_ints batch = which == 0 ? axes.batch_a : axes.batch_b,
              contract = which == 0 ? axes.contract_a : axes.contract_b;
    free_axes f = {.count = free_count(x, batch, contract), .first_of_dot = batch.count, .lie_so = true};
    if (which == 1) f.first_of_dot += free_count(a, axes.batch_a, axes.contract_a);
    while (weft_ints_contain(batch, f.first) || weft_ints_contain(contract, f.first)) f.first++;
    if (!weft_tensor_is_op(x, WEFT_OP_permute)) return f;
    const int64_t *order = weft_tensor_node(x)->attrs[0].ints.items + f.first;
    for (size_t i = 0; i < f.count; i++) {
        f.places[i] = 0;
        for (size_t j = 0; j < f.count; j++) f.places[i] += order[j] < order[i];
        f.lie_so &= f.places[i] == (int64_t)i;
    }
    return f;
}

/*
 * Whether the free axes of an operand are to come as they lie, the dot being permuted anyway: where the operand, which
 * would have to be copied otherwise, is no smaller than the result. Einsum orders the axes of its dots so where it
 * knows extents.
 */
static bool wants_free_axes_as_they_lie(const context *c, weft_tensor dot, size_t which)
{
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_ints contract = which == 0 ? axes.contract_a : axes.contract_b;
    weft_tensor other = weft_tensor_operand(dot, 1 - which);
    double columns = which == 0 ? count_free(c, other, axes.batch_b, axes.contract_b)
                                : count_free(c, other, axes.batch_a, axes.contract_a);
    return c->expected != NULL && !free_axes_of(dot, which).lie_so &&
           count_along(c, weft_tensor_operand(dot, which), contract) >= columns;
}

static weft_tensor with_free_axes_as_they_lie(weft_tensor dot, size_t which, weft_ints order)
{
    weft_tensor operands[] = {weft_tensor_operand(dot, 0), weft_tensor_operand(dot, 1)};
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    const free_axes f = free_axes_of(dot, which);
    int64_t of_operand[WEFT_MAX_RANK], of_dot[WEFT_MAX_RANK];
    for (size_t i = 0; i < weft_tensor_rank(operands[which]); i++) of_operand[i] = (int64_t)i;
    for (size_t i = 0; i < f.count; i++) of_operand[f.first + (size_t)f.places[i]] = (int64_t)(f.first + i);
    for (size_t i = 0; i < order.count; i++) {
        size_t from = (size_t)order.items[i], place = from - f.first_of_dot;
        bool is_free = from >= f.first_of_dot && place < f.count;
        of_dot[i] = is_free ? (int64_t)f.first_of_dot + f.places[place] : order.items[i];
    }
    operands[which] = permuted(operands[which], of_operand);
    return permuted(arranged_dot(operands[0], operands[1], axes), of_dot);
}

/*
 * Of a vector and a matrix whose free axes come in another order than they lie in: permuted after it, if the matrix is
 * so large that the result is little beside it. dc,dcab->ba of 44, 34, 31, 9 takes 0.27 of the time (Zen 5).
 */
static weft_tensor with_matrix_as_it_lies(const context *c, weft_tensor dot)
{
    enum { LEAST_TERMS = 16 };
    if (!weft_tensor_is_valid(dot) || !weft_tensor_is_op(dot, WEFT_OP_dot) || c->expected != NULL) return dot;
    weft_dot_axes axes = axes_of(weft_tensor_node(dot)->attrs);
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    bool has_rows = free_count(a, axes.batch_a, axes.contract_a) > 0;
    if (has_rows == (free_count(b, axes.batch_b, axes.contract_b) > 0)) return dot;
    size_t matrix = has_rows ? 0 : 1, inner = (size_t)innermost_axis(has_rows ? a : b);
    bool is_free = !weft_ints_contain(has_rows ? axes.batch_a : axes.batch_b, inner) &&
                   !weft_ints_contain(has_rows ? axes.contract_a : axes.contract_b, inner);
    if (!is_free || free_axes_of(dot, matrix).lie_so || count_along(c, a, axes.contract_a) < LEAST_TERMS) return dot;
    int64_t order[WEFT_MAX_RANK];
    size_t rank = weft_tensor_rank(dot);
    for (size_t i = 0; i < rank; i++) order[i] = (int64_t)i;
    return with_free_axes_as_they_lie(dot, matrix, (weft_ints){rank, order});
}

static weft_tensor reordered(const context *c, weft_tensor dot, weft_ints order);

/* A dot that is permuted, in the order that suits it now. */
static weft_tensor reordered_again(const context *c, weft_tensor permute)
{
    if (!weft_tensor_is_valid(permute) || !weft_tensor_is_op(permute, WEFT_OP_permute)) return permute;
    weft_tensor again = reordered(c, weft_tensor_operand(permute, 0), weft_tensor_node(permute)->attrs[0].ints);
    return weft_tensor_is_valid(again) ? again : permute;
}

/* The dot in another order, permuted so that its axes come as in `order`; none if it is best as it is. */
static weft_tensor reordered(const context *c, weft_tensor dot, weft_ints order)
{
    if (wants_lanes_of_a(c, dot, order)) return with_lanes_of_a(dot, order);
    if (has_few_columns(c, dot, order)) return turned_dot(dot, order);
    for (size_t which = 0; which < 2; which++)
        if (wants_free_axes_as_they_lie(c, dot, which))
            return reordered_again(c, with_free_axes_as_they_lie(dot, which, order));
    return weft_site_leave();
}

static weft_tensor merged(weft_tensor permute, weft_ints order)
{
    int64_t both[WEFT_MAX_RANK];
    memcpy(both, order.items, order.count * sizeof *both);
    return permuted(permute, both);
}

/* A permute that is the only user of a dot; for expected extents not where it decides an order of additions, as that
 * of complex factors does. */
static weft_tensor swap(const weft_rewrite_site *site)
{
    weft_tensor dot = site->inputs.items[0];
    weft_ints order = site->node->attrs[0].ints;
    const context *c = site->context;
    uint32_t number = site->node->inputs[0].node;
    if (weft_tensor_is_op(dot, WEFT_OP_permute)) return merged(dot, order); /* one that was made here */
    if (!weft_tensor_is_op(dot, WEFT_OP_dot) || !weft_usages_is_read_once(&c->usages, site->graph, number) ||
        (c->expected != NULL && weft_usages_is_ordered(&c->usages, site->graph, number)))
        return weft_site_leave();
    weft_tensor a = weft_tensor_operand(dot, 0), b = weft_tensor_operand(dot, 1);
    bool keeps_factors = c->expected != NULL && is_complex(dot);
    if (!keeps_factors && swaps_free_axes(dot, order)) return swapped_dot(a, b, axes_of(weft_tensor_node(dot)->attrs));
    return reordered(c, dot, order);
}

static weft_status *canonicalize_dot(const weft_rewrite_site *site, weft_tensor *out_values, bool *out_replaced)
{
    const context *c = site->context;
    weft_tensor value = weft_site_leave();
    weft_op_id op = weft_op_id_of(site->node->op);
    if (op == WEFT_OP_permute) value = swap(site);
    if (op == WEFT_OP_dot)
        value = with_matrix_as_it_lies(
            c, widened_dot(c, site->inputs.items[0], site->inputs.items[1], axes_of(site->node->attrs)));
    if (!weft_tensor_is_valid(value)) return NULL;
    out_values[0] = value;
    *out_replaced = true;
    return NULL;
}

weft_status *weft_canonicalize_dot_for(weft_graph *graph, const weft_policy *policy, const weft_expected *expected,
                                       size_t count, weft_value *outputs)
{
    context c = {.policy = policy->products, .expected = expected};
    weft_status *status = weft_usages_fill(&c.usages, graph, count, outputs);
    if (status == NULL) status = weft_rewrite_run(graph, count, outputs, canonicalize_dot, &c);
    if (status == NULL) status = weft_expr_context_take_out_of_memory(graph->exprs);
    weft_usages_finish(&c.usages);
    return status;
}

weft_status *weft_pass_canonicalize_dot(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    return weft_canonicalize_dot_for(graph, policy, NULL, count, outputs);
}
