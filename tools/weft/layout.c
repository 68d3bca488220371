/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"
#include <errno.h>
#include <gvc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../interrupt.h"

/* Linked, not looked up: with these two Graphviz reads no configuration, and measures text by a table of its own. */
extern gvplugin_library_t gvplugin_dot_layout_LTX_library, gvplugin_core_LTX_library;

static const lt_symlist_t plugins[] = {{"gvplugin_dot_layout_LTX_library", &gvplugin_dot_layout_LTX_library},
                                       {"gvplugin_core_LTX_library", &gvplugin_core_LTX_library},
                                       {NULL, NULL}};

enum { MARGIN = 12, PATIENCE_MS = 50, DRAWN = 0, REFUSED = 1 };

/* ---- the process that draws ---- */

/* What Graphviz says first, in pieces. */
static char complaint[256];

static int take_complaint(char *text)
{
    size_t used = strlen(complaint);
    snprintf(complaint + used, sizeof complaint - used, "%s", text);
    return 0;
}

static void send(int pipe, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = write(pipe, bytes, size);
        if (count < 0 && errno != EINTR) return;
        if (count > 0) bytes += count;
        if (count > 0) size -= (size_t)count;
    }
}

/* Sends the picture, or what is wrong; returns the exit status. Nothing is freed: the process ends. */
static int draw(const char *dot, int pipe)
{
    char *data = NULL;
    unsigned length;
    agseterr(AGERR);
    agseterrf(take_complaint);
    GVC_t *context = gvContextPlugins(plugins, 0);
    graph_t *graph = agmemread(dot);
    bool drawn = graph != NULL && gvLayout(context, graph, "dot") == 0 && complaint[0] == 0 &&
                 gvRenderData(context, graph, "svg", &data, &length) == 0 && data != NULL;
    if (drawn) send(pipe, data, length);
    else send(pipe, complaint, strlen(complaint));
    return drawn ? DRAWN : REFUSED;
}

/* Graphviz recurses along arrows. */
static void grow_stack(void)
{
    enum { STACK = 100 << 20 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK) return;
    limit.rlim_cur = limit.rlim_max < STACK ? limit.rlim_max : STACK;
    setrlimit(RLIMIT_STACK, &limit);
}

static _Noreturn void work(const char *dot, unsigned seconds, int pipe)
{
    weft_interrupt_end();
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    grow_stack();
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(REFUSED);
    _exit(draw(dot, pipe));
}

/* ---- the process that waits ---- */

typedef struct answer {
    char *text;
    size_t length;
    int status; /* as of waitpid */
    bool interrupted;
} answer;

/* Reads until the end, or a signal. */
static void receive(int pipe, FILE *file)
{
    char bytes[1 << 16];
    struct pollfd input = {.fd = pipe, .events = POLLIN};
    while (!*weft_interrupt_flag()) {
        int ready = poll(&input, 1, PATIENCE_MS);
        if (ready < 0 && errno != EINTR) return;
        if (ready <= 0) continue;
        ssize_t count = read(pipe, bytes, sizeof bytes);
        if (count == 0 || (count < 0 && errno != EINTR)) return;
        if (count > 0) fwrite(bytes, 1, (size_t)count, file);
    }
}

/* Takes what the process `child` sends, and its end. */
static bool take(pid_t child, int pipe, answer *out_answer)
{
    FILE *file = open_memstream(&out_answer->text, &out_answer->length);
    if (file != NULL) receive(pipe, file);
    bool taken = file != NULL && !ferror(file);
    if (file != NULL && fclose(file) != 0) taken = false;
    if (!taken || *weft_interrupt_flag()) kill(child, SIGKILL);
    while (waitpid(child, &out_answer->status, 0) < 0 && errno == EINTR) {
    }
    return taken;
}

static weft_status *fail_process(void)
{
    return weft_status_create(NULL, WEFT_OUT_OF_MEMORY, NULL, "there is no process for Graphviz: %s", strerror(errno));
}

static weft_status *ask(const char *dot, unsigned seconds, answer *out_answer)
{
    int ends[2];
    if (pipe(ends) != 0) return fail_process();
    weft_interrupt_begin();
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work(dot, seconds, ends[1]);
    }
    weft_status *status = child < 0 ? fail_process() : NULL;
    close(ends[1]);
    if (child > 0 && !take(child, ends[0], out_answer)) status = weft_status_out_of_memory();
    close(ends[0]);
    if (!weft_interrupt_end()) return status;
    weft_status_destroy(status);
    return weft_status_create(NULL, WEFT_CANCELLED, NULL, "interrupted while it was drawn");
}

static weft_status *judge(const answer *a, unsigned seconds)
{
    if (WIFEXITED(a->status) && WEXITSTATUS(a->status) == DRAWN) return NULL;
    if (WIFEXITED(a->status))
        return weft_status_create(NULL, WEFT_INTERNAL, NULL, "Graphviz could not draw: %.200s", a->text);
    if (WTERMSIG(a->status) == SIGKILL || WTERMSIG(a->status) == SIGXCPU)
        return weft_status_create(NULL, WEFT_OVER_LIMIT, NULL, "Graphviz took more than %u seconds to draw", seconds);
    return weft_status_create(NULL, WEFT_INTERNAL, NULL, "Graphviz ended with signal %d", WTERMSIG(a->status));
}

/* ---- the picture ---- */

/* Copies the lines between the tags of the element "svg", but no comments, and no titles, which would be the names of
 * nodes. */
static void copy_group(const char *text, FILE *file)
{
    const char *at = strstr(text, "<svg"), *end = strstr(text, "</svg>");
    at = at == NULL ? end : strchr(at, '>') + 2;
    while (at < end) {
        size_t length = strcspn(at, "\n") + 1;
        if (strncmp(at, "<!--", 4) != 0 && strncmp(at, "<title>", 7) != 0) fwrite(at, 1, length, file);
        at += length;
    }
}

static weft_status *append(weft_dot_layout *layout, const char *svg)
{
    char *text = NULL;
    size_t length;
    double width = 0, height = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) return weft_status_out_of_memory();
    const char *view = strstr(svg, "viewBox=");
    if (view != NULL) sscanf(view, "viewBox=\"%*f %*f %lf %lf\"", &width, &height);
    if (layout->text != NULL) fwrite(layout->text, 1, layout->length, file);
    fprintf(file, "<g transform=\"translate(0 %.1f)\">\n", layout->height);
    copy_group(svg, file);
    fputs("</g>\n", file);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    free(failed ? text : layout->text);
    if (failed) return weft_status_out_of_memory();
    layout->text = text;
    layout->length = length;
    if (width > layout->width) layout->width = width;
    layout->height += height + MARGIN;
    return NULL;
}

weft_status *weft_dot_layout_add(weft_dot_layout *layout, unsigned seconds,
                                 void (*print)(const void *context, FILE *file), const void *context)
{
    char *dot = NULL;
    size_t size;
    answer a = {.text = NULL};
    FILE *file = open_memstream(&dot, &size);
    if (file == NULL) return weft_status_out_of_memory();
    print(context, file);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    weft_status *status = failed ? weft_status_out_of_memory() : ask(dot, seconds, &a);
    if (status == NULL) status = judge(&a, seconds);
    if (status == NULL) status = append(layout, a.text);
    free(a.text);
    free(dot);
    return status;
}

void weft_dot_layout_print(const weft_dot_layout *layout, FILE *file)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%.0f\" "
            "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            layout->width, layout->height, layout->width, layout->height);
    fputs(layout->text == NULL ? "" : layout->text, file);
    fputs("</svg>\n", file);
}

void weft_dot_layout_finish(weft_dot_layout *layout)
{
    free(layout->text);
    *layout = (weft_dot_layout){0};
}
