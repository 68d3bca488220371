/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers, composed of their parts. */
#include <weft/ops.h>

weft_tensor weft_conj(weft_tensor x)
{
    weft_tensor re = weft_real(x), im = weft_imag(x);
    return weft_complex(re, weft_neg(im));
}

weft_tensor weft_angle(weft_tensor x)
{
    weft_tensor im = weft_imag(x);
    return weft_atan2(im, weft_real(x));
}
