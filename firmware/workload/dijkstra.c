/*
 * Finds shortest paths in a directed graph, one after the other.
 *
 * The algorithm is Dijkstra's: E. W. Dijkstra, A note on two problems in connexion with graphs, Numerische Mathematik 1
 * (1959) 269-271; what to look at next stands in a binary heap after J. W. J. Williams, Algorithm 232, CACM 7 (1964)
 * 347-348, in which a place that came nearer moves up.
 *
 *   dijkstra GRAPH
 *
 * GRAPH has lines `n NODES ARCS`, then ARCS times `a FROM TO LENGTH`, then `q FROM TO` for each path that is asked for.
 * Nodes count from 0. Prints for each path its length and its nodes, or that there is none.
 */
#include <string.h>

#include "whole.h"

#define NODES_MAX  60000
/* So that no path is longer than what a distance holds. */
#define LENGTH_MAX 65535
#define FAR        0xffffffffu
#define NOWHERE    0xffffffffu

struct arc {
    unsigned to, length;
};

struct graph {
    unsigned nodes, arcs;
    /* The arcs of node i are those from first[i] on and before first[i + 1]. */
    unsigned *first;
    struct arc *arc;
};

/* What is known of every node while a path is looked for. */
struct state {
    unsigned *distance, *before;
    /* A heap by distance, and where in it each node stands. */
    unsigned *heap, *place, count;
};

static const char *graph_path;

static void *room_for(size_t count, size_t each)
{
    void *room = calloc(count != 0 ? count : 1, each);
    if (room == NULL) {
        refuse(graph_path, "does not fit into memory");
    }
    return room;
}

/* The next number of `*at`, at most `most`. */
static unsigned number(char **at, unsigned most)
{
    char *end;
    unsigned long value = strtoul(*at, &end, 10);
    if (end == *at || value > most) {
        refuse(graph_path, "a number is missing or too large");
    }
    *at = end;
    return (unsigned)value;
}

/* Whether the next line begins with `letter`; steps over it. */
static int is_line(char **at, char letter)
{
    while (**at == '\n' || **at == ' ') {
        ++*at;
    }
    if (**at != letter) {
        return 0;
    }
    ++*at;
    return 1;
}

/* Reads the arcs as they come and sorts them by where they begin. */
static char *read_graph(char *at, struct graph *graph)
{
    unsigned *from, *next, i;
    struct arc *read;

    if (!is_line(&at, 'n')) {
        refuse(graph_path, "expected `n NODES ARCS` first");
    }
    graph->nodes = number(&at, NODES_MAX);
    graph->arcs = number(&at, 16 * NODES_MAX);
    from = room_for(graph->arcs, sizeof *from);
    read = room_for(graph->arcs, sizeof *read);
    graph->first = room_for(graph->nodes + 1, sizeof *graph->first);
    graph->arc = room_for(graph->arcs, sizeof *graph->arc);
    for (i = 0; i < graph->arcs; i++) {
        if (!is_line(&at, 'a')) {
            refuse(graph_path, "expected `a FROM TO LENGTH`");
        }
        from[i] = number(&at, graph->nodes - 1);
        read[i].to = number(&at, graph->nodes - 1);
        read[i].length = number(&at, LENGTH_MAX);
        graph->first[from[i] + 1]++;
    }
    for (i = 0; i < graph->nodes; i++) {
        graph->first[i + 1] += graph->first[i];
    }
    next = room_for(graph->nodes + 1, sizeof *next);
    memcpy(next, graph->first, (graph->nodes + 1) * sizeof *next);
    for (i = 0; i < graph->arcs; i++) {
        graph->arc[next[from[i]]++] = read[i];
    }
    free(next);
    free(read);
    free(from);
    return at;
}

static void put(struct state *state, unsigned place, unsigned node)
{
    state->heap[place] = node;
    state->place[node] = place;
}

/* Moves `node` from `place` towards the root, past all that are farther. */
static void move_up(struct state *state, unsigned place, unsigned node)
{
    while (place != 0) {
        unsigned above = (place - 1) / 2;
        if (state->distance[state->heap[above]] <= state->distance[node]) {
            break;
        }
        put(state, place, state->heap[above]);
        place = above;
    }
    put(state, place, node);
}

/* Moves `node` from `place` towards the leaves, past all that are nearer. */
static void move_down(struct state *state, unsigned place, unsigned node)
{
    for (;;) {
        unsigned below = 2 * place + 1;
        if (below >= state->count) {
            break;
        }
        if (below + 1 < state->count &&
            state->distance[state->heap[below + 1]] < state->distance[state->heap[below]]) {
            below++;
        }
        if (state->distance[node] <= state->distance[state->heap[below]]) {
            break;
        }
        put(state, place, state->heap[below]);
        place = below;
    }
    put(state, place, node);
}

static unsigned take_nearest(struct state *state)
{
    unsigned nearest = state->heap[0];
    state->count--;
    if (state->count != 0) {
        move_down(state, 0, state->heap[state->count]);
    }
    state->place[nearest] = NOWHERE;
    return nearest;
}

/* Stops as soon as the distance of `to` is final. */
static void look(const struct graph *graph, struct state *state, unsigned from, unsigned to)
{
    unsigned i;

    for (i = 0; i < graph->nodes; i++) {
        state->distance[i] = FAR;
        state->before[i] = NOWHERE;
        state->place[i] = NOWHERE;
    }
    state->distance[from] = 0;
    state->count = 1;
    put(state, 0, from);
    while (state->count != 0) {
        unsigned node = take_nearest(state);
        if (node == to) {
            return;
        }
        for (i = graph->first[node]; i < graph->first[node + 1]; i++) {
            const struct arc *arc = &graph->arc[i];
            unsigned distance = state->distance[node] + arc->length;
            if (distance < state->distance[arc->to]) {
                int is_new = state->distance[arc->to] == FAR;
                state->distance[arc->to] = distance;
                state->before[arc->to] = node;
                move_up(state, is_new ? state->count++ : state->place[arc->to], arc->to);
            }
        }
    }
}

/* The heap is no longer needed: the way back stands in it. */
static void say(struct state *state, unsigned from, unsigned to)
{
    unsigned count = 0, node = to;

    if (state->distance[to] == FAR) {
        printf("%u to %u: none\n", from, to);
        return;
    }
    for (; node != NOWHERE; node = state->before[node]) {
        state->heap[count++] = node;
    }
    printf("%u to %u: %u:", from, to, state->distance[to]);
    while (count != 0) {
        printf(" %u", state->heap[--count]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct graph graph;
    struct state state;
    size_t length;
    char *text, *at;

    if (argc != 2) {
        fprintf(stderr, "usage: dijkstra GRAPH\n");
        return 2;
    }
    graph_path = argv[1];
    text = (char *)whole(graph_path, &length);
    at = read_graph(text, &graph);
    state.distance = room_for(graph.nodes, sizeof *state.distance);
    state.before = room_for(graph.nodes, sizeof *state.before);
    state.heap = room_for(graph.nodes, sizeof *state.heap);
    state.place = room_for(graph.nodes, sizeof *state.place);
    while (is_line(&at, 'q')) {
        unsigned from = number(&at, graph.nodes - 1);
        unsigned to = number(&at, graph.nodes - 1);
        look(&graph, &state, from, to);
        say(&state, from, to);
    }
    if (*at != 0) {
        refuse(graph_path, "expected `q FROM TO`");
    }
    return 0;
}
