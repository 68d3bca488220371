/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_RUNTIME_BASE_FLOAT_MODE_H
#define WEFT_RUNTIME_BASE_FLOAT_MODE_H
#include <stdint.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* How the thread computes floats: rounding, denormals, what is trapped, and what it has met so far. PLAIN: round to
 * nearest, to all bits, denormals kept, nothing trapped. */
#if defined(__x86_64__)
typedef struct weft_float_mode {
    uint32_t sse;            /* control and flags */
    uint16_t x87, x87_flags; /* for long double */
} weft_float_mode;

#define WEFT_FLOAT_MODE_PLAIN ((weft_float_mode){.sse = 0x1f80, .x87 = 0x037f})

static inline weft_float_mode weft_float_mode_get(void)
{
    weft_float_mode mode = {.sse = _mm_getcsr()};
    __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(mode.x87), "=m"(mode.x87_flags));
    return mode;
}

/* The flags of long double stay. What reads memory stays on its side of the call. */
static inline void weft_float_mode_set(weft_float_mode mode)
{
    _mm_setcsr(mode.sse);
    __asm__ volatile("fldcw %0" : : "m"(mode.x87) : "memory");
}

/* What was met meanwhile is forgotten: a flag would be a trap later, when the caller asks for traps. */
static inline void weft_float_mode_leave(weft_float_mode saved)
{
    enum { FLAGS = 0x3f };
    uint16_t flags, environment[14];
    __asm__ volatile("fnstsw %0" : "=m"(flags));
    if (((flags ^ saved.x87_flags) & FLAGS) != 0) {
        __asm__ volatile("fnstenv %0" : "=m"(environment));
        environment[2] = (uint16_t)((environment[2] & ~FLAGS) | (saved.x87_flags & FLAGS));
        __asm__ volatile("fldenv %0" : : "m"(environment));
    }
    weft_float_mode_set(saved);
}
#elif defined(__aarch64__)
typedef struct weft_float_mode {
    uint64_t control, flags; /* FPCR, FPSR */
} weft_float_mode;

#define WEFT_FLOAT_MODE_PLAIN ((weft_float_mode){0})

static inline weft_float_mode weft_float_mode_get(void)
{
    weft_float_mode mode;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(mode.control), "=r"(mode.flags));
    return mode;
}

static inline void weft_float_mode_set(weft_float_mode mode)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(mode.control), "r"(mode.flags) : "memory");
}

static inline void weft_float_mode_leave(weft_float_mode saved)
{
    weft_float_mode_set(saved);
}
#endif

/* Computes plainly until weft_float_mode_leave gets what this returns. What is to be computed so must be in a function
 * that is called in between, as compilers move arithmetic. */
static inline weft_float_mode weft_float_mode_enter(void)
{
    weft_float_mode saved = weft_float_mode_get();
    weft_float_mode_set(WEFT_FLOAT_MODE_PLAIN);
    return saved;
}

/* The same around what does without long double, whose part of it is the larger one on x86-64. */
#if defined(__x86_64__)
static inline weft_float_mode weft_float_mode_enter_sse(void)
{
    weft_float_mode saved = WEFT_FLOAT_MODE_PLAIN;
    saved.sse = _mm_getcsr();
    _mm_setcsr(WEFT_FLOAT_MODE_PLAIN.sse);
    return saved;
}

static inline void weft_float_mode_leave_sse(weft_float_mode saved)
{
    _mm_setcsr(saved.sse);
}
#else
static inline weft_float_mode weft_float_mode_enter_sse(void)
{
    return weft_float_mode_enter();
}

static inline void weft_float_mode_leave_sse(weft_float_mode saved)
{
    weft_float_mode_leave(saved);
}
#endif

/* Begins the definition of a function that computes plainly; its body follows. `static` may stand before. */
#define WEFT_PLAIN_FUNCTION(type, name, parameters, arguments)                                                         \
    type name parameters;                                                                                              \
    static __attribute__((noinline)) type plain_##name parameters;                                                     \
    type name parameters                                                                                               \
    {                                                                                                                  \
        weft_float_mode saved_ = weft_float_mode_enter();                                                              \
        type result_ = plain_##name arguments;                                                                         \
        weft_float_mode_leave(saved_);                                                                                 \
        return result_;                                                                                                \
    }                                                                                                                  \
    static type plain_##name parameters
#endif
