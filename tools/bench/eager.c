/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls of eager arrays take. weft-bench-eager reads the name of a case a line and answers with the nanoseconds of
 * the processor that one repetition takes, and with a sum of its result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/eager.h>
#include <weft/weft.h>

enum { BATCH = 32, WIDE = 64, HIDDEN = 128, CLASSES = 10, LONG = 1000, LINKS = 1000 };

#define SECONDS 0.2 /* of a sample */

static weft_executor *executor;
static weft_eager *eager;
static weft_eager_array *two[2], *four[2], *many[2], *squares[2], *batch, *wanted, *first, *second;

static void need(weft_status *status)
{
    if (status == NULL) return;
    fprintf(stderr, "%s: %s\n", weft_status_where(status), weft_status_message(status));
    exit(1);
}

static double processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The numbers of all contestants: sines of their position, so that none is special. */
static weft_eager_array *fill(weft_ints shape, double scale)
{
    weft_array *array;
    need(weft_array_create(NULL, WEFT_F32, shape.count, shape.items, &array));
    float *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) data[i] = (float)(scale * sin((double)i + 1));
    weft_eager_array *made = weft_eager_from(eager, array);
    weft_array_release(array);
    return made;
}

/* ---- cases: a value that was computed, to be released ---- */

static weft_eager_array *look_at(weft_eager_array *x)
{
    weft_array *value;
    need(weft_eager_value(eager, x, &value));
    return x;
}

static weft_eager_array *product_2(void)
{
    return look_at(weft_eager_apply(weft_matmul, two[0], two[1]));
}

static weft_eager_array *add_4(void)
{
    return look_at(weft_eager_apply(weft_add, four[0], four[1]));
}

static weft_eager_array *add_1000(void)
{
    return look_at(weft_eager_apply(weft_add, many[0], many[1]));
}

static weft_eager_array *product_64(void)
{
    return look_at(weft_eager_apply(weft_matmul, squares[0], squares[1]));
}

/* x = 0.999 x + y, 500 times, on a thousand numbers. */
static weft_eager_array *chain_1000(void)
{
    weft_eager_array *x = weft_eager_retain(many[0]);
    for (int i = 0; i < LINKS / 2; i++) {
        weft_eager_assign(&x, weft_eager_apply(weft_mul, x, 0.999));
        weft_eager_assign(&x, weft_eager_apply(weft_add, x, many[1]));
    }
    return look_at(x);
}

/* One step of descent of a network of two layers. */
static weft_eager_array *network(void)
{
    weft_eager_array *gradients[2];
    weft_eager_scope scope = weft_eager_scope_begin(eager);
    weft_eager_tape_begin(eager, WEFT_EAGER_ARRAYS(first, second));
    weft_eager_array *hidden = weft_eager_apply(weft_relu, weft_eager_apply(weft_matmul, batch, first));
    weft_eager_array *away = weft_eager_apply(weft_sub, weft_eager_apply(weft_matmul, hidden, second), wanted);
    weft_eager_array *loss =
        weft_eager_apply(weft_mean, weft_eager_apply(weft_mul, away, away), WEFT_INTS(0, 1), false);
    weft_eager_gradient(eager, loss, WEFT_EAGER_ARRAYS(first, second), gradients);
    weft_eager_tape_end(eager);
    weft_eager_release(hidden);
    weft_eager_release(away);
    for (int i = 0; i < 2; i++) {
        weft_eager_array **weights = i == 0 ? &first : &second;
        weft_eager_array *step = weft_eager_apply(weft_mul, gradients[i], 0.01);
        weft_eager_assign(weights, weft_eager_retain(weft_eager_apply(weft_sub, *weights, step)));
        weft_eager_release(step);
        weft_eager_release(gradients[i]);
    }
    need(weft_eager_evaluate(eager, WEFT_EAGER_ARRAYS(loss, first, second)));
    weft_eager_retain(loss);
    weft_eager_scope_end(eager, scope);
    return loss;
}

static const struct {
    const char *name;
    weft_eager_array *(*run)(void);
} cases[] = {{"product-2", product_2},   {"add-4", add_4},           {"add-1000", add_1000},
             {"product-64", product_64}, {"chain-1000", chain_1000}, {"network", network}};

static void start_network(void)
{
    weft_eager_assign(&first, fill(WEFT_INTS(WIDE, HIDDEN), 0.1));
    weft_eager_assign(&second, fill(WEFT_INTS(HIDDEN, CLASSES), 0.1));
}

static double sum_of(weft_eager_array *x)
{
    weft_array *value;
    double sum = 0;
    need(weft_eager_value(eager, x, &value));
    const float *data = weft_array_data(value);
    for (int64_t i = 0; i < weft_array_count(value); i++) sum += data[i];
    return sum;
}

/* The first repetition compiles; the second one is checked. */
static void measure(weft_eager_array *(*run)(void))
{
    start_network();
    weft_eager_release(run());
    weft_eager_array *second_result = run();
    double sum = sum_of(second_result), elapsed = 0;
    long count = 0;
    weft_eager_release(second_result);
    for (long n = 1; elapsed < SECONDS * 1e9; n *= 2) {
        double begin = processor_ns();
        for (long i = 0; i < n; i++) weft_eager_release(run());
        elapsed = processor_ns() - begin;
        count = n;
    }
    printf("%.1f %.9g\n", elapsed / (double)count, sum);
    fflush(stdout);
}

int main(void)
{
    char line[64];
    need(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    need(weft_eager_create(executor, NULL, &eager));
    for (int i = 0; i < 2; i++) {
        two[i] = fill(WEFT_INTS(2, 2), 1 + i);
        four[i] = fill(WEFT_INTS(4), 1 + i);
        many[i] = fill(WEFT_INTS(LONG), 1 + i);
        squares[i] = fill(WEFT_INTS(WIDE, WIDE), 1 + i);
    }
    batch = fill(WEFT_INTS(BATCH, WIDE), 1);
    wanted = fill(WEFT_INTS(BATCH, CLASSES), 1);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (strcmp(line, cases[i].name) == 0) measure(cases[i].run);
    }
    return 0;
}
