/* assay case DIR...: judges case folders and compares what was got with what is expected. */
#include "cli/cli.h"
#include "backends/reference/exec.h"
#include "run/case.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_status find_output(const assay_exec *e, const char *name, assay_own_tensor *out, assay_error *err) {
    for (uint32_t i = 0; i < assay_exec_output_count(e); i++) {
        assay_named_tensor t;
        assay_status st = assay_exec_output(e, i, &t, err);
        if (st != ASSAY_OK) return st;
        if (strcmp(t.name, name) == 0) return assay_tensor_copy(&t.t, 0, out, err);
    }
    return assay_fail(err, ASSAY_E_INPUT, "the program has no output '%s'", name);
}

/* Copies the case's states into the executor's (in = true), or back out into tensors of the caller. */
static assay_status move_states(assay_exec_state *states, assay_case_call *c, bool in, assay_error *err) {
    for (uint32_t i = 0; i < c->n_states; i++) {
        assay_named_tensor own = {0};
        for (uint32_t k = 0; k < assay_exec_state_count(states) && !own.name; k++) {
            assay_named_tensor t = assay_exec_state_at(states, k);
            if (strcmp(t.name, c->state_names[i]) == 0) own = t;
        }
        if (!own.name || !assay_tensor_same_shape(&own.t, &c->states[i].t))
            return assay_fail(err, ASSAY_E_INPUT, "the program has no state '%s' of this shape", c->state_names[i]);
        if (in) {
            assay_tensor_read(&c->states[i].t, own.t.dtype, own.t.data);
            continue;
        }
        assay_tensor_free(&c->states[i]);
        assay_status st = assay_tensor_copy(&own.t, 0, &c->states[i], err);
        if (st != ASSAY_OK) return st;
    }
    return ASSAY_OK;
}

static assay_status execute(const assay_program *p, assay_case_call *c, assay_error *err) {
    const assay_exec_options o = {.precision = ASSAY_PREC_DECLARED, .function = c->function};
    assay_exec *e = NULL;
    assay_exec_state *states = NULL;
    assay_status st = assay_exec_open(p, &o, &e, err);
    if (st == ASSAY_OK && c->n_states) st = assay_exec_state_new(e, &states, err);
    if (st == ASSAY_OK) st = move_states(states, c, true, err);
    if (st == ASSAY_OK) st = assay_exec_run_state(e, c->in, c->n_in, states, err);
    for (uint32_t i = 0; i < c->n_out && st == ASSAY_OK; i++) st = find_output(e, c->out_names[i], &c->outs[i], err);
    if (st == ASSAY_OK) st = move_states(states, c, false, err);
    if (states) assay_exec_state_free(states);
    if (e) assay_exec_close(e);
    return st;
}

static assay_status open_program(const assay_program *p, assay_error *err) {
    const assay_exec_options o = {.precision = ASSAY_PREC_DECLARED};
    assay_exec *e = NULL;
    assay_status st = assay_exec_open(p, &o, &e, err);
    assay_exec_close(e);
    return st;
}

static void print_row(const assay_json *c) {
    bool ok = assay_json_bool(c, "ok", false);
    printf("%-4s %-40s %-13s expected %s\n", ok ? "ok" : "FAIL", assay_json_string(c, "case", ""),
           assay_json_string(c, "got", "nothing"), assay_json_string(c, "expected", "nothing"));
    if (!ok) printf("     %s\n", assay_json_string(c, "difference", ""));
}

static int run(const assay_args *a) {
    assay_registry *r = assay_cli_registry(a);
    assay_cli_load_lua_gates(r);
    const assay_case_tools tools = {.registry = r, .execute = execute, .open = open_program};
    assay_json *all = assay_json_object(), *rows = assay_json_set(all, "cases", assay_json_array());
    int failed = 0, code = ASSAY_EXIT_OK;
    for (int i = 0; i < a->n_pos; i++) {
        assay_error err = {0};
        assay_json *row = NULL;
        if (assay_case_run(&tools, a->pos[i], &row, &err) != ASSAY_OK) {
            code = assay_cli_fail(a, &err); /* said on stderr; the other folders are still judged */
            continue;
        }
        if (!a->json && (!a->quiet || !assay_json_bool(row, "ok", false))) print_row(row);
        failed += !assay_json_bool(row, "ok", false);
        assay_json_append(rows, row);
    }
    assay_json_set_string(all, "schema", "assay-case/1");
    assay_json_set_int(all, "failed", failed);
    assay_json_set_bool(all, "ok", failed == 0 && code == ASSAY_EXIT_OK);
    if (a->json)
        assay_cli_print_json(all);
    else if (a->n_pos > 1)
        printf("%d of %zu cases differ\n", failed, assay_json_len(rows));
    assay_json_free(all);
    assay_registry_free(r);
    return code != ASSAY_EXIT_OK ? code : failed ? ASSAY_EXIT_KILLED : ASSAY_EXIT_OK;
}

const assay_command assay_cmd_case = {
    .name = "case",
    .args = "DIR...",
    .summary = "judge case folders: got and expected",
    .min_args = 1,
    .max_args = -1,
    .run = run,
    .example = "assay case plugins/gates/parity/cases/rounded",
};
