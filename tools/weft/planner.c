/* SPDX-License-Identifier: Apache-2.0 */
#include "planner.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"

static weft_status *refuse(const char *path, const char *key, const char *rule)
{
    return weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s: \"%s\" %s", path, key, rule);
}

static weft_status *read_number(const char *path, const cJSON *item, const char *key, double *out_number)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble > 0)) return refuse(path, key, "must be a number above 0");
    *out_number = item->valuedouble;
    return NULL;
}

static weft_status *read_machine(const char *path, const cJSON *root, weft_einsum_machine *out_machine)
{
    static const int count = sizeof out_machine->rates / sizeof *out_machine->rates;
    const cJSON *rates = cJSON_GetObjectItemCaseSensitive(root, "rates");
    if (!cJSON_IsArray(rates) || cJSON_GetArraySize(rates) != count)
        return refuse(path, "rates", "must be a list of 4 numbers");
    for (int i = 0; i < count; i++)
        WEFT_TRY(read_number(path, cJSON_GetArrayItem(rates, i), "rates", &out_machine->rates[i]));
    WEFT_TRY(
        read_number(path, cJSON_GetObjectItemCaseSensitive(root, "bandwidth"), "bandwidth", &out_machine->bandwidth));
    return read_number(path, cJSON_GetObjectItemCaseSensitive(root, "overhead"), "overhead", &out_machine->overhead);
}

static weft_status *load_machine(const char *path, weft_einsum_machine *out_machine)
{
    char *text;
    size_t length;
    WEFT_TRY(weft_file_read(path, &text, &length));
    cJSON *root = cJSON_Parse(text);
    weft_status *status = cJSON_IsObject(root)
                              ? read_machine(path, root, out_machine)
                              : weft_status_create(NULL, WEFT_BAD_FILE, NULL, "%s is no JSON object", path);
    cJSON_Delete(root);
    free(text);
    return status;
}

static weft_einsum_minimize find_objective(const char *text)
{
    static const char *const names[] = {[WEFT_EINSUM_TIME] = "time",
                                        [WEFT_EINSUM_FLOPS] = "flops",
                                        [WEFT_EINSUM_SIZE] = "size",
                                        [WEFT_EINSUM_WRITE] = "write",
                                        [WEFT_EINSUM_COMBO] = "combo"};
    unsigned i = 0;
    while (strcmp(names[i], text) != 0) i++;
    return (weft_einsum_minimize)i;
}

weft_status *weft_planner_init(weft_planner *planner, const weft_arguments *arguments)
{
    const char *machine = weft_arguments_text(arguments, "--machine", NULL);
    *planner = (weft_planner){.options = {
                                  .size = sizeof planner->options,
                                  .minimize = find_objective(weft_arguments_text(arguments, "--objective", "time")),
                                  .seed = (uint64_t)weft_arguments_count(arguments, "--seed", 1),
                                  .moves = (uint64_t)weft_arguments_count(arguments, "--moves", 0),
                                  .time_budget = weft_arguments_number(arguments, "--time-budget", 0),
                                  .threads = (size_t)weft_arguments_count(arguments, "--threads", 0),
                              }};
    if (planner->options.time_budget > 0 && planner->options.moves > 0)
        return weft_misuse("--time-budget and --moves both say how long to search");
    if (machine == NULL) return NULL;
    planner->options.machine = &planner->machine;
    return load_machine(machine, &planner->machine);
}
