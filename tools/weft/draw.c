/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include <string.h>
#include "../output.h"
#include "file.h"
#include "options.h"
#include "page.h"

typedef struct drawing {
    const weft_program_view *view;
    weft_picture picture;
    const weft_profile_table *profile;
    weft_dot_layout layout; /* for formats that have it */
} drawing;

static weft_status *print_svg(const void *context, FILE *file)
{
    weft_dot_layout_print(&((const drawing *)context)->layout, file);
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
    return weft_page_print(d->view, &d->layout, d->profile, file);
}

static const struct format {
    const char *end;
    weft_status *(*print)(const void *context, FILE *file);
    bool drawn;
} formats[] = {{".svg", print_svg, true}, {".dot", print_dot, false}, {".html", print_page, true}};

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

static weft_status *save(drawing *d, const weft_forest *forest, const weft_draw_options *options)
{
    const struct format *format = find_format(options->format);
    weft_status *status = weft_picture_init(&d->picture, d->view, forest, options->every_op);
    if (status == NULL && format->drawn) status = weft_picture_draw(&d->picture, &d->layout);
    if (status == NULL) status = weft_output_write(options->path, format->print, d);
    weft_dot_layout_finish(&d->layout);
    weft_picture_finish(&d->picture);
    return status;
}

weft_status *weft_draw_save(const weft_program *program, weft_tensors traced, const weft_profile_table *profile,
                            const weft_draw_options *options)
{
    weft_forest forest;
    drawing d = {.profile = profile};
    WEFT_TRY(weft_program_view_create(program, &d.view));
    weft_status *status = weft_forest_init(&forest, traced);
    if (status == NULL) status = save(&d, &forest, options);
    weft_forest_finish(&forest);
    weft_program_view_destroy(d.view);
    return status;
}
