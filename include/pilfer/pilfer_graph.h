/* Graphs of tasks; a part of <pilfer/pilfer.h>. The guide is docs/guides/graphs.md. */
#ifndef PILFER_PILFER_GRAPH_H
#define PILFER_PILFER_GRAPH_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tasks and the order between them: pilfer::graph. A graph is built by one thread and run any number of
 * times. Tasks share data by their arguments, and the edges order the accesses.
 *
 * While a graph runs, all calls that change it return PILFER_EUSAGE. */
typedef struct pilfer_graph pilfer_graph;
/* A task of a graph: a value, valid as long as the graph. Copies are the same task. All zeros: no task, for
 * which calls return PILFER_EUSAGE. */
typedef struct pilfer_node {
    void* graph; /* for the library */
    void* task;  /* for the library */
} pilfer_node;
/* Lets a number of tasks run at once: pilfer::graph_limit. */
typedef struct pilfer_graph_limit pilfer_graph_limit;

/* ---- building ---- */

/* Makes an empty graph. On an error *out is NULL. */
PILFER_C_API int pilfer_graph_new(pilfer_graph** out);
/* Frees the graph and its tasks. Graphs that it is a part of are freed before. PILFER_EUSAGE: it runs, and
 * stays. NULL: nothing. */
PILFER_C_API int pilfer_graph_free(pilfer_graph* graph);
/* The number of tasks; 0 for NULL. */
PILFER_C_API size_t pilfer_graph_size(const pilfer_graph* graph);

/* Adds a task that calls f(arg). f returns 0, or a negative code that ends the run: see pilfer_graph_run.
 * `out` may be NULL here and in the next two calls; on an error *out is no task, and nothing was added. */
PILFER_C_API int pilfer_graph_task(pilfer_graph* graph, int (*f)(void* arg), void* arg, pilfer_node* out);
/* Adds a condition: f(arg) returns the index of the task that runs next, among those of pilfer_node_choose().
 * With any other index from 0 on none runs. A negative code ends the run. */
PILFER_C_API int pilfer_graph_condition(pilfer_graph* graph, int (*f)(void* arg), void* arg,
                                        pilfer_node* out);
/* Adds a task that runs `inner`, which must outlive this graph. PILFER_EUSAGE: `inner` contains this graph.
 */
PILFER_C_API int pilfer_graph_subgraph(pilfer_graph* graph, pilfer_graph* inner, pilfer_node* out);

/* `node` ends before `later` starts. PILFER_EUSAGE: they are tasks of different graphs, or `node` is a
 * condition. */
PILFER_C_API int pilfer_node_precede(pilfer_node node, pilfer_node later);
/* `node` starts after `earlier` has ended: pilfer_node_precede() the other way round. */
PILFER_C_API int pilfer_node_succeed(pilfer_node node, pilfer_node earlier);
/* Appends `next` to the tasks that a condition chooses from; the first one of all has index 0. A task starts
 * when it is chosen, also if tasks that precede it have not ended. It may be chosen again. PILFER_EUSAGE: the
 * tasks are of different graphs, or `condition` is none. */
PILFER_C_API int pilfer_node_choose(pilfer_node condition, pilfer_node next);
/* Sets the name of a task for pilfer_graph_dot(). The text is copied. */
PILFER_C_API int pilfer_node_set_name(pilfer_node node, const char* name);

/* Makes a limit: at most `most` of its tasks run at once, and the others hold neither a worker nor a stack.
 * It serves the tasks of one graph for good. PILFER_EINVAL: `most` is 0. On an error *out is NULL. */
PILFER_C_API int pilfer_graph_limit_new(pilfer_graph_limit** out, unsigned most);
/* Frees the limit, after the graph of its tasks. NULL: nothing. */
PILFER_C_API void pilfer_graph_limit_free(pilfer_graph_limit* limit);
/* Adds the task to those of `limit`, and removes it from those of the limit before. PILFER_EUSAGE: another
 * graph uses the limit. */
PILFER_C_API int pilfer_node_limit(pilfer_node node, pilfer_graph_limit* limit);

/* ---- running ---- */

/* Runs the graph in `pool`; NULL: in the caller's pool, or the common one. Returns when all tasks have ended.
 * A task of a pool suspends meanwhile.
 *
 * The first negative code that a task returns cancels the run, and is the result: tasks that have not started
 * do not start, and waits of the others give PILFER_ECANCELED. The caller's own codes are those from -1000
 * down. A task may return PILFER_ECANCELED from its calls; the result is that only if no other code is. A
 * task that returns a positive number gives PILFER_EINVAL.
 *
 * PILFER_EUSAGE: the graph runs already; a cycle without a condition; no task to start with; a task was to
 * start while it ran. The graph may be run again after any code. Cost from the second run on: no allocation.
 */
PILFER_C_API int pilfer_graph_run(pilfer_pool* pool, pilfer_graph* graph);

/* Calls write(text, bytes, arg) once with the graph in the DOT language of Graphviz, ended by a 0 that
 * `bytes` does not count. Returns what `write` returns: 0 or a negative code. */
PILFER_C_API int pilfer_graph_dot(const pilfer_graph* graph,
                                  int (*write)(const char* text, size_t bytes, void* arg), void* arg);

#ifdef __cplusplus
}
#endif

#endif
