/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_UNIT_EAGER_FIXTURE_H
#define WEFT_TEST_UNIT_EAGER_FIXTURE_H
/* A context for each test of eager arrays, and what their tests share. */
#include <math.h>
#include <weft/eager.h>
#include "test/support.h"

static weft_executor *executor;
static weft_eager *eager;

static inline int set_up(void **state)
{
    (void)state;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 1}, &executor));
    weft_test_ok(weft_eager_create(executor, &(weft_eager_options){.runtime = "ref"}, &eager));
    return 0;
}

/* Whatever a test did, nothing is left of it but what the context keeps. */
static inline int tear_down(void **state)
{
    (void)state;
    weft_eager_counters counters;
    weft_eager_clear(eager);
    weft_eager_counters_read(eager, &counters);
    assert_int_equal(counters.arrays, 0);
    assert_null(weft_eager_error(eager));
    weft_eager_destroy(eager);
    weft_executor_destroy(executor);
    return 0;
}

static inline weft_eager_counters counters(void)
{
    weft_eager_counters now;
    weft_eager_counters_read(eager, &now);
    return now;
}

static inline weft_eager_array *f32(weft_ints shape, const float *data)
{
    weft_eager_array *array = weft_eager_copy(eager, WEFT_F32, shape, data);
    assert_non_null(array);
    return array;
}

/* 0, 1, 2, ... */
static inline weft_eager_array *range(weft_ints shape)
{
    weft_eager_array *made = weft_eager_apply(weft_arange, eager, WEFT_F32, 0, 1, 24), *x;
    weft_array *value;
    weft_test_ok(weft_eager_value(eager, made, &value));
    x = f32(shape, weft_array_data(value));
    weft_eager_release(made);
    return x;
}

static inline weft_array *value_of(weft_eager_array *array)
{
    weft_array *value = NULL;
    weft_test_ok(weft_eager_value(eager, array, &value));
    return value;
}

static inline void expect(weft_eager_array *array, size_t count, const float *wanted)
{
    weft_array *dense;
    assert_non_null(array);
    assert_int_equal(weft_eager_count(array), count);
    weft_test_ok(weft_array_retain_dense(NULL, value_of(array), &dense));
    const float *found = weft_array_data(dense);
    for (size_t i = 0; i < count; i++) assert_true(fabsf(found[i] - wanted[i]) <= 1e-5f * (1 + fabsf(wanted[i])));
    weft_array_release(dense);
}

/* Takes `array`. */
#define EXPECT(array, ...)                                                                                             \
    do {                                                                                                               \
        const float wanted_[] = {__VA_ARGS__};                                                                         \
        weft_eager_array *array_ = (array);                                                                            \
        expect(array_, sizeof wanted_ / sizeof *wanted_, wanted_);                                                     \
        weft_eager_release(array_);                                                                                    \
    } while (0)

static inline void expect_error(weft_eager_array *failed, weft_code code, const char *part)
{
    weft_array *value = NULL;
    assert_null(failed);
    weft_test_fails(weft_eager_value(eager, failed, &value), code, part);
    assert_null(value);
    assert_null(weft_eager_error(eager));
}

#define IN_FIXTURE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#endif
