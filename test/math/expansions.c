/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each scalar operation expands to: the same instructions in the same order, whichever compiler built the library,
 * for keys of schedules and of kept code are made of them.
 *   expansions FILE             compares digests with those in the file, one for each operation and dtype of operands
 *   expansions --rewrite FILE   writes the file
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/loop/inst.h"
#include "lib/schedule/schedule.h"
#include "test/support.h"

/* An operation on operands of one dtype, of which the last may be a constant. */
typedef struct operation {
    weft_scalar_op op;
    weft_dtype dtype, result;
    const char *last;
} operation;

/* NULL: there is no such operation. */
static weft_kernel *parse(const operation *o)
{
    static const char *const operands[] = {"", "%3", "%2, %3", "%1, %2, %3"};
    const char *dtype = weft_dtype_name(o->dtype), *result = weft_dtype_name(o->result);
    int count = weft_scalar_operands(o->op);
    weft_bytes text;
    weft_kernel *kernel;
    if (count < 1) return NULL;
    weft_bytes_init(&text, NULL);
    weft_bytes_print(&text, "kernel {\n  symbol n in [1, 9]\n  buffer b0 : %s out\n", result);
    for (int i = 1; i <= 3; i++)
        weft_bytes_print(&text, "  buffer b%d : %s\n", i, i == 1 && count == 3 ? "bool" : dtype);
    weft_bytes_print(&text, "  for i0 < n\n  stage {\n");
    for (int i = 4 - count; i <= 3; i++)
        if (i == 3 && o->last != NULL) weft_bytes_print(&text, "    %%3 = const %s : %s\n", o->last, dtype);
        else weft_bytes_print(&text, "    %%%d = load b%d[i0] : %s\n", i, i, i == 1 && count == 3 ? "bool" : dtype);
    weft_bytes_print(&text, "    %%4 = %s %s : %s\n    store b0[i0] = %%4\n  }\n}\n", weft_scalar_name(o->op),
                     operands[count], result);
    weft_status *status = weft_kernel_parse(NULL, "expansions", text.data, text.size, &kernel);
    weft_bytes_finish(&text);
    if (status == NULL) return kernel;
    weft_status_destroy(status);
    return NULL;
}

/* Takes what the operation expands to, if it does, into the digest (FNV-1a). */
static void digest(const operation *o, weft_function_policy policy, uint64_t *hash)
{
    weft_kernel *kernel = parse(o);
    weft_bytes before, after;
    if (kernel == NULL) return;
    weft_bytes_init(&before, NULL);
    weft_bytes_init(&after, NULL);
    weft_test_ok(weft_kernel_print(kernel, &before));
    weft_status *unsupported = weft_kernel_expand(kernel, policy);
    if (unsupported == NULL) weft_test_ok(weft_kernel_print(kernel, &after));
    if (unsupported == NULL && strcmp(before.data, after.data) != 0)
        for (const char *c = after.data; *c != '\0'; c++) *hash = (*hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    weft_status_destroy(unsupported);
    weft_bytes_finish(&before);
    weft_bytes_finish(&after);
    weft_kernel_destroy(kernel);
}

static uint64_t digest_all(weft_scalar_op op, weft_dtype dtype)
{
    static const char *const exponents[] = {NULL, "0", "1", "2", "3", "7", "-1", "-3", "0.5", "-0.5"};
    uint64_t hash = 0;
    for (size_t i = 0; i < (op == WEFT_SCALAR_pow ? sizeof exponents / sizeof *exponents : 1); i++)
        for (weft_dtype result = 0; result < WEFT_DTYPE_COUNT; result++) {
            operation o = {op, dtype, result, exponents[i]};
            digest(&o, WEFT_FUNCTIONS_ACCURATE, &hash);
            digest(&o, WEFT_FUNCTIONS_FAST, &hash);
        }
    return hash;
}

/* A line for each operation and dtype that has an expansion. */
static void print_all(weft_bytes *lines)
{
    weft_bytes_init(lines, NULL);
    for (weft_scalar_op op = 0; op < WEFT_SCALAR_COUNT; op++)
        for (weft_dtype dtype = 0; dtype < WEFT_DTYPE_COUNT; dtype++) {
            uint64_t hash = digest_all(op, dtype);
            if (hash != 0)
                weft_bytes_print(lines, "%s %s %016" PRIx64 "\n", weft_scalar_name(op), weft_dtype_name(dtype), hash);
        }
    weft_test_ok(weft_bytes_status(lines));
}

static FILE *open(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file == NULL) perror(path);
    return file;
}

static int rewrite(const char *path)
{
    weft_bytes lines;
    FILE *file = open(path, "w");
    if (file == NULL) return EXIT_FAILURE;
    print_all(&lines);
    bool good = fwrite(lines.data, 1, lines.size, file) == lines.size;
    weft_bytes_finish(&lines);
    return fclose(file) == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Prints the lines that are others. */
static int compare(const char *path)
{
    char expected[128];
    weft_bytes lines;
    FILE *file = open(path, "r");
    if (file == NULL) return EXIT_FAILURE;
    print_all(&lines);
    int wrong = 0;
    for (char *line = strtok(lines.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (fgets(expected, sizeof expected, file) == NULL) expected[0] = '\0';
        expected[strcspn(expected, "\n")] = '\0';
        if (strcmp(line, expected) == 0) continue;
        printf("%s, and not %s\n", line, expected);
        wrong++;
    }
    if (fgets(expected, sizeof expected, file) != NULL) wrong++;
    (void)fclose(file);
    weft_bytes_finish(&lines);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--rewrite") == 0) return rewrite(argv[2]);
    if (argc == 2) return compare(argv[1]);
    fprintf(stderr, "usage: expansions [--rewrite] FILE\n");
    return EXIT_FAILURE;
}
