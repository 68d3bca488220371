/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/registry.h"
#include "runtime/base/memory.h"

bool weft_registry_add(weft_registry *registry, const weft_allocator *allocator, const void *table, void *state)
{
    weft_registration *registration = weft_allocate_zeroed(allocator, sizeof *registration);
    if (registration == NULL) return false;
    registration->table = table;
    registration->state = state;
    _Atomic(weft_registration *) *end = &registry->first;
    for (weft_registration *at = atomic_load(end); at != NULL; at = atomic_load(end)) end = &at->next;
    atomic_store(end, registration);
    return true;
}

void weft_registry_finish(weft_registry *registry, const weft_allocator *allocator)
{
    weft_registration *registration = atomic_load(&registry->first);
    while (registration != NULL) {
        weft_registration *next = atomic_load(&registration->next);
        weft_free(allocator, registration, sizeof *registration);
        registration = next;
    }
}

const weft_registration *weft_registry_first(const weft_registry *registry)
{
    return atomic_load(&registry->first);
}

const weft_registration *weft_registry_next(const weft_registration *registration)
{
    return atomic_load(&registration->next);
}

void *weft_registry_state(const weft_registry *extensions, const weft_extension *extension)
{
    const weft_registration *at = weft_registry_first(extensions);
    while (at != NULL && at->table != extension) at = weft_registry_next(at);
    return at == NULL ? NULL : at->state;
}
