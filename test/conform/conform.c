/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: conform FILE... [-k PART-OF-A-TITLE] [--shard I/N] [--device llvm|ref] [-a] [-b] [-c] [-q].
 * Every case of the files is run by the LLVM backend and by the oracle, and compared, for every binding of its symbols
 *  - over layouts of the inputs and of the outputs, in memory that ends and in memory that begins at a page without
 * access;
 *  - with the symbols as they are, with a specialised variant, and with their values in place of the symbols.
 * All runs on the same data give the same bits. Layouts, specialised variants and static extents take turns from case
 * to case; with -a every case has all of them. With --shard only every Nth case is run, from the Ith on. With -b each
 * case and binding runs once, and a line has a hash of its results and says whether the library for products took part.
 * With --device the same is done on a device whose memory the host cannot read and whose queues do nothing until
 * somebody waits, without threads, specialised variants and static extents; the code is that of a runtime of the CPU.
 * With --objects FOLDER it also writes objects of the programs, for --target and the levels of --isa, and records of
 * the runs. With -q code is not optimised. With -o only cases run that have an op in a kind of dtype that no case
 * before them has it in. With -c nothing runs: every built-in op must be in the files in every dtype it takes.
 */
#include "test/conform/case.h"
#include "test/conform/coverage.h"
#include "test/conform/fix.h"
#include "test/conform/record.h"
#include "test/conform/subject.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROWDS = 3 };

typedef struct suite {
    const char *only;
    bool all;     /* no turns */
    bool covered; /* nothing is run */
    bool hashed;  /* one run, whose hash is printed */
    bool once;    /* cases that bring something new */
    size_t turn;  /* counts cases */
    size_t shard, shards;
    weft_executor *executor, *crowds[CROWDS]; /* one thread; 2, 3 and 7 */
    const char *judged;                       /* name of the runtime */
    weft_test_device *device;                 /* of it; NULL: the CPU */
    weft_test_recorder *recorder;             /* NULL: nothing is recorded */
    weft_object_options object_options;
    const weft_program *recorded; /* the program of the last one; NULL: there is none of it */
    const weft_program *refused;  /* that objects cannot contain */
    size_t refusals;
    weft_test_coverage coverage;
    size_t passed, failed;
} suite;

/* One case with one binding. */
typedef struct trial {
    suite *suite;
    const weft_test_case *given;
    const weft_test_subject *subject;
    const weft_test_binding *binding;
    weft_test_tolerance tolerance;
    weft_test_place bits[WEFT_TEST_OUTPUTS]; /* results of the first run */
    bool used_library;                       /* for products */
    char what[96];
    char problem[4096];
} trial;

/* How the arrays of one run lie. */
typedef struct arrangement {
    const char *name;
    unsigned rotation; /* of the inputs' layouts */
    weft_test_layout output;
    bool pooled, at_end, specialize;
} arrangement;

static const arrangement arrangements[] = {
    {"contiguous", 0, WEFT_TEST_CONTIGUOUS, .pooled = true, .at_end = true},
    {"again", 0, WEFT_TEST_CONTIGUOUS, .pooled = false, .at_end = false},
    {"specialised", 0, WEFT_TEST_CONTIGUOUS, .pooled = false, .at_end = true, .specialize = true},
    {"layouts 1", 1, WEFT_TEST_INTERLEAVED, .pooled = false, .at_end = true},
    {"layouts 2", 2, WEFT_TEST_STEPPED, .pooled = false, .at_end = false},
    {"layouts 3", 3, WEFT_TEST_REVERSED, .pooled = false, .at_end = true},
    {"layouts 4", 4, WEFT_TEST_TRANSPOSED, .pooled = false, .at_end = false},
    {"layouts 5", 5, WEFT_TEST_CONTIGUOUS, .pooled = true, .at_end = false},
    {"layouts 6", 6, WEFT_TEST_STEPPED, .pooled = false, .at_end = true},
    {"layouts 7", 7, WEFT_TEST_INTERLEAVED, .pooled = false, .at_end = false},
};
enum { ARRANGEMENTS = sizeof arrangements / sizeof *arrangements };

/* Of threads that write between each other's elements. */
static const arrangement crowded = {"7 threads, interleaved", 0, WEFT_TEST_INTERLEAVED, .pooled = false,
                                    .at_end = true};

/* ---- outputs ---- */

typedef struct outputs {
    size_t count;
    weft_array *arrays[WEFT_TEST_OUTPUTS];     /* one reference each */
    weft_test_place places[WEFT_TEST_OUTPUTS]; /* of the caller's */
} outputs;

static void outputs_destroy(outputs *held)
{
    for (size_t i = 0; i < held->count; i++) {
        weft_array_release(held->arrays[i]);
        weft_test_place_destroy(&held->places[i]);
    }
    held->count = 0;
}

static bool outputs_create(const trial *tried, const weft_program *program, const arrangement *how, outputs *out)
{
    *out = (outputs){.count = weft_program_output_count(program)};
    for (size_t i = 0; i < out->count && !how->pooled; i++) {
        int64_t shape[WEFT_MAX_RANK];
        if (!weft_test_output_shape(program, i, tried->binding, shape)) return false;
        if (!weft_test_place_create(weft_program_output_dtype(program, i), weft_program_output_rank(program, i), shape,
                                    how->output, how->at_end, &out->places[i]))
            return false;
        out->arrays[i] = weft_array_retain(out->places[i].array);
    }
    return true;
}

/* ---- one run ---- */

static bool complain(trial *tried, const char *runtime, weft_status *status)
{
    snprintf(tried->problem, sizeof tried->problem, "%s: %s: %s", runtime, weft_code_name(weft_status_code(status)),
             status == NULL ? "no error" : weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

/* Whether `message` is the sentence of the case, in which the line of the node, " (TITLE:LINE)", is left out. */
static bool is_sentence(const weft_test_case *given, const char *message)
{
    char before[sizeof given->title + 4], whole[512];
    snprintf(before, sizeof before, " (%s:", given->title);
    const char *place = strstr(message, before), *end = place == NULL ? NULL : strchr(place + strlen(before), ')');
    if (end == NULL) return false;
    snprintf(whole, sizeof whole, "%.*s%s", (int)(place - message), message, end + 1);
    return strcmp(whole, given->fails) == 0;
}

/* Whether the run ended as the case says: with success, or with its sentence. */
static bool ended_well(trial *tried, const char *runtime, weft_status *status)
{
    if (tried->given->fails[0] == '\0') return status == NULL || complain(tried, runtime, status);
    if (weft_status_code(status) != WEFT_DATA_ERROR || !is_sentence(tried->given, weft_status_message(status)))
        return complain(tried, runtime, status);
    weft_status_destroy(status);
    return true;
}

static bool fill_inputs(const trial *tried, weft_test_inputs *inputs)
{
    char kind[64];
    for (unsigned i = 0; i < inputs->count; i++) {
        weft_test_data_find(tried->given->data, inputs->names[i], kind, sizeof kind);
        if (!weft_test_fill(inputs->places[i].array, kind, 1, i)) return false;
    }
    return true;
}

/* What the oracle says; the bound of sums too, from absolute inputs. */
static bool ask_oracle(trial *tried, const weft_test_inputs *inputs, outputs *out)
{
    weft_test_run run = {.executor = tried->suite->executor,
                         .runtime = "ref",
                         .program = tried->subject->plain,
                         .binding = tried->binding,
                         .inputs = inputs};
    *out = (outputs){.count = weft_program_output_count(run.program)};
    return ended_well(tried, run.runtime, weft_test_run_program(&run, out->count, out->arrays));
}

static bool ask_scales(trial *tried, weft_test_inputs *inputs, outputs *out)
{
    *out = (outputs){.count = 0};
    if (tried->tolerance.kind != WEFT_TEST_SUM) return true;
    for (size_t i = 0; i < inputs->count; i++) weft_test_make_absolute(inputs->places[i].array);
    bool good = ask_oracle(tried, inputs, out);
    return good && fill_inputs(tried, inputs);
}

static bool compare(trial *tried, const outputs *expected, const outputs *scales, const outputs *found)
{
    char difference[256];
    for (size_t i = 0; i < found->count; i++) {
        const weft_array *scale = scales->count > 0 ? scales->arrays[i] : NULL;
        if (weft_test_compare(expected->arrays[i], found->arrays[i], scale, tried->tolerance, difference,
                              sizeof difference) >= 0) {
            snprintf(tried->problem, sizeof tried->problem, "output %zu, %s", i, difference);
            return false;
        }
    }
    return true;
}

static bool clean(trial *tried, const outputs *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (found->places[i].array == NULL || weft_test_place_is_clean(&found->places[i])) continue;
        snprintf(tried->problem, sizeof tried->problem, "output %zu: written between its elements", i);
        return false;
    }
    return true;
}

/* Keeps the results of the first run; later ones must have their bits. */
static bool compare_bits(trial *tried, const outputs *found)
{
    for (size_t i = 0; i < found->count; i++) {
        weft_test_place *first = &tried->bits[i];
        const weft_array *array = found->arrays[i];
        if (first->array == NULL) {
            if (!weft_test_place_create(weft_array_dtype(array), weft_array_rank(array), weft_array_shape(array),
                                        WEFT_TEST_CONTIGUOUS, true, first))
                return false;
            weft_status *status = weft_array_copy(first->array, array);
            if (status != NULL) return complain(tried, "copying", status);
        } else if (!weft_test_same_bits(first->array, array)) {
            snprintf(tried->problem, sizeof tried->problem, "output %zu has other bits than in the first run", i);
            return false;
        }
    }
    return true;
}

static void notice_library(void *self, const weft_profile_record *record)
{
    trial *tried = self;
    tried->used_library |= record->kind == WEFT_PROFILE_PRODUCT;
}

/* Whether there is an object of the program. */
static bool has_object(trial *tried, const weft_program *program)
{
    suite *all = tried->suite;
    char problem[512];
    if (all->recorded == program || all->refused == program) return all->recorded == program;
    bool made = weft_test_record_program(all->recorder, program, &all->object_options, problem, sizeof problem);
    *(made ? &all->recorded : &all->refused) = program;
    if (made) return true;
    all->refusals++;
    printf("%s: %s\n", tried->given->title, problem);
    return false;
}

static void record(trial *tried, const weft_test_run *run, const outputs *found, const weft_status *status)
{
    if (tried->suite->recorder == NULL || (status != NULL && weft_status_code(status) != WEFT_DATA_ERROR)) return;
    if (!has_object(tried, run->program)) return;
    weft_test_record_run(tried->suite->recorder, run, found->count, found->arrays,
                         status == NULL ? NULL : weft_status_message(status));
}

static bool run_judged(trial *tried, weft_executor *executor, const arrangement *how, const weft_test_inputs *inputs,
                       outputs *found)
{
    const weft_profile profile = {tried, notice_library};
    weft_test_run run = {.executor = executor,
                         .profile = tried->suite->hashed ? &profile : NULL,
                         .runtime = tried->suite->judged,
                         .device = tried->suite->device,
                         .program = tried->subject->program,
                         .binding = tried->binding,
                         .inputs = inputs,
                         .specialize = how->specialize};
    if (!outputs_create(tried, run.program, how, found)) return false;
    weft_status *status = weft_test_run_program(&run, found->count, found->arrays);
    record(tried, &run, found, status);
    return ended_well(tried, run.runtime, status);
}

/* Layouts that repeat elements change the data. */
static bool same_data(const trial *tried, const arrangement *how)
{
    for (size_t i = 0; i < weft_program_input_count(tried->subject->plain); i++) {
        size_t layout = (how->rotation + i) % WEFT_TEST_LAYOUT_COUNT;
        if (how->rotation > 0 && layout >= WEFT_TEST_BROADCAST_FIRST) return false;
    }
    return true;
}

static bool run_arranged(trial *tried, weft_executor *executor, const arrangement *how, weft_test_inputs *inputs)
{
    outputs expected = {.count = 0}, scales = {.count = 0}, found = {.count = 0};
    bool fails = tried->given->fails[0] != '\0';
    bool asked = !tried->suite->hashed && (fails || how->rotation > 0 || tried->bits[0].array == NULL);
    bool good = fill_inputs(tried, inputs) &&
                (!asked || (ask_oracle(tried, inputs, &expected) && ask_scales(tried, inputs, &scales))) &&
                run_judged(tried, executor, how, inputs, &found);
    if (good && !fails)
        good = clean(tried, &found) && (!asked || compare(tried, &expected, &scales, &found)) &&
               (!same_data(tried, how) || compare_bits(tried, &found));
    outputs_destroy(&expected);
    outputs_destroy(&scales);
    outputs_destroy(&found);
    return good;
}

static void report(trial *tried, const char *name, bool good)
{
    suite *all = tried->suite;
    if (good) {
        all->passed++;
        return;
    }
    all->failed++;
    printf("FAILED %s [%s%s]: %s\n", tried->given->title, tried->what, name, tried->problem);
}

static bool run_arrangement(trial *tried, weft_executor *executor, const arrangement *how, const char *name)
{
    weft_test_inputs inputs;
    if (tried->given->fails[0] != '\0' && !same_data(tried, how)) return true;
    snprintf(tried->problem, sizeof tried->problem, "cannot be arranged");
    bool good = weft_test_inputs_create(tried->subject, tried->binding, how->rotation, how->at_end, &inputs,
                                        tried->problem, sizeof tried->problem);
    if (good) {
        good = run_arranged(tried, executor, how, &inputs);
        weft_test_inputs_destroy(&inputs);
    }
    report(tried, name, good);
    return good;
}

/* ---- one binding ---- */

static void run_crowds(trial *tried)
{
    static const char *const names[CROWDS] = {"2 threads", "3 threads", "7 threads"};
    bool wanted = tried->given->threads && tried->suite->device == NULL; /* a queue has one thread */
    for (size_t i = 0; i < CROWDS && wanted; i++)
        run_arrangement(tried, tried->suite->crowds[i], &arrangements[0], names[i]);
    if (wanted) run_arrangement(tried, tried->suite->crowds[CROWDS - 1], &crowded, crowded.name);
}

/* Whether it is the turn of an arrangement. All bindings of a case have the same layouts, whose code is made once. */
static bool is_due(const trial *tried, size_t i, bool special)
{
    const arrangement *how = &arrangements[i];
    if (tried->suite->all) return true;
    if (how->specialize)
        return tried->suite->device == NULL && special && tried->binding->count > 0 && tried->suite->turn % 2 == 0;
    return how->rotation == 0 || how->rotation == 1 + tried->suite->turn % WEFT_TEST_LAYOUT_COUNT;
}

/* Of the results of the first run. */
static uint64_t hash_bits(const trial *tried)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < WEFT_TEST_OUTPUTS && tried->bits[i].array != NULL; i++)
        hash = weft_test_hash(tried->bits[i].array, hash);
    return hash;
}

static void tell_hash(trial *tried)
{
    if (run_arrangement(tried, tried->suite->executor, &arrangements[0], arrangements[0].name))
        printf("%s [%s] %s %016llx\n", tried->given->title, tried->what, tried->used_library ? "product" : "generated",
               (unsigned long long)hash_bits(tried));
}

static void finish_trial(trial *tried)
{
    for (size_t i = 0; i < WEFT_TEST_OUTPUTS; i++) weft_test_place_destroy(&tried->bits[i]);
}

/* After one failure the others of the same kind say nothing new. */
static void run_trial(trial *tried, bool special)
{
    bool good = true;
    if (tried->suite->hashed) {
        tell_hash(tried);
        finish_trial(tried);
        return;
    }
    for (size_t i = 0; i < ARRANGEMENTS && good; i++)
        if (is_due(tried, i, special))
            good = run_arrangement(tried, tried->suite->executor, &arrangements[i], arrangements[i].name);
    if (good) run_crowds(tried);
    finish_trial(tried);
}

static void describe_binding(const weft_test_binding *binding, const char *kind, char *out_text, size_t size)
{
    int used = snprintf(out_text, size, "%s ", kind);
    for (size_t i = 0; i < binding->count && used < (int)size; i++)
        used += snprintf(out_text + used, size - (size_t)used, "%s=%lld ", binding->items[i].name,
                         (long long)binding->items[i].value);
}

static bool make_subject(suite *all, const weft_test_case *given, const char *text, weft_test_subject *out_subject)
{
    char problem[4096];
    all->recorded = all->refused = NULL;
    if (weft_test_subject_create(given->title, text, out_subject, problem, sizeof problem)) return true;
    all->failed++;
    printf("FAILED %s: %s\n", given->title, problem);
    return false;
}

static void run_bound(suite *all, const weft_test_case *given, const weft_test_subject *subject,
                      const weft_test_binding *binding, weft_test_tolerance tolerance, bool special)
{
    trial tried = {.suite = all, .given = given, .subject = subject, .binding = binding, .tolerance = tolerance};
    describe_binding(binding, "", tried.what, sizeof tried.what);
    run_trial(&tried, special);
    if (all->hashed || all->device != NULL || binding->count == 0 || !(all->all || (special && all->turn % 2 == 1)))
        return;
    weft_test_subject fixed;
    char *text = weft_test_fix_symbols(given->text, binding);
    if (make_subject(all, given, text, &fixed)) {
        tried.subject = &fixed;
        tried.binding = &(weft_test_binding){.count = 0};
        describe_binding(binding, "static", tried.what, sizeof tried.what);
        run_trial(&tried, false);
        weft_test_subject_destroy(&fixed);
        all->recorded = all->refused = NULL;
    }
    free(text);
}

/* ---- cases ---- */

static void run_case(void *context, const weft_test_case *given)
{
    suite *all = context;
    weft_test_subject subject;
    weft_test_tolerance tolerance;
    weft_test_binding binding;
    bool is_new = weft_test_coverage_add(&all->coverage, given->text);
    bool chosen = all->turn++ % all->shards == all->shard && (is_new || !all->once);
    if (all->covered || !chosen) return;
    if (all->only != NULL && strstr(given->title, all->only) == NULL) return;
    if (!weft_test_tolerance_parse(given->tolerance, &tolerance)) {
        all->failed++;
        printf("FAILED %s: no tolerance '%s'\n", given->title, given->tolerance);
        return;
    }
    if (!make_subject(all, given, given->text, &subject)) return;
    const char *cursor = given->bind;
    size_t bindings = 1, number = 0;
    for (const char *at = cursor; *at != '\0'; at++) bindings += *at == '|';
    do {
        char names[256];
        cursor = weft_test_binding_parse(cursor, &binding, names, sizeof names);
        run_bound(all, given, &subject, &binding, tolerance, number++ == all->turn % bindings);
    } while (*cursor != '\0');
    weft_test_subject_destroy(&subject);
}

static bool make_executor(unsigned threads, const weft_test_device *device, weft_code_policy code,
                          weft_executor **out_executor)
{
    const weft_executor_options options = {
        .allocator = weft_test_guarded_allocator(), .threads = threads, .buffer_capacity = 1, .code = code};
    weft_status *status = weft_executor_create_standard(&options, out_executor);
    if (status == NULL) status = weft_test_register(*out_executor);
    if (status == NULL && device != NULL)
        status = weft_executor_register_runtime(*out_executor, weft_test_device_runtime(device));
    if (status == NULL) return true;
    printf("%s\n", weft_status_message(status));
    weft_status_destroy(status);
    return false;
}

static bool read_shard(const char *text, suite *all)
{
    return sscanf(text, "%zu/%zu", &all->shard, &all->shards) == 2 && all->shard < all->shards;
}

/* A device that runs what runtime `name` compiles. */
static bool make_device(const char *name, suite *all)
{
    const weft_runtime *behind = strcmp(name, "ref") == 0 ? weft_runtime_reference() : weft_runtime_llvm();
    all->judged = "device";
    all->device = weft_test_device_create(all->judged, behind);
    return all->device != NULL;
}

static bool takes_value(const char *option)
{
    static const char *const options[] = {"-k", "--shard", "--device", "--objects", "--isa", "--target"};
    size_t i = 0;
    while (i < sizeof options / sizeof *options && strcmp(options[i], option) != 0) i++;
    return i < sizeof options / sizeof *options;
}

int main(int argc, char **argv)
{
    static const unsigned crowds[CROWDS] = {2, 3, 7};
    suite all = {.shards = 1, .judged = "llvm"};
    weft_code_policy code = WEFT_CODE_OPTIMIZED;
    const char *objects = NULL;
    bool good = true;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--objects") == 0) objects = argv[i + 1];
        if (strcmp(argv[i], "--isa") == 0) all.object_options.isa = argv[i + 1];
        if (strcmp(argv[i], "--target") == 0) all.object_options.target = argv[i + 1];
        if (strcmp(argv[i], "-k") == 0) all.only = argv[i + 1];
        if (strcmp(argv[i], "--shard") == 0) good &= read_shard(argv[i + 1], &all);
        if (strcmp(argv[i], "--device") == 0) good &= make_device(argv[i + 1], &all);
    }
    for (int i = 1; i < argc; i++) {
        all.all |= strcmp(argv[i], "-a") == 0;
        all.hashed |= strcmp(argv[i], "-b") == 0;
        all.object_options.freestanding |= strcmp(argv[i], "--freestanding") == 0;
        all.covered |= strcmp(argv[i], "-c") == 0;
        all.once |= strcmp(argv[i], "-o") == 0;
        if (strcmp(argv[i], "-q") == 0) code = WEFT_CODE_QUICK;
    }
    good = good && (objects == NULL || (all.recorder = weft_test_recorder_create(objects)) != NULL);
    good = good && make_executor(1, all.device, code, &all.executor);
    for (size_t i = 0; i < CROWDS && good; i++) good = make_executor(crowds[i], all.device, code, &all.crowds[i]);
    for (int i = 1; i < argc && good; i++) {
        if (takes_value(argv[i])) i++;
        else if (argv[i][0] != '-' && !weft_test_cases_read(argv[i], run_case, &all)) good = false;
    }
    if (good && all.covered) all.failed += weft_test_coverage_report(&all.coverage);
    for (size_t i = 0; i < CROWDS; i++) weft_executor_destroy(all.crowds[i]);
    weft_executor_destroy(all.executor);
    weft_test_device_destroy(all.device);
    if (all.recorder != NULL) {
        good &= weft_test_recorder_finish(all.recorder);
        printf("%zu programs without object\n", all.refusals);
    }
    printf("%zu runs agree, %zu do not\n", all.passed, all.failed);
    return good && all.failed == 0 ? 0 : 1;
}
