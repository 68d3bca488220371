/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <weft/npy.h>
#include "demo.h"

/* Writes the weights and one file of pictures for each batch size, the same on every run. */

static uint64_t state = 1;

/* Uniform in [-1, 1). */
static double random_value(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 40) / (double)(1 << 23) - 1;
}

static weft_status *write_array(const char *path, size_t rank, const int64_t *shape, double scale)
{
    weft_array *array;
    WEFT_TRY(weft_array_create(NULL, WEFT_F32, rank, shape, &array));
    float *data = weft_array_data(array);
    for (int64_t i = 0; i < weft_array_count(array); i++) data[i] = (float)(scale * random_value());
    weft_status *status = weft_npy_save(NULL, path, array);
    weft_array_release(array);
    return status;
}

static weft_status *write_named(const char *folder, const char *name, size_t rank, const int64_t *shape, double scale)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    return write_array(path, rank, shape, scale);
}

static weft_status *write_all(const char *folder)
{
    const int64_t w1[] = {DEMO_PIXELS, DEMO_HIDDEN}, w2[] = {DEMO_HIDDEN, DEMO_CLASSES},
                  mix[] = {DEMO_CLASSES, DEMO_GROUPS};
    WEFT_TRY(write_named(folder, "w1", 2, w1, 1 / sqrt(DEMO_PIXELS)));
    WEFT_TRY(write_named(folder, "b1", 1, &w1[1], 0.1));
    WEFT_TRY(write_named(folder, "w2", 2, w2, 1 / sqrt(DEMO_HIDDEN)));
    WEFT_TRY(write_named(folder, "b2", 1, &w2[1], 0.1));
    WEFT_TRY(write_named(folder, "mix", 2, mix, 1));
    for (int i = 0; i < DEMO_BATCH_COUNT; i++) {
        char path[4096];
        demo_batch_path(path, sizeof path, folder, demo_batches[i]);
        WEFT_TRY(write_array(path, 2, (const int64_t[]){demo_batches[i], DEMO_PIXELS}, 1));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: demo-data FOLDER\n");
        return 2;
    }
    weft_status *status = write_all(argv[1]);
    if (status == NULL) return 0;
    fprintf(stderr, "demo-data: %s\n", weft_status_message(status));
    weft_status_destroy(status);
    return 1;
}
