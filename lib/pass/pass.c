/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pass/pass.h"
#include <string.h>

typedef struct pass_row {
    const char *name;
    weft_status *(*run)(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs);
} pass_row;

static const pass_row table[] = {
#define WEFT_PASS(name, text) {#name, weft_pass_##name},
#include "lib/pass/pass.def"
#undef WEFT_PASS
};

const char *const *weft_pass_names(void)
{
    static const char *const names[] = {
#define WEFT_PASS(name, text) #name,
#include "lib/pass/pass.def"
#undef WEFT_PASS
        NULL};
    return names;
}

static weft_status *unknown_pass(weft_graph *graph, const char *name, size_t length)
{
    weft_bytes known;
    weft_bytes_init(&known, graph->allocator);
    for (size_t i = 0; i < WEFT_COUNT_OF(table); i++)
        weft_bytes_print(&known, "%s%s", i == 0 ? "" : ", ", table[i].name);
    weft_status *status = weft_bytes_status(&known);
    if (status == NULL)
        status = weft_status_create(graph->allocator, WEFT_NOT_FOUND, "weft_policy.passes",
                                    "there is no pass '%.*s'; the passes are %s", length < 60 ? (int)length : 60, name,
                                    known.data);
    weft_bytes_finish(&known);
    return status;
}

/* A guard must outlive the node that made it, also in the text: from here on no guard relies on being made again. */
static void keep_guards(weft_graph *graph)
{
    weft_graph *root = weft_graph_root(graph);
    for (size_t i = 0; i < root->guard_count; i++) root->guards[i].of_rule = false;
}

static weft_status *run_pass(const pass_row *pass, weft_graph *graph, const weft_policy *policy, size_t count,
                             weft_value *outputs)
{
    keep_guards(graph);
    WEFT_TRY(pass->run(graph, policy, count, outputs));
    if (weft_status_code(weft_graph_error(graph)) == WEFT_OUT_OF_MEMORY) return weft_status_out_of_memory();
#ifndef NDEBUG
    weft_status *broken = weft_graph_verify(graph, count, outputs);
    if (broken == NULL || weft_status_code(broken) == WEFT_OUT_OF_MEMORY) return broken;
    weft_status *status = weft_status_create(graph->allocator, WEFT_INTERNAL, pass->name, "after the pass %s: %s",
                                             pass->name, weft_status_message(broken));
    weft_status_destroy(broken);
    return status;
#else
    return NULL;
#endif
}

static weft_status *run_named(const char *name, size_t length, weft_graph *graph, const weft_policy *policy,
                              size_t count, weft_value *outputs)
{
    for (size_t i = 0; i < WEFT_COUNT_OF(table); i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return run_pass(&table[i], graph, policy, count, outputs);
    return unknown_pass(graph, name, length);
}

weft_status *weft_passes_run(weft_graph *graph, const weft_policy *policy, size_t count, weft_value *outputs)
{
    for (size_t i = 0; policy->passes == NULL && i < WEFT_COUNT_OF(table); i++)
        WEFT_TRY(run_pass(&table[i], graph, policy, count, outputs));
    const char *cursor = policy->passes == NULL ? "" : policy->passes;
    while (*(cursor += strspn(cursor, ", ")) != '\0') {
        size_t length = strcspn(cursor, ", ");
        WEFT_TRY(run_named(cursor, length, graph, policy, count, outputs));
        cursor += length;
    }
    return NULL;
}
