/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/options.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <weft/executor.h>
#include "runtime/program/program.h"
#include "runtime/run/call.h"

static const char where[] = "weft_object_create";

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
                              "the name \"%s\" is no C identifier of 1 to %d letters", name, LONGEST);
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
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where, "target \"%s\" is neither %s nor %s", target,
                              targets[WEFT_X86_64].name, targets[WEFT_AARCH64].name);
}

/* ---- levels ---- */

/* WEFT_ISA_COUNT: of no level that code is generated for. */
static weft_isa find_level(const char *text, size_t length)
{
    int level = weft_isa_level();
    if (length == strlen("native") && strncmp(text, "native", length) == 0 &&
        weft_isa_describe((weft_isa)level)->generated)
        return (weft_isa)level;
    for (level = 0; level < WEFT_ISA_COUNT; level++) {
        const weft_isa_row *row = weft_isa_describe((weft_isa)level);
        if (row->generated && strlen(row->name) == length && strncmp(row->name, text, length) == 0) break;
    }
    return (weft_isa)level;
}

static weft_status *refuse_level(const weft_object_plan *plan, const weft_allocator *allocator, const char *text,
                                 size_t length)
{
    bool here = plan->architecture == architecture_of(weft_isa_level());
    weft_bytes list;
    weft_bytes_init(&list, allocator);
    weft_isa_list(plan->architecture, &list);
    weft_status *status = weft_bytes_status(&list);
    if (status == NULL)
        status = weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                    "isa \"%.*s\" is none of %s%s, the levels of target %s", (int)length, text,
                                    list.data, here ? " and native" : "", plan->target);
    weft_bytes_finish(&list);
    return status;
}

static weft_status *find_levels(weft_object_plan *plan, const weft_allocator *allocator, const char *isa)
{
    const char *at = isa == NULL ? weft_isa_level_name(targets[plan->architecture].level) : isa;
    for (;;) {
        size_t length = strcspn(at, ",");
        weft_isa level = find_level(at, length);
        if (level == WEFT_ISA_COUNT || architecture_of(level) != plan->architecture)
            return refuse_level(plan, allocator, at, length);
        plan->levels[level] = true;
        at += length;
        if (*at++ == '\0') break;
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

/* "n=64" up to a comma, a semicolon or the end. */
static weft_status *read_value(const weft_allocator *allocator, const weft_program *program, const char *text,
                               const char *at, size_t length, int64_t *values, bool *given)
{
    const weft_formulas *formulas = &program->formulas;
    char name[256], *end;
    size_t name_length = strcspn(at, "=");
    if (name_length >= length || name_length >= sizeof name)
        return refuse(allocator, text, "they are NAME=VALUE between commas, groups of them between semicolons");
    memcpy(name, at, name_length);
    name[name_length] = '\0';
    size_t symbol = weft_formulas_find_symbol(formulas, name);
    for (size_t i = 0; i < program->idle_count && symbol == SIZE_MAX; i++)
        if (strcmp(program->idle[i].name, name) == 0) return NULL; /* nothing depends on it */
    if (symbol == SIZE_MAX)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": the program has no symbol %s", text, name);
    const weft_symbol_info *info = &formulas->symbols[symbol];
    errno = 0;
    int64_t value = strtoll(at + name_length + 1, &end, 10);
    if (given[symbol])
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": a group has two values for symbol %s", text, name);
    bool is_number = errno == 0 && strchr("-0123456789", at[name_length + 1]) != NULL;
    if (!is_number || end != at + length || end == at + name_length + 1 || value < info->min || value > info->max)
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": \"%.*s\" is not one value from %" PRId64 " to %" PRId64, text,
                                  (int)length, at, info->min, info->max);
    values[symbol] = value;
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

static weft_status *read_group(weft_object_plan *plan, const weft_allocator *allocator, const weft_program *program,
                               const char *text, const char *at, size_t length)
{
    const weft_formulas *formulas = &program->formulas;
    int64_t *values = weft_arena_allocate(&plan->arena, (formulas->symbol_count + 1) * sizeof *values);
    bool *given = weft_arena_allocate(&plan->arena, formulas->symbol_count + 1);
    if (values == NULL || given == NULL) return weft_status_out_of_memory();
    memset(given, 0, formulas->symbol_count);
    for (const char *end = at + length; at < end;) {
        size_t one = strcspn(at, ",;");
        WEFT_TRY(read_value(allocator, program, text, at, one, values, given));
        at += one;
        if (at < end && ++at == end) return refuse(allocator, text, "a group ends with a comma");
    }
    for (size_t i = 0; i < formulas->symbol_count; i++)
        if (!given[i])
            return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                      "extents \"%s\": a group has no value for symbol %s", text,
                                      formulas->symbols[i].name);
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
        size_t length = strcspn(at, ";");
        WEFT_TRY(read_group(plan, allocator, program, text, at, length));
        at += length;
        if (*at == '\0') return NULL;
    }
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
    return find_extents(plan, allocator, program, known.extents);
}

void weft_object_plan_finish(weft_object_plan *plan)
{
    weft_bytes_finish(&plan->isa);
    weft_arena_finish(&plan->arena);
}
