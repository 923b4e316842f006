/* A graph of tasks that runs for each frame of a film. A condition repeats a part. A limit says how many
 * tasks read from the disk at once. A task that fails stops a run. */
#include <pilfer/pilfer_graph.h>

#include <stdio.h>
#include <stdlib.h>

/* What the tasks share. The edges order the accesses. */
struct film {
    int frame;
    int left, right;
    int passes;
    int broken;
};

enum { DISK_IS_FULL = -1000 };

static int read_left(void* arg) {
    struct film* f = arg;
    f->left = 10 * f->frame;
    return 0;
}
static int read_right(void* arg) {
    struct film* f = arg;
    f->right = 10 * f->frame + 1;
    return 0;
}
static int begin(void* arg) {
    struct film* f = arg;
    f->passes = 0;
    return 0;
}
static int refine(void* arg) {
    struct film* f = arg;
    ++f->passes;
    return 0;
}
/* Index 0: refine again; 1: show. */
static int is_good(void* arg) {
    const struct film* f = arg;
    return f->passes < 3 ? 0 : 1;
}
static int show(void* arg) {
    const struct film* f = arg;
    printf("frame %d: %d %d, %d passes\n", f->frame, f->left, f->right, f->passes);
    return 0;
}
static int check_disk(void* arg) {
    const struct film* f = arg;
    return f->broken ? DISK_IS_FULL : 0;
}

static int print_start(const char* text, size_t bytes, void* arg) {
    (void)bytes;
    (void)arg;
    printf("%.9s\n", text);
    return 0;
}

/* Ends the program if a call has failed. */
static void must(int code) {
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(code));
        exit(1);
    }
}

static void build_film(pilfer_graph* graph, pilfer_graph_limit* disk, struct film* film) {
    pilfer_node left, right, first, again, good, last;
    must(pilfer_graph_task(graph, read_left, film, &left));
    must(pilfer_graph_task(graph, read_right, film, &right));
    must(pilfer_node_limit(left, disk));
    must(pilfer_node_limit(right, disk));
    must(pilfer_graph_task(graph, begin, film, &first));
    must(pilfer_node_succeed(first, left));
    must(pilfer_node_succeed(first, right));
    must(pilfer_graph_task(graph, refine, film, &again));
    must(pilfer_node_precede(first, again));
    must(pilfer_graph_condition(graph, is_good, film, &good));
    must(pilfer_node_precede(again, good));
    must(pilfer_graph_task(graph, show, film, &last));
    must(pilfer_node_choose(good, again));
    must(pilfer_node_choose(good, last));
    must(pilfer_node_set_name(last, "show"));
}

int main(void) {
    struct film film = {0};
    pilfer_graph_limit* disk;
    pilfer_graph* graph;
    must(pilfer_graph_limit_new(&disk, 1));
    must(pilfer_graph_new(&graph));
    build_film(graph, disk, &film);
    for (film.frame = 1; film.frame <= 2; ++film.frame) {
        must(pilfer_graph_run(NULL, graph)); /* outside a pool: in the common one */
    }

    /* A graph with the film as a task. */
    pilfer_graph* checked;
    pilfer_node check, part;
    must(pilfer_graph_new(&checked));
    must(pilfer_graph_task(checked, check_disk, &film, &check));
    must(pilfer_graph_subgraph(checked, graph, &part));
    must(pilfer_node_precede(check, part));
    film.broken = 1;
    if (pilfer_graph_run(NULL, checked) == DISK_IS_FULL) {
        puts("stopped: the disk is full");
    }
    film.broken = 0;
    must(pilfer_graph_run(NULL, checked));
    must(pilfer_graph_dot(checked, print_start, NULL)); /* for Graphviz */

    must(pilfer_graph_free(checked)); /* before the graph that is a part of it */
    must(pilfer_graph_free(graph));
    pilfer_graph_limit_free(disk);
    return 0;
}
