/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TOOLS_JSON_H
#define WEFT_TOOLS_JSON_H
/* JSON files that a command line names. What is wrong with one is WEFT_BAD_FILE, and the sentence names the file. */
#include <cjson/cJSON.h>
#include <weft/base.h>

/* The object that a file holds, to be deleted. */
weft_status *weft_json_load(const char *path, cJSON **out_object) WEFT_MUST_USE;
/* A printf-style sentence after the file's name. */
weft_status *weft_json_refuse(const char *path, const char *format, ...) WEFT_MUST_USE WEFT_FORMAT(2, 3);

/* Refuses two members of a name that is known, and one whose name is nearly such a name; all others may be there. */
weft_status *weft_json_check_members(const char *path, const cJSON *root, size_t count,
                                     const char *const *known) WEFT_MUST_USE;

/* "missing", "a list", "the text \"ij\"", "-3": what stands in the place of something else. Returns `buffer`. */
enum { WEFT_JSON_ROOM = 64 };
const char *weft_json_describe(const cJSON *item, char buffer[WEFT_JSON_ROOM]);

/* An integer from 0 that a double holds exactly; `what` names it: "entry 2 of \"sizes\"". */
weft_status *weft_json_read_integer(const char *path, const cJSON *item, const char *what,
                                    int64_t *out_integer) WEFT_MUST_USE;
#endif
