/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers. */
#include "test/random/make.h"

#define UNUSED (void)g, (void)call, (void)x

static weft_tensor draw_key(generator *g)
{
    if (draw_chance(g, 3)) return draw_like(g, WEFT_U32, WEFT_SHAPE(draw_mistake(g) ? 3 : 2), false);
    return weft_random_key(g->graph, draw_below(g, 1000));
}

MAKE(random_key)
{
    UNUSED;
    return weft_random_key(g->graph, draw_below(g, 1000));
}

MAKE(random_fold)
{
    UNUSED;
    return weft_random_fold(draw_key(g), x);
}

MAKE(random_split)
{
    UNUSED;
    return weft_random_split(draw_key(g), draw_extent(g));
}

MAKE(random_philox)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 2);
    shape.extents[shape.rank++] = weft_extent_of(draw_mistake(g) ? 3 : 4);
    return weft_random_philox(draw_key(g), draw_like(g, WEFT_U32, SHAPE(shape), false));
}

MAKE(random_bits)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    return weft_random_bits(draw_key(g), draw_dtype(g, DRAW_BITS), SHAPE(shape));
}

MAKE(random_uniform)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    double low = draw_chance(g, 2) ? 0 : draw_number(g), high = low == 0 ? 1 : draw_number(g);
    return weft_random_uniform(draw_key(g), draw_dtype(g, DRAW_FLOAT), SHAPE(shape), low, high);
}

MAKE(random_normal)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    return weft_random_normal(draw_key(g), draw_dtype(g, DRAW_FLOAT), SHAPE(shape));
}

MAKE(random_truncated_normal)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    double low = draw_number(g), high = draw_chance(g, 4) ? draw_number(g) : low + 1;
    return weft_random_truncated_normal(draw_key(g), draw_dtype(g, DRAW_FLOAT), SHAPE(shape), low, high);
}

MAKE(random_exponential)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    return weft_random_exponential(draw_key(g), draw_dtype(g, DRAW_FLOAT), SHAPE(shape));
}

MAKE(random_gamma)
{
    UNUSED;
    drawn_shape shape = draw_shape_of(x);
    return weft_random_gamma(draw_key(g), x, SHAPE(shape));
}

MAKE(random_bernoulli)
{
    UNUSED;
    drawn_shape shape = draw_shape_of(x);
    return weft_random_bernoulli(draw_key(g), x, SHAPE(shape));
}

MAKE(random_integers)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 3);
    weft_extent low = weft_extent_of(draw_small(g, 4)), high = draw_chance(g, 2) ? weft_extent_of(9) : draw_extent(g);
    return weft_random_integers(draw_key(g), draw_dtype(g, DRAW_INTEGER), SHAPE(shape), low, high);
}

MAKE(random_integers_between)
{
    UNUSED;
    drawn_shape shape = draw_shape_of(x);
    return weft_random_integers_between(draw_key(g), x, draw_partner(g, x), SHAPE(shape));
}

MAKE(random_categorical)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 1);
    return weft_random_categorical(draw_key(g), x, SHAPE(shape));
}

MAKE(random_permutation)
{
    UNUSED;
    return weft_random_permutation(draw_key(g), draw_extent(g));
}

MAKE(random_choice)
{
    UNUSED;
    drawn_shape shape = draw_shape(g, 1);
    weft_extent count = draw_extent(g);
    weft_tensor weights = WEFT_NO_TENSOR;
    if (draw_chance(g, 2)) weights = draw_like(g, draw_dtype(g, DRAW_FLOAT), WEFT_SHAPE(count), false);
    return weft_random_choice(draw_key(g), count, SHAPE(shape), draw_chance(g, 2), weights);
}

MAKE(dropout)
{
    UNUSED;
    return weft_dropout(x, draw_key(g), draw_mistake(g) ? 1.5 : 0.25 * (double)draw_below(g, 5));
}
