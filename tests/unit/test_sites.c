/* Attention sites by data flow: the spellings found in real programs, and none where there is no attention. */
#include "suite.h"
#include "graph.h"
#include "base/fs.h"
#include "base/names.h"
#include "program/sites.h"

#define DIMS(...)                                                                                                                \
    (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]) { __VA_ARGS__ }

/* ---- real programs */
static const struct {
    const char *name;
    size_t n;
    uint32_t spelling;
} real[] = {{"minilm-l6-pkg", 6, ASSAY_SITE_SCALE_AFTER | ASSAY_SITE_MASK_ADD},
            {"multiqa-minilm-pkg", 6, ASSAY_SITE_SCALE_AFTER | ASSAY_SITE_MASK_ADD},
            {"distilbert-quant-pkg", 6, ASSAY_SITE_SCALE_Q | ASSAY_SITE_MASK_SELECT},
            {"kokoro-duration-pkg", 12, ASSAY_SITE_SCALE_Q | ASSAY_SITE_MASK_ADD}};

static void check_program(const char *name, const char *path) {
    assay_program *p = NULL;
    size_t want = 0, n = 0;
    uint32_t spelling = 0;
    if (assay_program_read(path, &p, NULL) != ASSAY_OK) return; /* test_public says what must be read */
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (!strcmp(real[i].name, name)) want = real[i].n, spelling = real[i].spelling;
    for (uint32_t f = 0; f < p->n_functions; f++) {
        size_t here;
        assay_site *s = assay_sites_find(p->functions[f], &here);
        for (size_t i = 0; i < here; i++) {
            if (s[i].spelling != spelling) printf("\n  %s: spelling %#x at %s\n", name, s[i].spelling, s[i].op->outs[0]->name);
            CU_ASSERT(s[i].spelling == spelling && s[i].reachable && s[i].scale < 1);
        }
        n += here;
        free(s);
    }
    if (n != want) printf("\n  %s: %zu sites, expected %zu\n", name, n, want);
    CU_ASSERT(n == want);
    assay_program_free(p);
}

static void real_programs(void) {
    const char *shared = shared_or_skip();
    char **names = NULL, dir[4096];
    size_t n = 0;
    if (!shared) return;
    assay_ops_register();
    snprintf(dir, sizeof dir, "%s/corpus/public", shared);
    CU_ASSERT_FATAL(assay_list_dir(dir, &names, &n, NULL) == ASSAY_OK);
    for (size_t i = 0; i < n; i++) {
        char *folder = assay_path_join(dir, names[i]), **files = NULL;
        size_t k = 0;
        if (assay_is_dir(folder) && assay_list_dir(folder, &files, &k, NULL) == ASSAY_OK && k) {
            char *path = assay_path_join(folder, files[k - 1]);
            check_program(names[i], path);
            free(path);
        }
        assay_list_free(files, k);
        free(folder);
    }
    assay_list_free(names, n);
}

/* ---- spellings of which the corpus holds no program */
static assay_site only(graph *g, val out) {
    size_t n = 0;
    assay_site one = {0};
    CU_ASSERT_FATAL(out && assay_function_set_outputs(g->p, g->f, &out, 1, &g->err) == ASSAY_OK);
    assay_program_index(g->p);
    assay_site *s = assay_sites_find(g->f, &n);
    CU_ASSERT(n == 1);
    if (n == 1) one = s[0];
    free(s);
    return one;
}

static val times(graph *g, val x, double by) { return g_op(g, "mul", "scaled", "x", x, "y", g_number(g, ASSAY_F32, by), NULL); }
static val mix(graph *g, val q, val k, val v, bool turned) {
    val s = g_op(g, "matmul", "s", "x", q, "y", k, "transpose_y", g_number(g, ASSAY_BOOL, turned), NULL);
    return g_op(g, "matmul", "o", "x", g_op(g, "softmax", "p", "x", s, NULL), "y", v, NULL);
}

static void scale_on_both_sides(void) {
    graph g = graph_new();
    val q = g_input(&g, "q", ASSAY_MIL_FP32, DIMS(1, 2, 5, 8)), k = g_input(&g, "k", ASSAY_MIL_FP32, DIMS(1, 2, 5, 8)),
        v = g_input(&g, "v", ASSAY_MIL_FP32, DIMS(1, 2, 5, 8));
    val kt = g_op(&g, "transpose", "kt", "x", times(&g, k, 0.5), "perm", INTS(&g, 0, 1, 3, 2), NULL);
    assay_site s = only(&g, mix(&g, times(&g, q, 0.5), kt, v, false));
    CU_ASSERT(s.spelling == (ASSAY_SITE_SCALE_Q | ASSAY_SITE_SCALE_K) && s.scale == 0.25 && s.value == v);
    assay_program_free(g.p);
}

static void rank_three(void) {
    graph g = graph_new();
    val q = g_input(&g, "q", ASSAY_MIL_FP32, DIMS(8, 5, 8)), k = g_input(&g, "k", ASSAY_MIL_FP32, DIMS(8, 5, 8)),
        v = g_input(&g, "v", ASSAY_MIL_FP32, DIMS(8, 5, 8));
    CU_ASSERT(only(&g, mix(&g, times(&g, q, 0.5), k, v, true)).spelling == (ASSAY_SITE_SCALE_Q | ASSAY_SITE_RANK3));
    assay_program_free(g.p);
}

/* One projection of width 3 D, reshape, transpose, three slices. */
static void one_projection(void) {
    graph g = graph_new();
    static const float weight[48 * 16];
    const int64_t dims[2] = {48, 16};
    assay_tensor t = assay_tensor_view(ASSAY_F32, 2, dims, (void *)(uintptr_t)weight);
    val y = g_op(&g, "linear", "qkv", "x", g_input(&g, "x", ASSAY_MIL_FP32, DIMS(1, 5, 16)), "weight", g_const(&g, "w", &t),
                 NULL),
        part[3];
    y = g_op(&g, "reshape", "five", "x", y, "shape", INTS(&g, 1, 5, 3, 2, 8), NULL);
    y = g_op(&g, "transpose", "turned", "x", y, "perm", INTS(&g, 2, 0, 3, 1, 4), NULL);
    for (int32_t i = 0; i < 3; i++) {
        part[i] = g_op(&g, "slice_by_index", "part", "x", y, "begin", INTS(&g, i, 0, 0, 0, 0), "end", INTS(&g, i + 1, 1, 2, 5, 8),
                       NULL);
        part[i] = g_op(&g, "squeeze", "head", "x", part[i], "axes", INTS(&g, 0), NULL);
    }
    CU_ASSERT(only(&g, mix(&g, times(&g, part[0], 0.35), part[1], part[2], true)).spelling ==
              (ASSAY_SITE_SCALE_Q | ASSAY_SITE_QKV));
    assay_program_free(g.p);
}

/* A classifier's softmax, one behind a product but before none, and one whose values are weights. */
static void no_attention(void) {
    for (int kind = 0; kind < 3; kind++) {
        graph g = graph_new();
        static const float weight[64];
        const int64_t dims[2] = {8, 8};
        assay_tensor t = assay_tensor_view(ASSAY_F32, 2, dims, (void *)(uintptr_t)weight);
        val x = g_input(&g, "x", ASSAY_MIL_FP32, DIMS(8, 8)), w = g_const(&g, "w", &t), y;
        if (kind == 0)
            y = g_op(&g, "softmax", "p", "x", g_op(&g, "linear", "l", "x", x, "weight", w, NULL), NULL);
        else
            y = g_op(&g, "softmax", "p", "x", g_op(&g, "matmul", "s", "x", x, "y", x, NULL), NULL);
        if (kind == 2) y = g_op(&g, "matmul", "o", "x", y, "y", w, NULL);
        size_t n;
        CU_ASSERT_FATAL(y && assay_function_set_outputs(g.p, g.f, &y, 1, &g.err) == ASSAY_OK);
        assay_program_index(g.p);
        assay_site *s = assay_sites_find(g.f, &n);
        CU_ASSERT(n == 0 && !s);
        free(s);
        assay_program_free(g.p);
    }
}

ASSAY_SUITE("sites", TEST(real_programs), TEST(scale_on_both_sides), TEST(rank_three), TEST(one_projection), TEST(no_attention))
