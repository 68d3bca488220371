/* SPDX-License-Identifier: Apache-2.0 */
#include "test/random/worker.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/random/generate.h"
#include "test/random/trial.h"

enum {
    MOST_JOBS = 256,
    PER_PROCESS = 200, /* programs, before what it has cached is dropped with it */
    LEAKED = 4,        /* status of a process whose executors have not freed all */
};
/* Seconds of a processor, and of the clock, that a program may take. */
#define MOST_WORK 40.0
#define MOST_TIME 300.0

/* What a process says of a seed: that it begins, or how it ended. */
typedef struct message {
    uint64_t seed;
    enum { BEGINS, TRACED, GOOD, BAD } what;
    char problem[WEFT_TEST_PROBLEM];
} message;

typedef struct worker {
    pid_t process;
    int pipe;
    uint64_t seed, last; /* the one it is at, and the one after its last */
    bool busy, traced;
    double began, worked;
} worker;

static double now(clockid_t clock)
{
    struct timespec time = {0};
    if (clock_gettime(clock, &time) != 0) return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double work_of(pid_t process)
{
    clockid_t clock;
    return clock_getcpuclockid(process, &clock) == 0 ? now(clock) : 0;
}

/* ---- in the process ---- */

static void say(int out, uint64_t seed, int what, const char *problem)
{
    message said;
    memset(&said, 0, sizeof said);
    said.seed = seed;
    said.what = what;
    snprintf(said.problem, sizeof said.problem, "%s", problem);
    if (write(out, &said, sizeof said) != (ssize_t)sizeof said) _exit(3);
}

static bool try_one(int out, uint64_t seed, const char *text, char *out_problem, size_t size)
{
    char *generated = NULL;
    size_t used = (size_t)snprintf(out_problem, size, WEFT_TEST_TRACING);
    if (text == NULL && !weft_test_generate(seed, &generated, out_problem + used, size - used)) return false;
    say(out, seed, TRACED, "");
    if (text == NULL) text = generated;
    bool good = text == NULL || weft_test_try(seed, text, out_problem, size);
    weft_text_destroy(generated);
    return good;
}

static void work(int out, uint64_t first, uint64_t last, const char *text)
{
    if (!weft_test_trials_begin()) _exit(2);
    for (uint64_t seed = first; seed < last; seed++) {
        char problem[WEFT_TEST_PROBLEM] = "";
        say(out, seed, BEGINS, "");
        bool good = try_one(out, seed, text, problem, sizeof problem);
        say(out, seed, good ? GOOD : BAD, problem);
    }
    _exit(weft_test_trials_end() ? 0 : LEAKED);
}

/* Without processes nothing is tried, which must not look as if all went well. */
static void start(worker *w, uint64_t first, uint64_t last, const char *text)
{
    int ends[2];
    fflush(stdout);
    bool piped = pipe(ends) == 0;
    pid_t process = piped ? fork() : -1;
    if (process < 0) {
        perror("random: no process can be started");
        exit(2);
    }
    if (process == 0) {
        close(ends[0]);
        work(ends[1], first, last, text);
    }
    close(ends[1]);
    *w = (worker){.process = process, .pipe = ends[0], .seed = first, .last = last, .began = now(CLOCK_MONOTONIC)};
}

/* ---- beside it ---- */

/* The process is over, or is ended; its last seed may have been why. Returns the seed to go on with. */
static uint64_t finish(worker *w, const char *why, weft_test_finder find, void *context)
{
    char problem[WEFT_TEST_PROBLEM];
    int outcome = 0;
    if (why != NULL) kill(w->process, SIGKILL);
    close(w->pipe);
    waitpid(w->process, &outcome, 0);
    uint64_t next = w->busy ? w->seed + 1 : w->last;
    const char *phase = w->busy && !w->traced ? WEFT_TEST_TRACING : "";
    if (why != NULL) snprintf(problem, sizeof problem, "%s%s", phase, why);
    else if (WIFSIGNALED(outcome)) snprintf(problem, sizeof problem, "%ssignal %d", phase, WTERMSIG(outcome));
    else if (WEXITSTATUS(outcome) == LEAKED) snprintf(problem, sizeof problem, "memory of the executors was not freed");
    else snprintf(problem, sizeof problem, "%sthe process ended with status %d", phase, WEXITSTATUS(outcome));
    if (w->busy) find(context, w->seed, problem);
    else if (WIFSIGNALED(outcome) || WEXITSTATUS(outcome) != 0) find(context, w->last - 1, problem);
    w->process = 0;
    return next;
}

static const char *is_stuck(const worker *w)
{
    if (!w->busy || now(CLOCK_MONOTONIC) - w->began < MOST_WORK) return NULL;
    if (work_of(w->process) - w->worked > MOST_WORK) return "it takes too long";
    return now(CLOCK_MONOTONIC) - w->began > MOST_TIME ? "it hangs" : NULL;
}

/* False when there is nothing more to read. */
static bool listen(worker *w, weft_test_finder find, void *context, uint64_t *tried)
{
    message heard;
    size_t used = 0;
    while (used < sizeof heard) {
        ssize_t got = read(w->pipe, (char *)&heard + used, sizeof heard - used);
        if (got <= 0) return false;
        used += (size_t)got;
    }
    w->traced = heard.what != BEGINS;
    w->seed = heard.seed;
    if (heard.what == TRACED) return true;
    w->busy = heard.what == BEGINS;
    w->began = now(CLOCK_MONOTONIC);
    w->worked = w->busy ? work_of(w->process) : 0;
    *tried += heard.what != BEGINS;
    if (heard.what == BAD) find(context, heard.seed, heard.problem);
    return true;
}

/* Looks after one process until it says something or a moment is over; false when it is gone. */
static bool attend(worker *w, int milliseconds, const weft_test_batch *batch, uint64_t *tried, uint64_t *next)
{
    struct pollfd ready = {.fd = w->pipe, .events = POLLIN};
    const char *stuck = is_stuck(w);
    if (stuck == NULL && (poll(&ready, 1, milliseconds) <= 0 || listen(w, batch->find, batch->context, tried)))
        return true;
    *tried += w->busy;
    *next = finish(w, stuck, batch->find, batch->context);
    return false;
}

typedef struct crew {
    const weft_test_batch *batch;
    worker workers[MOST_JOBS];
    uint64_t next, tried;
    double end;
} crew;

static bool is_over(const crew *c)
{
    return c->next >= c->batch->count || (c->batch->seconds > 0 && now(CLOCK_MONOTONIC) >= c->end);
}

static void stop(worker *w)
{
    kill(w->process, SIGKILL);
    close(w->pipe);
    waitpid(w->process, NULL, 0);
    w->process = 0;
}

/* What is left to a process that died before its last seed goes to another one. */
static void employ(crew *c, worker *w, uint64_t from)
{
    const weft_test_batch *batch = c->batch;
    bool late = batch->seconds > 0 && now(CLOCK_MONOTONIC) >= c->end;
    if (from < w->last && !late) {
        start(w, from, w->last, NULL);
        return;
    }
    if (is_over(c)) return;
    uint64_t count = batch->count - c->next < PER_PROCESS ? batch->count - c->next : PER_PROCESS;
    c->next += count;
    start(w, batch->first + c->next - count, batch->first + c->next, NULL);
}

static bool wait_for_any(crew *c, unsigned jobs)
{
    struct pollfd ready[MOST_JOBS];
    unsigned count = 0;
    for (unsigned i = 0; i < jobs; i++)
        if (c->workers[i].process != 0) ready[count++] = (struct pollfd){.fd = c->workers[i].pipe, .events = POLLIN};
    if (count > 0) poll(ready, count, 500);
    return count > 0;
}

uint64_t weft_test_run_batch(const weft_test_batch *batch)
{
    crew *c = calloc(1, sizeof *c);
    if (c == NULL) abort();
    c->batch = batch;
    c->end = now(CLOCK_MONOTONIC) + batch->seconds;
    unsigned jobs = batch->jobs < 1 ? 1 : batch->jobs < MOST_JOBS ? batch->jobs : MOST_JOBS;
    for (unsigned i = 0; i < jobs; i++) employ(c, &c->workers[i], 0);
    while (wait_for_any(c, jobs))
        for (unsigned i = 0; i < jobs; i++) {
            worker *w = &c->workers[i];
            uint64_t next = 0;
            if (w->process == 0) continue;
            if (!attend(w, 0, batch, &c->tried, &next)) employ(c, w, next);
            else if (batch->seconds > 0 && now(CLOCK_MONOTONIC) >= c->end && !w->busy) stop(w);
        }
    uint64_t tried = c->tried;
    free(c);
    return tried;
}

/* ---- one ---- */

typedef struct found {
    char *problem;
    size_t size;
    bool good;
} found;

static void take(void *context, uint64_t seed, const char *problem)
{
    found *f = context;
    (void)seed;
    f->good = false;
    snprintf(f->problem, f->size, "%s", problem);
}

bool weft_test_try_apart(uint64_t seed, const char *text, char *out_problem, size_t size)
{
    worker w = {.process = 0};
    found f = {out_problem, size, true};
    weft_test_batch batch = {.find = take, .context = &f};
    uint64_t tried = 0, next;
    start(&w, seed, seed + 1, text);
    while (attend(&w, 500, &batch, &tried, &next)) continue;
    return f.good;
}
