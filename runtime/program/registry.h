/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_PROGRAM_REGISTRY_H
#define WEFT_RUNTIME_PROGRAM_REGISTRY_H
/* Tables registered with an executor: a list that only grows, at its end, and is read without a lock. */
#include <stdatomic.h>
#include <weft/extension.h>

typedef struct weft_registration {
    const void *table; /* weft_runtime or weft_extension */
    void *state;       /* of an extension */
    _Atomic(struct weft_registration *) next;
} weft_registration;

typedef struct weft_registry {
    _Atomic(weft_registration *) first;
} weft_registry;

/* Appends a table, under the caller's lock. False when there is no memory. */
bool weft_registry_add(weft_registry *registry, const weft_allocator *allocator, const void *table, void *state);
/* Frees the list, not what the tables own. */
void weft_registry_finish(weft_registry *registry, const weft_allocator *allocator);
/* The first, and the one after `registration`; NULL at the end. */
const weft_registration *weft_registry_first(const weft_registry *registry);
const weft_registration *weft_registry_next(const weft_registration *registration);
/* The state of an extension; NULL when it is not registered. */
void *weft_registry_state(const weft_registry *extensions, const weft_extension *extension);
#endif
