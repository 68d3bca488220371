/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lowest energy of a chain of quantum spins, the Ising model in a transverse field at its critical point: the
 * state is a chain of tensors, the energy a network of them that einsum contracts, and its gradient moves the tensors.
 */
#include <math.h>
#include <weft/einsum.h>
#include "train.h"

enum { SPINS = 8, BOND = 6, STEPS = 600, STATES = 3 };

/* The energy operator as a chain of one tensor [left, right, out, in], whose first row and column are those at the
 * ends: what lies left of a spin is nothing yet, a term that waits for this spin, or the whole of a term.
 * Schollwoeck, "The density-matrix renormalization group in the age of matrix product states", 2011, section 6. */
static const double operators[STATES][STATES][2][2] = {
    {{{1, 0}, {0, 1}}, {{-1, 0}, {0, 1}}, {{0, -1}, {-1, 0}}},
    {{{0}}, {{0}}, {{1, 0}, {0, -1}}},
    {{{0}}, {{0}}, {{1, 0}, {0, 1}}},
};

/* ---- expressions ---- */

typedef enum bond { UPPER, MIDDLE, LOWER } bond;

/* Labels of the bonds of three chains, left of spin `i`, and of the two indices of each spin. */
static char bond_label(bond kind, int i)
{
    int at = (int)kind * (SPINS + 1) + i;
    return (char)(at < 26 ? 'a' + at : 'A' + at - 26);
}

static char spin_label(bool lower, int i)
{
    return (char)('A' + 3 * (SPINS + 1) - 26 + 2 * i + lower);
}

/* Adds an operand to an expression: the bonds of a chain at spin `i`, and the spin's own indices. */
static void put(char *expression, bond kind, int i, const char *own)
{
    size_t at = strlen(expression);
    sprintf(expression + at, "%s%c%c%s", at > 0 ? "," : "", bond_label(kind, i), bond_label(kind, i + 1), own);
}

/* <state|state>, or the operator between them. */
static weft_tensor expectation(const weft_tensor *tensors, const weft_tensor *operator_chain)
{
    char expression[SPINS * 20] = "";
    weft_tensor operands[3 * SPINS];
    size_t count = 0;
    for (int i = 0; i < SPINS; i++) {
        const char upper[] = {spin_label(false, i), 0}, lower[] = {spin_label(operator_chain != NULL, i), 0};
        const char both[] = {upper[0], lower[0], 0};
        put(expression, UPPER, i, upper);
        operands[count++] = tensors[i];
        if (operator_chain != NULL) {
            put(expression, MIDDLE, i, both);
            operands[count++] = operator_chain[i];
        }
        put(expression, LOWER, i, lower);
        operands[count++] = tensors[i];
    }
    strcat(expression, "->");
    return weft_einsum(expression, (weft_tensors){count, operands}, NULL);
}

/* ---- */

/* The operator at spin `i`. */
static weft_tensor operator_at(weft_tensor whole, int i)
{
    const weft_extent one = weft_extent_of(1);
    if (i == 0) return weft_narrow(whole, 0, weft_extent_of(0), one);
    return i + 1 < SPINS ? whole : weft_narrow(whole, 1, weft_extent_of(STATES - 1), one);
}

int main(void)
{
    static trainer t;
    static train_program step;
    weft_tensor tensors[SPINS], chain[SPINS];
    train_begin(&t, WEFT_F64);
    weft_tensor whole = weft_constant(t.graph, WEFT_F64, WEFT_INTS(STATES, STATES, 2, 2), operators);
    for (int i = 0; i < SPINS; i++) {
        char name[16];
        snprintf(name, sizeof name, "spin%d", i);
        tensors[i] = train_parameter(&t, name, TRAIN_SHAPE(i == 0 ? 1 : BOND, i + 1 == SPINS ? 1 : BOND, 2), 0.7);
        chain[i] = operator_at(whole, i);
    }
    weft_tensor energy = weft_div(expectation(tensors, chain), expectation(tensors, NULL));
    train_compile_step(&t, energy, 0.03, STEPS, &step);
    train_run(&t, &step, STEPS, NULL, NULL);
    /* Pfeuty, "The one-dimensional Ising model with a transverse field", 1970. */
    const double exact = 1 - 1 / sin(acos(-1) / (2 * (2 * SPINS + 1)));
    printf("energy %.6f, exactly %.6f, off by %.1e\n", t.loss, exact, t.loss - exact);
    train_release(&step);
    train_end(&t);
    return 0;
}
