/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes either fail to parse with an error, or print as a text that parses and prints as itself. */
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>
#include "lib/graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const weft_module *module, weft_bytes *out_text)
{
    weft_value *outputs = calloc(module->outputs.count, sizeof *outputs);
    if (outputs == NULL) abort();
    for (size_t i = 0; i < module->outputs.count; i++)
        outputs[i] = (weft_value){module->outputs.items[i].node, module->outputs.items[i].output};
    if (weft_graph_verify(module->graph, module->outputs.count, outputs) != NULL) abort();
    if (weft_graph_print_named(module->graph, module->outputs.count, outputs, module->output_names, out_text) != NULL)
        abort();
    free(outputs);
}

/* Appends what `text` says, printed; false when it does not parse. */
static bool print_again(const char *text, size_t size, weft_bytes *out_text)
{
    weft_module *module;
    weft_status *status = weft_graph_parse("fuzz", text, size, NULL, 0, NULL, &module);
    if (status != NULL) {
        if (weft_status_message(status)[0] == '\0') abort();
        weft_status_destroy(status);
        return false;
    }
    print(module, out_text);
    weft_module_destroy(module);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    weft_bytes first, second;
    weft_bytes_init(&first, NULL);
    weft_bytes_init(&second, NULL);
    if (print_again((const char *)data, size, &first)) {
        if (!print_again(first.data, first.size, &second)) abort();
        if (strcmp(first.data, second.data) != 0) abort();
    }
    weft_bytes_finish(&first);
    weft_bytes_finish(&second);
    return 0;
}
