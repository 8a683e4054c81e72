/* Files, folders, publication by rename, digests of trees. */
#include "suite.h"
#include "base/digest.h"
#include "base/fs.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char *fresh_folder(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/assay-test-fs-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
    return path;
}

static void put(const char *dir, const char *name, const char *text) {
    char *p = assay_path_join(dir, name), *parent = assay_path_dir(p);
    CU_ASSERT_EQUAL_FATAL(assay_mkdirs(parent, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_write_file(p, text, strlen(text), NULL), ASSAY_OK);
    free(p);
    free(parent);
}

static void paths_join_and_split(void) {
    char *p = assay_path_join("a", "b");
    CU_ASSERT_STRING_EQUAL(p, "a/b");
    free(p);
    p = assay_path_join("a/", "b");
    CU_ASSERT_STRING_EQUAL(p, "a/b");
    free(p);
    p = assay_path_join("a", "/b");
    CU_ASSERT_STRING_EQUAL(p, "/b");
    free(p);
    p = assay_path_dir("/x");
    CU_ASSERT_STRING_EQUAL(p, "/");
    free(p);
    p = assay_path_dir("x");
    CU_ASSERT_STRING_EQUAL(p, ".");
    free(p);
    CU_ASSERT_STRING_EQUAL(assay_path_base("/a/b.c"), "b.c");
}

static void only_relative_plain_paths_are_inside(void) {
    static const char *const yes[] = { "a", "a/b", "..a", "a..b/c...d", ".hidden" };
    static const char *const no[] = { "", "/a", "..", "a/..", "../a", "a//b", "a/", "./a", "a/./b", "a\\b" };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) CU_ASSERT(assay_path_is_inside(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) CU_ASSERT(!assay_path_is_inside(no[i]));
    CU_ASSERT(!assay_path_is_inside(NULL));
}

static void a_written_file_is_whole_and_leaves_nothing_beside_it(void) {
    char *d = fresh_folder(), *text, **names;
    size_t len, n;
    put(d, "f", "one");
    put(d, "f", "second");
    char *p = assay_path_join(d, "f");
    CU_ASSERT_EQUAL(assay_read_file(p, 100, &text, &len, NULL), ASSAY_OK);
    CU_ASSERT(len == 6 && strcmp(text, "second") == 0);
    free(text);
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_read_file(p, 5, &text, &len, &e), ASSAY_E_LIMIT);
    CU_ASSERT_EQUAL(assay_list_dir(d, &names, &n, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(n, 1);
    assay_list_free(names, n);
    CU_ASSERT_EQUAL(assay_read_file(d, 5, &text, &len, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_write_file("/nonexistent/f", "x", 1, &e), ASSAY_E_IO);
    CU_ASSERT_STRING_EQUAL(e.message, "/nonexistent/f: cannot create: No such file or directory");
    free(p);
    assay_remove_tree(d, NULL);
    CU_ASSERT(!assay_exists(d));
    CU_ASSERT_EQUAL(assay_remove_tree(d, NULL), ASSAY_OK);
}

/* A ceiling on file size fails a write half way, as a full disk does. */
static void a_write_that_fails_half_way_leaves_the_old_file(void) {
    char *d = fresh_folder(), *f = assay_path_join(d, "f"), *g = assay_path_join(d, "g"), **names, *text;
    static char big[20000];
    size_t n, len;
    put(d, "f", "old");
    put(d, "big", "");
    char *from = assay_path_join(d, "big");
    CU_ASSERT_EQUAL_FATAL(assay_write_file(from, big, sizeof big, NULL), ASSAY_OK);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 10000;
    signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    assay_error e = {0};
    assay_status written = assay_write_file(f, big, sizeof big, &e), copied = assay_copy_file(from, g, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    CU_ASSERT(written == ASSAY_E_IO && copied == ASSAY_E_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "f: cannot write: "));
    CU_ASSERT_EQUAL(assay_list_dir(d, &names, &n, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(n, 2);
    assay_list_free(names, n);
    CU_ASSERT_EQUAL_FATAL(assay_read_file(f, 100, &text, &len, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text, "old");
    free(text);
    free(f);
    free(g);
    free(from);
    assay_remove_tree(d, NULL);
}

static void a_pipe_is_refused_without_waiting(void) {
    char *d = fresh_folder(), *p = assay_path_join(d, "pipe"), *text, hex[ASSAY_HEX];
    size_t len;
    assay_map m;
    CU_ASSERT_EQUAL_FATAL(mkfifo(p, 0600), 0);
    CU_ASSERT_EQUAL(assay_read_file(p, 10, &text, &len, NULL), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_map_file(p, &m, NULL), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_sha256_file(p, hex, NULL), ASSAY_E_INPUT);
    free(p);
    assay_remove_tree(d, NULL);
}

static void mapping_an_empty_file_gives_no_bytes(void) {
    char *d = fresh_folder(), *p = assay_path_join(d, "e");
    put(d, "e", "");
    assay_map m;
    CU_ASSERT_EQUAL(assay_map_file(p, &m, NULL), ASSAY_OK);
    CU_ASSERT(m.len == 0 && m.data != NULL);
    assay_unmap(&m);
    put(d, "e", "xyz");
    CU_ASSERT_EQUAL(assay_map_file(p, &m, NULL), ASSAY_OK);
    CU_ASSERT(m.len == 3 && memcmp(m.data, "xyz", 3) == 0);
    assay_unmap(&m);
    free(p);
    assay_remove_tree(d, NULL);
}

static void removal_never_follows_links(void) {
    char *d = fresh_folder();
    put(d, "keep/f", "x");
    put(d, "gone/g", "x");
    char *keep = assay_path_join(d, "keep"), *gone = assay_path_join(d, "gone"), *link = assay_path_join(gone, "link"), *f = assay_path_join(keep, "f");
    CU_ASSERT_EQUAL_FATAL(symlink(keep, link), 0);
    CU_ASSERT_EQUAL(assay_remove_tree(gone, NULL), ASSAY_OK);
    CU_ASSERT(!assay_exists(gone) && assay_exists(f));
    free(keep);
    free(gone);
    free(link);
    free(f);
    assay_remove_tree(d, NULL);
}

/* ---- digests ---- */

static void sha256_matches_its_published_vectors(void) {
    char hex[ASSAY_HEX];
    assay_sha256_of("abc", 3, hex);
    CU_ASSERT_STRING_EQUAL(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assay_sha256_of(NULL, 0, hex);
    CU_ASSERT_STRING_EQUAL(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void tree_digest_is_defined_by_sorted_names(void) {
    char *d = fresh_folder(), tree[ASSAY_HEX], want[ASSAY_HEX], one[ASSAY_HEX], two[ASSAY_HEX];
    put(d, "b/x", "22");
    put(d, "b-", "1");
    put(d, "a", "");
    assay_sha256_of("22", 2, two);
    assay_sha256_of("1", 1, one);
    char zero[ASSAY_HEX];
    assay_sha256_of("", 0, zero);
    assay_buf t = {0};   /* '-' sorts before '/': whole names are compared, not folder by folder */
    assay_buf_add(&t, "a\0" "0\0", 4);
    assay_buf_printf(&t, "%s\n", zero);
    assay_buf_add(&t, "b-\0" "1\0", 5);
    assay_buf_printf(&t, "%s\n", one);
    assay_buf_add(&t, "b/x\0" "2\0", 6);
    assay_buf_printf(&t, "%s\n", two);
    assay_sha256_of(t.data, t.len, want);
    assay_buf_free(&t);
    CU_ASSERT_EQUAL(assay_tree_digest(d, tree, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(tree, want);
    char *a = assay_path_join(d, "b-"), *copy = assay_xprintf("%s-copy", d), again[ASSAY_HEX];
    CU_ASSERT_EQUAL(assay_tree_digest(a, again, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(again, one);
    CU_ASSERT_EQUAL(assay_copy_tree(d, copy, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_tree_digest(copy, again, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(again, tree);
    put(copy, "b/x", "23");
    CU_ASSERT_EQUAL(assay_tree_digest(copy, again, NULL), ASSAY_OK);
    CU_ASSERT_STRING_NOT_EQUAL(again, tree);
    assay_remove_tree(copy, NULL);
    free(copy);
    free(a);
    assay_remove_tree(d, NULL);
}

static void refuse_special(const char *d, const char *word) {
    char hex[ASSAY_HEX], *copy = assay_xprintf("%s-copy", d);
    bool lost;
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_tree_digest(d, hex, &e), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, word));
    CU_ASSERT_EQUAL(assay_copy_tree(d, copy, &e), ASSAY_E_INPUT);
    assay_remove_tree(copy, NULL);
    CU_ASSERT_EQUAL(assay_publish_dir(d, copy, &lost, &e), ASSAY_E_INPUT);
    CU_ASSERT(assay_exists(d) && !assay_exists(copy));
    free(copy);
}

static void trees_with_special_files_are_refused(void) {
    char *d = fresh_folder(), *p = assay_path_join(d, "s");
    put(d, "f", "x");
    CU_ASSERT_EQUAL_FATAL(symlink("f", p), 0);
    refuse_special(d, "symbolic link");
    unlink(p);
    CU_ASSERT_EQUAL_FATAL(mkfifo(p, 0600), 0);
    refuse_special(d, "special file");
    unlink(p);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof a.sun_path, "%s", p);
    CU_ASSERT_EQUAL_FATAL(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    refuse_special(d, "special file");
    close(s);
    free(p);
    assay_remove_tree(d, NULL);
}

static void folders_nested_too_deep_are_refused(void) {
    char *d = fresh_folder(), hex[ASSAY_HEX];
    assay_buf b = {0};
    assay_buf_str(&b, d);
    for (int i = 0; i < 70; i++) assay_buf_str(&b, "/d");
    CU_ASSERT_EQUAL_FATAL(assay_mkdirs(b.data, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_tree_digest(d, hex, NULL), ASSAY_E_LIMIT);
    for (int i = 0; i < 70; i++) {
        rmdir(b.data);
        b.data[b.len -= 2] = '\0';
    }
    assay_buf_free(&b);
    CU_ASSERT_EQUAL(assay_remove_tree(d, NULL), ASSAY_OK);
}

/* ---- publication ---- */

static void of_two_racing_copies_the_later_is_dropped(void) {
    char *d = fresh_folder(), *a = assay_path_join(d, ".tmp-1"), *b = assay_path_join(d, ".tmp-2"), *final = assay_path_join(d, "t"), *text;
    char *f = assay_path_join(final, "x/trial.json");
    size_t len;
    bool lost = true;
    put(a, "x/trial.json", "first");
    put(b, "x/trial.json", "later");
    CU_ASSERT_EQUAL(assay_publish_dir(a, final, &lost, NULL), ASSAY_OK);
    CU_ASSERT(!lost && !assay_exists(a));
    CU_ASSERT_EQUAL(assay_publish_dir(b, final, &lost, NULL), ASSAY_OK);
    CU_ASSERT(lost && !assay_exists(b));
    CU_ASSERT_EQUAL_FATAL(assay_read_file(f, 10, &text, &len, NULL), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text, "first");
    free(text);
    put(a, "y", "1");
    put(d, "file", "2");
    char *file = assay_path_join(d, "file");
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_publish_dir(a, file, &lost, &e), ASSAY_E_IO);
    CU_ASSERT(assay_exists(a));
    free(file);
    free(a);
    free(b);
    free(final);
    free(f);
    assay_remove_tree(d, NULL);
}

static void this_program_knows_where_it_is(void) {
    char *p = assay_self_path();
    CU_ASSERT(p[0] == '/' && assay_is_file(p));
    free(p);
}

ASSAY_SUITE("fs", TEST(paths_join_and_split), TEST(only_relative_plain_paths_are_inside), TEST(a_written_file_is_whole_and_leaves_nothing_beside_it),
            TEST(a_write_that_fails_half_way_leaves_the_old_file), TEST(a_pipe_is_refused_without_waiting), TEST(mapping_an_empty_file_gives_no_bytes),
            TEST(removal_never_follows_links), TEST(sha256_matches_its_published_vectors), TEST(tree_digest_is_defined_by_sorted_names),
            TEST(trees_with_special_files_are_refused), TEST(folders_nested_too_deep_are_refused), TEST(of_two_racing_copies_the_later_is_dropped),
            TEST(this_program_knows_where_it_is))
