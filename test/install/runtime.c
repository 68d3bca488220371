/* SPDX-License-Identifier: Apache-2.0 */
/* What an application without a compiler does: arrays, an executor, and a sentence where something is missing. */
#include <stdio.h>
#include <weft/executor.h>

int main(void)
{
    const int64_t shape[] = {2, 3}, columns[] = {1, 2};
    int32_t data[] = {1, 2, 3, 4, 5, 6};
    weft_array *source, *target;
    weft_executor *executor;
    if (weft_executor_create(NULL, &executor) != NULL) return 1;
    if (weft_array_wrap(NULL, WEFT_I32, 2, shape, columns, data, NULL, NULL, &source) != NULL) return 1;
    if (weft_array_create(NULL, WEFT_I32, 2, shape, &target) != NULL) return 1;
    if (weft_array_copy(target, source) != NULL) return 1;
    for (int i = 0; i < 6; i++) printf("%d ", (int)((const int32_t *)weft_array_data(target))[i]);
    weft_status *status = weft_executor_run(executor, NULL, NULL);
    printf("%s\n", weft_code_name(weft_status_code(status)));
    weft_status_destroy(status);
    weft_array_release(source);
    weft_array_release(target);
    weft_executor_destroy(executor);
    return 0;
}
