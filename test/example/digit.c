/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which digit a picture shows: digit PICTURE.pgm ...
 *
 * A picture is a PGM file, as text (P2) or binary (P5), of any size: it becomes 8 rows of 8 averages. The digit fills
 * it, and is bright on dark ground or dark on bright.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "digits.h"

enum { SIDE = 8, CELLS = SIDE * SIDE, DIGITS = 10, LARGEST = 65535 };

/* ---- PGM ---- */

/* The next number of a text, and one space after it; -1 where there is none. */
static long read_number(FILE *file)
{
    int c = getc(file);
    while (isspace(c) || c == '#') {
        bool is_comment = c == '#';
        do c = getc(file);
        while (is_comment && c != '\n' && c != EOF);
    }
    long number = -1;
    for (; isdigit(c) && number <= LARGEST; c = getc(file)) number = (number < 0 ? 0 : 10 * number) + c - '0';
    if (!isspace(c)) ungetc(c, file);
    return number;
}

/* A pixel of a binary file: one byte, or two with the higher one first. -1 at the end of the file. */
static long read_bytes(FILE *file, long white)
{
    int high = white > 255 ? getc(file) : 0, low = getc(file);
    return high == EOF || low == EOF ? -1 : 256L * high + low;
}

/* What pixel `at` of `size` has in common with cell `cell` of 8, in eighths of a pixel. */
static long overlap(long at, long size, long cell)
{
    long begin = SIDE * at > cell * size ? SIDE * at : cell * size;
    long end = SIDE * (at + 1) < (cell + 1) * size ? SIDE * (at + 1) : (cell + 1) * size;
    return end > begin ? end - begin : 0;
}

static void add_pixel(double *cells, double gray, const long *at, const long *size)
{
    for (long row = at[0] * SIDE / size[0]; row < SIDE && row * size[0] < SIDE * (at[0] + 1); row++)
        for (long column = at[1] * SIDE / size[1]; column < SIDE && column * size[1] < SIDE * (at[1] + 1); column++)
            cells[SIDE * row + column] +=
                gray * (double)(overlap(at[0], size[0], row) * overlap(at[1], size[1], column));
}

/* Ink covers less than half of a picture. */
static void find_ink(const double *cells, double full, float *out_ink)
{
    double sum = 0;
    for (int i = 0; i < CELLS; i++) sum += cells[i] / full;
    for (int i = 0; i < CELLS; i++) out_ink[i] = (float)(sum > CELLS / 2 ? 1 - cells[i] / full : cells[i] / full);
}

/* NULL, or what is wrong with the file. */
static const char *read_picture(FILE *file, float *out_ink)
{
    int p = getc(file), kind = getc(file);
    if (p != 'P' || (kind != '2' && kind != '5') || !isspace(getc(file))) return "is no PGM picture";
    long width = read_number(file), height = read_number(file), white = read_number(file);
    long size[] = {height, width};
    if (width < 1 || width > LARGEST || height < 1 || height > LARGEST) return "has no size, or one over 65535";
    if (white < 1 || white > LARGEST) return "has no greatest value from 1 to 65535";
    double cells[CELLS] = {0};
    for (long row = 0; row < height; row++)
        for (long column = 0; column < width; column++) {
            long gray = kind == '2' ? read_number(file) : read_bytes(file, white);
            if (gray < 0) return "has fewer pixels than its size says";
            if (gray > white) return "has a pixel over its greatest value";
            add_pixel(cells, (double)gray, (long[]){row, column}, size);
        }
    find_ink(cells, (double)white * (double)width * (double)height, out_ink);
    return NULL;
}

/* ---- digits ---- */

static bool load(const char *path, float *out_ink)
{
    FILE *file = fopen(path, "rb");
    const char *wrong = file == NULL ? strerror(errno) : read_picture(file, out_ink);
    if (file != NULL) fclose(file);
    if (wrong != NULL) fprintf(stderr, "%s: %s\n", path, wrong);
    return wrong == NULL;
}

static bool classify(const char *path, weft_rt_workspace *workspace)
{
    float ink[CELLS], probabilities[DIGITS];
    const digits_call call = {.extents = {.n = 1}, .pictures = ink, .probabilities = probabilities};
    weft_rt_error error;
    if (!load(path, ink)) return false;
    if (digits_run(&call, workspace, &error) != WEFT_RT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return false;
    }
    int best = 0;
    for (int i = 1; i < DIGITS; i++)
        if (probabilities[i] > probabilities[best]) best = i;
    printf("%s: %d (%.1f %%)\n", path, best, 100 * (double)probabilities[best]);
    return true;
}

int main(int argc, char **argv)
{
    const digits_call call = {.extents = {.n = 1}};
    weft_rt_workspace workspace = {0};
    weft_rt_error error;
    if (argc < 2) {
        fprintf(stderr, "usage: %s PICTURE.pgm ...\n", argv[0]);
        return 2;
    }
    if (digits_prepare(&call, &workspace, NULL, &error) != WEFT_RT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    workspace.memory = malloc(workspace.size);
    bool good = true;
    for (int i = 1; i < argc; i++) good &= classify(argv[i], &workspace);
    free(workspace.memory);
    return !good;
}
