/* for_each over indices, in pieces; reduce in index order. */
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <string.h>

static void square(size_t begin, size_t end, void* data) {
    long* squares = data;
    for (size_t i = begin; i < end; ++i) {
        squares[i] = (long)(i * i) + 1;
    }
}

static void zero(void* value, void* data) {
    (void)data;
    *(long*)value = 0;
}
static void add_up(void* value, size_t begin, size_t end, void* data) {
    for (size_t i = begin; i < end; ++i) {
        *(long*)value += ((const long*)data)[i];
    }
}
static void add(void* left, void* right, void* data) {
    (void)data;
    *(long*)left += *(const long*)right;
}

/* A sum that does not commute: the pieces stay in order. */
struct text {
    size_t length;
    char characters[16];
};
static void no_text(void* value, void* data) {
    (void)data;
    memset(value, 0, sizeof(struct text));
}
static void digits(void* value, size_t begin, size_t end, void* data) {
    (void)data;
    struct text* t = value;
    for (size_t i = begin; i < end; ++i) {
        t->characters[t->length++] = (char)('0' + i);
    }
}
static void append(void* left, void* right, void* data) {
    (void)data;
    struct text* to = left;
    const struct text* from = right;
    memcpy(to->characters + to->length, from->characters, from->length);
    to->length += from->length;
}

int main(void) {
    static long squares[1000];
    long sum = 0;
    struct text text;
    no_text(&text, NULL);
    const struct pilfer_reducer sums = {sizeof sum, zero, add_up, add};
    const struct pilfer_reducer texts = {sizeof text, no_text, digits, append};
    /* Outside a pool: in the common one. */
    if (pilfer_for_each(0, 1000, square, squares) != 0 || pilfer_reduce(0, 1000, &sums, squares, &sum) != 0 ||
        pilfer_reduce(0, 10, &texts, NULL, &text) != 0) {
        return 1;
    }
    printf("sum of i * i + 1 for i below 1000: %ld\n", sum);
    printf("digits: %s\n", text.characters);
    return 0;
}
