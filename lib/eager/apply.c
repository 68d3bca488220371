/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of public tracing functions: their arguments as options and operands. */
#include <math.h>
#include <string.h>
#include "lib/eager/packed.h"
#include "lib/trace/trace.h"
#include "runtime/base/status.h"

/* ---- arguments ---- */

/* A place that the caller has for results: from `first` on. */
struct output {
    weft_eager_array **place;
    size_t first, count;
};

struct packing {
    weft_eager *eager;
    const char *name;
    int64_t *at; /* where the next word goes: there is room for all */
    const weft_eager_argument *arguments, *argument;
    size_t count, number; /* of arguments, of the one in hand */
    weft_dtype dtype;     /* of numbers; none where `has_dtype` is false */
    bool has_dtype, failed;
    size_t result_count, output_count;
    struct output outputs[2];
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

static bool is_array(const weft_eager_argument *argument)
{
    return argument->kind == WEFT_EAGER_ARRAY || argument->kind == WEFT_EAGER_ABSENT;
}

static weft_status *number_fault(const struct packing *p, weft_dtype dtype)
{
    return weft_status_create(p->eager->allocator, WEFT_OUT_OF_RANGE, p->name,
                              "%s: argument %zu is a number that %s cannot hold", p->name, p->number,
                              weft_dtype_name(dtype));
}

/* As an operand. */
static weft_status *pack_variable(struct packing *p, weft_dtype dtype, const void *element)
{
    weft_eager_array *array;
    pack(p, 0);
    WEFT_TRY(find_number(p->eager, dtype, element, &array));
    return pack_operand(p, array);
}

static weft_status *pack_number(struct packing *p)
{
    int64_t element[WEFT_EAGER_ELEMENT_WORDS] = {0};
    weft_operand number = operand_of(p->argument);
    if (!p->has_dtype) return fault(p, "is a number, but no array gives its dtype");
    if (!weft_operand_store(p->dtype, &number, element)) return number_fault(p, p->dtype);
    if (!is_plain(&number)) return pack_variable(p, p->dtype, element);
    pack(p, (int64_t)p->dtype + 1);
    for (size_t i = 0; i < WEFT_EAGER_ELEMENT_WORDS; i++) pack(p, element[i]);
    return NULL;
}

static weft_status *pack_absent(struct packing *p)
{
    if (p->argument->kind == WEFT_EAGER_NULL) return fault(p, "is NULL: an operand is left out by WEFT_EAGER_NONE");
    if (p->argument->kind != WEFT_EAGER_ABSENT) return fault(p, "is neither an array nor a number");
    pack(p, -1);
    return NULL;
}

static weft_status *pack_array(struct packing *p)
{
    if (p->argument->kind != WEFT_EAGER_ARRAY) return pack_absent(p);
    pack(p, 0);
    return pack_operand(p, p->argument->value.array);
}

static weft_status *pack_tensor(struct packing *p)
{
    return is_number(p->argument) ? pack_number(p) : pack_array(p);
}

/* Numbers are of i64, and operands, whatever they are: one that counts does not compile anything. */
static weft_status *pack_count(struct packing *p)
{
    int64_t element = 0;
    if (!is_number(p->argument)) return pack_array(p);
    weft_operand number = operand_of(p->argument);
    if (!weft_operand_store(WEFT_I64, &number, &element)) return number_fault(p, WEFT_I64);
    return pack_variable(p, WEFT_I64, &element);
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

/* All 64 bits. */
static weft_status *pack_natural(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    bool fits =
        argument->kind == WEFT_EAGER_UNSIGNED || (argument->kind == WEFT_EAGER_SIGNED && argument->value.integer >= 0);
    if (!fits) return fault(p, "is not an integer from 0 on");
    pack(p, argument->value.integer);
    return NULL;
}

static void pack_double(struct packing *p, double real)
{
    int64_t word;
    memcpy(&word, &real, sizeof word);
    pack(p, word);
}

static weft_status *pack_real(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (!is_number(argument)) return fault(p, "is not a number");
    double real = argument->kind == WEFT_EAGER_REAL     ? argument->value.real
                  : argument->kind == WEFT_EAGER_SIGNED ? (double)argument->value.integer
                                                        : (double)argument->value.natural;
    pack_double(p, real);
    return NULL;
}

static void pack_items(struct packing *p, size_t count, const int64_t *items)
{
    pack(p, (int64_t)count);
    for (size_t i = 0; i < count; i++) pack(p, items[i]);
}

static weft_status *pack_ints(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_INTS) return fault(p, "is not a list of integers");
    if (argument->count == SIZE_MAX) return fault(p, "is a list that is NULL");
    pack_items(p, argument->count, argument->count > WEFT_EAGER_FEW ? argument->value.many : argument->value.few_ints);
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

/* ---- options ---- */

/* Of options: what is being read. */
struct given {
    const weft_eager_argument *argument; /* NULL: all is zero */
    size_t kept;                         /* items of its lists so far */
};

static const void *field_of(const struct given *given, const weft_eager_field *field)
{
    static const union {
        weft_tensor tensor;
        weft_ints ints;
        weft_extent extent;
        double real;
        int64_t integer;
        const double *reals;
    } zero;
    if (given->argument == NULL) return &zero;
    return (const char *)&given->argument->value.options.of + field->offset;
}

/* The items are those that were kept, in the same order. */
static weft_status *pack_field_list(struct packing *p, struct given *given, weft_ints list)
{
    if (list.items == NULL && list.count > 0) return fault(p, "has a list that is NULL");
    if (list.count > WEFT_EAGER_FEW - given->kept) return fault(p, "has lists of more than 16 items");
    pack_items(p, list.count, given->argument == NULL ? NULL : given->argument->value.options.items + given->kept);
    given->kept += list.count;
    return NULL;
}

static weft_status *pack_extent(struct packing *p, weft_extent extent)
{
    pack(p, extent.value);
    return extent.graph == NULL ? NULL : fault(p, "has an extent that is no number");
}

/* The next argument, if it is an array or left out. */
static weft_status *pack_field_tensor(struct packing *p, const weft_tensor *tensor)
{
    bool is_given = p->number + 1 < p->count && is_array(p->argument + 1);
    if (tensor->graph != NULL) return fault(p, "has a tensor of a graph: arrays follow the options");
    if (!is_given) {
        pack(p, -1);
        return NULL;
    }
    p->argument++;
    p->number++;
    return pack_array(p);
}

static int enumerator_of(const void *field)
{
    int value;
    memcpy(&value, field, sizeof value);
    return value;
}

static weft_status *pack_field(struct packing *p, struct given *given, const weft_eager_field *field)
{
    const void *at = field_of(given, field);
    switch (field->letter) {
    case 'x': return pack_field_tensor(p, at);
    case 'r': pack_double(p, *(const double *)at); return NULL;
    case 'l': return pack_field_list(p, given, *(const weft_ints *)at);
    case 'e': return pack_extent(p, *(const weft_extent *)at);
    case 'i': pack(p, *(const int64_t *)at); return NULL;
    case 'b': pack(p, *(const bool *)at); return NULL;
    case 'k': pack(p, enumerator_of(at)); return NULL;
    default: return *(const double *const *)at == NULL ? NULL : fault(p, "has a list of numbers, which has to be NULL");
    }
}

static weft_status *pack_options(struct packing *p, const weft_eager_struct *options)
{
    struct given given = {p->argument, 0};
    const weft_eager_struct *found = NULL;
    if (p->argument->kind == WEFT_EAGER_OPTIONS)
        found = weft_eager_struct_of((weft_eager_options_kind)p->argument->count);
    else if (p->argument->kind == WEFT_EAGER_NULL) given.argument = NULL;
    if (given.argument != NULL && found != options)
        return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name,
                                  "%s: argument %zu is neither a %s nor NULL", p->name, p->number, options->name);
    for (size_t i = 0; i < options->field_count; i++) WEFT_TRY(pack_field(p, &given, &options->fields[i]));
    return NULL;
}

/* ---- items of an index ---- */

static weft_status *pack_item(struct packing *p, const weft_eager_item *item)
{
    pack(p, item->item.kind);
    pack(p, item->item.step);
    WEFT_TRY(pack_extent(p, item->item.start));
    WEFT_TRY(pack_extent(p, item->item.stop));
    if (item->item.kind != WEFT_INDEX_TENSOR) return NULL;
    if (item->item.indices.graph != NULL) return fault(p, "has a tensor of a graph");
    return pack_operand(p, item->indices);
}

static weft_status *pack_index(struct packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_ITEMS || argument->count > WEFT_EAGER_FEW) return fault(p, "is not an index");
    pack(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) WEFT_TRY(pack_item(p, &argument->value.items[i]));
    return NULL;
}

/* ---- results ---- */

static void add_output(struct packing *p, const weft_eager_argument *argument, size_t first, size_t count)
{
    if (argument->kind != WEFT_EAGER_RESULTS || count == 0) return;
    p->outputs[p->output_count++] = (struct output){argument->value.results, first, count};
    p->result_count = first + count;
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
static size_t count_tensors(const struct packing *p, size_t number, char letter)
{
    const weft_eager_struct *options = weft_eager_struct_find(letter);
    size_t most = options == NULL ? 0 : weft_eager_struct_tensors(options), count = 0;
    while (count < most && number + count < p->count && is_array(&p->arguments[number + count])) count++;
    return count;
}

static bool has_outputs(const struct packing *p)
{
    size_t i = 0;
    while (i < p->count && p->arguments[i].kind != WEFT_EAGER_RESULTS) i++;
    return i < p->count;
}

/* Where results go; NULL for now: a call that fails leaves nothing there that could be mistaken for one. */
static void find_outputs(struct packing *p, const char *taken)
{
    size_t listed = 0;
    for (size_t i = 0; *taken != '\0' && i < p->count; taken++) {
        const weft_eager_argument *argument = &p->arguments[i++];
        switch (*taken) {
        case 'z':
        case 's':
        case 'X': listed = listed_by(argument); break;
        case 'O': add_output(p, argument, p->result_count, 1); break;
        case 'Q': add_output(p, argument, p->result_count, listed); break;
        case 'R': add_output(p, argument, 0, listed); break;
        default: i += count_tensors(p, i, *taken); break;
        }
    }
}

/* Whether there is a place. */
static weft_status *pack_output(struct packing *p)
{
    bool is_wanted = p->argument->kind == WEFT_EAGER_RESULTS;
    pack(p, is_wanted);
    return is_wanted || p->argument->kind == WEFT_EAGER_NULL ? NULL : fault(p, "is no place for arrays");
}

/* Gives the caller those that it has a place for; the first is also returned. */
static void give_results(const struct packing *p, weft_eager_array *const *results)
{
    for (size_t i = 0; i < p->output_count; i++) {
        const struct output *output = &p->outputs[i];
        for (size_t k = 0; k < output->count; k++) output->place[k] = results[output->first + k];
    }
}

/* ---- parameters ---- */

static weft_status *pack_argument(struct packing *p, char letter)
{
    const weft_eager_struct *options = weft_eager_struct_find(letter);
    if (options != NULL) return pack_options(p, options);
    switch (letter) {
    case 'g': return p->argument->kind == WEFT_EAGER_CONTEXT ? NULL : fault(p, "is not the context");
    case 'x': return pack_tensor(p);
    case 't': return pack_count(p);
    case 'X': return pack_list(p);
    case 'u':
    case 'z': return pack_natural(p);
    case 'r': return pack_real(p);
    case 'l': return pack_ints(p);
    case 's': return pack_shape(p);
    case 'I': return pack_index(p);
    case 'O':
    case 'Q':
    case 'R': return pack_output(p);
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
static size_t words_of_all(const struct packing *p)
{
    size_t words = 2 + p->count * (1 + WEFT_EAGER_ELEMENT_WORDS);
    for (size_t i = 0; i < p->count; i++)
        if (p->arguments[i].kind >= WEFT_EAGER_LIST) words += words_of(&p->arguments[i]);
    return words;
}

/* Arguments beyond those that parameters need are tensors of options. */
static weft_status *check_count(const struct packing *p, const char *taken)
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

static weft_status *pack_parameters(struct packing *p, const char *taken)
{
    for (p->number = 0; *taken != '\0'; taken++, p->number++) {
        p->argument = &p->arguments[p->number];
        WEFT_TRY(p->number < p->count ? pack_argument(p, *taken) : fault(p, "is missing"));
    }
    p->argument = &p->arguments[p->number];
    return p->number == p->count ? NULL : fault(p, "is one too many");
}

static weft_status *pack_all(struct packing *p, weft_eager_signature signature, weft_eager_any function)
{
    const char *taken = weft_eager_letters(signature);
    WEFT_TRY(check_count(p, taken));
    int64_t word = 0;
    p->eager->packed.count = 0;
    p->at = (int64_t *)weft_eager_list_words(&p->eager->packed, p->eager->allocator, words_of_all(p));
    if (p->at == NULL) return weft_status_out_of_memory();
    memcpy(&word, &function, sizeof function);
    pack(p, word);
    pack(p, (int64_t)signature);
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
    static const char prefix[] = "weft_";
    size_t i = 0;
    if (name == NULL) return "function";
    while (prefix[i] != '\0' && name[i] == prefix[i]) i++;
    return prefix[i] == '\0' ? name + i : name;
}

static weft_status *call_with_room(const struct packing *p, const char *file, int line, weft_eager_array **out_results)
{
    weft_eager *eager = p->eager;
    weft_eager_function function = {.name = p->name,
                                    .trace = weft_eager_packed_trace,
                                    .options = eager->packed.items,
                                    .options_size = (size_t)((const char *)p->at - (const char *)eager->packed.items),
                                    .result_count = p->result_count,
                                    .file = file,
                                    .line = line};
    weft_eager_arrays operands = {eager->operands.count, eager->operands.items};
    return weft_eager_call_with(eager, &function, operands, 0, NULL, out_results);
}

static weft_status *call_for_many(const struct packing *p, const char *file, int line, weft_eager_array **out_result)
{
    size_t size = p->result_count * sizeof(weft_eager_array *);
    weft_eager_array **results = weft_allocate(p->eager->allocator, size);
    if (results == NULL) return weft_status_out_of_memory();
    weft_status *status = call_with_room(p, file, line, results);
    if (status == NULL) give_results(p, results);
    if (status == NULL) *out_result = results[0];
    weft_free(p->eager->allocator, results, size);
    return status;
}

static weft_status *call_packed(const struct packing *p, const char *file, int line, weft_eager_array **out_result)
{
    return p->output_count == 0 ? call_with_room(p, file, line, out_result) : call_for_many(p, file, line, out_result);
}

weft_eager_array *weft_eager_apply_arguments(const char *name, weft_eager_signature signature, weft_eager_any function,
                                             size_t count, const weft_eager_argument *arguments, const char *file,
                                             int line)
{
    weft_eager_array *result = NULL;
    if (arguments == NULL || function == NULL || (size_t)signature >= WEFT_EAGER_SIGNATURE_COUNT) return NULL;
    struct packing p; /* zeros would take as long as all else here */
    p.eager = find_context(count, arguments);
    p.name = short_name(name);
    p.arguments = arguments;
    p.count = count;
    p.result_count = 1;
    p.output_count = 0;
    p.has_dtype = p.failed = false;
    if (has_outputs(&p)) find_outputs(&p, weft_eager_letters(signature));
    if (p.eager == NULL) return NULL;
    p.eager->operands.count = 0;
    weft_status *status = pack_all(&p, signature, function);
    if (status == NULL && !p.failed) status = call_packed(&p, file, line, &result);
    release_operands(p.eager);
    if (status == NULL) return result;
    weft_eager_fail(p.eager, status, file, line);
    return NULL;
}
