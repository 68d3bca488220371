/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/build/schedules.h"
#include <inttypes.h>
#include <string.h>
#include <weft/inspect.h>
#include "lib/build/build.h"
#include "lib/text/text.h"
#include "runtime/base/status.h"

/* ---- what is kept ---- */

weft_status *weft_schedules_create(const weft_allocator *allocator, weft_schedules **out_schedules)
{
    WEFT_REQUIRE(out_schedules);
    allocator = weft_allocator_or_default(allocator);
    weft_schedules *schedules = weft_allocate_zeroed(allocator, sizeof *schedules);
    if (schedules == NULL) return weft_status_out_of_memory();
    schedules->allocator = allocator;
    weft_map_init(&schedules->moves, allocator);
    *out_schedules = schedules;
    return NULL;
}

static void destroy_moves(void *moves)
{
    weft_text_destroy(moves);
}

void weft_schedules_destroy(weft_schedules *schedules)
{
    if (schedules == NULL) return;
    weft_map_finish(&schedules->moves, destroy_moves);
    weft_free(schedules->allocator, schedules, sizeof *schedules);
}

size_t weft_schedules_count(const weft_schedules *schedules)
{
    return schedules == NULL ? 0 : weft_map_count(&schedules->moves);
}

weft_status *weft_schedules_keep(weft_schedules *schedules, uint64_t key, const char *moves)
{
    char *copy;
    WEFT_TRY(weft_text_create(schedules->allocator, moves, strlen(moves), &copy));
    weft_text_destroy(weft_map_remove(&schedules->moves, &key, sizeof key));
    if (weft_map_insert(&schedules->moves, &key, sizeof key, copy)) return NULL;
    weft_text_destroy(copy);
    return weft_status_out_of_memory();
}

/* ---- applying ---- */

static weft_status *find_key(const weft_kernel *kernel, uint64_t *out_key)
{
    weft_bytes text;
    weft_bytes_init(&text, kernel->arena.allocator);
    weft_status *status = weft_kernel_key(kernel, &text);
    if (status == NULL) *out_key = weft_hash(text.data, text.size);
    weft_bytes_finish(&text);
    return status;
}

static weft_status *apply_moves(weft_kernel *kernel, const weft_machine *machine, const char *moves)
{
    weft_schedule schedule;
    weft_schedule_init(&schedule, kernel->arena.allocator);
    weft_status *status = weft_schedule_parse("schedule", moves, &schedule);
    if (status == NULL) status = weft_schedule_apply(kernel, &schedule, machine);
    weft_schedule_finish(&schedule);
    return status;
}

weft_status *weft_schedules_apply(const weft_schedules *schedules, weft_kernel *kernel, const weft_machine *machine,
                                  uint64_t *out_key)
{
    const char *moves = NULL;
    *out_key = 0;
    if (schedules == NULL || machine->device != WEFT_DEVICE_CPU) return weft_kernel_schedule(kernel, machine);
    WEFT_TRY(find_key(kernel, out_key));
    if (schedules->choose != NULL) WEFT_TRY(schedules->choose(schedules->self, *out_key, kernel, machine, &moves));
    else moves = weft_map_find(&schedules->moves, out_key, sizeof *out_key);
    return moves == NULL ? weft_kernel_schedule(kernel, machine) : apply_moves(kernel, machine, moves);
}

/* ---- given by hand ---- */

typedef struct wanted {
    weft_schedules *schedules;
    size_t kernel, count;
    const char *moves;
} wanted;

static weft_status *keep_wanted(void *context, const weft_kernel_view *view)
{
    wanted *g = context;
    weft_kernel *clone;
    uint64_t key;
    if (g->count++ != g->kernel) return NULL;
    WEFT_TRY(find_key(view->expanded, &key));
    WEFT_TRY(weft_kernel_clone(view->expanded, &clone));
    weft_status *status = apply_moves(clone, weft_machine_host(), g->moves);
    weft_kernel_destroy(clone);
    return status == NULL ? weft_schedules_keep(g->schedules, key, g->moves) : status;
}

weft_status *weft_schedules_set(weft_schedules *schedules, const weft_program *program, size_t kernel,
                                const char *moves)
{
    WEFT_REQUIRE(schedules);
    WEFT_REQUIRE(program);
    WEFT_REQUIRE(moves);
    wanted g = {schedules, kernel, 0, moves};
    WEFT_TRY(weft_status_locate(weft_program_visit_kernels(program, weft_machine_host(), NULL, keep_wanted, &g),
                                "weft_schedules_set"));
    if (kernel < g.count) return NULL;
    return weft_status_create(schedules->allocator, WEFT_OUT_OF_RANGE, "weft_schedules_set",
                              "there is no kernel %zu; the number of the program's kernels is %zu", kernel, g.count);
}

/* ---- text ---- */

static void print_entry(void *context, const void *key, size_t key_size, void *value)
{
    weft_bytes *text = context;
    uint64_t number;
    (void)key_size;
    memcpy(&number, key, sizeof number);
    weft_bytes_print(text, "kernel \"%016" PRIx64 "\" ", number);
    weft_text_print_string(text, value, strlen(value));
    weft_bytes_append(text, "\n", 1);
}

/* What schedules depend on besides their kernel. */
static weft_status *print_target(weft_bytes *out_text)
{
    const char *target;
    WEFT_TRY(weft_emit_target(&target));
    weft_bytes_print(out_text, "weft %d.%d.%d, %s", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, target);
    return weft_bytes_status(out_text);
}

weft_status *weft_schedules_text(const weft_schedules *schedules, char **out_text)
{
    WEFT_REQUIRE(schedules);
    WEFT_REQUIRE(out_text);
    weft_bytes text, target;
    weft_bytes_init(&text, schedules->allocator);
    weft_bytes_init(&target, schedules->allocator);
    weft_status *status = print_target(&target);
    if (status == NULL) {
        weft_bytes_print(&text, "schedules " WEFT_TEXT_VERSION "\ntarget ");
        weft_text_print_string(&text, target.data, target.size);
        weft_bytes_append(&text, "\n", 1);
        weft_map_visit(&schedules->moves, print_entry, &text);
        status = weft_bytes_status(&text);
    }
    if (status == NULL) status = weft_text_create(schedules->allocator, text.data, text.size, out_text);
    weft_bytes_finish(&text);
    weft_bytes_finish(&target);
    return status;
}

static weft_status *parse_version(weft_lexer *lexer)
{
    weft_token version;
    WEFT_TRY(weft_lexer_expect(lexer, "schedules"));
    WEFT_TRY(weft_lexer_take(lexer, WEFT_TOKEN_REAL, "the version " WEFT_TEXT_VERSION, &version));
    if (version.length == strlen(WEFT_TEXT_VERSION) && memcmp(version.start, WEFT_TEXT_VERSION, version.length) == 0)
        return NULL;
    return weft_lexer_error(lexer, version.start, WEFT_VERSION_MISMATCH,
                            "the text is of version %.*s, this library reads " WEFT_TEXT_VERSION,
                            version.length < 40 ? (int)version.length : 40, version.start);
}

static weft_status *parse_target(weft_lexer *lexer, const weft_schedules *schedules, bool *out_foreign)
{
    weft_bytes given, target;
    weft_bytes_init(&given, schedules->allocator);
    weft_bytes_init(&target, schedules->allocator);
    weft_status *status = weft_lexer_expect(lexer, "target");
    if (status == NULL) status = weft_lexer_take_string(lexer, "the target", &given);
    if (status == NULL) status = print_target(&target);
    *out_foreign = status == NULL && (given.size != target.size || memcmp(given.data, target.data, given.size) != 0);
    weft_bytes_finish(&given);
    weft_bytes_finish(&target);
    return status;
}

static weft_status *read_key(const weft_lexer *lexer, const char *at, const weft_bytes *text, uint64_t *out_key)
{
    uint64_t key = 0;
    size_t digits = 0;
    for (; digits < text->size; digits++) {
        static const char all[] = "0123456789abcdef";
        const char *found = memchr(all, text->data[digits], sizeof all - 1);
        if (found == NULL) break;
        key = key << 4 | (uint64_t)(found - all);
    }
    *out_key = key;
    if (digits == 16 && text->size == 16) return NULL;
    return weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "the key of a kernel has 16 hexadecimal digits");
}

/* An error within a string, with the place of the string. Takes `status`. */
static weft_status *locate(const weft_lexer *lexer, const char *at, weft_status *status)
{
    if (weft_status_code(status) != WEFT_PARSE_ERROR) return status;
    weft_status *located = weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "%s", weft_status_message(status));
    weft_status_destroy(status);
    return located;
}

/* A line "kernel KEY MOVES"; the moves must be a schedule, whatever kernel it is for. */
static weft_status *parse_entry(weft_lexer *lexer, weft_schedules *out_schedules)
{
    weft_bytes key, moves;
    uint64_t number;
    weft_schedule schedule;
    weft_bytes_init(&key, out_schedules->allocator);
    weft_bytes_init(&moves, out_schedules->allocator);
    weft_schedule_init(&schedule, out_schedules->allocator);
    weft_status *status = weft_lexer_expect(lexer, "kernel");
    const char *at = lexer->token.start;
    if (status == NULL) status = weft_lexer_take_string(lexer, "the key of a kernel", &key);
    if (status == NULL) status = read_key(lexer, at, &key, &number);
    at = lexer->token.start;
    if (status == NULL) status = weft_lexer_take_string(lexer, "a schedule", &moves);
    if (status == NULL) weft_bytes_append(&moves, "", 1);
    if (status == NULL) status = weft_bytes_status(&moves);
    if (status == NULL && strlen(moves.data) + 1 != moves.size)
        status = weft_lexer_error(lexer, at, WEFT_PARSE_ERROR, "there is a NUL in the schedule");
    if (status == NULL) status = locate(lexer, at, weft_schedule_parse("schedule", moves.data, &schedule));
    if (status == NULL) status = weft_schedules_keep(out_schedules, number, moves.data);
    weft_schedule_finish(&schedule);
    weft_bytes_finish(&key);
    weft_bytes_finish(&moves);
    return status;
}

typedef struct transfer {
    weft_schedules *to;
    weft_status *status;
} transfer;

static void move_entry(void *context, const void *key, size_t key_size, void *value)
{
    transfer *t = context;
    uint64_t number;
    (void)key_size;
    memcpy(&number, key, sizeof number);
    if (t->status == NULL) t->status = weft_schedules_keep(t->to, number, value);
}

static weft_status *parse(weft_schedules *read, weft_schedules *schedules, const char *name, const char *text,
                          bool *out_foreign)
{
    weft_lexer lexer;
    weft_lexer_init(&lexer, schedules->allocator, name, text);
    WEFT_TRY(parse_version(&lexer));
    WEFT_TRY(parse_target(&lexer, schedules, out_foreign));
    while (lexer.token.kind != WEFT_TOKEN_END) WEFT_TRY(parse_entry(&lexer, read));
    transfer t = {schedules, NULL};
    if (!*out_foreign) weft_map_visit(&read->moves, move_entry, &t);
    return t.status;
}

weft_status *weft_schedules_parse(weft_schedules *schedules, const char *name, const char *text, size_t length,
                                  bool *out_foreign)
{
    WEFT_REQUIRE(schedules);
    WEFT_REQUIRE(name);
    WEFT_REQUIRE(text);
    bool foreign = false;
    char *copy = NULL;
    weft_schedules *read = NULL;
    weft_status *status = weft_text_create(schedules->allocator, text, length, &copy);
    if (status == NULL && strlen(copy) != length)
        status = weft_status_create(schedules->allocator, WEFT_PARSE_ERROR, "weft_schedules_parse",
                                    "%s: byte %zu is NUL", name, strlen(copy));
    if (status == NULL) status = weft_schedules_create(schedules->allocator, &read);
    if (status == NULL) status = parse(read, schedules, name, copy, &foreign);
    weft_schedules_destroy(read);
    weft_text_destroy(copy);
    if (out_foreign != NULL) *out_foreign = foreign;
    return weft_status_locate(status, __func__);
}
