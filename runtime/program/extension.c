/* SPDX-License-Identifier: Apache-2.0 */
/* Op tables supplied by third parties: no field is read before it is known to exist. */
#include "runtime/program/extension.h"
#include <string.h>
#include "runtime/base/status.h"

/* Where version 0.1 ends, the oldest layout there is: shorter tables are no tables of ours. */
#define SIZE_THROUGH(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define OLDEST_EXTENSION_SIZE SIZE_THROUGH(weft_extension, state_destroy)
#define OLDEST_OP_SIZE SIZE_THROUGH(weft_op_def, scratch_size)

static weft_status *refuse(weft_code code, const char *format, ...) WEFT_FORMAT(2, 3);

static weft_status *refuse(weft_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    weft_status *status = weft_status_create_v(NULL, code, NULL, format, arguments);
    va_end(arguments);
    return status;
}

static weft_status *check_version(const weft_extension *extension)
{
    if (extension == NULL) return refuse(WEFT_INVALID_ARGUMENT, "the extension table is NULL");
    if (extension->size < SIZE_THROUGH(weft_extension, abi_minor)) {
        return refuse(WEFT_INVALID_ARGUMENT, "the extension table says it has %zu bytes, too few for a version",
                      extension->size);
    }
    if (extension->abi_major != WEFT_ABI_MAJOR) {
        return refuse(WEFT_VERSION_MISMATCH, "the extension is built for version %u.%u of the interface, this is %d.%d",
                      extension->abi_major, extension->abi_minor, WEFT_ABI_MAJOR, WEFT_ABI_MINOR);
    }
    if (extension->size >= OLDEST_EXTENSION_SIZE) return NULL;
    return refuse(WEFT_INVALID_ARGUMENT, "the extension table has %zu bytes but version 0.1 of it has %zu",
                  extension->size, OLDEST_EXTENSION_SIZE);
}

static bool is_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return text[0] != '\0' && text[strspn(text, letters)] == '\0' && strchr("0123456789", text[0]) == NULL;
}

static weft_status *check_name(const char *family, const char *name)
{
    size_t length = strlen(family);
    if (strncmp(name, family, length) == 0 && name[length] == '.' && is_word(name + length + 1)) return NULL;
    return refuse(WEFT_INVALID_ARGUMENT, "op \"%s\" must be called \"%s.\" and a word of letters, digits and _", name,
                  family);
}

static weft_status *check_attrs(const weft_op_def *op)
{
    if (op->attr_count > 0 && op->attrs == NULL) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has %zu attributes but attrs is NULL", op->name, op->attr_count);
    }
    for (size_t i = 0; i < op->attr_count; i++) {
        if (op->attrs[i].name == NULL || !is_word(op->attrs[i].name)) {
            return refuse(WEFT_INVALID_ARGUMENT, "attribute %zu of op %s has no name of letters, digits and _", i,
                          op->name);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(op->attrs[j].name, op->attrs[i].name) != 0) continue;
            return refuse(WEFT_INVALID_ARGUMENT, "op %s has two attributes called %s", op->name, op->attrs[i].name);
        }
        if ((unsigned)op->attrs[i].kind > WEFT_ATTR_REGION) {
            return refuse(WEFT_INVALID_ARGUMENT, "attribute %s of op %s is of kind %u, which is unknown here",
                          op->attrs[i].name, op->name, (unsigned)op->attrs[i].kind);
        }
    }
    return NULL;
}

/* Whether programs compiled ahead of time, libweft-rt.a or a C compiler use functions of that name, or may. */
static bool is_reserved(const char *symbol)
{
    static const char *const beginnings[] = {"weft_", "_", "XXH", "pthread_", "sem_", "sched_"};
    static const char *const names[] = {
        "abort",    "access",    "aligned_alloc",  "calloc",    "clock_gettime", "close",     "dladdr1",    "dlclose",
        "dlerror",  "dlinfo",    "dlopen",         "dlsym",     "exit",          "faccessat", "fchmod",     "fclose",
        "fdopen",   "ferror",    "flock",          "fopen",     "fread",         "free",      "freelocale", "fstat",
        "fwrite",   "getenv",    "getpid",         "main",      "malloc",        "memchr",    "memcmp",     "memcpy",
        "memmove",  "memset",    "mkdir",          "mmap",      "munmap",        "newlocale", "open",       "openat",
        "madvise",  "mprotect",  "posix_memalign", "qsort",     "read",          "readlink",  "realloc",    "remove",
        "rename",   "sigdelset", "sigfillset",     "snprintf",  "stat",          "strchr",    "strcmp",     "strcpy",
        "strcspn",  "strerror",  "strlen",         "strncmp",   "strncpy",       "strrchr",   "strspn",     "strtok_r",
        "strtoull", "sysconf",   "unlinkat",       "uselocale", "vsnprintf",     "write"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(symbol, beginnings[i], strlen(beginnings[i])) == 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(symbol, names[i]) == 0) return true;
    return false;
}

static weft_status *check_symbol(const weft_op_def *op, const char *field, const char *symbol)
{
    if (symbol == NULL) return NULL;
    if (!is_word(symbol))
        return refuse(WEFT_INVALID_ARGUMENT, "%s \"%s\" of op %s must be a word of letters, digits and _", field,
                      symbol, op->name);
    if (!is_reserved(symbol)) return NULL;
    return refuse(WEFT_INVALID_ARGUMENT,
                  "%s \"%s\" of op %s is a name of weft or of the C library, which programs with it use", field, symbol,
                  op->name);
}

static weft_status *check_symbols(const weft_op_def *op)
{
    if (!weft_op_knows_objects(op)) return NULL;
    WEFT_TRY(check_symbol(op, "kernel_symbol", op->kernel_symbol));
    WEFT_TRY(check_symbol(op, "scratch_symbol", op->scratch_symbol));
    if (op->kernel_symbol != NULL && op->kernel == NULL)
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has a kernel_symbol but no kernel", op->name);
    if (op->kernel_symbol != NULL && (op->scratch_symbol != NULL) != (op->scratch_size != NULL)) {
        return refuse(WEFT_INVALID_ARGUMENT,
                      "op %s has a kernel_symbol and only one of scratch_size and scratch_symbol", op->name);
    }
    if (op->kernel_symbol != NULL && op->scratch_symbol != NULL && strcmp(op->kernel_symbol, op->scratch_symbol) == 0) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has \"%s\" both as kernel_symbol and as scratch_symbol", op->name,
                      op->kernel_symbol);
    }
    if (op->bitcode != NULL && (op->kernel_symbol == NULL || op->bitcode_size == 0)) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has bitcode but %s", op->name,
                      op->kernel_symbol == NULL ? "no kernel_symbol" : "its bitcode_size is 0");
    }
    return NULL;
}

static weft_status *check_op(const char *family, const weft_op_def *op, size_t number)
{
    if (op == NULL) return refuse(WEFT_INVALID_ARGUMENT, "op %zu of family %s is NULL", number, family);
    if (op->size < OLDEST_OP_SIZE) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %zu of family %s has %zu bytes but version 0.1 of it has %zu", number,
                      family, op->size, OLDEST_OP_SIZE);
    }
    if (op->name == NULL) return refuse(WEFT_INVALID_ARGUMENT, "op %zu of family %s has no name", number, family);
    WEFT_TRY(check_name(family, op->name));
    if (op->input_count < -1 || (op->output_count == 0) != weft_op_counts_outputs(op)) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has %d inputs and %u outputs but needs -1 or more and %s", op->name,
                      (int)op->input_count, (unsigned)op->output_count,
                      weft_op_counts_outputs(op) ? "0, since it has count_outputs" : "at least 1");
    }
    if (op->op_class != WEFT_CLASS_OPAQUE) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has class %u, but an extension's ops are WEFT_CLASS_OPAQUE",
                      op->name, (unsigned)op->op_class);
    }
    if (op->dtypes >= UINT32_C(1) << WEFT_DTYPE_COUNT) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has dtypes 0x%x, of which some are unknown here", op->name,
                      (unsigned)op->dtypes);
    }
    if ((op->traits & ~(uint32_t)WEFT_TRAIT_COMMUTATIVE) != 0) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has traits 0x%x, of which some are unknown here", op->name,
                      (unsigned)op->traits);
    }
    if ((op->traits & WEFT_TRAIT_COMMUTATIVE) != 0 && op->input_count != 2) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s is WEFT_TRAIT_COMMUTATIVE, but has not exactly 2 inputs", op->name);
    }
    if (op->infer == NULL) return refuse(WEFT_INVALID_ARGUMENT, "op %s has no infer function", op->name);
    if (op->lower == NULL && op->kernel == NULL) {
        return refuse(WEFT_INVALID_ARGUMENT, "op %s has neither a lower nor a kernel function", op->name);
    }
    WEFT_TRY(check_symbols(op));
    return check_attrs(op);
}

static weft_status *check_ops(const weft_extension *extension)
{
    if (extension->op_count > 0 && extension->ops == NULL) {
        return refuse(WEFT_INVALID_ARGUMENT, "family %s has %zu ops but ops is NULL", extension->family,
                      extension->op_count);
    }
    for (size_t i = 0; i < extension->op_count; i++) {
        WEFT_TRY(check_op(extension->family, extension->ops[i], i));
        for (size_t j = 0; j < i; j++) {
            if (strcmp(extension->ops[j]->name, extension->ops[i]->name) != 0) continue;
            return refuse(WEFT_INVALID_ARGUMENT, "op %s is defined twice", extension->ops[i]->name);
        }
    }
    return NULL;
}

static weft_status *check(const weft_extension *extension)
{
    WEFT_TRY(check_version(extension));
    if (extension->family == NULL || !is_word(extension->family)) {
        return refuse(WEFT_INVALID_ARGUMENT, "family \"%s\" must be a word of letters, digits and _",
                      extension->family == NULL ? "" : extension->family);
    }
    if (extension->version == NULL)
        return refuse(WEFT_INVALID_ARGUMENT, "family %s has no version text", extension->family);
    if ((extension->state_create == NULL) != (extension->state_destroy == NULL)) {
        return refuse(WEFT_INVALID_ARGUMENT, "family %s has only one of state_create and state_destroy",
                      extension->family);
    }
    return check_ops(extension);
}

weft_status *weft_extension_check_for(const char *where, const weft_extension *extension)
{
    return weft_status_locate(check(extension), where);
}

weft_status *weft_extension_check(const weft_extension *extension)
{
    return weft_extension_check_for("weft_extension_check", extension);
}
