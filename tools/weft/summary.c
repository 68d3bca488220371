/* SPDX-License-Identifier: Apache-2.0 */
#include "summary.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_WIDTH = 10 };

/* Nothing in a name controls the terminal. */
static weft_status *print_name(const char *key, const char *name)
{
    size_t size = weft_text_escape(name, NULL, 0) + 1;
    char *escaped = malloc(size);
    if (escaped == NULL) return weft_status_out_of_memory();
    weft_text_escape(name, escaped, size);
    printf("%-*s%s", KEY_WIDTH, key, escaped);
    free(escaped);
    return NULL;
}

static void print_type(weft_dtype dtype, size_t rank, const weft_program_axis *axes)
{
    printf(": %s [", weft_dtype_name(dtype));
    for (size_t i = 0; i < rank; i++) printf("%s%s", i == 0 ? "" : ", ", axes[i].extent);
    printf("]\n");
}

static void print_policy(const weft_program *program)
{
    static const char *const products[] = {"generated", "library", "fast"};
    printf("%-*sproducts %s, functions %s\n", KEY_WIDTH, "policy", products[weft_program_products(program)],
           weft_program_functions(program) == WEFT_FUNCTIONS_FAST ? "fast" : "accurate");
}

static void print_code(const weft_program *program)
{
    size_t count = weft_program_code_count(program);
    if (count > 0) printf("%-*s%zu kernel%s\n", KEY_WIDTH, "code", count, count == 1 ? "" : "s");
}

weft_status *weft_summary_print(const weft_program *program)
{
    printf("%-*s%d.%d\n", KEY_WIDTH, "weft", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR);
    print_policy(program);
    for (size_t i = 0; i < weft_program_symbol_count(program); i++) {
        const weft_program_symbol *symbol = weft_program_symbol_at(program, i);
        WEFT_TRY(print_name("symbol", symbol->name));
        printf(" in [%" PRId64 ", %" PRId64 "]\n", symbol->min, symbol->max);
    }
    for (size_t i = 0; i < weft_program_input_count(program); i++) {
        WEFT_TRY(print_name("input", weft_program_input_name(program, i)));
        print_type(weft_program_input_dtype(program, i), weft_program_input_rank(program, i),
                   weft_program_input_axes(program, i));
    }
    for (size_t i = 0; i < weft_program_output_count(program); i++) {
        WEFT_TRY(print_name("output", weft_program_output_name(program, i)));
        print_type(weft_program_output_dtype(program, i), weft_program_output_rank(program, i),
                   weft_program_output_axes(program, i));
    }
    print_code(program);
    return NULL;
}
