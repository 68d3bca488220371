/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr1, dlinfo */
/* Plugins: shared objects that hand over an extension. */
#include <weft/extension.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

struct weft_plugin {
    weft_allocator allocator;
    void *library;
    const weft_extension *extension;
};

/* ---- is it a whole file? ---- */

/* The loader maps what the headers promise and dies by signal where a truncated file does not hold it, so they are
 * checked first. */
static const char *headers_fault(FILE *file, const Elf64_Ehdr *header, uint64_t file_size)
{
    uint64_t sections_end;
    if (__builtin_add_overflow(header->e_shoff, (uint64_t)header->e_shnum * header->e_shentsize, &sections_end) ||
        sections_end > file_size) {
        return "the file is truncated: its section table lies beyond its end";
    }
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff > INT64_MAX)
        return "the file has a malformed header";
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t end;
        if (fseeko(file, (off_t)(header->e_phoff + i * sizeof segment), SEEK_SET) != 0 ||
            fread(&segment, sizeof segment, 1, file) != 1 ||
            __builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) || end > file_size) {
            return "the file is truncated: a segment lies beyond its end";
        }
    }
    return NULL;
}

static const char *file_fault(FILE *file)
{
    Elf64_Ehdr header;
    if (fread(&header, sizeof header, 1, file) != 1) return "the file is too short for a shared object";
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_type != ET_DYN) {
        return "the file is not a 64-bit ELF shared object";
    }
    if (fseeko(file, 0, SEEK_END) != 0) return strerror(errno);
    off_t size = ftello(file);
    return size < 0 ? strerror(errno) : headers_fault(file, &header, (uint64_t)size);
}

static weft_status *check_file(const weft_allocator *allocator, const char *path)
{
    FILE *file = fopen(path, "rb");
    const char *fault = file == NULL ? strerror(errno) : file_fault(file);
    if (file != NULL) fclose(file);
    if (fault == NULL) return NULL;
    return weft_status_create(allocator, WEFT_BAD_FILE, "weft_plugin_load", "plugin %s: %s", path, fault);
}

/* ---- loading ---- */

/* A path without a slash would be looked up in the system's library folders: it means a file in the working folder. */
static weft_status *open_library(weft_plugin *plugin, const char *path)
{
    weft_bytes full;
    weft_bytes_init(&full, &plugin->allocator);
    weft_bytes_print(&full, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    weft_status *status = weft_bytes_status(&full);
    if (status == NULL) {
        plugin->library = dlopen(full.data, RTLD_NOW | RTLD_LOCAL);
        if (plugin->library == NULL) {
            status = weft_status_create(&plugin->allocator, WEFT_BAD_FILE, "weft_plugin_load", "plugin %s: %s", path,
                                        dlerror());
        }
    }
    weft_bytes_finish(&full);
    return status;
}

/* `status` with the path before its sentence; takes it. */
static weft_status *error_with_path(const weft_plugin *plugin, const char *path, weft_status *status)
{
    if (status == NULL || weft_status_code(status) == WEFT_OUT_OF_MEMORY) return status;
    weft_status *named = weft_status_create(&plugin->allocator, weft_status_code(status), "weft_plugin_load",
                                            "plugin %s: %s", path, weft_status_message(status));
    weft_status_destroy(status);
    return named;
}

/* The query function; NULL where the file has none, though a library that it needs may have one. */
static void *find_query(const weft_plugin *plugin)
{
    struct link_map *file = NULL, *owner = NULL;
    Dl_info info;
    void *symbol = dlsym(plugin->library, WEFT_EXTENSION_QUERY_NAME);
    if (symbol == NULL || dlinfo(plugin->library, RTLD_DI_LINKMAP, &file) != 0) return NULL;
    if (dladdr1(symbol, &info, (void **)&owner, RTLD_DL_LINKMAP) == 0) return NULL;
    return owner == file ? symbol : NULL;
}

static weft_status *query(weft_plugin *plugin)
{
    /* ISO C has no conversion from an object pointer to a function pointer, POSIX says that it works. */
    weft_extension_query_function function;
    void *symbol = find_query(plugin);
    memcpy(&function, &symbol, sizeof function);
    if (symbol == NULL) {
        return weft_status_create(&plugin->allocator, WEFT_BAD_FILE, NULL, "the file has no function %s",
                                  WEFT_EXTENSION_QUERY_NAME);
    }
    weft_host host = {.size = sizeof host, .abi_major = WEFT_ABI_MAJOR, .abi_minor = WEFT_ABI_MINOR};
    WEFT_TRY(function(&host, &plugin->extension));
    return weft_extension_check(plugin->extension);
}

static weft_status *load(weft_plugin *plugin, const char *path)
{
    WEFT_TRY(check_file(&plugin->allocator, path));
    WEFT_TRY(open_library(plugin, path));
    return error_with_path(plugin, path, query(plugin));
}

weft_status *weft_plugin_load(const weft_allocator *allocator, const char *path, weft_plugin **out_plugin)
{
    WEFT_REQUIRE(path);
    WEFT_REQUIRE(out_plugin);
    weft_plugin *plugin = weft_allocate(allocator, sizeof *plugin);
    if (plugin == NULL) return weft_status_out_of_memory();
    *plugin = (weft_plugin){.allocator = *weft_allocator_or_default(allocator)};
    weft_status *status = load(plugin, path);
    if (status == NULL) *out_plugin = plugin;
    else weft_plugin_destroy(plugin);
    return status;
}

const weft_extension *weft_plugin_extension(const weft_plugin *plugin)
{
    return plugin == NULL ? NULL : plugin->extension;
}

void weft_plugin_destroy(weft_plugin *plugin)
{
    if (plugin == NULL) return;
    weft_allocator allocator = plugin->allocator;
    if (plugin->library != NULL) dlclose(plugin->library);
    weft_free(&allocator, plugin, sizeof *plugin);
}
