/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include <string.h>
#include "../output.h"
#include "file.h"
#include "options.h"
#include "page.h"

typedef struct drawing {
    weft_picture picture;
    const weft_profile_table *profile;
} drawing;

static weft_status *print_svg(const void *context, FILE *file)
{
    weft_picture_print_svg(&((const drawing *)context)->picture, file);
    return NULL;
}

static weft_status *print_dot(const void *context, FILE *file)
{
    weft_picture_print_dot(&((const drawing *)context)->picture, file);
    return NULL;
}

static weft_status *print_page(const void *context, FILE *file)
{
    const drawing *d = context;
    return weft_picture_print_page(&d->picture, d->profile, file);
}

static const struct format {
    const char *end;
    weft_status *(*print)(const void *context, FILE *file);
} formats[] = {{".svg", print_svg}, {".dot", print_dot}, {".html", print_page}};

const char *weft_draw_format(const char *path)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (weft_file_ends_with(path, formats[i].end)) return formats[i].end + 1;
    return NULL;
}

/* That of a name that there is. */
static const struct format *find_format(const char *name)
{
    size_t i = 0;
    while (strcmp(formats[i].end + 1, name) != 0) i++;
    return &formats[i];
}

weft_status *weft_draw_check(const char *option, const char *path)
{
    if (weft_draw_format(path) != NULL) return weft_output_check(path);
    return weft_misuse("%s takes a file that ends in .svg, .dot or .html, not '%s'", option, path);
}

static weft_status *save(drawing *d, const weft_program_view *view, weft_tensors outputs, const char *format,
                         const char *path)
{
    weft_forest forest;
    WEFT_TRY(weft_picture_init(&d->picture, view));
    weft_status *status = weft_forest_init(&forest, outputs);
    d->picture.forest = &forest;
    if (status == NULL) status = weft_output_write(path, find_format(format)->print, d);
    weft_forest_finish(&forest);
    return status;
}

weft_status *weft_draw_save(const weft_program *program, const weft_module *module, const weft_profile_table *profile,
                            const char *format, const char *path)
{
    const weft_program_view *view;
    drawing d = {.profile = profile};
    WEFT_TRY(weft_program_view_create(program, &view));
    weft_status *status = save(&d, view, module->outputs, format, path);
    weft_picture_finish(&d.picture);
    weft_program_view_destroy(view);
    return status;
}
