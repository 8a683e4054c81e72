/* tests/fuzz/replay.c: runs a fuzz target without a fuzzer: every file of a folder as it is, cut at many lengths, and with single
 * bytes changed by a fixed generator. So the ordinary test run covers the same doors, with the same inputs each time. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t next(uint64_t *s) {
    uint64_t z = *s += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static unsigned long runs;
/* A copy of exactly the right size, so that a sanitizer sees a read past the end. */
static void feed(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static void mutate(uint8_t *data, size_t size) {
    uint64_t seed = size;
    feed(data, size);
    size_t step = size / 200 + 1;
    for (size_t cut = 0; cut < size; cut += step) feed(data, cut);
    for (int i = 0; i < 400 && size; i++) {
        size_t at = next(&seed) % size;
        uint8_t old = data[at];
        static const uint8_t odd[] = { 0, 0xff, 0x7f, 0x80, 1, '"', '{', '[' };
        data[at] = i % 3 ? (uint8_t)next(&seed) : odd[next(&seed) % sizeof odd];
        feed(data, size);
        if (i % 4) data[at] = old;               /* every fourth change stays, so that faults pile up */
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    DIR *d = opendir(argv[1]);
    if (!d) {
        fprintf(stderr, "no seeds in %s\n", argv[1]);
        return 1;
    }
    const struct dirent *e;
    while ((e = readdir(d))) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!f) continue;
        uint8_t *data = malloc(1 << 20);
        if (!data) abort();
        size_t n = fread(data, 1, 1 << 20, f);
        fclose(f);
        mutate(data, n);
        free(data);
    }
    closedir(d);
    printf("%lu inputs\n", runs);
    return runs ? 0 : 1;
}
