/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of third parties and the shared objects they come in. The folder of the plugins is the first argument. */
#include <weft/extension.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/support.h"

static const char *folder;

/* ---- tables ---- */

static weft_status *infer_first(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}

static weft_status *lower_none(weft_graph *graph, const weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                               weft_tensor *out_tensors)
{
    (void)graph;
    (void)op;
    (void)attrs;
    (void)inputs;
    (void)out_tensors;
    return NULL;
}

static weft_status *kernel_none(const weft_kernel_context *context)
{
    (void)context;
    return NULL;
}

static weft_status *scratch_none(const weft_kernel_context *context, size_t *out_size)
{
    (void)context;
    *out_size = 0;
    return NULL;
}

static size_t count_none(const weft_op_def *op, const weft_attr *attrs, size_t input_count)
{
    (void)op;
    (void)attrs;
    (void)input_count;
    return 0;
}

typedef struct table {
    weft_attr_def attr;
    weft_op_def op, second;
    const weft_op_def *ops[2];
    weft_extension extension;
} table;

static table t;

static int fill_table(void **state)
{
    (void)state;
    t.attr = (weft_attr_def){"axis", WEFT_ATTR_INT};
    t.op = (weft_op_def){.size = sizeof t.op,
                         .name = "demo.one",
                         .version = 1,
                         .input_count = 1,
                         .output_count = 1,
                         .op_class = WEFT_CLASS_OPAQUE,
                         .attr_count = 1,
                         .attrs = &t.attr,
                         .infer = infer_first,
                         .kernel = kernel_none};
    t.second = t.op;
    t.second.name = "demo.two";
    t.ops[0] = &t.op;
    t.ops[1] = &t.second;
    t.extension = (weft_extension){.size = sizeof t.extension,
                                   .abi_major = WEFT_ABI_MAJOR,
                                   .abi_minor = WEFT_ABI_MINOR,
                                   .family = "demo",
                                   .version = "1.0",
                                   .op_count = 2,
                                   .ops = t.ops};
    return 0;
}

static void refused(const char *sentence)
{
    weft_test_fails(weft_extension_check(&t.extension), WEFT_INVALID_ARGUMENT, sentence);
    fill_table(NULL);
}

static void good_tables_pass(void **state)
{
    (void)state;
    weft_test_ok(weft_extension_check(&t.extension));
    t.extension.abi_minor += 5;
    t.extension.size += 64;
    t.op.size += 64;
    weft_test_ok(weft_extension_check(&t.extension));
    t.extension.op_count = 0;
    t.extension.ops = NULL;
    weft_test_ok(weft_extension_check(&t.extension));
}

static void versions_are_compared(void **state)
{
    (void)state;
    weft_test_fails(weft_extension_check(NULL), WEFT_INVALID_ARGUMENT, "the extension table is NULL");
    t.extension.abi_major = 7;
    t.extension.abi_minor = 2;
    weft_test_fails(weft_extension_check(&t.extension), WEFT_VERSION_MISMATCH,
                    "the extension is built for version 7.2 of the interface, this is 0.2");
    fill_table(NULL);
    t.extension.size = 8;
    refused("the extension table says it has 8 bytes, too few for a version");
    t.extension.size = 32;
    refused("the extension table has 32 bytes but version 0.1 of it has");
}

static void families_are_checked(void **state)
{
    (void)state;
    t.extension.family = NULL;
    refused("family \"\" must be a word of letters, digits and _");
    t.extension.family = "a.b";
    refused("family \"a.b\" must be a word of letters, digits and _");
    t.extension.version = NULL;
    refused("family demo has no version text");
    t.extension.state_destroy = free;
    refused("family demo has only one of state_create and state_destroy");
    t.extension.ops = NULL;
    refused("family demo has 2 ops but ops is NULL");
}

static void ops_are_checked(void **state)
{
    (void)state;
    t.ops[1] = NULL;
    refused("op 1 of family demo is NULL");
    t.op.size = 40;
    refused("op 0 of family demo has 40 bytes but version 0.1 of it has");
    t.op.name = NULL;
    refused("op 0 of family demo has no name");
    t.op.name = "demonstration.one";
    refused("op \"demonstration.one\" must be called \"demo.\" and a word of letters, digits and _");
    t.op.name = "demo.";
    refused("op \"demo.\" must be called");
    t.second.name = "demo.one";
    refused("op demo.one is defined twice");
    t.op.infer = NULL;
    refused("op demo.one has no infer function");
    t.second.kernel = NULL;
    refused("op demo.two has neither a lower nor a kernel function");
    t.op.output_count = 0;
    refused("op demo.one has 1 inputs and 0 outputs but needs -1 or more and at least 1");
    t.op.count_outputs = count_none;
    refused("op demo.one has 1 inputs and 1 outputs but needs -1 or more and 0, since it has count_outputs");
    t.op.output_count = 0;
    t.op.count_outputs = count_none;
    t.op.size = offsetof(weft_op_def, count_outputs);
    refused("op demo.one has 1 inputs and 0 outputs but needs -1 or more and at least 1");
    t.op.output_count = 0;
    t.op.count_outputs = count_none;
    weft_test_ok(weft_extension_check(&t.extension));
    fill_table(NULL);
    t.op.input_count = -2;
    refused("op demo.one has -2 inputs and 1 outputs");
    t.op.dtypes = 1u << 30 | 1;
    refused("op demo.one has dtypes 0x40000001, of which some are unknown here");
    t.op.traits = 2;
    refused("op demo.one has traits 0x2, of which some are unknown here");
    t.op.traits = WEFT_TRAIT_COMMUTATIVE;
    refused("op demo.one is WEFT_TRAIT_COMMUTATIVE, but has not exactly 2 inputs");
    t.op.attrs = NULL;
    refused("op demo.one has 1 attributes but attrs is NULL");
    t.attr.name = "an axis";
    refused("attribute 0 of op demo.one has no name of letters, digits and _");
    t.attr.kind = (weft_attr_kind)77;
    refused("attribute axis of op demo.one is of kind 77, which is unknown here");
}

/* ---- files ---- */

static const char *plugin_path(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/plugin-%s.so", folder, name);
    return path;
}

static void loads(const char *name)
{
    weft_plugin *plugin;
    weft_test_ok(weft_plugin_load(NULL, plugin_path(name), &plugin));
    const weft_extension *extension = weft_plugin_extension(plugin);
    assert_string_equal(extension->family, "sample");
    assert_string_equal(extension->ops[0]->name, "sample.square");
    weft_plugin_destroy(plugin);
}

static void fails(const char *name, weft_code code, const char *sentence)
{
    weft_plugin *plugin = NULL;
    weft_test_fails(weft_plugin_load(NULL, plugin_path(name), &plugin), code, sentence);
    assert_null(plugin);
}

static void plugins_load(void **state)
{
    (void)state;
    loads("good");
    loads("newer");
    weft_plugin_destroy(NULL);
    assert_null(weft_plugin_extension(NULL));
}

static void symbols_are_checked(void **state)
{
    (void)state;
    t.op.kernel_symbol = "demo-one";
    refused("kernel_symbol \"demo-one\" of op demo.one must be a word of letters, digits and _");
    t.op.scratch_symbol = "";
    refused("scratch_symbol \"\" of op demo.one must be a word of letters, digits and _");
    static const char *const reserved[] = {"memset",         "memcpy", "memmove",        "weft_rt_run",
                                           "__cxa_finalize", "main",   "pthread_create", "_start"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        t.op.kernel_symbol = reserved[i];
        refused("is a name of weft or of the C library");
    }
    t.op.kernel_symbol = "demo_one";
    t.op.scratch_symbol = "malloc";
    refused(
        "scratch_symbol \"malloc\" of op demo.one is a name of weft or of the C library, which programs with it use");
    t.op.kernel_symbol = t.op.scratch_symbol = "demo_one";
    t.op.scratch_size = scratch_none;
    refused("op demo.one has \"demo_one\" both as kernel_symbol and as scratch_symbol");
    t.op.kernel_symbol = "memset_of_demo";
    weft_test_ok(weft_extension_check(&t.extension));
    t.op.kernel_symbol = "demo_one";
    t.op.kernel = NULL;
    t.op.lower = lower_none;
    refused("op demo.one has a kernel_symbol but no kernel");
    t.op.kernel_symbol = "demo_one";
    t.op.scratch_symbol = "demo_one_scratch";
    refused("op demo.one has a kernel_symbol and only one of scratch_size and scratch_symbol");
    t.op.bitcode = "BC";
    refused("op demo.one has bitcode but no kernel_symbol");
    t.op.kernel_symbol = "demo_one";
    t.op.bitcode = "BC";
    refused("op demo.one has bitcode but its bitcode_size is 0");
    t.op.kernel_symbol = "of no meaning in a table of version 0.1";
    t.op.size = offsetof(weft_op_def, lower_for);
    t.extension.abi_minor = 1;
    weft_test_ok(weft_extension_check(&t.extension));
}

static void plugins_are_refused(void **state)
{
    (void)state;
    fails("major", WEFT_VERSION_MISMATCH,
          "plugin-major.so: the extension is built for version 1.2 of the interface, this is 0.2");
    fails("silent", WEFT_BAD_FILE, "plugin-silent.so: the file has no function weft_extension_query");
    fails("leaning", WEFT_BAD_FILE, "plugin-leaning.so: the file has no function weft_extension_query");
    fails("empty", WEFT_INVALID_ARGUMENT, "plugin-empty.so: the extension table is NULL");
    fails("refuses", WEFT_UNSUPPORTED, "plugin-refuses.so: host 0.2 lacks something");
    fails("broken", WEFT_INVALID_ARGUMENT, "plugin-broken.so: op sample.square has no infer function");
    fails("missing", WEFT_BAD_FILE, "plugin-missing.so: No such file or directory");
    weft_plugin *plugin;
    weft_test_fails(weft_plugin_load(NULL, NULL, &plugin), WEFT_INVALID_ARGUMENT, "path is NULL");
    weft_test_fails(weft_plugin_load(NULL, "/", &plugin), WEFT_BAD_FILE, "plugin /: ");
}

/* Loads a file of `size` bytes; BAD_FILE is wanted, with `sentence`. */
static void refuse_bytes(const void *data, size_t size, const char *sentence)
{
    char path[] = "/tmp/weft-plugin-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, data, size), (ssize_t)size);
    close(descriptor);
    weft_plugin *plugin;
    weft_status *status = weft_plugin_load(NULL, path, &plugin);
    unlink(path);
    weft_test_fails(status, WEFT_BAD_FILE, sentence);
}

static void files_that_are_no_plugins(void **state)
{
    (void)state;
    static const char text[] = "This is a text, long enough for the header of a shared object, but it is none at all.";
    refuse_bytes(text, sizeof text, "the file is not a 64-bit ELF shared object");
    refuse_bytes(text, 10, "the file is too short for a shared object");
    refuse_bytes("", 0, "the file is too short for a shared object");
}

static void truncated_plugins(void **state)
{
    (void)state;
    static char data[1 << 20];
    FILE *file = fopen(plugin_path("good"), "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    assert_in_range(size, 4096, sizeof data - 1);
    for (size_t kept = 64; kept < size; kept += size / 7) refuse_bytes(data, kept, "the file is truncated: ");
    refuse_bytes(data, size - 1, "the file is truncated: ");
    /* Where the section table is gone from the header too, the segments tell. */
    memset(data + 40, 0, 8);
    memset(data + 58, 0, 6);
    refuse_bytes(data, size / 4, "the file is truncated: a segment lies beyond its end");
}

static weft_status *load_once(const weft_allocator *allocator, void *context)
{
    weft_plugin *plugin;
    WEFT_TRY(weft_plugin_load(allocator, context, &plugin));
    weft_plugin_destroy(plugin);
    return NULL;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", plugin_path("good"));
    assert_true(weft_test_fail_each(load_once, path) >= 2);
}

int main(int count, char **arguments)
{
    if (count != 2) return 2;
    folder = arguments[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(good_tables_pass, fill_table),
        cmocka_unit_test_setup(versions_are_compared, fill_table),
        cmocka_unit_test_setup(families_are_checked, fill_table),
        cmocka_unit_test_setup(ops_are_checked, fill_table),
        cmocka_unit_test_setup(symbols_are_checked, fill_table),
        cmocka_unit_test(plugins_load),
        cmocka_unit_test(plugins_are_refused),
        cmocka_unit_test(files_that_are_no_plugins),
        cmocka_unit_test(truncated_plugins),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
