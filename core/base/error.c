/* base/error.c: fills in assay_error so that a message is always one whole line of valid length. */
#include "base/error.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One line, and no UTF-8 character cut in half where the text had to be shortened. */
static void tidy(char *text, int wanted, size_t room) {
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    if (wanted < 0 || (size_t)wanted < room) return;
    size_t n = strlen(text), back = 0;
    while (back < n && back < 4 && ((unsigned char)text[n - 1 - back] & 0xC0) == 0x80) back++;
    if (back < n && ((unsigned char)text[n - 1 - back] & 0xC0) == 0xC0) text[n - 1 - back] = '\0';
}

ASSAY_PRINTF(2, 0) static void put(assay_error *err, const char *fmt, va_list ap) {
    int wanted = vsnprintf(err->message, sizeof err->message, fmt, ap);
    tidy(err->message, wanted, sizeof err->message);
}

assay_status assay_fail(assay_error *err, assay_status code, const char *fmt, ...) {
    if (!err) return code;
    va_list ap;
    va_start(ap, fmt);
    put(err, fmt, ap);
    va_end(ap);
    err->code = code;
    return code;
}

assay_status assay_wrap(assay_error *err, const char *fmt, ...) {
    if (!err) return ASSAY_E_INTERNAL;   /* the code is lost with the error: callers that pass NULL keep it themselves */
    char cause[sizeof err->message];
    memcpy(cause, err->message, sizeof cause);
    cause[sizeof cause - 1] = '\0';
    va_list ap;
    va_start(ap, fmt);
    put(err, fmt, ap);
    va_end(ap);
    size_t used = strlen(err->message);
    int wanted = snprintf(err->message + used, sizeof err->message - used, ": %s", cause);
    tidy(err->message, wanted, sizeof err->message - used);
    return err->code;
}

assay_status assay_fail_errno(assay_error *err, const char *fmt, ...) {
    int why = errno;
    if (!err) return ASSAY_E_IO;
    va_list ap;
    va_start(ap, fmt);
    put(err, fmt, ap);
    va_end(ap);
    size_t used = strlen(err->message);
    int wanted = snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(why));
    tidy(err->message, wanted, sizeof err->message - used);
    err->code = ASSAY_E_IO;
    return ASSAY_E_IO;
}

int assay_exit_code(assay_status status) {
    switch (status) {
    case ASSAY_OK: return 0;
    case ASSAY_E_USAGE: return 2;
    case ASSAY_E_INTERNAL: return 70;
    default: return 3;
    }
}
