/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_NPZ_H
#define WEFT_TOOLS_NPZ_H
/* Arrays in numpy's .npz files: zip archives of .npy files, stored or deflated. Errors are as in <weft/npy.h>. */
#include <weft/array.h>

typedef struct weft_npz weft_npz;

/* Opens an archive to read. */
weft_status *weft_npz_open(const weft_allocator *allocator, const char *path, weft_npz **out_npz) WEFT_MUST_USE;
/* The same of bytes that stay the caller's; `name` is for messages. */
weft_status *weft_npz_open_bytes(const weft_allocator *allocator, const void *bytes, size_t size, const char *name,
                                 weft_npz **out_npz) WEFT_MUST_USE;
void weft_npz_close(weft_npz *npz);

size_t weft_npz_count(const weft_npz *npz);
/* The array called `name`, which is the member's name with or without ".npy"; false if there is none. */
bool weft_npz_find(const weft_npz *npz, const char *name, size_t *out_member);
/* "x, w, b", cut to `size`. */
void weft_npz_list(const weft_npz *npz, char *out_text, size_t size);
/* Reads a member and checks its sum. */
weft_status *weft_npz_load(const weft_npz *npz, size_t member, weft_array **out_array) WEFT_MUST_USE;

/* Refuses a name that would be a path in an archive ("a/b", ".."), or that is too long. */
weft_status *weft_npz_check_name(const weft_allocator *allocator, const char *path, const char *name) WEFT_MUST_USE;
/* Writes arrays under different names that were not refused, as the same bytes whenever that is, as output.h says. What
 * cannot seek takes no archive. */
weft_status *weft_npz_save(const weft_allocator *allocator, const char *path, size_t count, const char *const *names,
                           weft_array *const *arrays, bool deflated) WEFT_MUST_USE;
#endif
