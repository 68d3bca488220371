/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */
#include "test/device.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/base/memory.h"
#include "runtime/base/pool.h"
#include "runtime/data/array.h"
#include "runtime/engine/gemm.h"
#include "runtime/engine/sort.h"

#define MEMORY ((size_t)1 << 32)
enum { POISON = 0xa5, ALIGNMENT = 64 };

typedef struct block {
    struct block *next; /* in the order of addresses */
    size_t begin, bytes;
} block;

struct weft_test_device {
    weft_runtime runtime;
    weft_driver driver;
    weft_machine machine; /* with other caches than the host's, so that kernels are scheduled otherwise */
    weft_compiler compiler;
    const weft_runtime *behind;
    unsigned char *seen, *real; /* the same memory, without access for the host and with */
    pthread_mutex_t mutex;      /* recursive */
    block *blocks;
    size_t bytes, queues, events, calls, fails_after;
    weft_pool *pool;
    weft_block_store *scratch;
};

/* ---- what is wrong ---- */

static void require(bool fine, const char *what)
{
    if (fine) return;
    fprintf(stderr, "test device: %s\n", what);
    abort();
}

static void enter(weft_test_device *device)
{
    pthread_mutex_lock(&device->mutex);
}

static void leave(weft_test_device *device)
{
    pthread_mutex_unlock(&device->mutex);
}

/* Counts a call, which fails where it was told to. */
static weft_status *count_call(weft_test_device *device, const char *name)
{
    if (device->calls++ < device->fails_after) return NULL;
    return weft_status_create(NULL, WEFT_INTERNAL, name, "the test device was lost");
}

/* ---- memory ---- */

static bool is_of_device(const weft_test_device *device, const void *memory)
{
    const unsigned char *at = memory;
    return at >= device->seen && at <= device->seen + MEMORY;
}

/* Where the host reads and writes it. */
static void *real_of(const weft_test_device *device, const void *memory)
{
    if (memory == NULL) return NULL;
    require(is_of_device(device, memory), "a pointer is not of the device");
    return device->real + ((const unsigned char *)memory - device->seen);
}

static weft_status *allocate(void *self, size_t bytes, void **out_memory)
{
    weft_test_device *device = self;
    size_t room = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT, begin = 0; /* one byte more: blocks do not touch */
    enter(device);
    weft_status *status = count_call(device, "allocate");
    block **link = &device->blocks, *made = calloc(1, sizeof *made);
    for (; *link != NULL && (*link)->begin - begin < room; link = &(*link)->next)
        begin = (*link)->begin + (*link)->bytes;
    if (status == NULL && (made == NULL || MEMORY - begin < room))
        status = weft_status_create(NULL, WEFT_OUT_OF_MEMORY, "allocate", "the test device is full");
    if (status == NULL) {
        *made = (block){*link, begin, room};
        *link = made;
        device->bytes += bytes;
        memset(device->real + begin, POISON, room);
        *out_memory = device->seen + begin;
    } else {
        free(made);
    }
    leave(device);
    return status;
}

static void release(void *self, void *memory, size_t bytes)
{
    weft_test_device *device = self;
    enter(device);
    size_t begin = (size_t)((unsigned char *)memory - device->seen);
    block **link = &device->blocks;
    while (*link != NULL && (*link)->begin != begin) link = &(*link)->next;
    require(*link != NULL, "memory is released that is not in use");
    block *found = *link;
    memset(device->real + begin, POISON, found->bytes);
    *link = found->next;
    device->bytes -= bytes;
    free(found);
    leave(device);
}

/* ---- code ---- */

static weft_status *load(void *self, const void *object, size_t size, const char *symbol, weft_image **out_image,
                         weft_kernel_function *out_function)
{
    const weft_test_device *device = self;
    const weft_driver *driver = device->behind->driver;
    return driver->load(device->behind->self, object, size, symbol, out_image, out_function);
}

static void unload(void *self, weft_image *image)
{
    const weft_test_device *device = self;
    device->behind->driver->unload(device->behind->self, image);
}

static weft_status *build(void *self, const weft_build_request *request, weft_variant **out_variant)
{
    const weft_test_device *device = self;
    return device->behind->compiler->build(device->behind->self, request, out_variant);
}

/* ---- queues ---- */

typedef enum task_kind { COPY, STORE, LAUNCH, MULTIPLY, SORT, WAIT } task_kind;

/* A call that waits to be made. */
typedef struct task {
    task_kind kind;
    weft_copy copy;
    int64_t *to, value;
    weft_launch launch;
    weft_gemm_call gemm;
    weft_sort_call sort;
    const void *operands[2];
    void *result;
    weft_driver_event *event;
    void *lists[4]; /* of the call, copied */
} task;

struct weft_driver_queue {
    weft_test_device *device;
    task *tasks;
    size_t count, capacity, done;
    size_t forgotten; /* tasks that were done and dropped before the first */
};

struct weft_driver_event {
    weft_driver_queue *queue;
    size_t position; /* tasks of the queue that come before it */
};

static void run_until(weft_driver_queue *queue, size_t position);

static void run_copy(const weft_test_device *device, const weft_copy *copy)
{
    char *to = copy->kind == WEFT_COPY_TO_HOST ? copy->to : real_of(device, copy->to);
    const char *from = copy->kind == WEFT_COPY_TO_DEVICE ? copy->from : real_of(device, copy->from);
    require(copy->kind != WEFT_COPY_TO_HOST || !is_of_device(device, copy->to), "the host's memory is the device's");
    require(copy->kind != WEFT_COPY_TO_DEVICE || !is_of_device(device, copy->from),
            "the host's memory is the device's");
    for (int64_t row = 0; row < copy->rows; row++)
        memcpy(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->width);
}

static bool comes_before(const weft_error_slot *x, const weft_error_slot *y)
{
    return x->position != y->position ? x->position < y->position : x->site < y->site;
}

/* In three parts, the last one first. */
static void run_launch(const weft_test_device *device, const task *t)
{
    const weft_launch *launch = &t->launch;
    weft_launch_error *error = real_of(device, launch->error);
    weft_error_slot first = {.position = INT64_MAX, .site = INT64_MAX};
    if (error->tag >= 0) return;
    void **buffers = t->lists[0]; /* the call's own */
    for (size_t i = 0; i < launch->buffer_count; i++) buffers[i] = real_of(device, buffers[i]);
    for (int64_t part = 3; part-- > 0;) {
        int64_t begin = launch->iterations / 3 * part,
                end = part == 2 ? launch->iterations : launch->iterations / 3 * (part + 1);
        weft_error_slot slot = {.position = INT64_MAX};
        const weft_kernel_frame frame = {buffers, launch->scalars, &slot};
        if (begin < end) launch->function(&frame, begin, end);
        if (slot.position != INT64_MAX && comes_before(&slot, &first)) first = slot;
    }
    if (first.position != INT64_MAX) *error = (weft_launch_error){launch->tag, first};
}

static void run_multiply(const weft_test_device *device, const task *t)
{
    weft_status *status =
        weft_gemm_run(weft_gemm_engine_find(weft_isa_level(), t->gemm.dtype), device->pool, device->scratch, &t->gemm,
                      real_of(device, t->operands[0]), real_of(device, t->operands[1]), real_of(device, t->result));
    require(status == NULL, "a product found no memory");
}

static void run_sort(const weft_test_device *device, const task *t)
{
    int64_t bytes =
        weft_sort_scratch(weft_key_sort_find(t->sort.dtype, t->sort.positions), device->pool, &t->sort, false);
    void *scratch = aligned_alloc(ALIGNMENT, ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    require(scratch != NULL, "a sort found no memory");
    weft_sort_run(weft_key_sort_find(t->sort.dtype, t->sort.positions), device->pool, &t->sort, false,
                  real_of(device, t->operands[0]), real_of(device, t->result), scratch, NULL);
    free(scratch);
}

static void run_task(const weft_test_device *device, const task *t)
{
    switch (t->kind) {
    case COPY: run_copy(device, &t->copy); return;
    case STORE: *(int64_t *)real_of(device, t->to) = t->value; return;
    case LAUNCH: run_launch(device, t); return;
    case MULTIPLY: run_multiply(device, t); return;
    case SORT: run_sort(device, t); return;
    case WAIT:
        run_until(t->event->queue, t->event->position);
        free(t->event);
        return;
    }
}

static void finish_task(task *t)
{
    for (size_t i = 0; i < sizeof t->lists / sizeof *t->lists; i++) free(t->lists[i]);
}

static void run_until(weft_driver_queue *queue, size_t position)
{
    while (queue->forgotten + queue->done < position) {
        task t = queue->tasks[queue->done++];
        run_task(queue->device, &t);
        finish_task(&t);
    }
    if (queue->done < queue->count) return;
    queue->forgotten += queue->count;
    queue->count = queue->done = 0;
}

static weft_status *push(weft_driver_queue *queue, const char *name, task t)
{
    weft_status *status = count_call(queue->device, name);
    if (status == NULL && queue->count == queue->capacity) {
        size_t capacity = 2 * queue->capacity + 16;
        task *grown = realloc(queue->tasks, capacity * sizeof *grown);
        require(grown != NULL, "a queue found no memory");
        queue->tasks = grown;
        queue->capacity = capacity;
    }
    if (status == NULL) queue->tasks[queue->count++] = t;
    else finish_task(&t);
    return status;
}

static void *copy_list(const void *items, size_t bytes)
{
    void *copied = malloc(bytes + 1);
    require(copied != NULL, "a queue found no memory");
    return bytes == 0 ? copied : memcpy(copied, items, bytes);
}

static weft_status *create_queue(void *self, weft_driver_queue **out_queue)
{
    weft_test_device *device = self;
    enter(device);
    weft_status *status = count_call(device, "create");
    if (status == NULL) {
        *out_queue = calloc(1, sizeof **out_queue);
        require(*out_queue != NULL, "a queue found no memory");
        (*out_queue)->device = device;
        device->queues++;
    }
    leave(device);
    return status;
}

static void destroy_queue(void *self, weft_driver_queue *queue)
{
    weft_test_device *device = self;
    enter(device);
    run_until(queue, queue->forgotten + queue->count);
    free(queue->tasks);
    free(queue);
    device->queues--;
    leave(device);
}

static weft_status *copy(void *self, weft_driver_queue *queue, const weft_copy *copied)
{
    weft_test_device *device = self;
    weft_status *status = NULL;
    enter(device);
    if (queue != NULL) {
        status = push(queue, "copy", (task){.kind = COPY, .copy = *copied});
    } else {
        status = count_call(device, "copy");
        if (status == NULL) run_copy(device, copied);
    }
    leave(device);
    return status;
}

static weft_status *store(void *self, weft_driver_queue *queue, int64_t *to, int64_t value)
{
    enter(self);
    weft_status *status = push(queue, "store", (task){.kind = STORE, .to = to, .value = value});
    leave(self);
    return status;
}

static weft_status *launch(void *self, weft_driver_queue *queue, const weft_launch *given)
{
    task t = {.kind = LAUNCH, .launch = *given};
    t.lists[0] = copy_list(given->buffers, given->buffer_count * sizeof *given->buffers);
    t.lists[1] = copy_list(given->scalars, given->scalar_count * sizeof *given->scalars);
    t.launch.buffers = t.lists[0];
    t.launch.scalars = t.lists[1];
    require(given->iterations > 0 && given->tag >= 0, "a launch of nothing");
    enter(self);
    weft_status *status = push(queue, "launch", t);
    leave(self);
    return status;
}

static weft_status *multiply(void *self, weft_driver_queue *queue, const weft_gemm_call *call, const void *a,
                             const void *b, void *c)
{
    require(!weft_gemm_is_empty(call), "a product of nothing");
    task t = {.kind = MULTIPLY, .gemm = *call, .operands = {a, b}, .result = c};
    const int64_t *const lists[] = {call->batch, call->a_batch, call->b_batch, call->c_batch};
    for (size_t i = 0; i < 4; i++) t.lists[i] = copy_list(lists[i], call->batch_rank * sizeof **lists);
    t.gemm.batch = t.lists[0];
    t.gemm.a_batch = t.lists[1];
    t.gemm.b_batch = t.lists[2];
    t.gemm.c_batch = t.lists[3];
    enter(self);
    weft_status *status = push(queue, "multiply", t);
    leave(self);
    return status;
}

static weft_status *sort(void *self, weft_driver_queue *queue, const weft_sort_call *call, const void *in, void *out)
{
    require(call->length > 0 && call->wanted <= call->length, "a sort of nothing");
    for (size_t i = 0; i < call->rank; i++) require(call->rows[i] > 0, "a sort of no rows");
    task t = {.kind = SORT, .sort = *call, .operands = {in}, .result = out};
    const int64_t *const lists[] = {call->rows, call->in_strides, call->out_strides};
    for (size_t i = 0; i < 3; i++) t.lists[i] = copy_list(lists[i], call->rank * sizeof **lists);
    t.sort.rows = t.lists[0];
    t.sort.in_strides = t.lists[1];
    t.sort.out_strides = t.lists[2];
    enter(self);
    weft_status *status = push(queue, "sort", t);
    leave(self);
    return status;
}

/* What was given to the queue is done even where the device is said to be lost. */
static weft_status *finish(void *self, weft_driver_queue *queue)
{
    enter(self);
    weft_status *status = count_call(self, "finish");
    run_until(queue, queue->forgotten + queue->count);
    leave(self);
    return status;
}

/* ---- events ---- */

static weft_status *record(void *self, weft_driver_queue *queue, weft_driver_event **out_event)
{
    weft_test_device *device = self;
    enter(device);
    weft_status *status = count_call(device, "record");
    if (status == NULL) {
        *out_event = malloc(sizeof **out_event);
        require(*out_event != NULL, "an event found no memory");
        **out_event = (weft_driver_event){queue, queue->forgotten + queue->count};
        device->events++;
    }
    leave(device);
    return status;
}

/* The queue keeps an event of its own. */
static weft_status *wait_for(void *self, weft_driver_queue *queue, weft_driver_event *event)
{
    weft_driver_event *kept = copy_list(event, sizeof *event);
    enter(self);
    weft_status *status = push(queue, "wait", (task){.kind = WAIT, .event = kept});
    if (status != NULL) free(kept);
    leave(self);
    return status;
}

/* A device goes on while the host asks: one task at a time. */
static bool is_done(void *self, weft_driver_event *event)
{
    enter(self);
    weft_driver_queue *queue = event->queue;
    size_t done = queue->forgotten + queue->done;
    if (done < event->position) run_until(queue, done + 1);
    bool fine = queue->forgotten + queue->done >= event->position;
    leave(self);
    return fine;
}

static weft_status *finish_event(void *self, weft_driver_event *event)
{
    enter(self);
    weft_status *status = count_call(self, "finish_event");
    run_until(event->queue, event->position);
    leave(self);
    return status;
}

static void destroy_event(void *self, weft_driver_event *event)
{
    weft_test_device *device = self;
    enter(device);
    device->events--;
    free(event);
    leave(device);
}

static const weft_queue_methods methods = {.size = sizeof methods,
                                           .create = create_queue,
                                           .destroy = destroy_queue,
                                           .copy = copy,
                                           .store = store,
                                           .launch = launch,
                                           .multiply = multiply,
                                           .sort = sort,
                                           .finish = finish,
                                           .record = record,
                                           .wait = wait_for,
                                           .is_done = is_done,
                                           .finish_event = finish_event,
                                           .destroy_event = destroy_event};

/* ---- the device ---- */

static bool map_memory(weft_test_device *device)
{
    int file = memfd_create("device", 0);
    bool fine = file >= 0 && ftruncate(file, (off_t)MEMORY) == 0;
    void *real = fine ? mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0) : MAP_FAILED;
    void *seen = mmap(NULL, MEMORY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file >= 0) close(file);
    device->real = real == MAP_FAILED ? NULL : real;
    device->seen = seen == MAP_FAILED ? NULL : seen;
    return device->real != NULL && device->seen != NULL;
}

static bool fill(weft_test_device *device, const char *name, const weft_runtime *behind)
{
    device->behind = behind;
    device->fails_after = SIZE_MAX;
    device->driver = (weft_driver){.size = sizeof device->driver,
                                   .device = {WEFT_DEVICE_OTHER, 0},
                                   .allocate = allocate,
                                   .release = release,
                                   .load = load,
                                   .unload = unload,
                                   .queues = &methods,
                                   .machine = &device->machine};
    device->machine = *weft_machine_host();
    device->machine.cache_bytes[0] = device->machine.cache_bytes[1] = 1 << 16;
    device->compiler = (weft_compiler){.size = sizeof device->compiler, .build = build};
    device->runtime = (weft_runtime){.size = sizeof device->runtime,
                                     .name = name,
                                     .self = device,
                                     .driver = &device->driver,
                                     .compiler = &device->compiler};
    weft_status *status = weft_pool_create(weft_allocator_or_default(NULL), weft_machine_host(), 2, &device->pool);
    if (status == NULL) status = weft_block_store_create(NULL, 1 << 24, &device->scratch);
    bool fine = status == NULL && map_memory(device);
    weft_status_destroy(status);
    return fine;
}

weft_test_device *weft_test_device_create(const char *name, const weft_runtime *behind)
{
    weft_test_device *device = calloc(1, sizeof *device);
    pthread_mutexattr_t recursive;
    if (device == NULL) return NULL;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
    if (fill(device, name, behind)) return device;
    weft_test_device_destroy(device);
    return NULL;
}

void weft_test_device_destroy(weft_test_device *device)
{
    if (device == NULL) return;
    require(device->blocks == NULL, "memory is left");
    require(device->queues == 0, "a queue is left");
    require(device->events == 0, "an event is left");
    if (device->real != NULL) munmap(device->real, MEMORY);
    if (device->seen != NULL) munmap(device->seen, MEMORY);
    weft_block_store_release(device->scratch);
    weft_pool_destroy(device->pool);
    pthread_mutex_destroy(&device->mutex);
    free(device);
}

const weft_runtime *weft_test_device_runtime(const weft_test_device *device)
{
    return &device->runtime;
}

void weft_test_device_fail(weft_test_device *device, size_t calls)
{
    device->calls = 0;
    device->fails_after = calls;
}

size_t weft_test_device_calls(const weft_test_device *device)
{
    return device->calls;
}

size_t weft_test_device_bytes(const weft_test_device *device)
{
    return device->bytes;
}

/* ---- arrays ---- */

typedef struct upload {
    weft_test_device *device;
    void *memory;
    size_t bytes;
} upload;

static void release_upload(void *context)
{
    upload *up = context;
    release(up->device, up->memory, up->bytes);
    free(up);
}

/* Bytes that the elements lie in, and the first of them. */
static size_t span_of(const weft_array *array, char **out_first)
{
    int64_t low, high;
    weft_array_span(array, &low, &high);
    *out_first = (char *)weft_array_data(array) + low;
    return (size_t)(high - low);
}

weft_array *weft_test_device_upload(weft_test_device *device, const weft_array *array)
{
    char *first;
    weft_array *made = NULL;
    upload *up = calloc(1, sizeof *up);
    if (up == NULL) return NULL;
    *up = (upload){device, NULL, span_of(array, &first)};
    weft_status *status = allocate(device, up->bytes, &up->memory);
    if (status != NULL) {
        weft_status_destroy(status);
        free(up);
        return NULL;
    }
    memcpy(real_of(device, up->memory), first, up->bytes);
    char *data = (char *)up->memory + ((char *)weft_array_data(array) - first);
    status = weft_array_wrap_on(NULL, &device->runtime, weft_array_dtype(array), weft_array_rank(array),
                                weft_array_shape(array), weft_array_strides(array), data, release_upload, up, &made);
    if (status != NULL) release_upload(up);
    weft_status_destroy(status);
    return made;
}

bool weft_test_device_download(weft_test_device *device, const weft_array *array, weft_array *original)
{
    char *from, *to;
    size_t bytes = span_of(array, &from);
    if (span_of(original, &to) != bytes) return false;
    memcpy(to, real_of(device, from), bytes);
    return true;
}
