/* A growing text with JSON numbers and strings: details of findings are small tables. */
#include "similarity.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_text_add(sim_text *t, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) abort();
    if (t->len + (size_t)n + 1 > t->cap) {
        t->cap = 2 * (t->len + (size_t)n + 1);
        t->s = realloc(t->s, t->cap);
        if (!t->s) abort(); /* a few kilobytes: the machine is out of memory */
    }
    vsnprintf(t->s + t->len, t->cap - t->len, fmt, again);
    va_end(again);
    t->len += (size_t)n;
}

void sim_text_number(sim_text *t, double v) {
    if (v - v == 0)
        sim_text_add(t, "%.17g", v);
    else
        sim_text_add(t, "null");
}

void sim_text_string(sim_text *t, const char *s) {
    sim_text_add(t, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            sim_text_add(t, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            sim_text_add(t, "\\u%04x", (unsigned)*s);
        else
            sim_text_add(t, "%c", *s);
    }
    sim_text_add(t, "\"");
}
