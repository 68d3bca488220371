/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/options.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <weft/executor.h>
#include <weft/schedules.h>
#include "runtime/program/program.h"
#include "runtime/run/call.h"

static const char where[] = "weft_object_create";

/* A part of a list, without the spaces around it. */
typedef struct part {
    const char *at;
    int length;
} part;

static part trim(const char *at, size_t length)
{
    while (length > 0 && *at == ' ') {
        at++;
        length--;
    }
    while (length > 0 && at[length - 1] == ' ') length--;
    return (part){at, (int)length};
}

/* The one from `*at` to a separator or the end, which `*at` moves to. */
static part take_part(const char **at, const char *separators)
{
    const char *begin = *at;
    size_t length = strcspn(begin, separators);
    *at += length;
    return trim(begin, length);
}

static bool is_part(part p, const char *text)
{
    return strlen(text) == (size_t)p.length && strncmp(p.at, text, strlen(text)) == 0;
}

/* ---- name ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static weft_status *check_name(const weft_allocator *allocator, const char *name)
{
    enum { LONGEST = 64 };
    if (name == NULL) return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "the name is NULL");
    size_t length = strlen(name), good = 0;
    while (good < length && (is_letter(name[good]) || (good > 0 && name[good] >= '0' && name[good] <= '9'))) good++;
    if (strncmp(name, "weft_", strlen("weft_")) == 0)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "the name \"%s\" begins as those of weft itself", name);
    if (length > 0 && length <= LONGEST && good == length) return NULL;
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                              "the name \"%s\" is no C identifier of 1 to %d characters", name, LONGEST);
}

/* ---- target ---- */

static const struct {
    const char *name, *with_vendor;
    weft_isa level; /* unless others are asked for */
} targets[] = {
    [WEFT_X86_64] = {"x86_64-linux-gnu", "x86_64-unknown-linux-gnu", WEFT_ISA_V3},
    [WEFT_AARCH64] = {"aarch64-linux-gnu", "aarch64-unknown-linux-gnu", WEFT_ISA_ARMV8A},
};

static weft_architecture architecture_of(weft_isa level)
{
    return weft_isa_describe(level)->architecture;
}

/* The target of the architecture that `target` begins with, by any of its names; or NULL. */
static const char *meant_target(const char *target)
{
    static const struct {
        const char *name;
        weft_architecture architecture;
    } names[] = {{"x86_64", WEFT_X86_64},   {"x86-64", WEFT_X86_64}, {"amd64", WEFT_X86_64},
                 {"aarch64", WEFT_AARCH64}, {"arm64", WEFT_AARCH64}, {"armv8", WEFT_AARCH64}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(names[i].name, target, strlen(names[i].name)) == 0) return targets[names[i].architecture].name;
    return NULL;
}

static weft_status *find_target(weft_object_plan *plan, const weft_allocator *allocator, const char *target)
{
    plan->architecture = architecture_of(weft_isa_level());
    plan->target = targets[plan->architecture].name;
    if (target == NULL) return NULL;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].name, target) != 0 && strcmp(targets[i].with_vendor, target) != 0) continue;
        plan->architecture = (weft_architecture)i;
        plan->target = targets[i].name;
        return NULL;
    }
    const char *meant = meant_target(target);
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "target \"%s\" is neither %s nor %s%s%s%s",
                              target, targets[WEFT_X86_64].name, targets[WEFT_AARCH64].name,
                              meant == NULL ? "" : "; did you mean ", meant == NULL ? "" : meant,
                              meant == NULL ? "" : "?");
}

/* ---- levels ---- */

static bool is_generated(weft_isa level, weft_architecture architecture)
{
    return weft_isa_describe(level)->generated && architecture_of(level) == architecture;
}

/* WEFT_ISA_COUNT: none that code for the target is generated for. */
static weft_isa find_level(const weft_object_plan *plan, part name)
{
    int level = weft_isa_level();
    if (is_part(name, "native") && is_generated((weft_isa)level, plan->architecture)) return (weft_isa)level;
    for (level = 0; level < WEFT_ISA_COUNT; level++)
        if (is_generated((weft_isa)level, plan->architecture) && is_part(name, weft_isa_level_name((weft_isa)level)))
            break;
    return (weft_isa)level;
}

static weft_status *refuse_level(const weft_object_plan *plan, const weft_allocator *allocator, part name)
{
    bool here = plan->architecture == architecture_of(weft_isa_level());
    size_t count = 0;
    weft_bytes list;
    weft_bytes_init(&list, allocator);
    weft_isa_list(plan->architecture, &list);
    weft_status *status = weft_bytes_status(&list);
    for (int level = 0; level < WEFT_ISA_COUNT; level++) count += is_generated((weft_isa)level, plan->architecture);
    if (status == NULL)
        status = weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                    count == 1 && !here ? "isa \"%.*s\" is not %s%s, the only level of target %s"
                                                        : "isa \"%.*s\" is none of %s%s, the levels of target %s",
                                    name.length, name.at, list.data, here ? " and native" : "", plan->target);
    weft_bytes_finish(&list);
    return status;
}

/* That the list has the name once; "native" may be one of its levels. */
static weft_status *check_repeated(const weft_allocator *allocator, const char *list, part name)
{
    for (const char *at = list; at < name.at; at++) {
        part earlier = take_part(&at, ",");
        if (earlier.at != name.at && earlier.length == name.length &&
            strncmp(earlier.at, name.at, (size_t)name.length) == 0)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "isa \"%s\" has %.*s twice", list,
                                      name.length, name.at);
    }
    return NULL;
}

static weft_status *find_levels(weft_object_plan *plan, const weft_allocator *allocator, const char *isa)
{
    const char *list = isa == NULL ? weft_isa_level_name(targets[plan->architecture].level) : isa;
    for (const char *at = list;; at++) {
        part name = take_part(&at, ",");
        weft_isa level = find_level(plan, name);
        if (level == WEFT_ISA_COUNT) return refuse_level(plan, allocator, name);
        WEFT_TRY(check_repeated(allocator, list, name));
        plan->levels[level] = true;
        if (*at == '\0') break;
    }
    for (int level = 0; level < WEFT_ISA_COUNT; level++)
        if (plan->levels[level])
            weft_bytes_print(&plan->isa, "%s%s", plan->isa.size > 0 ? "," : "", weft_isa_level_name((weft_isa)level));
    return weft_bytes_status(&plan->isa);
}

/* ---- extents ---- */

static weft_status *refuse(const weft_allocator *allocator, const char *text, const char *reason)
{
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "extents \"%s\": %s", text, reason);
}

/* Of the symbols of the program and then the idle ones, which nothing depends on; their count for another name. */
static size_t find_symbol(const weft_program *program, part name)
{
    const weft_formulas *formulas = &program->formulas;
    size_t symbol = 0;
    while (symbol < formulas->symbol_count && !is_part(name, formulas->symbols[symbol].name)) symbol++;
    if (symbol < formulas->symbol_count) return symbol;
    for (size_t i = 0; i < program->idle_count && !is_part(name, program->idle[i].name); i++) symbol++;
    return symbol;
}

static bool read_number(part text, int64_t *out_value)
{
    char *end;
    if (text.length == 0 || strchr("-0123456789", *text.at) == NULL) return false;
    errno = 0;
    *out_value = strtoll(text.at, &end, 10);
    return errno == 0 && end == text.at + text.length;
}

/* "n=64" */
static weft_status *read_value(const weft_allocator *allocator, const weft_program *program, const char *text, part one,
                               int64_t *values, bool *given)
{
    const weft_formulas *formulas = &program->formulas;
    const char *equals = memchr(one.at, '=', (size_t)one.length);
    if (equals == NULL)
        return refuse(allocator, text, "they are NAME=VALUE between commas, groups of them between semicolons");
    part name = trim(one.at, (size_t)(equals - one.at));
    part number = trim(equals + 1, (size_t)(one.at + one.length - equals - 1));
    size_t symbol = find_symbol(program, name);
    if (symbol == formulas->symbol_count + program->idle_count)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": the program has no symbol %.*s", text, name.length, name.at);
    if (given[symbol])
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": a group has two values for symbol %.*s", text, name.length, name.at);
    const weft_symbol_info *info =
        symbol < formulas->symbol_count ? &formulas->symbols[symbol] : &program->idle[symbol - formulas->symbol_count];
    if (!read_number(number, &values[symbol]) || values[symbol] < info->min || values[symbol] > info->max)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": \"%.*s\" is not one value from %" PRId64 " to %" PRId64, text,
                                  one.length, one.at, info->min, info->max);
    given[symbol] = true;
    return NULL;
}

/* That a call could have these sizes: what depends on them can be computed, and every guard holds. */
static weft_status *check_group(const weft_allocator *allocator, const weft_program *program, const char *text,
                                const int64_t *values)
{
    const weft_formulas *formulas = &program->formulas;
    size_t arrays = program->input_count + program->output_count;
    weft_arena arena;
    weft_arena_init(&arena, allocator);
    weft_binding *extents = weft_arena_allocate(&arena, (formulas->symbol_count + 1) * sizeof *extents);
    weft_array **none = weft_arena_allocate(&arena, (arrays + 1) * sizeof(weft_array *));
    int64_t *room = weft_arena_allocate(&arena, (formulas->symbol_count + formulas->count + 1) * sizeof *room);
    weft_status *status = weft_status_out_of_memory();
    if (extents != NULL && none != NULL && room != NULL) {
        for (size_t i = 0; i < arrays; i++) none[i] = NULL;
        for (size_t i = 0; i < formulas->symbol_count; i++)
            extents[i] = (weft_binding){formulas->symbols[i].name, values[i]};
        const weft_run run = {.input_count = program->input_count,
                              .inputs = none,
                              .output_count = program->output_count,
                              .outputs = none + program->input_count,
                              .extent_count = formulas->symbol_count,
                              .extents = extents};
        const weft_call call = {.program = (weft_program *)(uintptr_t)program, .run = &run};
        status = weft_call_bind(allocator, &call, room, room + formulas->symbol_count);
    }
    weft_arena_finish(&arena);
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status *refused = refuse(allocator, text, weft_status_message(status));
    weft_status_destroy(status);
    return refused;
}

/* That its values are none of those of earlier groups. */
static weft_status *check_new(const weft_object_plan *plan, const weft_allocator *allocator,
                              const weft_program *program, const char *text, part group, const int64_t *values)
{
    size_t size = program->formulas.symbol_count * sizeof *values;
    for (size_t i = 0; i < plan->specialized_count; i++)
        if (memcmp(plan->specialized[i], values, size) == 0)
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "extents \"%s\": the group \"%.*s\" has the sizes of an earlier one", text,
                                      group.length, group.at);
    return NULL;
}

static weft_status *read_group(weft_object_plan *plan, const weft_allocator *allocator, const weft_program *program,
                               const char *text, part group)
{
    const weft_formulas *formulas = &program->formulas;
    size_t count = formulas->symbol_count + program->idle_count;
    int64_t *values = weft_arena_allocate(&plan->arena, (count + 1) * sizeof *values);
    bool *given = weft_arena_allocate(&plan->arena, count + 1);
    if (values == NULL || given == NULL) return weft_status_out_of_memory();
    memset(given, 0, count);
    for (const char *at = group.at, *end = at + group.length; at < end;) {
        part one = take_part(&at, ",;");
        WEFT_TRY(read_value(allocator, program, text, one, values, given));
        if (at < end && ++at == end) return refuse(allocator, text, "a group ends with a comma");
    }
    for (size_t i = 0; i < formulas->symbol_count; i++)
        if (!given[i])
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "extents \"%s\": a group has no value for symbol %s", text,
                                      formulas->symbols[i].name);
    WEFT_TRY(check_new(plan, allocator, program, text, group, values));
    plan->specialized[plan->specialized_count++] = values;
    return check_group(allocator, program, text, values);
}

static weft_status *find_extents(weft_object_plan *plan, const weft_allocator *allocator, const weft_program *program,
                                 const char *text)
{
    size_t groups = 1;
    if (text == NULL) return NULL;
    for (const char *at = text; *at != '\0'; at++) groups += *at == ';';
    plan->specialized = weft_arena_allocate(&plan->arena, groups * sizeof *plan->specialized);
    if (plan->specialized == NULL) return weft_status_out_of_memory();
    for (const char *at = text;; at++) {
        WEFT_TRY(read_group(plan, allocator, program, text, take_part(&at, ";")));
        if (*at == '\0') return NULL;
    }
}

/* ---- schedules ---- */

/* Found on this machine, they are for its level alone: others have vectors of other lengths. */
static weft_status *find_schedules(weft_object_plan *plan, const weft_allocator *allocator,
                                   const weft_schedules *schedules)
{
    weft_isa level = weft_isa_level();
    if (weft_schedules_count(schedules) == 0) return NULL;
    plan->schedules[level] = schedules;
    if (plan->levels[level]) return NULL;
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                              "the schedules are for %s, the level of this process, and the object is for %s",
                              weft_isa_level_name(level), plan->isa.data);
}

/* ---- all ---- */

/* What the caller's version of the struct has; the rest is zero. */
static weft_object_options options_of(const weft_object_options *options)
{
    weft_object_options known = {0};
    memcpy(&known, options, options->size == 0 || options->size > sizeof known ? sizeof known : options->size);
    return known;
}

weft_status *weft_object_plan_init(weft_object_plan *plan, const weft_program *program,
                                   const weft_object_options *options)
{
    const weft_allocator *allocator = program->allocator;
    const weft_object_options known = options_of(options);
    *plan =
        (weft_object_plan){.name = known.name, .weights_file = known.weights_file, .freestanding = known.freestanding};
    weft_arena_init(&plan->arena, allocator);
    weft_bytes_init(&plan->isa, allocator);
    WEFT_TRY(check_name(allocator, known.name));
    WEFT_TRY(find_target(plan, allocator, known.target));
    WEFT_TRY(find_levels(plan, allocator, known.isa));
    WEFT_TRY(find_schedules(plan, allocator, known.schedules));
    return find_extents(plan, allocator, program, known.extents);
}

void weft_object_plan_finish(weft_object_plan *plan)
{
    weft_bytes_finish(&plan->isa);
    weft_arena_finish(&plan->arena);
}
