/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of one ISA level, after its functions: TABLE(x) is the name of one, LONG(x) what it has for long rows,
 * PICK(x) what picks keys and ACROSS(x) what sorts columns, TOGETHER the most keys of rows that are sorted together. */
#define NARROW(bits, counts, puts, turn)                                                                               \
    {                                                                                                                  \
        sort32, NULL, sort_rows32, NULL, take##bits, put##bits, skip##bits, LONG(sort_row32), NULL, counts, puts,      \
            TOGETHER, PICK(pick##bits), turn, ACROSS(across##bits)                                                     \
    }
#define POSITIONS(take, skip, pick, turn, across)                                                                      \
    {                                                                                                                  \
        NULL, sort64, NULL, sort_rows64, take, put_positions, skip, NULL, NULL, NULL, NULL, TOGETHER, pick, turn,      \
            across                                                                                                     \
    }

const weft_key_sort TABLE(8) = NARROW(8, NULL, NULL, NULL), TABLE(16) = NARROW(16, NULL, NULL, NULL);
const weft_key_sort TABLE(32) = NARROW(32, LONG(count_lost32), LONG(put_lost32), LONG(turn32));
const weft_key_sort TABLE(64) = {NULL,
                                 sort64,
                                 NULL,
                                 sort_rows64,
                                 take64,
                                 put64,
                                 skip64,
                                 NULL,
                                 LONG(sort_row64),
                                 LONG(count_lost64),
                                 LONG(put_lost64),
                                 TOGETHER,
                                 PICK(pick64),
                                 LONG(turn64),
                                 ACROSS(across64)};
const weft_key_sort TABLE(positions8) = POSITIONS(take_pairs8, NULL, PICK(pick8), NULL, ACROSS(across_positions8));
const weft_key_sort TABLE(positions16) = POSITIONS(take_pairs16, skip16, PICK(pick16), NULL,
                                                   ACROSS(across_positions16));
const weft_key_sort TABLE(positions32) = POSITIONS(take_pairs32, skip32, PICK(pick32), LONG(turn32),
                                                   ACROSS(across_positions32));
const weft_key_sort TABLE(positions64) = {.sort64 = sort64,
                                          .sort_rows64 = sort_rows64,
                                          .skip = skip64,
                                          .most_together = TOGETHER,
                                          .pick = PICK(pick64),
                                          .turn = LONG(turn64),
                                          .pack = pack64};
