/* Limits of the sandbox: memory, tensors, instructions, time; compiled chunks; files outside the roots. */
#include "suite.h"
#include "script/script.h"
#include "base/fs.h"
#include "ops/builtin.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/assay-limits-XXXXXX";

static const char *write_file(const char *name, const char *text, size_t len) {
    static char path[512];
    if (strstr(folder, "XXXXXX") && !mkdtemp(folder)) exit(70);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(path, text, len, NULL), ASSAY_OK);
    return path;
}

static assay_script_options small(void) {
    return (assay_script_options){ .memory_bytes = 8 << 20, .tensor_bytes = 8 << 20, .instructions = 3000000, .seconds = 20 };
}

static void expect(const char *text, assay_status status, const char *message) {
    const char *path = write_file("limits.lua", text, strlen(text));
    assay_script_options o = small();
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(assay_script_open(path, &o, &s, &err), status);
    if (!strstr(err.message, message)) {
        printf("\n  wanted: %s\n  got:    %s\n", message, err.message);
        CU_FAIL("message");
    }
    assay_script_close(s);
}

static void stops_a_loop_without_end(void) {
    expect("local i = 0\nwhile true do i = i + 1 end", ASSAY_E_LIMIT, "limits.lua:2: the script ran for more than 3000000 instructions and was stopped");
}

static void leaves_a_loop_of_pcall(void) {
    expect("while true do pcall(function() while true do end end) end", ASSAY_E_LIMIT, "instructions and was stopped");
    expect("local function f() pcall(f) while true do pcall(f) end end\nf()", ASSAY_E_LIMIT, "");
    expect("while true do xpcall(function() while true do end end, function() while true do end end) end", ASSAY_E_LIMIT, "");
}

static void stops_a_script_that_eats_memory(void) {
    expect("local t = {}\nwhile true do t[#t + 1] = ('x'):rep(1000) .. #t end", ASSAY_E_LIMIT, "the script wanted more than 8 MiB of memory and was stopped");
    expect("local s = ('x'):rep(1 << 30)", ASSAY_E_LIMIT, "");
    expect("local t = {}\npcall(function() while true do t[#t + 1] = ('x'):rep(1000) .. #t end end)\nwhile true do t[#t + 1] = ('x'):rep(1000) .. #t end", ASSAY_E_LIMIT, "");
}

static void stops_a_script_that_eats_tensors(void) {
    expect("local t = {}\nfor i = 1, 100 do t[i] = assay.full({ value = 0, shape = { 1000, 1000 } }):tensor() end", ASSAY_E_LIMIT,
           "limits.lua:2: tensors of the script would take more than 8 MiB");
}

static void tensors_that_are_dropped_are_collected(void) {
    expect("for i = 1, 40 do local t = assay.full({ value = 0, shape = { 500, 1000 } }):tensor() end", ASSAY_E_INPUT, "the script must end with `return experiment");
}

/* Runs the text in a process of its own, which the watchdog leaves, and looks for the line it wrote. */
static void expect_watchdog(const char *text, assay_script_options o, const char *line) {
    const char *path = write_file("slow.lua", text, strlen(text));
    char out[600];
    snprintf(out, sizeof out, "%s/stderr", folder);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 2);
        assay_script *s;
        assay_script_open(path, &o, &s, NULL);
        _exit(0);
    }
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    char *said = NULL;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(assay_read_file(out, 4096, &said, &len, NULL), ASSAY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, line));
    free(said);
}

static const char backtracks[] = "local s = ('a'):rep(60000)\nreturn s:find(('.-'):rep(30) .. 'b')";

static void watchdog_ends_a_script_that_runs_too_long(void) {
    expect_watchdog(backtracks, (assay_script_options){ .seconds = 0.3, .tripped_cleanup = "/somewhere/run.tmp" },
                    "slow.lua: the script was still running after 0.3 s and was stopped; unfinished work is left in /somewhere/run.tmp");
}

/* One call into C where no count hook fires: stopped by name, long before the script's own time is over. */
static void watchdog_ends_a_library_call_that_never_returns(void) {
    assay_script_options o = { .call_seconds = 0.2 };
    expect_watchdog(backtracks, o, "slow.lua: one call of string.find did not return for 0.2 s and the script was stopped");
    expect_watchdog("for _ in (('a'):rep(60000)):gmatch(('.-'):rep(30) .. 'b') do end", o, "one call of string.gmatch did not return");
    expect_watchdog("table.move({}, 1, 1 << 40, 2)", o, "one call of table.move did not return");
    expect_watchdog("pcall(table.move, {}, 1, 1 << 40, 2)", o, "one call of table.move did not return");
}

/* Time in Lua code, also below a library function or after its error, is the instruction ceiling's business. */
static void a_loop_below_a_library_call_is_not_stuck_in_it(void) {
    assay_script_options o = { .call_seconds = 0.1, .instructions = 400000000 };
    const char *slow = "for i = 1, 30000000 do end return 'b'";
    char text[400];
    snprintf(text, sizeof text, "local s = ('a'):gsub('a', function() %s end)\npcall(string.rep)\n%s", slow, slow);
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(assay_script_open(write_file("limits.lua", text, strlen(text)), &o, &s, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "must end with `return experiment"));
}

/* A finaliser runs where hooks are off: it could loop for ever. */
static void refuses_finalisers(void) {
    expect("setmetatable({}, { __gc = function() while true do end end })", ASSAY_E_INPUT, "limits.lua:1: __gc is not available in scripts: a script has nothing");
    expect("setmetatable(string, {})", ASSAY_E_INPUT, "limits.lua:1: cannot change a protected metatable");
    expect("setmetatable(1, {})", ASSAY_E_INPUT, "limits.lua:1: bad argument #1 to 'setmetatable' (table expected, got number)");
    expect("setmetatable({})", ASSAY_E_INPUT, "bad argument #2 to 'setmetatable' (nil or table expected, got no value)");
    expect("error(getmetatable(setmetatable(setmetatable({}, { a = 'kept' }), { a = 'new' })).a)", ASSAY_E_INPUT, "limits.lua:1: new");
}

static void library_errors_keep_their_line(void) {
    expect("\nlocal s = ('a'):rep()", ASSAY_E_INPUT, "limits.lua:2: bad argument #1 to 'rep' (number expected, got no value)");
    expect("\nfor w in ('a'):gmatch('[') do end", ASSAY_E_INPUT, "limits.lua:2: malformed pattern");
    expect("local ok, why = pcall(error, 'mine', 0)\nassert(not ok and why == 'mine' and select('#', pcall(error)) == 2)\nerror(select(3, pcall(select, 2, 'a', 'third')) or 'none')",
           ASSAY_E_INPUT, "none");
}

static void refuses_compiled_chunks(void) {
    const char *path = write_file("limits.lua", "\x1bLua\x54", 5);
    assay_script *s = NULL;
    assay_error err = { 0, "" };
    CU_ASSERT_EQUAL(assay_script_open(path, NULL, &s, &err), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "compiled Lua is not loaded"));
}

static void refuses_modules_outside_the_roots(void) {
    expect("require '../limits'", ASSAY_E_INPUT, "limits.lua:1: require \"../limits\": a module name is dotted identifiers");
    expect("require 'assay.atention'", ASSAY_E_INPUT, "limits.lua:1: require \"assay.atention\": no such module");
}

static void modules_may_not_form_a_circle(void) {
    write_file("one.lua", "return require 'two'", 20);
    write_file("two.lua", "return require 'one'", 20);
    expect("require 'one'", ASSAY_E_INPUT, "modules require each other in a circle");
}

static void syntax_errors_name_the_line(void) { expect("local x = 1\nlocal = 2", ASSAY_E_INPUT, "limits.lua:2: <name> expected near '='"); }

static void error_values_are_said(void) {
    expect("error(setmetatable({}, { __tostring = function() return 'mine' end }))", ASSAY_E_INPUT, "mine");
    expect("error({})", ASSAY_E_INPUT, "the script raised a table as its error");
}

ASSAY_SUITE("script limits", TEST(stops_a_loop_without_end), TEST(leaves_a_loop_of_pcall), TEST(stops_a_script_that_eats_memory),
            TEST(stops_a_script_that_eats_tensors), TEST(tensors_that_are_dropped_are_collected), TEST(watchdog_ends_a_script_that_runs_too_long),
            TEST(watchdog_ends_a_library_call_that_never_returns), TEST(a_loop_below_a_library_call_is_not_stuck_in_it), TEST(refuses_finalisers), TEST(library_errors_keep_their_line),
            TEST(refuses_compiled_chunks), TEST(refuses_modules_outside_the_roots), TEST(modules_may_not_form_a_circle), TEST(syntax_errors_name_the_line),
            TEST(error_values_are_said))
