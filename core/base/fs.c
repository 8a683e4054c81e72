/* base/fs.c: reading, mapping, copying and listing files; removing trees. */
#include "base/fs.h"
#include "base/names.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

enum { COPY_CHUNK = 1 << 20, TREE_DEPTH_MAX = 64 };

/* ---- paths ---- */

char *assay_path_join(const char *a, const char *b) {
    if (!*a || b[0] == '/') return assay_xstrdup(b);
    return assay_xprintf(assay_ends_with(a, "/") ? "%s%s" : "%s/%s", a, b);
}

char *assay_path_dir(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return assay_xstrdup(".");
    return assay_xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

const char *assay_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool assay_path_is_inside(const char *rel) {
    if (!rel || !*rel) return false;
    for (const char *p = rel;;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.') || memchr(p, '\\', n)) return false;
        if (!p[n]) return true;
        p += n + 1;
    }
}

bool assay_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool assay_is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool assay_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

/* ---- folders ---- */

assay_status assay_mkdirs(const char *path, assay_error *err) {
    char *p = assay_xstrdup(path);
    assay_status status = ASSAY_OK;
    for (char *s = p + 1; *p && status == ASSAY_OK; s++) {
        if (*s != '/' && *s != '\0') continue;
        char keep = *s;
        *s = '\0';
        if (mkdir(p, 0777) != 0) {
            int why = errno;
            bool there = assay_is_dir(p);
            errno = why;
            if (!there) status = assay_fail_errno(err, "%s: cannot make the folder", p);
        }
        *s = keep;
        if (!keep) break;
    }
    free(p);
    return status;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

assay_status assay_list_dir(const char *path, char ***names, size_t *n, assay_error *err) {
    *names = NULL;
    *n = 0;
    DIR *d = opendir(path);
    if (!d) return assay_fail_errno(err, "%s: cannot list the folder", path);
    assay_ptrs v = {0};
    assay_status status = ASSAY_OK;
    for (;;) {
        errno = 0;
        struct dirent *e = readdir(d);
        if (!e) {
            if (errno) status = assay_fail_errno(err, "%s: cannot list the folder", path);
            break;
        }
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) assay_ptrs_push(&v, assay_xstrdup(e->d_name));
    }
    closedir(d);
    if (v.len) qsort(v.items, v.len, sizeof *v.items, by_bytes);
    *names = (char **)v.items;
    *n = v.len;
    if (status != ASSAY_OK) {
        assay_list_free(*names, *n);
        *names = NULL;
        *n = 0;
    }
    return status;
}

void assay_list_free(char **names, size_t n) {
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
}

static assay_status remove_below(const char *path, int depth, assay_error *err) {
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? ASSAY_OK : assay_fail_errno(err, "%s: cannot stat", path);
    if (!S_ISDIR(st.st_mode)) {
        if (unlink(path) != 0 && errno != ENOENT) return assay_fail_errno(err, "%s: cannot remove", path);
        return ASSAY_OK;
    }
    if (depth > TREE_DEPTH_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s: folders nested deeper than %d", path, TREE_DEPTH_MAX);
    char **names;
    size_t n;
    assay_status status = assay_list_dir(path, &names, &n, err);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++) {
        char *full = assay_path_join(path, names[i]);
        status = remove_below(full, depth + 1, err);
        free(full);
    }
    assay_list_free(names, n);
    if (status == ASSAY_OK && rmdir(path) != 0 && errno != ENOENT) status = assay_fail_errno(err, "%s: cannot remove", path);
    return status;
}

assay_status assay_remove_tree(const char *path, assay_error *err) { return remove_below(path, 0, err); }

/* ---- files ---- */

/* Opens a regular file; O_NONBLOCK so that a pipe is seen and refused instead of waited for. */
static assay_status open_regular(const char *path, int *fd, struct stat *st, assay_error *err) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return assay_fail_errno(err, "%s: cannot open", path);
    assay_status status = ASSAY_OK;
    if (fstat(*fd, st) != 0) status = assay_fail_errno(err, "%s: cannot stat", path);
    else if (S_ISDIR(st->st_mode)) status = assay_fail(err, ASSAY_E_INPUT, "%s: is a folder, a file is wanted", path);
    else if (!S_ISREG(st->st_mode)) status = assay_fail(err, ASSAY_E_INPUT, "%s: not a regular file", path);
    if (status != ASSAY_OK) close(*fd);
    return status;
}

assay_status assay_read_file(const char *path, size_t max_bytes, char **data, size_t *len, assay_error *err) {
    int fd;
    struct stat st;
    assay_status status = open_regular(path, &fd, &st, err);
    if (status != ASSAY_OK) return status;
    assay_buf b = {0};
    char *chunk = assay_xmalloc(1 << 16);
    for (;;) {
        ssize_t n = read(fd, chunk, 1 << 16);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = assay_fail_errno(err, "%s: cannot read", path);
        if (n <= 0) break;
        if ((size_t)n > max_bytes - b.len) {
            status = assay_fail(err, ASSAY_E_LIMIT, "%s: longer than %zu bytes", path, max_bytes);
            break;
        }
        assay_buf_add(&b, chunk, (size_t)n);
    }
    free(chunk);
    close(fd);
    *len = b.len;
    if (status == ASSAY_OK) *data = assay_buf_take(&b);
    else assay_buf_free(&b);
    return status;
}

assay_status assay_map_file(const char *path, assay_map *m, assay_error *err) {
    *m = (assay_map){ .data = "" };
    int fd;
    struct stat st;
    assay_status status = open_regular(path, &fd, &st, err);
    if (status != ASSAY_OK) return status;
    if (st.st_size > 0) {
        m->len = m->base_len = (size_t)st.st_size;
        m->base = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
        if (m->base == MAP_FAILED) {
            *m = (assay_map){ .data = "" };
            status = assay_fail_errno(err, "%s: cannot map", path);
        } else
            m->data = m->base;
    }
    close(fd);
    return status;
}

void assay_unmap(assay_map *m) {
    if (m->base) munmap(m->base, m->base_len);
    *m = (assay_map){ .data = "" };
}

static assay_status write_all(int fd, const char *p, size_t n, const char *path, assay_error *err) {
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return assay_fail_errno(err, "%s: cannot write", path);
        p += k;
        n -= (size_t)k;
    }
    return ASSAY_OK;
}

assay_status assay_copy_file(const char *from, const char *to, assay_error *err) {
    int in, out;
    struct stat st;
    assay_status status = open_regular(from, &in, &st, err);
    if (status != ASSAY_OK) return status;
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, st.st_mode & 0777);
    if (out < 0) {
        status = assay_fail_errno(err, "%s: cannot create", to);
        close(in);
        return status;
    }
    char *chunk = assay_xmalloc(COPY_CHUNK);
    for (;;) {
        ssize_t n = read(in, chunk, COPY_CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = assay_fail_errno(err, "%s: cannot read", from);
        if (n <= 0) break;
        if ((status = write_all(out, chunk, (size_t)n, to, err)) != ASSAY_OK) break;
    }
    free(chunk);
    close(in);
    if (close(out) != 0 && status == ASSAY_OK) status = assay_fail_errno(err, "%s: cannot write", to);
    if (status != ASSAY_OK && assay_is_file(to)) unlink(to);         /* never a device that was given as the target */
    return status;
}

static assay_status copy_below(const char *from, const char *to, int depth, assay_error *err) {
    struct stat st;
    if (lstat(from, &st) != 0) return assay_fail_errno(err, "%s: cannot stat", from);
    if (S_ISREG(st.st_mode)) return assay_copy_file(from, to, err);
    if (!S_ISDIR(st.st_mode)) return assay_fail(err, ASSAY_E_INPUT, "%s: only regular files and folders are copied", from);
    if (depth > TREE_DEPTH_MAX) return assay_fail(err, ASSAY_E_LIMIT, "%s: folders nested deeper than %d", from, TREE_DEPTH_MAX);
    assay_status status = assay_mkdirs(to, err);
    char **names = NULL;
    size_t n = 0;
    if (status == ASSAY_OK) status = assay_list_dir(from, &names, &n, err);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++) {
        char *a = assay_path_join(from, names[i]), *b = assay_path_join(to, names[i]);
        status = copy_below(a, b, depth + 1, err);
        free(a);
        free(b);
    }
    assay_list_free(names, n);
    return status;
}

assay_status assay_copy_tree(const char *from, const char *to, assay_error *err) { return copy_below(from, to, 0, err); }

/* ---- this program ---- */

char *assay_self_path(void) {
    char raw[PATH_MAX];
#if defined(__APPLE__)
    uint32_t size = sizeof raw;
    if (_NSGetExecutablePath(raw, &size) != 0) return assay_xstrdup("assay");
#else
    ssize_t n = readlink("/proc/self/exe", raw, sizeof raw - 1);
    if (n <= 0) return assay_xstrdup("assay");
    raw[n] = '\0';
#endif
    char *real = realpath(raw, NULL);
    return real ? real : assay_xstrdup(raw);
}
