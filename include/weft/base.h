/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_BASE_H
#define WEFT_BASE_H
/*
 * The basis of every other header: version, linkage, status, allocator.
 *
 * Ownership rules of the whole interface:
 *  - a function named _create or _retain hands out a reference that the matching _destroy or _release ends;
 *    both accept NULL;
 *  - what is passed in is borrowed for the call unless the text says "takes";
 *  - results come last, as `out_x`, and are written only when the function succeeds;
 *  - strings and arrays handed out live as long as the object they were asked from;
 *  - a NULL that the text does not allow is WEFT_INVALID_ARGUMENT where a status is returned; functions that only read
 *    require an object, and others that return nothing do nothing.
 *
 * Structs that begin with `size` may be longer or shorter than this header's, as in a plugin or a runtime built with
 * another version: whoever fills them in sets it to sizeof, and fields beyond it count as zero; in options 0 stands for
 * sizeof. All other structs are laid out as here in every library of the same major version, the number that its file
 * name ends with. Fields are set by name; those that are not are zero, which is the default.
 *
 * A library function never prints, aborts or exits. WEFT_OUT_OF_MEMORY is possible even where no error is mentioned.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#if defined(__GNUC__)
#define WEFT_MUST_USE __attribute__((warn_unused_result))
#define WEFT_FORMAT(string, first) __attribute__((format(printf, string, first)))
#define WEFT_RARE __attribute__((cold))
#else
#define WEFT_MUST_USE
#define WEFT_FORMAT(string, first)
#define WEFT_RARE
#endif

/* Most axes a tensor may have. */
#define WEFT_MAX_RANK 64

/* ---- status ------------------------------------------------------------------------------------------------ */

typedef enum weft_code {
#define WEFT_CODE(name, text) WEFT_##name,
#include <weft/status.def>
#undef WEFT_CODE
    WEFT_CODE_COUNT
} weft_code;

/* An error. NULL stands for success; everything else is owned by whoever received it. */
typedef struct weft_status weft_status;

/* The code of `status`; WEFT_OK for NULL. */
weft_code weft_status_code(const weft_status *status);

/* One human-readable line: what was wrong, with the argument, axis or label, the values and the rule. Never NULL;
 * escaped as weft_text_escape does it. */
const char *weft_status_message(const weft_status *status);

/* Where it happened: for tracing errors the caller's "file:line"; otherwise the public function or option, the op whose
 * lowering or kernel failed, or the code generator. May be "". */
const char *weft_status_where(const weft_status *status);

/* Frees `status`. NULL is fine. */
void weft_status_destroy(weft_status *status);

/* Name of a code as written in the headers, without the prefix: "INVALID_ARGUMENT". "UNKNOWN" for anything else. */
const char *weft_code_name(weft_code code);

/*
 * Escapes untrusted text, such as a name, to one line that a terminal can show: anything but a printable UTF-8
 * character becomes "\n", "\t" or, byte by byte, "\x1b"; a backslash stays, so escaping is idempotent. Writes at most
 * `size` bytes with the terminating NUL, like snprintf, never part of a character; returns the length of the whole
 * text. NULL stands for "".
 */
size_t weft_text_escape(const char *text, char *out_text, size_t size);

/*
 * For "did you mean": whether fewer than `*least` bytes must be changed, left out or put in to make `name` of the first
 * `length` bytes of `given`; `*least` is how many then. False for a `length` above 32, and if anything is NULL.
 */
bool weft_text_is_nearer(const char *name, const char *given, size_t length, size_t *least);

/* ---- allocator --------------------------------------------------------------------------------------------- */

/*
 * The only source of memory. `resize` allocates when `block` is NULL, frees when `new_size` is 0 (and returns NULL),
 * and otherwise resizes, keeping the contents up to the smaller size. `old_size` and `alignment` are those the block
 * was allocated with; `alignment` is a power of two. NULL means out of memory; the old block then stays valid. It must
 * be thread-safe: threads that use the object it was given to, those of an executor's pool included, call it as long
 * as anything made from that object lives. The struct itself is copied. It must not call this library, which may hold
 * a lock.
 */
typedef struct weft_allocator {
    void *self;
    void *(*resize)(void *self, void *block, size_t old_size, size_t new_size, size_t alignment);
} weft_allocator;

/* The allocator that a NULL argument stands for: the C library's. */
const weft_allocator *weft_allocator_default(void);

/* ---- making a status (for extensions and runtimes) ---------------------------------------------------------- */

/*
 * Makes a status of `code` with a printf-style message. `where` may be NULL. `allocator` NULL is the default one.
 * Never returns NULL: when memory is short it returns a shared WEFT_OUT_OF_MEMORY status, which weft_status_destroy
 * accepts.
 */
weft_status *weft_status_create(const weft_allocator *allocator, weft_code code, const char *where, const char *format,
                                ...) WEFT_MUST_USE WEFT_RARE WEFT_FORMAT(4, 5);
weft_status *weft_status_create_v(const weft_allocator *allocator, weft_code code, const char *where,
                                  const char *format, va_list arguments) WEFT_MUST_USE;

/* The shared WEFT_OUT_OF_MEMORY status. */
weft_status *weft_status_out_of_memory(void) WEFT_MUST_USE WEFT_RARE;

/* A copy of `status` (NULL for NULL), from `allocator`. */
weft_status *weft_status_clone(const weft_allocator *allocator, const weft_status *status) WEFT_MUST_USE;

/* Returns from the calling function with the status of `expression` unless that is NULL. */
#define WEFT_TRY(expression)                                                                                           \
    do {                                                                                                               \
        weft_status *weft_try_status_ = (expression);                                                                  \
        if (weft_try_status_ != NULL) return weft_try_status_;                                                         \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
