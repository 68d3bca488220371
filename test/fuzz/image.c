/* SPDX-License-Identifier: Apache-2.0 */
/* An object with some of its bytes changed, and cut, is loaded or is an error. */
#include "backends/llvm/image.h"
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include "test/fuzz/edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT = 1, DATA, ZEROS, REFERENCES, SYMBOLS, STRINGS, SECTIONS };

typedef struct object {
    Elf64_Ehdr header;
    unsigned char text[32], data[32];
    Elf64_Rela references[3];
    Elf64_Sym symbols[4];
    char strings[16];
    Elf64_Shdr sections[SECTIONS];
} object;

#define SECTION(member, type, flags, link, info, alignment)                                                            \
    {                                                                                                                  \
        .sh_type = type, .sh_flags = flags, .sh_offset = offsetof(object, member),                                     \
        .sh_size = sizeof(((object *)0)->member), .sh_link = link, .sh_info = info, .sh_addralign = alignment          \
    }

static const object whole = {
    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_machine = EM_X86_64,
               .e_shoff = offsetof(object, sections),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = SECTIONS},
    .references = {{.r_offset = 4, .r_info = ELF64_R_INFO(2, R_X86_64_PC32), .r_addend = -4},
                   {.r_offset = 12, .r_info = ELF64_R_INFO(3, R_X86_64_PLT32), .r_addend = -4},
                   {.r_offset = 16, .r_info = ELF64_R_INFO(2, R_X86_64_64)}},
    .symbols = {{0},
                {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = TEXT, .st_size = 32},
                {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = DATA},
                {.st_name = 8, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)}},
    .strings = "\0kernel\0fmaf",
    .sections = {{0},
                 SECTION(text, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 16),
                 SECTION(data, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 32),
                 SECTION(data, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 32),
                 SECTION(references, SHT_RELA, 0, SYMBOLS, TEXT, 8),
                 SECTION(symbols, SHT_SYMTAB, 0, STRINGS, 1, 8),
                 SECTION(strings, SHT_STRTAB, 0, 0, 0, 1)}};

static bool load(const void *bytes, size_t size)
{
    weft_image *image = NULL;
    weft_kernel_function function;
    weft_status *status = weft_image_load(bytes, size, "kernel", &image, &function);
    bool loaded = status == NULL;
    if (loaded) weft_image_unload(image);
    weft_status_destroy(status);
    return loaded;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t changed_size;
    unsigned char *changed = weft_fuzz_edit(&whole, sizeof whole, data, size, &changed_size);
    if (changed == NULL) return 0;
    if (!load(changed, changed_size) && size == 0) abort();
    free(changed);
    return 0;
}
