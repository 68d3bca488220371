/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions between extents: proven, refuted, or recorded as a guard for the run. */
#include "lib/graph/graph.h"
#include <string.h>

/* x <= INT64_MAX holds of all that can be computed. */
static bool is_computed(weft_graph *graph, weft_extent x)
{
    if (x.graph == NULL) return weft_extent_is_valid(x);
    weft_expr expr = weft_extent_expr(graph, x);
    return expr != WEFT_EXPR_NONE && weft_expr_is_total(graph->exprs, expr);
}

bool weft_guard_is_proven(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b)
{
    if (weft_extent_equal(a, b)) return true;
    if (kind == WEFT_GUARD_EQUAL) return false;
    if (weft_extent_equal(b, weft_extent_of(INT64_MAX))) return is_computed(graph, a);
    int64_t a_min, a_max, b_min, b_max;
    weft_extent_range(a, &a_min, &a_max);
    weft_extent_range(b, &b_min, &b_max);
    if (weft_extent_is_valid(a) && weft_extent_is_valid(b) && a_max <= b_min) return true;
    weft_expr x = weft_extent_expr(graph, a), y = weft_extent_expr(graph, b);
    if (x == WEFT_EXPR_NONE || y == WEFT_EXPR_NONE) return false;
    weft_expr difference = weft_expr_sub(graph->exprs, y, x);
    if (difference != WEFT_EXPR_NONE) return weft_expr_always_nonnegative(graph->exprs, difference);
    /* A difference that overflows proves nothing, and is no error of the caller's. */
    weft_status *error = weft_expr_context_take_error(graph->exprs);
    if (weft_status_code(error) == WEFT_OUT_OF_MEMORY) weft_graph_fail(graph, error);
    else weft_status_destroy(error);
    return false;
}

static bool is_refuted(weft_expr_context *exprs, weft_guard_kind kind, weft_expr a, weft_expr b)
{
    return kind == WEFT_GUARD_EQUAL ? weft_expr_never_equal(exprs, a, b) : weft_expr_always_less(exprs, b, a);
}

/* Whether a guard under this condition has to hold in some run. */
static bool may_count(const weft_expr_context *exprs, weft_expr when)
{
    int64_t least, most;
    if (when == WEFT_EXPR_NONE) return true;
    weft_expr_range(exprs, when, &least, &most);
    return most > 0;
}

bool weft_graph_never_runs(const weft_graph *graph)
{
    return !may_count(graph->exprs, graph->when);
}

/* Equal for equivalent guards: of a <= b the difference counts, unless it overflows. */
typedef struct guard_key {
    uint64_t kind, a, b;
} guard_key;

static guard_key key_of(weft_expr_context *exprs, const weft_guard *guard)
{
    bool swaps = guard->kind == WEFT_GUARD_EQUAL && guard->b < guard->a;
    guard_key key = {guard->kind, swaps ? guard->b : guard->a, swaps ? guard->a : guard->b};
    if (guard->kind == WEFT_GUARD_EQUAL) return key;
    weft_expr difference = weft_expr_sub(exprs, guard->b, guard->a);
    weft_status_destroy(weft_expr_context_take_error(exprs));
    return difference == WEFT_EXPR_NONE ? key : (guard_key){guard->kind, WEFT_EXPR_NONE, difference};
}

/* Points to 1 + the number of the last guard with the same key, or to 0 if there is none now; NULL if there never was
 * one. */
static size_t *last_find(const weft_graph *root, const weft_guard *guard)
{
    guard_key key = key_of(root->exprs, guard);
    return weft_map_find(&root->guards_between, &key, sizeof key);
}

/* The same, made where there is none; NULL when out of memory. */
static size_t *last_create(weft_graph *root, const weft_guard *guard)
{
    guard_key key = key_of(root->exprs, guard);
    size_t *last = last_find(root, guard);
    if (last != NULL) return last;
    last = weft_arena_allocate(&root->arena, sizeof *last);
    if (last == NULL) return NULL;
    *last = 0;
    return weft_map_insert(&root->guards_between, &key, sizeof key, last) ? last : NULL;
}

/* Puts a guard, whose `last` is known, at place `number`, which no later one has. */
static void guard_place(weft_graph *root, size_t number, weft_guard guard)
{
    guard.before = *guard.last;
    *guard.last = number + 1;
    root->guards[number] = guard;
}

/* Whether a guard that stays requires as much as another one between the same two, wherever that one counts. */
static bool covers(const weft_guard *guard, const weft_guard *other)
{
    return guard->when == other->when || (guard->when == WEFT_EXPR_NONE && !guard->of_rule);
}

/* The first guard that asks for as much, and that goes only where the other one does. */
static weft_guard *guard_find(weft_graph *root, const weft_guard *wanted)
{
    bool is_composed = root->composition != SIZE_MAX && !wanted->of_rule;
    const size_t *last = last_find(root, wanted);
    weft_guard *found = NULL;
    for (size_t i = last == NULL ? 0 : *last; i-- > 0; i = root->guards[i].before) {
        weft_guard *guard = &root->guards[i];
        bool is_older = i < root->composition;
        if (guard->owners != NULL || (is_older && guard->of_rule && is_composed)) continue;
        if (covers(guard, wanted)) found = guard;
    }
    return found;
}

/* ---- guards of compositions ---- */

weft_guard_scope weft_guards_open(weft_graph *graph)
{
    if (graph == NULL) return (weft_guard_scope){NULL, 0, 0};
    weft_graph *root = weft_graph_root(graph);
    weft_guard_scope scope = {root, root->guard_count, root->composition};
    root->composition = root->guard_count;
    return scope;
}

static bool are_valid(size_t count, const weft_tensor *results)
{
    for (size_t i = 0; i < count; i++)
        if (!weft_tensor_is_valid(results[i])) return false;
    return count > 0;
}

static bool is_unowned(const weft_guard *guard)
{
    return !guard->of_rule && guard->owners == NULL;
}

/* Owners for the guards from `first` on that have none; NULL where there are no such guards, or no memory. */
static weft_owners *owners_create(weft_graph *root, size_t first, size_t count, const weft_tensor *results)
{
    while (first < root->guard_count && !is_unowned(&root->guards[first])) first++;
    if (first == root->guard_count) return NULL;
    weft_owners *owners = weft_arena_allocate(&root->arena, sizeof *owners + count * sizeof *results);
    if (owners == NULL) {
        weft_graph_fail(root, weft_status_out_of_memory());
        return NULL;
    }
    owners->count = count;
    memcpy(owners->items, results, count * sizeof *results);
    return owners;
}

static bool have_same_owners(const weft_owners *a, const weft_owners *b)
{
    if (a == NULL || b == NULL || a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].graph != b->items[i].graph || a->items[i].node != b->items[i].node) return false;
    return true;
}

/* Whether guard number `i` repeats an earlier one: the composition was traced again, with the same results. */
static bool is_repeated(const weft_graph *root, size_t i)
{
    const weft_guard *guard = &root->guards[i];
    for (size_t k = guard->before; k-- > 0; k = root->guards[k].before) {
        const weft_guard *known = &root->guards[k];
        if (known->when == guard->when && have_same_owners(known->owners, guard->owners)) return true;
    }
    return false;
}

/* Takes those out, from number `first` on, that were left without a message. */
static void drop_guards(weft_graph *root, size_t first)
{
    size_t kept = first, located = root->located_guards;
    for (size_t i = root->guard_count; i-- > first;) *root->guards[i].last = root->guards[i].before;
    for (size_t i = first; i < root->guard_count; i++) {
        bool stays = root->guards[i].message != NULL;
        if (stays) guard_place(root, kept++, root->guards[i]);
        else if (i < root->located_guards) located--;
    }
    root->guard_count = kept;
    root->located_guards = located;
}

void weft_guards_drop(weft_graph *root, size_t first)
{
    for (size_t i = first; i < root->guard_count; i++) root->guards[i].message = NULL;
    drop_guards(root, first);
}

void weft_guards_keep(weft_graph *root, size_t first)
{
    for (size_t i = first; i < root->guard_count; i++) root->guards[i].owners = NULL;
}

void weft_guards_close(weft_guard_scope scope, size_t count, const weft_tensor *results)
{
    weft_graph *root = scope.root;
    if (root == NULL) return;
    root->composition = scope.outer;
    bool well = are_valid(count, results);
    weft_owners *owners = well ? owners_create(root, scope.first, count, results) : NULL;
    for (size_t i = scope.first; i < root->guard_count; i++) {
        weft_guard *guard = &root->guards[i];
        if (!is_unowned(guard)) continue;
        guard->owners = owners;
        if (!well || is_repeated(root, i)) guard->message = NULL;
    }
    drop_guards(root, scope.first);
}

/* Makes `node` the owner in place of those of `region` that are marked. Guards may share owners: those that were lifted
 * already stay as they are. */
static void lift_owners(weft_owners *owners, const weft_graph *region, const uint8_t *live, weft_tensor node)
{
    size_t kept = 0;
    for (size_t i = 0; i < owners->count; i++) {
        weft_tensor owner = owners->items[i];
        bool is_inside = owner.graph == region;
        bool stays = !is_inside || (weft_tensor_is_valid(node) && live[owner.node]);
        if (stays) owners->items[kept++] = is_inside ? node : owner;
    }
    owners->count = kept;
}

void weft_guards_lift(const weft_graph *region, size_t first, const uint8_t *live, weft_tensor node)
{
    weft_graph *root = weft_graph_root(region);
    for (size_t i = first; i < root->guard_count; i++) {
        weft_guard *guard = &root->guards[i];
        if (guard->owners == NULL) continue;
        lift_owners(guard->owners, region, live, node);
        if (guard->owners->count == 0 || is_repeated(root, i)) guard->message = NULL;
    }
    drop_guards(root, first);
}

/* Whether the program of what is marked in `live` has to keep what this one says. */
static bool counts(const weft_guard *guard, const uint8_t *live)
{
    if (guard->of_rule) return false;
    if (guard->owners == NULL || live == NULL) return true;
    for (size_t i = 0; i < guard->owners->count; i++) {
        weft_tensor owner = guard->owners->items[i];
        if (owner.graph->parent == NULL && live[owner.node]) return true;
    }
    return false;
}

bool weft_guard_is_needed(const weft_graph *root, size_t number, const uint8_t *live)
{
    const weft_guard *guard = &root->guards[number];
    if (!counts(guard, live)) return false;
    for (size_t i = guard->before; i-- > 0; i = root->guards[i].before)
        if (covers(&root->guards[i], guard) && counts(&root->guards[i], live)) return false;
    return true;
}

/* ---- recording ---- */

void weft_graph_set_trips(weft_graph *region, weft_extent trips)
{
    int64_t least, most;
    bool known = trips.graph == NULL || trips.graph->exprs == region->exprs;
    weft_extent_range(trips, &least, &most);
    if (!known || !weft_extent_is_valid(trips) || least >= 1) return;
    weft_expr own = weft_extent_expr(region, trips);
    region->when = region->when == WEFT_EXPR_NONE ? own : weft_expr_min(region->exprs, region->when, own);
    if (region->when == WEFT_EXPR_NONE) weft_graph_fail(region, weft_expr_context_take_error(region->exprs));
}

/* The name behind a value: its own, or that of the tensor it is a view of; NULL when there is none. */
static const char *value_name(const weft_graph *graph, weft_value value, bool *out_is_view)
{
    const weft_node *node = weft_graph_node(graph, value.node);
    *out_is_view = node->name == NULL;
    while (node->name == NULL && node->op->op_class == WEFT_CLASS_MOVEMENT && node->input_count > 0) {
        node = weft_graph_node(graph, node->inputs[0].node);
    }
    return node->name;
}

/* `sentence`, and which operands of the node at hand are known by which names: "... (operand 0 is x, operand 1 is w)".
 */
static char *message_create(weft_graph *graph, const char *sentence)
{
    weft_graph *root = weft_graph_root(graph);
    weft_bytes text;
    weft_bytes_init(&text, root->allocator);
    weft_bytes_print(&text, "%s", sentence);
    size_t named = 0;
    for (size_t i = 0; graph->rule != NULL && i < graph->rule->input_count; i++) {
        bool is_view;
        const char *name = value_name(graph, graph->rule->inputs[i], &is_view);
        if (name == NULL) continue;
        weft_bytes_print(&text, "%soperand %zu is %s%s", named++ == 0 ? " (" : ", ", i, is_view ? "a view of " : "",
                         name);
    }
    if (named > 0) weft_bytes_print(&text, ")");
    char *message = text.failed ? NULL : weft_arena_string(&root->arena, text.data, text.size);
    weft_bytes_finish(&text);
    return message;
}

static weft_status *guard_record(weft_graph *graph, weft_guard guard, const char *sentence)
{
    weft_graph *root = weft_graph_root(graph);
    weft_guard *known = guard_find(root, &guard);
    if (known != NULL) {
        known->of_rule &= guard.of_rule;
        return NULL;
    }
    guard.message = message_create(graph, sentence);
    guard.last = last_create(root, &guard);
    if (guard.message == NULL || guard.last == NULL ||
        !weft_reserve(root->allocator, &root->guards, &root->guard_capacity, root->guard_count + 1,
                      sizeof *root->guards)) {
        return weft_status_out_of_memory();
    }
    guard.location = root->location;
    guard_place(root, root->guard_count++, guard);
    return NULL;
}

weft_status *weft_guard_settle(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b,
                               weft_status *otherwise)
{
    return weft_guard_settle_when(graph, kind, a, b, graph->when, otherwise);
}

weft_status *weft_guard_settle_when(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b,
                                    weft_expr when, weft_status *otherwise)
{
    weft_expr x = weft_extent_expr(graph, a), y = weft_extent_expr(graph, b);
    if (x == WEFT_EXPR_NONE || y == WEFT_EXPR_NONE || weft_status_code(otherwise) == WEFT_OUT_OF_MEMORY) {
        return otherwise;
    }
    if (!may_count(graph->exprs, when)) {
        weft_status_destroy(otherwise);
        return NULL;
    }
    if (is_refuted(graph->exprs, kind, x, y)) return otherwise;
    /* Out of memory nothing is known, and a guard that always holds would stay. */
    weft_status *error = weft_expr_context_take_error(graph->exprs);
    if (error != NULL) {
        weft_status_destroy(otherwise);
        return error;
    }
    weft_guard guard = {.kind = kind, .a = x, .b = y, .when = when, .of_rule = graph->rule != NULL};
    weft_status *status = guard_record(graph, guard, weft_status_message(otherwise));
    weft_status_destroy(otherwise);
    return status;
}

static bool require(weft_graph *graph, weft_guard_kind kind, weft_extent a, weft_extent b, const char *format,
                    va_list arguments)
{
    if (graph == NULL) return false;
    if (graph->rule == NULL) graph = weft_graph_current(graph);
    if (format == NULL) {
        weft_graph_fail(graph, weft_status_create(graph->allocator, WEFT_INVALID_ARGUMENT, NULL,
                                                  "the message of a requirement is NULL"));
        return false;
    }
    if (weft_guard_is_proven(graph, kind, a, b)) return true;
    weft_code code = kind == WEFT_GUARD_EQUAL ? WEFT_SHAPE_MISMATCH : WEFT_OUT_OF_RANGE;
    weft_status *otherwise = weft_status_create_v(graph->allocator, code, NULL, format, arguments);
    weft_status *status = weft_guard_settle(graph, kind, a, b, otherwise);
    if (status == NULL) return true;
    weft_graph_fail(graph, status);
    return false;
}

bool weft_require_equal(weft_graph *graph, weft_extent a, weft_extent b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool may_hold = require(graph, WEFT_GUARD_EQUAL, a, b, format, arguments);
    va_end(arguments);
    return may_hold;
}

bool weft_require_at_most(weft_graph *graph, weft_extent a, weft_extent b, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool may_hold = require(graph, WEFT_GUARD_AT_MOST, a, b, format, arguments);
    va_end(arguments);
    return may_hold;
}
