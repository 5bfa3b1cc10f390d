/* A small machine with a stack that runs a small program: a switch, calls by way of addresses, and functions that leave
 * what they push in memory for the next to fetch. */
#include "work.h"

enum { PUSH, ADD, SWAP, MIX, AGAIN, CALL, END };

static const uint8_t program[] = {
    PUSH, 200, PUSH, 7, MIX, SWAP, CALL, 0, SWAP, CALL, 1, ADD, PUSH, 3, MIX, CALL, 2, SWAP, AGAIN, 4, END,
};

static uint32_t stack[16], depth;

static uint32_t turn(uint32_t value)
{
    return value << 5 | value >> 27;
}

static uint32_t count(uint32_t value)
{
    uint32_t bits = 0;
    for (; value != 0; value &= value - 1)
        bits++;
    return bits;
}

static uint32_t square(uint32_t value)
{
    return value * value + 1;
}

static uint32_t (*const functions[])(uint32_t) = {turn, count, square};

static void push(uint32_t value)
{
    stack[depth++ & 15] = value;
}

static uint32_t pop(void)
{
    return stack[--depth & 15];
}

uint32_t work(void)
{
    uint32_t rounds = 120, a, b;
    depth = 0;
    push(9);
    push(10);
    for (const uint8_t *at = program;;) {
        switch (*at++) {
        case PUSH:
            push(*at++);
            break;
        case ADD:
            a = pop();
            push(a + pop());
            break;
        case SWAP:
            a = pop();
            b = pop();
            push(a);
            push(b);
            break;
        case MIX:
            a = pop();
            b = pop();
            push(a ^ b * 2654435761u);
            push(b);
            break;
        case AGAIN:
            if (--rounds > 0)
                at = program + *at;
            else
                at++;
            break;
        case CALL:
            push(functions[*at++](pop()));
            break;
        default:
            a = pop();
            return a ^ pop();
        }
    }
}
