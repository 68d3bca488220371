/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/machine.h"
#include <inttypes.h>
#include <weft/executor.h>
#include "runtime/base/status.h"

/* Zen 3. */
static const weft_machine reference = {
    .size = sizeof reference,
    .device = WEFT_DEVICE_CPU,
    .vector_bytes = 32,
    .registers = 16,
    .line_bytes = 64,
    .cache_bytes = {32 << 10, 512 << 10},
    .operations = 32e9,
    .cache_bandwidth = 40e9,
    .sort_rate = 1e8,
    .threads = 2,
    .product_rates = {4e9, 15e9, 40e9, 65e9},
    .bandwidth = 8e9,
    .dispatch_seconds = 300e-9,
    .fork_join_seconds = 2e-6,
};

const weft_machine *weft_machine_reference(void)
{
    return &reference;
}

/* ---- checks ---- */

static weft_status *check_integer(const char *name, uint64_t number, uint64_t least, uint64_t most)
{
    if (number >= least && number <= most) return NULL;
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_machine_check",
                              "%s of the machine is %" PRIu64 ", not an integer from %" PRIu64 " to %" PRIu64, name,
                              number, least, most);
}

static weft_status *check_number(const char *name, double number, double least, double most)
{
    if (number >= least && number <= most) return NULL;
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_machine_check",
                              "%s of the machine is %.17g, not a number from %g to %g", name, number, least, most);
}

static weft_status *check_power(const char *name, uint32_t number, uint32_t least, uint32_t most)
{
    if (number >= least && number <= most && (number & (number - 1)) == 0) return NULL;
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, "weft_machine_check",
                              "%s of the machine is %u, not a power of two from %u to %u", name, number, least, most);
}

static weft_status *check_sizes(const weft_machine *machine)
{
    static const char *const caches[WEFT_MACHINE_CACHES] = {"cache_bytes[0]", "cache_bytes[1]"};
    /* No processor that code is generated for has longer ones, and LLVM 19 takes forever for some of 32 integers of 64
     * bits: sext(and(a != 0, m)) + c, where most elements of a are known. */
    WEFT_TRY(check_power("vector_bytes", machine->vector_bytes, 16, 64));
    WEFT_TRY(check_integer("registers", machine->registers, 8, 1024));
    WEFT_TRY(check_power("line_bytes", machine->line_bytes, WEFT_LEAST_LINE, WEFT_MOST_LINE));
    for (size_t i = 0; i < WEFT_MACHINE_CACHES; i++)
        WEFT_TRY(check_integer(caches[i], machine->cache_bytes[i], WEFT_LEAST_CACHE, WEFT_MOST_CACHE));
    return NULL;
}

static weft_status *check_rate(const char *name, double rate)
{
    return check_number(name, rate, 1, 1e18);
}

weft_status *weft_machine_check(const weft_machine *machine)
{
    static const char *const rates[WEFT_MACHINE_RATES] = {"product_rates[0]", "product_rates[1]", "product_rates[2]",
                                                          "product_rates[3]"};
    WEFT_REQUIRE(machine);
    if (machine->size != 0) WEFT_TRY(check_integer("size", machine->size, sizeof *machine, PTRDIFF_MAX));
    WEFT_TRY(check_integer("device", machine->device, WEFT_DEVICE_CPU, WEFT_DEVICE_CUDA));
    WEFT_TRY(check_sizes(machine));
    WEFT_TRY(check_rate("operations", machine->operations));
    WEFT_TRY(check_rate("cache_bandwidth", machine->cache_bandwidth));
    WEFT_TRY(check_rate("sort_rate", machine->sort_rate));
    WEFT_TRY(check_integer("threads", machine->threads, 1, WEFT_MAX_THREADS));
    for (size_t i = 0; i < WEFT_MACHINE_RATES; i++) WEFT_TRY(check_rate(rates[i], machine->product_rates[i]));
    WEFT_TRY(check_rate("bandwidth", machine->bandwidth));
    WEFT_TRY(check_number("dispatch_seconds", machine->dispatch_seconds, 0, 1));
    return check_number("fork_join_seconds", machine->fork_join_seconds, 0, 1);
}

weft_status *weft_machine_check_cpu(const weft_allocator *allocator, const weft_machine *machine, const char *where)
{
    WEFT_TRY(weft_machine_check(machine));
    if (machine->device == WEFT_DEVICE_CPU) return NULL;
    return weft_status_create(allocator, WEFT_INVALID_ARGUMENT, where,
                              "the machine is device %d, not the CPU that code is made for", (int)machine->device);
}

/* ---- estimates ---- */

double weft_machine_kernel_ns(const weft_machine *machine, double operations, double bytes)
{
    double computed = operations / machine->operations, moved = bytes / machine->cache_bandwidth;
    return 1e9 * (computed > moved ? computed : moved);
}

double weft_machine_product_ns(const weft_machine *machine, weft_dtype dtype, double m, double n, double k)
{
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    double least = m < n ? m : n;
    double slowness = info->size > 4 ? (double)info->size / 4 : 1;
    if (k < least) least = k;
    if (info->kind == WEFT_KIND_COMPLEX) slowness *= 2;
    double rate = machine->product_rates[(least >= 4) + (least >= 16) + (least >= 64)] / machine->threads;
    return 1e9 * m * n * k * slowness / rate;
}

/* Cutting work costs a fork and a join, so it has to save more; a piece is half of that, to be worth what claiming it
 * costs. */
static double least_operations(const weft_machine *machine)
{
    return 2 * machine->fork_join_seconds * machine->operations;
}

int64_t weft_machine_grain(const weft_machine *machine, int64_t iterations, int64_t operations)
{
    double each = operations < 1 ? 1 : (double)operations, least = least_operations(machine);
    if (each * (double)iterations < least) return iterations;
    return each >= least / 4 ? 1 : (int64_t)((least / 4 + each - 1) / each);
}

bool weft_machine_is_serial_product(const weft_machine *machine, double ns)
{
    return ns < 16e9 * machine->fork_join_seconds;
}
