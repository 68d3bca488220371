/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers, composed of their parts. */
#include <weft/ops.h>

weft_tensor weft_conj(weft_tensor x)
{
    return weft_complex(weft_real(x), weft_neg(weft_imag(x)));
}

weft_tensor weft_angle(weft_tensor x)
{
    weft_tensor im = weft_imag(x);
    return weft_atan2(im, weft_real(x));
}
