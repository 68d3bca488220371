/* SPDX-License-Identifier: Apache-2.0 */
#include "../output.h"
#include "command.h"
#include "draw.h"
#include "file.h"
#include "module.h"

/* The picture that -o and --format ask for. */
static weft_draw_options find_draw_options(const weft_arguments *arguments)
{
    const char *path = weft_arguments_text(arguments, "-o", NULL);
    const char *format = path == NULL ? NULL : weft_arguments_text(arguments, "--format", weft_draw_format(path));
    return (weft_draw_options){format, path, weft_arguments_find(arguments, WEFT_DRAW_OPTION) != NULL};
}

static weft_status *draw_source(const weft_arguments *arguments, const weft_source *source)
{
    weft_program *program;
    const weft_policy policy = weft_policy_of(arguments);
    const weft_draw_options how = find_draw_options(arguments);
    WEFT_TRY(weft_source_compile(source, &policy, &program));
    weft_status *status = weft_draw_save(program, weft_source_outputs(source), NULL, &how);
    weft_program_release(program);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    const weft_draw_options how = find_draw_options(arguments);
    if (how.path == NULL) return weft_misuse("-o is needed: a file that ends in .svg, .dot or .html");
    WEFT_TRY(weft_file_check_results(arguments, 1, arguments->operands, 1, &how.path));
    if (how.format == NULL && weft_output_is_standard(how.path))
        return weft_misuse("standard output needs a format: --format svg, dot or html");
    WEFT_TRY(how.format == NULL ? weft_draw_check("-o", how.path) : weft_output_check(how.path));
    return weft_source_visit(arguments, draw_source);
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_FILE, "FILE.svg|FILE.dot|FILE.html", "where the picture goes; '-' is standard output"},
    {"--format", WEFT_OPTION_CHOICE, "svg|dot|html", "what to draw (what the name of the file ends in)"},
    {WEFT_DRAW_OPTION, WEFT_OPTION_FLAG, NULL, "draw broadcasts, permutes and reshapes as ops, not as part of arrows"},
    WEFT_PRODUCTS_OPTION,
    WEFT_PLUGIN_OPTION,
};

const weft_command weft_command_view = {
    .name = "view",
    .operands = " GRAPH -o FILE",
    .summary = "draw a graph as it is computed",
    .detail =
        "GRAPH is a .weft file, or a program that 'weft opt --save' wrote.\n"
        "Frames are the steps of a run: kernels around the ops they fuse, matrix products, extensions' ops. Arrows\n"
        "show types, and the broadcasts, permutes and reshapes on the way that take no memory. Dashed ops are\n"
        "recomputed by every step that reads them. Regions come below, then the contraction tree of each einsum whose\n"
        "order is known, with the sizes of values and the multiplications of steps. Large programs get straight\n"
        "arrows, or no frames. A page (.html) needs no network; it zooms, and shows details under the pointer.",
    .least = 1,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
