/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/einsum.h>
#include <weft/ops.h>
#include "../output.h"
#include "json.h"
#include "random.h"
#include "session.h"

/* Limits on the runs of a sample, and on their time together. */
enum { MOST_RUNS = 400, LEAST_RUNS = 7, VERSION = 3, MOST_OPERANDS = 16, MOST_RANK = 24 };
static const double most_ms = 250;

/* ---- samples ---- */

/* Operands of an expression of letters, each extent being that of the letter. */
typedef struct sample {
    weft_executor *executor;
    const char *text;
    int64_t extents[128];
    size_t count;
    weft_array *operands[MOST_OPERANDS], *result;
} sample;

static weft_status *draw(sample *s)
{
    for (const char *term = s->text; *term != '-'; s->count++) {
        int64_t shape[MOST_RANK];
        size_t rank = strcspn(term, ",-");
        for (size_t axis = 0; axis < rank; axis++) shape[axis] = s->extents[(unsigned char)term[axis]];
        WEFT_TRY(weft_random_create(WEFT_F32, (weft_ints){rank, shape}, 1, s->count, &s->operands[s->count]));
        term += rank + (term[rank] == ',');
    }
    return NULL;
}

static weft_status *contract(void *context)
{
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    sample *s = context;
    return weft_einsum_arrays(s->executor, s->text, s->count, s->operands, &left, &s->result);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lower quartile: what else the machine does only ever adds to a time. */
static weft_status *time_runs(weft_status *(*run)(void *), void *context, double *out_seconds)
{
    double times[MOST_RUNS];
    size_t count = 0;
    WEFT_TRY(run(context));
    for (double begin = weft_clock_ms(); count < LEAST_RUNS || (count < MOST_RUNS && weft_clock_ms() - begin < most_ms);
         count++) {
        double before = weft_clock_ms();
        WEFT_TRY(run(context));
        times[count] = weft_clock_ms() - before;
    }
    qsort(times, count, sizeof *times, compare);
    *out_seconds = times[count / 4] * 1e-3;
    return NULL;
}

static weft_status *measure(weft_executor *executor, sample *s, double *out_seconds)
{
    s->executor = executor;
    weft_status *status = draw(s);
    if (status == NULL) status = time_runs(contract, s, out_seconds);
    for (size_t i = 0; i < s->count; i++) weft_array_release(s->operands[i]);
    weft_array_release(s->result);
    return status;
}

/* ---- contractions: what threads do together ---- */

/* The overheads of a step and of a call of one step. */
static weft_status *measure_step(weft_executor *executor, double *out_step, double *out_call)
{
    sample one = {.text = "ab,bc->ac"}, ten = {.text = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl->al"};
    double seconds;
    for (int c = 'a'; c <= 'l'; c++) one.extents[c] = ten.extents[c] = 2;
    WEFT_TRY(measure(executor, &one, out_call));
    WEFT_TRY(measure(executor, &ten, &seconds));
    *out_step = fmax((seconds - *out_call) / 9, 1e-9);
    return NULL;
}

/* Products that fit in caches: with one extent of the class and two large ones, in each of the three places, and a
 * batch with all three of the class; the geometric mean of the four. */
static weft_status *measure_rate(weft_executor *executor, size_t class, double call, double *out_rate)
{
    static const int64_t least[WEFT_MACHINE_RATES] = {3, 8, 32, 256}, other[WEFT_MACHINE_RATES] = {256, 256, 256, 512},
                         batch[WEFT_MACHINE_RATES] = {2048, 512, 32, 2};
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        int64_t l = least[class], o = other[class];
        sample s = {.text = "bmk,bkn->bmn"};
        double seconds;
        s.extents['b'] = i == 3 ? batch[class] : 1;
        s.extents['m'] = i == 0 || i == 3 ? l : o;
        s.extents['n'] = i == 1 || i == 3 ? l : o;
        s.extents['k'] = i == 2 || i == 3 ? l : o;
        WEFT_TRY(measure(executor, &s, &seconds));
        double work = (double)(s.extents['b'] * s.extents['m'] * s.extents['n'] * s.extents['k']);
        sum += log2(work / fmax(seconds - call, 0.1 * seconds));
    }
    *out_rate = exp2(sum / 4);
    return NULL;
}

/* Bytes per second of operands and results larger than caches: the geometric mean of a step over many short axes in an
 * unfavourable order and of one that reads its memory in order. */
static weft_status *measure_bandwidth(weft_executor *executor, double *out_bandwidth)
{
    sample scattered = {.text = "abcdefghijklmnopqrstuv,cimv->abdefghjklnopqrstu"};
    sample straight = {.text = "ij,i->ij", .extents = {['i'] = 1 << 12, ['j'] = 1 << 10}};
    double first, second;
    for (int c = 'a'; c <= 'v'; c++) scattered.extents[c] = 2;
    WEFT_TRY(measure(executor, &scattered, &first));
    WEFT_TRY(measure(executor, &straight, &second));
    double bytes = (exp2(22) + exp2(18)) * sizeof(float), more = 2 * exp2(22) * sizeof(float);
    *out_bandwidth = sqrt(bytes / first * (more / second));
    return NULL;
}

/* ---- kernels and sorting: what one core does ---- */

/* A program of one input and one output, of `count` elements of f32. */
typedef struct loop {
    weft_executor *executor;
    weft_program *program;
    weft_array *x, *y;
} loop;

typedef weft_tensor (*loop_body)(weft_tensor x, int length);

/* `length` multiplications and as many additions of each element. */
static weft_tensor compute(weft_tensor x, int length)
{
    weft_tensor y = x;
    for (int i = 0; i < length; i++) y = weft_add(weft_mul(y, x), x);
    return y;
}

static weft_tensor move(weft_tensor x, int length)
{
    (void)length;
    return weft_neg(x);
}

static weft_tensor sort(weft_tensor x, int length)
{
    (void)length;
    return weft_sort(x, 0, false);
}

static weft_status *run_loop(void *context)
{
    loop *l = context;
    return weft_executor_run(l->executor, l->program,
                             &(weft_run){.input_count = 1, .inputs = &l->x, .output_count = 1, .outputs = &l->y});
}

static weft_status *measure_loop(weft_executor *executor, loop_body body, int64_t count, int length,
                                 double *out_seconds)
{
    weft_graph *graph;
    loop l = {.executor = executor};
    WEFT_TRY(weft_graph_create(NULL, &graph));
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(count));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(body(x, length)), NULL, &l.program);
    weft_graph_destroy(graph);
    if (status == NULL) status = weft_random_create(WEFT_F32, WEFT_INTS(count), 1, 0, &l.x);
    if (status == NULL) status = time_runs(run_loop, &l, out_seconds);
    weft_array_release(l.x);
    weft_array_release(l.y);
    weft_program_release(l.program);
    return status;
}

/* Net of the overhead of a call. */
static weft_status *measure_core(weft_executor *one, weft_machine *machine)
{
    enum { COMPUTED = 1 << 13, LENGTH = 64, MOVED = 1 << 14, SORTED = 1 << 16 };
    double call, computed, moved, sorted;
    WEFT_TRY(measure_loop(one, move, 1, 0, &call));
    WEFT_TRY(measure_loop(one, compute, COMPUTED, LENGTH, &computed));
    WEFT_TRY(measure_loop(one, move, MOVED, 0, &moved));
    WEFT_TRY(measure_loop(one, sort, SORTED, 0, &sorted));
    machine->operations = 2.0 * LENGTH * COMPUTED / fmax(computed - call, 0.1 * computed);
    machine->cache_bandwidth = 2.0 * sizeof(float) * MOVED / fmax(moved - call, 0.1 * moved);
    machine->sort_rate = SORTED / fmax(sorted - call, 0.1 * sorted);
    return NULL;
}

/* The overhead of a region: the time of little work on all threads, less its share of the time on one. */
static weft_status *measure_region(weft_executor *executor, weft_executor *one, weft_machine *machine)
{
    enum { COUNT = 1 << 16, LENGTH = 4 };
    double alone, together;
    if (machine->threads == 1) return NULL;
    WEFT_TRY(measure_loop(one, compute, COUNT, LENGTH, &alone));
    WEFT_TRY(measure_loop(executor, compute, COUNT, LENGTH, &together));
    machine->fork_join_seconds = fmax(together - alone / machine->threads, 1e-7);
    return NULL;
}

static weft_status *measure_kernels(weft_executor *executor, weft_machine *machine)
{
    weft_executor *one;
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &one));
    weft_status *status = measure_core(one, machine);
    if (status == NULL) status = measure_region(executor, one, machine);
    weft_executor_destroy(one);
    return status;
}

weft_status *weft_measure(unsigned threads, weft_machine *out_machine)
{
    weft_executor *executor;
    double call;
    *out_machine = *weft_machine_host();
    WEFT_TRY(weft_executor_create_standard(&(weft_executor_options){.threads = threads}, &executor));
    out_machine->threads = weft_executor_threads(executor);
    weft_status *status = weft_executor_register_extension(executor, weft_einsum_extension());
    if (status == NULL) status = measure_step(executor, &out_machine->dispatch_seconds, &call);
    for (size_t class = 0; class < WEFT_MACHINE_RATES && status == NULL; class ++)
        status = measure_rate(executor, class, call, &out_machine->product_rates[class]);
    if (status == NULL) status = measure_bandwidth(executor, &out_machine->bandwidth);
    if (status == NULL) status = measure_kernels(executor, out_machine);
    weft_executor_destroy(executor);
    return status;
}

void weft_measure_print(const weft_machine *machine)
{
    static const char *const classes[WEFT_MACHINE_RATES] = {"below 4", "below 16", "below 64", "from 64"};
    printf("one core: operations/s                 %.3g\n", machine->operations);
    printf("one core: bytes/s through caches       %.3g\n", machine->cache_bandwidth);
    printf("one core: elements/s sorted            %.3g\n", machine->sort_rate);
    printf("threads                                %u\n", machine->threads);
    for (size_t i = 0; i < WEFT_MACHINE_RATES; i++)
        printf("multiplies/s, smallest extent %-8s %.3g\n", classes[i], machine->product_rates[i]);
    printf("bytes/s of memory                      %.3g\n", machine->bandwidth);
    printf("seconds to dispatch a step             %.3g\n", machine->dispatch_seconds);
    printf("seconds to fork and join threads       %.3g\n", machine->fork_join_seconds);
}

/* ---- files ---- */

/* Members of a file that are one number each. */
static const struct {
    const char *name;
    size_t offset;
    double least, most;
} numbers[] = {
    {"operations", offsetof(weft_machine, operations), 1, 1e18},
    {"cache_bandwidth", offsetof(weft_machine, cache_bandwidth), 1, 1e18},
    {"sort_rate", offsetof(weft_machine, sort_rate), 1, 1e18},
    {"bandwidth", offsetof(weft_machine, bandwidth), 1, 1e18},
    {"dispatch_seconds", offsetof(weft_machine, dispatch_seconds), 0, 1},
    {"fork_join_seconds", offsetof(weft_machine, fork_join_seconds), 0, 1},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double *number_of(weft_machine *machine, size_t i)
{
    return (double *)((char *)machine + numbers[i].offset);
}

static weft_status *print_json(const void *context, FILE *file)
{
    weft_machine m = *(const weft_machine *)context;
    fprintf(file, "{\"version\": %d, \"threads\": %u, \"product_rates\": [%.4g, %.4g, %.4g, %.4g]", VERSION, m.threads,
            m.product_rates[0], m.product_rates[1], m.product_rates[2], m.product_rates[3]);
    for (size_t i = 0; i < NUMBERS; i++) fprintf(file, ", \"%s\": %.4g", numbers[i].name, *number_of(&m, i));
    fprintf(file, "}\n");
    return NULL;
}

weft_status *weft_measure_save(const weft_machine *machine, const char *path)
{
    return weft_output_write(path, print_json, machine);
}

static weft_status *read_number(const char *path, const cJSON *item, const char *what, double least, double most,
                                double *out_number)
{
    char room[WEFT_JSON_ROOM];
    if (cJSON_IsNumber(item) && item->valuedouble >= least && item->valuedouble <= most) {
        *out_number = item->valuedouble;
        return NULL;
    }
    return weft_json_refuse(path, "%s is %s; it must be a number from %g to %g", what, weft_json_describe(item, room),
                            least, most);
}

static weft_status *read_rates(const char *path, const cJSON *item, double *out_rates)
{
    char room[WEFT_JSON_ROOM], what[32];
    if (!cJSON_IsArray(item))
        return weft_json_refuse(path, "\"product_rates\" is %s; it must be a list of %d numbers",
                                weft_json_describe(item, room), WEFT_MACHINE_RATES);
    if (cJSON_GetArraySize(item) != WEFT_MACHINE_RATES)
        return weft_json_refuse(path, "the length of \"product_rates\" is %d; it must be a list of %d numbers",
                                cJSON_GetArraySize(item), WEFT_MACHINE_RATES);
    for (int i = 0; i < WEFT_MACHINE_RATES; i++) {
        snprintf(what, sizeof what, "entry %d of \"product_rates\"", i);
        WEFT_TRY(read_number(path, cJSON_GetArrayItem(item, i), what, 1, 1e18, &out_rates[i]));
    }
    return NULL;
}

static weft_status *check_members(const char *path, const cJSON *root)
{
    const char *known[NUMBERS + 3] = {"version", "threads", "product_rates"};
    char room[WEFT_JSON_ROOM];
    const cJSON *item, *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    for (size_t i = 0; i < NUMBERS; i++) known[i + 3] = numbers[i].name;
    if (!cJSON_IsNumber(version) || version->valuedouble != VERSION)
        return weft_json_refuse(path, "\"version\" is %s; it must be %d, the only one that is known",
                                weft_json_describe(version, room), VERSION);
    cJSON_ArrayForEach(item, root)
    {
        size_t i = 0;
        while (i < NUMBERS + 3 && strcmp(known[i], item->string) != 0) i++;
        if (i == NUMBERS + 3)
            return weft_json_refuse(path, "\"%.40s\" is no member of a machine, as weft info --measure writes one",
                                    item->string);
    }
    return weft_json_check_members(path, root, NUMBERS + 3, known);
}

static weft_status *read_machine(const char *path, const cJSON *root, weft_machine *machine)
{
    char name[32], room[WEFT_JSON_ROOM];
    WEFT_TRY(check_members(path, root));
    WEFT_TRY(read_rates(path, cJSON_GetObjectItemCaseSensitive(root, "product_rates"), machine->product_rates));
    const cJSON *threads = cJSON_GetObjectItemCaseSensitive(root, "threads");
    bool fits = cJSON_IsNumber(threads) && threads->valuedouble >= 1 && threads->valuedouble <= WEFT_MAX_THREADS;
    if (!fits || threads->valuedouble != floor(threads->valuedouble))
        return weft_json_refuse(path, "\"threads\" is %s; it must be an integer from 1 to %d",
                                weft_json_describe(threads, room), WEFT_MAX_THREADS);
    machine->threads = (uint32_t)threads->valuedouble;
    for (size_t i = 0; i < NUMBERS; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, numbers[i].name);
        snprintf(name, sizeof name, "\"%s\"", numbers[i].name);
        WEFT_TRY(read_number(path, item, name, numbers[i].least, numbers[i].most, number_of(machine, i)));
    }
    return NULL;
}

weft_status *weft_measure_load(const char *path, weft_machine *out_machine)
{
    cJSON *root;
    *out_machine = *weft_machine_host();
    WEFT_TRY(weft_json_load(path, &root));
    weft_status *status = read_machine(path, root, out_machine);
    cJSON_Delete(root);
    return status;
}

weft_status *weft_measure_given(const weft_arguments *arguments, weft_machine *memory, const weft_machine **out_machine)
{
    const char *path = weft_arguments_text(arguments, "--machine", NULL);
    *out_machine = path == NULL ? NULL : memory;
    return path == NULL ? NULL : weft_measure_load(path, memory);
}
