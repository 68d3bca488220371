/* SPDX-License-Identifier: Apache-2.0 */
/* An object, with some of its bytes changed, and cut, says what it is, or is an error. */
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/fuzz/edit.h"
#include "tools/weft/artifact.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 1, NAMES, SECTIONS };

typedef struct object {
    Elf64_Ehdr header;
    char text[64], names[24];
    Elf64_Shdr sections[SECTIONS];
} object;

static const object whole = {
    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_machine = EM_X86_64,
               .e_shoff = offsetof(object, sections),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = SECTIONS,
               .e_shstrndx = NAMES},
    .text = "name      a\nweft      0.1.0\n\0name      b\ninput     x: f32 [n]",
    .names = "\0.weft\0.shstrtab",
    .sections = {
        {0},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = offsetof(object, text), .sh_size = sizeof whole.text},
        {.sh_name = 7, .sh_type = SHT_STRTAB, .sh_offset = offsetof(object, names), .sh_size = sizeof whole.names}}};

/* What it says goes nowhere. */
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    if (freopen("/dev/null", "w", stdout) == NULL) abort();
    return 0;
}

static weft_status *print(const void *file, size_t size)
{
    return weft_artifact_print("fuzz", file, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t file_size;
    unsigned char *file = weft_fuzz_edit(&whole, sizeof whole, data, size, &file_size);
    if (file == NULL) return 0;
    weft_status *status = print(file, file_size);
    if (status != NULL && (size == 0 || weft_status_message(status)[0] == '\0')) abort();
    weft_status_destroy(status);
    free(file);
    return 0;
}
