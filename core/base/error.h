/* base/error.h: filling in an assay_error. Every function that can fail returns assay_status and takes `assay_error *err`,
 * which may be NULL. A message is one line: where, what, and the way out. */
#ifndef ASSAY_BASE_ERROR_H
#define ASSAY_BASE_ERROR_H
#include "assay/types.h"

#if defined(__GNUC__)
#define ASSAY_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define ASSAY_PRINTF(f, a)
#endif

/* Sets code and message; returns code. */
assay_status assay_fail(assay_error *err, assay_status code, const char *fmt, ...) ASSAY_PRINTF(3, 4);
/* Puts "PREFIX: " before the message that is there; keeps and returns the code (with NULL err: ASSAY_E_INTERNAL). */
assay_status assay_wrap(assay_error *err, const char *fmt, ...) ASSAY_PRINTF(2, 3);
/* Like assay_fail with ASSAY_E_IO and ": strerror(errno)" at the end. */
assay_status assay_fail_errno(assay_error *err, const char *fmt, ...) ASSAY_PRINTF(2, 3);
/* Exit code of the program for a status (architecture.md section 6): 0, 2, 3 or 70. */
int assay_exit_code(assay_status status);
#endif
