/* A pipeline that compresses blocks: it reads them one by one, packs several of them at once, and writes them
 * in their order. */
#include <pilfer/pilfer_pipeline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block_size = 8, tokens = 4, LINE_IS_BAD = -1000 };

struct input {
    const char* text;
    size_t at;
};

/* The source leaves *item NULL at the end of the input. */
static int read_block(void** item, void* arg) {
    struct input* in = arg;
    const size_t left = strlen(in->text) - in->at;
    const size_t size = left < block_size ? left : block_size;
    if (size == 0) {
        return 0;
    }
    char* block = malloc(size + 1);
    if (block == NULL) {
        return PILFER_ENOMEM;
    }
    memcpy(block, in->text + in->at, size);
    block[size] = 0;
    in->at += size;
    *item = block;
    return 0;
}

/* Runs of equal characters become a number and the character. */
static int pack(void** item, void* arg) {
    (void)arg;
    char* block = *item;
    char* packed = malloc(2 * block_size + 1);
    if (packed == NULL) {
        return PILFER_ENOMEM; /* the block is dropped */
    }
    char* to = packed;
    for (const char* c = block; *c != 0;) {
        const char* end = c;
        while (*end == *c) {
            ++end;
        }
        *to++ = (char)('0' + (end - c));
        *to++ = *c;
        c = end;
    }
    *to = 0;
    free(block);
    *item = packed;
    return 0;
}

static int write_block(void** item, void* arg) {
    printf("block %d: %s\n", ++*(int*)arg, (char*)*item);
    free(*item);
    return 0;
}

static void drop(void* item, void* arg) {
    (void)arg;
    free(item);
}

/* Lines without an end, of which one is bad. */
static int next_line(void** item, void* arg) {
    int* number = arg;
    int* line = malloc(sizeof *line);
    if (line == NULL) {
        return PILFER_ENOMEM;
    }
    *line = ++*number;
    *item = line;
    return 0;
}
static int check_line(void** item, void* arg) {
    (void)arg;
    if (*(int*)*item == 100) {
        return LINE_IS_BAD; /* the line is dropped */
    }
    free(*item);
    return 0;
}

int main(void) {
    struct input input = {"aaaabbbbccccccccddddddddddddeeeeeeeeffffgggg", 0};
    int number = 0;
    const pilfer_stage packing[] = {
        {PILFER_SERIAL_IN_ORDER, read_block, &input, drop},
        {PILFER_PARALLEL, pack, NULL, drop},
        {PILFER_SERIAL_IN_ORDER, write_block, &number, NULL}, /* one at a time: no lock is needed */
    };
    /* Outside a pool: in the common one. At most four blocks are in memory. */
    int code = pilfer_pipeline(NULL, tokens, packing, 3);
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(code));
        return 1;
    }

    int last = 0;
    const pilfer_stage checking[] = {
        {PILFER_SERIAL_IN_ORDER, next_line, &last, drop},
        {PILFER_PARALLEL, check_line, NULL, NULL},
    };
    if (pilfer_pipeline(NULL, tokens, checking, 2) == LINE_IS_BAD) {
        puts("line 100 is bad"); /* the source has ended, no stage is running */
    }
    return 0;
}
