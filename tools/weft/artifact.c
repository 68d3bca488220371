/* SPDX-License-Identifier: Apache-2.0 */
#include "artifact.h"
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts lie in a section of this name, each with its NUL. */
#define SECTION ".weft"

typedef struct bytes {
    const char *data;
    size_t size;
} bytes;

/* False where the file does not have so many bytes there. */
static bool read_at(bytes file, uint64_t at, void *out, size_t size)
{
    if (at > file.size || size > file.size - at) return false;
    memcpy(out, file.data + at, size);
    return true;
}

/* The section table and the names in it. */
static bool read_section(bytes file, const Elf64_Ehdr *head, size_t number, Elf64_Shdr *out)
{
    return number < head->e_shnum && head->e_shentsize == sizeof *out &&
           read_at(file, head->e_shoff + number * sizeof *out, out, sizeof *out);
}

static bool is_called(bytes file, const Elf64_Shdr *names, const Elf64_Shdr *section, const char *name)
{
    char found[sizeof SECTION];
    return section->sh_name < names->sh_size &&
           read_at(file, names->sh_offset + section->sh_name, found, sizeof found) &&
           memcmp(found, name, sizeof found) == 0;
}

static bool find_text(bytes file, bytes *out)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    if (!read_at(file, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB) return false;
    if (!read_section(file, &head, head.e_shstrndx, &names)) return false;
    for (size_t i = 0; read_section(file, &head, i, &section); i++) {
        if (section.sh_type != SHT_PROGBITS || !is_called(file, &names, &section, SECTION)) continue;
        if (section.sh_offset > file.size || section.sh_size > file.size - section.sh_offset) return false;
        *out = (bytes){file.data + section.sh_offset, (size_t)section.sh_size};
        return out->size > 0 && out->data[out->size - 1] == '\0';
    }
    return false;
}

/* Nothing in it controls the terminal. */
static weft_status *print_text(const char *text)
{
    for (size_t length; *text != '\0'; text += length) {
        length = strcspn(text, "\n");
        char *line = strndup(text, length);
        if (line == NULL) return weft_status_out_of_memory();
        size_t size = weft_text_escape(line, NULL, 0) + 1;
        char *escaped = malloc(size);
        if (escaped != NULL) {
            weft_text_escape(line, escaped, size);
            puts(escaped);
        }
        free(escaped);
        free(line);
        length += text[length] == '\n';
    }
    return NULL;
}

weft_status *weft_artifact_print(const char *name, const char *data, size_t size)
{
    bytes text = {NULL, 0};
    if (!find_text((bytes){data, size}, &text))
        return weft_status_create(NULL, WEFT_BAD_FILE, "weft",
                                  "%s: it has no program that 'weft compile' made, and is "
                                  "no saved one; 'weft opt' prints a graph",
                                  name);
    for (size_t at = 0; at < text.size; at += strlen(text.data + at) + 1) {
        if (at > 0) puts("");
        WEFT_TRY(print_text(text.data + at));
    }
    return NULL;
}
