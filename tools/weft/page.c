/* SPDX-License-Identifier: Apache-2.0 */
#include "page.h"
#include <cjson/cJSON.h>
#include <string.h>

static const char template[] = {
#include "page.html.inc"
    0,
};

/* ---- what the script is told ---- */

static bool add_text(cJSON *object, const char *name, const char *text)
{
    return text == NULL || text[0] == 0 || cJSON_AddStringToObject(object, name, text) != NULL;
}

/* A new object at the end of `array`; NULL when out of memory. */
static cJSON *append_object(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();
    if (object != NULL && cJSON_AddItemToArray(array, object)) return object;
    cJSON_Delete(object);
    return NULL;
}

static bool append_text(cJSON *array, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    if (string != NULL && cJSON_AddItemToArray(array, string)) return true;
    cJSON_Delete(string);
    return false;
}

static bool add_region(cJSON *regions, const weft_program_view_region *region)
{
    cJSON *object = append_object(regions), *ops = object == NULL ? NULL : cJSON_AddArrayToObject(object, "ops");
    if (ops == NULL || !add_text(object, "name", region->name)) return false;
    for (size_t i = 0; i < region->view.node_count; i++)
        if (!append_text(ops, region->view.nodes[i].op)) return false;
    return true;
}

static bool add_node(cJSON *nodes, const weft_program_view_node *node)
{
    cJSON *object = append_object(nodes), *types = object == NULL ? NULL : cJSON_AddArrayToObject(object, "types");
    if (types == NULL || !add_text(object, "op", node->op) || !add_text(object, "name", node->name)) return false;
    if (!add_text(object, "attributes", node->attributes)) return false;
    for (size_t i = 0; i < node->output_count; i++)
        if (!append_text(types, node->types[i])) return false;
    cJSON *regions = node->region_count > 0 ? cJSON_AddArrayToObject(object, "regions") : NULL;
    for (size_t i = 0; i < node->region_count; i++)
        if (regions == NULL || !add_region(regions, &node->regions[i])) return false;
    if (node->role == WEFT_VIEW_STEP) return cJSON_AddNumberToObject(object, "step", node->step) != NULL;
    return node->role == WEFT_VIEW_GIVEN || cJSON_AddTrueToObject(object, "repeated") != NULL;
}

static bool add_output(cJSON *nodes, const weft_program_view *view, const weft_program_view_output *output)
{
    cJSON *object = append_object(nodes), *types = object == NULL ? NULL : cJSON_AddArrayToObject(object, "types");
    const char *type = view->nodes[output->value.node].types[output->value.output];
    return types != NULL && add_text(object, "op", "output") && add_text(object, "name", output->name) &&
           append_text(types, type);
}

/* Operands that are packed before a loop have no step of their own in a view. */
static bool is_drawn(const weft_profile_step *step)
{
    return step->name != NULL && step->depth == 0 && step->kind != WEFT_PROFILE_PACK;
}

/* Whether the runs had the steps that are drawn: arrays that are not row-major may make others. */
static bool is_same(const weft_program_view *view, const weft_profile_table *profile)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->step_count; i++) count += is_drawn(&profile->steps[i]);
    return count == view->step_count;
}

/* The step that the runs had in place of `number` here: the one that has as many before it. */
static const weft_profile_step *find_timed(const weft_profile_table *profile, size_t number)
{
    for (size_t i = 0; profile != NULL && i < profile->step_count; i++) {
        const weft_profile_step *step = &profile->steps[i];
        if (is_drawn(step) && number-- == 0) return step;
    }
    return NULL;
}

static bool add_step(cJSON *steps, const weft_program_view *view, const weft_profile_table *profile, size_t number)
{
    const weft_program_view_node *node = &view->nodes[view->steps[number].node];
    const weft_profile_step *timed = find_timed(profile, number);
    cJSON *object = append_object(steps);
    bool added = object != NULL && cJSON_AddNumberToObject(object, "number", (double)number) != NULL &&
                 add_text(object, "kind", weft_picture_engine_name(view->steps[number].engine)) &&
                 add_text(object, "name", node->name != NULL ? node->name : node->op);
    if (!added || timed == NULL) return added;
    double share = profile->total_ms > 0 ? timed->ms / profile->total_ms : 0;
    return cJSON_AddNumberToObject(object, "ms", timed->ms) != NULL &&
           cJSON_AddNumberToObject(object, "share", share) != NULL &&
           cJSON_AddNumberToObject(object, "bytes", timed->bytes) != NULL &&
           cJSON_AddNumberToObject(object, "flops", timed->flops) != NULL;
}

static bool fill_data(cJSON *data, const weft_program_view *view, const weft_profile_table *profile)
{
    cJSON *nodes = cJSON_AddArrayToObject(data, "nodes"), *steps = cJSON_AddArrayToObject(data, "steps");
    bool filled = nodes != NULL && steps != NULL;
    if (filled && profile != NULL && !is_same(view, profile)) {
        profile = NULL;
        filled = add_text(data, "note", "The runs had other steps than these, which are those for row-major arrays.");
    }
    for (size_t i = 0; filled && i < view->node_count; i++) filled = add_node(nodes, &view->nodes[i]);
    for (size_t i = 0; filled && i < view->output_count; i++) filled = add_output(nodes, view, &view->outputs[i]);
    for (size_t i = 0; filled && i < view->step_count; i++) filled = add_step(steps, view, profile, i);
    return filled;
}

/* ---- the page ---- */

/* No text of a program may end the script that it stands in. */
static void print_script_text(const char *text, FILE *file)
{
    for (; *text != 0; text++) {
        if (*text == '<') fputs("\\u003c", file);
        else fputc(*text, file);
    }
}

static weft_status *print_data(const weft_program_view *view, const weft_profile_table *profile, FILE *file)
{
    cJSON *data = cJSON_CreateObject();
    char *text = data != NULL && fill_data(data, view, profile) ? cJSON_PrintUnformatted(data) : NULL;
    if (text != NULL) print_script_text(text, file);
    weft_status *status = text == NULL ? weft_status_out_of_memory() : NULL;
    cJSON_free(text);
    cJSON_Delete(data);
    return status;
}

/* Prints the template up to `mark`, and returns what follows it. */
static const char *print_until(const char *at, const char *mark, FILE *file)
{
    const char *end = strstr(at, mark);
    fwrite(at, 1, (size_t)(end - at), file);
    return end + strlen(mark);
}

weft_status *weft_page_print(const weft_program_view *view, const weft_dot_layout *layout,
                             const weft_profile_table *profile, FILE *file)
{
    const char *at = print_until(template, "@PICTURE@", file);
    weft_dot_layout_print(layout, file);
    at = print_until(at, "@DATA@", file);
    WEFT_TRY(print_data(view, profile, file));
    fputs(at, file);
    return NULL;
}
