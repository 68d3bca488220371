/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_MACHINE_H
#define WEFT_RUNTIME_BASE_MACHINE_H
/*
 * The machine that the run time supposes where it must weigh time against time: a core of the year 2020 with vectors of
 * 256 bits, right within a factor of two for others. Nothing depends on it but how long a run takes.
 */

/* Scalar operations of generated code on elements of four bytes, and bytes that it moves through the caches. */
#define WEFT_MACHINE_OPERATIONS_PER_NS 32.0
#define WEFT_MACHINE_BYTES_PER_NS 40.0
/* Multiplications of a product, times the bytes of an element: of real numbers and of complex ones. */
#define WEFT_MACHINE_PRODUCT_BYTES_PER_NS 128.0
#define WEFT_MACHINE_COMPLEX_PRODUCT_BYTES_PER_NS 72.0
/* Elements that sorting takes. */
#define WEFT_MACHINE_SORTED_PER_NS 0.1

/* To call a step; each product of a batch; a region of the pool, beside its work. */
#define WEFT_MACHINE_CALL_NS 150.0
#define WEFT_MACHINE_PRODUCT_NS 300.0
#define WEFT_MACHINE_REGION_NS 2000.0

/* Scalar operations: below the first, ten microseconds or so, a kernel stays on the caller's thread, as waking another
 * one may take longer; no thread is given less than the second. The same for products, in multiplications: a product
 * below the second is never cut. */
#define WEFT_MACHINE_SERIAL_OPERATIONS 131072
#define WEFT_MACHINE_CHUNK_OPERATIONS 32768
#define WEFT_MACHINE_SERIAL_PRODUCT (128 * 128 * 64)
#define WEFT_MACHINE_WHOLE_PRODUCT (96 * 96 * 96)
#endif
