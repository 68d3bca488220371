/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers, composed of their parts. */
#include <weft/ops.h>

weft_tensor weft_conj(weft_tensor x)
{
    return weft_complex(weft_real(x), weft_neg(weft_imag(x)));
}
