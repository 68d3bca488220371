/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/step/step.h"

const weft_step_methods *const weft_step_methods_all[] = {[WEFT_STEP_KERNEL] = &weft_step_kernel,
                                                          [WEFT_STEP_GEMM] = &weft_step_product,
                                                          [WEFT_STEP_SORT] = &weft_step_sort,
                                                          [WEFT_STEP_HOST] = &weft_step_host,
                                                          [WEFT_STEP_REGION] = &weft_step_region};
