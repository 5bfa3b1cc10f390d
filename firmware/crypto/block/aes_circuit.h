/*
 * AES's S-box and its inverse as circuits, without the constant 0x63, which belongs into the round keys: bit i of 32
 * bytes is word i. Found and written by scripts/circuits.py, which says how; do not edit.
 */
#ifndef SELVEDGE_AES_CIRCUIT_H
#define SELVEDGE_AES_CIRCUIT_H

#include "../estimate.h"

/* S(x) ^ 0x63: 111 gates. */
INLINE void aes_substitute(uint32_t x[8])
{
    const uint32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
    const uint32_t t0 = x3 ^ x1, t1 = x7 ^ x2, t2 = t1 ^ x0, t3 = t0 ^ t2, t4 = t3 ^ x2, t5 = t4 ^ x6;
    const uint32_t t6 = x4 ^ x6, t7 = t6 ^ x7, t8 = x3 ^ t6, t9 = t3 ^ t8, t10 = x3 ^ t7, t11 = t1 ^ t9;
    const uint32_t t12 = t7 ^ t5, t13 = t12 ^ t9, t14 = t2 ^ t12, t15 = t14 ^ t8, t16 = t14 ^ x5;
    const uint32_t t17 = t5 ^ t16, t18 = t16 ^ t10, t19 = t18 ^ x6, t20 = t9 ^ t17, t21 = x0 ^ t4;
    const uint32_t t22 = t21 ^ t19, t23 = t5 & t12, t24 = t17 & t9, t25 = t16 & t13, t26 = t4 & t2;
    const uint32_t t27 = t11 & t3, t28 = t10 & t0, t29 = x6 & t14, t30 = t19 & t8, t31 = t18 & t15;
    const uint32_t t32 = t31 ^ t29, t33 = t30 ^ t29, t34 = t28 ^ t33, t35 = t25 ^ t33, t36 = t23 ^ t22;
    const uint32_t t37 = t36 ^ t32, t38 = t37 ^ t35, t39 = t24 ^ x1, t40 = t39 ^ t35, t41 = t26 ^ t20;
    const uint32_t t42 = t41 ^ t32, t43 = t42 ^ t34, t44 = t27 ^ t7, t45 = t44 ^ t34, t46 = t38 & t43;
    const uint32_t t47 = t46 | t40, t48 = t38 ^ t40, t49 = t45 & t48, t50 = t47 ^ t49, t51 = t46 & t40;
    const uint32_t t52 = t38 | t49, t53 = t51 ^ t52, t54 = t45 ^ t43, t55 = t54 & t47, t56 = t45 | t51;
    const uint32_t t57 = t55 ^ t56, t58 = t46 ^ t43, t59 = t58 | t55, t60 = t50 ^ t57, t61 = t59 ^ t53;
    const uint32_t t62 = t50 ^ t53, t63 = t60 ^ t61, t64 = t57 ^ t59, t65 = t64 & t12, t66 = t57 & t9;
    const uint32_t t67 = t59 & t13, t68 = t62 & t2, t69 = t50 & t3, t70 = t53 & t0, t71 = t63 & t14;
    const uint32_t t72 = t60 & t8, t73 = t61 & t15, t74 = t64 & t5, t75 = t57 & t17, t76 = t59 & t16;
    const uint32_t t77 = t62 & t4, t78 = t50 & t11, t79 = t53 & t10, t80 = t63 & x6, t81 = t60 & t19;
    const uint32_t t82 = t61 & t18, t83 = t78 ^ t79, t84 = t75 ^ t83, t85 = t84 ^ t76, t86 = t68 ^ t69;
    const uint32_t t87 = t66 ^ t85, t88 = t65 ^ t86, t89 = t88 ^ t87, t90 = t77 ^ t79, t91 = t90 ^ t84;
    const uint32_t t92 = t91 ^ t89, t93 = t82 ^ t76, t94 = t93 ^ t81, t95 = t92 ^ t94, t96 = t80 ^ t83;
    const uint32_t t97 = t96 ^ t81, t98 = t70 ^ t69, t99 = t98 ^ t97, t100 = t72 ^ t94, t101 = t100 ^ t99;
    const uint32_t t102 = t101 ^ t74, t103 = t71 ^ t102, t104 = t67 ^ t87, t105 = t104 ^ t99;
    const uint32_t t106 = t73 ^ t86, t107 = t106 ^ t102, t108 = t85 ^ t95, t109 = t108 ^ t103;
    const uint32_t t110 = t92 ^ t74;
    x[0] = t105;
    x[1] = t95;
    x[2] = t103;
    x[3] = t97;
    x[4] = t107;
    x[5] = t89;
    x[6] = t109;
    x[7] = t110;
}

/* The inverse of S(x) ^ 0x63: 111 gates. */
INLINE void aes_unsubstitute(uint32_t x[8])
{
    const uint32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
    const uint32_t t0 = x1 ^ x2, t1 = x0 ^ x4, t2 = t1 ^ x5, t3 = t2 ^ x4, t4 = t0 ^ t3, t5 = x6 ^ t4;
    const uint32_t t6 = t4 ^ x2, t7 = t1 ^ x1, t8 = t0 ^ t1, t9 = t7 ^ t4, t10 = x4 ^ x7, t11 = t7 ^ t10;
    const uint32_t t12 = t9 ^ t11, t13 = t5 ^ t11, t14 = t0 ^ x3, t15 = x0 ^ t14, t16 = t5 ^ t15;
    const uint32_t t17 = t14 ^ t9, t18 = t13 ^ t17, t19 = t15 ^ t18, t20 = t17 ^ t16, t21 = t15 ^ x7;
    const uint32_t t22 = t7 & t13, t23 = t4 & t5, t24 = t9 & t11, t25 = x1 & t17, t26 = t3 & t16;
    const uint32_t t27 = t6 & t20, t28 = t1 & t18, t29 = t0 & t15, t30 = t8 & t19, t31 = t30 ^ t28;
    const uint32_t t32 = t29 ^ t28, t33 = t22 ^ t21, t34 = t33 ^ t32, t35 = t34 ^ t24, t36 = t23 ^ t2;
    const uint32_t t37 = t36 ^ t31, t38 = t37 ^ t24, t39 = t25 ^ t12, t40 = t39 ^ t32, t41 = t40 ^ t27;
    const uint32_t t42 = t26 ^ x6, t43 = t42 ^ t31, t44 = t43 ^ t27, t45 = t41 ^ t44, t46 = t45 & t35;
    const uint32_t t47 = t38 & t45, t48 = t41 | t47, t49 = t46 ^ t48, t50 = t47 ^ t41, t51 = t35 & t50;
    const uint32_t t52 = t38 ^ t51, t53 = t38 ^ t46, t54 = t44 & t53, t55 = t45 ^ t54, t56 = t49 ^ t55;
    const uint32_t t57 = t38 & t52, t58 = t35 | t47, t59 = t57 ^ t58, t60 = t55 ^ t59, t61 = t52 ^ t56;
    const uint32_t t62 = t60 ^ t61, t63 = t62 ^ t49, t64 = t49 & t13, t65 = t55 & t5, t66 = t56 & t11;
    const uint32_t t67 = t63 & t17, t68 = t59 & t16, t69 = t52 & t20, t70 = t62 & t18, t71 = t60 & t15;
    const uint32_t t72 = t61 & t19, t73 = t49 & t7, t74 = t55 & t4, t75 = t56 & t9, t76 = t63 & x1;
    const uint32_t t77 = t59 & t3, t78 = t52 & t6, t79 = t62 & t1, t80 = t60 & t0, t81 = t61 & t8;
    const uint32_t t82 = t64 ^ t66, t83 = t68 ^ t69, t84 = t67 ^ t69, t85 = t84 ^ t82, t86 = t65 ^ t66;
    const uint32_t t87 = t86 ^ t83, t88 = t85 ^ t87, t89 = t74 ^ t88, t90 = t80 ^ t81, t91 = t73 ^ t89;
    const uint32_t t92 = t91 ^ t90, t93 = t72 ^ t83, t94 = t70 ^ t93, t95 = t71 ^ t82, t96 = t95 ^ t93;
    const uint32_t t97 = t76 ^ t90, t98 = t77 ^ t97, t99 = t78 ^ t97, t100 = t79 ^ t81, t101 = t100 ^ t94;
    const uint32_t t102 = t101 ^ t99, t103 = t85 ^ t92, t104 = t103 ^ t94, t105 = t98 ^ t102;
    const uint32_t t106 = t87 ^ t92, t107 = t88 ^ t96, t108 = t75 ^ t89, t109 = t108 ^ t99, t110 = t96 ^ t102;
    x[0] = t104;
    x[1] = t105;
    x[2] = t106;
    x[3] = t107;
    x[4] = t109;
    x[5] = t92;
    x[6] = t110;
    x[7] = t98;
}

#endif
