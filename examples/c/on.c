/* Functions that run at each event, and hold no stack in between: a channel has a value, an event is set, a
 * pipe has something to read. The result of a function decides whether it runs again. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void until_over(pilfer_subscription* s) {
    while (!pilfer_subscription_over(s)) {
        pilfer_sleep_for(1000000);
    }
    pilfer_subscription_free(s);
}

static int write_down(void* word, void* text) {
    strcat(text, *(char*)text != '\0' ? " " : "");
    strcat(text, word);
    return 1;
}

/* One run for each value, in order, never two at once. It is over when the channel is closed and empty. */
static int of_a_channel(pilfer_pool* pool) {
    static const char* const words[] = {"no", "stack", "waits", "here"};
    char text[64] = "";
    pilfer_channel* channel;
    pilfer_subscription* writer;
    if (pilfer_channel_new(&channel, 4) != 0 ||
        pilfer_on_channel(pool, channel, write_down, text, &writer) != 0) {
        return 1;
    }
    for (int i = 0; i < 4; ++i) {
        pilfer_channel_send(channel, (void*)words[i]);
    }
    pilfer_channel_close(channel);
    until_over(writer);
    printf("%s\n", text);
    pilfer_channel_free(channel);
    return 0;
}

struct watch {
    pilfer_event alarm;
    pilfer_event seen;
    int times; /* of the function alone, which never overlaps itself */
};

static int raise_alarm(void* data) {
    struct watch* w = data;
    printf("alarm %d\n", ++w->times);
    const int again = w->times < 2;
    pilfer_event_set(&w->seen);
    return again;
}

/* An event runs it once for each time that it is set; 0 ends it. */
static int of_an_event(pilfer_pool* pool) {
    struct watch w;
    pilfer_subscription* guard;
    w.times = 0;
    if (pilfer_event_init(&w.alarm, 0) != 0 || pilfer_event_init(&w.seen, 0) != 0 ||
        pilfer_on_event(pool, &w.alarm, raise_alarm, &w, &guard) != 0) {
        return 1;
    }
    pilfer_event_set(&w.alarm);
    pilfer_event_wait(&w.seen);
    pilfer_event_set(&w.alarm);
    until_over(guard);
    pilfer_event_destroy(&w.seen);
    pilfer_event_destroy(&w.alarm);
    return 0;
}

struct letters {
    int from;
    pilfer_latch three;
};

static int take_letter(void* data) {
    struct letters* l = data;
    char c;
    if (read(l->from, &c, 1) == 1) {
        printf("read %c\n", c);
        pilfer_latch_count_down(&l->three, 1);
    }
    return 1;
}

/* A descriptor runs it as long as there is something to read. */
static int of_a_pipe(pilfer_pool* pool) {
    int ends[2];
    struct letters l;
    pilfer_subscription* reader;
    if (pipe(ends) != 0 || pilfer_latch_init(&l.three, 3) != 0) {
        return 1;
    }
    l.from = ends[0];
    const int code = pilfer_on_readable(pool, l.from, take_letter, &l, &reader);
    if (code != 0) { /* prints the system's error */
        fprintf(stderr, "%s\n", pilfer_strerror(code));
        return 1;
    }
    if (write(ends[1], "abc", 3) != 3) {
        return 1;
    }
    pilfer_latch_wait(&l.three);
    pilfer_subscription_cancel(reader);
    until_over(reader);
    pilfer_latch_destroy(&l.three);
    close(ends[0]);
    close(ends[1]);
    return 0;
}

int main(void) {
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0 || of_a_channel(pool) != 0 || of_an_event(pool) != 0 ||
        of_a_pipe(pool) != 0) {
        return 1;
    }
    return pilfer_pool_destroy(pool);
}
