/* SPDX-License-Identifier: Apache-2.0 */
/* What weft_object_create says of kernels that an object cannot contain. */
#include <string.h>
#include <weft/einsum.h>
#include <weft/object.h>
#include <weft/weft.h>
#include "test/conform/kernels.h"
#include "test/support.h"

static const unsigned char abroad[] = {
#include "abroad_bitcode.inc"
};

static const unsigned char broken[] = {
#include "broken_bitcode.inc"
};

/* A family of two ops, to be changed. */
typedef struct family {
    weft_op_def one, two;
    const weft_op_def *ops[2];
    weft_extension extension;
} family;

static family of_ops(const weft_extension *from)
{
    family f = {.one = *from->ops[1], .two = *from->ops[1], .extension = *from};
    f.one.name = "t.one";
    f.two.name = "t.two";
    f.extension.family = "t";
    return f;
}

static weft_object *try(family *f, const char *text, weft_object_options options, weft_status **out_status)
{
    weft_module *module;
    weft_program *program;
    weft_object *object = NULL;
    f->ops[0] = &f->one;
    f->ops[1] = &f->two;
    f->extension.ops = f->ops;
    const weft_extension *extension = &f->extension;
    weft_test_ok(weft_graph_parse("t", text, strlen(text), NULL, 1, &extension, &module));
    weft_test_ok(weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program));
    *out_status = weft_object_create(program, &options, &object);
    weft_program_release(program);
    weft_module_destroy(module);
    return object;
}

static const char both[] = "weft 0.1\ngraph {\n  %x = input() {name = \"x\", dtype = f64, shape = [3]}\n"
                           "  %0 = t.one(%x)\n  %1 = t.two(%0)\n  return %1\n}\n";

static void refuse(family f, weft_object_options options, weft_code code, const char *sentence)
{
    weft_status *status;
    options.name = options.name == NULL ? "t" : options.name;
    assert_null(try(&f, both, options, &status));
    weft_test_fails(status, code, sentence);
}

static void ops_say_what_they_offer(void **state)
{
    (void)state;
    weft_object_options plain = {.size = sizeof plain};
    family f = of_ops(weft_test_outside());
    f.two.kernel_symbol = NULL;
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.two has a kernel of an extension, and no lowering here");
    f.two.kernel_symbol = "nothing";
    f.two.size = offsetof(weft_op_def, lower_for);
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.two has a kernel of an extension, and no lowering here");
}

static void names_are_told_apart(void **state)
{
    (void)state;
    weft_object_options options = {.size = sizeof options, .name = "test_positive"};
    family f = of_ops(weft_test_outside());
    f.two.kernel_symbol = "test_positive_run";
    refuse(f, options, WEFT_INVALID_ARGUMENT, "the kernel of op t.two has the name test_positive_run");
    f.two.kernel_symbol = "test_positive_kernel_7";
    refuse(f, options, WEFT_INVALID_ARGUMENT, "as a part of object \"test_positive\" has");
    f = of_ops(weft_test_inside());
    f.two.bitcode = NULL;
    refuse(f, (weft_object_options){.name = "t"}, WEFT_INVALID_ARGUMENT,
           "ops t.one and t.two have kernels of the name test_positive, and not of the same bitcode");
}

static void bitcode_is_checked(void **state)
{
    (void)state;
    weft_object_options plain = {.size = sizeof plain}, freestanding = {.size = sizeof plain, .freestanding = true};
    family f = of_ops(weft_test_inside());
    f.two.kernel_symbol = "test_negative";
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.one: the bitcode of its extension does not define test_negative");
    f = of_ops(weft_test_inside());
    f.two.kernel_symbol = "test_abroad";
    f.two.bitcode = "no bitcode";
    f.two.bitcode_size = strlen("no bitcode");
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.two: the bitcode of its extension is none that LLVM 19 reads");
    f.two.bitcode = abroad;
    f.two.bitcode_size = sizeof abroad / 2;
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.two: the bitcode of its extension is none that LLVM 19 reads");
    f.two.bitcode = broken;
    f.two.bitcode_size = sizeof broken;
    refuse(f, plain, WEFT_UNSUPPORTED, "op t.two: the bitcode of its extension is broken");
    f.two.bitcode = abroad;
    f.two.bitcode_size = sizeof abroad;
    refuse(f, freestanding, WEFT_UNSUPPORTED,
           "op t.two: the bitcode of its extension needs test_elsewhere, which a freestanding object must not");
}

static void bitcode_is_for_one_processor(void **state)
{
    (void)state;
    weft_object_options other = {.size = sizeof other, .target = "aarch64-linux-gnu"};
    refuse(of_ops(weft_test_inside()), other, WEFT_UNSUPPORTED, "op t.one: the bitcode of its extension is for x86_64");
}

static bool contains(const void *data, size_t size, const char *text)
{
    size_t length = strlen(text), i = 0;
    while (i + length <= size && memcmp((const char *)data + i, text, length) != 0) i++;
    return i + length <= size;
}

/* What the bitcode of an op calls is left to the link. */
static void what_bitcode_needs_is_outside(void **state)
{
    (void)state;
    weft_status *status;
    size_t size;
    family f = of_ops(weft_test_inside());
    f.two.kernel_symbol = "test_abroad";
    f.two.bitcode = abroad;
    f.two.bitcode_size = sizeof abroad;
    weft_object *object = try(&f, both, (weft_object_options){.name = "t"}, &status);
    weft_test_ok(status);
    const void *code = weft_object_code(object, &size);
    assert_true(contains(code, size, "test_elsewhere") && contains(code, size, "contains  test_abroad, of op t.two"));
    assert_false(contains(code, size, "test_mix"));
    weft_object_destroy(object);
}

/* ---- memory ---- */

static weft_status *create(const weft_allocator *allocator, const char *text, const weft_extension *extension,
                           const weft_object_options *options)
{
    weft_module *module;
    weft_program *program;
    weft_object *object;
    WEFT_TRY(weft_graph_parse("t", text, strlen(text), &(weft_graph_options){.allocator = allocator}, 1, &extension,
                              &module));
    weft_status *status = weft_compile_named(module->graph, module->outputs, module->output_names, NULL, &program);
    weft_module_destroy(module);
    if (status != NULL) return status;
    status = weft_object_create(program, options, &object);
    if (status == NULL) weft_object_destroy(object);
    weft_program_release(program);
    return status;
}

static weft_status *create_with_imports(const weft_allocator *allocator, void *context)
{
    family *f = context;
    return create(allocator, both, &f->extension, &(weft_object_options){.name = "t"});
}

static weft_status *create_with_orders(const weft_allocator *allocator, void *context)
{
    static const char text[] =
        "weft 0.1\nsymbol n in [1, 50]\ngraph {\n  %x = input() {name = \"x\", dtype = f64, shape = [n, 4]}\n"
        "  %0 = einsum.einsum(%x, %x, %x) {equation = \"ij,kj,kl->il\", order = \"auto\", path = [], sliced = [], "
        "planner "
        "= \"\"}\n  return %0\n}\n";
    return create(allocator, text, context, &(weft_object_options){.name = "t", .extents = "n=2"});
}

static void memory_may_run_out(void **state)
{
    (void)state;
    family f = of_ops(weft_test_inside());
    f.ops[0] = &f.one;
    f.ops[1] = &f.two;
    f.extension.ops = f.ops;
    weft_test_fail_each(create_with_imports, &f);
    weft_test_fail_each(create_with_orders, (void *)(uintptr_t)weft_einsum_extension());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_say_what_they_offer),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(bitcode_is_checked),
        cmocka_unit_test(bitcode_is_for_one_processor),
        cmocka_unit_test(what_bitcode_needs_is_outside),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
