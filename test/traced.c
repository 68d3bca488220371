/* SPDX-License-Identifier: Apache-2.0 */
#include "test/traced.h"
#include <string.h>
#include "lib/graph/graph.h"
#include "test/support.h"

void weft_test_traced(weft_graph *graph, weft_tensor tensor, const char *type)
{
    const weft_status *error = weft_graph_error(graph);
    if (error != NULL) fail_msg("wanted %s but got: %s", type, weft_status_message(error));
    weft_type actual = {weft_tensor_dtype(tensor), weft_tensor_shape(tensor)};
    assert_true(weft_tensor_is_valid(tensor));
    assert_string_equal(weft_type_describe(&actual).text, type);
}

void weft_test_refused(weft_graph *graph, weft_tensor tensor, weft_code code, const char *file, const char *message)
{
    const weft_status *error = weft_graph_error(graph);
    assert_false(weft_tensor_is_valid(tensor));
    if (error == NULL) fail_msg("no error, wanted: %s", message);
    assert_string_equal(weft_status_message(error), message);
    assert_string_equal(weft_code_name(weft_status_code(error)), weft_code_name(code));
    if (file != NULL) assert_non_null(strstr(weft_status_where(error), file));
    weft_graph_clear_error(graph);
}
