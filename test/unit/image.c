/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are loaded as they are, or refused: cut anywhere, and with any byte changed, none leads out of itself. */
#include "backends/llvm/image.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "backends/llvm/llvm.h"
#include "lib/math/math.h"
#include "test/support.h"

enum { PAGE = 4096 };

static const char text[] = "kernel scheduled {\n  symbol n in [0, 1000000]\n  buffer b0 : f32 out\n  buffer b1 : f32\n"
                           "  for i0 < n lane 8 x 4\n  stage {\n    %0 = load b1[i0] : f32\n"
                           "    %1 = exp %0 : f32\n    store b0[i0] = %1\n  }\n}\n";

static weft_bytes original;

/* A copy of the object right before a page that nothing may touch. */
static struct {
    char *pages, *object;
    size_t bytes;
} copy;

static int set_up(void **state)
{
    (void)state;
    weft_kernel *kernel;
    weft_test_ok(weft_kernel_parse(NULL, "kernel", text, strlen(text), &kernel));
    weft_test_ok(weft_kernel_lower_math(kernel, WEFT_FUNCTIONS_ACCURATE));
    weft_test_ok(weft_llvm_query()->emit(NULL, kernel, "kernel", WEFT_LLVM_OBJECT, &original));
    weft_kernel_destroy(kernel);
    copy.bytes = (original.size + PAGE - 1) / PAGE * PAGE;
    copy.pages = mmap(NULL, copy.bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(copy.pages != MAP_FAILED);
    assert_int_equal(mprotect(copy.pages + copy.bytes, PAGE, PROT_NONE), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(copy.pages, copy.bytes + PAGE);
    weft_bytes_finish(&original);
    return 0;
}

/* The first `size` bytes of it. */
static char *make_copy(size_t size)
{
    copy.object = copy.pages + copy.bytes - size;
    memcpy(copy.object, original.data, size);
    return copy.object;
}

static weft_status *load_and_unload(size_t size, const char *symbol)
{
    weft_image *image;
    weft_kernel_function function;
    WEFT_TRY(weft_image_load(copy.object, size, symbol, &image, &function));
    weft_image_unload(image);
    return NULL;
}

static void it_runs(void **state)
{
    (void)state;
    weft_image *image;
    weft_kernel_function function;
    float input[9] = {0}, output[9] = {0};
    void *buffers[2] = {output, input};
    int64_t n = 9;
    weft_error_slot error = {INT64_MAX, 0, 0};
    weft_test_ok(weft_image_load(make_copy(original.size), original.size, "kernel", &image, &function));
    memset(copy.object, 0, original.size);
    function(&(weft_kernel_frame){buffers, &n, &error}, 0, 1);
    for (size_t i = 0; i < 9; i++) assert_true(output[i] == 1);
    weft_image_unload(image);
    weft_image_unload(NULL);
}

static void it_is_cut(void **state)
{
    (void)state;
    for (size_t size = 0; size < original.size; size++) {
        make_copy(size);
        weft_test_fails(load_and_unload(size, "kernel"), WEFT_COMPILE_FAILED, "the object");
    }
}

/* What is code, or an address in it, may become any other. */
static void a_byte_is_changed(void **state)
{
    (void)state;
    static const unsigned char changes[] = {0xff, 0x01, 0x80};
    size_t refused = 0;
    for (size_t i = 0; i < original.size * sizeof changes; i++) {
        make_copy(original.size)[i / sizeof changes] ^= (char)changes[i % sizeof changes];
        weft_status *status = load_and_unload(original.size, "kernel");
        refused += status != NULL;
        if (status != NULL) weft_test_fails(status, WEFT_COMPILE_FAILED, "the object");
    }
    assert_true(refused > original.size / 100);
}

/* ---- what is refused, by name ---- */

static Elf64_Ehdr *header(void)
{
    return (Elf64_Ehdr *)copy.object;
}

static Elf64_Shdr *section(uint32_t type, uint64_t flags)
{
    Elf64_Shdr *all = (Elf64_Shdr *)(copy.object + header()->e_shoff);
    for (size_t i = 0; i < header()->e_shnum; i++)
        if (all[i].sh_type == type && (all[i].sh_flags & flags) == flags) return &all[i];
    fail();
    return NULL;
}

static Elf64_Rela *reference(void)
{
    return (Elf64_Rela *)(copy.object + section(SHT_RELA, 0)->sh_offset);
}

static void no_elf(void)
{
    header()->e_ident[0] = 'M';
}

static void other_machine(void)
{
    header()->e_machine = EM_AARCH64;
}

static void of_threads(void)
{
    section(SHT_PROGBITS, SHF_ALLOC)->sh_flags |= SHF_TLS;
}

static void notes(void)
{
    section(SHT_PROGBITS, SHF_ALLOC)->sh_type = SHT_NOTE;
}

static void outside_of_it(void)
{
    section(SHT_PROGBITS, SHF_EXECINSTR)->sh_offset = UINT64_MAX;
}

static void too_long(void)
{
    Elf64_Shdr *data = section(SHT_PROGBITS, SHF_MERGE);
    data->sh_type = SHT_NOBITS;
    data->sh_size = (uint64_t)1 << 40;
}

static void misaligned(void)
{
    section(SHT_PROGBITS, SHF_EXECINSTR)->sh_addralign = 48;
}

static void unknown_kind(void)
{
    reference()->r_info = ELF64_R_INFO(ELF64_R_SYM(reference()->r_info), R_X86_64_GOTPCREL);
}

static void unknown_form(void)
{
    section(SHT_RELA, 0)->sh_type = SHT_REL;
}

static void beyond_section(void)
{
    reference()->r_offset = UINT64_MAX - 3;
}

static void no_symbol(void)
{
    reference()->r_info = ELF64_R_INFO(UINT32_MAX, R_X86_64_PC32);
}

static void undefined(void)
{
    reference()->r_info = ELF64_R_INFO(0, R_X86_64_PC32);
}

static void too_far(void)
{
    reference()->r_addend = INT64_MAX;
}

static void foreign_references(void)
{
    section(SHT_RELA, 0)->sh_info = header()->e_shnum;
}

static void it_is_refused(void **state)
{
    (void)state;
    static const struct {
        void (*change)(void);
        const char *part;
    } cases[] = {{no_elf, "no relocatable object"},
                 {other_machine, "no relocatable object"},
                 {of_threads, "neither code nor data"},
                 {notes, "neither code nor data"},
                 {outside_of_it, "a section lies outside"},
                 {too_long, "too long"},
                 {misaligned, "an alignment that is none"},
                 {unknown_kind, "references of an unknown kind"},
                 {unknown_form, "references of an unknown form"},
                 {beyond_section, "a reference lies outside of its section"},
                 {no_symbol, "a symbol that it does not have"},
                 {undefined, "something outside of it"},
                 {too_far, "goes too far"},
                 {foreign_references, "a section that it does not have"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_copy(original.size);
        cases[i].change();
        weft_test_fails(load_and_unload(original.size, "kernel"), WEFT_COMPILE_FAILED, cases[i].part);
    }
    make_copy(original.size);
    weft_test_fails(load_and_unload(original.size, "kerne"), WEFT_COMPILE_FAILED, "no function 'kerne'");
    weft_test_ok(load_and_unload(original.size, "kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs),
        cmocka_unit_test(it_is_cut),
        cmocka_unit_test(a_byte_is_changed),
        cmocka_unit_test(it_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
