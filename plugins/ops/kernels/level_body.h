/* plugins/ops/kernels/level_body.h: one vector level: the templates for float and double, the fp16 parts, and the table. The
 * file that includes this has included its isa_*.h before. */
#include "ops/kernels/levels.h"
#include "ops/kernels/scalar.h"
#include "base/mem.h"
#include "base/threads.h"
#include <stdlib.h>

/* A task of a matrix product packs K_BLOCK of k at a time, and as many columns as make PACKED_BYTES: that stays in a second-level
 * cache of 1 MiB with the rows of A that pass by, and a short k gives long rows of C. Measured in docs/reference/bench.md. */
enum { K_BLOCK = 1536, PACKED_BYTES = 384 * 1024, TASKS_PER_WORKER = 4, TILES_PER_TASK = 8, ROW_BYTES = 64 * 1024 };

/* Rows of a task: all of them if there are enough tasks for every worker already, else a share, never under a few tiles. */
static int64_t rows_of_task(int64_t rows, int64_t tasks, uint32_t workers, int64_t tile) {
    int64_t wanted = workers > 1 ? ((int64_t)workers * TASKS_PER_WORKER + tasks - 1) / tasks : 1;
    int64_t share = (rows + wanted - 1) / wanted, least = tile * TILES_PER_TASK;
    share = (share + tile - 1) / tile * tile;
    return share < least ? least : share;
}

/* Squares of 4 x 4 floats and 2 x 2 doubles: 16-byte vectors, which every level has. */
enum { SQUARE_f32 = 4, SQUARE_f64 = 2 };
typedef float quad __attribute__((vector_size(16)));
typedef double pair __attribute__((vector_size(16)));

static inline void transpose_f32(const float *src, int64_t ld, float *dst, int64_t dst_ld) {
    quad r[4], t[4];
    UNROLL for (int i = 0; i < 4; i++) memcpy(&r[i], src + i * ld, sizeof r[i]);
    UNROLL for (int i = 0; i < 4; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 1, 5);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 6, 3, 7);
    }
    UNROLL for (int i = 0; i < 2; i++) {
        quad low = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5), high = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
        memcpy(dst + 2 * i * dst_ld, &low, sizeof low);
        memcpy(dst + (2 * i + 1) * dst_ld, &high, sizeof high);
    }
}

static inline void transpose_f64(const double *src, int64_t ld, double *dst, int64_t dst_ld) {
    pair a, b;
    memcpy(&a, src, sizeof a);
    memcpy(&b, src + ld, sizeof b);
    pair low = __builtin_shufflevector(a, b, 0, 2), high = __builtin_shufflevector(a, b, 1, 3);
    memcpy(dst, &low, sizeof low);
    memcpy(dst + dst_ld, &high, sizeof high);
}

#define GLUE2(a, b) a##_##b
#define GLUE(a, b) GLUE2(a, b)
#define FN(name) GLUE(name, SUFFIX)

#define T float
#define VEC vec_f32
#define SUFFIX f32
#define LANES LANES_F32
#define EXP_MAGIC EXP32_MAGIC
#define EXP_LOG2E EXP32_LOG2E
#define EXP_LN2_HI EXP32_LN2_HI
#define EXP_LN2_LO EXP32_LN2_LO
#define EXP_LOW EXP32_LOW
#define EXP_HIGH EXP32_HIGH
#define EXP_TOP EXP32_TOP
#define EXP_TERMS EXP32_TERMS
#include "ops/kernels/vector_rows.h"
#include "ops/kernels/vector_gemm.h"
#include "ops/kernels/vector_sdpa.h"
#undef T
#undef VEC
#undef SUFFIX
#undef LANES
#undef EXP_MAGIC
#undef EXP_LOG2E
#undef EXP_LN2_HI
#undef EXP_LN2_LO
#undef EXP_LOW
#undef EXP_HIGH
#undef EXP_TOP
#undef EXP_TERMS

#define T double
#define VEC vec_f64
#define SUFFIX f64
#define LANES LANES_F64
#define EXP_MAGIC EXP64_MAGIC
#define EXP_LOG2E EXP64_LOG2E
#define EXP_LN2_HI EXP64_LN2_HI
#define EXP_LN2_LO EXP64_LN2_LO
#define EXP_LOW EXP64_LOW
#define EXP_HIGH EXP64_HIGH
#define EXP_TOP EXP64_TOP
#define EXP_TERMS EXP64_TERMS
#include "ops/kernels/vector_rows.h"
#include "ops/kernels/vector_gemm.h"
#include "ops/kernels/vector_sdpa.h"

#include "ops/kernels/vector_half.h"

const assay_kernels LEVEL_TABLE = {
    .name = LEVEL_NAME,
    .gemm_f32 = gemm_f32, .gemm_f64 = gemm_f64,
    .f16_to_f32 = widen, .f32_to_f16 = narrow,
    .exp_f32 = exp_f32, .exp_f64 = exp_f64,
    .softmax_f32 = softmax_f32, .softmax_f64 = softmax_f64, .softmax_f16wide = softmax_f16wide,
    .sdpa_f32 = sdpa_f32, .sdpa_f64 = sdpa_f64,
    .sum_f32 = sum_f32, .sum_f64 = sum_f64,
};
