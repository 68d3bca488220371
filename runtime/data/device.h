/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_DATA_DEVICE_H
#define WEFT_RUNTIME_DATA_DEVICE_H
/* Copies elements between host memory and a device's, or within it, with copies that a driver can do. */
#include <weft/runtime.h>

typedef struct weft_device_layout {
    size_t element; /* bytes */
    size_t rank;
    const int64_t *shape, *to_strides, *from_strides; /* in elements */
} weft_device_layout;

/* Pointers are those of element (0, ..., 0). What lies between the elements of `to` is left alone. The memory does not
 * overlap. `queue` as for weft_queue_methods.copy. */
weft_status *weft_device_copy(const weft_runtime *runtime, weft_driver_queue *queue, weft_copy_kind kind,
                              const weft_device_layout *layout, void *to, const void *from) WEFT_MUST_USE;

/* What is wrong with the tables of a runtime; NULL when nothing is. */
const char *weft_runtime_fault(const weft_runtime *runtime);

/* The model of the runtime's device; NULL: it has none. Its driver may be one of an older header. */
static inline const weft_machine *weft_device_machine(const weft_runtime *runtime)
{
    const weft_driver *driver = runtime->driver;
    return driver->size >= sizeof *driver ? driver->machine : NULL;
}

/* Whether the host may not read the memory of that runtime. Its driver may be one of an older header. */
static inline bool weft_device_is_apart(const weft_runtime *runtime)
{
    const weft_driver *driver = runtime->driver;
    return driver->size >= offsetof(weft_driver, machine) && driver->queues != NULL;
}
#endif
