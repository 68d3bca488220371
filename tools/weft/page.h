/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_PAGE_H
#define WEFT_TOOLS_PAGE_H
/* A picture of a program as a page that needs nothing else: page.html with what is known of nodes and steps. */
#include "picture.h"
#include "profile.h"

/* `layout` is the picture of `view`. Steps are coloured by their time in `profile`, of runs of the same program, or
 * without one by their kind; so too where the runs had other steps, which the page then says. */
weft_status *weft_page_print(const weft_program_view *view, const weft_dot_layout *layout,
                             const weft_profile_table *profile, FILE *file) WEFT_MUST_USE;
#endif
