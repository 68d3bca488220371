/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of few different keys, for key_row_vector.h: each is compared with all kinds, or hashed, and counted. */
/* The key of NaNs, the greatest there is. */
INLINE KEY NAME(nan)(const weft_key_row *row)
{
    return (KEY)(row->map->mask ^ ((uint64_t)KEY_MAX + 1));
}

enum {
    NAME(SOME) = 64 * LANES,
    NAME(COMPARED) = 16, /* kinds that vectors are compared with */
    NAME(KINDS) = 512,
    NAME(SLOT_BITS) = 11,
    NAME(SLOTS) = 1 << NAME(SLOT_BITS),
    NAME(TABLES) = 4,
    NAME(FEWER) = BLOCK * 5 / 8 /* of a sample are different where all of the row may be few kinds */
};

/* What a row of few different keys has: the keys in order, and how often each is there. */
typedef struct NAME(kinds) {
    KEY keys[NAME(KINDS)];
    int64_t counts[NAME(KINDS)];
    int64_t count;
} NAME(kinds);

/* The different keys of a sorted sample; false where these are many. */
static bool NAME(find_kinds)(const KEY *sample, NAME(kinds) * kinds)
{
    kinds->count = 0;
    for (int64_t i = 0; i < BLOCK; i++) {
        if (i > 0 && sample[i] == sample[i - 1]) continue;
        if (kinds->count == NAME(FEWER)) return false;
        kinds->keys[kinds->count++] = sample[i];
    }
    return true;
}

/* Adds how many keys are equal to each of four. */
static void NAME(count_four)(const KEY *keys, int64_t count, const KEY *kinds, int64_t *counts)
{
    int64_t found[4] = {0}, i = 0;
    VECTOR wanted[4];
    UNROLL for (int64_t k = 0; k < 4; k++) wanted[k] = SPLAT(kinds[k]);
    for (; i + LANES <= count; i += LANES) {
        VECTOR v = LOAD(keys + i);
        UNROLL for (int64_t k = 0; k < 4; k++) found[k] += COUNT(EQUAL(v, wanted[k]));
    }
    for (; i < count; i++)
        for (int64_t k = 0; k < 4; k++) found[k] += keys[i] == kinds[k];
    for (int64_t k = 0; k < 4; k++) counts[k] += found[k];
}

/* How many elements of a row are of each kind; false where there are other ones. */
static bool NAME(compare_kinds)(weft_key_row *row, NAME(kinds) * kinds)
{
    KEY keys[NAME(SOME)];
    memset(kinds->counts, 0, NAME(COMPARED) * sizeof *kinds->counts);
    for (int64_t i = 0, some; i < row->count; i += some) {
        some = row->count - i < NAME(SOME) ? row->count - i : NAME(SOME);
        if (weft_is_cancelled(row->cancelled)) return false;
        row->lost |= row->take(row->map, row->elements + (size_t)i * row->map->size, some, keys);
        int64_t known = 0;
        for (int64_t k = 0; k < kinds->count; k += 4) NAME(count_four)(keys, some, kinds->keys + k, kinds->counts + k);
        for (int64_t k = 0; k < kinds->count; k++) known += kinds->counts[k];
        if (known < i + some) return false;
    }
    return true;
}

/* Kinds by a hash of their keys. A slot without a kind has the key of kind 0, which is where its own hash is. */
typedef struct NAME(slots) {
    KEY keys[NAME(SLOTS)];
    uint16_t kinds[NAME(SLOTS)];
    int64_t counts[NAME(TABLES)][NAME(KINDS)]; /* so that an equal neighbour's count need not be there yet */
} NAME(slots);

/* In the room that a long row has for its keys: they are too large for the stack. */
typedef struct NAME(tables) {
    NAME(kinds) kinds;
    NAME(slots) slots;
    KEY unsorted[NAME(KINDS)];
} NAME(tables);

_Static_assert(sizeof(NAME(tables)) + _Alignof(NAME(tables)) <= WEFT_KEY_LONG * sizeof(KEY), "the room is too small");

INLINE size_t NAME(hash)(KEY key)
{
    return (size_t)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NAME(SLOT_BITS)));
}

/* The slot of a key that is not where its hash is; one of its own if it is new, and not one kind too many. */
static __attribute__((noinline)) size_t NAME(find_slot)(NAME(slots) * slots, NAME(kinds) * kinds, KEY key)
{
    const size_t first = NAME(hash)(kinds->keys[0]);
    size_t slot = NAME(hash)(key);
    bool taken = slot == first || slots->keys[slot] != kinds->keys[0];
    for (; taken && slots->keys[slot] != key; taken = slot == first || slots->keys[slot] != kinds->keys[0])
        slot = (slot + 1) % NAME(SLOTS);
    if (taken) return slot;
    if (kinds->count < NAME(KINDS)) {
        slots->keys[slot] = key;
        slots->kinds[slot] = (uint16_t)kinds->count;
        kinds->keys[kinds->count] = key;
    }
    kinds->count += kinds->count <= NAME(KINDS);
    return slot;
}

/* Adds how many of `count` keys are of each kind; false where kinds are too many. */
static bool NAME(count_some)(NAME(slots) * slots, NAME(kinds) * kinds, const KEY *keys, int64_t count)
{
    uint16_t found[NAME(SOME)];
    int64_t i = 0;
    for (int64_t k = 0; k < count; k++) {
        size_t slot = NAME(hash)(keys[k]);
        if (__builtin_expect(slots->keys[slot] != keys[k], 0)) slot = NAME(find_slot)(slots, kinds, keys[k]);
        found[k] = slots->kinds[slot];
    }
    if (kinds->count > NAME(KINDS)) return false;
    for (; i + NAME(TABLES) <= count; i += NAME(TABLES))
        UNROLL for (int64_t t = 0; t < NAME(TABLES); t++) slots->counts[t][found[i + t]]++;
    for (; i < count; i++) slots->counts[0][found[i]]++;
    return true;
}

/* How many elements of a row are of each kind, which are sorted; false where these are too many. */
static __attribute__((noinline)) bool NAME(hash_kinds)(weft_key_row *row, NAME(tables) * tables)
{
    NAME(kinds) *kinds = &tables->kinds;
    NAME(slots) *slots = &tables->slots;
    KEY keys[NAME(SOME)];
    weft_key_row plain = {0};
    for (size_t i = 0; i < NAME(SLOTS); i++) slots->keys[i] = kinds->keys[0];
    slots->kinds[NAME(hash)(kinds->keys[0])] = 0;
    memset(slots->counts, 0, sizeof slots->counts);
    kinds->count = 1;
    for (int64_t i = 0, some; i < row->count; i += some) {
        some = row->count - i < NAME(SOME) ? row->count - i : NAME(SOME);
        if (weft_is_cancelled(row->cancelled)) return false;
        row->lost |= row->take(row->map, row->elements + (size_t)i * row->map->size, some, keys);
        if (!NAME(count_some)(slots, kinds, keys, some)) return false;
    }
    memcpy(tables->unsorted, kinds->keys, (size_t)kinds->count * sizeof *kinds->keys);
    NAME(sort_few)(&plain, tables->unsorted, keys, kinds->count, kinds->count);
    for (int64_t k = 0; k < kinds->count; k++) {
        const size_t slot = NAME(hash)(keys[k]);
        const uint16_t kind =
            slots->kinds[slots->keys[slot] == keys[k] ? slot : NAME(find_slot)(slots, kinds, keys[k])];
        kinds->counts[k] = 0;
        for (int64_t t = 0; t < NAME(TABLES); t++) kinds->counts[k] += slots->counts[t][kind];
    }
    memcpy(kinds->keys, keys, (size_t)kinds->count * sizeof *keys);
    return true;
}

/* Puts that many equal keys, or `wanted` if these are less; returns how many. Not inlined, for its frame. */
static __attribute__((noinline)) int64_t NAME(put_run)(weft_key_row *row, KEY key, int64_t count, int64_t wanted)
{
    KEY equal[NAME(SOME)];
    int64_t most = count < wanted ? count : wanted < 0 ? 0 : wanted;
    for (int64_t i = 0; i < NAME(SOME) && i < most; i++) equal[i] = key;
    for (int64_t done = 0; done < most; done += NAME(SOME))
        NAME(put_keys)(row, equal, most - done < NAME(SOME) ? most - done : NAME(SOME));
    return most;
}

/* A row of few different keys is not sorted but counted, with tables in `room`, which has as many keys as the row;
 * false where it is none. */
static bool NAME(sort_kinds)(weft_key_row *row, const KEY *sample, KEY *room, int64_t wanted)
{
    const uintptr_t alignment = _Alignof(NAME(tables));
    NAME(tables) *tables = (void *)(((uintptr_t)room + alignment - 1) / alignment * alignment);
    NAME(kinds) *kinds = &tables->kinds;
    if (!NAME(find_kinds)(sample, kinds)) return false;
    bool compared = kinds->count <= NAME(COMPARED) && NAME(compare_kinds)(row, kinds);
    if (!compared && !NAME(hash_kinds)(row, tables)) return false;
    for (int64_t k = 0; k < kinds->count; k++) {
        if (row->map->infinity != 0 && kinds->keys[k] == NAME(nan)(row)) row->nans = kinds->counts[k];
        else wanted -= NAME(put_run)(row, kinds->keys[k], kinds->counts[k], wanted);
    }
    return true;
}
