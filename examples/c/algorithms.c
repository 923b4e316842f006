/* Sorts, searches and sums of arrays. */
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <string.h>

struct word {
    char text[12];
    unsigned length;
};

static int by_text(const void* a, const void* b, void* unused) {
    (void)unused;
    return strcmp(((const struct word*)a)->text, ((const struct word*)b)->text);
}
static int by_length(const void* a, const void* b, void* unused) {
    (void)unused;
    const unsigned x = ((const struct word*)a)->length;
    const unsigned y = ((const struct word*)b)->length;
    return (x > y) - (x < y);
}
static void add(void* left, const void* right, void* unused) {
    (void)unused;
    *(double*)left += *(const double*)right;
}
static int is_above(size_t index, void* sums) { return ((const double*)sums)[index] > 1000; }

int main(void) {
    struct word words[] = {{"thief", 5}, {"spark", 5}, {"deque", 5}, {"task", 4}, {"join", 4}, {"scope", 5}};
    const size_t n = sizeof words / sizeof words[0];
    if (pilfer_sort(words, n, sizeof words[0], by_text, NULL) != 0 ||
        pilfer_stable_sort(words, n, sizeof words[0], by_length, NULL) != 0) {
        return 1;
    }
    for (size_t i = 0; i < n; ++i) {
        printf("%s%s", i == 0 ? "" : " ", words[i].text);
    }
    printf("\n");

    static double numbers[10000];
    static double sums[10000];
    for (size_t i = 0; i < 10000; ++i) {
        numbers[i] = 0.25 * (double)(i % 8);
    }
    double sum = 0;
    const double first = 100;
    size_t found = 0;
    /* The same bits on every run, for any number of workers. */
    if (pilfer_reduce_elements(numbers, 10000, sizeof sum, add, NULL, &sum) != 0 ||
        pilfer_inclusive_scan(numbers, sums, 10000, sizeof sum, add, NULL) != 0 ||
        pilfer_find(0, 10000, is_above, sums, &found) != 0 ||
        pilfer_exclusive_scan(numbers, numbers, 10000, sizeof sum, &first, add, NULL) != 0) {
        return 1;
    }
    printf("sum %.2f, last running sum %.2f, over 1000 at %zu\n", sum, sums[9999], found);
    printf("before the last one, from 100 on: %.2f\n", numbers[9999]);
    return 0;
}
