/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_STATUS_H
#define WEFT_RUNTIME_BASE_STATUS_H
#include <weft/base.h>

/* `status`, which it takes, with `where` if it has none of its own. */
weft_status *weft_status_locate(weft_status *status, const char *where) WEFT_MUST_USE;
/* INVALID_ARGUMENT: "`argument` is NULL". */
weft_status *weft_status_null(const char *where, const char *argument) WEFT_MUST_USE;

/* Returns that from the calling function, which is public, when `argument` is NULL. */
#define WEFT_REQUIRE(argument)                                                                                         \
    do {                                                                                                               \
        if ((argument) == NULL) return weft_status_null(__func__, #argument);                                          \
    } while (0)
/* The status that a kernel of `op` returned: it happened in the op, unless it says where, and, unless `file` is NULL,
 * the line that requested the op. Takes `status`. */
weft_status *weft_status_of_op(weft_status *status, const char *op, const char *file, int line) WEFT_MUST_USE;
#endif
