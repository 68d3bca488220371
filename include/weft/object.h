/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEFT_OBJECT_H
#define WEFT_OBJECT_H
/*
 * Compiling ahead of time: a program becomes an object to link, and a header to include. Where it runs, it needs
 * libweft-rt alone, and <weft/rt.h> says how it is used. `weft compile` does the same for a graph in a file.
 *
 * Results are those of runtime "llvm", to the bit, on any processor; only the sign and the payload of a NaN may differ
 * from one architecture to another, and an einsum with an order for sizes that it was not planned for has the bits of
 * that order. Extents stay symbolic: one object serves all sizes.
 */
#include <weft/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise for the defaults, except for the name. */
typedef struct weft_object_options {
    size_t size;      /* sizeof(weft_object_options); 0 stands for it */
    const char *name; /* that functions and types begin with, and files: a C identifier of at most 64 letters */
    /* The levels of the target to compile for, between commas, of x86-64-v2, x86-64-v3 and x86-64-v4, or armv8-a of
     * aarch64, or "native", that of this process, which may be there besides; the best that the processor has is chosen
     * when the object runs. NULL: x86-64-v3 or armv8-a. Here and below spaces may be anywhere but in a name or a
     * number. */
    const char *isa;
    /* Sizes to compile for beside any, which run faster: one variant for each group between semicolons, each with a
     * value for every symbol, no two with the same sizes: "n=1,m=64;n=128,m=64". Where an extension's op is lowered by
     * sizes (weft_op_def.lower_for), each group has its own lowering, and all others that for typical sizes: the
     * geometric middle of each range, from 1 on, or its least value where it ends beyond 2^31. NULL: none. */
    const char *extents;
    /* Puts the constants of the program into a file of their own, which is mapped where it runs, instead of into the
     * object: weft_object_weights. */
    bool weights_file;
    /* The object contains what it needs of libweft-rt and calls at most memcpy, memmove and memset, and kernels of
     * extensions that are outside: no thread, no memory but the caller's (<weft/rt.h>). */
    bool freestanding;
    /* Where the object runs: "x86_64-linux-gnu" or "aarch64-linux-gnu"; x86_64-unknown-linux-gnu is the same. NULL: as
     * this process. For another architecture than that, a cross compiler and the libweft-rt.a that it has made are
     * needed to link. */
    const char *target;
    /* Schedules for kernels in place of those of the rules (<weft/schedules.h>); NULL: none. They were found on this
     * machine, so only code for its level has them: `isa` needs "native" among its levels, or that level's name. Code
     * for `extents` may do without, as its kernels are others. The caller's, needed until the call returns. */
    const struct weft_schedules *schedules;
} weft_object_options;

typedef struct weft_object weft_object;

/*
 * Compiles for all sizes, strides and levels asked for, which takes as long as that many first runs. UNSUPPORTED names
 * an op that an object cannot contain: of an extension, without lowering, that offers no kernel to objects
 * (weft_op_def.kernel_symbol); or says that this weft was built without what freestanding objects contain.
 * INVALID_ARGUMENT for a name, a level or extents that are none, for a level or sizes that are there twice, for
 * schedules where no level is that of this process, and for one that its kernel does not fit. Inputs, outputs and
 * symbols whose names make no field of a struct get others in the header.
 */
weft_status *weft_object_create(const weft_program *program, const weft_object_options *options,
                                weft_object **out_object) WEFT_MUST_USE;
void weft_object_destroy(weft_object *object);

/* The object, NAME.o: ELF for the target with position-independent code. */
const void *weft_object_code(const weft_object *object, size_t *out_size);
/* The texts of NAME.h and of NAME.pc, for pkg-config. */
const char *weft_object_header(const weft_object *object);
const char *weft_object_pkg_config(const weft_object *object);
/* NAME.weights; NULL and 0 unless it was asked for, or the program has no constants. */
const void *weft_object_weights(const weft_object *object, size_t *out_size);

#ifdef __cplusplus
}
#endif
#endif
