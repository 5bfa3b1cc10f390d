/* Sorts 300 words two ways: quick with recursion, and by a heap. Branches that nobody foresees, and short functions. */
#include "work.h"

#define COUNT 300

static uint32_t words[COUNT];

static void fill(uint32_t seed)
{
    for (int at = 0; at < COUNT; at++)
        words[at] = number(&seed);
}

static void quick(uint32_t *first, uint32_t *last)
{
    if (first >= last)
        return;
    uint32_t pivot = first[(last - first) / 2];
    uint32_t *low = first, *high = last;
    while (low <= high) {
        while (*low < pivot)
            low++;
        while (*high > pivot)
            high--;
        if (low <= high) {
            uint32_t kept = *low;
            *low++ = *high;
            *high-- = kept;
        }
    }
    quick(first, high);
    quick(low, last);
}

static void sift(int at, int count)
{
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && words[child + 1] > words[child])
            child++;
        if (words[at] >= words[child])
            return;
        uint32_t kept = words[at];
        words[at] = words[child];
        words[child] = kept;
    }
}

static void heap(void)
{
    for (int at = COUNT / 2; at-- > 0;)
        sift(at, COUNT);
    for (int count = COUNT; --count > 0;) {
        uint32_t kept = words[0];
        words[0] = words[count];
        words[count] = kept;
        sift(0, count);
    }
}

static uint32_t sum(void)
{
    uint32_t sum = 0;
    for (int at = 0; at < COUNT; at++)
        sum = sum * 31 + words[at];
    return sum;
}

uint32_t work(void)
{
    fill(1);
    quick(words, words + COUNT - 1);
    uint32_t first = sum();
    fill(2);
    heap();
    return first ^ sum();
}
