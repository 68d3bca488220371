/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/image.h"
#include <elf.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "backends/llvm/slab.h"
#include "runtime/base/fork.h"
#include "runtime/base/memory.h"

/*
 * A static linker for one object, a relocatable ELF file for x86-64: sections that are part of the code are copied one
 * after another into memory of their own, and each reference gets the address that it is to. Objects may come from a
 * file, so offsets, sizes and indices are checked before they are used; tables in them need not be aligned.
 */

enum { LONGEST = 1 << 28, PAGE = 4096 }; /* references are of 32 bits */

static const size_t NOWHERE = SIZE_MAX;

typedef struct linked_image {
    weft_image base;
    void *memory;
} linked_image;

typedef struct linker {
    const char *object;
    size_t size;
    Elf64_Ehdr header;
    size_t *places; /* of each section in memory; NOWHERE: it is not loaded */
    size_t used;    /* bytes of memory, of those the last for calls of functions outside */
    size_t stubs;   /* where they begin */
    char *memory;
} linker;

static weft_status *fail_with(const char *what)
{
    return weft_status_create(NULL, WEFT_COMPILE_FAILED, "llvm", "the object cannot be loaded: %s", what);
}

/* ---- tables ---- */

/* Copies the row of that number from a table at `offset`. */
static bool get(const linker *l, uint64_t offset, uint64_t number, void *out_row, size_t row_size)
{
    if (offset > l->size || (l->size - offset) / row_size <= number) return false;
    memcpy(out_row, l->object + offset + number * row_size, row_size);
    return true;
}

/* The table of sections was found to be in the object. */
static Elf64_Shdr section_at(const linker *l, size_t number)
{
    Elf64_Shdr section = {0};
    (void)get(l, l->header.e_shoff, number, &section, sizeof section);
    return section;
}

static bool get_symbol(const linker *l, const Elf64_Shdr *symbols, uint64_t number, Elf64_Sym *out_symbol)
{
    return number < symbols->sh_size / sizeof *out_symbol &&
           get(l, symbols->sh_offset, number, out_symbol, sizeof *out_symbol);
}

static bool is_named(const linker *l, const Elf64_Shdr *symbols, const Elf64_Sym *symbol, const char *name)
{
    if (symbols->sh_link >= l->header.e_shnum) return false;
    const Elf64_Shdr strings = section_at(l, symbols->sh_link);
    size_t size = strlen(name) + 1;
    if (strings.sh_offset > l->size || strings.sh_size > l->size - strings.sh_offset ||
        symbol->st_name > strings.sh_size || strings.sh_size - symbol->st_name < size)
        return false;
    return memcmp(l->object + strings.sh_offset + symbol->st_name, name, size) == 0;
}

static bool has_header(linker *l)
{
    const Elf64_Ehdr *h = &l->header;
    return get(l, 0, 0, &l->header, sizeof l->header) && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_type == ET_REL &&
           h->e_machine == EM_X86_64 && h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shoff <= l->size &&
           (l->size - h->e_shoff) / sizeof(Elf64_Shdr) >= h->e_shnum;
}

/* ---- functions outside of the object ---- */

/* What kernels copy long runs with, and what LLVM calls where a processor has no fused multiplication. The C library's
 * are exact: they round once. */
static const struct {
    const char *name;
    void (*function)(void);
} outside[] = {{"fma", (void (*)(void))fma}, {"fmaf", (void (*)(void))fmaf}, {"memcpy", (void (*)(void))memcpy}};

enum { OUTSIDE = sizeof outside / sizeof *outside, STUB = 16, STUB_ADDRESS = 8 };

/* Each is further away than a call reaches: a jump to the address that follows it. */
static void write_stubs(const linker *l)
{
    static const unsigned char jump[STUB_ADDRESS] = {0xff, 0x25, 2, 0, 0, 0, 0x0f, 0x0b};
    for (size_t i = 0; i < OUTSIDE; i++) {
        char *stub = l->memory + l->stubs + i * STUB;
        memcpy(stub, jump, sizeof jump);
        memcpy(stub + STUB_ADDRESS, &outside[i].function, sizeof outside[i].function);
    }
}

/* ---- layout ---- */

/* Whether what follows in memory begins at a multiple of `alignment`, a power of two, and takes `size` bytes. */
static bool place(linker *l, size_t alignment, size_t size, size_t *out_place)
{
    size_t begin = (l->used + alignment - 1) & ~(alignment - 1);
    if (begin > LONGEST || size > LONGEST - begin) return false;
    *out_place = begin;
    l->used = begin + size;
    return true;
}

/* Constants that are operands in memory are data to LLVM (emit_constant.c). Nothing is written once it is loaded. */
static weft_status *place_section(linker *l, const Elf64_Shdr *section, size_t *out_place)
{
    const uint64_t known = SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE | SHF_MERGE | SHF_STRINGS;
    uint64_t alignment = section->sh_addralign == 0 ? 1 : section->sh_addralign;
    bool is_zero = section->sh_type == SHT_NOBITS;
    *out_place = NOWHERE;
    if ((section->sh_flags & SHF_ALLOC) == 0 || section->sh_type == SHT_X86_64_UNWIND) return NULL;
    if ((section->sh_type != SHT_PROGBITS && !is_zero) || (section->sh_flags & ~known) != 0)
        return fail_with("it has sections that are neither code nor data");
    if (!is_zero && (section->sh_offset > l->size || section->sh_size > l->size - section->sh_offset))
        return fail_with("a section lies outside of it");
    if (alignment > PAGE || (alignment & (alignment - 1)) != 0 || !place(l, alignment, section->sh_size, out_place))
        return fail_with("a section has an alignment that is none, or all of them are too long");
    return NULL;
}

static weft_status *place_all(linker *l)
{
    for (size_t i = 0; i < l->header.e_shnum; i++) {
        const Elf64_Shdr section = section_at(l, i);
        WEFT_TRY(place_section(l, &section, &l->places[i]));
    }
    return place(l, STUB, (size_t)OUTSIDE * STUB, &l->stubs) ? NULL : fail_with("it is too long");
}

static void copy_all(const linker *l)
{
    for (size_t i = 0; i < l->header.e_shnum; i++) {
        const Elf64_Shdr section = section_at(l, i);
        if (l->places[i] != NOWHERE && section.sh_type != SHT_NOBITS)
            memcpy(l->memory + l->places[i], l->object + section.sh_offset, section.sh_size);
    }
    write_stubs(l);
}

/* ---- references ---- */

/* Where the symbol is in memory, past it at most; NOWHERE: in no section that is loaded. */
static size_t find_place(const linker *l, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx >= l->header.e_shnum || l->places[symbol->st_shndx] == NOWHERE) return NOWHERE;
    if (symbol->st_value > section_at(l, symbol->st_shndx).sh_size) return NOWHERE;
    return l->places[symbol->st_shndx] + symbol->st_value;
}

static size_t find_stub(const linker *l, const Elf64_Shdr *symbols, const Elf64_Sym *symbol)
{
    for (size_t i = 0; i < OUTSIDE; i++)
        if (is_named(l, symbols, symbol, outside[i].name)) return l->stubs + i * STUB;
    return NOWHERE;
}

/* What a reference of `bytes` bytes in a section becomes. */
static weft_status *write_reference(const linker *l, size_t at, uint32_t type, uint64_t target)
{
    if (type == R_X86_64_64) {
        memcpy(l->memory + at, &target, sizeof target);
        return NULL;
    }
    int64_t distance = (int64_t)(target - (uintptr_t)(l->memory + at));
    int32_t written = (int32_t)distance;
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) return fail_with("it has references of an unknown kind");
    if (written != distance) return fail_with("a reference goes too far");
    memcpy(l->memory + at, &written, sizeof written);
    return NULL;
}

/* A row of the table of references of section `number`. */
static weft_status *refer(const linker *l, size_t number, const Elf64_Shdr *symbols, const Elf64_Rela *reference)
{
    Elf64_Sym symbol;
    uint64_t size = section_at(l, number).sh_size;
    uint32_t type = ELF64_R_TYPE(reference->r_info);
    size_t width = type == R_X86_64_64 ? sizeof(uint64_t) : sizeof(uint32_t);
    if (reference->r_offset > size || size - reference->r_offset < width)
        return fail_with("a reference lies outside of its section");
    if (!get_symbol(l, symbols, ELF64_R_SYM(reference->r_info), &symbol))
        return fail_with("a reference is to a symbol that it does not have");
    size_t target = symbol.st_shndx == SHN_UNDEF ? find_stub(l, symbols, &symbol) : find_place(l, &symbol);
    if (target == NOWHERE) return fail_with("a reference is to something outside of it");
    return write_reference(l, l->places[number] + reference->r_offset, type,
                           (uintptr_t)(l->memory + target) + (uint64_t)reference->r_addend);
}

static weft_status *refer_from(const linker *l, const Elf64_Shdr *references)
{
    Elf64_Rela reference;
    if (references->sh_info >= l->header.e_shnum || references->sh_link >= l->header.e_shnum)
        return fail_with("references are of a section that it does not have");
    if (l->places[references->sh_info] == NOWHERE) return NULL;
    const Elf64_Shdr symbols = section_at(l, references->sh_link);
    if (references->sh_type != SHT_RELA || symbols.sh_type != SHT_SYMTAB)
        return fail_with("it has references of an unknown form");
    for (uint64_t i = 0; i < references->sh_size / sizeof reference; i++) {
        if (!get(l, references->sh_offset, i, &reference, sizeof reference))
            return fail_with("references lie outside of it");
        WEFT_TRY(refer(l, references->sh_info, &symbols, &reference));
    }
    return NULL;
}

static weft_status *refer_all(const linker *l)
{
    for (size_t i = 0; i < l->header.e_shnum; i++) {
        const Elf64_Shdr section = section_at(l, i);
        if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL) WEFT_TRY(refer_from(l, &section));
    }
    return NULL;
}

/* ---- the function ---- */

static bool is_function(const linker *l, const Elf64_Shdr *symbols, const Elf64_Sym *symbol, const char *name)
{
    size_t found = find_place(l, symbol);
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && found != NOWHERE &&
           (section_at(l, symbol->st_shndx).sh_flags & SHF_EXECINSTR) != 0 &&
           symbol->st_value < section_at(l, symbol->st_shndx).sh_size && is_named(l, symbols, symbol, name);
}

/* Of a table of symbols; NOWHERE: it is not there. */
static size_t find_in(const linker *l, const Elf64_Shdr *symbols, const char *name)
{
    Elf64_Sym symbol;
    for (uint64_t i = 0; get_symbol(l, symbols, i, &symbol); i++)
        if (is_function(l, symbols, &symbol, name)) return find_place(l, &symbol);
    return NOWHERE;
}

static weft_status *find(const linker *l, const char *name, weft_kernel_function *out_function)
{
    size_t found = NOWHERE;
    for (size_t i = 0; i < l->header.e_shnum && found == NOWHERE; i++) {
        const Elf64_Shdr section = section_at(l, i);
        if (section.sh_type == SHT_SYMTAB) found = find_in(l, &section, name);
    }
    if (found == NOWHERE)
        return weft_status_create(NULL, WEFT_COMPILE_FAILED, "llvm", "the object has no function '%s'", name);
    void *code = l->memory + found;
    memcpy(out_function, &code, sizeof code);
    return NULL;
}

/* ---- memory; a fork waits until nobody is at it ---- */

static struct {
    pthread_once_t once;
    bool watched;
    weft_fork_guard guard;
    pthread_mutex_t lock;
    weft_slab slab;
} code = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void watch(void)
{
    weft_status *status = weft_fork_guard_init(&code.guard, &code.lock, NULL);
    code.watched = status == NULL;
    weft_status_destroy(status);
}

static weft_status *allocate(size_t size, void **out_memory)
{
    pthread_once(&code.once, watch);
    if (!code.watched) return weft_status_out_of_memory();
    pthread_mutex_lock(&code.lock);
    weft_status *status = weft_slab_allocate(&code.slab, size, out_memory);
    pthread_mutex_unlock(&code.lock);
    return status;
}

static weft_status *seal(void *memory, size_t size)
{
    pthread_mutex_lock(&code.lock);
    weft_status *status = weft_slab_seal(&code.slab, memory, size);
    pthread_mutex_unlock(&code.lock);
    return status;
}

static void release(void *memory)
{
    pthread_mutex_lock(&code.lock);
    weft_slab_free(&code.slab, memory);
    pthread_mutex_unlock(&code.lock);
}

/* ---- images ---- */

static weft_status *link_into(linker *l, linked_image *image, const char *symbol, weft_kernel_function *out_function)
{
    WEFT_TRY(place_all(l));
    WEFT_TRY(allocate(l->used, &image->memory));
    l->memory = image->memory;
    copy_all(l);
    WEFT_TRY(refer_all(l));
    WEFT_TRY(find(l, symbol, out_function));
    return seal(image->memory, l->used);
}

weft_status *weft_image_load(const void *object, size_t size, const char *symbol, weft_image **out_image,
                             weft_kernel_function *out_function)
{
    linker l = {.object = object, .size = size};
    if (!has_header(&l)) return fail_with("it is no relocatable object for x86-64");
    size_t places_size = l.header.e_shnum * sizeof *l.places;
    l.places = weft_allocate(NULL, places_size);
    linked_image *image = weft_allocate_zeroed(NULL, sizeof *image);
    weft_status *status =
        l.places == NULL || image == NULL ? weft_status_out_of_memory() : link_into(&l, image, symbol, out_function);
    weft_free(NULL, l.places, places_size);
    if (status == NULL) *out_image = &image->base;
    else if (image != NULL) weft_image_unload(&image->base);
    return status;
}

void weft_image_unload(weft_image *base)
{
    linked_image *image = (linked_image *)base;
    if (image == NULL) return;
    if (image->memory != NULL) release(image->memory);
    weft_free(NULL, image, sizeof *image);
}
