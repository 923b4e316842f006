/* A small HTTP server: a task per connection, which suspends while its client says nothing. It answers with
 * the body of the request, or with the path if there is none, and keeps connections alive.
 *
 *   http_echo                 asks itself, over a few connections
 *   http_echo PORT            serves on the loopback until SIGINT or SIGTERM */
#define _GNU_SOURCE
#include <pilfer/pilfer.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_bytes = 2048, clients = 8, rounds = 10 };

static const uint64_t millisecond = 1000000;

struct server {
    int listener;
    struct sockaddr_in at;
    atomic_int stopping;
    atomic_long answered, failed;
};

struct connection {
    struct server* server;
    int fd;
};

/* The value of `name` in the head of a request; NULL: none. Names as most clients write them. */
static const char* field(const char* head, const char* name) {
    const char* at = strstr(head, name);
    return at != NULL ? at + strlen(name) + strspn(at + strlen(name), " ") : NULL;
}

/* Answers the request at `text`, which a 0 ends. Returns its length; 0: it is not complete. */
static size_t answer(const struct connection* c, char* text, size_t have, int* goes_on) {
    char* end = strstr(text, "\r\n\r\n");
    if (end == NULL) {
        return 0;
    }
    *end = '\0'; /* of the head, for the searches */
    const char* length_field = field(text, "Content-Length:");
    const char* connection_field = field(text, "Connection:");
    const size_t length = length_field != NULL ? strtoul(length_field, NULL, 10) : 0;
    const size_t head = (size_t)(end - text) + 4;
    if (length > have - head) {
        *end = '\r';
        return 0;
    }
    const char* body = text + head;
    size_t bytes = length;
    if (bytes == 0) {
        body = text + strcspn(text, " ");
        body += strspn(body, " ");
        bytes = strcspn(body, " ");
    }
    *goes_on = connection_field == NULL || strncmp(connection_field, "close", 5) != 0;
    char out[most_bytes + 100];
    const int n = snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s", bytes,
                           (int)bytes, body);
    if (pilfer_io_write(c->fd, out, (size_t)n, 30000 * millisecond, NULL) != 0) {
        atomic_fetch_add(&c->server->failed, 1);
        *goes_on = 0;
    }
    atomic_fetch_add(&c->server->answered, 1);
    return head + length;
}

static void serve(void* data) {
    struct connection* c = data;
    char buffer[most_bytes + 1];
    size_t have = 0; /* a request, or a part of one, or several */
    const int on = 1;
    int goes_on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (goes_on && have < most_bytes) { /* longer is too long for this little server */
        const uint64_t patience = atomic_load(&c->server->stopping) ? 100 : 5000;
        size_t got;
        const int code =
            pilfer_io_read(c->fd, buffer + have, most_bytes - have, patience * millisecond, &got);
        if (code != 0 || got == 0) {
            const int harmless =
                code == 0 || (code == PILFER_ETIMEDOUT && have == 0) || code == PILFER_EERRNO - ECONNRESET;
            atomic_fetch_add(&c->server->failed, harmless ? 0 : 1);
            break;
        }
        have += got;
        buffer[have] = '\0';
        size_t used = 0, n;
        while (goes_on && (n = answer(c, buffer + used, have - used, &goes_on)) != 0) {
            used += n;
        }
        memmove(buffer, buffer + used, have - used + 1);
        have -= used;
    }
    pilfer_io_close(c->fd);
    free(c);
}

/* Accepts until stop(), and returns when the last connection has ended. */
static void* run(void* data) {
    struct server* s = data;
    pilfer_scope connections;
    pilfer_scope_begin(&connections);
    for (;;) {
        int fd;
        const int code = pilfer_io_accept(s->listener, PILFER_FOREVER, &fd);
        if (code != 0) {
            if (atomic_load(&s->stopping)) {
                break; /* stop() has closed it */
            }
            pilfer_sleep_for(10 *
                             millisecond); /* no descriptor or no memory is left: until one of them ends */
            continue;
        }
        struct connection* c = malloc(sizeof *c);
        if (c != NULL) {
            *c = (struct connection){s, fd};
        }
        if (c == NULL || pilfer_scope_fork(&connections, serve, c) != 0) {
            atomic_fetch_add(&s->failed, 1);
            free(c);
            pilfer_io_close(fd);
        }
    }
    pilfer_scope_end(&connections);
    return NULL;
}

static int listen_at(struct server* s, int port) {
    const int on = 1;
    socklen_t size = sizeof s->at;
    *s = (struct server){.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    s->at.sin_family = AF_INET;
    s->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->at.sin_port = htons((uint16_t)port);
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s->listener < 0 || bind(s->listener, (struct sockaddr*)&s->at, size) != 0 ||
        listen(s->listener, 16384) != 0 || getsockname(s->listener, (struct sockaddr*)&s->at, &size) != 0) {
        perror("http_echo");
        return -1;
    }
    return 0;
}

/* May be called by any thread. Unused connections end when their client closes them, or after 5 s. */
static void stop(struct server* s) {
    atomic_store(&s->stopping, 1);
    pilfer_io_close(s->listener);
}

struct client {
    const struct server* server;
    int number;
    int right;
};

/* One connection: requests, each sent after the answer to the one before. Returns the number of correct
 * answers. */
static void ask(void* data) {
    struct client* c = data;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (pilfer_io_connect(fd, &c->server->at, sizeof c->server->at, PILFER_FOREVER) == 0) {
        for (int i = 0; i < rounds; ++i) {
            char body[64], request[256], wanted[256], got[256];
            const int length = snprintf(body, sizeof body, "this is %d, round %d", c->number, i);
            const int n = snprintf(request, sizeof request,
                                   "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
                                   length, body);
            const size_t all = (size_t)snprintf(
                wanted, sizeof wanted, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", length, body);
            pilfer_io_write(fd, request, (size_t)n, PILFER_FOREVER, NULL);
            size_t have = 0, more = 1;
            while (have < all && more != 0 &&
                   pilfer_io_read(fd, got + have, all - have, 60000 * millisecond, &more) == 0) {
                have += more;
            }
            c->right += have == all && memcmp(got, wanted, all) == 0 ? 1 : 0;
        }
    }
    pilfer_io_close(fd);
}

static void ask_all(void* data) {
    struct client* all = data;
    pilfer_scope scope;
    pilfer_scope_begin(&scope);
    for (int i = 0; i < clients; ++i) {
        pilfer_scope_fork(&scope, ask, &all[i]);
    }
    pilfer_scope_end(&scope);
}

static int ask_itself(struct server* here) {
    struct client all[clients];
    pilfer_pool* pool;
    pilfer_future* served;
    int right = 0;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_async(pool, run, here, &served) != 0) {
        return 1;
    }
    for (int i = 0; i < clients; ++i) {
        all[i] = (struct client){here, i, 0};
    }
    pilfer_pool_run(pool, ask_all, all);
    stop(here);
    pilfer_future_wait(served);
    pilfer_future_free(served);
    pilfer_pool_destroy(pool);
    for (int i = 0; i < clients; ++i) {
        right += all[i].right;
    }
    const long failed = atomic_load(&here->failed);
    printf("%d connections, %d requests each: %d right answers, %ld errors\n", clients, rounds, right,
           failed);
    return right == clients * rounds && failed == 0 ? 0 : 1;
}

static int serve_until_signal(struct server* here) {
    pilfer_pool* pool;
    pilfer_future* served;
    sigset_t ends;
    int number = 0;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* the pool's threads take no signals; this one waits for them */
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_async(pool, run, here, &served) != 0) {
        return 1;
    }
    printf("http://127.0.0.1:%d/, %u workers\n", ntohs(here->at.sin_port), pilfer_pool_workers(pool));
    fflush(stdout);
    sigwait(&ends, &number);
    stop(here);
    pilfer_future_wait(served);
    pilfer_future_free(served);
    printf("%ld requests answered, %ld errors\n", atomic_load(&here->answered), atomic_load(&here->failed));
    return pilfer_pool_destroy(pool);
}

int main(int argc, char** argv) {
    struct server here;
    char* end = "";
    const long port = argc > 1 ? strtol(argv[1], &end, 10) : 0;
    if (argc > 2 || *end != '\0' || port < 0 || port > 65535) {
        fprintf(stderr, "usage: http_echo [PORT]\n");
        return 2;
    }
    if (listen_at(&here, (int)port) != 0) {
        return 1;
    }
    return argc > 1 ? serve_until_signal(&here) : ask_itself(&here);
}
