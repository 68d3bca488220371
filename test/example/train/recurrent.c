/* SPDX-License-Identifier: Apache-2.0 */
/* Learns to remember which of four symbols came first, while others follow, by a recurrent network with gates: the
 * gradient passes through all turns of a fold. */
#include <math.h>
#include "train.h"

enum { KINDS = 4, LENGTH = 20, WIDTH = 24, BATCH = 64, STEPS = 500 };

typedef struct sequences {
    int64_t marks[LENGTH][BATCH], first[BATCH];
} sequences;

static void feed(trainer *t, void *context)
{
    sequences *d = context;
    for (int i = 0; i < LENGTH; i++)
        for (int k = 0; k < BATCH; k++) d->marks[i][k] = (int64_t)(train_random(t) * KINDS);
    memcpy(d->first, d->marks[0], sizeof d->first);
}

/* Cho et al., 2014; the weights of both gates and of the candidate lie side by side. */
typedef struct cell {
    weft_tensor marks, table, recurrent, bias;
} cell;

static weft_tensor part(weft_tensor x, int64_t k)
{
    return weft_narrow(x, 1, weft_extent_of(k * WIDTH), weft_extent_of(WIDTH));
}

static void turn(void *context, weft_tensor index, const weft_tensor *carried, weft_tensor *out_next)
{
    const cell *c = context;
    weft_tensor h = carried[0], marks = weft_gather(c->marks, index, 0);
    weft_tensor x = weft_add(weft_embedding(c->table, marks, WEFT_NO_PADDING), c->bias);
    weft_tensor y = weft_matmul(h, c->recurrent);
    weft_tensor update = weft_sigmoid(weft_add(part(x, 0), part(y, 0)));
    weft_tensor reset = weft_sigmoid(weft_add(part(x, 1), part(y, 1)));
    weft_tensor candidate = weft_tanh(weft_add(part(x, 2), weft_mul(reset, part(y, 2))));
    out_next[0] = weft_lerp(candidate, h, update);
}

int main(void)
{
    static trainer t;
    static sequences d;
    static train_program step, test;
    const double size = 1 / sqrt(WIDTH);
    int64_t right;
    train_begin(&t, WEFT_F32);
    cell c = {.table = train_parameter(&t, "table", TRAIN_SHAPE(KINDS, 3 * WIDTH), 1),
              .recurrent = train_parameter(&t, "recurrent", TRAIN_SHAPE(WIDTH, 3 * WIDTH), size),
              .bias = train_parameter(&t, "bias", TRAIN_SHAPE(3 * WIDTH), size)};
    weft_tensor out = train_parameter(&t, "out", TRAIN_SHAPE(WIDTH, KINDS), size);
    c.marks = train_input(&t, "marks", WEFT_I64, TRAIN_SHAPE(LENGTH, BATCH), d.marks);
    weft_tensor first = train_input(&t, "first", WEFT_I64, TRAIN_SHAPE(BATCH), d.first);

    weft_tensor begin = weft_zeros(t.graph, WEFT_F32, WEFT_SHAPE(BATCH, WIDTH));
    weft_tensor end = weft_fold(weft_extent_of(LENGTH), WEFT_TENSORS(begin), turn, &c, NULL);
    weft_tensor scores = weft_matmul(end, out), hit = weft_eq(weft_argmax(scores, 1, false), first);
    train_compile_step(&t, weft_cross_entropy(scores, first, 1, NULL), 0.02, STEPS, &step);
    train_compile_value(&t, weft_reduce_sum(weft_cast(hit, WEFT_I64), WEFT_INTS(0), false), 0, NULL, &right, &test);
    train_run(&t, &step, STEPS, feed, &d);
    feed(&t, &d);
    train_execute(&t, &test);
    printf("%" PRId64 " of %d remembered\n", right, BATCH);
    train_release(&step);
    train_release(&test);
    train_end(&t);
    return 0;
}
