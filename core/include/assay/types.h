/* assay/types.h: values that cross the plugin border. FROZEN in ABI 1: these never grow (they sit in arrays).
 * What grows are tables and descriptors, which begin with struct_size. Strings: UTF-8, NUL-ended, never NULL unless stated. */
#ifndef ASSAY_TYPES_H
#define ASSAY_TYPES_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#define ASSAY_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif
#define ASSAY_ABI 0x00010000u                    /* major<<16 | minor */
#define ASSAY_ABI_TEXT "1.0"                     /* the same, for messages */
#define ASSAY_RANK_MAX 8
typedef int32_t assay_status;                    /* could it RUN? 0 or negative ASSAY_E_... */
enum { ASSAY_OK = 0,
    ASSAY_E_USAGE = -2,                          /* wrong call or command line */
    ASSAY_E_INPUT = -3,                          /* script, configuration or input is wrong */
    ASSAY_E_IO = -4,                             /* file system, full disk */
    ASSAY_E_NOMEM = -5, ASSAY_E_RANGE = -6,      /* RANGE: past the last element */
    ASSAY_E_TYPE = -7, ASSAY_E_MISSING = -8, ASSAY_E_UNSUPPORTED = -9,
    ASSAY_E_ABI = -10, ASSAY_E_LIMIT = -11,      /* LIMIT: time, memory or instruction ceiling */
    ASSAY_E_INTERNAL = -70 };
typedef int32_t assay_verdict;                   /* what did it SAY? */
enum { ASSAY_PASS = 1, ASSAY_KILL, ASSAY_INCONCLUSIVE, ASSAY_NOT_MEASURED };
enum { ASSAY_F16 = 1, ASSAY_BF16, ASSAY_F32, ASSAY_F64, ASSAY_BOOL, ASSAY_I8, ASSAY_U8, ASSAY_I16, ASSAY_U16, ASSAY_I32, ASSAY_U32, ASSAY_I64, ASSAY_U64 };
typedef struct assay_error { int32_t code; char message[508]; } assay_error;      /* caller's memory */
typedef struct assay_tensor {                    /* a view; stride counts ELEMENTS (as Core ML), may be padded, never negative */
    int32_t dtype; uint32_t rank;
    int64_t shape[ASSAY_RANK_MAX], stride[ASSAY_RANK_MAX];
    void *data; uint64_t nbytes;                 /* all reachable bytes; padding is undefined: never hash or compare it */
} assay_tensor;
typedef struct assay_named_tensor { const char *name; assay_tensor t; } assay_named_tensor;
enum { ASSAY_T_BOOL = 1, ASSAY_T_INT, ASSAY_T_NUMBER, ASSAY_T_STRING, ASSAY_T_LIST = 16, ASSAY_T_MAP = 32 };   /* LIST, MAP: or-ed in */
enum { ASSAY_PARAM_PREREGISTERED = 1 };          /* a sealed plan must state it: no silent default */
typedef struct assay_param {                     /* ends with name NULL; min > max: no range */
    const char *name, *def, *choices, *unit, *help;   /* def NULL = required; choices "a|b|c" or NULL */
    double min, max; int32_t type; uint32_t flags;   /* ASSAY_PARAM_... */
} assay_param;
typedef struct assay_value { const char *key, *s; int64_t i; double f; int32_t type; uint32_t reserved; } assay_value;
typedef struct assay_op_row {                    /* one op of a compute plan */
    const char *function, *output, *type;        /* output = name of its first result: the join key; type without iosNN. */
    int32_t preferred; uint32_t supported;       /* ASSAY_DEV_...; supported is a bit set 1u<<dev, 0 = unknown */
    double cost;                                 /* share of the model, estimated; NaN = no data */
} assay_op_row;
enum { ASSAY_ORIGIN_DEVICE = 1, ASSAY_ORIGIN_REFERENCE, ASSAY_ORIGIN_SIMULATED, ASSAY_ORIGIN_IMPORTED };
enum { ASSAY_DEV_UNKNOWN = 0, ASSAY_DEV_NONE, ASSAY_DEV_CPU, ASSAY_DEV_GPU, ASSAY_DEV_NE };   /* NONE = constant, not scheduled */
typedef struct assay_sample { uint32_t process, block, slot, arm; uint64_t start_ns, dur_ns; uint32_t flags, reserved; } assay_sample;
typedef struct assay_program assay_program;      /* opaque; walk it with assay.program/1 */
typedef struct assay_params assay_params;
/* What the program gives to a plugin. Deliberately tiny: everything else is an interface asked for by name. Any thread of the plugin
 * may call it while one of the plugin's callbacks runs. log: level 0 debug, 1 information, 2 warning, 3 error; warnings and
 * errors are shown, on stderr, and what a gate logs as information in needs() before the evidence it asks for is collected. param: ASSAY_E_MISSING for a name that is not in the plugin's own table, ASSAY_E_RANGE after the
 * last value (at once when a parameter without default was not given). get: an interface once shipped never changes. */
typedef struct assay_host {
    uint32_t struct_size, abi; void *ctx;
    void         (*log)(void *ctx, int32_t level, const char *msg);
    assay_status (*param)(const assay_params *, const char *name, uint32_t index, assay_value *out);  /* validated, defaulted; ASSAY_E_RANGE after the last */
    const void  *(*get)(void *ctx, const char *id);   /* "assay.program/1", "assay.metrics/1", "assay.math/1"...; static table or NULL */
} assay_host;
#ifdef __cplusplus
}
#endif
#endif
