/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/loop/inst.h"
#include <inttypes.h>
#include <string.h>
#include "lib/loop/print_expr.h"

typedef struct printer {
    const weft_kernel *kernel;
    weft_range_names names;
    weft_bytes *text;
} printer;

/* ---- constants ---- */

typedef struct float_format {
    int fraction; /* stored bits of the significand */
    int bias;
} float_format;

static const float_format single_format = {23, 127}, double_format = {52, 1023};

/* Finite values as hexadecimal floats: exact, and the same in every locale. */
static void print_float(const printer *p, float_format format, uint64_t bits)
{
    int exponent_bits = format.fraction == 23 ? 8 : 11;
    uint64_t fraction = bits & (((uint64_t)1 << format.fraction) - 1);
    int exponent = (int)(bits >> format.fraction & (((uint64_t)1 << exponent_bits) - 1));
    const char *sign = bits >> (format.fraction + exponent_bits) != 0 ? "-" : "";
    bool special = exponent == 2 * format.bias + 1;
    if (special && fraction == 0) weft_bytes_print(p->text, "%sinf", sign);
    else if (special) weft_bytes_print(p->text, "bits 0x%" PRIx64, bits);
    else if (exponent == 0 && fraction == 0) weft_bytes_print(p->text, "%s0x0p+0", sign);
    if (special || (exponent == 0 && fraction == 0)) return;
    int power = (exponent == 0 ? 1 : exponent) - format.bias;
    int digits = (format.fraction + 3) / 4;
    fraction <<= 4 * digits - format.fraction;
    for (; digits > 0 && (fraction & 15) == 0; digits--) fraction >>= 4;
    weft_bytes_print(p->text, "%s0x%d", sign, exponent != 0);
    if (digits > 0) weft_bytes_print(p->text, ".%0*" PRIx64, digits, fraction);
    weft_bytes_print(p->text, "p%+d", power);
}

static void print_constant(const printer *p, weft_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case WEFT_BOOL: weft_bytes_print(p->text, "%s", bits != 0 ? "true" : "false"); break;
    case WEFT_U8:
    case WEFT_U32: weft_bytes_print(p->text, "%" PRIu64, bits); break;
    case WEFT_I32: weft_bytes_print(p->text, "%" PRId32, (int32_t)bits); break;
    case WEFT_I64: weft_bytes_print(p->text, "%" PRId64, (int64_t)bits); break;
    case WEFT_F32: print_float(p, single_format, bits); break;
    case WEFT_F64: print_float(p, double_format, bits); break;
    default: weft_bytes_print(p->text, "bits 0x%" PRIx64, bits); break;
    }
}

/* ---- parts of lines ---- */

static void print_expr(const printer *p, weft_expr e)
{
    weft_loop_print_expr(p->kernel->exprs, &p->names, e, p->text);
}

static void print_exprs(const printer *p, uint32_t count, const weft_expr *exprs)
{
    weft_bytes_append(p->text, "(", 1);
    for (uint32_t i = 0; i < count; i++) {
        if (i != 0) weft_bytes_append(p->text, ", ", 2);
        print_expr(p, exprs[i]);
    }
    weft_bytes_append(p->text, ")", 1);
}

static void print_condition(const printer *p, uint32_t count, const weft_expr *predicates)
{
    if (count == 0) return;
    weft_bytes_append(p->text, " if ", 4);
    print_exprs(p, count, predicates);
}

static void print_values(const printer *p, uint32_t count, const weft_inst_id *ids)
{
    for (uint32_t i = 0; i < count; i++) weft_bytes_print(p->text, "%s%%%" PRIu32, i == 0 ? "" : ", ", ids[i]);
}

/* "b1[i0 + 3, %2]" */
static void print_load(const printer *p, const weft_inst *inst)
{
    weft_bytes_print(p->text, " b%" PRIu32 "[", inst->buffer);
    print_expr(p, inst->index);
    if (inst->arg_count != 0) weft_bytes_append(p->text, ", ", 2);
    print_values(p, inst->arg_count, inst->args);
    weft_bytes_append(p->text, "]", 1);
}

static void print_operands(const printer *p, const weft_inst *inst)
{
    switch (inst->op) {
    case WEFT_SCALAR_load: print_load(p, inst); return;
    case WEFT_SCALAR_param: weft_bytes_print(p->text, " %" PRIu32, inst->number); return;
    case WEFT_SCALAR_result:
    case WEFT_SCALAR_running: weft_bytes_print(p->text, " a%" PRIu32 ".%" PRIu32, inst->buffer, inst->number); return;
    case WEFT_SCALAR_lookup:
        weft_bytes_print(p->text, " %s.%" PRIu32, weft_table_of(inst->buffer)->name, inst->number);
        break;
    default: break;
    }
    weft_bytes_append(p->text, " ", 1);
    print_values(p, inst->arg_count, inst->args);
    if (inst->op == WEFT_SCALAR_const) print_constant(p, inst->dtype, inst->bits);
    if (weft_scalar_is_check(inst->op)) weft_bytes_append(p->text, " < ", 3);
    if (inst->index != WEFT_EXPR_NONE) print_expr(p, inst->index);
}

static void print_inst(const printer *p, const weft_inst *inst, weft_inst_id id, const char *indent)
{
    unsigned fields = weft_inst_fields(inst->op, inst->dtype);
    weft_bytes_print(p->text, "%s%%%" PRIu32 " = %s", indent, id, weft_scalar_name(inst->op));
    print_operands(p, inst);
    if (fields & WEFT_INST_POSITION) {
        weft_bytes_print(p->text, " site %" PRIu32 " at ", inst->number);
        print_expr(p, inst->position);
    }
    if (inst->op == WEFT_SCALAR_inside) print_exprs(p, inst->predicate_count, inst->predicates);
    else print_condition(p, inst->predicate_count, inst->predicates);
    weft_bytes_print(p->text, " : %s\n", weft_dtype_name(inst->dtype));
}

static const char *const bindings[] = {
    [WEFT_BIND_SERIAL] = "", [WEFT_BIND_THREAD] = " thread", [WEFT_BIND_LANE] = " lane", [WEFT_BIND_GRID] = " grid"};

static void print_range(const printer *p, const weft_range *range, uint32_t number, const char *indent)
{
    weft_bytes_print(p->text, "%sfor ", indent);
    weft_loop_print_range_name(&p->names, number, p->text);
    weft_bytes_append(p->text, " < ", 3);
    print_expr(p, range->extent);
    if (range->reduce) weft_bytes_print(p->text, " reduce");
    if (range->virtual_lanes != 1) weft_bytes_print(p->text, " lanes %" PRIu32, range->virtual_lanes);
    if (range->scans) weft_bytes_print(p->text, " scan");
    if (range->blocks != WEFT_BLOCKS_NONE) weft_bytes_print(p->text, " blocks");
    if (range->blocks > WEFT_BLOCKS_NESTED) weft_bytes_print(p->text, " %" PRIu32, range->blocks);
    weft_bytes_print(p->text, "%s", bindings[range->bind]);
    if (range->bind == WEFT_BIND_LANE)
        weft_bytes_print(p->text, " %" PRIu32 " x %" PRIu32, range->width, range->unroll);
    weft_bytes_append(p->text, "\n", 1);
}

/* ---- blocks ---- */

static void print_combiner(const printer *p, uint32_t width, const weft_combiner *combiner)
{
    weft_bytes_print(p->text, " {\n");
    for (uint32_t i = 0; i < combiner->count; i++) print_inst(p, &combiner->insts[i], i, "      ");
    weft_bytes_print(p->text, "      yield ");
    print_values(p, width, combiner->outcomes);
    weft_bytes_print(p->text, "\n    }");
}

static void print_accumulator(const printer *p, uint32_t number)
{
    const weft_accumulator *accumulator = &p->kernel->accumulators[number];
    weft_bytes_print(p->text, "    accumulate a%" PRIu32 " (", number);
    print_values(p, accumulator->value_count, accumulator->values);
    weft_bytes_print(p->text, ") init (");
    for (uint32_t c = 0; c < accumulator->width; c++) {
        if (c != 0) weft_bytes_append(p->text, ", ", 2);
        print_constant(p, accumulator->dtypes[c], accumulator->init[c]);
    }
    weft_bytes_print(p->text, ") : ");
    for (uint32_t c = 0; c < accumulator->width; c++)
        weft_bytes_print(p->text, "%s%s", c == 0 ? "" : ", ", weft_dtype_name(accumulator->dtypes[c]));
    if (accumulator->step.count != 0) {
        weft_bytes_print(p->text, " step");
        print_combiner(p, accumulator->width, &accumulator->step);
    }
    print_combiner(p, accumulator->width, &accumulator->combine);
    weft_bytes_print(p->text, "\n");
}

static void print_store(const printer *p, const weft_store *store)
{
    weft_bytes_print(p->text, "    store b%" PRIu32 "[", store->buffer);
    print_expr(p, store->index);
    if (store->is_indirect) weft_bytes_print(p->text, ", %%%" PRIu32, store->offset);
    weft_bytes_print(p->text, "] = %%%" PRIu32, store->value);
    print_condition(p, store->predicate_count, store->predicates);
    weft_bytes_append(p->text, "\n", 1);
}

static void print_stage(printer *p, const weft_stage *stage)
{
    p->names.inner = stage->ranges;
    p->names.inner_count = stage->range_count;
    weft_bytes_print(p->text, "  stage {\n");
    for (uint32_t r = 0; r < stage->range_count; r++)
        print_range(p, &stage->ranges[r], p->names.inner_first + r, "    ");
    for (uint32_t i = stage->inst_first; i < stage->inst_first + stage->inst_count; i++)
        print_inst(p, &p->kernel->insts[i], i, "    ");
    for (uint32_t a = 0; a < stage->accumulator_count; a++) print_accumulator(p, stage->accumulator_first + a);
    for (uint32_t s = 0; s < stage->store_count; s++) print_store(p, &stage->stores[s]);
    weft_bytes_print(p->text, "  }\n");
    p->names.inner_first += stage->range_count;
}

/* ---- kernels ---- */

static void print_symbol(const printer *p, weft_expr symbol)
{
    int64_t min, max;
    weft_expr_range(p->kernel->exprs, symbol, &min, &max);
    weft_bytes_append(p->text, "  symbol ", strlen("  symbol "));
    weft_loop_print_symbol_name(p->kernel->exprs, &p->names, symbol, p->text);
    weft_bytes_print(p->text, " in [%" PRId64 ", %" PRId64 "]\n", min, max);
}

/* One more than in any symbol's name of that form. */
static size_t choose_letters(const weft_kernel *kernel)
{
    size_t letters = 1, count = weft_kernel_scalar_count(kernel);
    for (size_t s = 0; s < count; s++) {
        const char *name = weft_kernel_scalar_name(kernel, s);
        size_t run = strspn(name, "i");
        if (run >= letters && name[run] >= '0' && name[run] <= '9') letters = run + 1;
    }
    return letters;
}

static void print_kernel(printer *p)
{
    const weft_kernel *kernel = p->kernel;
    weft_bytes_print(p->text, "kernel%s {\n", kernel->scheduled ? " scheduled" : "");
    for (size_t s = 0; s < weft_expr_context_symbol_count(kernel->exprs); s++) {
        weft_expr symbol = weft_expr_context_symbol(kernel->exprs, s);
        if (weft_expr_bound(kernel->exprs, symbol) == WEFT_EXPR_NONE) print_symbol(p, symbol);
    }
    for (uint32_t b = 0; b < kernel->buffer_count; b++) {
        const weft_kernel_buffer *buffer = &kernel->buffers[b];
        const char *direction = buffer->unread ? " out unread" : buffer->written ? " out" : "";
        weft_bytes_print(p->text, "  buffer b%" PRIu32 " : %s%s", b, weft_dtype_name(buffer->dtype), direction);
        if (buffer->local != 0) weft_bytes_print(p->text, " local %" PRIu32, buffer->local);
        weft_bytes_append(p->text, "\n", 1);
    }
    if (kernel->site_count != 0) weft_bytes_print(p->text, "  sites %" PRIu32 "\n", kernel->site_count);
    for (uint32_t r = 0; r < kernel->range_count; r++) print_range(p, &kernel->ranges[r], r, "  ");
    for (uint32_t s = 0; s < kernel->stage_count; s++) print_stage(p, &kernel->stages[s]);
    weft_bytes_print(p->text, "}\n");
}

static weft_status *print_named(const weft_kernel *kernel, bool numbered, weft_bytes *out_text)
{
    weft_range_names names = {.numbered = numbered,
                              .letters = numbered ? 1 : choose_letters(kernel),
                              .outer = kernel->ranges,
                              .outer_count = kernel->range_count,
                              .inner_first = kernel->range_count};
    printer p = {kernel, names, out_text};
    print_kernel(&p);
    return weft_bytes_status(out_text);
}

weft_status *weft_kernel_print(const weft_kernel *kernel, weft_bytes *out_text)
{
    return print_named(kernel, false, out_text);
}

weft_status *weft_kernel_key(const weft_kernel *kernel, weft_bytes *out_key)
{
    return print_named(kernel, true, out_key);
}
