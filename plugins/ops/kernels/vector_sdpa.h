/* plugins/ops/kernels/vector_sdpa.h: fused attention for one element type at one vector level. A task takes some rows of one
 * batch entry: it packs that entry's K and V into panels, then for MR queries at a time computes the scores against all keys,
 * their exponentials and the product with V, so no more than MR rows of scores exist at once in each worker. */
enum { FN(WIDE) = (int)FN(NR) > (int)LANES ? (int)FN(NR) : (int)LANES };  /* whole panels and whole lane groups */

typedef struct FN(sdpa_job) {
    const assay_sdpa_args *args;
    int64_t rows_step, row_tasks;                /* queries of a task, tasks of a batch entry */
    int64_t keys, k_size, v_size, step;          /* S rounded up to WIDE; elements of each part of the scratch memory */
    T *scratch;
} FN(sdpa_job);

/* row = row * scale + mask up to S, -inf from there to `keys` (its exponential is an exact 0). */
static void FN(scale_row)(T *row, int64_t S, int64_t keys, T scale, const T *mask, int64_t mask_s) {
    for (int64_t s = 0; s < S; s += FN(VL)) FN(st)(row + s, FN(mul)(FN(ld)(row + s), FN(set)(scale)));
    int64_t s = 0;
    if (mask && mask_s == 1)
        for (; s + FN(VL) <= S; s += FN(VL)) FN(st)(row + s, FN(add)(FN(ld)(row + s), FN(ld)(mask + s)));
    if (mask)
        for (; s < S; s++) row[s] += mask[s * mask_s];
    for (s = S; s < keys; s++) row[s] = -(T)INFINITY;
}

static void FN(sdpa_rows)(const FN(sdpa_job) *job, int64_t b, int64_t l, int rows, const T *kp, const T *vp, T *p) {
    const assay_sdpa_args *g = job->args;
    const T *q = (const T *)g->q + (b * g->L + l) * g->E, *mask = g->mask;
    T *out = (T *)g->out + (b * g->L + l) * g->Ev, sum[MR];
    const FN(step) scores = { .k = g->E, .first = true }, product = { .k = g->S, .first = true };
    FN(tile)(rows, &scores, q, g->E, kp, (g->S + FN(NR) - 1) / FN(NR), p, job->keys);
    for (int i = 0; i < rows; i++) {
        T *row = p + i * job->keys;
        FN(scale_row)(row, g->S, job->keys, (T)g->scale, mask ? mask + b * g->mask_b + (l + i) * g->mask_l : NULL, g->mask_s);
        sum[i] = FN(row_exp)(row, row, job->keys, FN(row_max)(row, job->keys));
    }
    FN(row_of_tiles)(rows, &product, p, job->keys, vp, out, g->Ev, g->Ev);
    for (int i = 0; i < rows; i++) FN(row_divide)(out + i * g->Ev, out + i * g->Ev, g->Ev, sum[i]);
}

static void FN(sdpa_task)(void *ctx, uint64_t i, uint32_t worker) {
    const FN(sdpa_job) *job = ctx;
    const assay_sdpa_args *g = job->args;
    int64_t b = (int64_t)i / job->row_tasks, l0 = (int64_t)i % job->row_tasks * job->rows_step;
    int64_t l1 = l0 + job->rows_step < g->L ? l0 + job->rows_step : g->L;
    const T *k = (const T *)g->k + b * g->S * g->E, *v = (const T *)g->v + b * g->S * g->Ev;
    T *kp = job->scratch + (int64_t)worker * job->step, *vp = kp + job->k_size, *p = vp + job->v_size;
    FN(pack)(k, g->E, true, g->S, g->E, kp);
    FN(pack)(v, g->Ev, false, g->Ev, g->S, vp);
    for (int64_t l = l0; l < l1; l += MR) FN(sdpa_rows)(job, b, l, (int)(l1 - l < MR ? l1 - l : MR), kp, vp, p);
}

static void FN(sdpa)(const assay_sdpa_args *args) {
    if (args->batch <= 0 || args->L <= 0 || args->Ev <= 0) return;
    uint32_t workers = kernel_workers(args->threads);
    FN(sdpa_job) job = { .args = args };
    job.rows_step = rows_of_task(args->L, args->batch, workers, MR);
    job.row_tasks = (args->L + job.rows_step - 1) / job.rows_step;
    job.keys = (args->S + FN(WIDE) - 1) / FN(WIDE) * FN(WIDE);
    job.k_size = job.keys * args->E;
    job.v_size = (args->Ev + FN(NR) - 1) / FN(NR) * FN(NR) * args->S;
    job.step = job.k_size + job.v_size + MR * job.keys + LANES;
    job.scratch = assay_mem_spare(ASSAY_SPARE_ATTENTION, (size_t)(job.step * workers) * sizeof(T));
    assay_parallel(workers, (uint64_t)(args->batch * job.row_tasks), FN(sdpa_task), &job);
}
