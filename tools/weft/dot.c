/* SPDX-License-Identifier: Apache-2.0 */
#include "dot.h"
#include <ctype.h>

void weft_dot_begin(const char *rankdir, const char *id, FILE *file)
{
    static const char font[] = "fontname=\"Courier,monospace\"";
    fprintf(file, "digraph {\n  graph [%s, fontsize=12, labeljust=l, newrank=true, nodesep=0.2, ranksep=0.25, ", font);
    fprintf(file, "rankdir=%s, id=\"%s\"]\n", rankdir, id);
    fprintf(file, "  node [%s, fontsize=12, shape=box, height=0.3, margin=\"0.1,0.03\"]\n", font);
    fprintf(file, "  edge [%s, fontsize=10, arrowsize=0.6, color=\"#667788\", fontcolor=\"#774400\"]\n", font);
}

/* Whether Graphviz would take the ampersand at `text` for the beginning of a character's name. */
static bool begins_entity(const char *text)
{
    size_t length = text[1] == '#';
    while (isalnum((unsigned char)text[1 + length])) length++;
    return length > 0 && text[1 + length] == ';';
}

void weft_dot_print(const char *text, FILE *file)
{
    static const char word_joiner[] = "\xe2\x81\xa0";
    char line[WEFT_DOT_TEXT];
    bool cut = weft_text_escape(text, line, sizeof line) >= sizeof line;
    for (const char *c = line; *c != 0; c++) {
        if (*c == '"' || *c == '\\') fputc('\\', file);
        fputc(*c, file);
        if (*c == '&' && begins_entity(c)) fputs(word_joiner, file);
    }
    if (cut) fputs("...", file);
}
