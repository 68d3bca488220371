/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of public tracing functions, traced: their packed arguments are read again. */
#include <string.h>
#include "lib/eager/packed.h"

enum { MOST_TENSORS = 6, MOST_NUMBERS = 4, MOST_LISTS = 2, MOST_OUTPUTS = 2 };

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
    union options {
#define OPTIONS(letter, type) type letter;
        WEFT_EAGER_OPTIONS_(OPTIONS)
#undef OPTIONS
    } options;
    weft_index_items index;
    weft_index_item items[WEFT_EAGER_FEW];
    weft_tensor *out[MOST_OUTPUTS]; /* places for results, or NULL */
};

struct reader {
    const int64_t *at;
    const weft_tensor *operands;
    weft_tensor *results; /* the next one */
    size_t x, i, r, l, s, out;
};

static weft_tensor read_tensor(struct reader *reader, weft_graph *graph)
{
    int64_t kind = *reader->at++;
    if (kind == 0) return *reader->operands++;
    if (kind < 0) return WEFT_NO_TENSOR;
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

static void read_field(struct reader *reader, weft_graph *graph, char letter, void *out_field)
{
    int enumerator;
    switch (letter) {
    case 'x': *(weft_tensor *)out_field = read_tensor(reader, graph); break;
    case 'r': *(double *)out_field = read_real(reader); break;
    case 'l': *(weft_ints *)out_field = read_ints(reader); break;
    case 'e': *(weft_extent *)out_field = weft_extent_of(*reader->at++); break;
    case 'i': *(int64_t *)out_field = *reader->at++; break;
    case 'b': *(bool *)out_field = *reader->at++ != 0; break;
    case 'k':
        enumerator = (int)*reader->at++;
        memcpy(out_field, &enumerator, sizeof enumerator);
        break;
    default: break; /* a list that is NULL */
    }
}

static void read_options(struct reader *reader, const weft_eager_struct *options, struct unpacked *out)
{
    for (size_t i = 0; i < options->field_count; i++) {
        const weft_eager_field *field = &options->fields[i];
        read_field(reader, out->graph, field->letter, (char *)&out->options + field->offset);
    }
}

static weft_index_item read_item(struct reader *reader)
{
    weft_index_item item = {.kind = (weft_index_kind)reader->at[0],
                            .step = reader->at[1],
                            .start = weft_extent_of(reader->at[2]),
                            .stop = weft_extent_of(reader->at[3])};
    reader->at += WEFT_EAGER_ITEM_WORDS;
    if (item.kind == WEFT_INDEX_TENSOR) item.indices = *reader->operands++;
    return item;
}

static void read_index(struct reader *reader, struct unpacked *out)
{
    out->index = (weft_index_items){(size_t)*reader->at++, out->items};
    for (size_t i = 0; i < out->index.count; i++) out->items[i] = read_item(reader);
}

/* A place for results from `first` on. */
static void read_output(struct reader *reader, weft_tensor *first, struct unpacked *out)
{
    out->out[reader->out++] = *reader->at++ != 0 ? first : NULL;
}

static void read_parameter(struct reader *reader, char letter, struct unpacked *out)
{
    const weft_eager_struct *options = weft_eager_struct_find(letter);
    if (options != NULL) {
        read_options(reader, options, out);
        return;
    }
    switch (letter) {
    case 'g': break;
    case 'x':
    case 't': out->x[reader->x++] = read_tensor(reader, out->graph); break;
    case 'X': out->list = read_list(reader); break;
    case 'r': out->r[reader->r++] = read_real(reader); break;
    case 'l': out->l[reader->l++] = read_ints(reader); break;
    case 's':
        out->s[reader->s] = read_shape(reader, out->extents[reader->s]);
        reader->s++;
        break;
    case 'I': read_index(reader, out); break;
    case 'R': read_output(reader, reader->results - 1, out); break;
    case 'Q':
    case 'O':
        read_output(reader, reader->results, out);
        if (out->out[reader->out - 1] != NULL) reader->results++;
        break;
    default: out->i[reader->i++] = *reader->at++; break;
    }
}

/* ---- called ---- */

#define TYPE(name, types) typedef weft_tensor(*type_##name) types;
WEFT_EAGER_SIGNATURES_(TYPE)
#undef TYPE

#define CALL(name, ...)                                                                                                \
    static weft_tensor call_##name(weft_eager_any function, struct unpacked *u)                                        \
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
CALL(ix, u->i[0], u->x[0])
CALL(xe, u->x[0], weft_extent_of(u->i[0]))
CALL(xiiie, u->x[0], u->i[0], u->i[1], u->i[2], weft_extent_of(u->i[3]))
CALL(xrri, u->x[0], u->r[0], u->r[1], u->i[0])
CALL(xrrii, u->x[0], u->r[0], u->r[1], u->i[0], u->i[1])
CALL(xds, u->x[0], (weft_dtype)u->i[0], u->s[0])
CALL(xdsrr, u->x[0], (weft_dtype)u->i[0], u->s[0], u->r[0], u->r[1])
CALL(xdsee, u->x[0], (weft_dtype)u->i[0], u->s[0], weft_extent_of(u->i[1]), weft_extent_of(u->i[2]))
CALL(xxs, u->x[0], u->x[1], u->s[0])
CALL(xxr, u->x[0], u->x[1], u->r[0])
CALL(xxib, u->x[0], u->x[1], u->i[0], u->i[1] != 0)
CALL(xxxs, u->x[0], u->x[1], u->x[2], u->s[0])
CALL(xesbx, u->x[0], weft_extent_of(u->i[0]), u->s[0], u->i[1] != 0, u->x[1])
CALL(xxT, u->x[0], u->x[1], u->options.T)
CALL(xiN, u->x[0], u->i[0], &u->options.N)
CALL(xxxN, u->x[0], u->x[1], u->x[2], &u->options.N)
CALL(xNOO, u->x[0], &u->options.N, u->out[0], u->out[1])
CALL(xxxA, u->x[0], u->x[1], u->x[2], &u->options.A)
CALL(xxiC, u->x[0], u->x[1], u->i[0], &u->options.C)
CALL(xxV, u->x[0], u->x[1], &u->options.V)
CALL(xlV, u->x[0], u->l[0], &u->options.V)
CALL(xP, u->x[0], &u->options.P)
CALL(xsZ, u->x[0], u->s[0], &u->options.Z)
CALL(xxxxGO, u->x[0], u->x[1], u->x[2], u->x[3], &u->options.G, u->out[0])
CALL(xxxtxxDOO, u->x[0], u->x[1], u->x[2], u->x[3], u->x[4], u->x[5], &u->options.D, u->out[0], u->out[1])
CALL(xxxxxMOO, u->x[0], u->x[1], u->x[2], u->x[3], u->x[4], &u->options.M, u->out[0], u->out[1])
CALL(xxxtxBO, u->x[0], u->x[1], u->x[2], u->x[3], u->x[4], &u->options.B, u->out[0])
CALL(xxxxLO, u->x[0], u->x[1], u->x[2], u->x[3], &u->options.L, u->out[0])
CALL(XrQ, u->list, u->r[0], u->out[0])
CALL(XbR, u->list, u->i[0] != 0, u->out[0])
CALL(xizR, u->x[0], u->i[0], (size_t)u->i[1], u->out[0])
CALL(xisR, u->x[0], u->i[0], u->s[0], u->out[0])
CALL(xiebO, u->x[0], u->i[0], weft_extent_of(u->i[1]), u->i[2] != 0, u->out[0])
CALL(xeO, u->x[0], weft_extent_of(u->i[0]), u->out[0])
CALL(ge, u->graph, weft_extent_of(u->i[0]))
CALL(gu, u->graph, (uint64_t)u->i[0])
CALL(gdr, u->graph, (weft_dtype)u->i[0], u->r[0])
CALL(xI, u->x[0], u->index)
CALL(xxmI, u->x[0], u->x[1], (weft_scatter_mode)u->i[0], u->index)
CALL(gdeei, u->graph, (weft_dtype)u->i[0], weft_extent_of(u->i[1]), weft_extent_of(u->i[2]), u->i[3])
#undef CALL

static weft_tensor (*const calls[])(weft_eager_any function, struct unpacked *u) = {
#define ROW(name, types) [WEFT_EAGER_##name] = call_##name,
    WEFT_EAGER_SIGNATURES_(ROW)
#undef ROW
};

void weft_eager_packed_trace(weft_graph *graph, const void *options, const weft_tensor *operands,
                             weft_tensor *out_results)
{
    weft_eager_any function;
    struct reader reader = {.at = options, .operands = operands, .results = out_results + 1};
    struct unpacked u = {.graph = graph};
    memcpy(&function, reader.at++, sizeof function);
    weft_eager_signature signature = (weft_eager_signature)*reader.at++;
    for (const char *letter = weft_eager_letters(signature); *letter != '\0'; letter++)
        read_parameter(&reader, *letter, &u);
    out_results[0] = calls[signature](function, &u);
}
