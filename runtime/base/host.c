/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>
#include <weft/executor.h>
#include "runtime/base/isa.h"
#include "runtime/base/machine.h"

static weft_machine host;

/* 0 and less: unknown, as on machines that hide it. */
static bool is_within(long value, long least, long most)
{
    return value >= least && value <= most;
}

static void find_host(void)
{
    long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
    const long caches[WEFT_MACHINE_CACHES] = {sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)};
    host = *weft_machine_reference();
    host.vector_bytes = weft_isa_vector_bytes();
    host.registers = weft_isa_describe(weft_isa_level())->registers;
    if (is_within(line, WEFT_LEAST_LINE, WEFT_MOST_LINE) && (line & (line - 1)) == 0) host.line_bytes = (uint32_t)line;
    for (size_t i = 0; i < WEFT_MACHINE_CACHES; i++)
        if (is_within(caches[i], WEFT_LEAST_CACHE, WEFT_MOST_CACHE)) host.cache_bytes[i] = (size_t)caches[i];
}

const weft_machine *weft_machine_host(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_host);
    return &host;
}
