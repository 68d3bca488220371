/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "test/float_modes.h"
#include <fenv.h>
#include "runtime/base/float_mode.h"
#include "test/support.h"

static void do_nothing(void) {}

static void flush_denormals(void)
{
    weft_float_mode mode = weft_float_mode_get();
    mode.sse |= 0x8040;
    weft_float_mode_set(mode);
}

static void round_up(void)
{
    assert_int_equal(fesetround(FE_UPWARD), 0);
}

static void round_down(void)
{
    assert_int_equal(fesetround(FE_DOWNWARD), 0);
}

static void round_to_zero(void)
{
    assert_int_equal(fesetround(FE_TOWARDZERO), 0);
}

static void round_long_doubles_to_singles(void)
{
    weft_float_mode mode = weft_float_mode_get();
    mode.x87 &= (uint16_t)~0x300;
    weft_float_mode_set(mode);
}

static void trap_errors(void)
{
    assert_int_not_equal(feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), -1);
}

static void trap_all(void)
{
    assert_int_not_equal(feenableexcept(FE_ALL_EXCEPT), -1);
}

const weft_test_float_mode weft_test_float_modes[WEFT_TEST_FLOAT_MODES] = {
    {"plainly", do_nothing},
    {"without denormals", flush_denormals},
    {"rounding up", round_up},
    {"rounding down", round_down},
    {"rounding to zero", round_to_zero},
    {"rounding long doubles to singles", round_long_doubles_to_singles},
    {"trapping errors", trap_errors},
    {"trapping all", trap_all},
};
