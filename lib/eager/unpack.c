/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of public tracing functions, traced: their packed arguments are read again. */
#include <string.h>
#include "lib/eager/packed.h"

enum { MOST_TENSORS = 3, MOST_NUMBERS = 4, MOST_LISTS = 2 };

static const char *const letters[] = {
#define LETTERS(name, types) [WEFT_EAGER_##name] = #name,
    WEFT_EAGER_SIGNATURES_(LETTERS)
#undef LETTERS
};

const char *weft_eager_letters(weft_eager_signature signature)
{
    return letters[signature];
}

/* ---- unpacked ---- */

struct unpacked {
    weft_graph *graph;
    weft_tensor x[MOST_TENSORS];
    weft_tensors list;
    int64_t i[MOST_NUMBERS]; /* integers, extents, bools, values of enumerations */
    double r[MOST_NUMBERS];
    weft_ints l[MOST_LISTS];
    weft_shape s[MOST_LISTS];
    weft_extent extents[MOST_LISTS][WEFT_MAX_RANK];
};

struct reader {
    const int64_t *at;
    const weft_tensor *operands;
    size_t x, i, r, l, s;
};

static weft_tensor read_tensor(struct reader *reader, weft_graph *graph)
{
    int64_t kind = *reader->at++;
    if (kind == 0) return *reader->operands++;
    weft_tensor number = weft_constant(graph, (weft_dtype)(kind - 1), (weft_ints){0, NULL}, reader->at);
    reader->at += WEFT_EAGER_ELEMENT_WORDS;
    return number;
}

static weft_ints read_ints(struct reader *reader)
{
    size_t count = (size_t)*reader->at++;
    weft_ints ints = {count, reader->at};
    reader->at += count;
    return ints;
}

static weft_shape read_shape(struct reader *reader, weft_extent *extents)
{
    weft_ints ints = read_ints(reader);
    for (size_t i = 0; i < ints.count; i++) extents[i] = weft_extent_of(ints.items[i]);
    return (weft_shape){ints.count, extents};
}

static weft_tensors read_list(struct reader *reader)
{
    weft_tensors list = {(size_t)*reader->at++, reader->operands};
    reader->operands += list.count;
    return list;
}

static double read_real(struct reader *reader)
{
    double real;
    memcpy(&real, reader->at++, sizeof real);
    return real;
}

static void read_parameter(struct reader *reader, char letter, struct unpacked *out)
{
    switch (letter) {
    case 'g': break;
    case 'x': out->x[reader->x++] = read_tensor(reader, out->graph); break;
    case 'X': out->list = read_list(reader); break;
    case 'r': out->r[reader->r++] = read_real(reader); break;
    case 'l': out->l[reader->l++] = read_ints(reader); break;
    case 's':
        out->s[reader->s] = read_shape(reader, out->extents[reader->s]);
        reader->s++;
        break;
    default: out->i[reader->i++] = *reader->at++; break;
    }
}

/* ---- called ---- */

#define TYPE(name, types) typedef weft_tensor(*type_##name) types;
WEFT_EAGER_SIGNATURES_(TYPE)
#undef TYPE

#define CALL(name, ...)                                                                                                \
    static weft_tensor call_##name(weft_eager_any function, const struct unpacked *u)                                  \
    {                                                                                                                  \
        return ((type_##name)function)(__VA_ARGS__);                                                                   \
    }
CALL(x, u->x[0])
CALL(xx, u->x[0], u->x[1])
CALL(xxx, u->x[0], u->x[1], u->x[2])
CALL(xi, u->x[0], u->i[0])
CALL(xii, u->x[0], u->i[0], u->i[1])
CALL(xiii, u->x[0], u->i[0], u->i[1], u->i[2])
CALL(xib, u->x[0], u->i[0], u->i[1] != 0)
CALL(xibb, u->x[0], u->i[0], u->i[1] != 0, u->i[2] != 0)
CALL(xie, u->x[0], u->i[0], weft_extent_of(u->i[1]))
CALL(xiee, u->x[0], u->i[0], weft_extent_of(u->i[1]), weft_extent_of(u->i[2]))
CALL(xieii, u->x[0], u->i[0], weft_extent_of(u->i[1]), u->i[2], u->i[3])
CALL(xirr, u->x[0], u->i[0], u->r[0], u->r[1])
CALL(xl, u->x[0], u->l[0])
CALL(xlb, u->x[0], u->l[0], u->i[0] != 0)
CALL(xlib, u->x[0], u->l[0], u->i[0], u->i[1] != 0)
CALL(xlrb, u->x[0], u->l[0], u->r[0], u->i[0] != 0)
CALL(xll, u->x[0], u->l[0], u->l[1])
CALL(xs, u->x[0], u->s[0])
CALL(xsl, u->x[0], u->s[0], u->l[0])
CALL(xssl, u->x[0], u->s[0], u->s[1], u->l[0])
CALL(xd, u->x[0], (weft_dtype)u->i[0])
CALL(xr, u->x[0], u->r[0])
CALL(xrib, u->x[0], u->r[0], u->i[0], u->i[1] != 0)
CALL(xrr, u->x[0], u->r[0], u->r[1])
CALL(xex, u->x[0], weft_extent_of(u->i[0]), u->x[1])
CALL(xed, u->x[0], weft_extent_of(u->i[0]), (weft_dtype)u->i[1])
CALL(xxi, u->x[0], u->x[1], u->i[0])
CALL(xxb, u->x[0], u->x[1], u->i[0] != 0)
CALL(xxll, u->x[0], u->x[1], u->l[0], u->l[1])
CALL(xxss, u->x[0], u->x[1], u->s[0], u->s[1])
CALL(xxrr, u->x[0], u->x[1], u->r[0], u->r[1])
CALL(xxxi, u->x[0], u->x[1], u->x[2], u->i[0])
CALL(xxxim, u->x[0], u->x[1], u->x[2], u->i[0], (weft_scatter_mode)u->i[1])
CALL(xxk, u->x[0], u->x[1], (weft_reduction_kind)u->i[0])
CALL(xxrk, u->x[0], u->x[1], u->r[0], (weft_reduction_kind)u->i[0])
CALL(xxxk, u->x[0], u->x[1], u->x[2], (weft_reduction_kind)u->i[0])
CALL(Xi, u->list, u->i[0])
CALL(xXl, u->x[0], u->list, u->l[0])
CALL(xXls, u->x[0], u->list, u->l[0], u->s[0])
CALL(xxXl, u->x[0], u->x[1], u->list, u->l[0])
CALL(xXlxm, u->x[0], u->list, u->l[0], u->x[1], (weft_scatter_mode)u->i[0])
CALL(gds, u->graph, (weft_dtype)u->i[0], u->s[0])
CALL(gdrs, u->graph, (weft_dtype)u->i[0], u->r[0], u->s[0])
CALL(gdsi, u->graph, (weft_dtype)u->i[0], u->s[0], u->i[1])
CALL(gdrre, u->graph, (weft_dtype)u->i[0], u->r[0], u->r[1], weft_extent_of(u->i[1]))
CALL(gdeei, u->graph, (weft_dtype)u->i[0], weft_extent_of(u->i[1]), weft_extent_of(u->i[2]), u->i[3])
#undef CALL

static weft_tensor (*const calls[])(weft_eager_any function, const struct unpacked *u) = {
#define ROW(name, types) [WEFT_EAGER_##name] = call_##name,
    WEFT_EAGER_SIGNATURES_(ROW)
#undef ROW
};

void weft_eager_packed_trace(weft_graph *graph, const void *options, const weft_tensor *operands,
                             weft_tensor *out_results)
{
    weft_eager_any function;
    struct reader reader = {.at = options, .operands = operands};
    struct unpacked u = {.graph = graph};
    memcpy(&function, reader.at++, sizeof function);
    weft_eager_signature signature = (weft_eager_signature)*reader.at++;
    for (const char *letter = weft_eager_letters(signature); *letter != '\0'; letter++)
        read_parameter(&reader, *letter, &u);
    out_results[0] = calls[signature](function, &u);
}
