/* SPDX-License-Identifier: Apache-2.0 */
/* Functions on texts that freestanding objects have, here with own_ in their names, compared with the C library's. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int own_snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int own_memcmp(const void *a, const void *b, size_t size);
int own_strncmp(const char *a, const char *b, size_t size);

static int failed;

enum { ROOM = 128 };

static void compare(const char expected[static ROOM], int length, const char found[static ROOM], int found_length)
{
    if (length == found_length && memcmp(expected, found, ROOM) == 0) return;
    printf("FAILED \"%s\" is \"%s\"\n", expected, found);
    failed++;
}

#define PRINT(size, ...)                                                                                               \
    do {                                                                                                               \
        char expected[ROOM] = {1}, found[ROOM] = {1};                                                                  \
        int length = snprintf(expected, size, __VA_ARGS__);                                                            \
        compare(expected, length, found, own_snprintf(found, size, __VA_ARGS__));                                      \
    } while (0)

static void print_in(volatile size_t size)
{
    static const int64_t numbers[] = {0, 1, -1, 42, -1234567, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t n = numbers[i];
        PRINT(size, "extent %" PRId64 " of %" PRIu64 " at %zu, %d%%", n, (uint64_t)n, (size_t)n, (int)n);
        PRINT(size, "\\x%02x%c%u|%5d|%05d|%" PRIu32, (unsigned)n & 0xff, 'c', (unsigned)n, (int)n, (int)n, (uint32_t)n);
    }
    PRINT(size, "%s|%.2s|%.*s|%3s|%c", "text", "text", 3, "text", "a", 'c');
    PRINT(size, "%lld %lu %hd %p", -1LL, 1UL, (short)-1, (void *)"text");
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void compare_bytes(size_t length, size_t place, int distance)
{
    char a[40], b[40];
    memset(a, 'e', sizeof a);
    memcpy(b, a, sizeof b);
    b[place] = (char)(b[place] + distance);
    failed += sign(memcmp(a, b, length)) != sign(own_memcmp(a, b, length));
    failed += sign(strncmp(a, b, length)) != sign(own_strncmp(a, b, length));
}

int main(void)
{
    char text[8];
    for (size_t size = 0; size < ROOM; size++) print_in(size);
    for (size_t length = 0; length < 40; length++)
        for (size_t place = 0; place < length; place++)
            for (int distance = -'e'; distance <= 1; distance++) compare_bytes(length, place, distance);
    failed += own_snprintf(text, sizeof text, "%s", "12345678") != 8 || strcmp(text, "1234567") != 0;
    if (failed > 0) printf("%d differences\n", failed);
    return failed > 0;
}
