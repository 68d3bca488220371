/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_DEVICE_H
#define WEFT_TEST_DEVICE_H
/*
 * A device that there is none of: its memory has addresses that nobody can read or write but itself, and its queues do
 * nothing until somebody waits. Code, products and sorts are those of the CPU. What a real driver would not survive
 * (a pointer that is not of the device, memory released twice, a queue destroyed while it has work that was not waited
 * for) ends the process with a sentence.
 */
#include <weft/runtime.h>

typedef struct weft_test_device weft_test_device;

/* Compiles and loads as `behind` does. NULL: there is no memory. */
weft_test_device *weft_test_device_create(const char *name, const weft_runtime *behind);
/* Ends the process with a sentence if memory, a queue or an event is left. NULL is fine. */
void weft_test_device_destroy(weft_test_device *device);
const weft_runtime *weft_test_device_runtime(const weft_test_device *device);

/* The call of the driver after which `calls` more succeed fails, as all do after it; SIZE_MAX: none. */
void weft_test_device_fail(weft_test_device *device, size_t calls);
/* Calls that were made since then, and bytes of its memory in use. */
size_t weft_test_device_calls(const weft_test_device *device);
size_t weft_test_device_bytes(const weft_test_device *device);

/* Another array of the same elements in memory of the device, whose gaps are copied too; NULL: it cannot be had. */
weft_array *weft_test_device_upload(weft_test_device *device, const weft_array *array);
/* Writes elements and gaps of such an array to the one it was made from. */
bool weft_test_device_download(weft_test_device *device, const weft_array *array, weft_array *original);
#endif
