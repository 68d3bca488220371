/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the math lowerings: the instructions they leave are run here, many values at a time, and compared with libm
 * in double (f32) and MPFR (f64). `--all` takes every float instead of every 97th.
 */
#include "lib/loop/loop.h"
#include <math.h>
#include <mpfr.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "test/support.h"

enum { BLOCK = 256, MOST_INSTS = 256, RANDOM_DOUBLES = 2000000 };

static uint32_t stride = 97;

/* ---- running instructions ---- */

typedef union column {
    float f32[BLOCK];
    double f64[BLOCK];
    uint32_t i32[BLOCK];
    uint64_t i64[BLOCK];
    bool truth[BLOCK];
} column;

typedef struct interpreter {
    const weft_kernel *kernel;
    column columns[MOST_INSTS];
} interpreter;

#define EACH(result, expression)                                                                                       \
    for (int i = 0; i < BLOCK; i++) o->result[i] = (expression)

#define REAL_OPS(type, fused, absolute)                                                                                \
    case WEFT_SCALAR_abs: EACH(type, absolute(a->type[i])); break;                                                     \
    case WEFT_SCALAR_add: EACH(type, a->type[i] + b->type[i]); break;                                                  \
    case WEFT_SCALAR_sub: EACH(type, a->type[i] - b->type[i]); break;                                                  \
    case WEFT_SCALAR_mul: EACH(type, a->type[i] * b->type[i]); break;                                                  \
    case WEFT_SCALAR_div: EACH(type, a->type[i] / b->type[i]); break;                                                  \
    case WEFT_SCALAR_fma: EACH(type, fused(a->type[i], b->type[i], c->type[i])); break;                                \
    case WEFT_SCALAR_select: EACH(type, a->truth[i] ? b->type[i] : c->type[i]); break;                                 \
    case WEFT_SCALAR_lt: EACH(truth, a->type[i] < b->type[i]); break;                                                  \
    case WEFT_SCALAR_le:                                                                                               \
        EACH(truth, a->type[i] <= b->type[i]);                                                                         \
        break

#define INTEGER_OPS(type)                                                                                              \
    case WEFT_SCALAR_add: EACH(type, a->type[i] + b->type[i]); break;                                                  \
    case WEFT_SCALAR_sub: EACH(type, a->type[i] - b->type[i]); break;                                                  \
    case WEFT_SCALAR_and: EACH(type, a->type[i] & b->type[i]); break;                                                  \
    case WEFT_SCALAR_or: EACH(type, a->type[i] | b->type[i]); break;                                                   \
    case WEFT_SCALAR_shl: EACH(type, a->type[i] << b->type[i]); break;                                                 \
    case WEFT_SCALAR_shr: EACH(type, a->type[i] >> b->type[i]); break

typedef struct operands {
    weft_scalar_op op;
    const column *a, *b, *c;
} operands;

static void run_f32(operands x, column *o)
{
    const column *a = x.a, *b = x.b, *c = x.c;
    switch (x.op) {
        REAL_OPS(f32, fmaf, fabsf);
    default: fail_msg("%s is not run here", weft_scalar_name(x.op));
    }
}

static void run_f64(operands x, column *o)
{
    const column *a = x.a, *b = x.b, *c = x.c;
    switch (x.op) {
        REAL_OPS(f64, fma, fabs);
    default: fail_msg("%s is not run here", weft_scalar_name(x.op));
    }
}

static void run_i32(operands x, column *o)
{
    const column *a = x.a, *b = x.b;
    switch (x.op) {
        INTEGER_OPS(i32);
    default: fail_msg("%s is not run here", weft_scalar_name(x.op));
    }
}

static void run_i64(operands x, column *o)
{
    const column *a = x.a, *b = x.b;
    switch (x.op) {
        INTEGER_OPS(i64);
    default: fail_msg("%s is not run here", weft_scalar_name(x.op));
    }
}

static void fill(const weft_inst *inst, column *o)
{
    if (weft_dtype_size(inst->dtype) == 4) EACH(i32, (uint32_t)inst->bits);
    else EACH(i64, inst->bits);
}

/* Runs the kernel's one stage on `input`; the result of its last instruction. */
static const column *run(interpreter *machine, const column *input)
{
    const weft_inst *insts = machine->kernel->insts;
    uint32_t count = machine->kernel->inst_count;
    assert_true(count <= MOST_INSTS);
    for (uint32_t k = 0; k < count; k++) {
        const weft_inst *inst = &insts[k];
        column *out = &machine->columns[k], *columns = machine->columns;
        if (inst->op == WEFT_SCALAR_load) memcpy(out, input, sizeof *out);
        else if (inst->op == WEFT_SCALAR_const) fill(inst, out);
        else if (inst->op == WEFT_SCALAR_bitcast) memcpy(out, &columns[inst->args[0]], sizeof *out);
        if (inst->arg_count == 0 || inst->op == WEFT_SCALAR_bitcast) continue;
        operands x = {inst->op, &columns[inst->args[0]], &columns[inst->args[1]], &columns[inst->args[2]]};
        switch (insts[inst->args[inst->arg_count - 1]].dtype) {
        case WEFT_F32: run_f32(x, out); break;
        case WEFT_F64: run_f64(x, out); break;
        case WEFT_I32: run_i32(x, out); break;
        default: run_i64(x, out); break;
        }
    }
    return &machine->columns[count - 1];
}

/* ---- distances ---- */

typedef struct record {
    double ulp, at;
} record;

static void note(record *worst, double ulp, double at)
{
    if (!(ulp <= worst->ulp)) *worst = (record){ulp, at};
}

/* Distance of a float from the exact value: infinity counts as the next number where the exact value is finite. */
static double distance32(float found, double exact)
{
    if (isnan(exact)) return isnan(found) ? 0.0 : INFINITY;
    if (isinf(exact) || exact == 0.0)
        return (double)found == exact && !signbit(found) == !signbit(exact) ? 0.0 : INFINITY;
    int exponent = ilogb(exact);
    if (exponent > 127) return isinf(found) && (found > 0) == (exact > 0) ? 0.0 : INFINITY;
    double value = isinf(found) ? copysign(0x1p128, (double)found) : (double)found;
    return fabs(value - exact) / ldexp(1.0, (exponent < -126 ? -126 : exponent) - 23);
}

static double distance64(double found, mpfr_t exact, mpfr_t scratch)
{
    if (mpfr_nan_p(exact)) return isnan(found) ? 0.0 : INFINITY;
    if (mpfr_inf_p(exact) || mpfr_zero_p(exact)) {
        double expected = mpfr_get_d(exact, MPFR_RNDN);
        return found == expected && !signbit(found) == !signbit(expected) ? 0.0 : INFINITY;
    }
    long exponent = (long)mpfr_get_exp(exact) - 1;
    if (exponent > 1023) return isinf(found) && (found > 0) == (mpfr_sgn(exact) > 0) ? 0.0 : INFINITY;
    if (isnan(found)) return INFINITY;
    mpfr_set_d(scratch, found, MPFR_RNDN);
    if (isinf(found)) mpfr_set_si_2exp(scratch, found > 0 ? 1 : -1, 1024, MPFR_RNDN);
    mpfr_sub(scratch, scratch, exact, MPFR_RNDN);
    mpfr_mul_2si(scratch, scratch, 52 - (exponent < -1022 ? -1022 : exponent), MPFR_RNDN);
    return fabs(mpfr_get_d(scratch, MPFR_RNDN));
}

/* ---- the measurement ---- */

typedef struct function_row {
    const char *name;
    double (*reference)(double);
    int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
    double low, high; /* where f64 is sampled more densely */
} function_row;

static const function_row functions[] = {
    {"exp", exp, mpfr_exp, -750.0, 715.0}, {"log", log, mpfr_log, 0.4, 2.5}, {"tanh", tanh, mpfr_tanh, -22.0, 22.0}};

static const function_row *function_of(const char *name)
{
    const function_row *found = functions;
    while (strcmp(found->name, name) != 0) found++;
    return found;
}

static void measure32(interpreter *machine, const function_row *function, record *worst)
{
    column input;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += (uint64_t)BLOCK * stride) {
        for (int i = 0; i < BLOCK; i++) input.i32[i] = (uint32_t)(bits + (uint64_t)i * stride);
        const column *output = run(machine, &input);
        for (int i = 0; i < BLOCK; i++)
            note(worst, distance32(output->f32[i], function->reference((double)input.f32[i])), (double)input.f32[i]);
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static double sample(const function_row *function, uint64_t *state)
{
    static const double special[] = {
        0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023};
    uint64_t bits = next_random(state);
    if (bits % 4096 == 0) return special[bits / 4096 % (sizeof special / sizeof *special)];
    if (bits % 4 != 0) return function->low + (function->high - function->low) * ldexp((double)(bits >> 11), -53);
    double value;
    bits = next_random(state);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void measure64(interpreter *machine, const function_row *function, record *worst)
{
    mpfr_t exact, scratch;
    mpfr_inits2(160, exact, scratch, (mpfr_ptr)NULL);
    uint64_t state = 1;
    column input;
    for (int n = 0; n < RANDOM_DOUBLES; n += BLOCK) {
        for (int i = 0; i < BLOCK; i++) input.f64[i] = sample(function, &state);
        const column *output = run(machine, &input);
        for (int i = 0; i < BLOCK; i++) {
            mpfr_set_d(scratch, input.f64[i], MPFR_RNDN);
            function->exact(exact, scratch, MPFR_RNDN);
            note(worst, distance64(output->f64[i], exact, scratch), input.f64[i]);
        }
    }
    mpfr_clears(exact, scratch, (mpfr_ptr)NULL);
}

static weft_kernel *lowered(const char *name, const char *dtype)
{
    char text[512];
    int length = snprintf(text, sizeof text,
                          "kernel { symbol n in [0, 100] buffer b0 : %s out buffer b1 : %s for i < n stage {"
                          " %%0 = load b1[i] : %s %%1 = %s %%0 : %s store b0[i] = %%1 } }",
                          dtype, dtype, dtype, name, dtype);
    weft_kernel *kernel = NULL;
    weft_test_ok(weft_kernel_parse(NULL, "test", text, (size_t)length, &kernel));
    weft_test_ok(weft_kernel_lower_math(kernel));
    weft_test_ok(weft_kernel_verify(kernel));
    return kernel;
}

/* Constants and bitcasts cost nothing. */
static unsigned cost(const weft_kernel *kernel)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < kernel->inst_count; i++)
        count += kernel->insts[i].arg_count != 0 && kernel->insts[i].op != WEFT_SCALAR_bitcast;
    return count;
}

static void check(const char *name, weft_dtype dtype, double bound)
{
    static interpreter machine;
    const function_row *function = function_of(name);
    weft_kernel *kernel = lowered(name, weft_dtype_name(dtype));
    machine.kernel = kernel;
    record worst = {0.0, 0.0};
    if (dtype == WEFT_F32) measure32(&machine, function, &worst);
    else measure64(&machine, function, &worst);
    printf("%-4s %s  %.4f ULP at %-24a  bound %.2f, %u instructions\n", name, weft_dtype_name(dtype), worst.ulp,
           worst.at, bound, cost(kernel));
    weft_kernel_destroy(kernel);
    assert_true(worst.ulp <= bound);
}

#define WEFT_MATH(name, dtype, ulp)                                                                                    \
    static void test_##name##_##dtype(void **state)                                                                    \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        check(#name, WEFT_##dtype, ulp);                                                                               \
    }
#include "lib/loop/math.def"
#undef WEFT_MATH

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--all") == 0) stride = 1;
    const struct CMUnitTest tests[] = {
#define WEFT_MATH(name, dtype, ulp) cmocka_unit_test(test_##name##_##dtype),
#include "lib/loop/math.def"
#undef WEFT_MATH
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
