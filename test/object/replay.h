/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_REPLAY_H
#define WEFT_TEST_REPLAY_H
/* The objects that replay.c is linked with: the table is written by link.py. */
#include <weft/rt.h>

typedef weft_rt_code replay_prepare(const void *call, weft_rt_workspace *workspace, int64_t *out_shapes,
                                    weft_rt_error *out_error);
typedef weft_rt_code replay_run(const void *call, weft_rt_workspace *workspace, weft_rt_error *out_error);

typedef struct replay_object {
    unsigned number;
    replay_prepare *prepare;
    replay_run *run;
    const weft_rt_manifest *(*manifest)(void);
} replay_object;

extern const replay_object replay_objects[];
extern const size_t replay_object_count;
/* weft_rt_pool_create and weft_rt_pool_destroy; NULL where the objects need no library, and have no threads. */
extern weft_rt_pool *(*const replay_pool_create)(unsigned threads);
extern void (*const replay_pool_destroy)(weft_rt_pool *pool);
#endif
