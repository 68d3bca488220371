/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the extension, its state for each executor, and what callers can ask of that. */
#include "gradient.h"
#include "op.h"
#include "state.h"

enum { CACHE_COUNT = WEFT_EINSUM_ORDERS + 1 };

weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension);

/* ---- state ---- */

static void state_free(einsum_state *state)
{
    state->allocator->resize(state->allocator->self, state, sizeof *state, 0, _Alignof(einsum_state));
}

static weft_status *init_caches(einsum_state *state)
{
    for (size_t i = 0; i < CACHE_COUNT; i++) {
        weft_status *status = einsum_cache_init(&state->caches[i], state->allocator);
        if (status == NULL) continue;
        while (i-- > 0) einsum_cache_finish(&state->caches[i]);
        return status;
    }
    return NULL;
}

static weft_status *state_create(const weft_allocator *allocator, void **out_state)
{
    if (allocator == NULL) allocator = weft_allocator_default();
    einsum_state *state = allocator->resize(allocator->self, NULL, 0, sizeof *state, _Alignof(einsum_state));
    if (state == NULL) return weft_status_out_of_memory();
    state->allocator = allocator;
    weft_status *status = init_caches(state);
    if (status == NULL) *out_state = state;
    else state_free(state);
    return status;
}

static void state_destroy(void *self)
{
    einsum_state *state = self;
    for (size_t i = 0; i < CACHE_COUNT; i++) einsum_cache_finish(&state->caches[i]);
    state_free(state);
}

static weft_status *refuse(weft_code code, const char *function, const char *fault)
{
    return weft_status_create(NULL, code, function, "einsum: %s", fault);
}

weft_status *einsum_state_find(const char *function, const weft_executor *executor, einsum_state **out_state)
{
    if (executor == NULL) return refuse(WEFT_INVALID_ARGUMENT, function, "the executor is NULL");
    *out_state = weft_executor_extension_state(executor, weft_einsum_extension());
    if (*out_state != NULL) return NULL;
    return refuse(WEFT_NOT_REGISTERED, function,
                  "the extension is not registered with the executor; "
                  "weft_executor_register_extension(executor, weft_einsum_extension()) does it");
}

/* ---- the table ---- */

static const weft_op_def *const ops[] = {&einsum_op, &einsum_derivative_op};

static const weft_extension extension = {
    .size = sizeof(weft_extension),
    .abi_major = WEFT_ABI_MAJOR,
    .abi_minor = WEFT_ABI_MINOR,
    .family = "einsum",
    .version = "0.1.0",
    .op_count = sizeof ops / sizeof *ops,
    .ops = ops,
    .state_create = state_create,
    .state_destroy = state_destroy,
};

const weft_extension *weft_einsum_extension(void)
{
    return &extension;
}

weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension)
{
    (void)host;
    *out_extension = &extension;
    return NULL;
}

/* ---- the caches ---- */

static weft_status *find_cache(const char *function, const weft_executor *executor, unsigned cache,
                               einsum_cache **out_cache)
{
    einsum_state *state;
    WEFT_TRY(einsum_state_find(function, executor, &state));
    *out_cache = &state->caches[cache < CACHE_COUNT ? cache : 0];
    if (cache < CACHE_COUNT) return NULL;
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, function,
                              "einsum: cache %u is none of weft_einsum_cache, which has %d", cache, CACHE_COUNT);
}

weft_status *weft_einsum_cache_read(const weft_executor *executor, weft_einsum_cache cache,
                                    weft_cache_counters *out_counters)
{
    static const char function[] = "weft_einsum_cache_read";
    einsum_cache *found;
    WEFT_TRY(find_cache(function, executor, cache, &found));
    if (out_counters == NULL) return refuse(WEFT_INVALID_ARGUMENT, function, "the pointer for the counters is NULL");
    *out_counters = einsum_cache_read(found);
    return NULL;
}

weft_status *weft_einsum_cache_set_capacity(const weft_executor *executor, weft_einsum_cache cache, size_t capacity)
{
    einsum_cache *found;
    WEFT_TRY(find_cache("weft_einsum_cache_set_capacity", executor, cache, &found));
    einsum_cache_set_capacity(found, capacity);
    return NULL;
}

weft_status *weft_einsum_cache_clear(const weft_executor *executor)
{
    einsum_state *state;
    WEFT_TRY(einsum_state_find("weft_einsum_cache_clear", executor, &state));
    for (size_t i = 0; i < CACHE_COUNT; i++) einsum_cache_clear(&state->caches[i]);
    return NULL;
}
