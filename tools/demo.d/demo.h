/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_DEMO_H
#define WEFT_TOOLS_DEMO_H
/* What the program that writes the demo's data and the one that reads it agree on. */
#include <stdio.h>

/* Pixels of a flattened picture, width of the hidden layer, classes, and what the classes are gathered to. */
enum { DEMO_PIXELS = 784, DEMO_HIDDEN = 256, DEMO_CLASSES = 10, DEMO_GROUPS = 4 };

static const int demo_batches[] = {1, 7, 64, 500};
enum { DEMO_BATCH_COUNT = sizeof demo_batches / sizeof *demo_batches };

/* "FOLDER/x64.npy" */
static inline void demo_batch_path(char *out_path, size_t size, const char *folder, int batch)
{
    snprintf(out_path, size, "%s/x%d.npy", folder, batch);
}
#endif
