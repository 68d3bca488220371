/* SPDX-License-Identifier: Apache-2.0 */
#define WEFT_NO_LOCATIONS
#include "passes.h"
#include <string.h>
#include <weft/gradient.h>

/* ---- the list ---- */

static bool take_numbers(weft_ints *rest, weft_ints *out_numbers)
{
    if (rest->count == 0 || rest->items[0] < 0 || (size_t)rest->items[0] >= rest->count) return false;
    *out_numbers = (weft_ints){(size_t)rest->items[0], rest->items + 1};
    *rest = (weft_ints){rest->count - 1 - out_numbers->count, rest->items + 1 + out_numbers->count};
    return true;
}

bool einsum_pass_take(weft_ints *rest, einsum_pass *out_pass)
{
    if (rest->count == 0 || rest->items[0] < 0 || rest->items[0] > 1) return false;
    *out_pass = (einsum_pass){.is_reverse = rest->items[0] == 0};
    *rest = (weft_ints){rest->count - 1, rest->items + 1};
    return take_numbers(rest, &out_pass->given) && (!out_pass->is_reverse || take_numbers(rest, &out_pass->wanted));
}

static int64_t *put_numbers(int64_t *at, weft_ints numbers)
{
    *at++ = (int64_t)numbers.count;
    if (numbers.count > 0) memcpy(at, numbers.items, numbers.count * sizeof *at);
    return at + numbers.count;
}

weft_ints einsum_passes_add(einsum_arena *arena, weft_ints before, const einsum_pass *pass)
{
    size_t count = before.count + 2 + pass->given.count + (pass->is_reverse ? 1 + pass->wanted.count : 0);
    int64_t *items = einsum_arena_allocate(arena, count, sizeof *items), *at = items;
    if (items == NULL) return (weft_ints){0, NULL};
    if (before.count > 0) memcpy(at, before.items, before.count * sizeof *at);
    at += before.count;
    *at++ = pass->is_reverse ? 0 : 1;
    at = put_numbers(at, pass->given);
    if (pass->is_reverse) put_numbers(at, pass->wanted);
    return (weft_ints){count, items};
}

size_t einsum_passes_count(weft_ints passes)
{
    einsum_pass pass;
    size_t count = 0;
    while (einsum_pass_take(&passes, &pass)) count++;
    return count;
}

size_t einsum_passes_input_count(weft_ints passes)
{
    einsum_pass pass;
    size_t count = 0;
    while (einsum_pass_take(&passes, &pass)) count += pass.given.count;
    return count;
}

bool einsum_passes_go_back(weft_ints passes)
{
    einsum_pass pass;
    bool found = false;
    while (einsum_pass_take(&passes, &pass)) found = found || pass.is_reverse;
    return found;
}

size_t einsum_passes_result_count(weft_ints passes)
{
    einsum_pass pass;
    size_t count = 1;
    while (einsum_pass_take(&passes, &pass))
        if (pass.is_reverse) count = pass.wanted.count;
    return count;
}

/* ---- tracing ---- */

/* Those with the numbers; NULL when out of memory. */
static weft_tensor *pick(einsum_arena *arena, weft_ints numbers, const weft_tensor *from)
{
    weft_tensor *items = einsum_arena_allocate(arena, numbers.count, sizeof *items);
    for (size_t i = 0; i < numbers.count && items != NULL; i++) items[i] = from[numbers.items[i]];
    return items;
}

/* Replaces the results; `inputs` are those that the pass brings. */
static weft_status *pull(einsum_arena *arena, const einsum_pass *pass, const weft_tensor *all,
                         const weft_tensor *brought, weft_tensors *results)
{
    weft_tensor *cotangents = einsum_arena_allocate(arena, results->count, sizeof *cotangents);
    weft_tensor *wrt = pick(arena, pass->wanted, all);
    weft_tensor *made = einsum_arena_allocate(arena, pass->wanted.count, sizeof *made);
    if (cotangents == NULL || wrt == NULL || made == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < pass->given.count; i++) cotangents[pass->given.items[i]] = brought[i];
    weft_vjp(*results, (weft_tensors){results->count, cotangents}, (weft_tensors){pass->wanted.count, wrt}, made);
    *results = (weft_tensors){pass->wanted.count, made};
    return NULL;
}

static weft_status *push(einsum_arena *arena, const einsum_pass *pass, const weft_tensor *all,
                         const weft_tensor *brought, weft_tensors *results)
{
    weft_tensor *wrt = pick(arena, pass->given, all);
    weft_tensor *made = einsum_arena_allocate(arena, results->count, sizeof *made);
    if (wrt == NULL || made == NULL) return weft_status_out_of_memory();
    weft_jvp(*results, (weft_tensors){pass->given.count, wrt}, (weft_tensors){pass->given.count, brought}, made);
    results->items = made;
    return NULL;
}

weft_status *einsum_passes_trace(einsum_arena *arena, weft_ints passes, weft_tensors inputs, weft_tensor result,
                                 weft_tensors *out_results)
{
    einsum_pass pass;
    const weft_tensor *next = inputs.items + inputs.count - einsum_passes_input_count(passes);
    weft_tensor *first = einsum_arena_allocate(arena, 1, sizeof *first);
    if (first == NULL) return weft_status_out_of_memory();
    *first = result;
    *out_results = (weft_tensors){1, first};
    while (weft_tensor_is_valid(out_results->items[0]) && einsum_pass_take(&passes, &pass)) {
        WEFT_TRY(pass.is_reverse ? pull(arena, &pass, inputs.items, next, out_results)
                                 : push(arena, &pass, inputs.items, next, out_results));
        next += pass.given.count;
    }
    return NULL;
}
