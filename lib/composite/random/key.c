/* SPDX-License-Identifier: Apache-2.0 */
/* Keys, counters, and Philox4x32-10. */
#include <weft/shape.h>
#include "lib/composite/random/random.h"

/* ---- arguments ---- */

bool weft_random_begin(const char *function, weft_tensor key)
{
    static const char *const names[] = {"the key"};
    if (!weft_composite_begin_named(function, 1, 1, &key, names)) return false;
    if (weft_tensor_dtype(key) != WEFT_U32) {
        weft_trace_fail(key.graph, WEFT_DTYPE_MISMATCH, function, "the key has dtype %s but must be u32",
                        weft_dtype_name(weft_tensor_dtype(key)));
        return false;
    }
    weft_extent words = weft_tensor_extent(key, 0);
    if (weft_tensor_rank(key) == 1 && !weft_extent_never_equal(key.graph, words, weft_extent_of(2))) return true;
    if (weft_tensor_rank(key) != 1) {
        weft_trace_fail(key.graph, WEFT_SHAPE_MISMATCH, function, "the key has rank %zu but must be of shape [2]",
                        weft_tensor_rank(key));
    } else {
        weft_trace_fail(key.graph, WEFT_SHAPE_MISMATCH, function, "the key has %s elements, not 2",
                        weft_extent_describe(words).text);
    }
    return false;
}

bool weft_random_begin_shape(const char *function, weft_tensor key, weft_shape shape)
{
    return weft_random_begin(function, key) && weft_composite_wants_counts(key.graph, function, "shape", shape);
}

bool weft_random_wants_parameter(const char *function, weft_tensor key, weft_named x, weft_shape shape)
{
    weft_named result = {"the result", weft_random_positions(key.graph, shape)};
    return weft_tensor_is_valid(result.tensor) && weft_composite_wants_float(function, x.name, x.tensor) &&
           weft_composite_wants_fit(function, x, result);
}

/* ---- words ---- */

weft_tensor weft_random_integer(weft_graph *graph, int64_t value)
{
    return weft_constant(graph, WEFT_I64, (weft_ints){0, NULL}, &value);
}

static weft_tensor lower_word(weft_tensor x)
{
    return weft_and(x, weft_random_integer(x.graph, UINT32_MAX));
}

/* Into the lower 32 bits; those above are copies of the sign. */
static weft_tensor upper_word(weft_tensor x)
{
    return weft_shift_right(x, weft_random_integer(x.graph, 32));
}

/* WEFT_NO_TENSOR is a word that is 0. */
static weft_tensor mix(weft_tensor a, weft_tensor b)
{
    if (weft_composite_is_absent(a) || weft_composite_is_absent(b)) return weft_composite_is_absent(a) ? b : a;
    return weft_xor(a, b);
}

typedef struct product {
    weft_tensor high, low;
} product;

static product multiply(weft_tensor word, int64_t factor)
{
    if (weft_composite_is_absent(word)) return (product){WEFT_NO_TENSOR, WEFT_NO_TENSOR};
    weft_tensor low = weft_mul(lower_word(word), weft_random_integer(word.graph, factor));
    return (product){upper_word(low), low};
}

/* ---- Philox ---- */

enum { ROUNDS = 10 };

/* The keys of all rounds, i64 [ROUNDS, 2]: one step of a program, and not one for each word. */
static weft_tensor schedule_key(weft_tensor key)
{
    static const int64_t steps[] = {0x9e3779b9, 0xbb67ae85};
    weft_tensor words = weft_reshape(weft_cast(key, WEFT_I64), WEFT_SHAPE(1, 2));
    weft_tensor step = weft_constant(key.graph, WEFT_I64, WEFT_INTS(1, 2), steps);
    weft_tensor round = weft_iota(key.graph, WEFT_I64, WEFT_SHAPE(ROUNDS, 1), 0);
    return lower_word(weft_add(words, weft_mul(round, step)));
}

static weft_tensor word_of_key(weft_tensor schedule, int64_t round, int64_t word)
{
    weft_extent starts[] = {weft_extent_of(round), weft_extent_of(word)};
    weft_extent sizes[] = {weft_extent_of(1), weft_extent_of(1)};
    weft_tensor one = weft_slice(schedule, (weft_shape){2, starts}, (weft_shape){2, sizes}, WEFT_INTS(1, 1));
    return weft_reshape(one, (weft_shape){0, NULL});
}

/* What is above 32 bits of a word is wrong, and cut off before it is multiplied. */
static weft_random_block philox(weft_tensor key, weft_random_block counter)
{
    weft_tensor schedule = schedule_key(key), *w = counter.words;
    for (int64_t round = 0; round < ROUNDS; round++) {
        product first = multiply(w[0], 0xd2511f53), second = multiply(w[2], 0xcd9e8d57);
        w[0] = mix(mix(second.high, w[1]), word_of_key(schedule, round, 0));
        w[1] = second.low;
        w[2] = mix(mix(first.high, w[3]), word_of_key(schedule, round, 1));
        w[3] = first.low;
    }
    for (size_t i = 0; i < 4; i++) w[i] = lower_word(w[i]);
    return counter;
}

weft_tensor weft_random_positions(weft_graph *graph, weft_shape shape)
{
    weft_extent count = weft_extent_product(shape, 0, shape.rank);
    return weft_reshape(weft_iota(graph, WEFT_I64, (weft_shape){1, &count}, 0), shape);
}

weft_random_block weft_random_draw(weft_tensor key, weft_shape shape, weft_tensor attempt)
{
    int64_t least, most;
    weft_tensor position = weft_random_positions(key.graph, shape), high = WEFT_NO_TENSOR;
    weft_extent_range(weft_extent_product(shape, 0, shape.rank), &least, &most);
    if (most > UINT32_MAX) high = upper_word(position);
    return philox(key, (weft_random_block){{position, high, attempt, WEFT_NO_TENSOR}});
}

/* The lower 32 bits of the words, along a new last axis. */
static weft_tensor stack_words(size_t count, const weft_tensor *words)
{
    weft_tensor cast[4];
    for (size_t i = 0; i < count; i++) cast[i] = weft_cast(words[i], WEFT_U32);
    return weft_stack((weft_tensors){count, cast}, -1);
}

/* ---- public ---- */

weft_tensor weft_random_key(weft_graph *graph, uint64_t seed)
{
    uint32_t words[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    return weft_constant(graph, WEFT_U32, WEFT_INTS(2), words);
}

weft_tensor weft_random_fold(weft_tensor key, weft_tensor numbers)
{
    weft_tensor operands[] = {key, numbers};
    static const char *const names[] = {"the key", "the tensor of numbers"};
    if (!weft_composite_begin_named("random_fold", 2, 2, operands, names) || !weft_random_begin("random_fold", key) ||
        !weft_composite_wants_integer("random_fold", names[1], numbers)) {
        return weft_trace_failed(WEFT_TENSORS(key, numbers));
    }
    weft_tensor number = weft_composite_cast(numbers, WEFT_I64);
    weft_tensor use = weft_random_integer(key.graph, WEFT_RANDOM_KEYS);
    weft_random_block block = philox(key, (weft_random_block){{number, upper_word(number), WEFT_NO_TENSOR, use}});
    return stack_words(2, block.words);
}

weft_tensor weft_random_split(weft_tensor key, weft_extent count)
{
    if (!weft_random_begin("random_split", key) ||
        !weft_composite_wants_count(key.graph, "random_split", "the count", count)) {
        return weft_tensor_failed(key.graph);
    }
    return weft_random_fold(key, weft_iota(key.graph, WEFT_I64, (weft_shape){1, &count}, 0));
}

weft_tensor weft_random_philox(weft_tensor key, weft_tensor counters)
{
    weft_tensor operands[] = {key, counters};
    static const char *const names[] = {"the key", "the tensor of counters"};
    if (!weft_composite_begin_named("random_philox", 2, 2, operands, names) ||
        !weft_random_begin("random_philox", key) ||
        !weft_composite_wants_rank("random_philox", names[1], counters, 1)) {
        return weft_trace_failed(WEFT_TENSORS(key, counters));
    }
    if (weft_tensor_dtype(counters) != WEFT_U32) {
        return weft_trace_fail(key.graph, WEFT_DTYPE_MISMATCH, "random_philox", "%s has dtype %s but must be u32",
                               names[1], weft_dtype_name(weft_tensor_dtype(counters)));
    }
    weft_extent words = weft_tensor_extent(counters, -1);
    if (weft_extent_never_equal(key.graph, words, weft_extent_of(4))) {
        return weft_trace_fail(key.graph, WEFT_SHAPE_MISMATCH, "random_philox",
                               "the last axis of %s has extent %s, not 4", names[1], weft_extent_describe(words).text);
    }
    weft_tensor parts[4];
    weft_split(weft_cast(counters, WEFT_I64), -1, 4, parts);
    for (size_t i = 0; i < 4; i++) parts[i] = weft_squeeze(parts[i], -1);
    return stack_words(4, philox(key, (weft_random_block){{parts[0], parts[1], parts[2], parts[3]}}).words);
}

weft_tensor weft_random_bits_of(const weft_random_block *block, weft_dtype dtype)
{
    weft_tensor low = block->words[0];
    if (dtype == WEFT_BOOL) return weft_cast(weft_and(low, weft_scalar_like(low, 1)), WEFT_BOOL);
    if (dtype != WEFT_I64) return weft_cast(low, dtype);
    return weft_or(weft_shift_left(block->words[1], weft_scalar_like(low, 32)), low);
}

weft_tensor weft_random_bits(weft_tensor key, weft_dtype dtype, weft_shape shape)
{
    if (!weft_random_begin_shape("random_bits", key, shape)) return weft_tensor_failed(key.graph);
    const weft_dtype_info *info = weft_dtype_info_of(dtype);
    if (info == NULL || info->kind == WEFT_KIND_FLOAT || info->kind == WEFT_KIND_COMPLEX) {
        return weft_trace_fail(key.graph, WEFT_DTYPE_MISMATCH, "random_bits",
                               "dtype %s is neither bool nor a dtype of integers", weft_dtype_name(dtype));
    }
    weft_random_block block = weft_random_draw(key, shape, WEFT_NO_TENSOR);
    return weft_random_bits_of(&block, dtype);
}
