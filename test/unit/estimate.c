/* SPDX-License-Identifier: Apache-2.0 */
/* What the cost model makes of kernels. */
#include <stdio.h>
#include <string.h>
#include "lib/schedule/cost.h"
#include "test/support.h"

/* Sums of rows of what `operations` make %1 of %0, with vectors of the reference machine. */
static double estimate(const char *operations)
{
    static const char before[] = "kernel scheduled {\n"
                                 "  buffer b0 : f32 out\n"
                                 "  buffer b1 : f32\n"
                                 "  for i0 < 1000 thread\n"
                                 "  stage {\n"
                                 "    for i1 < 1000 reduce lanes 16 lane 8 x 2\n"
                                 "    %0 = load b1[1000*i0 + i1] : f32\n",
                      after[] = "    accumulate a0 (%1) init (0x0p+0) : f32 {\n"
                                "      %0 = param 0 : f32\n"
                                "      %1 = param 1 : f32\n"
                                "      %2 = add %0, %1 : f32\n"
                                "      yield %2\n"
                                "    }\n"
                                "  }\n"
                                "  stage {\n"
                                "    %2 = result a0.0 : f32\n"
                                "    store b0[i0] = %2\n"
                                "  }\n"
                                "}\n";
    char text[2048];
    weft_kernel *kernel = NULL;
    weft_estimate found;
    snprintf(text, sizeof text, "%s%s%s", before, operations, after);
    weft_test_ok(weft_kernel_parse(NULL, "sum", text, strlen(text), &kernel));
    weft_test_ok(weft_kernel_estimate(kernel, weft_machine_reference(), &found));
    weft_kernel_destroy(kernel);
    return found.computing;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
