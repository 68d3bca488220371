/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/node.h"

int64_t weft_expr_floor_div(int64_t a, int64_t b)
{
    if (a == INT64_MIN && b == -1) return INT64_MAX;
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t weft_expr_gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y != 0) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > INT64_MAX ? INT64_C(1) << 62 : (int64_t)x;
}
