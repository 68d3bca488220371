/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar is in README.md. */
#include "lib/loop/inst.h"
#include <inttypes.h>
#include <string.h>
#include "lib/text/text.h"
#include "runtime/base/map.h"

typedef struct parser {
    weft_lexer lexer;
    weft_arena arena; /* what is being put together */
    weft_kernel_builder *builder;
    weft_expr_context *exprs;
    weft_map values;      /* of the stages: spelling -> id + 1 */
    weft_inst_list block; /* a combine block, and its values */
    weft_map block_values;
    bool in_block;
    uint32_t buffer_count, accumulator_count;
} parser;

static weft_status *check_memory(const void *block)
{
    return block == NULL ? weft_status_out_of_memory() : NULL;
}

/* ---- words and numbers ---- */

static weft_status *parse_number(parser *p, const char *what, uint32_t *out_number)
{
    const char *at = p->lexer.token.start;
    int64_t value;
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, what, &value));
    if (value < 0 || value > UINT32_MAX)
        return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "%s %" PRId64 " does not fit 32 bits", what, value);
    *out_number = (uint32_t)value;
    return NULL;
}

/* "b12" or "a0.1": a letter, a number and, unless `out_part` is NULL, a part. */
static weft_status *parse_reference(parser *p, char letter, const char *what, uint32_t *out_number, uint32_t *out_part)
{
    const char *c = p->lexer.token.start, *end = c + p->lexer.token.length;
    uint32_t numbers[2] = {0, 0};
    bool fits = p->lexer.token.kind == WEFT_TOKEN_IDENTIFIER && *c++ == letter;
    for (int i = 0; fits && i < (out_part == NULL ? 1 : 2); i++) {
        const char *start = c += i; /* over the point */
        for (; c < end && *c >= '0' && *c <= '9' && c - start < 9; c++)
            numbers[i] = 10 * numbers[i] + (uint32_t)(*c - '0');
        fits = c > start && (i == 1 || out_part == NULL ? c == end : c < end && *c == '.');
    }
    if (!fits) return weft_lexer_unexpected(&p->lexer, what);
    weft_lexer_advance(&p->lexer);
    *out_number = numbers[0];
    if (out_part != NULL) *out_part = numbers[1];
    return NULL;
}

static weft_status *parse_dtype(parser *p, weft_dtype *out_dtype)
{
    char name[8] = "";
    const weft_token *token = &p->lexer.token;
    if (token->kind == WEFT_TOKEN_IDENTIFIER && token->length < sizeof name) memcpy(name, token->start, token->length);
    if (!weft_dtype_find(name, out_dtype)) return weft_lexer_unexpected(&p->lexer, "a dtype");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

/* ---- expressions ---- */

static weft_status *parse_expr(parser *p, weft_expr *out_expr)
{
    const char *start = p->lexer.token.start, *cursor = start;
    weft_status *error = weft_expr_parse(p->exprs, &cursor, out_expr);
    if (error == NULL) {
        weft_lexer_seek(&p->lexer, cursor);
        return NULL;
    }
    weft_status *located = error;
    if (weft_status_code(error) != WEFT_OUT_OF_MEMORY) {
        located = weft_lexer_error(&p->lexer, start, WEFT_PARSE_ERROR, "%s", weft_status_message(error));
        weft_status_destroy(error);
    }
    return located;
}

static weft_status *parse_exprs(parser *p, uint32_t *out_count, const weft_expr **out_exprs)
{
    weft_expr *exprs = NULL;
    uint32_t count = 0;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    while (!weft_lexer_accept(&p->lexer, ")")) {
        if (count != 0) WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
        exprs = weft_loop_grow(&p->arena, exprs, count, sizeof *exprs);
        WEFT_TRY(check_memory(exprs));
        WEFT_TRY(parse_expr(p, &exprs[count]));
        count++;
    }
    *out_count = count;
    *out_exprs = exprs;
    return NULL;
}

static weft_status *parse_condition(parser *p, uint32_t *out_count, const weft_expr **out_exprs)
{
    return weft_lexer_accept(&p->lexer, "if") ? parse_exprs(p, out_count, out_exprs) : NULL;
}

/* ---- constants ---- */

/* A constant before its dtype is known. */
typedef struct literal {
    const char *at;
    enum { LITERAL_BITS, LITERAL_INTEGER, LITERAL_REAL } kind;
    uint64_t bits;
    int64_t integer;
    double real;
} literal;

static weft_status *parse_bits(parser *p, uint64_t *out_bits)
{
    weft_token token = p->lexer.token;
    *out_bits = 0;
    bool fits =
        token.kind == WEFT_TOKEN_INTEGER && token.length > 2 && token.length <= 18 && memcmp(token.start, "0x", 2) == 0;
    for (size_t i = 2; fits && i < token.length; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, token.start[i]);
        fits = digit != NULL;
        if (fits) *out_bits = *out_bits << 4 | (uint64_t)(digit - digits);
    }
    if (!fits) return weft_lexer_unexpected(&p->lexer, "0x and up to 16 hexadecimal digits");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

static weft_status *parse_literal(parser *p, literal *out_literal)
{
    *out_literal = (literal){.at = p->lexer.token.start, .kind = LITERAL_INTEGER};
    if (weft_lexer_accept(&p->lexer, "false")) return NULL;
    out_literal->integer = 1;
    if (weft_lexer_accept(&p->lexer, "true")) return NULL;
    if (p->lexer.token.kind == WEFT_TOKEN_INTEGER)
        return weft_lexer_take_integer(&p->lexer, "a constant", &out_literal->integer);
    if (weft_lexer_accept(&p->lexer, "bits")) {
        out_literal->kind = LITERAL_BITS;
        return parse_bits(p, &out_literal->bits);
    }
    out_literal->kind = LITERAL_REAL;
    return weft_lexer_take_real(&p->lexer, "a constant", false, &out_literal->real);
}

/* The least and greatest value of an integer dtype or bool. */
static void find_limits(weft_dtype dtype, int64_t *out_min, int64_t *out_max)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    unsigned spare = 64 - 8 * (unsigned)info->size;
    bool is_signed = info->kind == WEFT_KIND_SIGNED;
    *out_min = is_signed ? INT64_MIN >> spare : 0;
    *out_max = is_signed ? INT64_MAX >> spare : (int64_t)(UINT64_MAX >> spare);
    if (dtype == WEFT_BOOL) *out_max = 1;
}

static weft_status *encode_integer(parser *p, const literal *value, weft_dtype dtype, uint64_t *out_bits)
{
    int64_t min, max;
    find_limits(dtype, &min, &max);
    if (value->kind == LITERAL_REAL)
        return weft_lexer_error(&p->lexer, value->at, WEFT_PARSE_ERROR, "a constant of dtype %s is an integer",
                                weft_dtype_name(dtype));
    if (value->integer < min || value->integer > max)
        return weft_lexer_error(&p->lexer, value->at, WEFT_PARSE_ERROR, "the constant %" PRId64 " does not fit %s",
                                value->integer, weft_dtype_name(dtype));
    *out_bits = (uint64_t)value->integer & UINT64_MAX >> (64 - 8 * weft_dtype_size(dtype));
    return NULL;
}

static weft_status *encode(parser *p, const literal *value, weft_dtype dtype, uint64_t *out_bits)
{
    *out_bits = value->bits;
    if (value->kind == LITERAL_BITS) return NULL;
    weft_dtype_kind kind = weft_dtype_info_of(dtype)->kind;
    if (kind == WEFT_KIND_BOOL || kind == WEFT_KIND_SIGNED || kind == WEFT_KIND_UNSIGNED)
        return encode_integer(p, value, dtype, out_bits);
    double real = value->kind == LITERAL_REAL ? value->real : (double)value->integer;
    float single = (float)real;
    if (dtype == WEFT_F32) memcpy(out_bits, &single, sizeof single);
    else if (dtype == WEFT_F64) memcpy(out_bits, &real, sizeof real);
    else
        return weft_lexer_error(&p->lexer, value->at, WEFT_PARSE_ERROR, "a constant of dtype %s is given as bits",
                                weft_dtype_name(dtype));
    return NULL;
}

/* ---- values ---- */

static weft_status *parse_value(parser *p, weft_inst_id *out_id)
{
    const weft_map *values = p->in_block ? &p->block_values : &p->values;
    weft_token token;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value", &token));
    uintptr_t found = (uintptr_t)weft_map_find(values, token.start, token.length);
    if (found == 0)
        return weft_lexer_error(&p->lexer, token.start, WEFT_PARSE_ERROR, "the value %.*s is not defined before",
                                (int)token.length, token.start);
    *out_id = (weft_inst_id)(found - 1);
    return NULL;
}

/* A list of `count` values. */
static weft_status *parse_values(parser *p, uint32_t count, weft_inst_id *out_ids)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i != 0) WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
        WEFT_TRY(parse_value(p, &out_ids[i]));
    }
    return NULL;
}

static weft_status *define_value(parser *p, weft_token name, weft_inst_id id)
{
    weft_map *values = p->in_block ? &p->block_values : &p->values;
    if (weft_map_find(values, name.start, name.length) != NULL)
        return weft_lexer_error(&p->lexer, name.start, WEFT_PARSE_ERROR, "the value %.*s is defined twice",
                                (int)name.length, name.start);
    bool inserted = weft_map_insert(values, name.start, name.length, (void *)((uintptr_t)id + 1));
    return inserted ? NULL : weft_status_out_of_memory();
}

/* ---- instructions ---- */

static weft_status *parse_operation(parser *p, weft_scalar_op *out_op)
{
    for (int op = 0; op < WEFT_SCALAR_COUNT; op++) {
        if (!weft_lexer_accept(&p->lexer, weft_scalar_name((weft_scalar_op)op))) continue;
        *out_op = (weft_scalar_op)op;
        return NULL;
    }
    return weft_lexer_unexpected(&p->lexer, "the name of an operation");
}

/* "[index" or "[index, %offset" up to the bracket. */
static weft_status *parse_load(parser *p, weft_inst *inst)
{
    WEFT_TRY(parse_reference(p, 'b', "a buffer", &inst->buffer, NULL));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    WEFT_TRY(parse_expr(p, &inst->index));
    inst->arg_count = weft_lexer_accept(&p->lexer, ",");
    WEFT_TRY(parse_values(p, inst->arg_count, inst->args));
    return weft_lexer_expect(&p->lexer, "]");
}

/* "erf.3", the column of a table. */
static weft_status *parse_column(parser *p, weft_inst *inst)
{
    const weft_token *token = &p->lexer.token;
    const char *end = token->start + token->length, *point = memchr(token->start, '.', token->length);
    bool fits = token->kind == WEFT_TOKEN_IDENTIFIER && point != NULL && end - point > 1 && end - point < 9;
    if (fits) inst->buffer = weft_table_find(token->start, (size_t)(point - token->start));
    for (const char *c = fits ? point + 1 : end; c < end; c++) {
        fits = fits && *c >= '0' && *c <= '9';
        inst->number = 10 * inst->number + (uint32_t)(*c - '0');
    }
    if (!fits || inst->buffer == WEFT_TABLE_COUNT) return weft_lexer_unexpected(&p->lexer, "a table and a column");
    weft_lexer_advance(&p->lexer);
    return NULL;
}

static weft_status *parse_operands(parser *p, weft_inst *inst, literal *out_constant)
{
    switch (inst->op) {
    case WEFT_SCALAR_const: return parse_literal(p, out_constant);
    case WEFT_SCALAR_index: return parse_expr(p, &inst->index);
    case WEFT_SCALAR_inside: return parse_exprs(p, &inst->predicate_count, &inst->predicates);
    case WEFT_SCALAR_load: return parse_load(p, inst);
    case WEFT_SCALAR_param: return parse_number(p, "the number of a parameter", &inst->number);
    case WEFT_SCALAR_result:
    case WEFT_SCALAR_running:
        return parse_reference(p, 'a', "an accumulator's component", &inst->buffer, &inst->number);
    case WEFT_SCALAR_lookup: WEFT_TRY(parse_column(p, inst)); break;
    default: break;
    }
    inst->arg_count = (uint32_t)weft_scalar_operands(inst->op);
    WEFT_TRY(parse_values(p, inst->arg_count, inst->args));
    if (!weft_scalar_is_check(inst->op)) return NULL;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "<"));
    return parse_expr(p, &inst->index);
}

static weft_status *parse_inst(parser *p)
{
    weft_inst inst = {.op = WEFT_SCALAR_const};
    literal constant = {.kind = LITERAL_BITS};
    weft_token name;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_VALUE, "a value", &name));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "="));
    WEFT_TRY(parse_operation(p, &inst.op));
    WEFT_TRY(parse_operands(p, &inst, &constant));
    if (weft_lexer_accept(&p->lexer, "site")) {
        WEFT_TRY(parse_number(p, "the number of a site", &inst.number));
        WEFT_TRY(weft_lexer_expect(&p->lexer, "at"));
        WEFT_TRY(parse_expr(p, &inst.position));
    }
    WEFT_TRY(parse_condition(p, &inst.predicate_count, &inst.predicates));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ":"));
    WEFT_TRY(parse_dtype(p, &inst.dtype));
    WEFT_TRY(encode(p, &constant, inst.dtype, &inst.bits));
    p->block.visible = p->block.count; /* outcomes name instructions of the block by number: nothing is shared */
    weft_inst_id id = p->in_block ? weft_inst_list_add(&p->block, &inst) : weft_kernel_builder_inst(p->builder, &inst);
    return define_value(p, name, id);
}

/* ---- accumulators and stores ---- */

static weft_status *parse_block(parser *p, uint32_t width, weft_combiner *combiner)
{
    p->block = (weft_inst_list){.arena = &p->arena};
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    while (!weft_lexer_accept(&p->lexer, "yield")) WEFT_TRY(parse_inst(p));
    WEFT_TRY(parse_values(p, width, combiner->outcomes));
    if (p->block.failed) return weft_status_out_of_memory();
    combiner->insts = p->block.items;
    combiner->count = p->block.count;
    return weft_lexer_expect(&p->lexer, "}");
}

static weft_status *parse_combiner(parser *p, uint32_t width, weft_combiner *combiner)
{
    p->in_block = true;
    weft_map_init(&p->block_values, p->lexer.allocator);
    weft_status *status = parse_block(p, width, combiner);
    weft_map_finish(&p->block_values, NULL);
    p->in_block = false;
    return status;
}

/* "(%1, %2)" */
static weft_status *parse_contributions(parser *p, weft_accumulator *accumulator)
{
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    do {
        if (accumulator->value_count == WEFT_MAX_COMPONENTS)
            return weft_lexer_unexpected(&p->lexer, "')' after 4 values");
        WEFT_TRY(parse_value(p, &accumulator->values[accumulator->value_count]));
        accumulator->value_count++;
    } while (weft_lexer_accept(&p->lexer, ","));
    return weft_lexer_expect(&p->lexer, ")");
}

/* "init (0x0p+0) : f32"; the number of constants is the width. */
static weft_status *parse_init(parser *p, weft_accumulator *accumulator)
{
    literal init[WEFT_MAX_COMPONENTS];
    WEFT_TRY(weft_lexer_expect(&p->lexer, "init"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "("));
    do {
        if (accumulator->width == WEFT_MAX_COMPONENTS)
            return weft_lexer_unexpected(&p->lexer, "')' after 4 components");
        WEFT_TRY(parse_literal(p, &init[accumulator->width]));
        accumulator->width++;
    } while (weft_lexer_accept(&p->lexer, ","));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ")"));
    for (uint32_t c = 0; c < accumulator->width; c++) {
        WEFT_TRY(weft_lexer_expect(&p->lexer, c == 0 ? ":" : ","));
        WEFT_TRY(parse_dtype(p, &accumulator->dtypes[c]));
        WEFT_TRY(encode(p, &init[c], accumulator->dtypes[c], &accumulator->init[c]));
    }
    return NULL;
}

/* The name of a declaration has to count on from the ones before. */
static weft_status *parse_next(parser *p, char letter, const char *what, uint32_t expected)
{
    const char *at = p->lexer.token.start;
    uint32_t number;
    WEFT_TRY(parse_reference(p, letter, what, &number, NULL));
    if (number == expected) return NULL;
    return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR,
                            "%s %c%" PRIu32 " is declared where %c%" PRIu32 " comes next", what, letter, number, letter,
                            expected);
}

static weft_status *parse_accumulator(parser *p)
{
    weft_accumulator accumulator = {0};
    WEFT_TRY(parse_next(p, 'a', "an accumulator", p->accumulator_count++));
    WEFT_TRY(parse_contributions(p, &accumulator));
    WEFT_TRY(parse_init(p, &accumulator));
    if (weft_lexer_accept(&p->lexer, "step")) WEFT_TRY(parse_combiner(p, accumulator.width, &accumulator.step));
    WEFT_TRY(parse_combiner(p, accumulator.width, &accumulator.combine));
    weft_kernel_builder_accumulator(p->builder, &accumulator);
    return NULL;
}

static weft_status *parse_store(parser *p)
{
    weft_store store = {0};
    WEFT_TRY(parse_reference(p, 'b', "a buffer", &store.buffer, NULL));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    WEFT_TRY(parse_expr(p, &store.index));
    store.is_indirect = weft_lexer_accept(&p->lexer, ",");
    if (store.is_indirect) WEFT_TRY(parse_value(p, &store.offset));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "]"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "="));
    WEFT_TRY(parse_value(p, &store.value));
    WEFT_TRY(parse_condition(p, &store.predicate_count, &store.predicates));
    weft_kernel_builder_store(p->builder, &store);
    return NULL;
}

/* ---- ranges ---- */

/* What follows "blocks": nothing, or the elements of a flat block. */
static weft_status *parse_blocks(parser *p, weft_range *range)
{
    const weft_token token = p->lexer.token;
    range->blocks = WEFT_BLOCKS_NESTED;
    if (token.kind != WEFT_TOKEN_INTEGER) return NULL;
    WEFT_TRY(parse_number(p, "the elements of a block", &range->blocks));
    if (range->blocks > WEFT_BLOCKS_NESTED) return NULL;
    return weft_lexer_error(&p->lexer, token.start, WEFT_PARSE_ERROR, "a flat block has at least two elements");
}

static weft_status *parse_binding(parser *p, weft_range *range)
{
    if (weft_lexer_accept(&p->lexer, "reduce")) range->reduce = true;
    if (weft_lexer_accept(&p->lexer, "lanes")) WEFT_TRY(parse_number(p, "the number of lanes", &range->virtual_lanes));
    if (weft_lexer_accept(&p->lexer, "scan")) range->scans = true;
    if (weft_lexer_accept(&p->lexer, "blocks")) WEFT_TRY(parse_blocks(p, range));
    if (weft_lexer_accept(&p->lexer, "thread")) range->bind = WEFT_BIND_THREAD;
    else if (weft_lexer_accept(&p->lexer, "grid")) range->bind = WEFT_BIND_GRID;
    else if (weft_lexer_accept(&p->lexer, "lane")) range->bind = WEFT_BIND_LANE;
    if (range->bind != WEFT_BIND_LANE) return NULL;
    WEFT_TRY(parse_number(p, "the width", &range->width));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "x"));
    return parse_number(p, "the number of vectors", &range->unroll);
}

/* A copy of an identifier that has a name of its own in the text. */
static weft_status *parse_name(parser *p, const char *what, const char **out_name)
{
    weft_token token;
    WEFT_TRY(weft_lexer_take(&p->lexer, WEFT_TOKEN_IDENTIFIER, what, &token));
    *out_name = weft_arena_string(&p->arena, token.start, token.length);
    return check_memory(*out_name);
}

/* The error of the expressions about what was declared at `at`. */
static weft_status *declared(parser *p, const char *at, weft_expr symbol)
{
    if (symbol != WEFT_EXPR_NONE) return NULL;
    weft_status *error = weft_expr_context_take_error(p->exprs);
    weft_status *located = weft_status_out_of_memory();
    if (weft_status_code(error) != WEFT_OUT_OF_MEMORY)
        located = weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "%s", weft_status_message(error));
    weft_status_destroy(error);
    return located;
}

static weft_status *parse_range(parser *p)
{
    weft_range range = {.virtual_lanes = 1, .width = 1, .unroll = 1};
    const char *name, *at = p->lexer.token.start;
    WEFT_TRY(parse_name(p, "the name of a range", &name));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "<"));
    WEFT_TRY(parse_expr(p, &range.extent));
    range.variable = weft_expr_variable(p->exprs, name, range.extent);
    WEFT_TRY(declared(p, at, range.variable));
    WEFT_TRY(parse_binding(p, &range));
    weft_kernel_builder_range(p->builder, range);
    return NULL;
}

/* ---- kernels ---- */

static weft_status *parse_stage(parser *p)
{
    weft_kernel_builder_stage(p->builder);
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    while (weft_lexer_accept(&p->lexer, "for")) WEFT_TRY(parse_range(p));
    while (p->lexer.token.kind == WEFT_TOKEN_VALUE) WEFT_TRY(parse_inst(p));
    while (weft_lexer_accept(&p->lexer, "accumulate")) WEFT_TRY(parse_accumulator(p));
    while (weft_lexer_accept(&p->lexer, "store")) WEFT_TRY(parse_store(p));
    return weft_lexer_expect(&p->lexer, "}");
}

static weft_status *parse_symbol(parser *p)
{
    const char *name, *at = p->lexer.token.start;
    int64_t min, max;
    WEFT_TRY(parse_name(p, "the name of a symbol", &name));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "in"));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "["));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the least value", &min));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ","));
    WEFT_TRY(weft_lexer_take_integer(&p->lexer, "the greatest value", &max));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "]"));
    return declared(p, at, weft_expr_symbol(p->exprs, name, min, max));
}

static weft_status *parse_buffer(parser *p)
{
    weft_dtype dtype;
    WEFT_TRY(parse_next(p, 'b', "a buffer", p->buffer_count++));
    WEFT_TRY(weft_lexer_expect(&p->lexer, ":"));
    WEFT_TRY(parse_dtype(p, &dtype));
    if (!weft_lexer_accept(&p->lexer, "local")) {
        bool written = weft_lexer_accept(&p->lexer, "out"), unread = written && weft_lexer_accept(&p->lexer, "unread");
        uint32_t buffer = weft_kernel_builder_buffer(p->builder, dtype, written);
        if (unread) weft_kernel_builder_unread(p->builder, buffer);
        return NULL;
    }
    const char *at = p->lexer.token.start;
    uint32_t count = 0;
    WEFT_TRY(parse_number(p, "the number of elements", &count));
    if (count == 0) return weft_lexer_error(&p->lexer, at, WEFT_PARSE_ERROR, "a local buffer has at least one element");
    weft_kernel_builder_local(p->builder, dtype, count);
    return NULL;
}

static weft_status *parse_kernel(parser *p)
{
    uint32_t sites = 0;
    WEFT_TRY(weft_lexer_expect(&p->lexer, "kernel"));
    if (weft_lexer_accept(&p->lexer, "scheduled")) weft_kernel_builder_scheduled(p->builder);
    WEFT_TRY(weft_lexer_expect(&p->lexer, "{"));
    while (weft_lexer_accept(&p->lexer, "symbol")) WEFT_TRY(parse_symbol(p));
    while (weft_lexer_accept(&p->lexer, "buffer")) WEFT_TRY(parse_buffer(p));
    if (weft_lexer_accept(&p->lexer, "sites")) WEFT_TRY(parse_number(p, "the number of sites", &sites));
    weft_kernel_builder_sites(p->builder, sites);
    while (weft_lexer_accept(&p->lexer, "for")) WEFT_TRY(parse_range(p));
    while (weft_lexer_accept(&p->lexer, "stage")) WEFT_TRY(parse_stage(p));
    WEFT_TRY(weft_lexer_expect(&p->lexer, "}"));
    return p->lexer.token.kind == WEFT_TOKEN_END ? NULL : weft_lexer_unexpected(&p->lexer, "the end of the text");
}

/* A text that breaks a rule is the writer's error, not ours. */
static weft_status *finish_kernel(parser *p, weft_kernel **out_kernel)
{
    weft_status *error = weft_kernel_builder_finish(p->builder, out_kernel);
    if (weft_status_code(error) != WEFT_INTERNAL) return error;
    weft_status *named = weft_status_create(p->lexer.allocator, WEFT_PARSE_ERROR, p->lexer.name, "%s: %s",
                                            p->lexer.name, weft_status_message(error));
    weft_status_destroy(error);
    return named;
}

static weft_status *parse(parser *p, const char *text, size_t length, weft_kernel **out_kernel)
{
    const char *copy = weft_arena_string(&p->arena, text, length);
    WEFT_TRY(check_memory(copy));
    weft_lexer_init(&p->lexer, p->arena.allocator, p->lexer.name, copy);
    if (strlen(copy) != length)
        return weft_lexer_error(&p->lexer, copy + strlen(copy), WEFT_PARSE_ERROR, "the text has a NUL byte");
    WEFT_TRY(weft_kernel_builder_create(p->arena.allocator, &p->builder));
    p->exprs = weft_kernel_builder_exprs(p->builder);
    WEFT_TRY(parse_kernel(p));
    return finish_kernel(p, out_kernel);
}

weft_status *weft_kernel_parse(const weft_allocator *allocator, const char *name, const char *text, size_t length,
                               weft_kernel **out_kernel)
{
    parser p = {.lexer = {.name = name}};
    weft_arena_init(&p.arena, allocator);
    weft_map_init(&p.values, allocator);
    weft_status *status = parse(&p, text, length, out_kernel);
    weft_kernel_builder_destroy(p.builder);
    weft_map_finish(&p.values, NULL);
    weft_arena_finish(&p.arena);
    return status;
}
