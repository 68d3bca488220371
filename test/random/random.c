/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random compositions of public calls, on generated code and on the reference:
 *
 *     random [--seed S] [--count N] [--seconds T] [--jobs J] [--out FOLDER] [--objects FOLDER]
 *     random --seed S FILE.weft      the one program, with the data of that seed
 *     random --seed S --print        the program of that seed
 *     random --calls HEADER...       whether every public tracing function is in the table of calls, and made
 *
 * Without a seed there is a new one, which is printed. What fails is made as small as it can be and written to
 * FOLDER/random-SEED.weft.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "test/random/draw.h"
#include "test/random/generate.h"
#include "test/random/shrink.h"
#include "test/random/trial.h"
#include "test/random/worker.h"

enum { MOST_KINDS = 512, SHRUNK_OF_A_KIND = 2 };

/* What went wrong so far: sentences without their numbers, and how often each came. */
typedef struct findings {
    const char *folder;
    uint64_t count;
    size_t kinds;
    char *sentences[MOST_KINDS];
    uint64_t times[MOST_KINDS];
    uint64_t seeds[MOST_KINDS][SHRUNK_OF_A_KIND];
} findings;

/* ---- what was found ---- */

static void leave_numbers_out(const char *from, char *to, size_t size)
{
    size_t used = 0;
    for (; *from != '\0' && used + 1 < size && used < 120; from++)
        if (strchr("0123456789.+-", *from) == NULL) to[used++] = *from;
    to[used] = '\0';
}

static size_t kind_of(findings *all, const char *problem)
{
    char sentence[160];
    leave_numbers_out(problem, sentence, sizeof sentence);
    for (size_t i = 0; i < all->kinds; i++)
        if (strcmp(all->sentences[i], sentence) == 0) return i;
    if (all->kinds == MOST_KINDS) return MOST_KINDS - 1;
    char *kept = malloc(strlen(sentence) + 1);
    if (kept == NULL) abort();
    all->sentences[all->kinds] = strcpy(kept, sentence);
    return all->kinds++;
}

static void note(void *context, uint64_t seed, const char *problem)
{
    findings *all = context;
    size_t kind = kind_of(all, problem);
    printf("seed %" PRIu64 ": %s\n", seed, problem);
    fflush(stdout);
    all->count++;
    if (strncmp(problem, WEFT_TEST_TRACING, sizeof WEFT_TEST_TRACING - 1) == 0) return; /* there is no text */
    if (all->times[kind] < SHRUNK_OF_A_KIND) all->seeds[kind][all->times[kind]] = seed;
    all->times[kind]++;
}

static void write_small(const findings *all, uint64_t seed, const char *problem, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/random-%" PRIu64 ".weft", all->folder, seed);
    FILE *out = fopen(path, "w");
    if (out != NULL) {
        char line[160];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(problem, "\n"), problem);
        fprintf(out, "# random --seed %" PRIu64 " %s\n# %s\n%s", seed, path, line, text);
        fclose(out);
    }
    printf("seed %" PRIu64 ", as small as it gets: %s\n%s%s\n", seed, problem, text, out != NULL ? path : "");
    fflush(stdout);
}

static void shrink(const findings *all, uint64_t seed)
{
    char problem[WEFT_TEST_PROBLEM] = "";
    char *text = NULL;
    if (!weft_test_generate(seed, &text, problem, sizeof problem) || text == NULL) return;
    if (weft_test_try_apart(seed, text, problem, sizeof problem)) printf("seed %" PRIu64 " does well alone\n", seed);
    else {
        char *small = weft_test_shrink(seed, text, problem, sizeof problem);
        write_small(all, seed, problem, small);
        free(small);
    }
    weft_text_destroy(text);
}

static int run_seeds(weft_test_batch *batch, const char *folder)
{
    findings *all = calloc(1, sizeof *all);
    if (all == NULL) return 1;
    all->folder = folder;
    batch->find = note;
    batch->context = all;
    printf("seeds from %" PRIu64 "\n", batch->first);
    uint64_t tried = weft_test_run_batch(batch), failed = all->count;
    printf("%" PRIu64 " programs, %" PRIu64 " failed\n", tried, failed);
    fflush(stdout);
    for (size_t i = 0; i < all->kinds; i++) {
        for (size_t k = 0; k < SHRUNK_OF_A_KIND && k < all->times[i]; k++) shrink(all, all->seeds[i][k]);
        free(all->sentences[i]);
    }
    free(all);
    return failed == 0 && tried > 0 ? 0 : 1;
}

/* ---- other modes ---- */

static char *read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (in == NULL || out == NULL) return NULL;
    for (int c = getc(in); c != EOF; c = getc(in)) putc(c, out);
    fclose(in);
    fclose(out);
    return text;
}

static int run_file(uint64_t seed, const char *path)
{
    char problem[WEFT_TEST_PROBLEM] = "";
    char *text = read_text(path);
    bool good = text != NULL && weft_test_try_apart(seed, text, problem, sizeof problem);
    printf("%s: %s\n", path, text == NULL ? "cannot be read" : good ? "fine" : problem);
    free(text);
    return good ? 0 : 1;
}

static int print_program(uint64_t seed)
{
    char problem[WEFT_TEST_PROBLEM];
    char *text = NULL;
    bool good = weft_test_generate(seed, &text, problem, sizeof problem);
    printf("%s\n", good ? text != NULL ? text : "" : problem);
    weft_text_destroy(text);
    return good ? 0 : 1;
}

static bool is_called(const char *name, size_t length)
{
    for (const draw_call *call = draw_calls(); call->make != NULL; call++)
        if (call->name != NULL && strlen(call->name) == length && strncmp(call->name, name, length) == 0) return true;
    return false;
}

/* Of extensions, the macros and graphs that are read: they trace nothing new. */
static bool is_plumbing(const char *name, size_t length)
{
    static const char *const names[] = {"trace", "trace_error", "tensor_locate", "tensor_input"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) return true;
    return false;
}

static size_t check_header(const char *path)
{
    static const char start[] = "weft_tensor weft_";
    size_t missing = 0;
    char *text = read_text(path);
    for (const char *line = text; line != NULL && *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + sizeof start - 1;
        if (strncmp(line, start, sizeof start - 1) != 0) continue;
        size_t length = strcspn(name, "(");
        if (is_called(name, length) || is_plumbing(name, length)) continue;
        printf("%s: weft_%.*s has no row in test/random/calls.def\n", path, (int)length, name);
        missing++;
    }
    free(text);
    return missing;
}

/* Rows whose maker never makes anything. */
static size_t check_makers(void)
{
    enum { PROGRAMS = 6000 };
    char problem[WEFT_TEST_PROBLEM];
    size_t idle = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        char *text = NULL;
        weft_test_generate(seed, &text, problem, sizeof problem);
        weft_text_destroy(text);
    }
    for (const draw_call *call = draw_calls(); call->make != NULL; call++) {
        if (weft_test_times_made(call) > 0) continue;
        printf("row %td of test/random/calls.def (%s) makes nothing in %d programs\n", call - draw_calls() + 1,
               call->name == NULL ? "a fragment" : call->name, PROGRAMS);
        idle++;
    }
    return idle;
}

static int check_calls(char **paths)
{
    size_t missing = check_makers();
    for (; *paths != NULL; paths++) missing += check_header(*paths);
    return missing == 0 ? 0 : 1;
}

/* New each time. */
static uint64_t new_seed(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_REALTIME, &time);
    return ((uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000) * 1000;
}

typedef struct arguments {
    char **next;
    const char *value; /* of the option that was taken last */
} arguments;

/* Whether an option of that name is next; takes it and its value. */
static bool take_option(arguments *given, const char *name)
{
    if (*given->next == NULL || strcmp(*given->next, name) != 0 || given->next[1] == NULL) return false;
    given->value = given->next[1];
    given->next += 2;
    return true;
}

int main(int argc, char **argv)
{
    weft_test_batch batch = {.first = new_seed(), .jobs = 1};
    arguments given = {argv + (argc > 0), NULL};
    const char *folder = ".", *file = NULL;
    bool prints = false;
    while (*given.next != NULL) {
        if (take_option(&given, "--seed")) batch.first = strtoull(given.value, NULL, 10);
        else if (take_option(&given, "--count")) batch.count = strtoull(given.value, NULL, 10);
        else if (take_option(&given, "--seconds")) batch.seconds = strtod(given.value, NULL);
        else if (take_option(&given, "--jobs")) batch.jobs = (unsigned)strtoul(given.value, NULL, 10);
        else if (take_option(&given, "--out")) folder = given.value;
        else if (take_option(&given, "--objects")) weft_test_trials_record(given.value);
        else if (strcmp(*given.next, "--calls") == 0) return check_calls(given.next + 1);
        else if (strcmp(*given.next, "--print") == 0) prints = true, given.next++;
        else file = *given.next++;
    }
    if (batch.count == 0) batch.count = batch.seconds > 0 ? UINT64_MAX / 2 : 1000;
    if (file != NULL) return run_file(batch.first, file);
    return prints ? print_program(batch.first) : run_seeds(&batch, folder);
}
