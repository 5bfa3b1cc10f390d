/* A product of matrices of 20 by 20, by rows and columns, and one turned first: multiplications and strides. */
#include "work.h"

#define SIDE 20

static int32_t a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static void multiply(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            int32_t sum = 0;
            for (int at = 0; at < SIDE; at++)
                sum += a[row][at] * b[at][column];
            c[row][column] = sum;
        }
}

static void turn(void)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < row; column++) {
            int32_t kept = c[row][column];
            c[row][column] = c[column][row];
            c[column][row] = kept;
        }
}

uint32_t work(void)
{
    uint32_t seed = 8, sum = 0;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            a[row][column] = (int32_t)number(&seed) >> 12;
            b[row][column] = (int32_t)number(&seed) >> 12;
        }
    multiply();
    turn();
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++)
            sum = sum * 3 + c[row][column];
    return sum;
}
