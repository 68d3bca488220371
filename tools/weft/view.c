/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "command.h"
#include "file.h"
#include "module.h"
#include "picture.h"

typedef void (*picture_printer)(const weft_picture *picture, FILE *file);

static weft_status *write_picture(const weft_picture *picture, picture_printer print, const char *path)
{
    FILE *file = fopen(path, "w");
    bool written = false;
    if (file != NULL) {
        print(picture, file);
        written = !ferror(file);
        if (fclose(file) != 0) written = false;
    }
    if (written) return NULL;
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s cannot be written: %s", path, strerror(errno));
}

static weft_status *draw(const weft_program *program, picture_printer print, const char *path)
{
    const weft_outline *outline;
    weft_picture picture;
    WEFT_TRY(weft_outline_create(program, &outline));
    weft_status *status = weft_picture_init(&picture, outline);
    if (status == NULL) status = write_picture(&picture, print, path);
    weft_picture_finish(&picture);
    weft_outline_destroy(outline);
    return status;
}

static weft_status *run(const weft_arguments *arguments)
{
    const char *path = weft_arguments_text(arguments, "-o", NULL);
    weft_program *program;
    if (path == NULL) return weft_misuse("-o is needed: a file that ends in .svg or .dot");
    if (!weft_file_ends_with(path, ".svg") && !weft_file_ends_with(path, ".dot"))
        return weft_misuse("-o takes a file that ends in .svg or .dot, not '%s'", path);
    WEFT_TRY(weft_program_load(arguments->operands[0], NULL, &program));
    weft_status *status =
        draw(program, weft_file_ends_with(path, ".svg") ? weft_picture_print_svg : weft_picture_print_dot, path);
    weft_program_release(program);
    return status;
}

static const weft_option options[] = {
    {"-o", WEFT_OPTION_TEXT, "FILE.svg|FILE.dot", "where the picture goes"},
};

const weft_command weft_command_view = {
    .name = "view",
    .operands = " GRAPH.weft -o FILE",
    .summary = "draw a graph as it is computed",
    .detail =
        "Boxes are the steps of a run: kernels around the ops they fuse, matrix products, extensions' ops. Arrows\n"
        "carry types. Dashed ops are computed again by every step that reads them.",
    .least = 1,
    .most = 1,
    .options = WEFT_OPTIONS(options),
    .run = run,
};
