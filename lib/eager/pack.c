/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/eager/pack.h"
#include <math.h>
#include <string.h>
#include "lib/trace/trace.h"
#include "runtime/base/status.h"

weft_status *weft_eager_pack_fault(const weft_eager_packing *p, const char *what)
{
    return weft_status_create(p->eager->allocator, WEFT_INVALID_ARGUMENT, p->name, "%s: argument %zu %s", p->name,
                              p->number, what);
}

bool weft_eager_argument_is_array(const weft_eager_argument *argument)
{
    return argument->kind == WEFT_EAGER_ARRAY || argument->kind == WEFT_EAGER_ABSENT;
}

weft_eager_array *const *weft_eager_argument_arrays(const weft_eager_argument *argument)
{
    return argument->count > WEFT_EAGER_FEW ? argument->value.many : argument->value.few_arrays;
}

/* ---- arguments ---- */

/* The array is held until the call is done. */
static weft_status *pack_operand(weft_eager_packing *p, weft_eager_array *array)
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

static weft_status *number_fault(const weft_eager_packing *p, weft_dtype dtype)
{
    return weft_status_create(p->eager->allocator, WEFT_OUT_OF_RANGE, p->name,
                              "%s: argument %zu is a number that %s cannot hold", p->name, p->number,
                              weft_dtype_name(dtype));
}

/* As an operand. */
static weft_status *pack_variable(weft_eager_packing *p, weft_dtype dtype, const void *element)
{
    weft_eager_array *array;
    weft_eager_pack_word(p, 0);
    WEFT_TRY(find_number(p->eager, dtype, element, &array));
    return pack_operand(p, array);
}

static weft_status *pack_number(weft_eager_packing *p)
{
    int64_t element[WEFT_EAGER_ELEMENT_WORDS] = {0};
    weft_operand number = operand_of(p->argument);
    if (!p->has_dtype) return weft_eager_pack_fault(p, "is a number, but no array gives its dtype");
    if (!weft_operand_store(p->dtype, &number, element)) return number_fault(p, p->dtype);
    if (!is_plain(&number)) return pack_variable(p, p->dtype, element);
    weft_eager_pack_word(p, (int64_t)p->dtype + 1);
    for (size_t i = 0; i < WEFT_EAGER_ELEMENT_WORDS; i++) weft_eager_pack_word(p, element[i]);
    return NULL;
}

static weft_status *pack_absent(weft_eager_packing *p)
{
    if (p->argument->kind == WEFT_EAGER_NULL)
        return weft_eager_pack_fault(p, "is NULL: an operand is left out by WEFT_EAGER_NONE");
    if (p->argument->kind != WEFT_EAGER_ABSENT) return weft_eager_pack_fault(p, "is neither an array nor a number");
    weft_eager_pack_word(p, -1);
    return NULL;
}

static weft_status *pack_array(weft_eager_packing *p)
{
    if (p->argument->kind != WEFT_EAGER_ARRAY) return pack_absent(p);
    weft_eager_pack_word(p, 0);
    return pack_operand(p, p->argument->value.array);
}

static weft_status *pack_tensor(weft_eager_packing *p)
{
    return is_number(p->argument) ? pack_number(p) : pack_array(p);
}

/* Numbers are of i64, and operands, whatever they are: one that counts does not compile anything. */
static weft_status *pack_count(weft_eager_packing *p)
{
    int64_t element = 0;
    if (!is_number(p->argument)) return pack_array(p);
    weft_operand number = operand_of(p->argument);
    if (!weft_operand_store(WEFT_I64, &number, &element)) return number_fault(p, WEFT_I64);
    return pack_variable(p, WEFT_I64, &element);
}

static weft_status *pack_list(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_LIST) return weft_eager_pack_fault(p, "is not a list of arrays");
    if (argument->count == SIZE_MAX) return weft_eager_pack_fault(p, "is a list that is NULL");
    weft_eager_pack_word(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) WEFT_TRY(pack_operand(p, weft_eager_argument_arrays(argument)[i]));
    return NULL;
}

static weft_status *pack_integer(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    bool fits = argument->kind == WEFT_EAGER_SIGNED ||
                (argument->kind == WEFT_EAGER_UNSIGNED && argument->value.natural <= INT64_MAX);
    if (!fits) return weft_eager_pack_fault(p, "is not an integer of 64 bits");
    weft_eager_pack_word(p, argument->value.integer);
    return NULL;
}

/* All 64 bits. */
static weft_status *pack_natural(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    bool fits =
        argument->kind == WEFT_EAGER_UNSIGNED || (argument->kind == WEFT_EAGER_SIGNED && argument->value.integer >= 0);
    if (!fits) return weft_eager_pack_fault(p, "is not an integer from 0 on");
    weft_eager_pack_word(p, argument->value.integer);
    return NULL;
}

static void pack_double(weft_eager_packing *p, double real)
{
    int64_t word;
    memcpy(&word, &real, sizeof word);
    weft_eager_pack_word(p, word);
}

static weft_status *pack_real(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (!is_number(argument)) return weft_eager_pack_fault(p, "is not a number");
    double real = argument->kind == WEFT_EAGER_REAL     ? argument->value.real
                  : argument->kind == WEFT_EAGER_SIGNED ? (double)argument->value.integer
                                                        : (double)argument->value.natural;
    pack_double(p, real);
    return NULL;
}

static void pack_items(weft_eager_packing *p, size_t count, const int64_t *items)
{
    weft_eager_pack_word(p, (int64_t)count);
    for (size_t i = 0; i < count; i++) weft_eager_pack_word(p, items[i]);
}

static weft_status *pack_ints(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_INTS) return weft_eager_pack_fault(p, "is not a list of integers");
    if (argument->count == SIZE_MAX) return weft_eager_pack_fault(p, "is a list that is NULL");
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

static weft_status *pack_shape(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_SHAPE) return weft_eager_pack_fault(p, "is not a shape");
    if (argument->count == SIZE_MAX) return weft_eager_pack_fault(p, "is a shape that is NULL");
    if (argument->count > WEFT_MAX_RANK) return weft_eager_pack_fault(p, "is a shape of too many axes");
    weft_eager_pack_word(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) {
        int64_t extent = extent_of(argument, i);
        if (extent == INT64_MIN) return weft_eager_pack_fault(p, "has an extent that is no number");
        weft_eager_pack_word(p, extent);
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
static weft_status *pack_field_list(weft_eager_packing *p, struct given *given, weft_ints list)
{
    if (list.items == NULL && list.count > 0) return weft_eager_pack_fault(p, "has a list that is NULL");
    if (list.count > WEFT_EAGER_FEW - given->kept) return weft_eager_pack_fault(p, "has lists of more than 16 items");
    pack_items(p, list.count, given->argument == NULL ? NULL : given->argument->value.options.items + given->kept);
    given->kept += list.count;
    return NULL;
}

static weft_status *pack_extent(weft_eager_packing *p, weft_extent extent)
{
    weft_eager_pack_word(p, extent.value);
    return extent.graph == NULL ? NULL : weft_eager_pack_fault(p, "has an extent that is no number");
}

/* The next argument, if it is an array or left out. */
static weft_status *pack_field_tensor(weft_eager_packing *p, const weft_tensor *tensor)
{
    bool is_given = p->number + 1 < p->count && weft_eager_argument_is_array(p->argument + 1);
    if (tensor->graph != NULL) return weft_eager_pack_fault(p, "has a tensor of a graph: arrays follow the options");
    if (!is_given) {
        weft_eager_pack_word(p, -1);
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

static weft_status *pack_field(weft_eager_packing *p, struct given *given, const weft_eager_field *field)
{
    const void *at = field_of(given, field);
    switch (field->letter) {
    case 'x': return pack_field_tensor(p, at);
    case 'r': pack_double(p, *(const double *)at); return NULL;
    case 'l': return pack_field_list(p, given, *(const weft_ints *)at);
    case 'e': return pack_extent(p, *(const weft_extent *)at);
    case 'i': weft_eager_pack_word(p, *(const int64_t *)at); return NULL;
    case 'b': weft_eager_pack_word(p, *(const bool *)at); return NULL;
    case 'k': weft_eager_pack_word(p, enumerator_of(at)); return NULL;
    default:
        return *(const double *const *)at == NULL
                   ? NULL
                   : weft_eager_pack_fault(p, "has a list of numbers, which has to be NULL");
    }
}

static weft_status *pack_options(weft_eager_packing *p, const weft_eager_struct *options)
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

static weft_status *pack_item(weft_eager_packing *p, const weft_eager_item *item)
{
    weft_eager_pack_word(p, item->item.kind);
    weft_eager_pack_word(p, item->item.step);
    WEFT_TRY(pack_extent(p, item->item.start));
    WEFT_TRY(pack_extent(p, item->item.stop));
    if (item->item.kind != WEFT_INDEX_TENSOR) return NULL;
    if (item->item.indices.graph != NULL) return weft_eager_pack_fault(p, "has a tensor of a graph");
    return pack_operand(p, item->indices);
}

static weft_status *pack_index(weft_eager_packing *p)
{
    const weft_eager_argument *argument = p->argument;
    if (argument->kind != WEFT_EAGER_ITEMS || argument->count > WEFT_EAGER_FEW)
        return weft_eager_pack_fault(p, "is not an index");
    weft_eager_pack_word(p, (int64_t)argument->count);
    for (size_t i = 0; i < argument->count; i++) WEFT_TRY(pack_item(p, &argument->value.items[i]));
    return NULL;
}

/* ---- any of them ---- */

/* Whether there is a place. */
static weft_status *pack_output(weft_eager_packing *p)
{
    bool is_wanted = p->argument->kind == WEFT_EAGER_RESULTS;
    weft_eager_pack_word(p, is_wanted);
    return is_wanted || p->argument->kind == WEFT_EAGER_NULL ? NULL
                                                             : weft_eager_pack_fault(p, "is no place for arrays");
}

weft_status *weft_eager_pack_argument(weft_eager_packing *p, char letter)
{
    const weft_eager_struct *options = weft_eager_struct_find(letter);
    if (options != NULL) return pack_options(p, options);
    switch (letter) {
    case 'g': return p->argument->kind == WEFT_EAGER_CONTEXT ? NULL : weft_eager_pack_fault(p, "is not the context");
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
