/* SPDX-License-Identifier: Apache-2.0 */
#include "test/variants.h"
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"
#include "test/support.h"

int weft_test_executor_create(void **state)
{
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor));
    *state = executor;
    return 0;
}

int weft_test_executor_destroy(void **state)
{
    weft_executor_destroy(*state);
    return 0;
}

weft_status *weft_test_visit(const weft_allocator *allocator, const weft_program *program, const int64_t *specialized,
                             bool is_limited, weft_variant_visitor look, void *context)
{
    const uint8_t layouts[] = {WEFT_LAYOUT_CONTIGUOUS, WEFT_LAYOUT_CONTIGUOUS};
    return weft_variant_visit(
        &(weft_build_request){.allocator = weft_allocator_or_default(allocator),
                              .program = program,
                              .input_layouts = layouts,
                              .output_layouts = layouts,
                              .specialized_count = specialized == NULL ? 0 : weft_program_symbol_count(program),
                              .specialized = specialized,
                              .is_limited = is_limited,
                              .machine = weft_machine_reference(),
                              .level = weft_isa_level()},
        look, context);
}

void weft_test_same_bits(const weft_array *a, const weft_array *b)
{
    assert_int_equal(weft_array_count(a), weft_array_count(b));
    assert_memory_equal(weft_array_data(a), weft_array_data(b),
                        (size_t)weft_array_count(a) * weft_dtype_size(weft_array_dtype(a)));
}
