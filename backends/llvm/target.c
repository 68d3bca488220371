/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/llvm/target.h"
#include <cpuid.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>
#include <weft/executor.h>
#include "backends/llvm/emit.h"

static weft_processor host;
static const weft_processor gpu = {
    .triple = "nvptx64-nvidia-cuda", .cpu = "sm_90", .features = "+ptx80", .gpu = true, .suffix = ""};
static bool host_found;
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

/* "llvm 19.1.7 TRIPLE CPU +avx2,...": features the machine has, none that only tune; a level says them all. */
static char *create_name(void)
{
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    weft_bytes text;
    weft_bytes_init(&text, NULL);
    weft_bytes_print(&text, "llvm %u.%u.%u %s %s ", major, minor, patch, host.triple, host.cpu);
    const char *separator = "";
    for (const char *at = host.features; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (*at == '+') {
            weft_bytes_print(&text, "%s%.*s", separator, (int)length, at);
            separator = ",";
        }
        at += length + (at[length] == ',');
    }
    char *name = text.failed ? NULL : strdup(text.data);
    weft_bytes_finish(&text);
    return name;
}

/* Where LLVM before 22 spills an operand of a masked comparison of half precision, it swaps the operands and leaves the
 * predicate as it was (LLVM issue 159723). Arithmetic of f16 is that of f32 anyway. */
static void drop_half_precision(char *features)
{
    static const char *const names[] = {"+avx512fp16", "+avx10."}; /* the second includes the first */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char *at = features; (at = strstr(at, names[i])) != NULL;) *at = '-';
}

/* As the processor describes its caches, one after another; of the C library it would be all that are on a chip. */
static size_t find_last_cache(void)
{
    enum { NONE, DATA, INSTRUCTIONS, MOST = 8 };
    static const unsigned leaves[] = {4, 0x8000001d};
    size_t last = 0;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        unsigned type, sides, sets, flags;
        for (unsigned n = 0; n < MOST && __get_cpuid_count(leaves[i], n, &type, &sides, &sets, &flags); n++) {
            size_t ways = (sides >> 22) + 1, parts = (sides >> 12) % 1024 + 1, line = sides % 4096 + 1;
            if (type % 32 == NONE) break;
            if (type % 32 != INSTRUCTIONS) last = ways * parts * line * (sets + (size_t)1);
        }
    }
    return last;
}

static void find_host(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); /* for what the runtime has in its own language */
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    host.triple = LLVMGetDefaultTargetTriple();
    bool forced = weft_isa_is_forced();
    host.cpu = forced ? strdup(weft_isa_name()) : LLVMGetHostCPUName();
    char *features = forced ? strdup("") : LLVMGetHostCPUFeatures();
    if (host.cpu == NULL || features == NULL) return;
    drop_half_precision(features);
    host.features = features;
    host.level = weft_isa_level();
    host.vector_bytes = weft_isa_vector_bytes();
    host.suffix = "";
    /* As measured on Sapphire Rapids; on processors of AMD it was not. A level alone does not say. */
    host.gathers = strstr(host.features, "+avx512f") != NULL && strncmp(host.cpu, "znver", 5) != 0;
    host.slow_roots = host.gathers;
    host.slow_quotients = strcmp(host.cpu, "znver5") != 0; /* it divides sixteen floats in 2.5 cycles */
    host.last_cache = find_last_cache();
    host.name = create_name();
    host_found = host.name != NULL;
}

/* Only an object for it needs them. */
static void initialize_aarch64(void)
{
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
}

static const weft_processor *find_aarch64(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize_aarch64);
    return weft_processor_of_level(WEFT_ISA_ARMV8A);
}

const weft_processor *weft_processor_find(weft_target target)
{
    pthread_once(&host_once, find_host);
    if (!host_found) return NULL;
    return target == WEFT_TARGET_PTX ? &gpu : target == WEFT_TARGET_AARCH64 ? find_aarch64() : &host;
}

#define LEVEL(isa, bytes, number)                                                                                      \
    [isa] = {.cpu = "x86-64-v" number,                                                                                 \
             .features = "",                                                                                           \
             .level = isa,                                                                                             \
             .vector_bytes = bytes,                                                                                    \
             .slow_quotients = true,                                                                                   \
             .suffix = "_v" number}

const weft_processor *weft_processor_of_level(weft_isa level)
{
    static const weft_processor levels[] = {LEVEL(WEFT_ISA_V2, 16, "2"), LEVEL(WEFT_ISA_V3, 32, "3"),
                                            LEVEL(WEFT_ISA_V4, 64, "4"),
                                            [WEFT_ISA_ARMV8A] = {.triple = "aarch64-unknown-linux-gnu",
                                                                 .cpu = "generic",
                                                                 .features = "",
                                                                 .level = WEFT_ISA_ARMV8A,
                                                                 .vector_bytes = 16,
                                                                 .suffix = "_armv8a"}};
    return &levels[level];
}

weft_target weft_target_of_architecture(weft_architecture architecture)
{
    return architecture == WEFT_AARCH64 ? WEFT_TARGET_AARCH64 : WEFT_TARGET_HOST;
}

/* Idle machines of each target, kept for the life of the process; beyond so many they are destroyed. */
static struct {
    pthread_mutex_t lock;
    struct {
        LLVMTargetMachineRef machines[16];
        size_t count;
    } of[WEFT_TARGET_AARCH64 + 1];
} idle = {.lock = PTHREAD_MUTEX_INITIALIZER};

static weft_status *create_machine(const weft_allocator *allocator, weft_target kind, LLVMTargetMachineRef *out_machine)
{
    const weft_processor *found = weft_processor_find(kind);
    if (found == NULL) return weft_status_out_of_memory();
    if (!found->gpu && found->level < WEFT_ISA_V2)
        return weft_status_create(allocator, WEFT_UNSUPPORTED, "llvm",
                                  weft_isa_is_forced()
                                      ? "the LLVM code generator needs x86-64-v2, but WEFT_ISA asks for %s"
                                      : "the LLVM code generator needs x86-64-v2, which this processor (%s) lacks",
                                  found->cpu);
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(found->triple, &target, &message)) {
        weft_status *status =
            weft_status_create(allocator, WEFT_UNSUPPORTED, "llvm", "no target %s: %s", found->triple, message);
        LLVMDisposeMessage(message);
        return status;
    }
    *out_machine =
        LLVMCreateTargetMachine(target, found->triple, found->cpu, found->features,
                                kind == WEFT_TARGET_HOST_QUICK ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                LLVMRelocPIC, LLVMCodeModelSmall);
    if (*out_machine != NULL) return NULL;
    return weft_status_create(allocator, WEFT_UNSUPPORTED, "llvm", "LLVM cannot create a target machine for %s",
                              found->triple);
}

weft_status *weft_target_machine_acquire(const weft_allocator *allocator, weft_target kind,
                                         LLVMTargetMachineRef *out_machine)
{
    *out_machine = NULL;
    pthread_mutex_lock(&idle.lock);
    if (idle.of[kind].count > 0) *out_machine = idle.of[kind].machines[--idle.of[kind].count];
    pthread_mutex_unlock(&idle.lock);
    return *out_machine != NULL ? NULL : create_machine(allocator, kind, out_machine);
}

void weft_target_machine_release(weft_target kind, LLVMTargetMachineRef machine)
{
    if (machine == NULL) return;
    pthread_mutex_lock(&idle.lock);
    bool kept = idle.of[kind].count < sizeof idle.of[kind].machines / sizeof *idle.of[kind].machines;
    if (kept) idle.of[kind].machines[idle.of[kind].count++] = machine;
    pthread_mutex_unlock(&idle.lock);
    if (!kept) LLVMDisposeTargetMachine(machine);
}

static void add_text(weft_emitter *e, LLVMValueRef function, const char *name, const char *value)
{
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void weft_function_decorate(weft_emitter *e, LLVMValueRef function)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
    LLVMAttributeRef nounwind = LLVMCreateEnumAttribute(e->context, kind, 0);
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, nounwind);
    add_text(e, function, "target-cpu", e->processor->cpu);
    add_text(e, function, "target-features", e->processor->features);
}

void weft_function_align_stack(weft_emitter *e, LLVMValueRef function)
{
    add_text(e, function, "stackrealign", "");
}
