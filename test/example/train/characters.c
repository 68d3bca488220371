/* SPDX-License-Identifier: Apache-2.0 */
/* Learns which character of a text comes next, by one block of a transformer, and writes some: characters TEXT. */
#include <math.h>
#include "train.h"

enum { KINDS = 96, LENGTH = 32, WIDTH = 32, HEADS = 2, BATCH = 16, MOST = 1 << 16, STEPS = 500, WRITTEN = 160 };

typedef struct text {
    int64_t marks[MOST]; /* from the space on, one for all white space in a row */
    int64_t count;
    int64_t batch[BATCH][LENGTH], next[BATCH][LENGTH], last[1][LENGTH];
} text;

static void read_text(text *d, const char *path)
{
    FILE *file = fopen(path, "r");
    for (int c; file != NULL && d->count < MOST && (c = getc(file)) != EOF;) {
        int64_t mark = c > ' ' && c < ' ' + KINDS ? c - ' ' : 0;
        if (mark != 0 || (d->count > 0 && d->marks[d->count - 1] != 0)) d->marks[d->count++] = mark;
    }
    if (file != NULL) fclose(file);
    if (d->count > 2 * LENGTH) return;
    fprintf(stderr, "%s: cannot be read, or is too short\n", path);
    exit(1);
}

static void feed(trainer *t, void *context)
{
    text *d = context;
    for (int i = 0; i < BATCH; i++) {
        int64_t first = (int64_t)(train_random(t) * (double)(d->count - LENGTH));
        memcpy(d->batch[i], &d->marks[first], sizeof d->batch[i]);
        memcpy(d->next[i], &d->marks[first + 1], sizeof d->next[i]);
    }
}

/* ---- the network ---- */

typedef struct model {
    weft_tensor marks, places, query, key, value, mix, up, down, out;
} model;

static model declare(trainer *t)
{
    const double size = 1 / sqrt(WIDTH);
    return (model){.marks = train_parameter(t, "marks", TRAIN_SHAPE(KINDS, WIDTH), 0.5),
                   .places = train_parameter(t, "places", TRAIN_SHAPE(LENGTH, WIDTH), 0.5),
                   .query = train_parameter(t, "query", TRAIN_SHAPE(WIDTH, WIDTH), size),
                   .key = train_parameter(t, "key", TRAIN_SHAPE(WIDTH, WIDTH), size),
                   .value = train_parameter(t, "value", TRAIN_SHAPE(WIDTH, WIDTH), size),
                   .mix = train_parameter(t, "mix", TRAIN_SHAPE(WIDTH, WIDTH), size),
                   .up = train_parameter(t, "up", TRAIN_SHAPE(WIDTH, 4 * WIDTH), size),
                   .down = train_parameter(t, "down", TRAIN_SHAPE(4 * WIDTH, WIDTH), size / 2),
                   .out = train_parameter(t, "out", TRAIN_SHAPE(WIDTH, KINDS), size)};
}

/* [n, length, width] as [n, heads, length, width of a head]. */
static weft_tensor split(weft_tensor x, weft_tensor w)
{
    weft_extent n = weft_tensor_extent(x, 0);
    weft_tensor heads = weft_reshape(weft_matmul(x, w), WEFT_SHAPE(n, LENGTH, HEADS, WIDTH / HEADS));
    return weft_permute(heads, WEFT_INTS(0, 2, 1, 3));
}

static weft_tensor attend(const model *m, weft_tensor x)
{
    weft_tensor y = weft_attention(split(x, m->query), split(x, m->key), split(x, m->value),
                                   &(weft_attention_options){.causal = true});
    return weft_matmul(weft_reshape(weft_permute(y, WEFT_INTS(0, 2, 1, 3)), weft_tensor_shape(x)), m->mix);
}

/* Scores [n, length, kinds] of what follows each mark. */
static weft_tensor network(const model *m, weft_tensor marks)
{
    weft_tensor x = weft_add(weft_embedding(m->marks, marks, WEFT_NO_PADDING), m->places);
    x = weft_add(x, attend(m, weft_rms_norm(x, -1, NULL)));
    weft_tensor wide = weft_gelu(weft_matmul(weft_rms_norm(x, -1, NULL), m->up));
    return weft_matmul(weft_rms_norm(weft_add(x, weft_matmul(wide, m->down)), -1, NULL), m->out);
}

/* ---- */

static void write_text(trainer *t, text *d, const train_program *program, const int64_t *best)
{
    memcpy(d->last, d->marks, sizeof d->last);
    for (int i = 0; i < WRITTEN; i++) {
        train_execute(t, program);
        memmove(d->last[0], d->last[0] + 1, (LENGTH - 1) * sizeof d->last[0][0]);
        d->last[0][LENGTH - 1] = best[LENGTH - 1];
        putchar((int)best[LENGTH - 1] + ' ');
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static trainer t;
    static text d;
    static train_program step, next;
    int64_t best[LENGTH];
    if (argc != 2) {
        fprintf(stderr, "usage: %s TEXT\n", argv[0]);
        return 2;
    }
    read_text(&d, argv[1]);
    train_begin(&t, WEFT_F32);
    const model m = declare(&t);
    weft_tensor marks = train_input(&t, "batch", WEFT_I64, TRAIN_SHAPE(BATCH, LENGTH), d.batch);
    weft_tensor targets = train_input(&t, "next", WEFT_I64, TRAIN_SHAPE(BATCH, LENGTH), d.next);
    weft_tensor last = train_input(&t, "last", WEFT_I64, TRAIN_SHAPE(1, LENGTH), d.last);
    train_compile_step(&t, weft_cross_entropy(network(&m, marks), targets, -1, NULL), 0.01, STEPS, &step);
    train_compile_value(&t, weft_argmax(network(&m, last), -1, false), TRAIN_SHAPE(1, LENGTH), best, &next);
    train_run(&t, &step, STEPS, feed, &d);
    write_text(&t, &d, &next, best);
    train_release(&step);
    train_release(&next);
    train_end(&t);
    return 0;
}
