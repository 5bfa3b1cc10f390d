//! The controller's policy over every value of its hints, on the chip and on this machine: the same bytes.
#include "policy.h"

#ifdef __AVR__
volatile uint8_t said;
#define SAY(byte) said = (byte)
#define END() __asm__ volatile("break")
#else
#include <stdio.h>
#define SAY(byte) putchar(byte)
#define END() fflush(stdout)
#endif

static struct job job(unsigned number)
{
    return (struct job){(enum standing)(number / 4), number / 2 % 2, number % 2};
}

int main(void)
{
    for (unsigned line = LINE_IDLE; line <= LINE_RECEIVES; line++) {
        for (unsigned first = SECURITY_SEALS; first <= SECURITY_OPENS; first++) {
            for (unsigned seals = 0; seals < 4 * STANDINGS; seals++) {
                for (unsigned opens = 0; opens < 4 * STANDINGS; opens++) {
                    struct hints hints = {(enum line)line, (enum security)first, job(seals), job(opens)};
                    struct decision decision = policy_decide(&hints);
                    SAY((uint8_t)(decision.security << 4 | decision.reason));
                    SAY(decision.row);
                }
            }
        }
    }
    END();
    return 0;
}
