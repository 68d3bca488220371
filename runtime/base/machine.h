/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_MACHINE_H
#define WEFT_RUNTIME_BASE_MACHINE_H
/* Checks of the machine model, and estimates from it, which affect only how long a run takes. Times are in
 * nanoseconds. */
#include <weft/machine.h>

/* Bytes that caches and their lines may have. */
enum {
    WEFT_LEAST_CACHE = 4 << 10,
    WEFT_MOST_CACHE = 1 << 30,
    WEFT_LEAST_LINE = 16,
    WEFT_MOST_LINE = 1024,
};

/* weft_machine_check, and that it is a CPU: INVALID_ARGUMENT of `where`. */
weft_status *weft_machine_check_cpu(const weft_allocator *allocator, const weft_machine *machine,
                                    const char *where) WEFT_MUST_USE;

/* Time of that many scalar operations of generated code while it moves that many bytes. */
double weft_machine_kernel_ns(const weft_machine *machine, double operations, double bytes);
/* Of the multiplications of a product of m x k and k x n, on one thread. */
double weft_machine_product_ns(const weft_machine *machine, weft_dtype dtype, double m, double n, double k);
/* Iterations that a thread is given at a time, each of that many operations: all of them if waking another thread may
 * take longer than they do. */
int64_t weft_machine_grain(const weft_machine *machine, int64_t iterations, int64_t operations);
/* Whether products that take so long together are too short to be cut for threads, which pack operands twice. */
bool weft_machine_is_serial_product(const weft_machine *machine, double ns);
#endif
