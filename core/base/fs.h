/* base/fs.h: files, folders and publication by rename. Paths are plain C strings; results are malloc'd, caller frees. */
#ifndef ASSAY_BASE_FS_H
#define ASSAY_BASE_FS_H
#include "base/mem.h"
#include <stdbool.h>

char *assay_path_join(const char *a, const char *b);
char *assay_path_dir(const char *path);                              /* "." for a bare name */
const char *assay_path_base(const char *path);                       /* borrowed */
/* Relative, no "..", no empty part, no backslash, no NUL: safe below a folder. */
bool assay_path_is_inside(const char *rel);
bool assay_is_dir(const char *path);
bool assay_is_file(const char *path);
bool assay_exists(const char *path);
assay_status assay_mkdirs(const char *path, assay_error *err);
assay_status assay_remove_tree(const char *path, assay_error *err);  /* absent is fine; never follows links */
assay_status assay_copy_file(const char *from, const char *to, assay_error *err);
assay_status assay_copy_tree(const char *from, const char *to, assay_error *err);
/* Regular files only; more than max_bytes is ASSAY_E_LIMIT. */
assay_status assay_read_file(const char *path, size_t max_bytes, char **data, size_t *len, assay_error *err); /* NUL added */
/* Writes path.tmp-<pid>, fsyncs, renames, fsyncs the folder: the file is old or new, never half. */
assay_status assay_write_file(const char *path, const void *data, size_t len, assay_error *err);
/* The same for a file that is put together from several pieces. */
typedef struct assay_piece { const void *data; size_t len; } assay_piece;
assay_status assay_write_pieces(const char *path, const assay_piece *pieces, size_t n, assay_error *err);
/* The same without fsync: whole or absent to a reader, lost in a power cut. For files of a folder that is published later, and
 * for what can be made again. */
assay_status assay_write_inside(const char *path, const void *data, size_t len, assay_error *err);
/* fsyncs every file of `tmp` and the folder, renames it to `final`, fsyncs the parent. If `final` exists already (a racing
 * copy won), `tmp` is removed, *lost is true and the status is ASSAY_OK. */
assay_status assay_publish_dir(const char *tmp, const char *final, bool *lost, assay_error *err);
/* Sorted names in a folder, without "." and "..". Free with assay_list_free. */
assay_status assay_list_dir(const char *path, char ***names, size_t *n, assay_error *err);
void assay_list_free(char **names, size_t n);
/* Read-only mapping; an empty file gives data "" and len 0. */
typedef struct assay_map { const void *data; size_t len; void *base; size_t base_len; } assay_map;
assay_status assay_map_file(const char *path, assay_map *m, assay_error *err);
void assay_unmap(assay_map *m);
/* Full path of this program (for spawning workers and for finding plugins and scripts beside it). */
char *assay_self_path(void);
#endif
