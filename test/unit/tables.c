/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that loops carry, updated in loops and branches within them: what iterations move does not grow with tables.
 */
#include <string.h>
#include <weft/weft.h>
#include "test/support.h"

/* A loop of which `iteration` makes the next table of %a. */
#define TABLE(iteration)                                                                                               \
    "weft 0.1\n"                                                                                                       \
    "symbol n in [9, 1000000]\n"                                                                                       \
    "graph {\n"                                                                                                        \
    "  %x = input() {name = \"x\", dtype = i64, shape = [n]}\n"                                                        \
    "  %r = fold(%x) {trips = 8, carried = 1} body (%i : i64[], %a : i64[n]) {\n"                                      \
    "    %one = constant() {dtype = i64, shape = [], data = [1]}\n"                                                    \
    "    %v = reshape(%i) {shape = [1]}\n"                                                                             \
    "    %odd = and(%i, %one)\n"                                                                                       \
    "    %p = eq(%odd, %one)\n" iteration "  }\n"                                                                      \
    "  return %r\n"                                                                                                    \
    "}\n"
/* %to = %from with an element at %j + 1 made of the one at %j, three times. */
#define LOOP(to, from)                                                                                                 \
    to " = fold(" from ") {trips = 3, carried = 1} body (%j : i64[], %y : i64[n]) {\n"                                 \
       "  %one = constant() {dtype = i64, shape = [], data = [1]}\n"                                                   \
       "  %q = dynamic_slice(%y, %j) {axes = [0], sizes = [1]}\n"                                                      \
       "  %w = neg(%q)\n"                                                                                              \
       "  %k = add(%j, %one)\n"                                                                                        \
       "  %u = dynamic_update_slice(%y, %w, %k) {axes = [0]}\n"                                                        \
       "  yield %u\n"                                                                                                  \
       "}\n"
#define PUT(to, from) to " = dynamic_update_slice(" from ", %v, %i) {axes = [0]}\n"
#define ADD(to, from) to " = scatter(" from ", %v, %v) {axes = [0], batch = [], mode = \"add\"}\n"
#define COND(to, from, one, other)                                                                                     \
    to " = cond(%p, " from ", %v, %i) then (%a : i64[n], %v : i64[1], %i : i64[]) {\n" one                             \
       "} else (%a : i64[n], %v : i64[1], %i : i64[]) {\n" other "}\n"
#define YIELD(value) "yield " value "\n"

/* A loop of which `iteration` makes the next tables of %a, %b and %c. */
#define TABLES(iteration)                                                                                              \
    "weft 0.1\n"                                                                                                       \
    "symbol n in [9, 1000000]\n"                                                                                       \
    "graph {\n"                                                                                                        \
    "  %x = input() {name = \"x\", dtype = i64, shape = [n]}\n"                                                        \
    "  %r, %s, %t = fold(%x, %x, %x) {trips = 8, carried = 3}\n"                                                       \
    "    body (%i : i64[], %a : i64[n], %b : i64[n], %c : i64[n]) {\n"                                                 \
    "    %one = constant() {dtype = i64, shape = [], data = [1]}\n"                                                    \
    "    %next = add(%i, %one)\n"                                                                                      \
    "    %d = dynamic_slice(%a, %i) {axes = [0], sizes = [1]}\n"                                                       \
    "    %e = dynamic_slice(%b, %next) {axes = [0], sizes = [1]}\n"                                                    \
    "    %f = dynamic_slice(%c, %i) {axes = [0], sizes = [1]}\n"                                                       \
    "    %d2 = neg(%d)\n"                                                                                              \
    "    %e2 = neg(%e)\n"                                                                                              \
    "    %f2 = neg(%f)\n" iteration "  }\n"                                                                            \
    "  return %r\n"                                                                                                    \
    "}\n"
#define PUT_TO(to, from, what, at) to " = dynamic_update_slice(" from ", " what ", " at ") {axes = [0]}\n"

typedef struct table {
    const char *text;
    bool in_place;
} table;

#define PUT_ONE PUT("%u", "%a") YIELD("%u")
#define ADD_ONE ADD("%u", "%a") YIELD("%u")
#define LOOP_ONE LOOP("%u", "%a") YIELD("%u")

static const table tables[] = {
    {TABLE(LOOP_ONE), true},
    {TABLE(PUT("%b", "%a") LOOP("%u", "%b") YIELD("%u")), true},
    {TABLE(LOOP("%b", "%a") PUT("%u", "%b") YIELD("%u")), true},
    {TABLE(LOOP("%b", "%a") LOOP("%c", "%b") ADD("%u", "%c") YIELD("%u")), true},
    {TABLE(COND("%u", "%a", PUT_ONE, YIELD("%a")) YIELD("%u")), true},
    {TABLE(COND("%u", "%a", LOOP_ONE, ADD_ONE) YIELD("%u")), true},
    {TABLE(PUT("%b", "%a") COND("%c", "%b", ADD_ONE, LOOP_ONE) ADD("%u", "%c") YIELD("%u")), true},
    /* Each of what others were. */
    {TABLES(PUT_TO("%u", "%a", "%e", "%i") PUT_TO("%v", "%b", "%d", "%next") YIELD("%u, %v, %c")), true},
    {TABLES(PUT_TO("%u", "%a", "%e2", "%i") PUT_TO("%v", "%b", "%d2", "%i") YIELD("%u, %v, %c")), true},
    {TABLES(PUT_TO("%v", "%b", "%d2", "%i") PUT_TO("%u", "%a", "%e", "%next") YIELD("%u, %v, %c")), true},
    {TABLES(PUT_TO("%u", "%a", "%e2", "%i") PUT_TO("%v", "%b", "%f2", "%i") PUT_TO("%w", "%c", "%d2", "%i")
                YIELD("%u, %v, %w")),
     true},
    {TABLES(PUT_TO("%u", "%a", "%e2", "%i") PUT_TO("%g", "%u", "%d2", "%next") PUT_TO("%v", "%b", "%d", "%i")
                YIELD("%g, %v, %c")),
     true},
    {TABLES(PUT_TO("%u", "%a", "%e", "%i") PUT_TO("%v", "%b", "%f", "%i") PUT_TO("%g", "%v", "%d2", "%next")
                YIELD("%u, %g, %c")),
     true},
    /* One side, or what follows, makes another table, or reads the old one. */
    {TABLE(COND("%u", "%a", "%u = neg(%a)\n" YIELD("%u"), ADD_ONE) YIELD("%u")), false},
    {TABLE(COND("%u", "%a", PUT("%b", "%a") "%u = add(%b, %a)\n" YIELD("%u"), ADD_ONE) YIELD("%u")), false},
    {TABLE(LOOP("%b", "%a") "%u = sub(%b, %a)\n" YIELD("%u")), false},
    {TABLE(PUT("%b", "%a") LOOP("%c", "%b") "%u = sub(%c, %b)\n" YIELD("%u")), false},
};

static void add_bytes(void *self, const weft_profile_record *record)
{
    *(double *)self += record->bytes;
}

static weft_array *run(weft_executor *executor, weft_program *program, const char *runtime, int64_t n, bool donated,
                       double *out_bytes)
{
    weft_array *x, *result = NULL;
    weft_profile profile = {.self = out_bytes, .record = add_bytes};
    *out_bytes = 0;
    weft_test_ok(weft_array_create(NULL, WEFT_I64, 1, &n, &x));
    for (int64_t i = 0; i < n; i++) ((int64_t *)weft_array_data(x))[i] = i * i % 101;
    weft_test_ok(weft_executor_run(executor, program,
                                   &(weft_run){.runtime = runtime,
                                               .input_count = 1,
                                               .inputs = &x,
                                               .output_count = 1,
                                               .outputs = &result,
                                               .donated = &donated,
                                               .profile = &profile}));
    weft_array_release(x);
    return result;
}

static void check_table(weft_executor *executor, const table *t)
{
    enum { N = 5000 };
    weft_module *module;
    weft_program *program;
    double bytes;
    weft_test_ok(weft_graph_parse("t", t->text, strlen(t->text), NULL, 0, NULL, &module));
    weft_test_ok(weft_compile(module->graph, module->outputs, NULL, &program));
    weft_array *expected = run(executor, program, "ref", N, false, &bytes);
    for (int donated = 0; donated < 2; donated++) {
        weft_array *found = run(executor, program, "llvm", N, donated, &bytes);
        assert_memory_equal(weft_array_data(found), weft_array_data(expected), N * sizeof(int64_t));
        /* At most the copy that the loop begins with, which is no step of its own. */
        assert_true((bytes < N * sizeof(int64_t)) == t->in_place);
        weft_array_release(found);
    }
    weft_array_release(expected);
    weft_program_release(program);
    weft_module_destroy(module);
}

static void iterations_move_what_they_write(void **state)
{
    (void)state;
    weft_executor *executor;
    weft_test_ok(weft_executor_create_standard(&(weft_executor_options){.threads = 2}, &executor));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) check_table(executor, &tables[i]);
    weft_executor_destroy(executor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_move_what_they_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
