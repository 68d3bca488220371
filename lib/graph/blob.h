/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_GRAPH_BLOB_H
#define WEFT_LIB_GRAPH_BLOB_H
/*
 * The bytes of large constants: one counted copy, shared by the graphs that have them. Among those of a graph equal
 * bytes are one blob, so that their address stands for them in keys: hashed to find, compared in full to decide, once,
 * when they come in.
 */
#include "runtime/base/map.h"

/* Data of at least this many bytes are kept as blobs; smaller ones are copied. */
#define WEFT_BLOB_LEAST 512

/* The blobs of one graph, with all of its regions. */
typedef struct weft_blobs {
    const weft_allocator *allocator;
    weft_map by_address; /* address of the bytes -> entry */
    weft_map by_content; /* hash and size -> first entry of those */
    size_t bytes;        /* of all of them */
} weft_blobs;

void weft_blobs_init(weft_blobs *blobs, const weft_allocator *allocator);
void weft_blobs_finish(weft_blobs *blobs);
/* The graph's copy of `size` bytes, which live as long as it does; made if there is none yet. `data` may be that copy.
 */
weft_status *weft_blobs_add(weft_blobs *blobs, const void *data, size_t size, const void **out_data) WEFT_MUST_USE;
/* The same for data that are a blob of `source`: shared with it, unless the graph has equal bytes. */
weft_status *weft_blobs_share(weft_blobs *blobs, const weft_blobs *source, const void *data,
                              const void **out_data) WEFT_MUST_USE;
#endif
