/*
 * Does a piece of work twice and times it, cold and warm, on the bare machine: mark 1, work, mark 2, work, mark 3. Then it
 * prints what each came to, and ends well if that is the same.
 */
#include "../bare.h"
#include "work.h"

int main(void)
{
    bare_mark(1);
    uint32_t cold = work();
    bare_mark(2);
    uint32_t warm = work();
    bare_mark(3);
    bare_put_word(cold);
    bare_put_word(warm);
    return cold != warm;
}
