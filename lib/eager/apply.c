/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of public tracing functions: their arguments as options and operands. */
#include <math.h>
#include <string.h>
#include "lib/eager/packed.h"
#include "lib/trace/trace.h"
#include "runtime/base/status.h"

/* ---- arguments ---- */

struct packing {
    weft_eager *eager;
    const char *name;
    int64_t *at; /* where the next word goes: there is room for all */
    const weft_eager_argument *argument;
    size_t number;
    weft_dtype dtype; /* of numbers; none where `has_dtype` is false */
    bool has_dtype, failed;
};

static void pack(struct packing *p, int64_t word)
{
    *p->at++ = word;
}

static weft_status *fault(const struct packing *p, const char *what)
{
    return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name, "%s: argument %zu %s", p->name,
                              p->number, what);
}

/* The array is held until the call is done. */
static weft_status *pack_operand(struct packing *p, weft_eager_array *array)
{
    if (array == NULL) {
        p->failed = true;
        return NULL;
    }
    if (!weft_eager_list_add(p->eager, &p->eager->operands, &array, sizeof array)) return weft_status_out_of_memory();
    array->uses++;
    return NULL;
}

/* Numbers that are parts of programs: those that are likely to be written in one. */
static bool is_plain(const weft_operand *number)
{
    double value = number->kind == WEFT_OPERAND_REAL       ? number->number.real
                   : number->kind == WEFT_OPERAND_UNSIGNED ? (double)number->number.natural
                                                           : (double)number->number.integer;
    return value >= -4 && value <= 4 && 2 * value == rint(2 * value);
}

static bool is_same(const weft_eager_array *array, weft_dtype dtype, const void *element)
{
    return array != NULL && array->type->dtype == dtype &&
           memcmp(weft_array_data(array->value), element, weft_dtype_size(dtype)) == 0;
}

/* The number as an array, one for calls that follow each other with the same. */
static weft_status *find_number(weft_eager *eager, weft_dtype dtype, const void *element, weft_eager_array **out_array)
{
    weft_eager_array **place = &eager->numbers[weft_hash(element, weft_dtype_size(dtype)) % WEFT_EAGER_NUMBERS];
    if (!is_same(*place, dtype, element)) {
        weft_eager_array *made;
        size_t depth = eager->scope_depth;
        eager->scope_depth = 0; /* no scope has it */
        weft_status *status = weft_eager_array_copy(eager, dtype, (weft_ints){0, NULL}, element, &made);
        eager->scope_depth = depth;
        WEFT_TRY(status);
        weft_eager_assign(place, made);
    }
    *out_array = *place;
    return NULL;
}

static weft_operand operand_of(const weft_eager_argument *argument)
{
    switch (argument->kind) {
    case WEFT_EAGER_SIGNED: return (weft_operand){WEFT_OPERAND_SIGNED, .number = {.integer = argument->value.integer}};
    case WEFT_EAGER_UNSIGNED:
        return (weft_operand){WEFT_OPERAND_UNSIGNED, .number = {.natural = argument->value.natural}};
    default: return (weft_operand){WEFT_OPERAND_REAL, .number = {.real = argument->value.real}};
    }
}

static bool is_number(const weft_eager_argument *argument)
{
    return argument->kind == WEFT_EAGER_SIGNED || argument->kind == WEFT_EAGER_UNSIGNED ||
           argument->kind == WEFT_EAGER_REAL;
}

static weft_status *number_fault(const struct packing *p)
{
    return weft_status_create(p->eager->allocator, WEFT_OUT_OF_RANGE, p->name,
                              "%s: argument %zu is a number that %s cannot hold", p->name, p->number,
                              weft_dtype_name(p->dtype));
}

static weft_status *pack_number(struct packing *p)
{
    int64_t element[WEFT_EAGER_ELEMENT_WORDS] = {0};
    weft_operand number = operand_of(p->argument);
    weft_eager_array *array;
    if (!p->has_dtype) return fault(p, "is a number, but no array gives its dtype");
    if (!weft_operand_store(p->dtype, &number, element)) return number_fault(p);
    if (is_plain(&number)) {
        pack(p, (int64_t)p->dtype + 1);
        for (size_t i = 0; i < WEFT_EAGER_ELEMENT_WORDS; i++) pack(p, element[i]);
        return NULL;
    }
    pack(p, 0);
    WEFT_TRY(find_number(p->eager, p->dtype, element, &array));
    return pack_operand(p, array);
}

static weft_status *pack_tensor(struct packing *p)
{
    if (is_number(p->argument)) return pack_number(p);
    if (p->argument->kind != WEFT_EAGER_ARRAY) return fault(p, "is neither an array nor a number");
    pack(p, 0);
    return pack_operand(p, p->argument->value.array);
}

static weft_eager_array *const *arrays_of(const weft_eager_argument *argument)
{
    return argument->count > WEFT_EAGER_FEW ? argument->value.many : argument->value.few_arrays;
}

static weft_status *pack_list(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_LIST) return fault(p, "is not a list of arrays");
    if (argument->count == SIZE_MAX) return fault(p, "is a list that is NULL");
    pack(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) WEFT_TRY(pack_operand(p, arrays_of(argument)[i]));
    return NULL;
}

static weft_status *pack_integer(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    bool fits = argument->kind == WEFT_EAGER_SIGNED ||
                (argument->kind == WEFT_EAGER_UNSIGNED && argument->value.natural <= INT64_MAX);
    if (!fits) return fault(p, "is not an integer of 64 bits");
    pack(p, argument->value.integer);
    return NULL;
}

static weft_status *pack_real(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    int64_t word;
    if (!is_number(argument)) return fault(p, "is not a number");
    double real = argument->kind == WEFT_EAGER_REAL     ? argument->value.real
                  : argument->kind == WEFT_EAGER_SIGNED ? (double)argument->value.integer
                                                        : (double)argument->value.natural;
    memcpy(&word, &real, sizeof word);
    pack(p, word);
    return NULL;
}

static weft_status *pack_ints(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_INTS) return fault(p, "is not a list of integers");
    if (argument->count == SIZE_MAX) return fault(p, "is a list that is NULL");
    const int64_t *items = argument->count > WEFT_EAGER_FEW ? argument->value.many : argument->value.few_ints;
    pack(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) pack(p, items[i]);
    return NULL;
}

/* INT64_MIN for an extent that is no number. */
static int64_t extent_of(const weft_eager_argument *argument, size_t axis)
{
    int64_t value = INT64_MIN;
    if (argument->count <= WEFT_EAGER_FEW) return argument->value.few_ints[axis];
    weft_extent_is_static(((const weft_extent *)argument->value.many)[axis], &value);
    return value;
}

static weft_status *pack_shape(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_SHAPE) return fault(p, "is not a shape");
    if (argument->count == SIZE_MAX) return fault(p, "is a shape that is NULL");
    if (argument->count > WEFT_MAX_RANK) return fault(p, "is a shape of too many axes");
    pack(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) {
        int64_t extent = extent_of(argument, i);
        if (extent == INT64_MIN) return fault(p, "has an extent that is no number");
        pack(p, extent);
    }
    return NULL;
}

static weft_status *pack_argument(struct packing *p, char letter)
{
    switch (letter) {
    case 'g': return p->argument->kind == WEFT_EAGER_CONTEXT ? NULL : fault(p, "is not the context");
    case 'x': return pack_tensor(p);
    case 'X': return pack_list(p);
    case 'r': return pack_real(p);
    case 'l': return pack_ints(p);
    case 's': return pack_shape(p);
    default: return pack_integer(p);
    }
}

/* Numbers take that of the last array beside them: the condition of a choice is none of these. */
static void find_dtype(struct packing *p, weft_eager_signature signature, size_t count,
                       const weft_eager_argument *arguments)
{
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind != WEFT_EAGER_ARRAY || arguments[i].value.array == NULL) continue;
        p->dtype = arguments[i].value.array->type->dtype;
        p->has_dtype = i > 0 || signature != WEFT_EAGER_xxx || p->dtype != WEFT_BOOL;
    }
}

/* At most: a number as a tensor takes the most words of what is no list. */
static size_t words_of(size_t count, const weft_eager_argument *arguments)
{
    size_t words = 2;
    for (size_t i = 0; i < count; i++) {
        bool is_list = arguments[i].kind >= WEFT_EAGER_LIST && arguments[i].count != SIZE_MAX;
        words += 1 + WEFT_EAGER_ELEMENT_WORDS + (is_list ? arguments[i].count : 0);
    }
    return words;
}

static weft_status *pack_all(struct packing *p, weft_eager_signature signature, weft_eager_any function, size_t count,
                             const weft_eager_argument *arguments)
{
    const char *taken = weft_eager_letters(signature);
    if (strlen(taken) != count)
        return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name,
                                  "%s: there are %zu arguments, not %zu", p->name, count, strlen(taken));
    int64_t word = 0;
    p->eager->packed.count = 0;
    p->at = (int64_t *)weft_eager_list_words(&p->eager->packed, p->eager->allocator, words_of(count, arguments));
    if (p->at == NULL) return weft_status_out_of_memory();
    memcpy(&word, &function, sizeof function);
    pack(p, word);
    pack(p, (int64_t)signature);
    find_dtype(p, signature, count, arguments);
    for (size_t i = 0; i < count; i++) {
        p->argument = &arguments[i];
        p->number = i;
        WEFT_TRY(pack_argument(p, taken[i]));
    }
    return NULL;
}

/* ---- applied ---- */

static weft_eager *context_of(const weft_eager_argument *argument)
{
    if (argument->kind == WEFT_EAGER_CONTEXT) return argument->value.context;
    if (argument->kind == WEFT_EAGER_ARRAY) return argument->value.array == NULL ? NULL : argument->value.array->eager;
    if (argument->kind != WEFT_EAGER_LIST || argument->count == SIZE_MAX) return NULL;
    for (size_t i = 0; i < argument->count; i++) {
        const weft_eager_array *array = arrays_of(argument)[i];
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
    if (name == NULL) return "function";
    return strncmp(name, "weft_", 5) == 0 ? name + 5 : name;
}

static weft_status *call_packed(struct packing *p, const char *file, int line, weft_eager_array **out_result)
{
    weft_eager *eager = p->eager;
    weft_eager_function function = {.name = p->name,
                                    .trace = weft_eager_packed_trace,
                                    .options = eager->packed.items,
                                    .options_size = (size_t)((const char *)p->at - (const char *)eager->packed.items),
                                    .result_count = 1,
                                    .file = file,
                                    .line = line};
    weft_eager_arrays operands = {eager->operands.count, eager->operands.items};
    return weft_eager_call_with(eager, &function, operands, 0, NULL, out_result);
}

weft_eager_array *weft_eager_apply_arguments(const char *name, weft_eager_signature signature, weft_eager_any function,
                                             size_t count, const weft_eager_argument *arguments, const char *file,
                                             int line)
{
    weft_eager_array *result = NULL;
    if (arguments == NULL || function == NULL || (size_t)signature >= WEFT_EAGER_SIGNATURE_COUNT) return NULL;
    struct packing p = {.eager = find_context(count, arguments), .name = short_name(name)};
    if (p.eager == NULL) return NULL;
    p.eager->operands.count = 0;
    weft_status *status = pack_all(&p, signature, function, count, arguments);
    if (status == NULL && !p.failed) status = call_packed(&p, file, line, &result);
    release_operands(p.eager);
    if (status == NULL) return result;
    weft_eager_fail(p.eager, status, file, line);
    return NULL;
}
