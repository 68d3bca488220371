/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the header of an object promises: api FOLDER, which has the files that api.py writes. Memory is that of a pool
 * here, so that requests are counted: a run makes none.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache.h"
#include "dense.h"
#include "layer.h"
#include "many.h"
#include "moved.h"
#include "staged.h"
#include "other.h"
#include "sized.h"

static int failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                     \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* ---- memory ---- */

static size_t requests;

#if !defined(SANITIZED) /* sanitizers have memory of their own */
/* What is freed is not used again. */
static _Alignas(64) char pool[256 << 20];
static size_t pool_used;

void *aligned_alloc(size_t alignment, size_t size)
{
    size_t begin = (__atomic_fetch_add(&pool_used, size + 2 * alignment + 64, __ATOMIC_RELAXED) + 64 + alignment - 1) /
                   alignment * alignment;
    __atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
    if (begin + size > sizeof pool) return NULL;
    memcpy(pool + begin - sizeof size, &size, sizeof size);
    return pool + begin;
}

void *malloc(size_t size)
{
    return aligned_alloc(64, size);
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

int posix_memalign(void **out_memory, size_t alignment, size_t size)
{
    *out_memory = aligned_alloc(alignment, size);
    return *out_memory == NULL;
}

void *realloc(void *block, size_t size)
{
    size_t old = 0;
    char *made = malloc(size);
    if (block != NULL) memcpy(&old, (char *)block - sizeof old, sizeof old);
    if (made != NULL && block != NULL) memcpy(made, block, old < size ? old : size);
    return made;
}

void free(void *block)
{
    (void)block;
}
#endif

/* Memory that lives as long as the process, and is known to those that look for lost memory. */
static void *take(size_t size)
{
    static void *taken[256];
    static size_t count;
    void *memory = malloc(size);
    size_t number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    CHECK(memory != NULL && number < sizeof taken / sizeof *taken);
    if (number < sizeof taken / sizeof *taken) taken[number] = memory;
    return memory;
}

/* ---- a layer: extents, layouts, errors ---- */

enum { N = 3, K = 5, M = 2 };

typedef struct layer_data {
    float x[N * K], y[N * M];
    layer_call call;
    weft_rt_workspace workspace;
} layer_data;

static void init_layer(layer_data *l)
{
    memset(l, 0, sizeof *l);
    for (int i = 0; i < N * K; i++) l->x[i] = (float)(i + 1);
    l->call = (layer_call){.extents = {N}, .x = l->x, .y = l->y};
    CHECK(layer_prepare(&l->call, &l->workspace, NULL, NULL) == WEFT_RT_OK);
    l->workspace.memory = take(l->workspace.size);
}

/* y[i, j] = max(x[i, :] . w[:, j], 0), w[k, j] = k - j. */
static float expected(const float *x, int row, int column)
{
    float sum = 0;
    for (int k = 0; k < K; k++) sum += x[row * K + k] * (float)(k - column);
    return sum > 0 ? sum : 0;
}

static void check_result(const layer_data *l)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) CHECK(l->y[i * M + j] == expected(l->x, i, j));
}

static void fails(const layer_call *call, weft_rt_workspace workspace, weft_rt_code code, const char *message)
{
    weft_rt_error error = {WEFT_RT_OK, ""};
    workspace.binding = NULL;
    CHECK(layer_run(call, &workspace, &error) == code && error.code == code);
    CHECK(layer_run(call, &workspace, NULL) == code);
    CHECK(workspace.binding == NULL || code == WEFT_RT_INVALID_ARGUMENT);
    if (strcmp(error.message, message) == 0) return;
    printf("'%s' is not '%s'\n", error.message, message);
    failures++;
}

static void test_layer(void)
{
    layer_data l;
    layer_shapes shapes;
    init_layer(&l);
    CHECK(layer_prepare(&l.call, &l.workspace, &shapes, NULL) == WEFT_RT_OK);
    CHECK(shapes.y[0] == N && shapes.y[1] == M);
    size_t before = requests;
    CHECK(layer_run(&l.call, &l.workspace, NULL) == WEFT_RT_OK);
    check_result(&l);
    memset(l.y, 0, sizeof l.y);
    CHECK(layer_run(&l.call, &l.workspace, NULL) == WEFT_RT_OK);
    check_result(&l);
    CHECK(requests == before);
    /* Preparing again keeps memory that suffices, and takes away what does not. */
    const weft_rt_workspace had = l.workspace;
    layer_call larger = {.extents = {4096}};
    l.workspace.size += 100;
    CHECK(layer_prepare(&l.call, &l.workspace, NULL, NULL) == WEFT_RT_OK);
    CHECK(l.workspace.memory == had.memory && l.workspace.size == had.size + 100);
    l.workspace.size = 64;
    CHECK(layer_prepare(&larger, &l.workspace, NULL, NULL) == WEFT_RT_OK);
    CHECK(l.workspace.memory == NULL && l.workspace.binding == NULL && l.workspace.size > 64);
}

static void test_errors(void)
{
    layer_data l;
    init_layer(&l);
    layer_call call = l.call;
    call.extents.n = 0;
    fails(&call, l.workspace, WEFT_RT_SHAPE_MISMATCH, "symbol n = 0 is outside [1, 4096] (given in extents)");
    call = l.call;
    call.x = NULL;
    fails(&call, l.workspace, WEFT_RT_INVALID_ARGUMENT, "input \"x\": data of 15 elements is NULL");
    call = l.call;
    call.y = l.x + 4;
    fails(&call, l.workspace, WEFT_RT_INVALID_ARGUMENT, "output \"y\" overlaps input \"x\"");
    call = l.call;
    const int64_t shape[] = {N, K + 1}, twice[] = {0, 1};
    const weft_rt_layout wrong = {shape, NULL}, repeated = {NULL, twice};
    call.x_layout = &wrong;
    fails(&call, l.workspace, WEFT_RT_SHAPE_MISMATCH, "input \"x\": axis 1 has extent 6, but the program requires 5");
    call = l.call;
    call.y_layout = &repeated;
    fails(&call, l.workspace, WEFT_RT_INVALID_ARGUMENT,
          "output \"y\": stride 0 of axis 0 over extent 3 addresses elements twice");
    weft_rt_error error;
    CHECK(layer_run(NULL, &l.workspace, &error) == WEFT_RT_INVALID_ARGUMENT);
    CHECK(strcmp(error.message, "layer: call is NULL") == 0);
    CHECK(layer_prepare(&l.call, NULL, NULL, &error) == WEFT_RT_INVALID_ARGUMENT);
    CHECK(strcmp(error.message, "layer: workspace is NULL") == 0);
    fails(&l.call, (weft_rt_workspace){.size = 1 << 20}, WEFT_RT_INVALID_ARGUMENT,
          "workspace.memory is NULL: layer_prepare says how many bytes it needs");
    weft_rt_workspace small = l.workspace;
    char message[160];
    for (small.size = 0; small.size + 8500 < l.workspace.size; small.size += 97) {
        snprintf(message, sizeof message,
                 "the workspace of %zu bytes is too small: layer_prepare says how many this call needs", small.size);
        fails(&l.call, small, WEFT_RT_OUT_OF_MEMORY, message);
    }
    check_result(&(layer_data){.x = {0}});
    CHECK(layer_run(&l.call, &l.workspace, NULL) == WEFT_RT_OK);
    check_result(&l);
    /* Other memory, and what was found out in the old one. */
    memset(l.workspace.memory, 0xff, l.workspace.size);
    l.workspace.memory = take(l.workspace.size);
    CHECK(layer_run(&l.call, &l.workspace, NULL) == WEFT_RT_OK);
    check_result(&l);
    CHECK(strcmp(weft_rt_code_name(WEFT_RT_SHAPE_MISMATCH), "SHAPE_MISMATCH") == 0);
    CHECK(strcmp(weft_rt_code_name((weft_rt_code)99), "UNKNOWN") == 0);
}

/* Transposed inputs, outputs with gaps, and memory of any alignment. */
static void test_layouts(void)
{
    layer_data l;
    init_layer(&l);
    float across[N * K], apart[2 * N * M];
    const int64_t columns[] = {1, N}, gaps[] = {2 * M, 2};
    const weft_rt_layout transposed = {NULL, columns}, spread = {NULL, gaps};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) across[k * N + i] = l.x[i * K + k];
    layer_call call = {.extents = {N}, .x = across, .y = apart, .x_layout = &transposed, .y_layout = &spread};
    for (size_t i = 0; i < 2 * N * M; i++) apart[i] = -1;
    CHECK(layer_prepare(&call, &l.workspace, NULL, NULL) == WEFT_RT_OK);
    l.workspace = (weft_rt_workspace){.memory = (char *)take(l.workspace.size + 1) + 1, .size = l.workspace.size};
    CHECK(layer_run(&call, &l.workspace, NULL) == WEFT_RT_OK);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            CHECK(apart[i * 2 * M + 2 * j] == expected(l.x, i, j));
            CHECK(apart[i * 2 * M + 2 * j + 1] == -1);
        }
}

static void test_sizes(void)
{
    enum { MOST = 70 };
    float *x = take(MOST * K * sizeof *x), y[MOST * M];
    weft_rt_workspace workspace = {0};
    for (int i = 0; i < MOST * K; i++) x[i] = (float)(i % 7) - 2;
    layer_call call = {.extents = {MOST}, .x = x, .y = y};
    CHECK(layer_prepare(&call, &workspace, NULL, NULL) == WEFT_RT_OK);
    workspace.memory = take(workspace.size);
    for (int n = MOST; n >= 1; n--) {
        call.extents.n = n;
        CHECK(layer_run(&call, &workspace, NULL) == WEFT_RT_OK);
        for (int i = 0; i < n * M; i++) CHECK(y[i] == expected(x, i / M, i % M));
    }
}

/* ---- manifests, versions ---- */

static void test_manifest(void)
{
    const weft_rt_manifest *m = layer_manifest();
    CHECK(m->size == sizeof *m && strcmp(m->name, "layer") == 0 && strcmp(m->isa, LEVEL) == 0);
    CHECK(m->symbol_count == 1 && m->input_count == 1 && m->output_count == 1);
    CHECK(strcmp(m->symbols[0].name, "n") == 0 && m->symbols[0].min == 1 && m->symbols[0].max == 4096);
    CHECK(strcmp(m->inputs[0].name, "x") == 0 && strcmp(m->inputs[0].dtype, "f32") == 0 && m->inputs[0].rank == 2);
    CHECK(strcmp(m->inputs[0].extents[0], "n") == 0 && strcmp(m->inputs[0].extents[1], "5") == 0);
    CHECK(strcmp(m->outputs[0].name, "y") == 0 && strcmp(m->outputs[0].extents[1], "2") == 0);
}

/* The manifest is what an object begins with. */
static void test_version(void)
{
    weft_rt_manifest other = *layer_manifest();
    layer_data l;
    weft_rt_error error;
    init_layer(&l);
    other.abi++;
    CHECK(weft_rt_run((const weft_rt_object *)&other, &l.call, &l.workspace, &error) == WEFT_RT_VERSION_MISMATCH);
    CHECK(strstr(error.message, "layer was compiled by weft ") == error.message);
    CHECK(weft_rt_prepare((const weft_rt_object *)&other, &l.call, &l.workspace, NULL, &error) ==
          WEFT_RT_VERSION_MISMATCH);
}

/* ---- weights in a file ---- */

static bool same(const char *message, const char *path, const char *reason)
{
    char whole[512];
    snprintf(whole, sizeof whole, "weights \"%s\": %s", path, reason);
    if (strcmp(message, whole) == 0) return true;
    printf("'%s' is not '%s'\n", message, whole);
    return false;
}

static void refuses(const char *path, const char *reason)
{
    const void *weights;
    weft_rt_error error;
    CHECK(weft_rt_weights_map(other_manifest(), path, &weights, &error) == WEFT_RT_BAD_FILE);
    CHECK(same(error.message, path, reason));
}

static void write_altered(const char *path, const char *bytes, size_t size, size_t at)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size);
    if (at < size && file != NULL) CHECK(fseek(file, (long)at, SEEK_SET) == 0 && fputc(bytes[at] ^ 1, file) != EOF);
    if (file != NULL) CHECK(fclose(file) == 0);
}

static void test_weights(const char *folder)
{
    char path[512], altered[512];
    const void *weights = NULL;
    layer_data l;
    weft_rt_error error;
    init_layer(&l);
    snprintf(path, sizeof path, "%s/other.weights", folder);
    snprintf(altered, sizeof altered, "%s/altered.weights", folder);
    CHECK(weft_rt_weights_map(other_manifest(), path, &weights, &error) == WEFT_RT_OK);
    other_call call = {.extents = {N}, .weights = weights, .x = l.x, .y = l.y};
    weft_rt_workspace workspace = {0};
    CHECK(other_prepare(&call, &workspace, NULL, &error) == WEFT_RT_OK);
    workspace.memory = take(workspace.size);
    CHECK(other_run(&call, &workspace, &error) == WEFT_RT_OK);
    check_result(&l);
    call.weights = NULL;
    CHECK(other_run(&call, &workspace, &error) == WEFT_RT_INVALID_ARGUMENT);
    CHECK(strcmp(error.message, "weights is NULL") == 0);
    call.weights = (const char *)weights + 64;
    CHECK(other_run(&call, &workspace, &error) == WEFT_RT_INVALID_ARGUMENT);
    size_t size = (size_t)other_manifest()->weights_size;
    refuses("/nowhere", "No such file or directory");
    for (size_t at = 0; at < size; at += at < 80 ? 1 : 61) {
        write_altered(altered, weights, size, at);
        refuses(altered, at < 8 || (at >= 24 && at < 64) ? "it is no file of weights"
                         : at < 24                       ? "it is of another program, or of another version of this one"
                                                         : "its digest is wrong: it was altered");
    }
    for (size_t cut = 0; cut < size; cut += 331) {
        char reason[128];
        write_altered(altered, weights, cut, SIZE_MAX);
        snprintf(reason, sizeof reason, "it has %zu bytes, but those of other have %zu", cut, size);
        refuses(altered, reason);
    }
    weft_rt_weights_unmap(other_manifest(), weights);
    CHECK(weft_rt_weights_map(layer_manifest(), path, &weights, &error) == WEFT_RT_BAD_FILE);
    CHECK(weft_rt_weights_map(layer_manifest(), NULL, &weights, &error) == WEFT_RT_INVALID_ARGUMENT);
    CHECK(weft_rt_weights_map(NULL, path, &weights, NULL) == WEFT_RT_INVALID_ARGUMENT);
}

/* ---- state in place, data errors, sizes known when it was compiled ---- */

static void test_cache(void)
{
    enum { ROWS = 4, WIDTH = 3 };
    float cache[ROWS * WIDTH] = {0}, row[WIDTH] = {1, 2, 3}, copy[ROWS * WIDTH];
    int64_t at = 2;
    weft_rt_error error;
    weft_rt_workspace workspace = {0};
    cache_call call = {.cache = cache, .row = row, .at = &at, .out = cache};
    CHECK(cache_prepare(&call, &workspace, NULL, &error) == WEFT_RT_OK);
    workspace.memory = take(workspace.size);
    CHECK(cache_run(&call, &workspace, &error) == WEFT_RT_OK);
    for (int i = 0; i < ROWS * WIDTH; i++) CHECK(cache[i] == (i / WIDTH == 2 ? (float)(i % WIDTH + 1) : 0));
    at = 4;
    memcpy(copy, cache, sizeof copy);
    for (int i = 0; i < 100; i++) CHECK(cache_run(&call, &workspace, &error) == WEFT_RT_DATA_ERROR);
    CHECK(strstr(error.message, "4") != NULL && memcmp(copy, cache, sizeof copy) == 0);
    at = 0;
    call.out = copy;
    CHECK(cache_run(&call, &workspace, &error) == WEFT_RT_OK);
    CHECK(copy[0] == 1 && cache[0] == 0);
    call.out = cache + 1;
    CHECK(cache_run(&call, &workspace, &error) == WEFT_RT_INVALID_ARGUMENT);
}

/* The state after a step of training lies where it was, row-major and with strides, and is what it is elsewhere. */
static void test_moved(void)
{
    enum { ROWS = 40, COLUMNS = 30, SIZE = ROWS * COLUMNS, GAP = 2 };
    static float w[GAP * SIZE], v[GAP * SIZE], x[SIZE], next_w[GAP * SIZE], next_v[GAP * SIZE];
    const int64_t strides[] = {GAP * COLUMNS, GAP};
    const weft_rt_layout layout = {.strides = strides};
    weft_rt_workspace workspace = {0};
    weft_rt_error error;
    for (int gap = 1; gap <= GAP; gap++) {
        for (int i = 0; i < GAP * SIZE; i++) {
            w[i] = (float)(i % 7) / 8;
            v[i] = (float)(i % 5);
            x[i / GAP] = (float)(i % 3);
        }
        moved_call call = {.w = w, .v = v, .x = x, .moved = next_w, .velocity = next_v};
        if (gap > 1) call.w_layout = call.v_layout = call.moved_layout = call.velocity_layout = &layout;
        CHECK(moved_prepare(&call, &workspace, NULL, &error) == WEFT_RT_OK);
        workspace.memory = take(workspace.size);
        workspace.binding = NULL;
        CHECK(moved_run(&call, &workspace, &error) == WEFT_RT_OK);
        call.moved = w;
        call.velocity = v;
        CHECK(moved_run(&call, &workspace, &error) == WEFT_RT_OK);
        for (int i = 0; i < SIZE; i++) CHECK(w[i * gap] == next_w[i * gap] && v[i * gap] == next_v[i * gap]);
        call.velocity = w;
        call.moved = v;
        CHECK(moved_run(&call, &workspace, &error) == WEFT_RT_INVALID_ARGUMENT);
    }
}

static void test_specialized(void)
{
    enum { ROWS = 8, COLUMNS = 6 };
    double x[ROWS * COLUMNS], y[ROWS];
    weft_rt_workspace workspace = {0};
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = i;
    for (int rows = 1; rows <= ROWS; rows++)
        for (int columns = 1; columns <= COLUMNS; columns++) {
            sized_call call = {.extents = {rows, columns}, .x = x, .y = y};
            CHECK(sized_prepare(&call, &workspace, NULL, NULL) == WEFT_RT_OK);
            workspace.memory = take(workspace.size);
            workspace.binding = NULL;
            CHECK(sized_run(&call, &workspace, NULL) == WEFT_RT_OK);
            for (int i = 0; i < rows; i++) {
                double sum = 0;
                for (int j = 0; j < columns; j++) sum += x[i * columns + j];
                CHECK(y[i] == sum);
            }
        }
}

/* What is bound fits and the arrays between steps do not: how many bytes there must be is known. */
static void test_too_small(void)
{
    weft_rt_workspace workspace = {0};
    weft_rt_error error;
    const staged_call call = {.extents = {200}};
    CHECK(staged_prepare(&call, &workspace, NULL, NULL) == WEFT_RT_OK);
    char message[160];
    size_t needed = workspace.size;
    workspace.size -= 20000;
    workspace.memory = take(workspace.size);
    snprintf(message, sizeof message,
             "the workspace of %zu bytes is too small: this call needs %zu, as staged_prepare says", workspace.size,
             needed);
    CHECK(staged_run(&call, &workspace, &error) == WEFT_RT_OUT_OF_MEMORY);
    CHECK(strcmp(error.message, message) == 0);
}

/* ---- threads ---- */

enum { LARGE = 300, THREADS = 8 };
static float a[LARGE * LARGE], b[LARGE * LARGE], c[2 + THREADS][LARGE * LARGE];
static weft_rt_pool *shared;

static void run_many(float *out, weft_rt_pool *threads)
{
    weft_rt_workspace workspace = {.pool = threads};
    many_call call = {.extents = {LARGE}, .a = a, .b = b, .c = out};
    CHECK(many_prepare(&call, &workspace, NULL, NULL) == WEFT_RT_OK);
    workspace.memory = take(workspace.size);
    for (int i = 0; i < 5; i++) CHECK(many_run(&call, &workspace, NULL) == WEFT_RT_OK);
}

/* One without the pool, of every four. */
static void *run_thread(void *out)
{
    size_t number = (size_t)((float(*)[LARGE * LARGE]) out - c);
    run_many(out, number % 4 == 0 ? NULL : shared);
    return NULL;
}

static void test_threads(void)
{
    pthread_t others[THREADS];
    shared = weft_rt_pool_create(3);
    CHECK(shared != NULL && weft_rt_pool_create(5000) == NULL);
    for (int i = 0; i < LARGE * LARGE; i++) {
        a[i] = (float)(i % 11) / 3;
        b[i] = (float)(i % 13) / 7;
    }
    run_many(c[0], NULL);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&others[i], NULL, run_thread, c[2 + i]) == 0);
    run_many(c[1], shared);
    for (int i = 0; i < THREADS; i++) pthread_join(others[i], NULL);
    for (int i = 1; i < 2 + THREADS; i++) CHECK(memcmp(c[0], c[i], sizeof c[0]) == 0);
    weft_rt_pool_destroy(shared);
    weft_rt_pool_destroy(NULL);
}

/* ---- weights that are packed for one size ---- */

enum { DENSE_ROWS = 33, DENSE_TERMS = 700, DENSE_COLUMNS = 300 };

/* Of each size and each layout alike: the bits of a row depend on it alone. */
static void test_packed_weights(void)
{
    static float x[DENSE_ROWS * DENSE_TERMS], across[DENSE_TERMS * DENSE_ROWS], y[3][DENSE_ROWS * DENSE_COLUMNS];
    const int64_t columns[] = {1, DENSE_ROWS};
    const weft_rt_layout transposed = {NULL, columns};
    weft_rt_workspace workspace = {0};
    for (int i = 0; i < DENSE_ROWS * DENSE_TERMS; i++) {
        x[i] = (float)(i * 29 % 83) / 7;
        across[i % DENSE_TERMS * DENSE_ROWS + i / DENSE_TERMS] = x[i];
    }
    dense_call calls[] = {{.extents = {DENSE_ROWS}, .x = x, .y = y[0]},
                          {.extents = {DENSE_ROWS}, .x = across, .x_layout = &transposed, .y = y[1]},
                          {.extents = {DENSE_ROWS - 1}, .x = x, .y = y[2]}};
    for (int i = 0; i < 3; i++) {
        CHECK(dense_prepare(&calls[i], &workspace, NULL, NULL) == WEFT_RT_OK);
        if (workspace.memory == NULL) workspace.memory = take(workspace.size);
        CHECK(dense_run(&calls[i], &workspace, NULL) == WEFT_RT_OK);
    }
    CHECK(y[0][0] != 0);
    CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0);
    CHECK(memcmp(y[0], y[2], (DENSE_ROWS - 1) * DENSE_COLUMNS * sizeof(float)) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    test_layer();
    test_errors();
    test_layouts();
    test_sizes();
    test_manifest();
    test_version();
    test_weights(argv[1]);
    test_cache();
    test_moved();
    test_specialized();
    test_too_small();
    test_threads();
    test_packed_weights();
    printf("%d failures\n", failures);
    return failures != 0;
}
