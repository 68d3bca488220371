/* SPDX-License-Identifier: Apache-2.0 */
#include "picture.h"
#include <stdlib.h>
#include <string.h>

/*
 * Layout in two levels. Inside a box a node stands one row below the lowest of its operands there; then a box stands
 * one row below the lowest box it reads from, and what no step computes one row above its first reader. Boxes of a row
 * are sorted by the mean place of their neighbours in the rows before and after, a few times in turn.
 */

enum { GAP = 18, ROW_GAP = 34, BOX_GAP = 48, PADDING = 14, TITLE = 20, MARGIN = 16, SWEEPS = 8 };

bool weft_picture_edge_find(const weft_picture *picture, uint32_t to, size_t i, weft_picture_edge *out_edge)
{
    const weft_program_view *view = picture->view;
    bool output = to >= view->node_count;
    if (i >= (output ? 1 : view->nodes[to].input_count)) return false;
    weft_program_view_value value = output ? view->outputs[to - view->node_count].value : view->nodes[to].inputs[i];
    *out_edge = (weft_picture_edge){value.node, to, view->nodes[value.node].types[value.output]};
    return true;
}

void weft_picture_label(const weft_picture *picture, size_t node, char *out_text, size_t size)
{
    const weft_program_view *view = picture->view;
    if (node >= view->node_count) {
        snprintf(out_text, size, "%.60s", view->outputs[node - view->node_count].name);
        return;
    }
    const weft_program_view_node *found = &view->nodes[node];
    if (found->name == NULL) snprintf(out_text, size, "%.60s", found->op);
    else if (strcmp(found->op, "input") == 0) snprintf(out_text, size, "%.60s", found->name);
    else snprintf(out_text, size, "%.60s: %.60s", found->op, found->name);
}

const char *weft_picture_engine_name(weft_program_view_engine engine)
{
    static const char *const names[] = {[WEFT_ENGINE_KERNEL] = "kernel",
                                        [WEFT_ENGINE_PRODUCT] = "matrix product",
                                        [WEFT_ENGINE_SORT] = "sort",
                                        [WEFT_ENGINE_EXTENSION] = "extension",
                                        [WEFT_ENGINE_REGION] = "region"};
    return names[engine];
}

void weft_picture_box_label(const weft_picture *picture, size_t box, char *out_text, size_t size)
{
    snprintf(out_text, size, "step %zu: %s", box, weft_picture_engine_name(picture->view->steps[box].engine));
}

/* ---- which box a node is in ---- */

static weft_status *allocate(weft_picture *picture)
{
    const weft_program_view *view = picture->view;
    picture->node_count = view->node_count + view->output_count;
    picture->box_count = view->step_count + picture->node_count;
    picture->nodes = calloc(picture->node_count + 1, sizeof *picture->nodes);
    picture->boxes = calloc(picture->box_count + 1, sizeof *picture->boxes);
    return picture->nodes == NULL || picture->boxes == NULL ? weft_status_out_of_memory() : NULL;
}

/* Boxes are those of steps, then one for each node, which holds it unless a step computes it. */
static void assign_boxes(weft_picture *picture)
{
    const weft_program_view *view = picture->view;
    for (uint32_t n = 0; n < picture->node_count; n++) {
        bool in_step = n < view->node_count && view->nodes[n].place == WEFT_VIEW_STEP;
        picture->nodes[n].box = in_step ? view->nodes[n].step : (uint32_t)view->step_count + n;
        weft_picture_box *box = &picture->boxes[picture->nodes[n].box];
        box->drawn = in_step;
        box->rows = 1;
        if (in_step) box->step = view->nodes[n].step;
    }
}

/* ---- rows ---- */

static void at_least(uint32_t *row, uint32_t least)
{
    if (*row < least) *row = least;
}

static void assign_inner_rows(weft_picture *picture)
{
    weft_picture_edge edge;
    for (uint32_t n = 0; n < picture->node_count; n++) {
        weft_picture_node *node = &picture->nodes[n];
        for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++)
            if (picture->nodes[edge.from].box == node->box) at_least(&node->row, picture->nodes[edge.from].row + 1);
        at_least(&picture->boxes[node->box].rows, node->row + 1);
    }
}

/* Nodes come operands first, but a box as a whole may get its row late: so until nothing moves. */
static void assign_box_rows(weft_picture *picture)
{
    weft_picture_edge edge;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t n = 0; n < picture->node_count; n++) {
            for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++) {
                const weft_picture_box *from = &picture->boxes[picture->nodes[edge.from].box];
                weft_picture_box *to = &picture->boxes[picture->nodes[n].box];
                if (from == to || to->row > from->row) continue;
                to->row = from->row + 1;
                moved = true;
            }
        }
    }
}

/* Moves what reads nothing down to the row above its first reader. */
static void lower_sources(weft_picture *picture)
{
    weft_picture_edge edge;
    for (uint32_t source = 0; source < picture->view->node_count; source++) {
        uint32_t first = UINT32_MAX;
        if (picture->view->nodes[source].input_count > 0 || picture->boxes[picture->nodes[source].box].drawn) continue;
        for (uint32_t n = 0; n < picture->node_count; n++) {
            uint32_t row = picture->boxes[picture->nodes[n].box].row;
            for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++)
                if (edge.from == source && row < first) first = row;
        }
        if (first != UINT32_MAX) picture->boxes[picture->nodes[source].box].row = first - 1;
    }
}

/* ---- places ---- */

static double row_width(const weft_picture *picture, size_t box, uint32_t row)
{
    double width = -GAP;
    for (size_t n = 0; n < picture->node_count; n++)
        if (picture->nodes[n].box == box && picture->nodes[n].row == row) width += picture->nodes[n].width + GAP;
    return width;
}

static void measure(weft_picture *picture)
{
    char label[160];
    for (size_t n = 0; n < picture->node_count; n++) {
        weft_picture_label(picture, n, label, sizeof label);
        picture->nodes[n].width = 16 + (double)strlen(label) * WEFT_PICTURE_CHARACTER;
    }
    for (size_t b = 0; b < picture->box_count; b++) {
        weft_picture_box *box = &picture->boxes[b];
        double frame = box->drawn ? 2 * PADDING : 0;
        if (box->rows == 0) continue;
        if (box->drawn) {
            frame += box->rows > 2 ? 2 * WEFT_PICTURE_BOW : 0;
            weft_picture_box_label(picture, b, label, sizeof label);
            box->width = 16 + (double)strlen(label) * WEFT_PICTURE_CHARACTER;
        }
        for (uint32_t row = 0; row < box->rows; row++) {
            double width = row_width(picture, b, row) + frame;
            if (width > box->width) box->width = width;
        }
        box->height =
            box->rows * WEFT_PICTURE_NODE_HEIGHT + (box->rows - 1) * ROW_GAP + (box->drawn ? 2 * PADDING + TITLE : 0);
    }
}

/* Puts the boxes of a row side by side in their order; returns the width. */
static double place_row(weft_picture *picture, uint32_t row)
{
    double width = 0, last = -1e300;
    for (;;) {
        weft_picture_box *next = NULL;
        for (size_t b = 0; b < picture->box_count; b++) {
            weft_picture_box *box = &picture->boxes[b];
            bool later = box->rows > 0 && box->row == row && box->order > last;
            if (later && (next == NULL || box->order < next->order)) next = box;
        }
        if (next == NULL) return width - GAP;
        last = next->order;
        next->x = width + next->width / 2;
        width += next->width + GAP;
    }
}

static void centre_row(weft_picture *picture, uint32_t row, double shift)
{
    for (size_t b = 0; b < picture->box_count; b++)
        if (picture->boxes[b].row == row) picture->boxes[b].x += shift;
}

static uint32_t row_count(const weft_picture *picture)
{
    uint32_t count = 0;
    for (size_t b = 0; b < picture->box_count; b++)
        if (picture->boxes[b].rows > 0) at_least(&count, picture->boxes[b].row + 1);
    return count;
}

static void place_rows(weft_picture *picture)
{
    double widest = 0;
    uint32_t rows = row_count(picture);
    for (uint32_t row = 0; row < rows; row++) {
        double width = place_row(picture, row);
        if (width > widest) widest = width;
    }
    for (uint32_t row = 0; row < rows; row++) centre_row(picture, row, (widest - place_row(picture, row)) / 2 + MARGIN);
    picture->width = widest + 2 * MARGIN;
}

/* Gives each box the mean place of those it reads (`down`) or of its readers as its order. */
static weft_status *sort_rows(weft_picture *picture, bool down)
{
    double *sums = calloc(2 * picture->box_count + 1, sizeof *sums), *counts = sums + picture->box_count;
    weft_picture_edge edge;
    if (sums == NULL) return weft_status_out_of_memory();
    for (uint32_t n = 0; n < picture->node_count; n++) {
        for (size_t i = 0; weft_picture_edge_find(picture, n, i, &edge); i++) {
            uint32_t from = picture->nodes[edge.from].box, to = picture->nodes[n].box;
            uint32_t moving = down ? to : from, still = down ? from : to;
            sums[moving] += picture->boxes[still].x;
            counts[moving]++;
        }
    }
    for (size_t b = 0; b < picture->box_count; b++) {
        double place = counts[b] > 0 ? sums[b] / counts[b] : picture->boxes[b].x;
        picture->boxes[b].order = place + 1e-6 * (double)b;
    }
    free(sums);
    place_rows(picture);
    return NULL;
}

static void place_lines(weft_picture *picture)
{
    double y = MARGIN;
    uint32_t rows = row_count(picture);
    for (uint32_t row = 0; row < rows; row++) {
        double height = 0;
        for (size_t b = 0; b < picture->box_count; b++) {
            const weft_picture_box *box = &picture->boxes[b];
            if (box->rows > 0 && box->row == row && box->height > height) height = box->height;
        }
        for (size_t b = 0; b < picture->box_count; b++)
            if (picture->boxes[b].row == row) picture->boxes[b].y = y + height / 2;
        y += height + BOX_GAP;
    }
    picture->height = y - BOX_GAP + MARGIN;
}

static void place_nodes(weft_picture *picture, size_t b)
{
    const weft_picture_box *box = &picture->boxes[b];
    double top = box->y - box->height / 2 + (box->drawn ? PADDING + TITLE : 0);
    for (uint32_t row = 0; row < box->rows; row++) {
        double x = box->x - row_width(picture, b, row) / 2;
        for (size_t n = 0; n < picture->node_count; n++) {
            weft_picture_node *node = &picture->nodes[n];
            if (node->box != b || node->row != row) continue;
            node->x = x + node->width / 2;
            node->y = top + row * (WEFT_PICTURE_NODE_HEIGHT + ROW_GAP) + WEFT_PICTURE_NODE_HEIGHT / 2.0;
            x += node->width + GAP;
        }
    }
}

static weft_status *init_regions(weft_picture *picture)
{
    const weft_program_view *view = picture->view;
    size_t count = 0;
    for (size_t n = 0; n < view->node_count; n++) count += view->nodes[n].region_count;
    picture->regions = calloc(count + 1, sizeof *picture->regions);
    if (picture->regions == NULL) return weft_status_out_of_memory();
    for (size_t n = 0; n < view->node_count; n++) {
        const weft_program_view_node *node = &view->nodes[n];
        for (size_t r = 0; r < node->region_count; r++) {
            weft_picture *region = &picture->regions[picture->region_count++];
            WEFT_TRY(weft_picture_init(region, &node->regions[r].view));
            snprintf(region->title, sizeof region->title, "%s of step %u: %.60s", node->regions[r].name,
                     (unsigned)node->step, node->op);
        }
    }
    return NULL;
}

weft_status *weft_picture_init(weft_picture *picture, const weft_program_view *view)
{
    *picture = (weft_picture){.view = view};
    WEFT_TRY(allocate(picture));
    assign_boxes(picture);
    assign_inner_rows(picture);
    assign_box_rows(picture);
    lower_sources(picture);
    measure(picture);
    for (size_t b = 0; b < picture->box_count; b++) picture->boxes[b].order = (double)b;
    place_rows(picture);
    for (int sweep = 0; sweep < SWEEPS; sweep++) WEFT_TRY(sort_rows(picture, sweep % 2 == 0));
    place_lines(picture);
    for (size_t b = 0; b < picture->box_count; b++) place_nodes(picture, b);
    return init_regions(picture);
}

void weft_picture_finish(weft_picture *picture)
{
    for (size_t i = 0; i < picture->region_count; i++) weft_picture_finish(&picture->regions[i]);
    free(picture->regions);
    free(picture->nodes);
    free(picture->boxes);
    *picture = (weft_picture){0};
}
