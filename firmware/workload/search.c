/*
 * Searches a text for each of many patterns, and says how often and where each is.
 *
 * The algorithm is Horspool's: R. N. Horspool, Practical fast searching in strings, Software: Practice and Experience
 * 10 (1980) 501-506, which keeps of Boyer and Moore's two shifts (CACM 20 (1977) 762-772) the one by the text's last
 * character. Letters are compared without case, in ASCII.
 *
 *   search PATTERNS TEXT        PATTERNS has one pattern a line; empty lines are none
 *
 * Prints `COUNT FIRST LAST PATTERN` for each, offsets in bytes and `-` for what is not there, and the sums.
 */
#include <string.h>

#include "whole.h"

#define BYTE_VALUES 256

/* What a comparison sees of each byte. */
static unsigned char folded[BYTE_VALUES];

struct found {
    unsigned long count;
    size_t first, last;
};

static void fold_case(void)
{
    int byte;
    for (byte = 0; byte < BYTE_VALUES; byte++) {
        folded[byte] = (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
    }
}

/* How far a window may move whose last byte is the index: up to the last place of that byte in the pattern. */
static void shifts_of(const unsigned char *pattern, size_t length, size_t shifts[BYTE_VALUES])
{
    size_t i;
    int byte;

    for (byte = 0; byte < BYTE_VALUES; byte++) {
        shifts[byte] = length;
    }
    for (i = 0; i + 1 < length; i++) {
        shifts[folded[pattern[i]]] = length - 1 - i;
    }
}

static int is_here(const unsigned char *text, const unsigned char *pattern, size_t length)
{
    size_t i = length;
    while (i != 0) {
        i--;
        if (folded[text[i]] != folded[pattern[i]]) {
            return 0;
        }
    }
    return 1;
}

/* Every place of the pattern, those that overlap too. */
static struct found search(const unsigned char *text, size_t text_length, const unsigned char *pattern,
                           size_t length)
{
    size_t shifts[BYTE_VALUES];
    struct found found = { 0, 0, 0 };
    size_t at = 0;

    shifts_of(pattern, length, shifts);
    while (at + length <= text_length) {
        if (is_here(text + at, pattern, length)) {
            if (found.count == 0) {
                found.first = at;
            }
            found.last = at;
            found.count++;
        }
        at += shifts[folded[text[at + length - 1]]];
    }
    return found;
}

static void say(const struct found *found, const unsigned char *pattern, size_t length)
{
    if (found->count == 0) {
        printf("0 - - %.*s\n", (int)length, (const char *)pattern);
    } else {
        printf("%lu %lu %lu %.*s\n", found->count, (unsigned long)found->first, (unsigned long)found->last,
               (int)length, (const char *)pattern);
    }
}

int main(int argc, char **argv)
{
    unsigned char *patterns, *text, *pattern;
    size_t patterns_length, text_length;
    unsigned long searched = 0, present = 0, places = 0;

    if (argc != 3) {
        fprintf(stderr, "usage: search PATTERNS TEXT\n");
        return 2;
    }
    patterns = whole(argv[1], &patterns_length);
    text = whole(argv[2], &text_length);
    fold_case();
    for (pattern = patterns; *pattern != 0;) {
        size_t length = strcspn((const char *)pattern, "\n");
        if (length != 0) {
            struct found found = search(text, text_length, pattern, length);
            say(&found, pattern, length);
            searched++;
            present += found.count != 0;
            places += found.count;
        }
        pattern += length + (pattern[length] == '\n');
    }
    printf("%lu patterns, %lu present, %lu places\n", searched, present, places);
    free(patterns);
    free(text);
    return 0;
}
