/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../output.h"
#include "json.h"
#include "random.h"
#include "session.h"

/* Runs of a sample, and how long they may take together once there are enough. */
enum { MOST_RUNS = 400, LEAST_RUNS = 7, CLASSES = 4, VERSION = 1, MOST_OPERANDS = 16, MOST_RANK = 24 };
static const double most_ms = 250;

/* ---- samples ---- */

/* Operands of an expression of letters, each extent being that of the letter. */
typedef struct sample {
    const char *text;
    int64_t extents[128];
    size_t count;
    weft_array *operands[MOST_OPERANDS], *result;
} sample;

static weft_status *draw_operand(sample *s, const char *term, size_t rank)
{
    int64_t shape[MOST_RANK];
    for (size_t axis = 0; axis < rank; axis++) shape[axis] = s->extents[(unsigned char)term[axis]];
    return weft_random_create(WEFT_F32, (weft_ints){rank, shape}, 1, s->count, &s->operands[s->count]);
}

static weft_status *draw(sample *s)
{
    for (const char *term = s->text; *term != '-'; s->count++) {
        size_t rank = strcspn(term, ",-");
        WEFT_TRY(draw_operand(s, term, rank));
        term += rank + (term[rank] == ',');
    }
    return NULL;
}

static void finish(sample *s)
{
    for (size_t i = 0; i < s->count; i++) weft_array_release(s->operands[i]);
    weft_array_release(s->result);
}

static weft_status *run_once(weft_executor *executor, sample *s, double *out_ms)
{
    const weft_einsum_options left = {.order = WEFT_EINSUM_LEFT};
    double begin = weft_clock_ms();
    WEFT_TRY(weft_einsum_arrays(executor, s->text, s->count, s->operands, &left, &s->result));
    *out_ms = weft_clock_ms() - begin;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lower quartile: what else the machine does only ever adds to a time. */
static weft_status *time_runs(weft_executor *executor, sample *s, double *out_seconds)
{
    double times[MOST_RUNS], first;
    size_t count = 0;
    WEFT_TRY(run_once(executor, s, &first));
    for (double begin = weft_clock_ms(); count < LEAST_RUNS || (count < MOST_RUNS && weft_clock_ms() - begin < most_ms);
         count++)
        WEFT_TRY(run_once(executor, s, &times[count]));
    qsort(times, count, sizeof *times, compare);
    *out_seconds = times[count / 4] * 1e-3;
    return NULL;
}

static weft_status *measure(weft_executor *executor, sample *s, double *out_seconds)
{
    weft_status *status = draw(s);
    if (status == NULL) status = time_runs(executor, s, out_seconds);
    finish(s);
    return status;
}

/* ---- what is measured ---- */

/* What a step takes that does hardly anything, and a call of one step. */
static weft_status *measure_overhead(weft_executor *executor, double *out_step, double *out_call)
{
    sample one = {.text = "ab,bc->ac"}, ten = {.text = "ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl->al"};
    double seconds;
    for (int c = 'a'; c <= 'l'; c++) one.extents[c] = ten.extents[c] = 2;
    WEFT_TRY(measure(executor, &one, out_call));
    WEFT_TRY(measure(executor, &ten, &seconds));
    *out_step = fmax((seconds - *out_call) / 9, 1e-9);
    return NULL;
}

/* Products that lie in caches: with one extent of a class and two large ones, in each of the three places, and many at
 * once with all three of the class; the mean of the four. */
static weft_status *measure_rate(weft_executor *executor, size_t class, double call, double *out_rate)
{
    static const int64_t least[CLASSES] = {3, 8, 32, 256}, other[CLASSES] = {256, 256, 256, 512},
                         batch[CLASSES] = {2048, 512, 32, 2};
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

/* Bytes of the operands and the result, which are larger than caches: of a step over many short axes in no order that
 * suits it, and of one that goes straight through its memory; the mean of the two. */
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

weft_status *weft_machine_measure(weft_executor *executor, weft_einsum_machine *out_machine)
{
    double call;
    WEFT_TRY(measure_overhead(executor, &out_machine->overhead, &call));
    for (size_t class = 0; class < CLASSES; class ++)
        WEFT_TRY(measure_rate(executor, class, call, &out_machine->rates[class]));
    return measure_bandwidth(executor, &out_machine->bandwidth);
}

void weft_machine_print(const weft_einsum_machine *machine)
{
    static const char *const classes[CLASSES] = {"below 4", "below 16", "below 64", "from 64"};
    for (size_t i = 0; i < CLASSES; i++)
        printf("multiplies/s, smallest extent %-8s %.3g\n", classes[i], machine->rates[i]);
    printf("bytes/s                                %.3g\n", machine->bandwidth);
    printf("seconds of a step                      %.3g\n", machine->overhead);
}

/* ---- files ---- */

static weft_status *print_json(const void *context, FILE *file)
{
    const weft_einsum_machine *m = context;
    fprintf(file, "{\"version\": %d, \"rates\": [%.4g, %.4g, %.4g, %.4g], \"bandwidth\": %.4g, \"overhead\": %.4g}\n",
            VERSION, m->rates[0], m->rates[1], m->rates[2], m->rates[3], m->bandwidth, m->overhead);
    return NULL;
}

weft_status *weft_machine_save(const weft_einsum_machine *machine, const char *path)
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

static weft_status *read_rate(const char *path, const cJSON *item, const char *what, double *out_rate)
{
    return read_number(path, item, what, 1, 1e18, out_rate);
}

static weft_status *read_rates(const char *path, const cJSON *item, double *out_rates)
{
    char room[WEFT_JSON_ROOM], what[32];
    if (!cJSON_IsArray(item))
        return weft_json_refuse(path, "\"rates\" is %s; it must be a list of %d numbers",
                                weft_json_describe(item, room), CLASSES);
    if (cJSON_GetArraySize(item) != CLASSES)
        return weft_json_refuse(path, "the length of \"rates\" is %d; it must be a list of %d numbers",
                                cJSON_GetArraySize(item), CLASSES);
    for (int i = 0; i < CLASSES; i++) {
        snprintf(what, sizeof what, "entry %d of \"rates\"", i);
        WEFT_TRY(read_rate(path, cJSON_GetArrayItem(item, i), what, &out_rates[i]));
    }
    return NULL;
}

static weft_status *check_members(const char *path, const cJSON *root)
{
    static const char *const known[] = {"version", "rates", "bandwidth", "overhead"};
    char room[WEFT_JSON_ROOM];
    const cJSON *item, *version = cJSON_GetObjectItemCaseSensitive(root, "version");
    if (!cJSON_IsNumber(version) || version->valuedouble != VERSION)
        return weft_json_refuse(path, "\"version\" is %s; it must be %d, the only one that is known",
                                weft_json_describe(version, room), VERSION);
    cJSON_ArrayForEach(item, root)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], item->string) != 0) i++;
        if (i == sizeof known / sizeof *known)
            return weft_json_refuse(path, "\"%.40s\" is no member of a machine: version, rates, bandwidth, overhead",
                                    item->string);
    }
    return weft_json_check_members(path, root, sizeof known / sizeof *known, known);
}

static weft_status *read_machine(const char *path, const cJSON *root, weft_einsum_machine *out_machine)
{
    const cJSON *bandwidth = cJSON_GetObjectItemCaseSensitive(root, "bandwidth");
    const cJSON *overhead = cJSON_GetObjectItemCaseSensitive(root, "overhead");
    WEFT_TRY(check_members(path, root));
    WEFT_TRY(read_rates(path, cJSON_GetObjectItemCaseSensitive(root, "rates"), out_machine->rates));
    WEFT_TRY(read_rate(path, bandwidth, "\"bandwidth\"", &out_machine->bandwidth));
    return read_number(path, overhead, "\"overhead\"", 0, 1, &out_machine->overhead);
}

weft_status *weft_machine_load(const char *path, weft_einsum_machine *out_machine)
{
    cJSON *root;
    WEFT_TRY(weft_json_load(path, &root));
    weft_status *status = read_machine(path, root, out_machine);
    cJSON_Delete(root);
    return status;
}
