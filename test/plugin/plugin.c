/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins for test/unit/plugin.c: one file, built once for each way a plugin can be.
 *   PLUGIN_NEWER   of a newer minor version, whose structs are longer
 *   PLUGIN_MAJOR   of another major version
 *   PLUGIN_SILENT  without a query function
 *   PLUGIN_LEANING besides: that needs a library which has one
 *   PLUGIN_EMPTY   that hands over no table
 *   PLUGIN_REFUSES that reports an error
 *   PLUGIN_BROKEN  with an op that lacks its type rule
 */
#include <weft/extension.h>
#ifdef PLUGIN_LEANING
#include <weft/einsum.h>
const weft_extension *plugin_leans_on(void);
const weft_extension *plugin_leans_on(void)
{
    return weft_einsum_extension();
}
#endif

#ifdef PLUGIN_MAJOR
#define MAJOR (WEFT_ABI_MAJOR + 1)
#else
#define MAJOR WEFT_ABI_MAJOR
#endif
#ifdef PLUGIN_NEWER
#define MINOR (WEFT_ABI_MINOR + 1)
#else
#define MINOR WEFT_ABI_MINOR
#endif

/* What a later version of the headers may look like. */
typedef struct longer_op {
    weft_op_def known;
    void *vjp;
} longer_op;
typedef struct longer_extension {
    weft_extension known;
    uint64_t flags;
} longer_extension;

#ifndef PLUGIN_BROKEN
static weft_status *infer(const weft_infer_context *context, weft_type *out_types)
{
    out_types[0] = context->inputs[0];
    return NULL;
}
#endif

static weft_status *lower(weft_graph *graph, const struct weft_op_def *op, const weft_attr *attrs, weft_tensors inputs,
                          weft_tensor *out_tensors)
{
    (void)graph;
    (void)op;
    (void)attrs;
    out_tensors[0] = weft_mul(inputs.items[0], inputs.items[0]);
    return NULL;
}

static const longer_op square = {
    .known = {.size = sizeof square,
              .name = "sample.square",
              .version = 1,
              .input_count = 1,
              .output_count = 1,
              .op_class = WEFT_CLASS_OPAQUE,
#ifndef PLUGIN_BROKEN
              .infer = infer,
#endif
              .lower = lower},
    .vjp = (void *)&square};

static const weft_op_def *const ops[] = {&square.known};
static const longer_extension extension = {.known = {.size = sizeof extension,
                                                     .abi_major = MAJOR,
                                                     .abi_minor = MINOR,
                                                     .family = "sample",
                                                     .version = "1.0",
                                                     .op_count = 1,
                                                     .ops = ops},
                                           .flags = UINT64_MAX};

#ifdef PLUGIN_SILENT
#define weft_extension_query weft_extension_question
#endif
weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension);

weft_status *weft_extension_query(const weft_host *host, const weft_extension **out_extension)
{
    const weft_extension *table = &extension.known;
    (void)host;
#ifdef PLUGIN_EMPTY
    table = NULL;
#endif
#ifdef PLUGIN_REFUSES
    return weft_status_create(NULL, WEFT_UNSUPPORTED, NULL, "host %u.%u lacks something", host->abi_major,
                              host->abi_minor);
#endif
    *out_extension = table;
    return NULL;
}
