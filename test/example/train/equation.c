/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the four numbers of the equations of Lotka and Volterra, x' = a x - b x y and y' = d x y - c y, from how x and
 * y went: the gradient passes through five hundred steps of Runge and Kutta, and stores the state of a few dozen. */
#include <math.h>
#include "train.h"

enum { TIMES = 500, STEPS = 1000 };
#define LENGTH 0.02
static const double right[4] = {1.1, 0.4, 0.4, 0.1}, start[2] = {10, 5}, guess[4] = {1.0, 0.5, 0.5, 0.08};

/* ---- what was measured ---- */

static void slope_at(const double *s, double *out_slope)
{
    out_slope[0] = right[0] * s[0] - right[1] * s[0] * s[1];
    out_slope[1] = right[3] * s[0] * s[1] - right[2] * s[1];
}

static void measure(double measured[TIMES][2])
{
    const double parts[4] = {0, 0.5, 0.5, 1}, weights[4] = {1, 2, 2, 1};
    double s[2] = {start[0], start[1]};
    for (int i = 0; i < TIMES; i++) {
        double slope[2] = {0}, sum[2] = {0};
        for (int k = 0; k < 4; k++) {
            double at[2] = {s[0] + parts[k] * LENGTH * slope[0], s[1] + parts[k] * LENGTH * slope[1]};
            slope_at(at, slope);
            for (int j = 0; j < 2; j++) sum[j] += weights[k] * slope[j];
        }
        for (int j = 0; j < 2; j++) measured[i][j] = s[j] += LENGTH / 6 * sum[j];
    }
}

/* ---- the same, traced ---- */

typedef struct model {
    weft_tensor numbers[4], measured;
} model;

static weft_tensor number(weft_tensor list, int64_t i)
{
    return weft_reshape(weft_narrow(list, 0, weft_extent_of(i), weft_extent_of(1)), WEFT_SHAPE());
}

static weft_tensor slope(const model *m, weft_tensor s)
{
    weft_tensor x = number(s, 0), y = number(s, 1), xy = weft_mul(x, y);
    weft_tensor dx = weft_sub(weft_mul(m->numbers[0], x), weft_mul(m->numbers[1], xy));
    weft_tensor dy = weft_sub(weft_mul(m->numbers[3], xy), weft_mul(m->numbers[2], y));
    return weft_stack(WEFT_TENSORS(dx, dy), 0);
}

static void advance(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const model *m = context;
    weft_tensor s = carried[0];
    weft_tensor k1 = slope(m, s);
    weft_tensor k2 = slope(m, weft_add(s, weft_mul(k1, LENGTH / 2)));
    weft_tensor k3 = slope(m, weft_add(s, weft_mul(k2, LENGTH / 2)));
    weft_tensor k4 = slope(m, weft_add(s, weft_mul(k3, LENGTH)));
    weft_tensor sum = weft_add(weft_add(k1, k4), weft_mul(weft_add(k2, k3), 2.0));
    weft_tensor next = weft_add(s, weft_mul(sum, LENGTH / 6));
    weft_tensor off = weft_sub(next, weft_gather(m->measured, index, 0));
    out_next[0] = next;
    out_next[1] = weft_add(carried[1], weft_reduce_sum(weft_mul(off, off), WEFT_INTS(0), false));
}

int main(void)
{
    static trainer t;
    static train_program step;
    static double measured[TIMES][2];
    model m;
    measure(measured);
    train_begin(&t, WEFT_F64);
    weft_tensor all = train_parameter(&t, "numbers", TRAIN_SHAPE(4), 0);
    double *numbers = weft_array_data(t.arrays[t.parameters[0]]);
    memcpy(numbers, guess, sizeof guess);
    m.measured = train_input(&t, "measured", WEFT_F64, TRAIN_SHAPE(TIMES, 2), measured);
    for (int i = 0; i < 4; i++) m.numbers[i] = number(all, i);

    weft_tensor begin = weft_constant(t.graph, WEFT_F64, WEFT_INTS(2), start), results[2];
    weft_fold_in_segments(weft_extent_of(TIMES), weft_extent_of(0),
                          WEFT_TENSORS(begin, weft_scalar(t.graph, WEFT_F64, 0)), advance, &m, results);
    train_compile_step(&t, weft_div(results[1], (double)TIMES), 0.05, STEPS, &step);
    train_run(&t, &step, STEPS, NULL, NULL);
    printf("a %.4f b %.4f c %.4f d %.4f\n", numbers[0], numbers[1], numbers[2], numbers[3]);
    train_release(&step);
    train_end(&t);
    return 0;
}
