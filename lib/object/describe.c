/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/describe.h"
#include <inttypes.h>

#define KEY "%-10s"

static void describe_values(weft_bytes *text, const char *key, size_t count, const weft_program_value *values)
{
    for (size_t i = 0; i < count; i++) {
        weft_bytes_print(text, KEY "%s: %s [", key, values[i].name, weft_dtype_name(values[i].dtype));
        for (size_t axis = 0; axis < values[i].rank; axis++)
            weft_bytes_print(text, "%s%s", axis > 0 ? ", " : "", values[i].axes[axis].extent);
        weft_bytes_print(text, "]\n");
    }
}

void weft_describe_program(weft_bytes *text, const weft_program *program, const weft_object_plan *plan)
{
    static const char *const products[] = {"generated", "library", "fast"};
    const weft_policy *policy = &program->policy;
    weft_bytes_print(text, KEY "%s\n", "name", plan->name);
    weft_bytes_print(text, KEY "%d.%d.%d, interface %d of libweft-rt\n", "weft", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
                     WEFT_VERSION_PATCH, WEFT_RT_ABI);
    weft_bytes_print(text, KEY "%s\n", "target", plan->target);
    weft_bytes_print(text, KEY "%s\n", "isa", plan->isa.data);
    weft_bytes_print(text, KEY "%s\n", "library", plan->freestanding ? "none: freestanding" : "libweft-rt");
    weft_bytes_print(text, KEY "products %s, functions %s\n", "policy", products[policy->products],
                     policy->functions == WEFT_FUNCTIONS_FAST ? "fast" : "accurate");
    for (size_t i = 0; i < program->formulas.symbol_count; i++) {
        const weft_symbol_info *info = &program->formulas.symbols[i];
        weft_bytes_print(text, KEY "%s in [%" PRId64 ", %" PRId64 "]\n", "symbol", info->name, info->min, info->max);
    }
    describe_values(text, "input", program->input_count, program->inputs);
    describe_values(text, "output", program->output_count, program->outputs);
    for (size_t i = 0; i < program->guard_count; i++)
        if (program->guards[i].message != NULL) weft_bytes_print(text, KEY "%s\n", "guard", program->guards[i].message);
}

static void describe_steps(weft_bytes *text, const weft_variant *variant)
{
    static const char *const kinds[] = {[WEFT_STEP_KERNEL] = "kernel",
                                        [WEFT_STEP_GEMM] = "product",
                                        [WEFT_STEP_PACK] = "pack",
                                        [WEFT_STEP_SORT] = "sort",
                                        [WEFT_STEP_HOST] = "host",
                                        [WEFT_STEP_REGION] = "region"};
    size_t counts[sizeof kinds / sizeof *kinds] = {0};
    const char *between = "";
    for (size_t i = 0; i < variant->step_count; i++) counts[variant->steps[i].kind]++;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (counts[i] == 0) continue;
        weft_bytes_print(text, "%s%zu %s%s", between, counts[i], kinds[i], counts[i] == 1 ? "" : "s");
        between = ", ";
    }
    weft_bytes_print(text, variant->step_count == 0 ? "no steps\n" : "\n");
}

void weft_describe_variant(weft_bytes *text, const weft_program *program, const weft_variant *variant,
                           const weft_rt_variant *entry)
{
    weft_bytes_print(text, KEY "%s, %s", "variant", weft_isa_level_name(entry->level),
                     entry->strided ? "any strides" : "row-major");
    for (size_t i = 0; entry->extents != NULL && i < program->formulas.symbol_count; i++)
        weft_bytes_print(text, ", %s = %" PRId64, program->formulas.symbols[i].name, entry->extents[i]);
    weft_bytes_print(text, ": ");
    describe_steps(text, variant);
}

void weft_describe_aliases(weft_bytes *text, const weft_program *program, const uint32_t *output_alias)
{
    for (size_t i = 0; output_alias != NULL && i < program->input_count; i++)
        if (output_alias[i] != WEFT_NO_ALIAS)
            weft_bytes_print(text, KEY "output %s may have the memory of input %s\n", "in place",
                             program->outputs[output_alias[i]].name, program->inputs[i].name);
}
