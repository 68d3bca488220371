/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_LIB_OBJECT_REQUEST_H
#define WEFT_LIB_OBJECT_REQUEST_H
/* What a code generator is asked to put into an object that is to be linked. */
#include <weft/extension.h>
#include "lib/loop/loop.h"
#include "runtime/base/isa.h"
#include "runtime/base/memory.h"

/* A kernel as a function that only the object sees. */
typedef struct weft_object_kernel {
    const weft_kernel *kernel; /* scheduled, as for `emit` */
    const char *symbol;
    weft_isa level; /* one that code is generated for */
} weft_object_kernel;

/* The address that the data have at `at`, a multiple of 8: of a symbol, one of the kernels or one outside; of place
 * `offset` of the data for NULL. */
typedef struct weft_object_pointer {
    size_t at;
    const char *symbol;
    size_t offset;
} weft_object_pointer;

/* A function that the object exports: calls function `target`, outside, with the address of the data and its own
 * arguments, `parameters` pointers, and returns its int; for NULL it returns the address. */
typedef struct weft_object_entry {
    const char *symbol, *target;
    uint32_t parameters;
} weft_object_entry;

/* An op of an extension whose kernel_symbol, and scratch_symbol, data refer to: functions of its bitcode, which only
 * the object sees, or functions outside where it has none. */
typedef struct weft_object_import {
    const weft_op_def *op; /* once each; has symbols */
    const weft_extension *extension;
} weft_object_import;

#define WEFT_OBJECT_TEXT ".weft"

typedef struct weft_object_request {
    weft_architecture architecture; /* of all levels */
    size_t kernel_count;
    const weft_object_kernel *kernels;
    const char *data_symbol; /* constant data, aligned to 64 bytes */
    const void *data;
    size_t data_bytes, pointer_count;
    const weft_object_pointer *pointers; /* in the order of `at` */
    const char *text_symbol, *text;      /* in section WEFT_OBJECT_TEXT, with its NUL */
    size_t import_count;
    const weft_object_import *imports;
    size_t entry_count;
    const weft_object_entry *entries;
    bool freestanding;  /* contains what it needs of the runtime: targets of entries, what data refer to, but imports */
    const bool *levels; /* that it has code for, by weft_isa */
} weft_object_request;
#endif
