/* SPDX-License-Identifier: Apache-2.0 */
/* Slices, against a loop that is gone through step by step. */
#include "test/einsum/order.h"
#include "test/support.h"
#include <math.h>
#include <string.h>
#include "extensions/einsum/plan/slice.h"

enum { MOST_LEAVES = 30, MOST_LABELS = 100, WORDS = 2 };

typedef struct network {
    einsum_core core;
    uint64_t legs[MOST_LEAVES * WORDS], output[WORDS];
    double extents[MOST_LABELS];
    bool made[MOST_LEAVES];
} network;

static const einsum_stop never = {.deadline = INFINITY};

static bool has(const uint64_t *set, uint32_t label)
{
    return set[label / 64] >> label % 64 & 1;
}

static void add(uint64_t *set, uint32_t label)
{
    set[label / 64] |= UINT64_C(1) << label % 64;
}

/* ---- random networks ---- */

typedef struct recipe {
    uint32_t leaves, labels;
    uint32_t parts;   /* that share no label */
    uint32_t extents; /* extents are 2 to extents + 1 */
    uint32_t shown;   /* one label in so many is in the output as well; 0: none */
    uint32_t made;    /* one leaf in so many is an intermediate; 0: none */
    uint32_t equal;   /* one leaf in so many has the labels of the one before in its part; 0: none */
} recipe;

/* Labels of one to four leaves of a part; what one leaf alone has is in the output. */
static void generate(network *net, einsum_random *random, recipe r)
{
    *net = (network){.core = {.leaf_count = r.leaves, .label_count = r.labels, .words = WORDS}};
    net->core.legs = net->legs;
    net->core.output = net->output;
    net->core.extents = net->extents;
    for (uint32_t label = 0; label < r.labels; label++) {
        uint32_t part = label % r.parts, uses = 2 + (einsum_random_below(random, 8) == 0) * 2, first = UINT32_MAX;
        bool alone = true;
        for (uint32_t i = 0; i < uses; i++) {
            uint32_t leaf = einsum_random_below(random, r.leaves);
            leaf = leaf - leaf % r.parts + part;
            if (leaf >= r.leaves) leaf = part;
            alone = alone && (first == UINT32_MAX || leaf == first);
            first = leaf;
            add(net->legs + (size_t)leaf * WORDS, label);
        }
        if (alone || (r.shown > 0 && einsum_random_below(random, r.shown) == 0)) add(net->output, label);
        net->extents[label] = log2(2 + einsum_random_below(random, r.extents));
    }
    for (uint32_t leaf = 0; leaf < r.leaves; leaf++) {
        net->made[leaf] = r.made > 0 && einsum_random_below(random, r.made) == 0;
        if (leaf < r.parts || r.equal == 0 || einsum_random_below(random, r.equal) > 0) continue;
        size_t own = (size_t)leaf * WORDS, other = (size_t)(leaf - r.parts) * WORDS;
        for (size_t w = 0; w < WORDS; w++) net->legs[own + w] = net->legs[other + w] |= net->legs[own + w];
    }
    net->core.made = r.made > 0 ? net->made : NULL;
}

/* ---- the loop, step by step ---- */

typedef struct simulation {
    const network *net;
    const einsum_pair *pairs;
    const uint64_t *sliced;
    uint64_t below[2 * MOST_LEAVES]; /* by value: its leaves */
    bool inside[2 * MOST_LEAVES];
    size_t last; /* 0: no loop */
    double slice, outside, size, live, peak;
} simulation;

static bool is_needed(const network *net, uint64_t leaves, uint32_t label)
{
    bool inside = false, outside = has(net->output, label);
    for (uint32_t leaf = 0; leaf < net->core.leaf_count; leaf++)
        if (has(einsum_core_legs(&net->core, leaf), label)) *(leaves >> leaf & 1 ? &inside : &outside) = true;
    return inside && outside;
}

/* log2 of what the results of some leaves and of others have together; `part`: in one iteration. */
static double size_of(const simulation *s, uint64_t leaves, uint64_t others, bool part)
{
    double size = 0;
    for (uint32_t label = 0; label < s->net->core.label_count; label++)
        if (!(part && has(s->sliced, label)) && (is_needed(s->net, leaves, label) || is_needed(s->net, others, label)))
            size += s->net->extents[label];
    return size;
}

/* Whether two values have the same labels; `part`: in one iteration. */
static bool same_labels(const simulation *s, size_t x, size_t y, bool part)
{
    for (uint32_t label = 0; label < s->net->core.label_count; label++)
        if (!(part && has(s->sliced, label)) &&
            is_needed(s->net, s->below[x], label) != is_needed(s->net, s->below[y], label))
            return false;
    return true;
}

static size_t find_reader(const simulation *s, size_t value)
{
    size_t leaves = s->net->core.leaf_count, step = leaves;
    while (s->pairs[step - leaves].a != value && s->pairs[step - leaves].b != value) step++;
    return step;
}

/* A product of values with the same labels that the next step multiplies by a third such. */
static bool is_fused(const simulation *s, size_t value)
{
    size_t leaves = s->net->core.leaf_count;
    if (value < leaves || value + 2 == 2 * leaves || (s->last > 0 && value == s->last)) return false;
    size_t reader = find_reader(s, value);
    einsum_pair made = s->pairs[value - leaves], read = s->pairs[reader - leaves];
    bool part = s->inside[value];
    return s->inside[reader] == part && same_labels(s, read.a, read.b, part) && same_labels(s, value, made.a, part) &&
           same_labels(s, value, made.b, part);
}

static double elements(const simulation *s, size_t value, bool part)
{
    size_t leaves = s->net->core.leaf_count;
    bool given = value < leaves && !s->net->made[value], result = value + 2 == 2 * leaves && !part;
    return given || result || is_fused(s, value) ? 0 : exp2(size_of(s, s->below[value], 0, part));
}

static void grow(simulation *s, double by)
{
    s->live += by;
    s->peak = fmax(s->peak, s->live);
}

/* Leaves that a step reads and that are made for it. */
static void make_leaves(simulation *s, size_t step, bool part)
{
    const size_t read[] = {s->pairs[step - s->net->core.leaf_count].a, s->pairs[step - s->net->core.leaf_count].b};
    for (int i = 0; i < 2; i++)
        if (read[i] < s->net->core.leaf_count && s->inside[read[i]] == part) grow(s, elements(s, read[i], part));
}

static void find_inside(simulation *s)
{
    uint32_t leaves = s->net->core.leaf_count;
    uint64_t all = 0;
    bool open = false; /* to the end: a label of the output is sliced */
    for (uint32_t label = 0; label < s->net->core.label_count; label++)
        open = open || (has(s->sliced, label) && has(s->net->output, label));
    for (uint32_t leaf = 0; leaf < leaves; leaf++) {
        s->below[leaf] = UINT64_C(1) << leaf;
        for (uint32_t label = 0; label < s->net->core.label_count; label++)
            if (has(s->sliced, label) && has(einsum_core_legs(&s->net->core, leaf), label)) s->inside[leaf] = true;
        if (s->inside[leaf]) all |= s->below[leaf];
    }
    for (uint32_t k = 0; k + 1 < leaves; k++) {
        einsum_pair pair = s->pairs[k];
        s->below[leaves + k] = s->below[pair.a] | s->below[pair.b];
        s->inside[leaves + k] = s->last == 0 && (s->inside[pair.a] || s->inside[pair.b]);
        bool over = open ? k + 2 == leaves : (s->below[leaves + k] & all) == all;
        if (s->last == 0 && all != 0 && over) s->last = leaves + k;
    }
}

/* A product of one row, of one column, or without terms: its share of an iteration is added up as it is computed. */
static bool is_looped(const simulation *s, size_t value)
{
    einsum_pair pair = s->pairs[value - s->net->core.leaf_count];
    size_t rows = 0, columns = 0, terms = 0;
    for (uint32_t label = 0; label < s->net->core.label_count; label++) {
        bool a = is_needed(s->net, s->below[pair.a], label), b = is_needed(s->net, s->below[pair.b], label);
        bool made = is_needed(s->net, s->below[value], label);
        if (has(s->sliced, label)) continue;
        rows += made && a && !b;
        columns += made && b && !a;
        terms += !made && (a || b);
    }
    return rows == 0 || columns == 0 || terms == 0;
}

static void run_iterations(simulation *s)
{
    uint32_t leaves = s->net->core.leaf_count;
    for (size_t v = leaves; v <= s->last; v++)
        if (s->inside[v]) make_leaves(s, v, false);
    grow(s, elements(s, s->last, false));
    double before = s->live;
    for (size_t v = leaves; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        const size_t read[] = {s->pairs[v - leaves].a, s->pairs[v - leaves].b};
        make_leaves(s, v, true);
        bool is_added = v == s->last && is_looped(s, v);
        if (!is_added) grow(s, elements(s, v, true));
        for (int i = 0; i < 2; i++)
            if (s->inside[read[i]]) s->live -= elements(s, read[i], true);
    }
    s->live = before;
    for (size_t v = leaves; v <= s->last; v++) {
        if (!s->inside[v]) continue;
        const size_t read[] = {s->pairs[v - leaves].a, s->pairs[v - leaves].b};
        for (int i = 0; i < 2; i++)
            if (!s->inside[read[i]]) s->live -= elements(s, read[i], false);
    }
}

static void run_step(simulation *s, size_t v)
{
    einsum_pair pair = s->pairs[v - s->net->core.leaf_count];
    double *sum = s->inside[v] ? &s->slice : &s->outside;
    *sum = einsum_log2_add(*sum, size_of(s, s->below[pair.a], s->below[pair.b], s->inside[v]));
    s->size = fmax(s->size, size_of(s, s->below[v], 0, s->inside[v] && v != s->last));
    if (v == s->last) run_iterations(s);
    if (s->inside[v]) return;
    make_leaves(s, v, false);
    grow(s, elements(s, v, false));
    s->live -= elements(s, pair.a, false) + elements(s, pair.b, false);
}

static simulation simulate(const network *net, const einsum_pair *pairs, const uint64_t *sliced)
{
    simulation s = {
        .net = net, .pairs = pairs, .sliced = sliced, .slice = -INFINITY, .outside = -INFINITY, .size = -INFINITY};
    find_inside(&s);
    for (size_t v = net->core.leaf_count; v + 1 < 2 * (size_t)net->core.leaf_count; v++) run_step(&s, v);
    return s;
}

static void assert_near(double x, double y)
{
    if (x == y) return;
    if (!(fabs(x - y) <= 1e-7 * fmax(1, fmax(fabs(x), fabs(y))))) fail_msg("%.17g is not near %.17g", x, y);
}

static void check(const network *net, const einsum_slicing *options, const einsum_pair *pairs, const einsum_sliced *out)
{
    simulation s = simulate(net, pairs, out->labels);
    double slices = einsum_core_size(&net->core, out->labels);
    assert_near(out->log2_slices, slices);
    assert_near(out->slice.major, s.last > 0 ? s.slice : s.outside);
    assert_near(out->total.major, einsum_log2_add(s.slice + slices, s.outside));
    assert_near(out->log2_size, s.size);
    assert_near(exp2(out->log2_peak), s.peak);
    if (!out->fits) {
        assert_true(slices == 0);
        return;
    }
    assert_true(s.size <= options->log2_size + 1e-6);
    assert_true(log2(s.peak) <= options->log2_peak + 1e-6);
}

/* ---- tests ---- */

static einsum_score score_of(weft_einsum_minimize objective)
{
    return (einsum_score){.objective = objective,
                          .log2_combo = 3,
                          .machine = {.log2_rates = {30, 31, 33, 35}, .log2_bandwidth = 34, .log2_overhead = -20},
                          .log2_slowness = 1,
                          .log2_bytes = 3};
}

static einsum_slicing options_of(uint64_t moves, uint64_t seed)
{
    return (einsum_slicing){.log2_size = INFINITY,
                            .log2_peak = INFINITY,
                            .moves = moves,
                            .threads = 2,
                            .random = einsum_random_start(seed, 0),
                            .stop = never};
}

/* Connected or not, with or without labels of the output, limits of the one kind, the other, both. */
static void test_loop(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(1, 0);
    size_t sliced = 0, shown = 0, fitting = 0;
    for (uint32_t i = 0; i < 300; i++) {
        recipe r = {.leaves = 2 + einsum_random_below(&random, MOST_LEAVES - 2),
                    .labels = 8 + einsum_random_below(&random, 50),
                    .parts = 1 + (i % 5 == 4),
                    .extents = 1 + i % 3 * 2,
                    .shown = i % 2 * 5,
                    .made = i % 7 / 4 * 3,
                    .equal = i % 4 / 2 * 3};
        generate(&net, &random, r);
        einsum_score score = score_of(WEFT_EINSUM_FLOPS);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        double limit = einsum_core_size(&net.core, net.output) + 3 * einsum_random_unit(&random);
        einsum_slicing options = options_of(i % 4 == 0 ? 0 : 10000, i);
        if (i % 3 != 0) options.log2_size = limit + 1;
        if (i % 3 != 1) options.log2_peak = limit + 1;
        uint64_t labels[WORDS];
        einsum_sliced out = {.labels = labels};
        weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
        check(&net, &options, pairs, &out);
        sliced += out.log2_slices > 0;
        shown += (labels[0] & net.output[0]) != 0;
        fitting += out.fits;
        if (options.log2_peak == INFINITY) assert_true(out.fits);
    }
    assert_true(sliced > 100 && shown > 20 && fitting > 200);
}

/* bij,bjk,bkl->bil: only the label of the output keeps the result of the first step small. */
static void test_output(void **state)
{
    (void)state;
    enum { B, I, J, K, L };
    const uint32_t operands[3][3] = {{B, I, J}, {B, J, K}, {B, K, L}}, output[3] = {B, I, L};
    static network net;
    net = (network){.core = {.leaf_count = 3,
                             .label_count = 5,
                             .words = WORDS,
                             .legs = net.legs,
                             .output = net.output,
                             .extents = net.extents},
                    .extents = {[B] = 20, [I] = 4, [J] = 4, [K] = 4, [L] = 4}};
    for (uint32_t i = 0; i < 9; i++) add(net.legs + (size_t)(i / 3) * WORDS, operands[i / 3][i % 3]);
    for (uint32_t i = 0; i < 3; i++) add(net.output, output[i]);
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    einsum_pair pairs[2] = {{0, 1}, {3, 2}};
    einsum_slicing options = options_of(1000, 1);
    options.log2_peak = 10;
    uint64_t labels[WORDS];
    einsum_sliced out = {.labels = labels};
    weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
    check(&net, &options, pairs, &out);
    assert_true(out.fits);
    assert_true(labels[0] == UINT64_C(1) << B);
    assert_near(out.total.major, 33);
}

/* Every objective; sizes that no double can hold. */
static void test_objectives(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(2, 0);
    for (uint32_t i = 0; i < 40; i++) {
        generate(&net, &random, (recipe){20, 60, 1, 2, 9});
        if (i >= 30)
            for (uint32_t l = 0; l < net.core.label_count; l++) net.extents[l] = 39.5;
        einsum_score score = score_of((weft_einsum_minimize)(i % 5));
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        einsum_slicing options = options_of(20000, i);
        options.log2_size = einsum_core_size(&net.core, net.output) + 4 * net.extents[0];
        uint64_t labels[WORDS];
        einsum_sliced out = {.labels = labels};
        weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
        assert_true(out.fits);
        simulation s = simulate(&net, pairs, labels);
        assert_near(out.log2_size, s.size);
        assert_true(s.size <= options.log2_size + 1e-6);
        double works = einsum_log2_add(s.slice + einsum_core_size(&net.core, labels), s.outside);
        if (score.objective == WEFT_EINSUM_SIZE) assert_near(out.total.minor, works);
        else assert_true(isfinite(out.total.major));
    }
}

static void test_threads(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(3, 0);
    generate(&net, &random, (recipe){MOST_LEAVES, 70, 1, 1, 0});
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    einsum_pair first[MOST_LEAVES] = {{0}};
    uint64_t first_labels[WORDS] = {0};
    for (size_t threads = 1; threads <= 4; threads++) {
        einsum_pair pairs[MOST_LEAVES] = {{0}};
        einsum_random same = einsum_random_start(4, 0);
        weft_test_draw_order(net.core.leaf_count, &same, pairs);
        einsum_slicing options = options_of(5000000, 5);
        options.log2_size = 8;
        options.threads = threads;
        uint64_t labels[WORDS];
        einsum_sliced out = {.labels = labels};
        weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
        check(&net, &options, pairs, &out);
        assert_true(out.log2_slices > 0);
        if (threads == 1) memcpy(first, pairs, sizeof first), memcpy(first_labels, labels, sizeof labels);
        assert_memory_equal(pairs, first, sizeof first);
        assert_memory_equal(labels, first_labels, sizeof labels);
    }
}

/* However little time there is, what is found keeps the limit. */
static void test_stopped(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(6, 0);
    bool cancelled = true;
    for (uint32_t i = 0; i < 3; i++) {
        generate(&net, &random, (recipe){MOST_LEAVES, 70, 1, 1, 0});
        einsum_score score = score_of(WEFT_EINSUM_FLOPS);
        einsum_pair pairs[MOST_LEAVES];
        weft_test_draw_order(net.core.leaf_count, &random, pairs);
        einsum_slicing options = options_of(UINT64_C(1) << 60, 1);
        options.log2_size = 8;
        if (i == 0) options.stop.cancel.flag = &cancelled;
        else options.stop.deadline = einsum_stop_clock() + (i == 1 ? -1 : .05);
        uint64_t labels[WORDS];
        einsum_sliced out = {.labels = labels};
        weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
        check(&net, &options, pairs, &out);
        assert_true(out.fits);
    }
}

/* A result as large as the output cannot be avoided. */
static void test_refused(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(7, 0);
    generate(&net, &random, (recipe){20, 50, 1, 1, 6});
    einsum_score score = score_of(WEFT_EINSUM_FLOPS);
    einsum_pair pairs[MOST_LEAVES];
    weft_test_draw_order(net.core.leaf_count, &random, pairs);
    uint64_t labels[WORDS];
    einsum_sliced out = {.labels = labels};
    einsum_slicing options = options_of(20000, 1);
    options.log2_size = einsum_core_size(&net.core, net.output) - 1;
    double before = simulate(&net, pairs, (uint64_t[WORDS]){0}).outside;
    weft_test_ok(einsum_slice_run(NULL, &net.core, &score, &options, pairs, &out));
    assert_false(out.fits);
    check(&net, &options, pairs, &out);
    assert_near(out.total.major, before);
}

static weft_status *slice_once(const weft_allocator *allocator, void *context)
{
    const network *net = context;
    einsum_score score = score_of(WEFT_EINSUM_COMBO);
    einsum_pair pairs[MOST_LEAVES];
    for (uint32_t k = 0; k + 1 < net->core.leaf_count; k++)
        pairs[k] = (einsum_pair){k == 0 ? 0 : net->core.leaf_count + k - 1, k + 1};
    uint64_t labels[WORDS];
    einsum_sliced out = {.labels = labels};
    einsum_slicing options = options_of(4000, 1);
    options.log2_size = einsum_core_size(&net->core, net->output) + 4;
    options.threads = 1;
    return einsum_slice_run(allocator, &net->core, &score, &options, pairs, &out);
}

static void test_memory(void **state)
{
    (void)state;
    static network net;
    einsum_random random = einsum_random_start(8, 0);
    generate(&net, &random, (recipe){MOST_LEAVES, 80, 1, 1, 0});
    assert_true(weft_test_fail_each(slice_once, &net) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop),    cmocka_unit_test(test_output),  cmocka_unit_test(test_objectives),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_stopped), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
