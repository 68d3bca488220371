/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_TEST_RECORD_H
#define WEFT_TEST_RECORD_H
/*
 * Objects of programs, and records of their runs, which test/object/replay.c repeats with the objects, without weft. A
 * record is, in the order and byte order of the processor:
 *
 *     u32 number of the object; u32 symbols, and of each a name of 64 bytes and an i64; u32 inputs, u32 outputs, and of
 *     each array u32 bytes of an element, u32 axes, i64 extents, i64 strides, and its elements, row-major: what an
 * input holds, what an output has to become; u32 length of the sentence that the run fails with, 0 if it does not, and
 *     the sentence.
 */
#include <weft/object.h>
#include "test/conform/subject.h"

typedef struct weft_test_recorder weft_test_recorder;

/* Writes FOLDER/records, and FOLDER/cNUMBER.o for each program, numbered from 1. NULL with a line printed. */
weft_test_recorder *weft_test_recorder_create(const char *folder);
/* Whether everything was written. */
bool weft_test_recorder_finish(weft_test_recorder *recorder);

/* The next object has the number after this one. */
void weft_test_recorder_number(weft_test_recorder *recorder, unsigned number);
/* Compiles an object, with a name of its own, to which the records that follow refer. False with a sentence. */
bool weft_test_record_program(weft_test_recorder *recorder, const weft_program *program,
                              const weft_object_options *options, char *out_problem, size_t size);
/* `failed`: the sentence of the run, or NULL; then outputs may be NULL. */
void weft_test_record_run(weft_test_recorder *recorder, const weft_test_run *run, size_t output_count,
                          weft_array *const *outputs, const char *failed);
#endif
