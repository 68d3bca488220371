/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/options.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <weft/executor.h>
#include "runtime/program/program.h"

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

/* ---- levels ---- */

static weft_status *add_level(weft_object_plan *plan, const weft_allocator *allocator, const char *text, size_t length)
{
    if (length == strlen("native") && strncmp(text, "native", length) == 0 && weft_isa_level() >= WEFT_ISA_V2) {
        plan->levels[weft_isa_level()] = true;
        return NULL;
    }
    for (int level = WEFT_ISA_V2; level <= WEFT_ISA_V4; level++) {
        const char *name = weft_isa_level_name((weft_isa)level);
        if (strlen(name) != length || strncmp(name, text, length) != 0) continue;
        plan->levels[level] = true;
        return NULL;
    }
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                              "isa \"%.*s\" is none of x86-64-v2, x86-64-v3, x86-64-v4 and native", (int)length, text);
}

static weft_status *find_levels(weft_object_plan *plan, const weft_allocator *allocator, const char *isa)
{
    const char *at = isa == NULL ? "x86-64-v3" : isa;
    for (;;) {
        size_t length = strcspn(at, ",");
        WEFT_TRY(add_level(plan, allocator, at, length));
        at += length;
        if (*at++ == '\0') break;
    }
    for (int level = WEFT_ISA_V2; level <= WEFT_ISA_V4; level++)
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
    bool is_number = errno == 0 && strchr("-0123456789", at[name_length + 1]) != NULL;
    if (!is_number || end != at + length || end == at + name_length + 1 || value < info->min || value > info->max ||
        given[symbol])
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "extents \"%s\": \"%.*s\" is not one value from %" PRId64 " to %" PRId64, text,
                                  (int)length, at, info->min, info->max);
    values[symbol] = value;
    given[symbol] = true;
    return NULL;
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
    return NULL;
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
    WEFT_TRY(find_levels(plan, allocator, known.isa));
    if (plan->freestanding && plan->levels[WEFT_ISA_V2])
        return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                                  "x86-64-v2 has no fma: a freestanding object is for x86-64-v3 or x86-64-v4");
    return find_extents(plan, allocator, program, known.extents);
}

void weft_object_plan_finish(weft_object_plan *plan)
{
    weft_bytes_finish(&plan->isa);
    weft_arena_finish(&plan->arena);
}
