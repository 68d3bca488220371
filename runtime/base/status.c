/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/status.h"
#include <stdio.h>
#include <string.h>
#include "runtime/base/memory.h"

struct weft_status {
    weft_allocator allocator; /* a copy: a status may outlive the object it came from */
    size_t size;              /* of the block, texts included */
    weft_code code;
    const char *where;
    const char *message;
};

static const weft_status out_of_memory = {.code = WEFT_OUT_OF_MEMORY, .where = "", .message = "out of memory"};

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
    return (weft_status *)(uintptr_t)&out_of_memory;
}

/* A status with room for texts of these lengths; NULL when out of memory. */
static weft_status *status_allocate(const weft_allocator *allocator, weft_code code, size_t where_length,
                                    size_t message_length, char **out_where, char **out_message)
{
    size_t size = sizeof(weft_status) + where_length + 1 + message_length + 1;
    weft_status *status = weft_allocate(allocator, size);
    if (status == NULL) return NULL;
    *out_where = (char *)(status + 1);
    *out_message = *out_where + where_length + 1;
    *status = (weft_status){.allocator = *weft_allocator_or_default(allocator),
                            .size = size,
                            .code = code == WEFT_OK ? WEFT_INTERNAL : code,
                            .where = *out_where,
                            .message = *out_message};
    return status;
}

/* Takes `status`, whose texts are not escaped yet; usually there is nothing to escape. */
static weft_status *escape(weft_status *status)
{
    char *where, *message;
    size_t where_length = weft_text_escape(status->where, NULL, 0),
           message_length = weft_text_escape(status->message, NULL, 0);
    if (where_length == strlen(status->where) && message_length == strlen(status->message)) return status;
    weft_status *escaped =
        status_allocate(&status->allocator, status->code, where_length, message_length, &where, &message);
    if (escaped != NULL) {
        weft_text_escape(status->where, where, where_length + 1);
        weft_text_escape(status->message, message, message_length + 1);
    }
    weft_status_destroy(status);
    return escaped == NULL ? weft_status_out_of_memory() : escaped;
}

weft_status *weft_status_create_v(const weft_allocator *allocator, weft_code code, const char *where,
                                  const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    size_t room = length < 0 ? 0 : (size_t)length;
    char *where_copy, *message;
    if (where == NULL) where = "";
    weft_status *status = status_allocate(allocator, code, strlen(where), room, &where_copy, &message);
    if (status != NULL) {
        strcpy(where_copy, where);
        message[0] = '\0';
        if (length > 0) vsnprintf(message, room + 1, format, again);
    }
    va_end(again);
    return status == NULL ? weft_status_out_of_memory() : escape(status);
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

weft_status *weft_status_locate(weft_status *status, const char *where)
{
    if (status == NULL || status == &out_of_memory || *status->where != '\0') return status;
    weft_status *located = weft_status_create(&status->allocator, status->code, where, "%s", status->message);
    if (located == &out_of_memory) return status;
    weft_status_destroy(status);
    return located;
}

weft_status *weft_status_of_op(weft_status *status, const char *op, const char *file, int line)
{
    status = weft_status_locate(status, op);
    if (file == NULL || status == NULL || status == &out_of_memory || status->code == WEFT_CANCELLED) return status;
    weft_status *located =
        weft_status_create(&status->allocator, status->code, status->where, "%s (%s:%d)", status->message, file, line);
    if (located == &out_of_memory) return status;
    weft_status_destroy(status);
    return located;
}

weft_status *weft_status_null(const char *where, const char *argument)
{
    return weft_status_create(NULL, WEFT_INVALID_ARGUMENT, where, "%s is NULL", argument);
}

weft_status *weft_status_clone(const weft_allocator *allocator, const weft_status *status)
{
    if (status == NULL) return NULL;
    if (status == &out_of_memory) return weft_status_out_of_memory();
    char *where, *message;
    weft_status *clone =
        status_allocate(allocator, status->code, strlen(status->where), strlen(status->message), &where, &message);
    if (clone == NULL) return weft_status_out_of_memory();
    strcpy(where, status->where);
    strcpy(message, status->message);
    return clone;
}
