/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/status.h"
#include <stdio.h>
#include <string.h>
#include "runtime/memory.h"

struct weft_status {
    weft_allocator allocator; /* a copy: a status may outlive the object it came from */
    size_t size;              /* of the block, texts included */
    weft_code code;
    const char *where;
    const char *message;
};

static weft_status out_of_memory = {.code = WEFT_OUT_OF_MEMORY, .where = "", .message = "out of memory"};

static const char *const code_names[WEFT_CODE_COUNT] = {
#define WEFT_CODE(name, text) #name,
#include <weft/status.def>
#undef WEFT_CODE
};

const char *weft_code_name(weft_code code)
{
    return (unsigned)code < WEFT_CODE_COUNT ? code_names[code] : "UNKNOWN";
}

weft_code weft_status_code(const weft_status *status)
{
    return status == NULL ? WEFT_OK : status->code;
}

const char *weft_status_message(const weft_status *status)
{
    return status == NULL ? "" : status->message;
}

const char *weft_status_where(const weft_status *status)
{
    return status == NULL ? "" : status->where;
}

void weft_status_destroy(weft_status *status)
{
    if (status == NULL || status == &out_of_memory) return;
    weft_allocator allocator = status->allocator;
    weft_free(&allocator, status, status->size);
}

weft_status *weft_status_out_of_memory(void)
{
    return &out_of_memory;
}

/* A status whose message has room for `length` characters behind a copy of `where`; NULL when out of memory. */
static weft_status *status_allocate(const weft_allocator *allocator, weft_code code, const char *where, size_t length,
                                    char **out_message)
{
    size_t where_size = strlen(where) + 1;
    size_t size = sizeof(weft_status) + where_size + length + 1;
    weft_status *status = weft_allocate(allocator, size);
    if (status == NULL) return NULL;
    char *text = (char *)(status + 1);
    memcpy(text, where, where_size);
    *out_message = text + where_size;
    *status = (weft_status){.allocator = *weft_allocator_or_default(allocator),
                            .size = size,
                            .code = code == WEFT_OK ? WEFT_INTERNAL : code,
                            .where = text,
                            .message = *out_message};
    return status;
}

weft_status *weft_status_create_v(const weft_allocator *allocator, weft_code code, const char *where,
                                  const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    size_t room = length < 0 ? 0 : (size_t)length;
    char *message;
    weft_status *status = status_allocate(allocator, code, where == NULL ? "" : where, room, &message);
    if (status != NULL) {
        message[0] = '\0';
        if (length > 0) vsnprintf(message, room + 1, format, again);
    }
    va_end(again);
    return status == NULL ? &out_of_memory : status;
}

weft_status *weft_status_create(const weft_allocator *allocator, weft_code code, const char *where, const char *format,
                                ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_status_create_v(allocator, code, where, format, arguments);
    va_end(arguments);
    return status;
}

weft_status *weft_status_place(weft_status *status, const char *where)
{
    if (status == NULL || status == &out_of_memory || *status->where != '\0') return status;
    weft_status *placed = weft_status_create(&status->allocator, status->code, where, "%s", status->message);
    if (placed == &out_of_memory) return status;
    weft_status_destroy(status);
    return placed;
}

weft_status *weft_status_null(const char *where, const char *argument)
{
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, where, "%s must not be NULL", argument);
}

weft_status *weft_status_clone(const weft_allocator *allocator, const weft_status *status)
{
    if (status == NULL) return NULL;
    if (status == &out_of_memory) return &out_of_memory;
    size_t length = strlen(status->message);
    char *message;
    weft_status *clone = status_allocate(allocator, status->code, status->where, length, &message);
    if (clone == NULL) return &out_of_memory;
    memcpy(message, status->message, length + 1);
    return clone;
}
