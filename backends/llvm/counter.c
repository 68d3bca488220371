/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of loops. LLVM's loop strength reduction takes a sixth of all compilation, and more where memory is walked
 * in strides. It leaves loops alone whose counters are frozen, which costs no instruction. What it is needed for is
 * done here: products with a counter become counters of their own. Addresses that are sums with a counter are as good
 * as any it finds.
 */
#include "backends/llvm/counter.h"
#include <stdbool.h>
#include <stddef.h>

static bool is_operation(LLVMValueRef value, LLVMOpcode opcode)
{
    return LLVMIsABinaryOperator(value) != NULL && LLVMGetInstructionOpcode(value) == opcode;
}

/* The other operand of a sum or product with the value, or how far that is shifted; NULL if it is something else. */
static LLVMValueRef find_operand(LLVMValueRef operation, LLVMOpcode opcode, LLVMValueRef value)
{
    if (!is_operation(operation, opcode)) return NULL;
    if (LLVMGetOperand(operation, 0) == value) return LLVMGetOperand(operation, 1);
    return opcode != LLVMShl && LLVMGetOperand(operation, 1) == value ? LLVMGetOperand(operation, 0) : NULL;
}

/* A phi of two values, of which `next` is the phi plus a step. */
typedef struct counter {
    LLVMValueRef phi, start, next, step;
    LLVMBasicBlockRef before, latch; /* that these values come from */
    LLVMBasicBlockRef header;        /* of the loop; the same as `latch` if it has no other block */
} counter;

static bool find_counter(LLVMValueRef phi, counter *out_counter)
{
    if (LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMIntegerTypeKind || LLVMCountIncoming(phi) != 2) return false;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, i);
        LLVMValueRef step = find_operand(next, LLVMAdd, phi);
        if (step == NULL) continue;
        *out_counter = (counter){.phi = phi,
                                 .start = LLVMGetIncomingValue(phi, 1 - i),
                                 .next = next,
                                 .step = step,
                                 .before = LLVMGetIncomingBlock(phi, 1 - i),
                                 .latch = LLVMGetIncomingBlock(phi, i),
                                 .header = LLVMGetInstructionParent(phi)};
        return true;
    }
    return false;
}

/* ---- products ---- */

static bool is_in_block(LLVMValueRef value, LLVMBasicBlockRef block)
{
    return LLVMIsAInstruction(value) != NULL && LLVMGetInstructionParent(value) == block;
}

/* What the value multiplies the counter by; NULL unless it does, and by what is the same in all rounds. Of what a
 * header uses, all that is not its own is from outside of the loop. */
static LLVMValueRef find_factor(const counter *c, LLVMValueRef value)
{
    LLVMOpcode opcode = is_operation(value, LLVMShl) ? LLVMShl : LLVMMul;
    LLVMValueRef factor = find_operand(value, opcode, c->phi);
    return factor != NULL && is_in_block(value, c->header) && !is_in_block(factor, c->header) ? factor : NULL;
}

static LLVMValueRef multiply(LLVMBuilderRef builder, LLVMValueRef product, LLVMValueRef value, LLVMValueRef factor)
{
    return is_operation(product, LLVMShl) ? LLVMBuildShl(builder, value, factor, "")
                                          : LLVMBuildMul(builder, value, factor, "");
}

/* The only address that the product is for; NULL: there are several, which have it in common, or none. */
static LLVMValueRef find_address(LLVMValueRef product, LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(product);
    if (use == NULL || LLVMGetNextUse(use) != NULL) return NULL;
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAGetElementPtrInst(user) == NULL || !is_in_block(user, block)) return NULL;
    return LLVMGetNumIndices(user) == 1 && !is_in_block(LLVMGetOperand(user, 0), block) ? user : NULL;
}

/* A sum; with `element`, which may be NULL, of a pointer and a number of elements. */
static LLVMValueRef advance(LLVMBuilderRef builder, LLVMTypeRef element, LLVMValueRef from, LLVMValueRef count)
{
    return element != NULL ? LLVMBuildGEP2(builder, element, from, &count, 1, "")
                           : LLVMBuildAdd(builder, from, count, "");
}

/* A counter takes the place of a product, or of the address that it is for. */
static void reduce(LLVMBuilderRef builder, const counter *c, LLVMValueRef product)
{
    LLVMValueRef address = find_address(product, c->header), replaced = address != NULL ? address : product, values[2];
    LLVMTypeRef element = address != NULL ? LLVMGetGEPSourceElementType(address) : NULL;
    LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(c->before));
    LLVMValueRef factor = find_factor(c, product), step = multiply(builder, product, c->step, factor);
    values[0] = multiply(builder, product, c->start, factor);
    if (address != NULL) values[0] = advance(builder, element, LLVMGetOperand(address, 0), values[0]);
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(c->header));
    LLVMValueRef phi = LLVMBuildPhi(builder, LLVMTypeOf(replaced), "");
    LLVMPositionBuilderBefore(builder, c->next);
    values[1] = LLVMBuildFreeze(builder, advance(builder, element, phi, step), "");
    LLVMBasicBlockRef blocks[2] = {c->before, c->latch};
    LLVMAddIncoming(phi, values, blocks, 2);
    LLVMReplaceAllUsesWith(replaced, phi);
    LLVMInstructionEraseFromParent(replaced);
    if (address != NULL) LLVMInstructionEraseFromParent(product);
}

/* Around other loops only what is for one address, as that then takes no further register. */
static LLVMValueRef find_product(const counter *c)
{
    bool is_innermost = c->header == c->latch;
    for (LLVMUseRef use = LLVMGetFirstUse(c->phi); use != NULL; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (find_factor(c, user) != NULL && (is_innermost || find_address(user, c->header) != NULL)) return user;
    }
    return NULL;
}

static bool is_step_constant(const counter *c)
{
    return c->header == c->latch ? !is_in_block(c->step, c->header) : LLVMIsAInstruction(c->step) == NULL;
}

static void reduce_products(LLVMBuilderRef builder, const counter *c)
{
    if (!is_step_constant(c)) return;
    for (LLVMValueRef product; (product = find_product(c)) != NULL;) reduce(builder, c, product);
}

/* ---- all ---- */

static void freeze(LLVMBuilderRef builder, LLVMValueRef value)
{
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(value));
    LLVMValueRef frozen = LLVMBuildFreeze(builder, value, "");
    LLVMReplaceAllUsesWith(value, frozen);
    LLVMSetOperand(frozen, 0, value);
}

/* Counters of products are put in front of the phi that is looked at, and frozen when they are made. */
static void freeze_block(LLVMBuilderRef builder, LLVMBasicBlockRef block)
{
    counter c;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); LLVMIsAPHINode(i) != NULL; i = LLVMGetNextInstruction(i)) {
        if (!find_counter(i, &c)) continue;
        reduce_products(builder, &c);
        freeze(builder, c.next);
    }
}

void weft_counters_freeze(LLVMValueRef function)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(function)));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b != NULL; b = LLVMGetNextBasicBlock(b))
        freeze_block(builder, b);
    LLVMDisposeBuilder(builder);
}
