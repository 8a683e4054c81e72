/* base/digest.c: SHA-256 of bytes, files and folder trees. */
#include "base/digest.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, TREE_DEPTH_MAX = 64 };
struct assay_sha256 { EVP_MD_CTX *ctx; };

/* A hash that silently fails would certify anything, so failure ends the program. */
static void need(int ok) {
    if (ok == 1) return;
    fputs("assay: SHA-256 is not available from libcrypto\n", stderr);
    exit(70);
}

assay_sha256 *assay_sha256_new(void) {
    assay_sha256 *s = assay_xmalloc(sizeof *s);
    s->ctx = EVP_MD_CTX_new();
    need(s->ctx != NULL);
    need(EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL));
    return s;
}

void assay_sha256_add(assay_sha256 *s, const void *p, size_t n) {
    if (n) need(EVP_DigestUpdate(s->ctx, p, n));
}

void assay_sha256_done(assay_sha256 *s, char hex[ASSAY_HEX]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char raw[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    need(EVP_DigestFinal_ex(s->ctx, raw, &len));
    need(len == 32);
    for (unsigned i = 0; i < 32; i++) {
        hex[2 * i] = digits[raw[i] >> 4];
        hex[2 * i + 1] = digits[raw[i] & 15];
    }
    hex[64] = '\0';
    EVP_MD_CTX_free(s->ctx);
    free(s);
}

void assay_sha256_of(const void *p, size_t n, char hex[ASSAY_HEX]) {
    assay_sha256 *s = assay_sha256_new();
    assay_sha256_add(s, p, n);
    assay_sha256_done(s, hex);
}

/* O_NONBLOCK: opening a pipe must not wait for a writer before we can see that it is a pipe. */
static assay_status digest_file(const char *path, int flags, char hex[ASSAY_HEX], uint64_t *size, assay_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0) return assay_fail_errno(err, "%s: cannot open", path);
    struct stat st;
    assay_status status = ASSAY_OK;
    if (fstat(fd, &st) != 0) status = assay_fail_errno(err, "%s: cannot stat", path);
    else if (!S_ISREG(st.st_mode)) status = assay_fail(err, ASSAY_E_INPUT, "%s: not a regular file", path);
    if (status != ASSAY_OK) {
        close(fd);
        return status;
    }
    unsigned char *chunk = assay_xmalloc(CHUNK);
    assay_sha256 *s = assay_sha256_new();
    *size = 0;
    for (;;) {
        ssize_t n = read(fd, chunk, CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = assay_fail_errno(err, "%s: cannot read", path);
        if (n <= 0) break;
        assay_sha256_add(s, chunk, (size_t)n);
        *size += (uint64_t)n;
    }
    assay_sha256_done(s, hex);
    free(chunk);
    close(fd);
    return status;
}

assay_status assay_sha256_file(const char *path, char hex[ASSAY_HEX], assay_error *err) {
    uint64_t size;
    return digest_file(path, 0, hex, &size, err);
}

/* Collects the relative names of all regular files below root/rel. */
static assay_status walk(const char *root, const char *rel, int depth, assay_ptrs *files, assay_error *err) {
    if (depth > TREE_DEPTH_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s/%s: folders nested deeper than %d", root, rel, TREE_DEPTH_MAX);
    char *dir = *rel ? assay_path_join(root, rel) : assay_xstrdup(root);
    char **names = NULL;
    size_t n = 0;
    assay_status status = assay_list_dir(dir, &names, &n, err);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++) {
        char *sub = *rel ? assay_path_join(rel, names[i]) : assay_xstrdup(names[i]);
        char *full = assay_path_join(root, sub);
        struct stat st;
        if (lstat(full, &st) != 0) status = assay_fail_errno(err, "%s: cannot stat", full);
        else if (S_ISDIR(st.st_mode)) status = walk(root, sub, depth + 1, files, err);
        else if (S_ISREG(st.st_mode)) {
            assay_ptrs_push(files, sub);
            sub = NULL;
        } else
            status = assay_fail(err, ASSAY_E_INPUT, "%s: %s inside a digested folder; only regular files and folders are allowed", full,
                                S_ISLNK(st.st_mode) ? "symbolic link" : "special file");
        free(sub);
        free(full);
    }
    assay_list_free(names, n);
    free(dir);
    return status;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

assay_status assay_tree_digest(const char *path, char hex[ASSAY_HEX], assay_error *err) {
    if (!assay_is_dir(path)) return assay_sha256_file(path, hex, err);
    assay_ptrs files = {0};
    assay_status status = walk(path, "", 0, &files, err);
    assay_sha256 *s = assay_sha256_new();
    if (files.len) qsort(files.items, files.len, sizeof *files.items, by_bytes);
    for (size_t i = 0; i < files.len && status == ASSAY_OK; i++) {
        char *full = assay_path_join(path, files.items[i]);
        char file_hex[ASSAY_HEX], size_text[24];
        uint64_t size;
        status = digest_file(full, O_NOFOLLOW, file_hex, &size, err);
        if (status == ASSAY_OK) {
            int len = snprintf(size_text, sizeof size_text, "%llu", (unsigned long long)size);
            assay_sha256_add(s, files.items[i], strlen(files.items[i]) + 1);
            assay_sha256_add(s, size_text, (size_t)len + 1);
            assay_sha256_add(s, file_hex, 64);
            assay_sha256_add(s, "\n", 1);
        }
        free(full);
    }
    assay_sha256_done(s, hex);
    for (size_t i = 0; i < files.len; i++) free(files.items[i]);
    assay_ptrs_free(&files);
    return status;
}
