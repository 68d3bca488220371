/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../interrupt.h"

enum { FAILED = 1, MISUSED = 2, OPTION_WIDTH = 48 };

static const weft_command *const commands[] = {
    &weft_command_einsum,          &weft_command_run,  &weft_command_compile, &weft_command_opt, &weft_command_view,
    &weft_command_check_gradients, &weft_command_info,
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static const weft_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static bool asks_for_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static void print_commands(FILE *file)
{
    fprintf(file, "weft compiles and runs tensor programs.\n\nusage: weft COMMAND ...\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(file, "  %-15s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(file,
            "\n'weft help COMMAND' describes one of them, 'weft --version' prints the version. Defaults are in ( ).\n"
            "An option may be given once unless its help says otherwise. No result overwrites a file that is read.\n");
}

static void print_help(const weft_command *command)
{
    printf("%s.\n\nusage: weft %s%s\n", command->summary, command->name, command->operands);
    if (command->options.count > 0) printf("\n");
    for (size_t i = 0; i < command->options.count; i++) {
        const weft_option *option = &command->options.options[i];
        int width = printf("  %s %s", option->name, option->value == NULL ? "" : option->value);
        if (width > OPTION_WIDTH) width = printf("\n") - 1;
        printf("%*s%s\n", OPTION_WIDTH + 1 - width, "", option->help);
    }
    if (command->detail[0] != 0) printf("\n%s\n", command->detail);
}

/* What follows "name: ", where a message begins so already. */
static const char *without_name(const char *name, const char *message)
{
    size_t length = strlen(name);
    return strncmp(message, name, length) == 0 && strncmp(message + length, ": ", 2) == 0 ? message + length + 2
                                                                                          : message;
}

/* Where standard output is not read any more, all else is done now: ends by the signal that was ignored so far. */
static void end_as_others_do(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&output, 1, 0) != 1 || (output.revents & POLLERR) == 0) return;
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
}

/* `name` is "" where no command is known. */
static int report(const char *name, weft_status *status)
{
    errno = 0;
    bool printed = fflush(stdout) == 0 && !ferror(stdout);
    const char *reason = errno == 0 ? NULL : strerror(errno); /* not known of what was flushed before */
    if (status == NULL && !printed) end_as_others_do();
    if (status == NULL && printed) return 0;
    if (status == NULL) {
        fprintf(stderr, "weft %s: standard output cannot be written%s%s\n", name, reason == NULL ? "" : ": ",
                reason == NULL ? "" : reason);
        return FAILED;
    }
    bool interrupted = weft_status_code(status) == WEFT_CANCELLED && weft_interrupt_exit_status() != 0;
    int exit_status = interrupted ? weft_interrupt_exit_status() : weft_status_is_misuse(status) ? MISUSED : FAILED;
    fprintf(stderr, "weft%s%s: %s\n", name[0] == 0 ? "" : " ", name, without_name(name, weft_status_message(status)));
    weft_status_destroy(status);
    return exit_status;
}

/* ---- what may be asked for ---- */

static weft_status *check_count(const char *name, const char *operands, size_t count, size_t least, size_t most)
{
    if (count >= least && count <= most) return NULL;
    return weft_misuse("usage is 'weft %s%s', not with %zu operand%s", name, operands, count, count == 1 ? "" : "s");
}

static weft_status *find_named(const char *given, const weft_command **out_command)
{
    size_t length = strlen(given), least = length > 3 ? 3 : 2; /* with this many changes it is another word */
    const char *nearest = NULL;
    *out_command = find_command(given);
    if (*out_command != NULL) return NULL;
    for (size_t i = 0; i < COMMAND_COUNT && length > 1; i++)
        if (weft_text_is_nearer(commands[i]->name, given, length, &least)) nearest = commands[i]->name;
    if (nearest != NULL) return weft_misuse("unknown command '%s'; did you mean '%s'?", given, nearest);
    return weft_misuse("unknown command '%s'; 'weft help' lists them", given);
}

static weft_status *help(size_t count, char **operands)
{
    const weft_command *command = NULL;
    WEFT_TRY(check_count("help", " [COMMAND]", count, 0, 1));
    bool general = count == 0 || strcmp(operands[0], "help") == 0 || asks_for_help(operands[0]);
    if (!general) WEFT_TRY(find_named(operands[0], &command));
    if (command == NULL) print_commands(stdout);
    else print_help(command);
    return NULL;
}

static weft_status *print_version(size_t count)
{
    WEFT_TRY(check_count("--version", "", count, 0, 0));
    printf("weft %d.%d.%d\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
    return NULL;
}

static weft_status *run(const weft_command *command, size_t count, char **texts)
{
    weft_arguments arguments = {0};
    for (size_t i = 0; i < count && strcmp(texts[i], "--") != 0; i++)
        if (asks_for_help(texts[i])) {
            print_help(command);
            return NULL;
        }
    WEFT_TRY(weft_arguments_parse(command->options, (int)count, texts, &arguments));
    weft_status *status =
        check_count(command->name, command->operands, arguments.operand_count, command->least, command->most);
    if (status == NULL) status = command->run(&arguments);
    weft_arguments_finish(&arguments);
    return status;
}

/* No file that is opened shall take the place of a standard one that is closed: what stands there can be neither read
 * nor written. */
static void fill_descriptors(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", modes[i]) < 0) return;
}

int main(int argc, char **argv)
{
    fill_descriptors();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) return report("", weft_misuse("a command is needed; 'weft help' lists them"));
    const char *name = argv[1];
    size_t count = (size_t)argc - 2;
    const weft_command *command = NULL;
    if (strcmp(name, "help") == 0 || asks_for_help(name)) return report("help", help(count, argv + 2));
    if (strcmp(name, "--version") == 0) return report(name, print_version(count));
    weft_status *status = find_named(name, &command);
    if (status != NULL) return report("", status);
    return report(name, run(command, count, argv + 2));
}
