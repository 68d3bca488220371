/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves and elementwise functions. */
#include <math.h>
#include <string.h>
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

MAKE(unary)
{
    UNUSED;
    return ((weft_tensor(*)(weft_tensor))call->function)(x);
}

MAKE(binary)
{
    weft_tensor y = draw_partner(g, x);
    if (draw_chance(g, 2)) return ((weft_tensor(*)(weft_tensor, weft_tensor))call->function)(x, y);
    return ((weft_tensor(*)(weft_tensor, weft_tensor))call->function)(y, x);
}

MAKE(number)
{
    return ((weft_tensor(*)(weft_tensor, double))call->function)(x, draw_number(g));
}

MAKE(two_numbers)
{
    return ((weft_tensor(*)(weft_tensor, double, double))call->function)(x, draw_number(g), draw_number(g));
}

/* By zero it is a run-time error, which says little: seldom. */
MAKE(division)
{
    weft_tensor y = draw_partner(g, x);
    weft_dtype_set dtype = 1u << weft_tensor_dtype(x);
    if (dtype & DRAW_INTEGER && !draw_chance(g, 20)) y = weft_or(y, draw_filled(y, 1));
    else if (dtype & DRAW_FLOAT && draw_chance(g, 2)) y = weft_add(weft_abs(y), draw_filled(y, 1));
    return ((weft_tensor(*)(weft_tensor, weft_tensor))call->function)(x, y);
}

MAKE(complex)
{
    UNUSED;
    return weft_complex(x, draw_partner(g, x));
}

MAKE(select)
{
    UNUSED;
    weft_tensor y = draw_partner(g, x);
    weft_tensor p = draw_like(g, WEFT_BOOL, weft_tensor_shape(draw_chance(g, 4) ? y : x), true);
    return draw_chance(g, 2) ? weft_select(p, x, y) : weft_select(p, y, x);
}

MAKE(cast)
{
    UNUSED;
    return weft_cast(x, draw_dtype(g, DRAW_ALL));
}

MAKE(bitcast)
{
    UNUSED;
    weft_dtype dtype = draw_dtype(g, DRAW_REAL);
    for (size_t i = 0; i < 20 && weft_dtype_size(dtype) != weft_dtype_size(weft_tensor_dtype(x)); i++)
        dtype = draw_dtype(g, DRAW_REAL);
    return weft_bitcast(x, dtype);
}

MAKE(clamp)
{
    UNUSED;
    return weft_clamp(x, draw_partner(g, x), draw_partner(g, x));
}

MAKE(lerp)
{
    UNUSED;
    return weft_lerp(x, draw_partner(g, x), draw_partner(g, x));
}

MAKE(is_close)
{
    UNUSED;
    return weft_is_close(x, draw_partner(g, x), fabs(draw_number(g)), fabs(draw_number(g)));
}

MAKE(polygamma)
{
    UNUSED;
    return weft_polygamma((int64_t)draw_below(g, 4), x);
}

/* ---- leaves ---- */

MAKE(input)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, g->most_axes);
    if (g->inputs > 0 && draw_mistake(g)) return weft_input(g->graph, "x0", WEFT_U8, SHAPE(shape));
    return draw_input(g, draw_dtype(g, DRAW_ALL), SHAPE(shape));
}

MAKE(constant)
{
    UNUSED;
    enum { MOST = 48 };
    char data[MOST * 16] = "";
    drawn_ints shape = draw_ints(g, draw_below(g, 3), 0, 6);
    weft_dtype dtype = draw_dtype(g, DRAW_ALL), part = weft_dtype_component(dtype);
    size_t size = weft_dtype_size(part);
    for (size_t i = 0; i < sizeof data / size; i++) {
        double real = (double)draw_below(g, 9) - 4;
        float single = (float)real;
        int64_t integer = dtype == WEFT_BOOL ? real > 0 : (int64_t)real;
        uint16_t half = (uint16_t)(draw_below(g, 2) << 15 | (draw_below(g, 8) + (dtype == WEFT_F16 ? 0x3bf8 : 0x3f78)));
        const void *element = &integer;
        if (size == 2) element = &half;
        else if (part == WEFT_F32) element = &single;
        else if (part == WEFT_F64) element = &real;
        memcpy(data + i * size, element, size);
    }
    return weft_constant(g->graph, dtype, INTS(shape), data);
}

MAKE(scalar)
{
    UNUSED;
    return weft_scalar(g->graph, draw_dtype(g, DRAW_ALL), draw_number(g));
}

MAKE(full)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, g->most_axes);
    return weft_full(g->graph, draw_dtype(g, DRAW_ALL), draw_number(g), SHAPE(shape));
}

MAKE(fill)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, g->most_axes);
    return ((weft_tensor(*)(weft_graph *, weft_dtype, weft_shape))call->function)(g->graph, draw_dtype(g, DRAW_ALL),
                                                                                  SHAPE(shape));
}

MAKE(iota)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, g->most_axes);
    if (shape.rank == 0) shape.extents[shape.rank++] = draw_extent(g);
    return weft_iota(g->graph, draw_dtype(g, DRAW_NUMERIC), SHAPE(shape), (int64_t)draw_below(g, shape.rank));
}

MAKE(extent_tensor)
{
    UNUSED;
    return weft_extent_tensor(g->graph, draw_extent(g));
}

MAKE(arange)
{
    UNUSED;
    return weft_arange(g->graph, draw_dtype(g, DRAW_REAL), (double)draw_small(g, 5), (double)draw_small(g, 3),
                       draw_extent(g));
}

MAKE(linspace)
{
    UNUSED;
    return weft_linspace(g->graph, draw_dtype(g, DRAW_FLOAT), draw_number(g), draw_number(g), draw_extent(g));
}

MAKE(eye)
{
    UNUSED;
    return weft_eye(g->graph, draw_dtype(g, DRAW_ALL), draw_extent(g), draw_extent(g), draw_small(g, 4) - 2);
}

MAKE(one_hot)
{
    UNUSED;
    return weft_one_hot(x, draw_extent(g), draw_dtype(g, DRAW_ALL));
}

MAKE(meshgrid)
{
    UNUSED;
    weft_tensor axes[3], grids[3];
    size_t count = 1 + draw_below(g, 3);
    for (size_t i = 0; i < count; i++)
        axes[i] = draw_like(g, draw_dtype(g, DRAW_ALL), WEFT_SHAPE(draw_extent(g)), false);
    weft_tensor made = weft_meshgrid((weft_tensors){count, axes}, draw_chance(g, 2), grids);
    for (size_t i = 1; i < count; i++) draw_keep(g, grids[i]);
    return made;
}
