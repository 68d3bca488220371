/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continues a sequence token by token: decoder TOKEN COUNT.
 *
 * The keys and values of all tokens so far stay in one place: the program adds those of a token where they are, because
 * inputs and outputs are the same memory. Weights are random numbers; those of a real model would come from a file.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "decoder.h"

enum { KINDS = 32, LENGTH = 64, WIDTH = 16 };

typedef struct model {
    float tokens[KINDS][WIDTH], positions[LENGTH][WIDTH];
    float queries[WIDTH][WIDTH], keys[WIDTH][WIDTH], values[WIDTH][WIDTH], outputs[WIDTH][WIDTH];
} model;

typedef struct cache {
    float keys[LENGTH][WIDTH], values[LENGTH][WIDTH];
} cache;

static void make_model(model *m)
{
    uint32_t random = 1;
    float *numbers = (float *)m; /* it has nothing else */
    for (size_t i = 0; i < sizeof *m / sizeof *numbers; i++) {
        random = random * 1664525 + 1013904223;
        numbers[i] = (float)(random >> 8) / (1 << 23) - 1; /* from -1 to 1 */
    }
}

/* The result of a prepare or a run, said if it is an error. */
static bool is_ok(weft_rt_code code, const weft_rt_error *error)
{
    if (code != WEFT_RT_OK) fprintf(stderr, "%s: %s\n", weft_rt_code_name(code), error->message);
    return code == WEFT_RT_OK;
}

static bool decode(const model *m, cache *c, weft_rt_workspace *workspace, int64_t token, int64_t count)
{
    int64_t position = 0, next;
    weft_rt_error error;
    const decoder_call call = {.token = &token,
                               .position = &position,
                               .token_table = &m->tokens[0][0],
                               .position_table = &m->positions[0][0],
                               .query_weights = &m->queries[0][0],
                               .key_weights = &m->keys[0][0],
                               .value_weights = &m->values[0][0],
                               .output_weights = &m->outputs[0][0],
                               .keys = &c->keys[0][0],
                               .values = &c->values[0][0],
                               .next_token = &next,
                               .new_keys = &c->keys[0][0],
                               .new_values = &c->values[0][0]};
    if (!is_ok(decoder_prepare(&call, workspace, NULL, &error), &error)) return false;
    workspace->memory = malloc(workspace->size);
    for (; position < count; position++) {
        if (!is_ok(decoder_run(&call, workspace, &error), &error)) return false;
        printf("%" PRId64 "\n", next);
        token = next;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s TOKEN COUNT, a token from 0 to %d, at most %d of them\n", argv[0], KINDS - 1,
                LENGTH);
        return 2;
    }
    static model m;
    static cache c; /* zero, though what lies after the position is never looked at */
    weft_rt_workspace workspace = {0};
    make_model(&m);
    bool good = decode(&m, &c, &workspace, atoll(argv[1]), atoll(argv[2]));
    free(workspace.memory);
    return !good;
}
