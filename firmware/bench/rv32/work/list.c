/* Follows a list through 16 KiB in an order that nobody foresees, and a tree of the same: loads that wait for loads, and
 * hardly a line that is still in a cache. */
#include "work.h"

#define COUNT 1024

struct node {
    struct node *next, *less, *more;
    uint32_t key;
};

static struct node nodes[COUNT];

static struct node *chain(void)
{
    uint32_t seed = 9, at = 0;
    for (uint32_t count = 0; count < COUNT; count++) {
        /* A step that is odd meets every node once. */
        uint32_t next = (at + 389) % COUNT;
        nodes[at].next = &nodes[next];
        nodes[at].key = number(&seed);
        nodes[at].less = nodes[at].more = 0;
        at = next;
    }
    return nodes;
}

static void insert(struct node *root, struct node *one)
{
    for (;;) {
        struct node **way = one->key < root->key ? &root->less : &root->more;
        if (!*way) {
            *way = one;
            return;
        }
        root = *way;
    }
}

uint32_t work(void)
{
    struct node *root = chain();
    uint32_t sum = 0;
    int count = 0;
    for (struct node *at = root->next; at != root; at = at->next) {
        sum = sum * 7 + at->key;
        if (++count < 150)
            insert(root, at);
    }
    for (struct node *at = root; at; at = at->key & 1 ? at->less : at->more)
        sum ^= at->key;
    return sum;
}
