/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/engine/gemm.h"
#include <string.h>
#include "runtime/base/machine.h"
#include "runtime/engine/gemm_grid.h"
#include "runtime/engine/gemm_mirror.h"
#include "runtime/engine/gemm_turn.h"

/*
 * M and N are cut into a grid of blocks that the pool's threads take, K is not (gemm_block.c cuts it, always at the
 * same places). Products may be computed transposed, which changes nothing but which of two factors comes first;
 * kernels of complex numbers are told. Where these are multiplied as real ones they are not: the order of the four real
 * products of two complex numbers depends on which operand is doubled, so that is always B.
 */

/* Operands that fit are packed on the stack, sums of 16-bit floats with them. */
enum { STACK_BYTES = 4 << 10 };

size_t weft_gemm_result_size(weft_dtype dtype)
{
    return dtype == WEFT_U8 ? sizeof(int32_t) : weft_dtype_size(dtype);
}

bool weft_gemm_supports(weft_dtype dtype)
{
    return dtype == WEFT_F32 || dtype == WEFT_F64 || dtype == WEFT_C64 || dtype == WEFT_C128 ||
           weft_dtype_is_float16(dtype);
}

bool weft_gemm_is_empty(const weft_gemm_call *call)
{
    bool is_empty = call->m == 0 || call->n == 0;
    for (size_t axis = 0; axis < call->batch_rank; axis++)
        is_empty |= call->batch[axis] == 0 && call->c_batch[axis] != 0;
    return is_empty;
}

/* ---- the grid ---- */

/* Element offset of product `index` of the batch. */
static int64_t batch_offset(const weft_gemm_matrices *m, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (size_t axis = 0; axis < m->batch_rank; index /= m->extents[axis++])
        offset += index % m->extents[axis] * strides[axis];
    return offset;
}

/* First row or column of block `index` of `count` over `extent`. */
static int64_t block_begin(int64_t extent, int64_t unit, int64_t count, int64_t index)
{
    int64_t units = (extent + unit - 1) / unit;
    int64_t begin = (units / count * index + units % count * index / count) * unit;
    return begin < extent ? begin : extent;
}

/* An operand without terms may have no memory, and be NULL. */
static const char *operand_at(const char *data, int64_t bytes)
{
    return bytes == 0 ? data : data + bytes;
}

/* Lines [begin, end) of operand A or B, in the matrix at element `offset`. */
static weft_gemm_side side_of(const weft_gemm_grid *grid, bool is_b, int64_t offset, int64_t begin, int64_t end)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_matrices *m = grid->matrices;
    const char *operand = is_b ? grid->b : grid->a;
    bool complex = weft_gemm_is_complex(call->dtype), whole = grid->kernel->is_complex;
    weft_gemm_form parts = is_b && complex ? WEFT_GEMM_DOUBLED : WEFT_GEMM_PARTS;
    return (weft_gemm_side){.data = operand_at(operand, offset * (int64_t)weft_dtype_size(call->dtype)),
                            .panels = call->panels == (is_b ? WEFT_PANELS_B : WEFT_PANELS_A) ? operand : NULL,
                            .panel_lines = call->panel_lines,
                            .lines = is_b ? &m->b_columns : &m->a_rows,
                            .terms = is_b ? &m->b_terms : &m->a_terms,
                            .first = begin,
                            .count = end - begin,
                            .complex = complex,
                            .form = whole ? WEFT_GEMM_WHOLE : parts,
                            .size = weft_gemm_real_size(call->dtype),
                            .float16 = grid->float16,
                            .pack = grid->numbers->pack,
                            .transpose = grid->kernel->transpose,
                            .runs = grid->kernel->runs};
}

/* Product `product`, rows and columns [begin, end) of C. */
static weft_gemm_block block_of(const weft_gemm_grid *grid, int64_t product, const int64_t *begin, const int64_t *end)
{
    const weft_gemm_call *call = grid->call;
    const weft_gemm_matrices *m = grid->matrices;
    bool transposed = grid->transposed;
    int64_t size = (int64_t)weft_gemm_result_size(call->dtype);
    int64_t a = call->a_offset + batch_offset(m, m->a_strides, product);
    int64_t b = call->b_offset + batch_offset(m, m->b_strides, product);
    int64_t c = call->c_offset + batch_offset(m, m->c_strides, product);
    weft_gemm_side sides[2] = {side_of(grid, false, a, begin[0], end[0]), side_of(grid, true, b, begin[1], end[1])};
    return (weft_gemm_block){.kernel = grid->kernel,
                             .cache_bytes = (int64_t)grid->machine->cache_bytes[1],
                             .left = sides[transposed],
                             .right = sides[!transposed],
                             .right_first = transposed,
                             .terms = m->a_terms.count,
                             .c = grid->c + c * size,
                             .c_element = size,
                             .c_left = transposed ? &m->c_columns : &m->c_rows,
                             .c_right = transposed ? &m->c_rows : &m->c_columns,
                             .symmetric = grid->symmetric,
                             .few_left = grid->few == (transposed ? WEFT_FEW_COLUMNS : WEFT_FEW_ROWS),
                             .few_right = grid->few == (transposed ? WEFT_FEW_ROWS : WEFT_FEW_COLUMNS),
                             .in_lines = grid->in_lines};
}

/* Block (row, column) of the grid. */
static weft_gemm_block find_block(const weft_gemm_grid *grid, int64_t product, int64_t row, int64_t column)
{
    int64_t m = grid->matrices->c_rows.count, n = grid->matrices->c_columns.count;
    int64_t begin[2] = {block_begin(m, grid->units[0], grid->rows, row),
                        block_begin(n, grid->units[1], grid->columns, column)};
    int64_t end[2] = {block_begin(m, grid->units[0], grid->rows, row + 1),
                      block_begin(n, grid->units[1], grid->columns, column + 1)};
    return block_of(grid, product, begin, end);
}

static void clear(const weft_gemm_block *block)
{
    for (int64_t i = 0; i < block->left.count; i++)
        for (int64_t j = 0; j < block->right.count; j++)
            memset(weft_gemm_block_element(block, block->left.first + i, block->right.first + j), 0,
                   (size_t)block->c_element);
}

/* How many products from this one on are computed in one go: no more than L1 holds, since tiles share operands. */
static int64_t repeat(const weft_gemm_grid *grid, weft_gemm_block *block, int64_t product, int64_t end)
{
    const weft_gemm_matrices *m = grid->matrices;
    const int64_t *left = grid->transposed ? m->b_strides : m->a_strides;
    const int64_t *right = grid->transposed ? m->a_strides : m->b_strides;
    int64_t size = block->c_element, rows = block->left.count, columns = block->right.count;
    int64_t bytes = (block->terms * (rows + columns) + rows * columns) * size;
    int64_t count = m->extents[0] - product % m->extents[0], most = (int64_t)grid->machine->cache_bytes[0] / 2 / bytes;
    if (count > end - product) count = end - product;
    if (count > most) count = most < 1 ? 1 : most;
    block->count = count;
    block->left_step = left[0] * size;
    block->right_step = right[0] * size;
    block->c_step = m->c_strides[0] * size;
    return count;
}

/* Whether the products of a batch come from beyond L2. */
static bool is_far(const weft_gemm_grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    if (grid->far) return m->batch > 1;
    int64_t lines = (grid->transposed ? m->c_columns : m->c_rows).count;
    double elements = (double)m->batch * (double)lines * (double)m->a_terms.count;
    return m->batch > 1 &&
           elements * (double)weft_gemm_real_size(grid->call->dtype) > (double)grid->machine->cache_bytes[1];
}

static void run_range(const weft_gemm_grid *grid, int64_t begin, int64_t end, char *memory)
{
    const char *left = NULL, *right = NULL;
    bool ended = false, asks = is_far(grid);
    for (int64_t t = begin, done; t < end && !ended; t += done) {
        int64_t place = t % (grid->rows * grid->columns);
        weft_gemm_block block =
            find_block(grid, t / (grid->rows * grid->columns), place / grid->columns, place % grid->columns);
        bool is_one = grid->rows * grid->columns == 1;
        block.left_kept = is_one && block.left.data == left;
        block.right_kept = is_one && block.right.data == right;
        left = block.left.data;
        right = block.right.data;
        if (asks && is_one && t + 1 < end) block.next_left = find_block(grid, t + 1, 0, 0).left.data - left;
        done = grid->repeats ? repeat(grid, &block, t, end) : 1;
        if (block.left.count <= 0 || block.right.count <= 0) continue;
        if (grid->symmetric && block.left.first >= block.right.first + block.right.count) continue;
        if (grid->kept != NULL) {
            grid->numbers->keep(&block, grid->kept);
            ended = grid->kept->failed;
        } else if (block.terms == 0) clear(&block);
        else grid->numbers->run(&block, memory);
    }
}

static void run_blocks(void *context, int64_t begin, int64_t end)
{
    weft_gemm_grid *grid = context;
    if (grid->bytes <= STACK_BYTES) {
        _Alignas(WEFT_GEMM_ALIGNMENT) char memory[STACK_BYTES];
        run_range(grid, begin, end, memory);
        return;
    }
    weft_block *packed;
    weft_status *status = weft_block_acquire(grid->store, NULL, grid->bytes, &packed);
    if (status == NULL) {
        run_range(grid, begin, end, packed->memory);
        weft_block_release(packed);
    } else {
        atomic_store(&grid->failed, true);
        weft_status_destroy(status);
    }
}

/* The bytes of the block that needs most; a smaller block may be cut differently and pack more at once. */
static void find_bytes(weft_gemm_grid *grid)
{
    if (grid->matrices->a_terms.count == 0) return;
    for (int64_t row = 0; row < grid->rows; row++)
        for (int64_t column = 0; column < grid->columns; column++) {
            weft_gemm_block block = find_block(grid, 0, row, column);
            if (block.left.count <= 0 || block.right.count <= 0) continue;
            size_t bytes = grid->numbers->bytes(&block);
            if (bytes > grid->bytes) grid->bytes = bytes;
        }
}

static void find_repeats(weft_gemm_grid *grid)
{
    const weft_gemm_matrices *m = grid->matrices;
    if (m->batch == 1 || m->a_terms.count == 0 || grid->rows * grid->columns > 1 || grid->numbers->repeats == NULL)
        return;
    const weft_gemm_block block = find_block(grid, 0, 0, 0);
    grid->repeats = grid->numbers->repeats(&block);
}

/* ---- symmetric products ---- */

/* Each task is WEFT_GEMM_SQUARE rows of one product. */
static void copy_rows(void *context, int64_t begin, int64_t end)
{
    const weft_gemm_grid *grid = context;
    int64_t count = grid->matrices->c_rows.count, squares = (count + WEFT_GEMM_SQUARE - 1) / WEFT_GEMM_SQUARE;
    int64_t size = (int64_t)weft_dtype_size(grid->call->dtype);
    for (int64_t t = begin; t < end; t++) {
        const int64_t first[2] = {0, 0}, last[2] = {count, count};
        weft_gemm_block block = block_of(grid, t / squares, first, last);
        const weft_gemm_mirror mirror = {.c = block.c,
                                         .count = count,
                                         .left = block.c_left->stride * size,
                                         .right = block.c_right->stride * size,
                                         .size = size,
                                         .transpose = grid->kernel->transpose};
        int64_t i = t % squares * WEFT_GEMM_SQUARE;
        weft_gemm_mirror_rows(&mirror, i, i + WEFT_GEMM_SQUARE < count ? i + WEFT_GEMM_SQUARE : count);
    }
}

static int64_t copy_tasks(const weft_gemm_grid *grid)
{
    return grid->matrices->batch * ((grid->matrices->c_rows.count + WEFT_GEMM_SQUARE - 1) / WEFT_GEMM_SQUARE);
}

/* ---- all ---- */

/* Of one product. */
static double product_ns(const weft_gemm_kernel *kernel, const weft_machine *machine, const weft_gemm_matrices *m,
                         weft_dtype dtype)
{
    double ns = weft_machine_product_ns(machine, dtype, (double)m->c_rows.count, (double)m->c_columns.count,
                                        (double)m->a_terms.count);
    return kernel->speed > 0 ? ns / kernel->speed : ns;
}

double weft_gemm_estimate(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                          size_t threads)
{
    weft_gemm_matrices matrices;
    if (weft_gemm_is_empty(call)) return 0;
    weft_gemm_matrices_find(&matrices, call, engine->kernel->ahead);
    double count = (double)matrices.batch, each = 1e9 * machine->dispatch_seconds;
    double one = product_ns(engine->kernel, machine, &matrices, call->dtype), work = count * one;
    if (threads == 1 || weft_machine_is_serial_product(machine, work)) return count * each + work;
    double share = count > (double)threads ? count / (double)threads : 1;
    bool whole = count < (double)threads && weft_machine_is_serial_product(machine, one);
    return share * each + work / (whole ? count : (double)threads) + 1e9 * machine->fork_join_seconds;
}

/* How a product is given to threads: whether one computes it all, or each of the batch. */
struct share {
    bool serial, whole;
};

static struct share share_of(const weft_gemm_kernel *kernel, const weft_machine *machine,
                             const weft_gemm_matrices *matrices, weft_dtype dtype, int64_t threads)
{
    double each = product_ns(kernel, machine, matrices, dtype), all = each * (double)matrices->batch;
    bool serial = threads == 1 || weft_machine_is_serial_product(machine, all);
    return (struct share){serial,
                          serial || matrices->batch >= threads || weft_machine_is_serial_product(machine, each)};
}

static void init_for(weft_gemm_grid *grid, const weft_gemm_engine *engine, const weft_machine *machine,
                     const weft_gemm_call *call, weft_gemm_matrices *matrices, int64_t threads)
{
    weft_gemm_matrices_find(matrices, call, engine->kernel->ahead);
    bool whole = share_of(engine->kernel, machine, matrices, call->dtype, threads).whole;
    weft_gemm_grid_init(grid, engine, machine, call, matrices, whole ? 1 : threads);
}

/* Whether one thread computes it all. */
static bool cut_for(weft_gemm_grid *grid, int64_t threads)
{
    int64_t batch = grid->matrices->batch;
    struct share share = share_of(grid->kernel, grid->machine, grid->matrices, grid->call->dtype, threads);
    /* Blocks beyond the diagonal take no time: more of them are alike in sum. */
    weft_gemm_grid_cut(grid, share.whole ? 1 : (grid->symmetric ? 4 : 1) * ((threads + batch - 1) / batch));
    find_bytes(grid);
    return share.serial;
}

/* Those that so many threads take, whether A and B are one matrix or not, which shows only in a run. */
static size_t bytes_for(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                        int64_t threads)
{
    weft_gemm_matrices matrices;
    weft_gemm_grid grid;
    init_for(&grid, engine, machine, call, &matrices, threads);
    grid.a = grid.b = grid.c = (void *)(uintptr_t)call; /* any address: nothing is read */
    cut_for(&grid, threads);
    grid.symmetric = threads > 1 && weft_gemm_grid_is_symmetric(&grid);
    if (grid.symmetric) cut_for(&grid, threads);
    return grid.bytes;
}

/* ---- products whose result lies across an operand ---- */

/* One that is computed part by part. */
struct turned {
    const weft_gemm_engine *engine;
    const weft_machine *machine;
    const weft_gemm_turn *turn;
    size_t bytes; /* of the buffer, and to pack the operands of a part */
    weft_block_store *store;
    const char *a, *b;
    char *c;
    atomic_bool failed; /* for want of memory */
};

/* A piece of a part, which one thread computes. */
struct turned_piece {
    weft_gemm_turn_piece piece;
    weft_gemm_matrices matrices;
    weft_gemm_grid grid;
};

static void start_piece(const struct turned *turned, const weft_gemm_turn_part *part, int64_t first, int64_t count,
                        struct turned_piece *piece)
{
    weft_gemm_turn_cut(turned->turn, part, first, count, &piece->piece);
    init_for(&piece->grid, turned->engine, turned->machine, &piece->piece.call, &piece->matrices, 1);
    piece->grid.a = turned->a;
    piece->grid.b = turned->b;
    piece->grid.c = turned->c;
    piece->grid.far = turned->turn->far;
    cut_for(&piece->grid, 1);
    find_repeats(&piece->grid);
}

static void run_piece(const struct turned *turned, const weft_gemm_turn_part *part, int64_t first, int64_t count,
                      char *memory)
{
    struct turned_piece piece;
    start_piece(turned, part, first, count, &piece);
    piece.grid.c = memory;
    run_range(&piece.grid, 0, piece.matrices.batch * piece.grid.rows * piece.grid.columns,
              memory + turned->turn->bytes);
}

static void run_part(const struct turned *turned, int64_t index, char *memory)
{
    weft_gemm_turn_part part;
    weft_gemm_turn_start(turned->turn, index, &part);
    int64_t rest = part.extents[turned->turn->last] - part.tail;
    weft_gemm_turn_fetch(turned->turn, &part, memory, turned->c);
    run_piece(turned, &part, 0, part.tail, memory);
    if (rest > 0) run_piece(turned, &part, part.tail, rest, memory);
    weft_gemm_turn_finish(turned->turn, &part, turned->engine->kernel->transpose, memory, turned->c);
}

static void run_parts(void *context, int64_t begin, int64_t end)
{
    struct turned *turned = context;
    weft_block *block;
    weft_status *status = weft_block_acquire(turned->store, NULL, turned->bytes, &block);
    if (status != NULL) {
        atomic_store(&turned->failed, true);
        weft_status_destroy(status);
        return;
    }
    for (int64_t i = begin; i < end; i++) run_part(turned, i, block->memory);
    weft_block_release(block);
}

/* Parts at the ends of axes are smaller, and so are pieces once they are aligned, which they are not yet; they may pack
 * more at once. */
static size_t turned_bytes(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_turn *turn)
{
    const char *any = (const void *)turn->call; /* nothing is read */
    const struct turned turned = {
        .engine = engine, .machine = machine, .turn = turn, .a = any, .b = any, .c = (char *)(uintptr_t)any};
    size_t most = 0;
    for (int64_t i = 0; i < weft_gemm_turn_sizes(turn); i++) {
        weft_gemm_turn_part part;
        weft_gemm_turn_start(turn, weft_gemm_turn_size(turn, i), &part);
        for (int64_t count = part.tail; count > 0; count = turn->past ? count - 1 : 0) {
            struct turned_piece piece;
            start_piece(&turned, &part, 0, count, &piece);
            if (piece.grid.bytes > most) most = piece.grid.bytes;
        }
    }
    return turn->bytes + most;
}

static weft_status *run_turned(struct turned *turned, weft_pool *pool, bool serial)
{
    if (serial) run_parts(turned, 0, turned->turn->parts);
    else weft_pool_run(pool, turned->turn->parts, 1, run_parts, turned);
    return atomic_load(&turned->failed) ? weft_status_out_of_memory() : NULL;
}

size_t weft_gemm_bytes(const weft_gemm_engine *engine, const weft_machine *machine, const weft_gemm_call *call,
                       size_t threads)
{
    weft_gemm_turn turn;
    if (weft_gemm_is_empty(call)) return 0;
    weft_gemm_turn_find(&turn, call, machine->cache_bytes[1]);
    if (turn.rank > 0) return turned_bytes(engine, machine, &turn);
    size_t bytes = bytes_for(engine, machine, call, 1); /* a run inside of a job has one */
    if (threads > 1) {
        size_t others = bytes_for(engine, machine, call, (int64_t)threads);
        if (others > bytes) bytes = others;
    }
    return bytes <= STACK_BYTES ? 0 : bytes;
}

/* ---- running ---- */

static weft_status *run_grid(weft_gemm_grid *grid, weft_pool *pool, bool serial)
{
    int64_t tasks = grid->matrices->batch * grid->rows * grid->columns;
    if (serial) run_blocks(grid, 0, tasks);
    else weft_pool_run(pool, tasks, 1, run_blocks, grid);
    if (grid->symmetric && serial) copy_rows(grid, 0, copy_tasks(grid));
    else if (grid->symmetric) weft_pool_run(pool, copy_tasks(grid), 1, copy_rows, grid);
    return atomic_load(&grid->failed) ? weft_status_out_of_memory() : NULL;
}

static void put_arrays(weft_gemm_grid *grid, weft_block_store *store, const void *a, const void *b, void *c)
{
    grid->a = a;
    grid->b = b;
    grid->c = c;
    grid->store = store;
    grid->symmetric = weft_gemm_grid_is_symmetric(grid);
}

weft_status *weft_gemm_run(const weft_gemm_engine *engine, weft_pool *pool, weft_block_store *store,
                           const weft_gemm_call *call, const void *a, const void *b, void *c)
{
    weft_gemm_matrices matrices;
    weft_gemm_grid grid;
    weft_gemm_turn turn;
    const weft_machine *machine = weft_pool_machine(pool);
    if (weft_gemm_is_empty(call)) return NULL;
    int64_t threads = (int64_t)weft_pool_width(pool);
    init_for(&grid, engine, machine, call, &matrices, threads);
    put_arrays(&grid, store, a, b, c);
    bool serial = cut_for(&grid, threads);
    weft_gemm_turn_find(&turn, call, machine->cache_bytes[1]);
    if (turn.rank > 0) {
        struct turned turned = {engine, machine, &turn, turned_bytes(engine, machine, &turn), store, a, b, c, false};
        weft_gemm_turn_align(&turn, c);
        return run_turned(&turned, pool, serial);
    }
    find_repeats(&grid);
    return run_grid(&grid, pool, serial);
}

struct weft_gemm_plan {
    const weft_gemm_engine *engine;
    weft_gemm_matrices matrices;
    weft_gemm_grid grid; /* without arrays */
    int64_t threads;
    bool serial;
    bool may_mirror;     /* if A and B are one array */
    weft_gemm_turn turn; /* if it has a rank it is computed so, */
    size_t turned_bytes; /* in blocks of so many bytes */
    weft_gemm_kept kept; /* failed: what it would have is found in each run */
};

size_t weft_gemm_plan_size(void)
{
    return sizeof(weft_gemm_plan);
}

/* Keeps the tiles of a product that one thread computes, or its rows, if they are few. */
static void find_kept(weft_gemm_plan *plan)
{
    weft_gemm_grid *grid = &plan->grid;
    weft_gemm_kept *kept = &plan->kept;
    kept->count = 0;
    kept->is_rows = false;
    kept->failed =
        plan->turn.rank > 0 || grid->numbers->keep == NULL || grid->matrices->a_terms.count == 0 || !plan->serial;
    grid->kept = kept;
    if (!kept->failed) run_range(grid, 0, grid->matrices->batch * grid->rows * grid->columns, NULL);
    grid->kept = NULL;
    kept->failed |= kept->is_rows && grid->bytes > STACK_BYTES;
}

void weft_gemm_plan_fill(weft_gemm_plan *plan, const weft_gemm_engine *engine, const weft_machine *machine,
                         const weft_gemm_call *call, size_t threads)
{
    plan->engine = engine;
    plan->threads = (int64_t)threads;
    init_for(&plan->grid, engine, machine, call, &plan->matrices, plan->threads);
    plan->grid.a = plan->grid.b = plan->grid.c = (void *)(uintptr_t)call; /* any address: nothing is read */
    plan->serial = cut_for(&plan->grid, plan->threads);
    find_repeats(&plan->grid);
    plan->may_mirror = weft_gemm_grid_is_symmetric(&plan->grid);
    weft_gemm_turn_find(&plan->turn, call, machine->cache_bytes[1]);
    if (plan->turn.rank > 0) plan->turned_bytes = turned_bytes(engine, machine, &plan->turn);
    find_kept(plan);
}

/* From where arrays were to where one is. */
static const void *moved(const weft_gemm_plan *plan, const void *kept, const void *array)
{
    return (const void *)((uintptr_t)kept + ((uintptr_t)array - (uintptr_t)plan->grid.call));
}

static void run_kept_rows(const weft_gemm_plan *plan, const void *a, const void *b, void *c)
{
    _Alignas(WEFT_GEMM_ALIGNMENT) char sums[STACK_BYTES];
    bool few_rows = plan->grid.few == WEFT_FEW_ROWS;
    weft_gemm_rows product = plan->kept.rows;
    product.rows = moved(plan, product.rows, few_rows ? a : b);
    product.matrix = moved(plan, product.matrix, few_rows ? b : a);
    product.c = (char *)(uintptr_t)moved(plan, product.c, c);
    plan->grid.kernel->rows_in_place(&product, sums);
}

static void run_kept_tiles(const weft_gemm_plan *plan, const void *a, const void *b, void *c)
{
    bool wide_is_b = plan->grid.kernel->by_columns == plan->grid.transposed;
    for (uint32_t i = 0; i < plan->kept.count; i++) {
        weft_gemm_tile_call tile = plan->kept.tiles[i];
        tile.wide = moved(plan, tile.wide, wide_is_b ? b : a);
        tile.narrow = moved(plan, tile.narrow, wide_is_b ? a : b);
        tile.c = (void *)(uintptr_t)moved(plan, tile.c, c);
        plan->grid.kernel->tile(&tile);
    }
}

weft_status *weft_gemm_plan_run(const weft_gemm_plan *plan, weft_pool *pool, weft_block_store *store, const void *a,
                                const void *b, void *c)
{
    if (!plan->kept.failed && !(plan->may_mirror && a == b)) {
        (plan->kept.is_rows ? run_kept_rows : run_kept_tiles)(plan, a, b, c);
        return NULL;
    }
    if (plan->turn.rank > 0) {
        bool serial = plan->serial || weft_pool_width(pool) == 1;
        weft_gemm_turn turn = plan->turn;
        weft_gemm_turn_align(&turn, c);
        struct turned turned = {plan->engine, weft_pool_machine(pool), &turn, plan->turned_bytes, store, a, b, c,
                                false};
        return run_turned(&turned, pool, serial);
    }
    weft_gemm_grid grid = plan->grid;
    put_arrays(&grid, store, a, b, c);
    if (grid.symmetric || (int64_t)weft_pool_width(pool) != plan->threads)
        return weft_gemm_run(plan->engine, pool, store, grid.call, a, b, c);
    return run_grid(&grid, pool, plan->serial);
}
