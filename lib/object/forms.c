/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/forms.h"
#include <inttypes.h>
#include <math.h>
#include "lib/pass/compile.h"
#include "lib/pass/pass.h"
#include "runtime/base/status.h"

static int64_t typical_value(const weft_symbol_info *info)
{
    static const int64_t much = INT64_C(1) << 31;
    int64_t low = info->min < 1 ? 1 : info->min;
    if (info->max <= low) return info->max;
    return info->max > much ? low : (int64_t)sqrt((double)low * (double)info->max);
}

static weft_status *make(weft_forms *forms, const int64_t *values, bool exact)
{
    weft_program *made;
    WEFT_TRY(weft_compile_for(forms->program, values, exact, &made));
    forms->items[forms->count++] = made;
    return NULL;
}

weft_status *weft_forms_make(weft_forms *forms)
{
    const weft_program *program = forms->program;
    size_t symbols = program->formulas.symbol_count, groups = forms->plan->specialized_count;
    if (!weft_program_expects(program)) return NULL;
    forms->typical = weft_allocate(program->allocator, symbols * sizeof *forms->typical);
    forms->items = weft_allocate(program->allocator, (groups + 1) * sizeof(weft_program *));
    if ((symbols > 0 && forms->typical == NULL) || forms->items == NULL) return weft_status_out_of_memory();
    for (size_t i = 0; i < symbols; i++) forms->typical[i] = typical_value(&program->formulas.symbols[i]);
    for (size_t i = 0; i < groups; i++) WEFT_TRY(make(forms, forms->plan->specialized[i], true));
    return make(forms, forms->typical, false);
}

void weft_forms_finish(weft_forms *forms)
{
    const weft_program *program = forms->program;
    for (size_t i = 0; i < forms->count; i++) weft_program_release(forms->items[i]);
    weft_free(program->allocator, forms->items, (forms->plan->specialized_count + 1) * sizeof(weft_program *));
    weft_free(program->allocator, forms->typical, program->formulas.symbol_count * sizeof *forms->typical);
}

const weft_program *weft_forms_find(const weft_forms *forms, const int64_t *values)
{
    size_t number = 0, groups = forms->plan->specialized_count;
    if (forms->items == NULL) return forms->program;
    while (number < groups && forms->plan->specialized[number] != values) number++;
    return forms->items[number];
}

/* ---- text ---- */

static void print_values(const weft_forms *forms, const int64_t *values, weft_bytes *text)
{
    const weft_formulas *formulas = &forms->program->formulas;
    for (size_t i = 0; i < formulas->symbol_count; i++)
        weft_bytes_print(text, "%s%s = %" PRId64, i > 0 ? ", " : "", formulas->symbols[i].name, values[i]);
    weft_bytes_append(text, "\n", 1);
}

static void describe_op(const weft_forms *forms, const weft_op_def *op, weft_bytes *text)
{
    for (size_t i = 0; i < forms->plan->specialized_count; i++) {
        weft_bytes_print(text, "%-10sof %s, for ", "order", op->name);
        print_values(forms, forms->plan->specialized[i], text);
    }
    weft_bytes_print(text, "%-10sof %s, for all other sizes: the one for ", "order", op->name);
    print_values(forms, forms->typical, text);
}

void weft_forms_describe(const weft_forms *forms, weft_bytes *text)
{
    const weft_program *program = forms->program;
    for (size_t i = 0; i < program->family_count && forms->items != NULL; i++)
        if (weft_op_expects(program->family_ops[i])) describe_op(forms, program->family_ops[i], text);
}
