/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_ENGINE_FMA_H
#define WEFT_RUNTIME_ENGINE_FMA_H
/*
 * a * b + c, rounded once to nearest, ties to even, for processors without an instruction for it: bit for bit what the
 * instruction gives, except for sign and payload of NaNs. Needs the default rounding and denormals, as in a run.
 *
 * Objects compiled ahead of time call these by name where a level has no such instruction (backends/llvm/fma.c). The
 * names are not those of C, fma and fmaf: an archive that defines these would take the place of libm's in the
 * application, according to the order in which they are linked.
 */
float weft_fma_f32(float a, float b, float c);
double weft_fma_f64(double a, double b, double c);

/* The instruction, or the function where the code is compiled for processors that may not have it. */
#if defined(__FMA__) || defined(__aarch64__)
#define WEFT_FMA_F32 __builtin_fmaf
#define WEFT_FMA_F64 __builtin_fma
#else
#define WEFT_FMA_F32 weft_fma_f32
#define WEFT_FMA_F64 weft_fma_f64
#endif
#endif
