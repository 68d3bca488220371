/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_MACHINE_H
#define WEFT_MACHINE_H
/*
 * The machine model, which weft consults wherever it trades time against time. It determines how loops are scheduled,
 * how work is cut for threads and in which order tensors are contracted, and so how long a run takes; where it matters
 * it is accurate within a factor of two.
 *
 * Bits do not depend on the host. Decisions that could change them, such as the order of a contraction, use the
 * reference machine, or the model passed to a call.
 */
#include <weft/array.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_MACHINE_RATES = 4, WEFT_MACHINE_CACHES = 2 };

/* Rates are per second. */
typedef struct weft_machine {
    size_t size; /* sizeof(weft_machine); 0 stands for it */
    weft_device_kind device;
    uint32_t vector_bytes; /* of a vector register, a power of two from 16 to 64 */
    uint32_t registers;    /* vector registers, 8 to 1024 */
    uint32_t line_bytes;   /* of a cache line, a power of two from 16 to 1024 */
    /* Bytes of data in L1 and in L2, 4 KiB to 1 GiB. */
    size_t cache_bytes[WEFT_MACHINE_CACHES];
    /* Of one core: scalar operations of generated code on elements of four bytes, bytes that it moves through caches,
     * elements sorted. */
    double operations, cache_bandwidth, sort_rate;
    /* Of `threads` threads, 1 to WEFT_MAX_THREADS: f32 multiplications per second in matrix products with min(m, n, k)
     * below 4, below 16, below 64, and larger; a dtype of more than 4 bytes counts as bytes / 4 multiplications, a
     * complex one as twice that; memory bandwidth, permutes included. */
    uint32_t threads;
    double product_rates[WEFT_MACHINE_RATES], bandwidth;
    /* Seconds, 0 to 1: fixed overhead of a step, or of one product of a batch; of a fork-join over several threads. */
    double dispatch_seconds, fork_join_seconds;
} weft_machine;

/* Two cores of a server of the year 2021 with AVX2, in round numbers. Never changes within a major version. Static. */
const weft_machine *weft_machine_reference(void);
/* The reference, with the vectors and caches of this machine; vectors are those of the level that WEFT_ISA names
 * (<weft/executor.h>). Rates are known only if they were measured: `weft info --measure`. Found once. Static. */
const weft_machine *weft_machine_host(void);
/* WEFT_INVALID_ARGUMENT names the first member that is not within its bounds; rates are from 1 to 1e18. */
weft_status *weft_machine_check(const weft_machine *machine) WEFT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
