/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/lower/product.h"
#include "lib/loop/loop.h"
#include "lib/lower/numerics.h"
#include "lib/lower/product_windows.h"
#include "lib/pass/pass.h"
#include "runtime/engine/gemm.h"

/* Products of up to this many multiplications are loops: the library's call and its packing cost more than they do. */
#define MOST_IN_LOOPS (32 * 32 * 32)
/* Of f32 with a B that is contiguous along the terms, which the library transposes in registers. */
#define MOST_ALONG_TERMS (24 * 24 * 24)
/* The same of f64, with AVX-512: 8 x 100 x 32 x 90 takes 0.55 of the time of loops, 2 x 256 x 64 x 256 0.83, 48^3 1.05
 * (Sapphire Rapids). */
#define MOST_DOUBLES_ALONG_TERMS (48 * 48 * 48)
/* The same, in bytes of real numbers, for a B that is contiguous along a free axis. */
#define MEDIUM_PRODUCT_BYTES (4 * 50 * 50 * 50)
/* Such a B that fits in L1, of few terms: packing it would cost as much. */
#define SMALL_B_BYTES (16 << 10)
#define SMALL_B_TERMS 32
/* All of a B whose batch lies innermost, which loops reread for every few rows with the batch along the lanes. */
#define NEAR_BATCHES_BYTES (1 << 20)
/* Such a B that loops reread from L2 for every few rows. */
#define NEAR_B_BYTES (256 << 10)
/* Rows and terms of an A beside which packing such a B is little, and panels are read faster. 300 x 200 x 100 f32 takes
 * 0.8 of the time of loops, 16384 x 188 x 192 0.9 (Sapphire Rapids; with AVX2 1.0). */
#define MANY_A_ROWS 256
#define MANY_TERMS 160
/* The same beside a B that is not in L1, with AVX-512: 192^3 f32 takes 1.04 of the time of loops where lines of B begin
 * with those of the cache, and 0.9 elsewhere (Sapphire Rapids). */
#define MANY_A_ROWS_BY_WIDEST 192
/* Rows and terms of an A that stays in L1, while B of any size is read once. */
#define FEW_A_ROWS 24
#define FEW_LINES 128
/* A B that comes from memory, which the library asks for ahead of time with AVX-512; with fewer terms it does not pay.
 * ebad,ce->abcd of 96, 84, 24, 84, 96 takes 0.4 of the time of loops, of 30, 40, 16, 128, 64 0.9 (Zen 5). */
#define FAR_BYTES (32 << 20)
#define MOST_TERMS_BESIDE_FAR_B 32
/* Terms of an A that lies along its rows, each of which is a cache line. */
#define MOST_A_LINES 128
/* This many rows or columns are computed together, so that a matrix is read once, as far as L2 holds its strided
 * lines. */
#define FEW_ROWS 4
#define LARGE_MATRIX_BYTES (2 << 20)
/* WEFT_PRODUCT_FEW_TERMS of real numbers that lie along the lanes. */
#define FEW_TERMS_ALONG 24
/* A copy that is this many times smaller than a result costs little in comparison. */
#define LITTLE_BESIDE 6
/* One that is no larger than the result, or half of it with AVX2, pays from so many rows of A on, each of which rereads
 * B, and so many terms, more where products of a batch find their part of B in L1. Measured on Sapphire Rapids. */
#define LEAST_COPY_ROWS 16
#define LEAST_COPY_TERMS 5
#define LEAST_COPY_TERMS_OF_BATCH 9
/* An axis along which the library writes a result in its order. */
#define LEAST_OWN_AXIS 16

weft_product_size weft_product_size_of(weft_space *space, const weft_node *node)
{
    weft_shape a = weft_value_type(space->graph, node->inputs[0])->shape,
               b = weft_value_type(space->graph, node->inputs[1])->shape;
    weft_shape batch = node->types[0].shape, free_axes = batch;
    batch.rank = node->attrs[0].ints.count;
    free_axes.rank -= batch.rank;
    free_axes.extents += batch.rank;
    weft_product_size size = {
        .batch = weft_count_bound(space, batch), .free = weft_count_bound(space, free_axes), .terms = 1, .along = true};
    size.results = weft_multiply_bound(size.batch, size.free);
    size.is_large = size.results >= WEFT_DOT_LARGE_RESULT;
    for (size_t i = 0; i < node->attrs[2].ints.count; i++) {
        int64_t low, high;
        weft_space_range(space, a.extents[node->attrs[2].ints.items[i]], &low, &high);
        size.terms = weft_multiply_bound(size.terms, high);
        size.along &= (size_t)node->attrs[3].ints.items[i] + 1 != b.rank;
    }
    for (size_t i = 0; i < batch.rank; i++) size.along &= (size_t)node->attrs[1].ints.items[i] + 1 != b.rank;
    size.along &= weft_dtype_info_of(node->types[0].dtype)->kind != WEFT_KIND_COMPLEX;
    return size;
}

/* At most or at least. */
static int64_t count_rows(weft_space *space, const weft_node *dot, size_t operand, bool is_least)
{
    weft_shape shape = weft_value_type(space->graph, dot->inputs[operand])->shape;
    int64_t rows = 1, low, high;
    for (size_t i = 0; i < shape.rank; i++) {
        if (!weft_dot_is_free(dot, operand, i)) continue;
        weft_space_range(space, shape.extents[i], &low, &high);
        rows = weft_multiply_bound(rows, is_least ? low : high);
    }
    return rows;
}

int64_t weft_product_rows(weft_space *space, const weft_node *dot, size_t operand)
{
    return count_rows(space, dot, operand, false);
}

int64_t weft_product_number_size(const weft_node *dot)
{
    return (int64_t)weft_dtype_size(weft_accumulator_dtype(dot->types[0].dtype));
}

/* Whether `operand` has few rows, and loops read the other one at least as fast as the library: where its lines of f64
 * are added up along them, and of 16-bit floats, which the library would widen first. Measured on Sapphire Rapids. */
static bool has_few_rows(weft_space *space, const weft_node *dot, size_t operand, int64_t terms)
{
    size_t matrix = 1 - operand, axis = weft_innermost_axis(space, dot->inputs[matrix]);
    weft_dtype dtype = dot->types[0].dtype;
    if (dtype == WEFT_F32 || weft_product_rows(space, dot, operand) > FEW_ROWS) return false;
    if (axis == SIZE_MAX || weft_dot_is_contracted(dot, matrix, axis)) return true;
    int64_t elements = weft_multiply_bound(weft_product_rows(space, dot, matrix), terms);
    return weft_dtype_is_float16(dtype) && elements <= LARGE_MATRIX_BYTES / weft_product_number_size(dot);
}

/* Whether B is contiguous along a free axis. */
static bool lies_along(weft_space *space, const weft_node *dot)
{
    size_t axis = weft_innermost_axis(space, dot->inputs[1]);
    return axis == SIZE_MAX || weft_dot_is_free(dot, 1, axis);
}

/*
 * Whether columns of B leave so many lanes of loops idle that the library is faster, which with the widest vectors
 * reads both operands in place: it transposes rows of A in registers for a few columns, and takes any number of them by
 * masks. Measured on Sapphire Rapids; 5 to 12 columns of f32 on Zen 5: 10000 x 64 by 64 x 8 takes 0.75 of the time of
 * loops, 1000 x 128 by 128 x 8 0.66, by 128 x 12 0.92, 200 x 100 by 100 x 8 1.0.
 */
static bool leaves_lanes(weft_space *space, const weft_node *dot, int64_t multiplications)
{
    enum { FEW_SINGLES = 12, FEW_OTHERS = 4, LARGE = 1 << 20 };
    const double used = 0.9;
    size_t axis = weft_innermost_axis(space, dot->inputs[0]);
    if (space->vector_bytes < WEFT_LONG_VECTOR || axis == SIZE_MAX || !weft_dot_is_contracted(dot, 0, axis))
        return false;
    int64_t columns = weft_product_rows(space, dot, 1), lanes = WEFT_LONG_VECTOR / weft_product_number_size(dot),
            pair = 2 * lanes;
    if (columns <= (weft_product_number_size(dot) > (int64_t)sizeof(float) ? FEW_OTHERS : FEW_SINGLES)) return true;
    double taken = (double)(columns / pair + (columns % pair != 0)) * (double)pair;
    return multiplications >= LARGE && columns > lanes && (double)columns < used * taken;
}

/*
 * Whether the library, with AVX-512, reads a B from L2 faster than loops, whose tiles are smaller: of many f64, or
 * where lines of B lie across those of the cache. 25 x 150 x 150 f32 takes 0.77 of the time of loops, 120^3 0.92, 160^3
 * f64 0.88; 64 x 128 x 128 would take 1.1 (Sapphire Rapids).
 */
static bool is_beyond_loops(const weft_space *space, weft_dtype dtype, int64_t rows, int64_t columns, int64_t terms)
{
    enum { NEAREST_BYTES = 48 << 10, LINE = 64, SOME_ROWS = 24, MANY_DOUBLES = 96 };
    int64_t element = (int64_t)weft_dtype_size(dtype);
    if (space->vector_bytes < WEFT_LONG_VECTOR || weft_multiply_bound(columns, terms) <= NEAREST_BYTES / element)
        return false;
    if (rows >= MANY_A_ROWS_BY_WIDEST && terms >= MANY_TERMS) return true;
    return rows >= (columns % (LINE / element) != 0 ? SOME_ROWS : dtype == WEFT_F64 ? MANY_DOUBLES : INT64_MAX);
}

/* Whether loops with lanes along B are faster than the library, which packs B. 16-bit floats are widened as it
 * does so. */
static bool is_near(weft_space *space, const weft_node *dot, int64_t terms, bool in_doubt)
{
    int64_t element = weft_product_number_size(dot),
            b_elements = weft_multiply_bound(weft_product_rows(space, dot, 1), terms);
    int64_t multiplications = weft_multiply_bound(b_elements, weft_product_rows(space, dot, 0));
    if (multiplications <= MEDIUM_PRODUCT_BYTES / element) return true;
    if (terms <= SMALL_B_TERMS && b_elements <= SMALL_B_BYTES / element) return true;
    if (in_doubt || weft_dtype_is_float16(dot->types[0].dtype) || weft_product_has_distant_columns(space, dot))
        return false;
    bool is_far =
        space->vector_bytes >= WEFT_LONG_VECTOR && terms > MOST_TERMS_BESIDE_FAR_B && b_elements > FAR_BYTES / element;
    if (terms <= FEW_LINES && weft_product_rows(space, dot, 0) <= FEW_A_ROWS && !is_far) return true;
    if (terms >= MANY_TERMS && weft_product_rows(space, dot, 0) >= MANY_A_ROWS) return false;
    if (leaves_lanes(space, dot, multiplications)) return false;
    if (is_beyond_loops(space, dot->types[0].dtype, weft_product_rows(space, dot, 0), weft_product_rows(space, dot, 1),
                        terms))
        return false;
    size_t axis = weft_innermost_axis(space, dot->inputs[0]);
    bool in_lines = axis != SIZE_MAX && weft_dot_is_free(dot, 0, axis);
    return b_elements <= NEAR_B_BYTES / element && !(in_lines && terms > MOST_A_LINES);
}

/* Whether an axis of the batch lies innermost in an operand. */
static bool ends_with_batch(weft_space *space, const weft_node *dot, size_t operand)
{
    size_t axis = weft_innermost_axis(space, dot->inputs[operand]);
    return axis != SIZE_MAX && !weft_dot_is_free(dot, operand, axis) && !weft_dot_is_contracted(dot, operand, axis);
}

bool weft_product_has_inner_batch(weft_space *space, const weft_node *dot)
{
    return weft_dtype_info_of(dot->types[0].dtype)->kind != WEFT_KIND_COMPLEX && ends_with_batch(space, dot, 0) &&
           ends_with_batch(space, dot, 1);
}

bool weft_product_has_outer_batch(weft_space *space, const weft_node *dot)
{
    return dot->attrs[0].ints.count > 0 && !ends_with_batch(space, dot, 0) && !ends_with_batch(space, dot, 1);
}

bool weft_product_copies_batches(weft_space *space, uint32_t dot)
{
    enum { LITTLE_BESIDE_PRODUCT = 10 };
    const weft_node *node = weft_graph_node(space->graph, dot);
    double rows = (double)weft_product_rows(space, node, 0), columns = (double)weft_product_rows(space, node, 1),
           terms = (double)weft_product_size_of(space, node).terms;
    bool permuted = true;
    for (size_t i = 0; i < 2; i++)
        permuted &= weft_op_id_of(weft_graph_node(space->graph, node->inputs[i].node)->op) == WEFT_OP_permute;
    return permuted && weft_product_has_inner_batch(space, node) &&
           rows * columns * terms >= LITTLE_BESIDE_PRODUCT * (rows * terms + terms * columns + rows * columns);
}

/* The axes of a dot in the order in which its result is wanted; NULL: in its own. */
static const int64_t *wanted_order(const weft_space *space, uint32_t dot)
{
    for (size_t n = dot + 1; n < space->graph->node_count; n++) {
        const weft_node *node = weft_graph_node(space->graph, (uint32_t)n);
        if (weft_op_id_of(node->op) == WEFT_OP_permute && node->inputs[0].node == dot) return node->attrs[0].ints.items;
    }
    return NULL;
}

/* The axis of a dot that is last in that order; SIZE_MAX: none. */
static size_t last_wanted_axis(weft_space *space, uint32_t dot)
{
    weft_shape shape = weft_graph_node(space->graph, dot)->types[0].shape;
    const int64_t *order = wanted_order(space, dot);
    for (size_t i = shape.rank; i-- > 0;) {
        size_t axis = order == NULL ? i : (size_t)order[i];
        if (!weft_space_is_one(space, shape.extents[axis])) return axis;
    }
    return SIZE_MAX;
}

/* Columns of B that the result, as it is wanted, ends with: those along which loops have lanes; 0 for none. */
static int64_t adjacent_columns(weft_space *space, uint32_t dot)
{
    const weft_node *node = weft_graph_node(space->graph, dot);
    const int64_t *order = wanted_order(space, dot);
    weft_shape shape = node->types[0].shape, a = weft_value_type(space->graph, node->inputs[0])->shape;
    size_t first = a.rank - node->attrs[2].ints.count; /* free axis of B */
    int64_t columns = 0, low, high;
    for (size_t i = shape.rank, last = shape.rank; i-- > 0;) {
        size_t axis = order == NULL ? i : (size_t)order[i];
        if (axis < first || (columns > 0 && axis + 1 != last)) break;
        weft_space_range(space, shape.extents[axis], &low, &high);
        columns = weft_multiply_bound(columns > 0 ? columns : 1, high);
        last = axis;
    }
    return columns;
}

/*
 * Whether the result, as it is wanted, takes the columns of B apart, and lanes along those that stay together are so
 * many idle ones that the library and a copy of its result take less time. bfegah,dgceb->dhfbac of 16, 6, 3, 10, 15,
 * 19, 4, 45 takes 0.24 of the time of loops, abcdf,cefg->aedbg of 37, 15, 8, 40, 47, 5, 4 0.57 (Sapphire Rapids).
 */
static bool has_idle_lanes(weft_space *space, uint32_t dot, int64_t terms)
{
    const double copy = 28; /* of a number, in products of loops without idle lanes */
    const weft_node *node = weft_graph_node(space->graph, dot);
    weft_dtype dtype = node->types[0].dtype;
    if (space->vector_bytes < WEFT_LONG_VECTOR || (dtype != WEFT_F32 && dtype != WEFT_F64)) return false;
    int64_t columns = adjacent_columns(space, dot), lanes = WEFT_LONG_VECTOR / weft_product_number_size(node);
    if (columns == 0 || columns >= weft_product_rows(space, node, 1)) return false;
    int64_t idle = (lanes - columns % lanes) % lanes;
    return (double)terms * (double)idle > copy * (double)columns;
}

/* Whether lanes along a batch axis, or those of the library along an axis of A, do better than a copy of B: the result
 * ends with it. */
static bool has_other_lanes(weft_space *space, uint32_t dot)
{
    const weft_node *node = weft_graph_node(space->graph, dot);
    weft_shape a = weft_value_type(space->graph, node->inputs[0])->shape;
    size_t axis = last_wanted_axis(space, dot), batch = node->attrs[0].ints.count;
    if (axis == SIZE_MAX) return false;
    if (axis < batch) return weft_product_has_inner_batch(space, node);
    int64_t least, most;
    weft_space_range(space, node->types[0].shape.extents[axis], &least, &most);
    return axis < a.rank - node->attrs[2].ints.count && least >= LEAST_OWN_AXIS;
}

/* Whether `operand` has few rows and they few terms, and the other one many: loops then have lanes across those
 * (lib/schedule/short_rows.c), unless they have them along the columns of B. Measured on Zen 5. */
static bool has_short_rows(weft_space *space, const weft_node *dot, size_t operand, int64_t terms)
{
    enum { MOST_ROWS = 8, MOST_ROW_BYTES = 1024, MOST_MULTIPLICATIONS = 256, MOST_TERMS = 32, MOST_TERMS_BY_AVX2 = 48 };
    enum { MOST_SINGLES = 48, MOST_DOUBLES = 96 };
    weft_dtype dtype = dot->types[0].dtype;
    int64_t rows = weft_product_rows(space, dot, operand), others = weft_product_rows(space, dot, 1 - operand),
            size = weft_product_number_size(dot), lanes = space->vector_bytes / size;
    bool longest = space->vector_bytes >= WEFT_LONG_VECTOR;
    if ((dtype != WEFT_F32 && dtype != WEFT_F64) || rows > MOST_ROWS || others < 2 * lanes) return false;
    if (operand == 0)
        return !lies_along(space, dot) && terms <= (dtype == WEFT_F32 ? MOST_SINGLES : MOST_DOUBLES) &&
               (longest || rows * terms <= MOST_ROW_BYTES / size);
    return rows < lanes && terms <= (longest ? MOST_TERMS : MOST_TERMS_BY_AVX2) && rows * terms <= MOST_MULTIPLICATIONS;
}

/* Whether columns of B fill half of the lanes of loops at most, while the library has lanes along the rows of A, as it
 * lies. 1079 x 76 by 76 x 2 f32 takes 0.33 of the time of loops, 682 x 81 by 81 x 6 0.44; with AVX2 139 x 142 by 142
 * x 2 0.4, 1437 x 480 by 480 x 4 0.5 (Zen 5). */
static bool has_lanes_along_rows(weft_space *space, const weft_node *dot, int64_t terms)
{
    enum { FEWEST_ROWS = 32, FEWEST_TERMS = 40, FEWEST_TERMS_BY_AVX2 = 16, TERMS_OF_COLUMN = 10 };
    weft_dtype dtype = dot->types[0].dtype;
    size_t axis = weft_innermost_axis(space, dot->inputs[0]);
    if ((dtype != WEFT_F32 && dtype != WEFT_F64) || axis == SIZE_MAX || !weft_dot_is_free(dot, 0, axis)) return false;
    int64_t columns = weft_product_rows(space, dot, 1), lanes = space->vector_bytes / weft_product_number_size(dot),
            fewest = space->vector_bytes >= WEFT_LONG_VECTOR ? FEWEST_TERMS : FEWEST_TERMS_BY_AVX2;
    return 2 * columns <= lanes && weft_product_rows(space, dot, 0) >= FEWEST_ROWS && terms >= fewest &&
           terms >= TERMS_OF_COLUMN * columns;
}

/* Whether a copy of a little B takes less time than the call of the library, which would transpose it too, or than
 * lanes that jump. Not so for few multiplications; a larger copy would be memory that the library does without.
 * Measured on Sapphire Rapids. */
static bool copies_little_b(weft_space *space, const weft_node *dot, const weft_product_size *size, int64_t elements)
{
    enum { LEAST_COLUMNS = 16, MOST_BYTES = 12 << 10, LEAST_SINGLES = 16 * 16 * 16, LEAST_DOUBLES = 24 * 24 * 24 };
    bool single = dot->types[0].dtype == WEFT_F32;
    if (space->vector_bytes < WEFT_LONG_VECTOR || (!single && dot->types[0].dtype != WEFT_F64)) return false;
    if (lies_along(space, dot) || size->terms < LEAST_COPY_TERMS || weft_product_rows(space, dot, 1) < LEAST_COLUMNS)
        return false;
    if (weft_product_rows(space, dot, 0) < (single ? LEAST_COPY_ROWS : 2 * LEAST_COPY_ROWS)) return false;
    return weft_multiply_bound(size->free, size->terms) > (single ? LEAST_SINGLES : LEAST_DOUBLES) &&
           elements <= MOST_BYTES / weft_product_number_size(dot);
}

/* The axis of an operand that is an axis of the result of the dot, which is none of its batch. */
static size_t operand_axis(const weft_space *space, const weft_node *dot, size_t result_axis, size_t *out_operand)
{
    size_t batch = dot->attrs[0].ints.count, axis = 0,
           free_a = weft_value_type(space->graph, dot->inputs[0])->shape.rank - batch - dot->attrs[2].ints.count;
    *out_operand = result_axis >= batch + free_a;
    size_t before = result_axis - batch - (*out_operand ? free_a : 0);
    for (; !weft_dot_is_free(dot, *out_operand, axis) || before > 0; axis++)
        before -= weft_dot_is_free(dot, *out_operand, axis);
    return axis;
}

bool weft_product_has_matrix_across(weft_space *space, const weft_node *dot, size_t axis)
{
    size_t batch = dot->attrs[0].ints.count, operand, matrix = weft_dot_has_one_row(space, dot, 0);
    if (axis < batch || (!matrix && !weft_dot_has_one_row(space, dot, 1))) return false;
    size_t wanted = operand_axis(space, dot, axis, &operand), inner = weft_innermost_axis(space, dot->inputs[matrix]);
    return operand == matrix && inner != SIZE_MAX && inner != wanted && weft_dot_is_free(dot, matrix, inner);
}

/* Of an axis of the result or of an operand; 0: it is not known. */
static int64_t known_extent(weft_space *space, weft_shape shape, size_t axis)
{
    int64_t least, most;
    weft_space_range(space, shape.extents[axis], &least, &most);
    return least == most ? most : 0;
}

/*
 * Whether the library turns a result that is in no cache (is_turned in lib/build/product.c), which ends with so many
 * elements and lies across the `own` ones that are adjacent in an operand: in whole lines, and in one pass, where loops
 * would copy the operand first. efbad,cf->abcde of 48, 36, 24, 36, 48, 24 takes 0.47 of the time of loops,
 * deca,be->abcd of 96, 24, 84, 96, 12 0.92 (Zen 5).
 */
static bool turns_far_result(const weft_space *space, const weft_node *dot, int64_t results, int64_t last, int64_t own)
{
    enum { LINE = 64, LEAST = 32, VECTOR = 16 };
    const int64_t size = weft_product_number_size(dot);
    return space->vector_bytes >= WEFT_LONG_VECTOR && results > FAR_BYTES / size && last > 0 &&
           last * size % LINE == 0 && own >= LEAST && 4 * own >= 3 * ((own + VECTOR - 1) / VECTOR * VECTOR);
}

/*
 * Whether lanes along the last axis of the result, as it is wanted, would jump through the operand that has it, which
 * lies along another one of its free axes. The library packs it, and a kernel permutes what it stores: bca,abed->cde of
 * 16, 6, 42, 15, 5 takes 0.3 of the time of loops, cabd,aef->dbfec of 15, 5, 5, 5, 7, 6 0.5 (Zen 5). Not where terms or
 * rows are few, more of which a large result has to have, unless it is turned.
 */
static bool has_jumping_lanes(weft_space *space, uint32_t index, const weft_product_size *size)
{
    enum { SMALL = 32 << 10, LEAST_TERMS = 8, LEAST_ROWS = 10, LEAST_TERMS_OF_LARGE = 24, LEAST_ROWS_OF_LARGE = 16 };
    enum { LEAST_TERMS_OF_TURNED = 11, LEAST_ROWS_OF_TURNED = 7 };
    const weft_node *dot = weft_graph_node(space->graph, index);
    weft_dtype dtype = dot->types[0].dtype;
    size_t last = last_wanted_axis(space, index), operand;
    if ((dtype != WEFT_F32 && dtype != WEFT_F64) || last == SIZE_MAX || last < dot->attrs[0].ints.count) return false;
    size_t axis = operand_axis(space, dot, last, &operand), inner = weft_innermost_axis(space, dot->inputs[operand]);
    if (inner == SIZE_MAX || inner == axis || !weft_dot_is_free(dot, operand, inner)) return false;
    int64_t a_rows = weft_product_rows(space, dot, 0), b_rows = weft_product_rows(space, dot, 1),
            rows = a_rows < b_rows ? a_rows : b_rows;
    weft_shape shape = weft_value_type(space->graph, dot->inputs[operand])->shape;
    if (turns_far_result(space, dot, size->results, known_extent(space, shape, axis),
                         known_extent(space, shape, inner)))
        return size->terms > LEAST_TERMS_OF_TURNED && rows > LEAST_ROWS_OF_TURNED;
    bool has_many = size->terms > LEAST_TERMS_OF_LARGE;
    return size->results > SMALL ? has_many && rows > LEAST_ROWS_OF_LARGE
                                 : has_many || (size->terms > LEAST_TERMS && rows > LEAST_ROWS);
}

/* Whether B, whose few columns are not contiguous along the terms, is copied so that lanes go along them. */
static bool copies_few_columns(weft_space *space, const weft_node *dot)
{
    bool is_permuted = weft_op_id_of(weft_graph_node(space->graph, dot->inputs[1].node)->op) == WEFT_OP_permute;
    return is_permuted && weft_product_rows(space, dot, 1) > 1 && lies_along(space, dot);
}

/* Whether B is windows that loops read in place, for rows that may be few: a copy has each element many times. */
static bool may_be_windows_of_few(weft_space *space, const weft_node *dot)
{
    return count_rows(space, dot, 0, true) < LEAST_COPY_ROWS && weft_product_has_adjacent_windows(space, dot);
}

bool weft_product_copies_b(weft_space *space, uint32_t dot)
{
    const weft_node *node = weft_graph_node(space->graph, dot);
    weft_reduction reduction;
    weft_reduction_fill(space->graph, dot, &reduction);
    if (reduction.lanes > 1) return copies_few_columns(space, node);
    weft_product_size size = weft_product_size_of(space, node);
    int64_t elements = weft_count_bound(space, weft_value_type(space->graph, node->inputs[1])->shape);
    bool is_permuted = weft_op_id_of(weft_graph_node(space->graph, node->inputs[1].node)->op) == WEFT_OP_permute;
    if (is_permuted && !lies_along(space, node) && weft_product_has_window_rows(space, node)) return true;
    if (!is_permuted || !size.along || has_short_rows(space, node, 1, size.terms)) return false;
    if (may_be_windows_of_few(space, node)) return false;
    if (!size.is_large) return copies_little_b(space, node, &size, elements);
    if (elements <= size.results / LITTLE_BESIDE) return true;
    if (elements > size.results / WEFT_LONG_VECTOR * space->vector_bytes) return false;
    int64_t least_terms = size.batch > 1 ? LEAST_COPY_TERMS_OF_BATCH : LEAST_COPY_TERMS;
    return size.terms >= least_terms && weft_product_rows(space, node, 0) >= LEAST_COPY_ROWS &&
           !has_other_lanes(space, dot);
}

/* Whether loops reread B with the batch along the lanes from near enough; the library packs it number by number. */
static bool has_near_batches(weft_space *space, const weft_node *dot)
{
    return weft_count_bound(space, weft_value_type(space->graph, dot->inputs[1])->shape) <=
           NEAR_BATCHES_BYTES / weft_product_number_size(dot);
}

/* Whether all extents of a shape are known. */
static bool is_known(weft_space *space, weft_shape shape)
{
    int64_t least = 0, most = 0;
    for (size_t i = 0; i < shape.rank && least == most; i++) weft_space_range(space, shape.extents[i], &least, &most);
    return least == most;
}

/* Whether A is a constant that the library reads packed (lib/build/pack.c), with vectors along its rows, where the
 * columns of B would leave too much of those of loops empty. Measured on Zen 3. */
static bool has_packed_rows(weft_space *space, const weft_node *dot, int64_t terms)
{
    enum { VECTOR_BYTES = 32, FEWEST_ROWS = 32, FEWEST_COLUMNS = 3, FEWEST_TERMS = 128 };
    const double used = 0.8;
    const weft_node *a = weft_graph_node(space->graph, dot->inputs[0].node);
    while (weft_op_id_of(a->op) == WEFT_OP_permute) a = weft_graph_node(space->graph, a->inputs[0].node);
    if (weft_op_id_of(a->op) != WEFT_OP_constant || dot->attrs[0].ints.count > 0) return false;
    weft_dtype dtype = dot->types[0].dtype;
    weft_shape b = weft_value_type(space->graph, dot->inputs[1])->shape;
    if ((dtype != WEFT_F32 && dtype != WEFT_F64) || !is_known(space, a->types[0].shape) || !is_known(space, b))
        return false;
    int64_t columns = weft_product_rows(space, dot, 1), lanes = VECTOR_BYTES / weft_product_number_size(dot);
    int64_t taken = (columns + lanes - 1) / lanes * lanes;
    return (double)columns < used * (double)taken && columns >= FEWEST_COLUMNS && terms >= FEWEST_TERMS &&
           weft_product_rows(space, dot, 0) >= FEWEST_ROWS;
}

/* Whether the library packs a B that is contiguous along the terms by squares of registers, so that little is left of
 * what loops save: of f64 with AVX-512, where there are enough of them. */
static bool transposes_b(const weft_space *space, const weft_node *dot, int64_t multiplications)
{
    if (dot->types[0].dtype == WEFT_F32) return true;
    return dot->types[0].dtype == WEFT_F64 && space->vector_bytes >= WEFT_LONG_VECTOR &&
           multiplications > MOST_DOUBLES_ALONG_TERMS;
}

/* Whether the library, for which the operands are copied, beats loops with the batch along the lanes, where the result
 * ends with it. ijx,jkx->ikx of 500, 20, 300, 4 f32 takes 0.17 of the time of loops, with 16 of the batch 0.32, f64
 * 0.33 and 0.7 (Zen 5). */
static bool has_copied_batch_lanes(weft_space *space, uint32_t dot)
{
    size_t axis = last_wanted_axis(space, dot);
    return axis < weft_graph_node(space->graph, dot)->attrs[0].ints.count && weft_product_copies_batches(space, dot);
}

/* Whether loops do as well as the library. */
static bool is_small(weft_space *space, uint32_t index, bool in_doubt)
{
    const weft_node *dot = weft_graph_node(space->graph, index);
    weft_product_size size = weft_product_size_of(space, dot);
    if (has_lanes_along_rows(space, dot, size.terms) || has_jumping_lanes(space, index, &size)) return false;
    bool is_idle = has_idle_lanes(space, index, size.terms);
    bool has_few = size.is_large && size.terms <= (size.along ? FEW_TERMS_ALONG : WEFT_PRODUCT_FEW_TERMS);
    if (has_few && !is_idle && !has_copied_batch_lanes(space, index)) return true;
    bool has_short = has_short_rows(space, dot, 0, size.terms) || has_short_rows(space, dot, 1, size.terms);
    if (has_short && !in_doubt) return true;
    int64_t multiplications = weft_multiply_bound(size.free, size.terms);
    bool along = lies_along(space, dot), transposes = !along && transposes_b(space, dot, multiplications);
    if (multiplications <= (transposes ? MOST_ALONG_TERMS : MOST_IN_LOOPS)) return true;
    if (weft_dtype_info_of(dot->types[0].dtype)->kind == WEFT_KIND_COMPLEX) return false;
    if (has_packed_rows(space, dot, size.terms) || weft_product_copies_batches(space, index)) return false;
    if (weft_product_has_window_rows(space, dot)) return true;
    /* Lanes go along B as it lies, or as it is copied for a large result. */
    bool copied = (size.is_large || !in_doubt) && weft_product_copies_b(space, index),
         lanes = size.along && (along || copied || (size.is_large && !transposes));
    if (lanes && !is_idle && is_near(space, dot, size.terms, in_doubt)) return true;
    if (weft_product_has_inner_batch(space, dot) && has_near_batches(space, dot)) return true;
    if (weft_product_has_near_windows(space, dot, size.terms)) return true;
    return has_few_rows(space, dot, 0, size.terms) || has_few_rows(space, dot, 1, size.terms);
}

bool weft_product_may_be_library(weft_space *space, uint32_t dot)
{
    const weft_node *node = weft_graph_node(space->graph, dot);
    weft_reduction reduction;
    if (!weft_gemm_supports(node->types[0].dtype) || node->attrs[2].ints.count == 0) return false;
    if (weft_dot_has_one_row(space, node, 0) && weft_dot_has_one_row(space, node, 1)) return false;
    weft_reduction_fill(space->graph, dot, &reduction);
    return reduction.lanes == 1;
}

/* Under permutes. */
static const weft_node *factor_of(const weft_graph *graph, const weft_node *dot, size_t operand)
{
    const weft_node *factor = weft_graph_node(graph, dot->inputs[operand].node);
    while (weft_op_id_of(factor->op) == WEFT_OP_permute) factor = weft_graph_node(graph, factor->inputs[0].node);
    return factor;
}

/* Whether both factors are u8 that were cast to i32. */
static bool is_of_bytes(const weft_graph *graph, const weft_node *dot)
{
    bool all = dot->types[0].dtype == WEFT_I32 && dot->attrs[2].ints.count > 0;
    for (size_t i = 0; i < 2; i++) {
        const weft_node *factor = factor_of(graph, dot, i);
        all = all && weft_op_id_of(factor->op) == WEFT_OP_cast &&
              weft_value_type(graph, factor->inputs[0])->dtype == WEFT_U8;
    }
    return all;
}

/* Whether packing bytes, which are then multiplied four times as fast as in loops, pays. Loops read a matrix beside a
 * vector once. */
static bool is_large_of_bytes(weft_space *space, const weft_node *dot)
{
    enum { LEAST_TERMS = 48, LEAST = 96 << 10 }; /* measured on Zen 5 */
    weft_product_size size = weft_product_size_of(space, dot);
    return !weft_dot_has_one_row(space, dot, 0) && !weft_dot_has_one_row(space, dot, 1) && size.terms >= LEAST_TERMS &&
           weft_multiply_bound(size.free, size.terms) >= LEAST;
}

weft_value weft_product_operand(const weft_graph *graph, const weft_node *dot, size_t operand)
{
    return dot->types[0].dtype == WEFT_I32 ? factor_of(graph, dot, operand)->inputs[0] : dot->inputs[operand];
}

bool weft_product_is_library(weft_space *space, uint32_t dot, bool in_doubt)
{
    const weft_node *node = weft_graph_node(space->graph, dot);
    if (is_of_bytes(space->graph, node)) return space->multiplies_bytes && is_large_of_bytes(space, node);
    if (!weft_product_may_be_library(space, dot)) return false;
    /* Loops read the matrix once too, and compute what follows in the same kernel. */
    if (weft_dot_has_one_row(space, node, 0) || weft_dot_has_one_row(space, node, 1)) return false;
    return !is_small(space, dot, in_doubt);
}
