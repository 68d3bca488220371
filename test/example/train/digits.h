/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DIGITS_H
#define DIGITS_H
/* The pictures of digits.txt, and the training of a network that tells which digit each shows. */
#include "train.h"

enum { SIDE = 8, CELLS = SIDE * SIDE, DIGITS = 10, TRAINED = 1344, TESTED = 450, BATCH = 32, EPOCHS = 30 };

typedef struct digits {
    float pictures[TRAINED + TESTED][CELLS]; /* the first ones are learned, the others left for the test */
    int64_t labels[TRAINED + TESTED];
    float batch[BATCH][CELLS];
    int64_t batch_labels[BATCH];
} digits;

/* Past the lines that begin with #. */
static inline void digits_skip_notes(FILE *file)
{
    int c = fgetc(file);
    while (c == '#') {
        while (c != '\n' && c != EOF) c = fgetc(file);
        c = fgetc(file);
    }
    ungetc(c, file);
}

/* A line is a label, and 64 characters: how much ink there is, from 0 to 16, which is g. */
static inline void digits_read(digits *d, const char *path)
{
    FILE *file = fopen(path, "r");
    char line[CELLS + 1];
    if (file != NULL) digits_skip_notes(file);
    for (int i = 0; i < TRAINED + TESTED; i++) {
        if (file == NULL || fscanf(file, "%" SCNd64 " %64s", &d->labels[i], line) != 2) {
            fprintf(stderr, "%s: cannot be read\n", path);
            exit(1);
        }
        for (int k = 0; k < CELLS; k++)
            d->pictures[i][k] = (float)(line[k] <= '9' ? line[k] - '0' : line[k] - 'a' + 10) / 16;
    }
    fclose(file);
}

static inline void digits_feed(trainer *t, void *context)
{
    digits *d = context;
    int64_t first = t->step * BATCH % TRAINED;
    memcpy(d->batch, d->pictures[first], sizeof d->batch);
    memcpy(d->batch_labels, &d->labels[first], sizeof d->batch_labels);
}

/* Scores [n, 10] of pictures [n, 64]. */
typedef weft_tensor (*digits_network)(trainer *t, weft_tensor pictures);

/* `declare` makes the parameters in t->inputs that `network` uses. Prints how many of the other pictures are
 * recognised. */
static inline int digits_train(int argc, char **argv, void (*declare)(trainer *t), digits_network network, double rate)
{
    static digits d;
    static trainer t;
    static train_program step, test;
    int64_t right;
    if (argc != 2) {
        fprintf(stderr, "usage: %s digits.txt\n", argv[0]);
        return 2;
    }
    digits_read(&d, argv[1]);
    train_begin(&t, WEFT_F32);
    declare(&t);
    weft_tensor x = train_input(&t, "x", WEFT_F32, TRAIN_SHAPE(BATCH, CELLS), d.batch);
    weft_tensor labels = train_input(&t, "labels", WEFT_I64, TRAIN_SHAPE(BATCH), d.batch_labels);
    weft_tensor others = train_input(&t, "others", WEFT_F32, TRAIN_SHAPE(TESTED, CELLS), d.pictures[TRAINED]);
    weft_tensor wanted = train_input(&t, "wanted", WEFT_I64, TRAIN_SHAPE(TESTED), &d.labels[TRAINED]);
    weft_tensor hit = weft_eq(weft_argmax(network(&t, others), 1, false), wanted);
    weft_tensor loss = weft_cross_entropy(network(&t, x), labels, 1, NULL);
    const int64_t steps = TRAINED / BATCH * EPOCHS;
    train_compile_step(&t, loss, rate, steps, &step);
    train_compile_value(&t, weft_reduce_sum(weft_cast(hit, WEFT_I64), WEFT_INTS(0), false), 0, NULL, &right, &test);
    train_run(&t, &step, steps, digits_feed, &d);
    train_execute(&t, &test);
    printf("%" PRId64 " of %d recognised, %.1f %%\n", right, TESTED, 100.0 * (double)right / TESTED);
    train_release(&step);
    train_release(&test);
    train_end(&t);
    return 0;
}
#endif
