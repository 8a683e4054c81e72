/* assay inspect PATH: what a package, model file, MIL text or tensor holds. Weights are not read unless asked. */
#include "cli/cli.h"
#include "cli/inspect_dot.h"
#include "cli/tensor_files.h"
#include "base/digest.h"
#include "base/fs.h"
#include "base/names.h"
#include "ops/builtin.h"
#include "program/facts.h"
#include "program/sites.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_opt opts[] = {
    {"mil", 0, NULL, "print the program as MIL text", false},
    {"ops", 0, NULL, "list the ops, one a line, dead ones marked", false},
    {"dot", 0, "VALUE", "the ops around the one that makes VALUE, in the language of Graphviz", false},
    {"weights", 0, NULL, "read the weights: digests of records and uses, structural digest", false},
    {"no-check", 0, NULL, "show the program although declared types disagree with the ops' rules", false},
    {NULL, 0, NULL, NULL, false},
};

/* ---- tensors */
static int inspect_npy(const assay_args *a, const char *path) {
    assay_own_tensor t;
    assay_error err;
    if (assay_npy_read(path, &t, &err)) return assay_cli_fail(a, &err);
    char shape[160], hex[65] = "";
    assay_json *j = assay_json_object();
    assay_json_set_string(j, "schema", "assay-inspect/1");
    assay_json_set_string(j, "format", "npy");
    assay_json_set_string(j, "dtype", assay_dtype_name(t.t.dtype));
    assay_json *dims = assay_json_set(j, "shape", assay_json_array());
    for (uint32_t i = 0; i < t.t.rank; i++) assay_json_append(dims, assay_json_new_number((double)t.t.shape[i]));
    assay_json_set_int(j, "elements", assay_tensor_count(&t.t));
    assay_tensor_digest(&t.t, hex);
    assay_json_set_string(j, "sha256", hex);
    if (a->json)
        assay_cli_print_json(j);
    else
        printf("%s: tensor %s%s, sha256 %s\n", path, assay_dtype_name(t.t.dtype), assay_shape_text(t.t.rank, t.t.shape, shape),
               hex);
    assay_json_free(j);
    assay_tensor_free(&t);
    return ASSAY_EXIT_OK;
}

static void print_tensor(const assay_json *e) {
    char *shape = assay_json_print(assay_json_get(e, "shape"));
    const char *sha = assay_json_string(e, "sha256", NULL);
    printf("  %-5s %-20s %s%s%s\n", assay_json_string(e, "dtype", ""), shape, assay_json_key(e), sha ? "  sha256 " : "",
           sha ? sha : "");
    free(shape);
}

static int inspect_safetensors(const assay_args *a, const char *path) {
    assay_json *tensors, *j = assay_json_object();
    assay_error err;
    if (assay_tensor_file_json(path, assay_flag(a, "weights"), &tensors, &err)) {
        assay_json_free(j);
        return assay_cli_fail(a, &err);
    }
    assay_json_set_string(j, "schema", "assay-inspect/1");
    assay_json_set_string(j, "format", "safetensors");
    assay_json_set(j, "tensors", tensors);
    if (a->json)
        assay_cli_print_json(j);
    else {
        printf("%s: %zu tensors\n", path, assay_json_len(tensors));
        for (const assay_json *e = assay_json_first(tensors); e; e = assay_json_next(e)) print_tensor(e);
    }
    assay_json_free(j);
    return ASSAY_EXIT_OK;
}

/* ---- text view of the facts */
static void print_type(const assay_json *v) {
    const char *kind = assay_json_string(v, "kind", "");
    if (!strcmp(kind, "state")) {
        printf("state of ");
        v = assay_json_get(v, "wraps");
    }
    const assay_json *shape = assay_json_get(v, "shape");
    printf("%s", assay_json_string(v, "dtype", kind));
    if (!shape) return;
    putchar('[');
    for (size_t i = 0; i < assay_json_len(shape); i++) {
        const char *unknown = assay_json_text(assay_json_at(shape, i));
        if (i) putchar(',');
        if (unknown)
            printf("%s", unknown);
        else
            printf("%.0f", assay_json_value(assay_json_at(shape, i)));
    }
    putchar(']');
}

static void print_values(const char *label, const assay_json *list) {
    for (size_t i = 0; i < assay_json_len(list); i++) {
        const assay_json *v = assay_json_at(list, i);
        printf("  %-8s %s  ", i ? "" : label, assay_json_string(v, "name", ""));
        print_type(v);
        const assay_json *range = assay_json_get(v, "shape_range");
        if (!range) range = assay_json_get(v, "enumerated_shapes");
        char *text = range ? assay_json_print(range) : NULL;
        if (text) printf("  %s %s", assay_json_get(v, "shape_range") ? "ranges" : "one of", text);
        free(text);
        printf("\n");
    }
}

static double sum(const assay_json *histogram) {
    double n = 0;
    for (size_t i = 0; i < assay_json_len(histogram); i++) n += assay_json_value(assay_json_at(histogram, i));
    return n;
}

static void print_census(const assay_json *f) {
    const assay_json *all = assay_json_get(f, "op_histogram"), *live = assay_json_get(f, "op_histogram_reachable");
    printf("  %-8s %.0f, %.0f of them reach an output\n", "ops", sum(all), sum(live));
    for (size_t i = 0; i < assay_json_len(all); i++) {
        const char *type = assay_json_key_at(all, i);
        double n = assay_json_value(assay_json_at(all, i)), reach = assay_json_number(live, type, 0);
        printf("  %-8s %5.0f  %s", "", n, type);
        if (reach < n) printf("  (%.0f dead)", n - reach);
        printf("\n");
    }
    const assay_json *unknown = assay_json_get(f, "unknown_ops");
    for (size_t i = 0; i < assay_json_len(unknown); i++)
        printf("  unknown op %s: shown, but it cannot be executed\n", assay_json_key_at(unknown, i));
}

/* Sites of the same spelling on one line. */
static bool same_spelling(const assay_json *a, const assay_json *b) {
    return assay_json_equal(assay_json_get(a, "spelling"), assay_json_get(b, "spelling")) &&
           assay_json_bool(a, "reachable", false) == assay_json_bool(b, "reachable", false) &&
           !strcmp(assay_json_string(a, "type", ""), assay_json_string(b, "type", ""));
}

static const char *phrase_of(const char *word) {
    for (uint32_t i = 0; i < ASSAY_SITE_KINDS; i++)
        if (!strcmp(assay_site_word(1u << i), word)) return assay_site_phrase(1u << i);
    return word;
}

static void print_spelling(const assay_json *site, int n) {
    const assay_json *words = assay_json_get(site, "spelling");
    printf("  %-8s %5d  %s", "", n, assay_json_string(site, "type", ""));
    for (size_t k = 0; k < assay_json_len(words); k++) printf(", %s", phrase_of(assay_json_text(assay_json_at(words, k))));
    if (assay_json_get(site, "scale")) printf(" (scale %.6g)", assay_json_number(site, "scale", 1));
    printf("%s, first at %s\n", assay_json_bool(site, "reachable", false) ? "" : "  (dead)", assay_json_string(site, "op", ""));
}

static void print_sites(const assay_json *list) {
    size_t n = assay_json_len(list);
    printf("  %-8s %zu attention site%s\n", "sites", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        const assay_json *s = assay_json_at(list, i);
        int same = 0;
        bool first = true;
        for (size_t k = 0; k < n; k++) {
            if (!same_spelling(s, assay_json_at(list, k))) continue;
            first = first && k >= i;
            same++;
        }
        if (first) print_spelling(s, same);
    }
}

static void print_layout(const assay_json *ops) {
    if (!assay_json_len(ops)) return;
    printf("  %-8s", "moves");
    for (size_t i = 0; i < assay_json_len(ops); i++)
        printf("%s %.0f %s", i ? "," : "", assay_json_value(assay_json_at(ops, i)), assay_json_key_at(ops, i));
    printf("\n");
}

/* Weights of one scheme on one line: how many, and the smallest and largest number of stored bits an element. */
static void print_compression(const assay_json *list) {
    size_t n = assay_json_len(list);
    for (size_t i = 0; i < n; i++) {
        const char *scheme = assay_json_string(assay_json_at(list, i), "scheme", "");
        double lo = 1e300, hi = 0;
        int same = 0;
        bool first = true;
        for (size_t k = 0; k < n; k++) {
            const assay_json *w = assay_json_at(list, k);
            if (strcmp(assay_json_string(w, "scheme", ""), scheme)) continue;
            double bits = assay_json_number(w, "bits_per_element", 0);
            lo = bits < lo ? bits : lo;
            hi = bits > hi ? bits : hi;
            first = first && k >= i;
            same++;
        }
        if (first) printf("  %-8s %5d  %s, %.2f to %.2f bits stored an element\n", "packed", same, scheme, lo, hi);
    }
}

static void print_weights(const assay_json *files) {
    for (size_t i = 0; i < assay_json_len(files); i++) {
        const assay_json *w = assay_json_at(files, i), *entries = assay_json_get(w, "entries");
        printf("weights %s", assay_json_string(w, "file", ""));
        if (!assay_json_get(w, "size")) {
            printf(": %s\n", assay_json_string(w, "absent", assay_json_string(w, "damaged", "")));
            continue;
        }
        printf(": %.0f bytes, %.0f records\n", assay_json_number(w, "size", 0), assay_json_number(w, "count", 0));
        for (size_t k = 0; k < assay_json_len(entries); k++) {
            const assay_json *e = assay_json_at(entries, k);
            const char *sha = assay_json_string(e, "sha256", NULL);
            if (sha)
                printf("  at %-10.0f %-6s %12.0f bytes  %s\n", assay_json_number(e, "offset", 0),
                       assay_json_string(e, "dtype", ""), assay_json_number(e, "size_bytes", 0), sha);
        }
    }
}

static void print_metadata(const assay_json *meta) {
    for (size_t i = 0; i < assay_json_len(meta); i++)
        printf("%s: %s\n", assay_json_key_at(meta, i), assay_json_text(assay_json_at(meta, i)));
}

static void print_facts(const char *path, const assay_json *j) {
    printf("%s: ML Program, specification version %.0f\n", path, assay_json_number(j, "specification_version", 0));
    const assay_json *functions = assay_json_get(j, "functions");
    for (size_t i = 0; i < assay_json_len(functions); i++) {
        const assay_json *f = assay_json_at(functions, i), *features = assay_json_get(f, "features");
        printf("function %s, opset %s%s\n", assay_json_key_at(functions, i), assay_json_string(f, "opset", ""),
               !strcmp(assay_json_key_at(functions, i), assay_json_string(j, "default_function", "")) ? ", default" : "");
        print_values("inputs", assay_json_get(features, "input"));
        print_values("states", assay_json_get(features, "state"));
        print_values("outputs", assay_json_get(f, "output_types"));
        print_census(f);
        print_sites(assay_json_get(f, "attention_sites"));
        print_layout(assay_json_get(f, "layout_ops"));
        print_compression(assay_json_get(f, "compression"));
    }
    print_weights(assay_json_get(j, "weight_files"));
    print_metadata(assay_json_get(j, "metadata"));
    print_metadata(assay_json_get(j, "user_metadata"));
    const char *digest = assay_json_string(j, "structural_digest", NULL);
    if (digest) printf("structural digest %s\n", digest);
}

/* ---- other views */
static void print_ops(const assay_program *p) {
    for (uint32_t i = 0; i < p->n_functions; i++)
        for (uint32_t k = 0; k < p->functions[i]->n_all_ops; k++) {
            const assay_mil_op *op = p->functions[i]->all_ops[k];
            char type[96];
            printf("%s\t%s\t%s\t%s\t%s\n", p->functions[i]->name, op->reachable ? "live" : "dead", op->type,
                   op->n_outs ? op->outs[0]->name : "", op->n_outs ? assay_type_text(op->outs[0]->type, type) : "");
        }
}

static int print_mil(const assay_args *a, const assay_program *p) {
    assay_buf b = {0};
    assay_error err;
    assay_status s = assay_program_write_mil(p, &b, &err);
    if (!s) fwrite(b.data, 1, b.len, stdout);
    assay_buf_free(&b);
    return s ? assay_cli_fail(a, &err) : ASSAY_EXIT_OK;
}

static void show_facts(const assay_args *a, const assay_program *p, const char *path) {
    bool weights = assay_flag(a, "weights");
    assay_json *j = assay_program_facts_full(p, weights   ? ASSAY_FACTS_DIGESTS
                                                : a->json ? ASSAY_FACTS_PLACES
                                                          : ASSAY_FACTS_SUMMARY);
    assay_json_set_string(j, "schema", "assay-inspect/1");
    assay_json_set_string(j, "format", assay_ends_with(path, ".mil") || assay_ends_with(path, ".mlmodelc") ? "mil" : "mlprogram");
    char hex[65];
    if (weights) {
        assay_program_digest(p, hex);
        assay_json_set_string(j, "structural_digest", hex);
    }
    if (a->json)
        assay_cli_print_json(j);
    else
        print_facts(path, j);
    assay_json_free(j);
}

static int inspect_program(const assay_args *a, const char *path) {
    assay_program *p;
    assay_error err;
    assay_ops_register();
    if (assay_program_read(path, &p, &err)) return assay_cli_fail(a, &err);
    int code = ASSAY_EXIT_OK;
    if (!assay_flag(a, "no-check") && assay_program_validate(p, 1, &err))
        code = assay_cli_fail(a, &err);
    else if (assay_flag(a, "mil"))
        code = print_mil(a, p);
    else if (assay_arg(a, "dot") && assay_inspect_dot(p, assay_arg(a, "dot"), &err))
        code = assay_cli_fail(a, &err);
    else if (assay_arg(a, "dot"))
        code = ASSAY_EXIT_OK;
    else if (assay_flag(a, "ops"))
        print_ops(p);
    else
        show_facts(a, p, path);
    assay_program_free(p);
    return code;
}

static int run(const assay_args *a) {
    size_t len = strlen(a->pos[0]);
    char *path = assay_xstrdup(a->pos[0]);
    while (len > 1 && path[len - 1] == '/') path[--len] = 0;
    assay_error err;
    int code;
    if (assay_refuse_checkpoint(path, &err))
        code = assay_cli_fail(a, &err);
    else if (assay_is_safetensors(path))
        code = inspect_safetensors(a, path);
    else
        code = assay_ends_with(path, ".npy") ? inspect_npy(a, path) : inspect_program(a, path);
    free(path);
    return code;
}

const assay_command assay_cmd_inspect = {
    .name = "inspect",
    .args = "PATH",
    .summary = "what a package, .mlmodel, .mlmodelc, .mil, .safetensors or .npy holds",
    .opts = opts,
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .example = "assay inspect run/arms/fused/model.mlpackage --ops",
};
