/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of one ISA level, after its functions: TABLE(x) is the name of one, LONG(x) what it has for long rows,
 * PICK(x) what picks keys and ACROSS(x) what sorts columns, TOGETHER the most keys of rows that are sorted together. */
#define NARROW(bits, counts, puts, transpose_)                                                                              \
    {                                                                                                                  \
        .sort32 = sort32, .sort_rows32 = sort_rows32, .take = take##bits, .put = put##bits, .skip = skip##bits,        \
        .sort_row32 = LONG(sort_row32), .count_lost = counts, .put_lost = puts, .most_together = TOGETHER,             \
        .pick = PICK(pick##bits), .transpose = transpose_, .across = ACROSS(across##bits), .few = ACROSS(few##bits),             \
        .part32 = partition32                                                                                          \
    }
#define POSITIONS(bits, skip_, transpose_)                                                                                  \
    {                                                                                                                  \
        .sort64 = sort64, .sort_rows64 = sort_rows64, .take = take_pairs##bits, .put = put_positions, .skip = skip_,   \
        .most_together = TOGETHER, .pick = PICK(pick##bits), .transpose = transpose_, .across = ACROSS(across_positions##bits),  \
        .few = ACROSS(few##bits), .part64 = partition64                                                                \
    }

const weft_key_sort TABLE(8) = NARROW(8, NULL, NULL, NULL), TABLE(16) = NARROW(16, NULL, NULL, NULL);
const weft_key_sort TABLE(32) = NARROW(32, LONG(count_lost32), LONG(put_lost32), LONG(transpose_square32));
const weft_key_sort TABLE(64) = {.sort64 = sort64,
                                 .sort_rows64 = sort_rows64,
                                 .take = take64,
                                 .put = put64,
                                 .skip = skip64,
                                 .sort_row64 = LONG(sort_row64),
                                 .count_lost = LONG(count_lost64),
                                 .put_lost = LONG(put_lost64),
                                 .most_together = TOGETHER,
                                 .pick = PICK(pick64),
                                 .transpose = LONG(transpose_square64),
                                 .across = ACROSS(across64),
                                 .few = ACROSS(few64),
                                 .part64 = partition64};
const weft_key_sort TABLE(positions8) = POSITIONS(8, NULL, NULL);
const weft_key_sort TABLE(positions16) = POSITIONS(16, skip16, NULL);
const weft_key_sort TABLE(positions32) = POSITIONS(32, skip32, LONG(transpose_square32));
const weft_key_sort TABLE(positions64) = {.sort64 = sort64,
                                          .sort_rows64 = sort_rows64,
                                          .skip = skip64,
                                          .most_together = TOGETHER,
                                          .pick = PICK(pick64),
                                          .transpose = LONG(transpose_square64),
                                          .few = ACROSS(few64),
                                          .pack = pack64,
                                          .part64 = partition64};
