/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that move the lanes of a set to the front of a register, for the file that includes this. */
#include <stdint.h>

/* The place of lane i of `lanes`: among those of set m, or after all of these among the others. */
#define BEFORE(m, i) __builtin_popcount((m) & ((1 << (i)) - 1))
#define PLACE(m, i, lanes) ((m) >> (i)&1 ? BEFORE(m, i) : BEFORE(m, lanes) + BEFORE(~(m), i))
#define LANE(m, i) ((uint64_t)(i) << 8 * PLACE(m, i, 8))
#define SET(m) LANE(m, 0) | LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | LANE(m, 7)
#define SETS4(m) SET(m), SET(m + 1), SET(m + 2), SET(m + 3)
#define SETS16(m) SETS4(m), SETS4(m + 4), SETS4(m + 8), SETS4(m + 12)
#define SETS64(m) SETS16(m), SETS16(m + 16), SETS16(m + 32), SETS16(m + 48)
/* Of each set of 8 lanes the numbers, a byte each, and after them those of the others. */
static const uint64_t lane_orders[256] = {SETS64(0), SETS64(64), SETS64(128), SETS64(192)};
