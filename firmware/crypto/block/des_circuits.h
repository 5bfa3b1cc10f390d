/*
 * DES's S-boxes as circuits: bits of 32 blocks are words, lowest bit first, and the result is added to what is there.
 * Found by scripts/circuits.c and written by scripts/circuits.py; do not edit.
 */
#ifndef SELVEDGE_DES_CIRCUITS_H
#define SELVEDGE_DES_CIRCUITS_H

#include "../estimate.h"

/* S1: 58 gates. */
INLINE void des_substitute_1(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x5 ^ x2, t1 = x2 ^ x3, t2 = t1 & x5, t3 = x0 | t2, t4 = t0 ^ t3, t5 = ~t3;
    const uint32_t t6 = x3 ^ t4, t7 = t6 | x2, t8 = x3 & t7, t9 = t5 ^ t8, t10 = x1 | t9, t11 = t4 ^ t10;
    const uint32_t t12 = t0 | x0, t13 = x3 & t3, t14 = t12 ^ t13, t15 = t4 ^ x0, t16 = x2 & x5;
    const uint32_t t17 = t15 ^ t16, t18 = x1 & t17, t19 = t14 ^ t18, t20 = x4 | t19, t21 = t11 ^ t20;
    const uint32_t t22 = t13 ^ t19, t23 = t22 ^ t6, t24 = t12 & t6, t25 = ~t24, t26 = x1 | t23;
    const uint32_t t27 = t25 ^ t26, t28 = x4 | t27, t29 = t23 ^ t28, t30 = x2 & t10, t31 = x5 & t30;
    const uint32_t t32 = t29 ^ t31, t33 = t18 | x2, t34 = t33 ^ t23, t35 = t26 ^ t16, t36 = x0 | t35;
    const uint32_t t37 = t34 ^ t36, t38 = t37 ^ t8, t39 = t38 & t11, t40 = t2 ^ t19, t41 = t40 & t36;
    const uint32_t t42 = x5 & t41, t43 = t39 ^ t42, t44 = x4 | t43, t45 = t37 ^ t44, t46 = x0 & t1;
    const uint32_t t47 = t46 ^ t9, t48 = x2 | t37, t49 = x4 & t48, t50 = t47 ^ t49, t51 = x5 | t46;
    const uint32_t t52 = t51 ^ t38, t53 = t34 ^ t41, t54 = x4 | t53, t55 = t52 ^ t54, t56 = x1 | t55;
    const uint32_t t57 = t50 ^ t56;
    *y0 ^= t45;
    *y1 ^= t32;
    *y2 ^= t21;
    *y3 ^= t57;
}

/* S2: 53 gates. */
INLINE void des_substitute_2(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x1 ^ x4, t1 = ~x5, t2 = t1 & t0, t3 = x1 | t2, t4 = t1 ^ t3, t5 = x0 | t4;
    const uint32_t t6 = t0 ^ t5, t7 = x1 | t6, t8 = t7 ^ t3, t9 = x0 | x4, t10 = t8 ^ t9, t11 = x3 & t10;
    const uint32_t t12 = t6 ^ t11, t13 = t2 ^ x4, t14 = t13 & t10, t15 = x2 | t14, t16 = t12 ^ t15;
    const uint32_t t17 = t1 ^ t0, t18 = t17 ^ x0, t19 = t9 & t5, t20 = t19 ^ x4, t21 = x3 & t20;
    const uint32_t t22 = t18 ^ t21, t23 = ~t20, t24 = t12 & t7, t25 = x0 & t24, t26 = t23 ^ t25;
    const uint32_t t27 = x2 & t26, t28 = t22 ^ t27, t29 = t21 ^ t1, t30 = x1 | t13, t31 = t29 ^ t30;
    const uint32_t t32 = t3 & t9, t33 = t32 | t13, t34 = x2 & t33, t35 = t31 ^ t34, t36 = t29 | t26;
    const uint32_t t37 = x4 | t23, t38 = t36 ^ t37, t39 = x3 | t38, t40 = t35 ^ t39, t41 = x5 & t5;
    const uint32_t t42 = t41 ^ t18, t43 = t19 & t28, t44 = x3 | t43, t45 = t42 ^ t44, t46 = t40 | t19;
    const uint32_t t47 = t46 ^ t32, t48 = t42 & t45, t49 = x3 | t48, t50 = t47 ^ t49, t51 = x2 | t50;
    const uint32_t t52 = t45 ^ t51;
    *y0 ^= t16;
    *y1 ^= t52;
    *y2 ^= t28;
    *y3 ^= t40;
}

/* S3: 53 gates. */
INLINE void des_substitute_3(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x0 ^ x1, t1 = t0 ^ x2, t2 = t0 & x1, t3 = t2 | x4, t4 = x3 & t3, t5 = t1 ^ t4;
    const uint32_t t6 = ~t5, t7 = x3 | x1, t8 = t6 ^ t7, t9 = t3 ^ t8, t10 = x2 & t9, t11 = t8 ^ t10;
    const uint32_t t12 = t11 | x0, t13 = x4 & t12, t14 = t11 ^ t13, t15 = x5 | t14, t16 = t5 ^ t15;
    const uint32_t t17 = x4 ^ t1, t18 = t17 ^ t7, t19 = t18 ^ x3, t20 = x0 & t19, t21 = t1 ^ t20;
    const uint32_t t22 = x2 & t21, t23 = t18 ^ t22, t24 = t2 ^ t8, t25 = t24 & t17, t26 = x3 & t25;
    const uint32_t t27 = t25 ^ t26, t28 = x5 | t27, t29 = t23 ^ t28, t30 = x2 & x1, t31 = t30 ^ t19;
    const uint32_t t32 = x1 | t8, t33 = t32 ^ t12, t34 = t18 & x0, t35 = t34 ^ t9, t36 = x2 | t35;
    const uint32_t t37 = t33 ^ t36, t38 = x5 & t37, t39 = t31 ^ t38, t40 = t5 ^ t28, t41 = t40 | t22;
    const uint32_t t42 = x3 | t15, t43 = t41 ^ t42, t44 = x1 & t30, t45 = t43 ^ t44, t46 = t1 ^ x1;
    const uint32_t t47 = t32 & x3, t48 = t47 ^ t22, t49 = x5 & t48, t50 = t46 ^ t49, t51 = x4 | t50;
    const uint32_t t52 = t45 ^ t51;
    *y0 ^= t39;
    *y1 ^= t52;
    *y2 ^= t29;
    *y3 ^= t16;
}

/* S4: 40 gates. */
INLINE void des_substitute_4(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x2 ^ x1, t1 = ~x1, t2 = x2 | t1, t3 = x3 ^ t2, t4 = x4 | t3, t5 = t0 ^ t4;
    const uint32_t t6 = x4 ^ t5, t7 = t6 | x2, t8 = x3 & t0, t9 = t7 ^ t8, t10 = x5 & t9, t11 = t5 ^ t10;
    const uint32_t t12 = t5 & t3, t13 = t10 ^ x5, t14 = x4 | t13, t15 = t12 ^ t14, t16 = t11 | t3;
    const uint32_t t17 = t16 ^ x5, t18 = x2 | t17, t19 = t15 ^ t18, t20 = x0 | t19, t21 = t11 ^ t20;
    const uint32_t t22 = x2 | t11, t23 = t22 ^ t15, t24 = t14 ^ t8, t25 = t24 ^ x5, t26 = x4 & t25;
    const uint32_t t27 = t23 ^ t26, t28 = t15 | t6, t29 = t28 ^ x1, t30 = t24 | t19, t31 = t30 & t18;
    const uint32_t t32 = x5 & t31, t33 = t29 ^ t32, t34 = x0 & t33, t35 = t27 ^ t34, t36 = t19 & x0;
    const uint32_t t37 = t36 ^ t11, t38 = t33 | x0, t39 = t38 ^ t27;
    *y0 ^= t37;
    *y1 ^= t21;
    *y2 ^= t39;
    *y3 ^= t35;
}

/* S5: 59 gates. */
INLINE void des_substitute_5(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x0 ^ x5, t1 = x0 & x4, t2 = x1 | t1, t3 = t0 ^ t2, t4 = x0 | t3, t5 = t1 ^ t4;
    const uint32_t t6 = t5 | x1, t7 = x4 & t6, t8 = t4 ^ t7, t9 = x3 | t8, t10 = t3 ^ t9, t11 = x5 & x3;
    const uint32_t t12 = x4 | t11, t13 = x3 ^ t12, t14 = t10 | x5, t15 = t14 ^ t7, t16 = x1 | t15;
    const uint32_t t17 = t13 ^ t16, t18 = x2 & t17, t19 = t10 ^ t18, t20 = t0 ^ x4, t21 = t20 ^ x1;
    const uint32_t t22 = x5 & x1, t23 = x3 | t22, t24 = t21 ^ t23, t25 = t5 & x0, t26 = t24 ^ t4;
    const uint32_t t27 = x5 | t26, t28 = t25 ^ t27, t29 = x0 | t28, t30 = t29 ^ t26, t31 = x3 | t30;
    const uint32_t t32 = t28 ^ t31, t33 = x2 | t32, t34 = t24 ^ t33, t35 = t2 ^ t15, t36 = t20 ^ t15;
    const uint32_t t37 = ~t16, t38 = x0 | t37, t39 = t36 ^ t38, t40 = x3 | t39, t41 = t35 ^ t40;
    const uint32_t t42 = t32 & t35, t43 = x0 | t42, t44 = t16 ^ t43, t45 = x2 | t44, t46 = t41 ^ t45;
    const uint32_t t47 = t46 ^ t34, t48 = ~t19, t49 = x4 | t48, t50 = t47 ^ t49, t51 = x5 | t19;
    const uint32_t t52 = t50 ^ t51, t53 = t29 & t19, t54 = t24 & t47, t55 = x5 & t54, t56 = t53 ^ t55;
    const uint32_t t57 = x1 | t56, t58 = t52 ^ t57;
    *y0 ^= t19;
    *y1 ^= t46;
    *y2 ^= t34;
    *y3 ^= t58;
}

/* S6: 53 gates. */
INLINE void des_substitute_6(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x5 & x0, t1 = t0 ^ x4, t2 = x1 | x5, t3 = t1 ^ t2, t4 = x4 & t1, t5 = x1 & x5;
    const uint32_t t6 = t4 ^ t5, t7 = x3 | t6, t8 = t3 ^ t7, t9 = x3 & t8, t10 = t9 ^ t6, t11 = t4 | x1;
    const uint32_t t12 = t11 ^ t10, t13 = x0 & t12, t14 = t10 ^ t13, t15 = x2 & t14, t16 = t8 ^ t15;
    const uint32_t t17 = x3 | x1, t18 = ~t17, t19 = x2 | t18, t20 = t14 ^ t19, t21 = x1 & t6, t22 = x3 ^ t1;
    const uint32_t t23 = t22 | t5, t24 = x2 | t23, t25 = t21 ^ t24, t26 = t16 | t21, t27 = t26 ^ t3;
    const uint32_t t28 = x3 | t27, t29 = t25 ^ t28, t30 = x0 & t29, t31 = t20 ^ t30, t32 = t8 ^ x0;
    const uint32_t t33 = t32 ^ t22, t34 = t32 & t21, t35 = x2 | t34, t36 = t33 ^ t35, t37 = t26 & t3;
    const uint32_t t38 = x4 | t37, t39 = t36 ^ t38, t40 = t8 & t31, t41 = t40 ^ t36, t42 = t5 & t33;
    const uint32_t t43 = t42 ^ t15, t44 = x2 & t43, t45 = t41 ^ t44, t46 = t1 ^ t16, t47 = t46 & t33;
    const uint32_t t48 = t19 ^ t27, t49 = x5 | t48, t50 = t47 ^ t49, t51 = x4 | t50, t52 = t45 ^ t51;
    *y0 ^= t16;
    *y1 ^= t39;
    *y2 ^= t52;
    *y3 ^= t31;
}

/* S7: 53 gates. */
INLINE void des_substitute_7(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x2 ^ x1, t1 = x2 & t0, t2 = t1 ^ x4, t3 = x3 | t2, t4 = t0 ^ t3, t5 = x0 ^ x4;
    const uint32_t t6 = t5 | t2, t7 = x0 & t6, t8 = t4 ^ t7, t9 = x3 ^ t8, t10 = t9 & t2, t11 = x0 & t10;
    const uint32_t t12 = x5 ^ t11, t13 = x5 & t12, t14 = t8 ^ t13, t15 = t1 & x3, t16 = t15 ^ t2;
    const uint32_t t17 = x2 | t4, t18 = t16 ^ t17, t19 = t0 & t17, t20 = t19 | t10, t21 = x5 & t20;
    const uint32_t t22 = t18 ^ t21, t23 = t9 & x5, t24 = ~t23, t25 = t5 & x2, t26 = x5 | t25, t27 = t2 ^ t26;
    const uint32_t t28 = x3 & t27, t29 = t24 ^ t28, t30 = x0 & t29, t31 = t22 ^ t30, t32 = t12 ^ t10;
    const uint32_t t33 = t32 ^ t3, t34 = t28 & t24, t35 = t34 | t20, t36 = x0 & t35, t37 = t33 ^ t36;
    const uint32_t t38 = t31 | t26, t39 = x2 ^ t6, t40 = t39 | x3, t41 = x4 | t40, t42 = t38 ^ t41;
    const uint32_t t43 = x1 | t42, t44 = t37 ^ t43, t45 = t18 ^ t24, t46 = t45 ^ t9, t47 = x2 | t38;
    const uint32_t t48 = t46 ^ t47, t49 = t44 | x2, t50 = t49 ^ t28, t51 = x0 & t50, t52 = t48 ^ t51;
    *y0 ^= t14;
    *y1 ^= t44;
    *y2 ^= t52;
    *y3 ^= t31;
}

/* S8: 50 gates. */
INLINE void des_substitute_8(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3, uint32_t x4, uint32_t x5,
                             uint32_t *y0, uint32_t *y1, uint32_t *y2, uint32_t *y3)
{
    const uint32_t t0 = x5 ^ x3, t1 = ~x4, t2 = x2 | t1, t3 = t0 ^ t2, t4 = x2 & t1, t5 = x3 | x4;
    const uint32_t t6 = t5 ^ t2, t7 = x5 & t6, t8 = t4 ^ t7, t9 = x1 | t8, t10 = t3 ^ t9, t11 = t5 ^ x2;
    const uint32_t t12 = t11 | t7, t13 = t11 & t0, t14 = t13 ^ x4, t15 = x1 | t14, t16 = t12 ^ t15;
    const uint32_t t17 = x0 & t16, t18 = t10 ^ t17, t19 = t1 | x1, t20 = x3 | t19, t21 = t8 ^ t20;
    const uint32_t t22 = t12 | x1, t23 = t22 ^ t2, t24 = x5 | t23, t25 = t21 ^ t24, t26 = t23 ^ t10;
    const uint32_t t27 = t26 & t6, t28 = x1 | t21, t29 = t28 ^ t26, t30 = x5 & t29, t31 = t27 ^ t30;
    const uint32_t t32 = x0 & t31, t33 = t25 ^ t32, t34 = t6 & t25, t35 = t34 ^ t16, t36 = t14 & t29;
    const uint32_t t37 = ~t36, t38 = x5 & t37, t39 = t35 ^ t38, t40 = x0 | t39, t41 = t10 ^ t40;
    const uint32_t t42 = t28 ^ x5, t43 = t25 ^ t5, t44 = x1 & t43, t45 = t42 ^ t44, t46 = t36 ^ t34;
    const uint32_t t47 = t46 & t31, t48 = x0 | t47, t49 = t45 ^ t48;
    *y0 ^= t18;
    *y1 ^= t33;
    *y2 ^= t49;
    *y3 ^= t41;
}

#endif
