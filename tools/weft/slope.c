/* SPDX-License-Identifier: Apache-2.0 */
#include "slope.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/gradient.h>
#include "difference.h"
#include "random.h"
#include "vector.h"

enum {
    ATTEMPTS = 9,
    NAME_SIZE = 64,
    ROUNDINGS = 32 /* so many times what rounding does to differences may be in what is compared */
};

/* Where points are drawn from, in turn: on both sides of the kinks at 0, and inside the domains of log and asin, and of
 * acosh. */
static const double ranges[][2] = {{-2, 2}, {0.1, 0.9}, {1.1, 2.5}};

/* The derivatives of one order. */
typedef struct level {
    weft_slope_outputs outputs;
    size_t *starts;      /* of the numbers of each output among those of all; one more, the count of these */
    weft_tensor *slopes; /* jvp of each output, vjp of each input */
    weft_program *value_program, *slope_program;
    weft_array **values, **slope_arrays;
    weft_differences found; /* of all numbers */
    double *left, *right;   /* one-sided differences */
    double *sizes; /* of each output, the largest of its values */
} level;

/* What was found of an output and an input; the first problem. */
typedef struct verdict {
    double jvp, vjp; /* the largest relative differences */
    size_t count, skipped, kinks;
    char problem[128]; /* "": none */
} verdict;

/* ---- names ---- */

static void name_tangent(size_t input, char *out_name)
{
    snprintf(out_name, NAME_SIZE, "check.tangent.%zu", input);
}

static void name_cotangent(size_t order, size_t output, char *out_name)
{
    snprintf(out_name, NAME_SIZE, "check.cotangent.%zu.%zu", order, output);
}

/* "gradient of x", "gradient 2 of x"; to be freed, or NULL. */
static char *name_gradient(size_t order, const char *input)
{
    size_t size = strlen(input) + 64;
    char number[24] = "", *name = malloc(size);
    if (order > 1) snprintf(number, sizeof number, " %zu", order);
    if (name != NULL) snprintf(name, size, "gradient%s of %s", number, input);
    return name;
}

/* ---- points ---- */

static weft_array *find_cotangent(const weft_slope_check *check, size_t order, size_t output)
{
    char name[NAME_SIZE];
    name_cotangent(order, output, name);
    return weft_setting_find(&check->setting, name);
}

/* Sets the tangent of one input, and zeros for all others. */
static void set_tangent(weft_slope_check *check, size_t input)
{
    char name[NAME_SIZE];
    for (size_t i = 0; i < check->input_count; i++) {
        name_tangent(i, name);
        weft_vector_write(weft_setting_find(&check->setting, name), i == input ? check->inputs[i].direction : NULL);
    }
}

/* Moves the input by so much of its direction. */
static weft_status *move(weft_slope_check *check, size_t input, double step)
{
    weft_slope_input *x = &check->inputs[input];
    double *moved = calloc(x->size + 1, sizeof *moved);
    if (moved == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < x->size; i++) moved[i] = x->point[i] + step * x->direction[i];
    weft_vector_write(weft_setting_find(&check->setting, x->name), moved);
    free(moved);
    return NULL;
}

/* Draws an input, unless it is given, and a direction of its size; both are what its dtype can hold. */
static void draw_input(weft_slope_check *check, size_t input, const double *range)
{
    weft_slope_input *x = &check->inputs[input];
    weft_array *array = weft_setting_find(&check->setting, x->name);
    if (!x->given) {
        weft_random_fill(&check->seed, range[0], range[1], x->size, x->point);
        weft_vector_write(array, x->point);
    }
    weft_vector_read(array, x->point);
    double largest = weft_vector_largest(x->size, x->point), scale = largest > 0 ? largest : 1;
    weft_random_fill(&check->seed, -scale, scale, x->size, x->direction);
}

static weft_status *draw_cotangent(weft_slope_check *check, weft_array *array)
{
    size_t size = weft_vector_size(array);
    double *numbers = calloc(size + 1, sizeof *numbers);
    if (numbers == NULL) return weft_status_out_of_memory();
    weft_random_fill(&check->seed, -1, 1, size, numbers);
    weft_vector_write(array, numbers);
    free(numbers);
    return NULL;
}

static weft_status *draw_others(weft_slope_check *check)
{
    for (size_t i = 0; i < check->drawn_count; i++) {
        const weft_array *old = weft_setting_find(&check->setting, check->drawn[i]);
        weft_array *array;
        weft_ints shape = {weft_array_rank(old), weft_array_shape(old)};
        WEFT_TRY(weft_random_create(weft_array_dtype(old), shape, 1, check->seed++, &array));
        WEFT_TRY(weft_setting_put(&check->setting, check->drawn[i], array));
    }
    return NULL;
}

static weft_status *draw_point(weft_slope_check *check, size_t order, const level *l, const double *range)
{
    WEFT_TRY(draw_others(check));
    for (size_t i = 0; i < check->input_count; i++) draw_input(check, i, range);
    for (size_t below = 1; below < order; below++)
        for (size_t k = 0; find_cotangent(check, below, k) != NULL; k++)
            WEFT_TRY(draw_cotangent(check, find_cotangent(check, below, k)));
    for (size_t k = 0; k < l->outputs.count; k++) weft_vector_write(find_cotangent(check, order, k), NULL);
    return NULL;
}

/* ---- differences ---- */

typedef struct evaluation {
    weft_slope_check *check;
    const level *level;
    size_t input;
} evaluation;

static weft_status *evaluate(void *context, double step, double *out_values)
{
    const evaluation *e = context;
    WEFT_TRY(move(e->check, e->input, step));
    WEFT_TRY(weft_setting_run(&e->check->setting, e->level->value_program, e->level->values));
    for (size_t k = 0; k < e->level->outputs.count; k++)
        weft_vector_read(e->level->values[k], out_values + e->level->starts[k]);
    return NULL;
}

static double find_tolerance(const weft_slope_check *check)
{
    return fmin(0.25, 100 * sqrt(check->rounding));
}

/* By how much a derivative of an output may be wrong: relative to the largest one, and where all are small, which
 * differences cannot tell from zero, to the values. */
static double find_slack(const weft_slope_check *check, const level *l, size_t output)
{
    double tolerance = find_tolerance(check), largest = 0;
    for (size_t i = l->starts[output]; i < l->starts[output + 1]; i++)
        if (l->found.errors[i] < fabs(l->found.slopes[i]) / 100) largest = fmax(largest, fabs(l->found.slopes[i]));
    return tolerance * (largest + tolerance * l->sizes[output]);
}

/* By how much derivative number `i` may be wrong beside that: what rounding of the values does to its difference. It
 * is all there is where gradients are zero, or nearly so, because large terms cancel. */
static double find_floor(const level *l, size_t i)
{
    return ROUNDINGS * l->found.roundings[i] / l->found.steps[i];
}

/* Whether the difference is so good that it can tell. Values that change from step to step without end look like
 * rounding, but their differences are not those of rounding of what the output has. */
static bool converges(const level *l, size_t i, double slack)
{
    return l->found.errors[i] <= slack / 10;
}

static size_t count_converging(const weft_slope_check *check, const level *l, size_t output)
{
    size_t count = 0;
    double slack = find_slack(check, l, output);
    for (size_t i = l->starts[output]; i < l->starts[output + 1]; i++) count += converges(l, i, slack);
    return count;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What rounding shows of a number by chance is that of half of those of the output that it shows at all, at least. */
static weft_status *level_roundings(size_t size, double *roundings)
{
    double *sorted = calloc(size + 1, sizeof *sorted);
    if (sorted == NULL) return weft_status_out_of_memory();
    memcpy(sorted, roundings, size * sizeof *sorted);
    qsort(sorted, size, sizeof *sorted, compare_numbers);
    size_t zeros = 0;
    while (zeros < size && sorted[zeros] == 0) zeros++;
    for (size_t i = 0; i < size && zeros < size; i++)
        roundings[i] = fmax(roundings[i], sorted[zeros + (size - zeros) / 2]);
    free(sorted);
    return NULL;
}

static weft_status *find_differences(weft_slope_check *check, level *l, size_t input)
{
    size_t size = l->starts[l->outputs.count];
    evaluation e = {check, l, input};
    WEFT_TRY(evaluate(&e, 0, l->found.slopes));
    for (size_t k = 0; k < l->outputs.count; k++)
        l->sizes[k] = weft_vector_largest(l->starts[k + 1] - l->starts[k], l->found.slopes + l->starts[k]);
    WEFT_TRY(weft_difference_find(evaluate, &e, size, check->rounding, &l->found));
    for (size_t k = 0; k < l->outputs.count; k++)
        WEFT_TRY(level_roundings(l->starts[k + 1] - l->starts[k], l->found.roundings + l->starts[k]));
    WEFT_TRY(weft_difference_find_sides(evaluate, &e, size, check->rounding, l->left, l->right));
    return move(check, input, 0);
}

/* Draws points until half of all differences converge, a few times; what does not then is skipped. */
static weft_status *find_point(weft_slope_check *check, size_t order, level *l, size_t input)
{
    size_t size = l->starts[l->outputs.count];
    for (size_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        size_t converging = 0;
        WEFT_TRY(draw_point(check, order, l, ranges[attempt % (sizeof ranges / sizeof *ranges)]));
        WEFT_TRY(find_differences(check, l, input));
        for (size_t k = 0; k < l->outputs.count; k++) converging += count_converging(check, l, k);
        check->is_smooth = converging == size;
        if (2 * converging >= size) return NULL;
    }
    return NULL;
}

/* ---- verdicts ---- */

/* What rounding leaves of terms that cancel: these are about 1, or as large as the values. */
static double find_noise(const weft_slope_check *check, double largest)
{
    return 100 * check->rounding * (1 + largest);
}

/* What rounding of the values does to one-sided differences. */
static double find_side_floor(const weft_slope_check *check, const level *l, size_t i)
{
    return ROUNDINGS * l->found.roundings[i] / weft_difference_side_step(check->rounding);
}

/* Whether the differences to both sides do not agree. */
static bool is_kink(const level *l, size_t i, double slack)
{
    return fabs(l->left[i] - l->right[i]) > 4 * slack;
}

/* Whether the derivative is one of the two, or in between. */
static bool is_within(const level *l, size_t i, double derivative, double slack)
{
    return derivative >= fmin(l->left[i], l->right[i]) - slack && derivative <= fmax(l->left[i], l->right[i]) + slack;
}

/* Of number `i` of all, `number` of its output, which differs from the difference. */
static void report_jvp(const level *l, size_t i, size_t number, double derivative, double slack, verdict *found)
{
    bool kink = is_kink(l, i, slack);
    if (kink && is_within(l, i, derivative, slack)) {
        found->kinks++;
        return;
    }
    if (found->problem[0] != 0) return;
    if (kink)
        snprintf(found->problem, sizeof found->problem,
                 "number %zu of jvp is %.9g, one-sided differences give %.9g and %.9g", number, derivative, l->left[i],
                 l->right[i]);
    else
        snprintf(found->problem, sizeof found->problem, "number %zu of jvp is %.9g, differences give %.9g", number,
                 derivative, l->found.slopes[i]);
}

static void compare_jvp(const weft_slope_check *check, const level *l, size_t output, const double *jvp, verdict *found)
{
    double slack = find_slack(check, l, output), noise = find_noise(check, l->sizes[output]);
    size_t start = l->starts[output], size = l->starts[output + 1] - start;
    for (size_t i = 0; i < size; i++) {
        double difference = fabs(jvp[i] - l->found.slopes[start + i]);
        double rest = noise + find_floor(l, start + i), sides = noise + find_side_floor(check, l, start + i);
        found->count++;
        if (!converges(l, start + i, slack)) {
            found->skipped++;
        } else if (!(difference <= slack + rest)) {
            report_jvp(l, start + i, i, jvp[i], slack + sides, found);
        } else if (difference > rest) {
            found->jvp = fmax(found->jvp, difference / slack * find_tolerance(check));
        }
    }
}

/* <cotangent, jvp> = <vjp, tangent>, except for rounding of terms that cancel. */
static void compare_vjp(const weft_slope_check *check, const level *l, const weft_slope_input *x, size_t output,
                        const double *cotangent, const double *jvp, const double *vjp, verdict *found)
{
    size_t start = l->starts[output], size = l->starts[output + 1] - start;
    double left = weft_vector_dot(size, cotangent, jvp), right = weft_vector_dot(x->size, vjp, x->direction);
    double scale = 0, tolerance = fmin(0.1, 1e5 * check->rounding), noise = find_noise(check, l->sizes[output]);
    for (size_t i = 0; i < size; i++) {
        scale += fabs(cotangent[i] * jvp[i]);
        noise += fabs(cotangent[i]) * find_floor(l, start + i);
    }
    for (size_t i = 0; i < x->size; i++) scale += fabs(vjp[i] * x->direction[i]);
    double difference = fabs(left - right);
    if (!check->is_smooth && !isfinite(difference)) return; /* nor are all values */
    if (difference <= tolerance * scale + noise) found->vjp = fmax(found->vjp, scale == 0 ? 0 : difference / scale);
    else if (found->problem[0] == 0)
        snprintf(found->problem, sizeof found->problem, "<cotangent, jvp> is %.15g, <vjp, tangent> %.15g", left, right);
}

/* Of one output, whose cotangent alone is not zero. */
static weft_status *compare(weft_slope_check *check, size_t order, level *l, size_t input, size_t output,
                            verdict *found)
{
    weft_slope_input *x = &check->inputs[input];
    size_t size = l->starts[output + 1] - l->starts[output];
    weft_array *cotangent = find_cotangent(check, order, output);
    double *memory = calloc(2 * size + x->size + 1, sizeof *memory);
    if (memory == NULL) return weft_status_out_of_memory();
    weft_status *status = draw_cotangent(check, cotangent);
    if (status == NULL) status = weft_setting_run(&check->setting, l->slope_program, l->slope_arrays);
    if (status == NULL) {
        double *jvp = memory + size, *vjp = memory + 2 * size;
        weft_vector_read(cotangent, memory);
        weft_vector_read(l->slope_arrays[output], jvp);
        weft_vector_read(l->slope_arrays[l->outputs.count + input], vjp);
        compare_jvp(check, l, output, jvp, found);
        compare_vjp(check, l, x, output, memory, jvp, vjp, found);
    }
    weft_vector_write(cotangent, NULL);
    free(memory);
    return status;
}

static void print(weft_slope_check *check, const level *l, size_t input, size_t output, const verdict *found)
{
    check->pairs++;
    check->wrong += found->problem[0] != 0;
    printf("%s by %s: ", l->outputs.names[output], check->inputs[input].name);
    if (found->problem[0] != 0) printf("wrong: %s", found->problem);
    else if (found->skipped == found->count && found->count > 0) printf("skipped: differences converge nowhere");
    else printf("jvp %.2g, vjp %.2g", found->jvp, found->vjp);
    size_t skipped = found->skipped < found->count ? found->skipped : 0;
    if (skipped > 0) printf(" (%zu of %zu numbers skipped)", skipped, found->count);
    if (found->kinks > 0) printf(" (%zu of %zu numbers at a kink)", found->kinks, found->count);
    printf("\n");
}

static weft_status *check_input(weft_slope_check *check, size_t order, level *l, size_t input)
{
    verdict *verdicts = calloc(l->outputs.count, sizeof *verdicts);
    weft_status *status = verdicts == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t point = 0; point < check->points && status == NULL; point++) {
        status = find_point(check, order, l, input);
        set_tangent(check, input);
        for (size_t k = 0; k < l->outputs.count && status == NULL; k++)
            status = compare(check, order, l, input, k, &verdicts[k]);
    }
    for (size_t k = 0; k < l->outputs.count && status == NULL; k++) print(check, l, input, k, &verdicts[k]);
    free(verdicts);
    return status;
}

/* ---- levels ---- */

/* Traces a cotangent for each output, and makes the array of it. */
static weft_status *add_cotangents(weft_slope_check *check, size_t order, level *l, weft_tensor *out_cotangents)
{
    for (size_t k = 0; k < l->outputs.count; k++) {
        char name[NAME_SIZE];
        weft_array *array;
        weft_tensor output = l->outputs.tensors[k];
        name_cotangent(order, k, name);
        out_cotangents[k] = weft_input(check->graph, name, weft_tensor_dtype(output), weft_tensor_shape(output));
        WEFT_TRY(weft_setting_create_array(&check->setting, l->value_program, k, &array));
        l->starts[k + 1] = l->starts[k] + weft_vector_size(array);
        WEFT_TRY(weft_setting_put(&check->setting, name, array));
    }
    return NULL;
}

static weft_status *trace(weft_slope_check *check, size_t order, level *l)
{
    size_t count = l->outputs.count, inputs = check->input_count;
    weft_tensor *tensors = calloc(count + 2 * inputs, sizeof *tensors), *wrt = tensors + count,
                *tangents = wrt + inputs;
    if (tensors == NULL) return weft_status_out_of_memory();
    weft_status *status =
        weft_compile(check->graph, (weft_tensors){count, l->outputs.tensors}, NULL, &l->value_program);
    if (status == NULL) status = add_cotangents(check, order, l, tensors);
    for (size_t i = 0; i < inputs; i++) {
        wrt[i] = check->inputs[i].tensor;
        tangents[i] = check->inputs[i].tangent;
    }
    weft_tensors outputs = {count, l->outputs.tensors}, by = {inputs, wrt};
    if (status == NULL) {
        weft_jvp(outputs, by, (weft_tensors){inputs, tangents}, l->slopes);
        weft_vjp(outputs, (weft_tensors){count, tensors}, by, l->slopes + count);
        status = weft_compile(check->graph, (weft_tensors){count + inputs, l->slopes}, NULL, &l->slope_program);
    }
    free(tensors);
    return status;
}

static weft_status *level_init(level *l, const weft_slope_check *check, weft_slope_outputs outputs)
{
    *l = (level){.outputs = outputs,
                 .starts = calloc(outputs.count + 1, sizeof *l->starts),
                 .sizes = calloc(outputs.count + 1, sizeof *l->sizes),
                 .slopes = calloc(outputs.count + check->input_count, sizeof *l->slopes),
                 .values = calloc(outputs.count, sizeof *l->values),
                 .slope_arrays = calloc(outputs.count + check->input_count, sizeof *l->slope_arrays)};
    bool complete = l->starts != NULL && l->sizes != NULL && l->slopes != NULL;
    return complete && l->values != NULL && l->slope_arrays != NULL ? NULL : weft_status_out_of_memory();
}

static void release_all(weft_array **arrays, size_t count)
{
    for (size_t i = 0; i < count && arrays != NULL; i++) weft_array_release(arrays[i]);
    free(arrays);
}

static void level_finish(level *l, const weft_slope_check *check)
{
    release_all(l->values, l->outputs.count);
    release_all(l->slope_arrays, l->outputs.count + check->input_count);
    weft_program_release(l->value_program);
    weft_program_release(l->slope_program);
    free(l->starts);
    free(l->sizes);
    free(l->slopes);
    free(l->found.slopes);
    free(l->found.errors);
    free(l->found.roundings);
    free(l->found.steps);
    free(l->left);
    free(l->right);
}

static weft_status *check_level(weft_slope_check *check, size_t order, level *l)
{
    WEFT_TRY(trace(check, order, l));
    size_t size = l->starts[l->outputs.count];
    double **const arrays[] = {&l->found.slopes, &l->found.errors, &l->found.roundings,
                               &l->found.steps,  &l->left,         &l->right};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc(size + 1, sizeof **arrays[i]);
        if (*arrays[i] == NULL) return weft_status_out_of_memory();
    }
    for (size_t i = 0; i < check->input_count; i++) WEFT_TRY(check_input(check, order, l, i));
    return NULL;
}

static weft_status *check_outputs(weft_slope_check *check, size_t order, weft_slope_outputs outputs);

/* The gradients of one order are the outputs of the next. */
static weft_status *check_next(weft_slope_check *check, size_t order, const level *l)
{
    char **names = calloc(check->input_count, sizeof *names);
    weft_status *status = names == NULL ? weft_status_out_of_memory() : NULL;
    for (size_t i = 0; i < check->input_count && status == NULL; i++) {
        names[i] = name_gradient(order, check->inputs[i].name);
        if (names[i] == NULL) status = weft_status_out_of_memory();
    }
    if (status == NULL)
        status = check_outputs(
            check, order + 1,
            (weft_slope_outputs){check->input_count, l->slopes + l->outputs.count, (const char *const *)names});
    for (size_t i = 0; names != NULL && i < check->input_count; i++) free(names[i]);
    free(names);
    return status;
}

static weft_status *check_outputs(weft_slope_check *check, size_t order, weft_slope_outputs outputs)
{
    level l;
    weft_status *status = level_init(&l, check, outputs);
    if (status == NULL) status = check_level(check, order, &l);
    if (status == NULL && order < check->order) status = check_next(check, order, &l);
    level_finish(&l, check);
    return status;
}

weft_status *weft_slope_check_outputs(weft_slope_check *check, weft_slope_outputs outputs)
{
    return check_outputs(check, 1, outputs);
}
