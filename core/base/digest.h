/* base/digest.h: SHA-256 of bytes, files and trees (libcrypto). Digests detect accidents, not forgers. */
#ifndef ASSAY_BASE_DIGEST_H
#define ASSAY_BASE_DIGEST_H
#include "base/error.h"
#include <stddef.h>

#define ASSAY_HEX 65                                                 /* 64 hex digits and a NUL */
typedef struct assay_sha256 assay_sha256;
assay_sha256 *assay_sha256_new(void);
void assay_sha256_add(assay_sha256 *s, const void *p, size_t n);
void assay_sha256_done(assay_sha256 *s, char hex[ASSAY_HEX]);        /* frees s */
void assay_sha256_of(const void *p, size_t n, char hex[ASSAY_HEX]);
assay_status assay_sha256_file(const char *path, char hex[ASSAY_HEX], assay_error *err);
/* Tree digest: regular files below `path`, relative names sorted by bytes; SHA-256 over "name NUL size NUL filehash LF".
 * Symbolic links, sockets, devices and pipes are refused. A single file gives its own SHA-256. */
assay_status assay_tree_digest(const char *path, char hex[ASSAY_HEX], assay_error *err);
#endif
