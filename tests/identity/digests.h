/* tests/identity/digests.h: what the parts of the program share. */
#ifndef ASSAY_IDENTITY_DIGESTS_H
#define ASSAY_IDENTITY_DIGESTS_H
#include <stddef.h>
#include <stdint.h>
#define DIGEST_START 0xcbf29ce484222325u
/* FNV-1a, 64 bits: libcrypto is not at hand for the cross build, and accidents are all this must notice. */
uint64_t digest_add(uint64_t h, const void *data, size_t bytes);
void show(const char *name, const void *data, size_t bytes);         /* prints "NAME DIGEST" */
void show_latency(void);                                             /* digests_latency.c */
#endif
