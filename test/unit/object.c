/* SPDX-License-Identifier: Apache-2.0 */
/* weft_object_create: what it refuses, schedules, structs of older headers, and memory that runs out at any request. */
#include <string.h>
#include <weft/object.h>
#include <weft/weft.h>
#include "test/support.h"

/* y = max(x w, 0), sorted, with a constant w: a product, loops and the sort of the engine. */
static weft_status *make_program(const weft_allocator *allocator, weft_program **out_program)
{
    static const float weights[] = {1.5f, -2, 0.25f, 3, -1, 4, 2, 8};
    weft_graph *graph;
    const weft_graph_options options = {.allocator = allocator};
    WEFT_TRY(weft_graph_create(&options, &graph));
    weft_extent n = weft_symbol(graph, "n", 1, 100);
    weft_symbol(graph, "idle", 2, 9);
    weft_tensor x = weft_input(graph, "x", WEFT_F32, WEFT_SHAPE(n, 4));
    weft_tensor y = weft_matmul(x, weft_constant(graph, WEFT_F32, WEFT_INTS(4, 2), weights));
    weft_status *status = weft_compile(graph, WEFT_TENSORS(weft_sort(weft_relu(y), 0, false)), NULL, out_program);
    weft_graph_destroy(graph);
    return status;
}

static void refuses(const weft_program *program, weft_object_options options, const char *part)
{
    weft_object *object = NULL;
    weft_test_fails(weft_object_create(program, &options, &object), WEFT_INVALID_ARGUMENT, part);
    assert_null(object);
}

static void test_refused(void **state)
{
    (void)state;
    weft_program *program;
    weft_test_ok(make_program(NULL, &program));
    refuses(program, (weft_object_options){0}, "the name is NULL");
    refuses(program, (weft_object_options){.name = ""}, "\"\" is no C identifier");
    refuses(program, (weft_object_options){.name = "2d"}, "\"2d\" is no C identifier");
    refuses(program, (weft_object_options){.name = "a-b"}, "\"a-b\" is no C identifier");
    refuses(program, (weft_object_options){.name = "weft_x"}, "begins as those of weft itself");
    refuses(program, (weft_object_options){.name = "f", .isa = ""}, "isa \"\" is none of");
    refuses(program, (weft_object_options){.name = "f", .isa = "x86-64-v3,"}, "isa \"\" is none of");
    refuses(program, (weft_object_options){.name = "f", .isa = "x86-64-v1"}, "isa \"x86-64-v1\" is none of");
    refuses(program, (weft_object_options){.name = "f", .target = "riscv64-linux-gnu"},
            "target \"riscv64-linux-gnu\" is neither x86_64-linux-gnu nor aarch64-linux-gnu");
    refuses(program, (weft_object_options){.name = "f", .target = "aarch64"},
            "nor aarch64-linux-gnu; did you mean aarch64-linux-gnu?");
    refuses(program, (weft_object_options){.name = "f", .target = "amd64"}, "; did you mean x86_64-linux-gnu?");
    refuses(program, (weft_object_options){.name = "f", .target = "aarch64-linux-gnu", .isa = "armv8-a,x86-64-v3"},
            "isa \"x86-64-v3\" is not armv8-a, the only level of target aarch64-linux-gnu");
    refuses(program, (weft_object_options){.name = "f", .target = "aarch64-unknown-linux-gnu", .isa = "native"},
            "isa \"native\" is not armv8-a, the only level");
    refuses(
        program, (weft_object_options){.name = "f", .isa = "armv8-a"},
        "isa \"armv8-a\" is none of x86-64-v2, x86-64-v3, x86-64-v4 and native, the levels of target x86_64-linux-gnu");
    refuses(program, (weft_object_options){.name = "f", .isa = "x86-64-v3,x86-64-v2, x86-64-v3"},
            "isa \"x86-64-v3,x86-64-v2, x86-64-v3\" has x86-64-v3 twice");
    refuses(program, (weft_object_options){.name = "f", .extents = ""}, "no value for symbol n");
    refuses(program, (weft_object_options){.name = "f", .extents = "n"}, "they are NAME=VALUE");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1,"}, "a group ends with a comma");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1;"}, "no value for symbol n");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=101"},
            "\"n=101\" is not one value from 1 to 100");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1,n=1"}, "a group has two values for symbol n");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1x"}, "\"n=1x\" is not one value");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1 2"}, "\"n=1 2\" is not one value");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=-"}, "\"n=-\" is not one value");
    refuses(program, (weft_object_options){.name = "f", .extents = "m=1"}, "the program has no symbol m");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1,idle=1"},
            "\"idle=1\" is not one value from 2 to 9");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1,idle=2,idle=2"},
            "a group has two values for symbol idle");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1;n=2; n = 1"},
            "the group \"n = 1\" has the sizes of an earlier one");
    refuses(program, (weft_object_options){.name = "f", .extents = "n=1,idle=2;n=1,idle=3"},
            "the group \"n=1,idle=3\" has the sizes of an earlier one");
    weft_program_release(program);
}

/* They make other code, for the level of this process alone. */
static void test_schedules(void **state)
{
    (void)state;
    weft_program *program;
    weft_schedules *schedules;
    weft_object *objects[2];
    size_t sizes[2];
    weft_test_ok(make_program(NULL, &program));
    weft_test_ok(weft_schedules_create(NULL, &schedules));
    weft_object_options options = {.name = "f", .isa = "native", .schedules = schedules};
    weft_test_ok(weft_object_create(program, &options, &objects[0]));
    weft_test_ok(weft_schedules_set(schedules, program, 0, ""));
    weft_test_ok(weft_object_create(program, &options, &objects[1]));
    const void *codes[] = {weft_object_code(objects[0], &sizes[0]), weft_object_code(objects[1], &sizes[1])};
    assert_true(sizes[0] != sizes[1] || memcmp(codes[0], codes[1], sizes[0]) != 0);
    refuses(program, (weft_object_options){.name = "f", .target = "aarch64-linux-gnu", .schedules = schedules},
            "the level of this process, and the object is for armv8-a");
    for (size_t i = 0; i < 2; i++) weft_object_destroy(objects[i]);
    weft_schedules_destroy(schedules);
    weft_program_release(program);
}

/* A caller whose struct ended with `extents` gets what the fields after it have as default, whatever lies there. */
static void test_older_header(void **state)
{
    (void)state;
    weft_program *program;
    weft_object *object;
    size_t size;
    const weft_object_options options = {.size = offsetof(weft_object_options, weights_file),
                                         .name = "f",
                                         .isa = " x86-64-v3 ,native",
                                         .extents = " n = 3 , idle=4 ;n=4 ",
                                         .weights_file = true};
    weft_test_ok(make_program(NULL, &program));
    weft_test_ok(weft_object_create(program, &options, &object));
    assert_null(weft_object_weights(object, &size));
    assert_int_equal(size, 0);
    assert_memory_equal(weft_object_code(object, &size), "\177ELF", 4);
    assert_non_null(strstr(weft_object_header(object), "f_run("));
    weft_program_release(program); /* an object needs no program */
    weft_object_destroy(object);
}

static weft_status *create(const weft_allocator *allocator, void *context)
{
    weft_program *program;
    weft_object *object;
    WEFT_TRY(make_program(allocator, &program));
    weft_status *status = weft_object_create(program, context, &object);
    if (status == NULL) weft_object_destroy(object);
    weft_program_release(program);
    return status;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    weft_object_options options = {.name = "f", .extents = "n=3", .weights_file = true};
    weft_test_fail_each(create, &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_older_header),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
