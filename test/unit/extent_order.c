/* SPDX-License-Identifier: Apache-2.0 */
/* An expression is the same, and is printed the same, whatever was made before it and in whatever order. */
#include "lib/expr/expr.h"
#include "test/rng.h"

#include <stdio.h>
#include <string.h>

#include "test/support.h"

enum { SYMBOLS = 3, CONSTANTS = 3, NODES = 16, ROUNDS = 1200, LONGEST = 400 };

static const char *const names[SYMBOLS] = {"a", "b", "c"};

/* Extents of the symbols: small, from 1 without bound, of both signs. */
static const struct {
    int64_t least, most;
} ranges[][SYMBOLS] = {
    {{0, 4}, {1, 5}, {0, 6}},
    {{1, INT64_MAX}, {1, INT64_MAX}, {1, INT64_MAX}},
    {{-2, 100}, {-2, 100}, {-2, 100}},
};

typedef struct place {
    weft_expr_context *exprs;
    weft_expr symbols[SYMBOLS], made[NODES];
} place;

/* Has the symbols that `of` uses, all for NONE. */
static void place_init(place *p, size_t range, const place *like, weft_expr of)
{
    weft_test_ok(weft_expr_context_create(NULL, &p->exprs));
    for (size_t i = 0; i < NODES; i++) p->made[i] = WEFT_EXPR_NONE;
    for (size_t i = 0; i < SYMBOLS; i++)
        if (of == WEFT_EXPR_NONE || weft_expr_uses(like->exprs, of, like->symbols[i]))
            p->symbols[i] = weft_expr_symbol(p->exprs, names[i], ranges[range][i].least, ranges[range][i].most);
}

static void print(const weft_expr_context *exprs, weft_expr e, weft_bytes *out_text)
{
    weft_bytes_init(out_text, NULL);
    weft_expr_print(exprs, e, out_text);
    weft_test_ok(weft_bytes_status(out_text));
}

/* ---- nested minima and maxima ---- */

static weft_expr choose(weft_expr_context *exprs, bool least, weft_expr a, weft_expr b)
{
    return least ? weft_expr_min(exprs, a, b) : weft_expr_max(exprs, a, b);
}

static weft_expr parse(weft_expr_context *exprs, const char *text)
{
    weft_expr e = WEFT_EXPR_NONE;
    weft_test_ok(weft_expr_parse(exprs, &text, &e));
    return e;
}

/* Of operands taken in the order of `order`, first or last two at a time, after the pair of two of them. */
static void check_chain(bool least, const char *const operands[3], const size_t order[3], bool last, const char *text)
{
    place p;
    place_init(&p, 2, NULL, WEFT_EXPR_NONE);
    weft_expr e[3];
    for (size_t i = 0; i < 3; i++) e[i] = parse(p.exprs, operands[order[i]]);
    weft_expr chain = last ? choose(p.exprs, least, e[0], choose(p.exprs, least, e[1], e[2]))
                           : choose(p.exprs, least, choose(p.exprs, least, e[0], e[1]), e[2]);
    weft_bytes found;
    print(p.exprs, chain, &found);
    assert_string_equal(found.data, text);
    assert_int_equal(parse(p.exprs, text), chain);
    weft_bytes_finish(&found);
    weft_expr_context_destroy(p.exprs);
}

static void nested_choices_have_one_form(void **state)
{
    (void)state;
    static const char *const operands[] = {"a + 1", "b", "3"}, *const dominated[] = {"a", "b", "max(min(a, b), 4)"};
    static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (int last = 0; last < 2; last++) {
            check_chain(true, operands, orders[i], last != 0, "min(min(b, a + 1), 3)");
            check_chain(false, operands, orders[i], last != 0, "max(max(b, a + 1), 3)");
            check_chain(true, dominated, orders[i], last != 0, "min(a, b)");
        }
}

/* ---- random expressions ---- */

typedef struct program {
    uint64_t seed;
    size_t range;
    struct {
        char op; /* of two earlier ones; 0: a symbol or constant */
        size_t a, b;
        int64_t constant;
    } nodes[NODES];
} program;

static size_t draw(program *p, size_t below)
{
    return (size_t)weft_test_below(&p->seed, below);
}

static void program_init(program *p, uint64_t seed)
{
    static const int64_t constants[] = {1, 2, 3, 4, 5, -1, 8, 0};
    static const char all[] = "+-*/%<><>+-", choices[] = "<<>>+-<<>>+";
    const char *ops = seed % 2 == 0 ? all : choices;
    *p = (program){.seed = seed};
    p->range = draw(p, sizeof ranges / sizeof *ranges);
    for (size_t i = SYMBOLS; i < NODES; i++) {
        p->nodes[i].constant = constants[draw(p, sizeof constants / sizeof *constants)];
        if (i < SYMBOLS + CONSTANTS) continue;
        p->nodes[i].op = ops[draw(p, sizeof all - 1)];
        p->nodes[i].a = draw(p, 2) == 0 ? i - 1 : draw(p, i);
        p->nodes[i].b = draw(p, i);
    }
}

static weft_expr apply(weft_expr_context *exprs, char op, weft_expr a, weft_expr b)
{
    switch (op) {
    case '+': return weft_expr_add(exprs, a, b);
    case '-': return weft_expr_sub(exprs, a, b);
    case '*': return weft_expr_mul(exprs, a, b);
    case '/': return weft_expr_div(exprs, a, b);
    case '%': return weft_expr_mod(exprs, a, b);
    default: return choose(exprs, op == '<', a, b);
    }
}

/* Node `i` and what it is made of, the second operand before the first where `shuffled` says so. */
static weft_expr make(place *at, program *p, size_t i, bool shuffled)
{
    if (at->made[i] != WEFT_EXPR_NONE) return at->made[i];
    if (i < SYMBOLS) return at->symbols[i];
    if (p->nodes[i].op == 0) return at->made[i] = weft_expr_constant(at->exprs, p->nodes[i].constant);
    if (shuffled && draw(p, 2) == 0) make(at, p, p->nodes[i].b, shuffled);
    weft_expr a = make(at, p, p->nodes[i].a, shuffled), b = make(at, p, p->nodes[i].b, shuffled);
    if (a != WEFT_EXPR_NONE && b != WEFT_EXPR_NONE) at->made[i] = apply(at->exprs, p->nodes[i].op, a, b);
    if (at->made[i] == WEFT_EXPR_NONE) weft_status_destroy(weft_expr_context_take_error(at->exprs));
    return at->made[i];
}

static void check_parsed(const place *at, const program *p, weft_expr e, const char *text)
{
    place other;
    weft_bytes again;
    place_init(&other, p->range, at, e);
    print(other.exprs, parse(other.exprs, text), &again);
    assert_string_equal(again.data, text);
    weft_bytes_finish(&again);
    weft_expr_context_destroy(other.exprs);
}

static void check_shuffled(program *p, size_t i, const char *text)
{
    place other;
    weft_bytes again;
    place_init(&other, p->range, NULL, WEFT_EXPR_NONE);
    for (size_t k = 0; k < 10; k++) make(&other, p, draw(p, NODES), true);
    print(other.exprs, make(&other, p, i, true), &again);
    assert_string_equal(again.data, text);
    weft_bytes_finish(&again);
    weft_expr_context_destroy(other.exprs);
}

static void check_node(place *at, program *p, size_t i)
{
    weft_bytes text;
    weft_expr e = make(at, p, i, false);
    print(at->exprs, e, &text);
    if (e != WEFT_EXPR_NONE && text.size <= LONGEST) {
        check_parsed(at, p, e, text.data);
        check_shuffled(p, i, text.data);
    }
    weft_bytes_finish(&text);
}

static void what_was_made_before_does_not_matter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        program p;
        place at;
        program_init(&p, seed);
        place_init(&at, p.range, NULL, WEFT_EXPR_NONE);
        for (size_t i = 0; i < NODES; i++) check_node(&at, &p, i);
        weft_expr_context_destroy(at.exprs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_choices_have_one_form),
        cmocka_unit_test(what_was_made_before_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
