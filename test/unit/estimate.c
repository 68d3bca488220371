/* SPDX-License-Identifier: Apache-2.0 */
/* What the cost model makes of kernels. */
#include <stdio.h>
#include <string.h>
#include "lib/schedule/cost.h"
#include "test/support.h"

/* Sums of rows of what `operations` make of %0, with vectors of the reference machine: %1, by the accumulator `adds`.
 */
static double estimate_sum(const char *operations, const char *adds)
{
    static const char before[] = "kernel scheduled {\n"
                                 "  buffer b0 : f32 out\n"
                                 "  buffer b1 : f32\n"
                                 "  for i0 < 1000 thread\n"
                                 "  stage {\n"
                                 "    for i1 < 1000 reduce lanes 16 lane 8 x 2\n"
                                 "    %0 = load b1[1000*i0 + i1] : f32\n",
                      after[] = "  }\n"
                                "  stage {\n"
                                "    %2 = result a0.0 : f32\n"
                                "    store b0[i0] = %2\n"
                                "  }\n"
                                "}\n";
    char text[2048];
    weft_kernel *kernel = NULL;
    weft_estimate found;
    snprintf(text, sizeof text, "%s%s%s%s", before, operations, adds, after);
    weft_test_ok(weft_kernel_parse(NULL, "sum", text, strlen(text), &kernel));
    weft_test_ok(weft_kernel_estimate(kernel, weft_machine_reference(), &found));
    weft_kernel_destroy(kernel);
    return found.computing;
}

#define COMBINE                                                                                                        \
    "{\n"                                                                                                              \
    "      %0 = param 0 : f32\n"                                                                                       \
    "      %1 = param 1 : f32\n"                                                                                       \
    "      %2 = add %0, %1 : f32\n"                                                                                    \
    "      yield %2\n"                                                                                                 \
    "    }\n"

static double estimate(const char *operations)
{
    return estimate_sum(operations, "    accumulate a0 (%1) init (0x0p+0) : f32 " COMBINE);
}

#define ROW "    %r = bitcast %0 : i32\n"

/* Registers hold the eight rows of tanh, where a lookup is like any other instruction; of a larger table it is one for
 * each lane. */
static void test_lookups(void **state)
{
    (void)state;
    double plain = estimate(ROW "    %c = abs %0 : f32\n    %1 = add %0, %c : f32\n");
    double held = estimate(ROW "    %c = lookup tanh.1 %r : f32\n    %1 = add %0, %c : f32\n");
    double loaded = estimate(ROW "    %c = lookup logarithm.1 %r : f64\n    %d = cast %c : f32\n"
                                 "    %1 = add %0, %d : f32\n");
    assert_true(held == plain);
    assert_true(loaded > 2 * plain);
}

/* A chain that sums do not wait for. */
#define CHAIN                                                                                                          \
    "    %a = neg %0 : f32\n    %b = abs %a : f32\n    %c = neg %b : f32\n    %d = abs %c : f32\n    %e = neg %d : "   \
    "f32\n"

/* Products that a sum takes in by fused multiply-adds are less than those that it adds: by the multiplication. */
static void test_steps(void **state)
{
    (void)state;
    double sum = estimate(CHAIN "    %1 = neg %e : f32\n"), parted = estimate(CHAIN "    %1 = mul %e, %e : f32\n");
    double fused = estimate_sum(CHAIN, "    accumulate a0 (%e, %e) init (0x0p+0) : f32 step {\n"
                                       "      %0 = param 0 : f32\n"
                                       "      %1 = param 1 : f32\n"
                                       "      %2 = param 2 : f32\n"
                                       "      %3 = fma %1, %2, %0 : f32\n"
                                       "      yield %3\n"
                                       "    } " COMBINE);
    assert_true(parted == sum);
    assert_true(fused < parted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_lookups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
