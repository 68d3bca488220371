/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of public tracing functions: their arguments as options and operands. */
#include <string.h>
#include "lib/eager/pack.h"
#include "lib/trace/trace.h"
#include "runtime/base/status.h"

/* A place that the caller has for results: from `first` on. */
struct output {
    weft_eager_array **place;
    size_t first, count;
};

struct application {
    weft_eager_packing packing;
    size_t result_count, output_count;
    struct output outputs[2];
};

/* ---- results ---- */

static void add_output(struct application *a, const weft_eager_argument *argument, size_t first, size_t count)
{
    if (argument->kind != WEFT_EAGER_RESULTS || count == 0) return;
    a->outputs[a->output_count++] = (struct output){argument->value.results, first, count};
    a->result_count = first + count;
    for (size_t i = 0; i < count; i++) argument->value.results[i] = NULL;
}

/* How many there are of what the argument lists or counts; 0 if it is wrong. */
static size_t listed_by(const weft_eager_argument *argument)
{
    bool is_list = argument->kind == WEFT_EAGER_LIST || argument->kind == WEFT_EAGER_SHAPE;
    if (is_list) return argument->count == SIZE_MAX ? 0 : argument->count;
    bool counts = (argument->kind == WEFT_EAGER_UNSIGNED || argument->kind == WEFT_EAGER_SIGNED) &&
                  argument->value.natural <= INT32_MAX;
    return counts ? argument->value.natural : 0;
}

/* Of the letter of options: how many arguments after them are their tensors. */
static size_t count_tensors(const weft_eager_packing *p, size_t number, char letter)
{
    const weft_eager_struct *options = weft_eager_struct_find(letter);
    size_t most = options == NULL ? 0 : weft_eager_struct_tensors(options), count = 0;
    while (count < most && number + count < p->count && weft_eager_argument_is_array(&p->arguments[number + count]))
        count++;
    return count;
}

static bool has_outputs(const weft_eager_packing *p)
{
    size_t i = 0;
    while (i < p->count && p->arguments[i].kind != WEFT_EAGER_RESULTS) i++;
    return i < p->count;
}

/* Where results go; NULL for now: a call that fails leaves nothing there that could be mistaken for one. */
static void find_outputs(struct application *a, const char *taken)
{
    const weft_eager_packing *p = &a->packing;
    size_t listed = 0;
    for (size_t i = 0; *taken != '\0' && i < p->count; taken++) {
        const weft_eager_argument *argument = &p->arguments[i++];
        switch (*taken) {
        case 'z':
        case 's':
        case 'X': listed = listed_by(argument); break;
        case 'O': add_output(a, argument, a->result_count, 1); break;
        case 'Q': add_output(a, argument, a->result_count, listed); break;
        case 'R': add_output(a, argument, 0, listed); break;
        default: i += count_tensors(p, i, *taken); break;
        }
    }
}

/* Gives the caller those that it has a place for; the first is also returned. */
static void give_results(const struct application *a, weft_eager_array *const *results)
{
    for (size_t i = 0; i < a->output_count; i++) {
        const struct output *output = &a->outputs[i];
        for (size_t k = 0; k < output->count; k++) output->place[k] = results[output->first + k];
    }
}

/* ---- parameters ---- */

/* Numbers take that of the last array beside them: the condition of a choice is none of these. */
static void find_dtype(weft_eager_packing *p, weft_eager_signature signature, size_t count,
                       const weft_eager_argument *arguments)
{
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind != WEFT_EAGER_ARRAY || arguments[i].value.array == NULL) continue;
        p->dtype = arguments[i].value.array->type->dtype;
        p->has_dtype = i > 0 || signature != WEFT_EAGER_xxx || p->dtype != WEFT_BOOL;
    }
}

/* At most, of an argument that is no number. */
static size_t words_of(const weft_eager_argument *argument)
{
    switch (argument->kind) {
    case WEFT_EAGER_LIST:
    case WEFT_EAGER_INTS:
    case WEFT_EAGER_SHAPE: return 1 + (argument->count == SIZE_MAX ? 0 : argument->count);
    case WEFT_EAGER_ITEMS: return 1 + WEFT_EAGER_ITEM_WORDS * WEFT_EAGER_FEW;
    case WEFT_EAGER_NULL:
    case WEFT_EAGER_OPTIONS: return WEFT_EAGER_FIELDS + WEFT_EAGER_FEW;
    default: return 0;
    }
}

/* At most. */
static size_t words_of_all(const weft_eager_packing *p)
{
    size_t words = 2 + p->count * (1 + WEFT_EAGER_ELEMENT_WORDS);
    for (size_t i = 0; i < p->count; i++)
        if (p->arguments[i].kind >= WEFT_EAGER_LIST) words += words_of(&p->arguments[i]);
    return words;
}

/* Arguments beyond those that parameters need are tensors of options. */
static weft_status *check_count(const weft_eager_packing *p, const char *taken)
{
    size_t least = strlen(taken), most = least;
    if (p->count == least) return NULL;
    for (const char *letter = taken; *letter != '\0'; letter++) {
        const weft_eager_struct *options = weft_eager_struct_find(*letter);
        if (options != NULL) most += weft_eager_struct_tensors(options);
    }
    if (p->count > least && p->count <= most) return NULL;
    if (least == most)
        return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name,
                                  "%s takes %zu argument%s, not %zu", p->name, least, least == 1 ? "" : "s", p->count);
    return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name,
                              "%s takes %zu to %zu arguments, not %zu", p->name, least, most, p->count);
}

static weft_status *pack_parameters(weft_eager_packing *p, const char *taken)
{
    for (p->number = 0; *taken != '\0'; taken++, p->number++) {
        p->argument = &p->arguments[p->number];
        WEFT_TRY(p->number < p->count ? weft_eager_pack_argument(p, *taken) : weft_eager_pack_fault(p, "is missing"));
    }
    p->argument = &p->arguments[p->number];
    return p->number == p->count ? NULL : weft_eager_pack_fault(p, "is one too many");
}

static weft_status *pack_all(weft_eager_packing *p, weft_eager_signature signature, weft_eager_any function)
{
    const char *taken = weft_eager_letters(signature);
    WEFT_TRY(check_count(p, taken));
    int64_t word = 0;
    p->eager->packed.count = 0;
    p->at = (int64_t *)weft_eager_list_words(&p->eager->packed, p->eager->allocator, words_of_all(p));
    if (p->at == NULL) return weft_status_out_of_memory();
    memcpy(&word, &function, sizeof function);
    weft_eager_pack_word(p, word);
    weft_eager_pack_word(p, (int64_t)signature);
    find_dtype(p, signature, p->count, p->arguments);
    return pack_parameters(p, taken);
}

/* ---- applied ---- */

static weft_eager *context_of(const weft_eager_argument *argument)
{
    if (argument->kind == WEFT_EAGER_CONTEXT) return argument->value.context;
    if (argument->kind == WEFT_EAGER_ARRAY) return argument->value.array == NULL ? NULL : argument->value.array->eager;
    if (argument->kind != WEFT_EAGER_LIST || argument->count == SIZE_MAX) return NULL;
    for (size_t i = 0; i < argument->count; i++) {
        const weft_eager_array *array = weft_eager_argument_arrays(argument)[i];
        if (array != NULL) return array->eager;
    }
    return NULL;
}

static weft_eager *find_context(size_t count, const weft_eager_argument *arguments)
{
    weft_eager *eager = NULL;
    for (size_t i = 0; i < count && eager == NULL; i++) eager = context_of(&arguments[i]);
    return eager;
}

static void release_operands(weft_eager *eager)
{
    weft_eager_array **operands = eager->operands.items;
    for (size_t i = 0; i < eager->operands.count; i++) {
        operands[i]->uses--;
        weft_eager_array_review(operands[i]);
    }
}

/* "weft_add" is "add" in messages. */
static const char *short_name(const char *name)
{
    static const char prefix[] = "weft_";
    size_t i = 0;
    if (name == NULL) return "function";
    while (prefix[i] != '\0' && name[i] == prefix[i]) i++;
    return prefix[i] == '\0' ? name + i : name;
}

static weft_status *call_with_room(const struct application *a, const char *file, int line,
                                   weft_eager_array **out_results)
{
    const weft_eager_packing *p = &a->packing;
    weft_eager *eager = p->eager;
    weft_eager_function function = {.name = p->name,
                                    .trace = weft_eager_packed_trace,
                                    .options = eager->packed.items,
                                    .options_size = (size_t)((const char *)p->at - (const char *)eager->packed.items),
                                    .result_count = a->result_count,
                                    .file = file,
                                    .line = line};
    weft_eager_arrays operands = {eager->operands.count, eager->operands.items};
    return weft_eager_call_with(eager, &function, operands, 0, NULL, out_results);
}

static weft_status *call_for_many(const struct application *a, const char *file, int line,
                                  weft_eager_array **out_result)
{
    weft_eager *eager = a->packing.eager;
    size_t size = a->result_count * sizeof(weft_eager_array *);
    weft_eager_array **results = weft_allocate(eager->allocator, size);
    if (results == NULL) return weft_status_out_of_memory();
    weft_status *status = call_with_room(a, file, line, results);
    if (status == NULL) give_results(a, results);
    if (status == NULL) *out_result = results[0];
    weft_free(eager->allocator, results, size);
    return status;
}

static weft_status *call_packed(const struct application *a, const char *file, int line, weft_eager_array **out_result)
{
    return a->output_count == 0 ? call_with_room(a, file, line, out_result) : call_for_many(a, file, line, out_result);
}

weft_eager_array *weft_eager_apply_arguments(const char *name, weft_eager_signature signature, weft_eager_any function,
                                             size_t count, const weft_eager_argument *arguments, const char *file,
                                             int line)
{
    weft_eager_array *result = NULL;
    if (arguments == NULL || function == NULL || (size_t)signature >= WEFT_EAGER_SIGNATURE_COUNT) return NULL;
    struct application a; /* zeros would take as long as all else here */
    weft_eager_packing *p = &a.packing;
    p->eager = find_context(count, arguments);
    p->name = short_name(name);
    p->arguments = arguments;
    p->count = count;
    p->has_dtype = p->failed = false;
    a.result_count = 1;
    a.output_count = 0;
    if (has_outputs(p)) find_outputs(&a, weft_eager_letters(signature));
    if (p->eager == NULL) return NULL;
    p->eager->operands.count = 0;
    weft_status *status = pack_all(p, signature, function);
    if (status == NULL && !p->failed) status = call_packed(&a, file, line, &result);
    release_operands(p->eager);
    if (status == NULL) return result;
    weft_eager_fail(p->eager, status, file, line);
    return NULL;
}
