/* base/publish.c: files and folders that appear whole or not at all: write aside, fsync, rename, fsync the parent. */
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREE_DEPTH_MAX = 64 };

/* Some file systems cannot fsync a folder and say EINVAL; their rename is then as durable as it gets. */
static assay_status sync_path(const char *path, assay_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return assay_fail_errno(err, "%s: cannot open", path);
    assay_status status = ASSAY_OK;
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) status = assay_fail_errno(err, "%s: cannot fsync", path);
    close(fd);
    return status;
}

static assay_status sync_parent(const char *path, assay_error *err) {
    char *dir = assay_path_dir(path);
    assay_status status = sync_path(dir, err);
    free(dir);
    return status;
}

static assay_status write_piece(int fd, const assay_piece *piece, const char *path, assay_error *err) {
    const char *p = piece->data;
    for (size_t left = piece->len; left > 0;) {
        ssize_t k = write(fd, p, left);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return assay_fail_errno(err, "%s: cannot write", path);
        p += k;
        left -= (size_t)k;
    }
    return ASSAY_OK;
}

static assay_status write_aside(const char *path, const assay_piece *pieces, size_t n, bool durable, assay_error *err) {
    char *tmp = assay_xprintf("%s.tmp-%ld", path, (long)getpid());
    assay_status status = ASSAY_OK;
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        status = assay_fail_errno(err, "%s: cannot create", path);
        free(tmp);
        return status;
    }
    for (size_t i = 0; i < n && status == ASSAY_OK; i++) status = write_piece(fd, &pieces[i], path, err);
    if (status == ASSAY_OK && durable && fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        status = assay_fail_errno(err, "%s: cannot fsync", path);
    if (close(fd) != 0 && status == ASSAY_OK) status = assay_fail_errno(err, "%s: cannot write", path);
    if (status == ASSAY_OK && rename(tmp, path) != 0) status = assay_fail_errno(err, "%s: cannot put the file in place", path);
    if (status != ASSAY_OK) unlink(tmp);
    else if (durable) status = sync_parent(path, err);
    free(tmp);
    return status;
}

assay_status assay_write_pieces(const char *path, const assay_piece *pieces, size_t n, assay_error *err) {
    return write_aside(path, pieces, n, true, err);
}

assay_status assay_write_inside(const char *path, const void *data, size_t len, assay_error *err) {
    assay_piece one = { data, len };
    return write_aside(path, &one, 1, false, err);
}

assay_status assay_write_file(const char *path, const void *data, size_t len, assay_error *err) {
    assay_piece one = { data, len };
    return assay_write_pieces(path, &one, 1, err);
}

static assay_status sync_below(const char *path, int depth, assay_error *err) {
    struct stat st;
    if (lstat(path, &st) != 0) return assay_fail_errno(err, "%s: cannot stat", path);
    if (S_ISREG(st.st_mode)) return sync_path(path, err);
    if (!S_ISDIR(st.st_mode)) return assay_fail(err, ASSAY_E_INPUT, "%s: only regular files and folders are published", path);
    if (depth > TREE_DEPTH_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s: folders nested deeper than %d", path, TREE_DEPTH_MAX);
    char **names;
    size_t n;
    assay_status status = assay_list_dir(path, &names, &n, err);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++) {
        char *full = assay_path_join(path, names[i]);
        status = sync_below(full, depth + 1, err);
        free(full);
    }
    assay_list_free(names, n);
    return status == ASSAY_OK ? sync_path(path, err) : status;
}

assay_status assay_publish_dir(const char *tmp, const char *final, bool *lost, assay_error *err) {
    *lost = false;
    if (!assay_is_dir(tmp)) return assay_fail(err, ASSAY_E_INTERNAL, "%s: no folder to publish", tmp);
    assay_status status = sync_below(tmp, 0, err);
    if (status != ASSAY_OK) return status;
    /* rename() replaces an empty folder without a word, so a folder that is there is looked for first; a full one that
     * appears in between makes rename() fail. */
    if (!assay_exists(final)) {
        if (rename(tmp, final) == 0) return sync_parent(final, err);
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
            return assay_fail_errno(err, "%s: cannot put the folder in place", final);
    }
    if (!assay_is_dir(final)) return assay_fail(err, ASSAY_E_IO, "%s: a file stands where a folder is to be published; move it away", final);
    *lost = true;
    return assay_remove_tree(tmp, err);
}
