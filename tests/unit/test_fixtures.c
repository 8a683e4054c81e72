/* Fixtures: every stated vector and checksum of the generator, the recipes, the front end and the stem. */
#include "suite.h"
#include "tensor/fixtures_internal.h"
#include "tensor/npy.h"
#include <math.h>

/* ---- generator ---- */

static void counter_form_equals_splitmix64(void) {
    static const struct { uint64_t seed, draws[5]; } rows[] = {
        { 0, { 0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu, 0xf88bb8a8724c81ecu, 0x1b39896a51a8749bu } },
        { 1, { 0x910a2dec89025cc1u, 0xbeeb8da1658eec67u, 0xf893a2eefb32555eu, 0x71c18690ee42c90bu, 0x71bb54d8d101b5b9u } },
        { 42, { 0xbdd732262feb6e95u, 0x28efe333b266f103u, 0x47526757130f9f52u, 0x581ce1ff0e4ae394u, 0x09bc585a244823f2u } },
        { 1234567, { 0x599ed017fb08fc85u, 0x2c73f08458540fa5u, 0x883ebce5a3f27c77u, 0x3fbef740e9177b3fu, 0xe3b8346708cb5ecdu } },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint64_t i = 0; i < 5; i++) CU_ASSERT_EQUAL(assay_u64(rows[r].seed, i), rows[r].draws[i]);
}

static void labels_name_streams(void) {
    CU_ASSERT_EQUAL(assay_stream("x/normal"), 0x5d9007e3e4860e75u);
    CU_ASSERT_EQUAL(assay_stream("fx/d750/normal"), 0xd549448c1902c960u);
    CU_ASSERT_EQUAL(assay_stream("fx/mini/normal"), 0x3e8130a145937146u);
}

static void normal12_matches_its_vectors(void) {
    static const struct { const char *label; int32_t z[8]; } rows[] = {
        { "x/normal", { -8401, 106280, 10387, -71553, -37507, -27589, -17412, -19568 } },
        { "fx/d750/normal", { 19263, 68180, 38705, -24469, -23624, -72471, -24895, -57700 } },
        { "fx/mini/normal", { -93907, -54181, -57464, -417, 57221, -41222, 42388, -124875 } },
    };
    double filled[8];
    for (size_t r = 0; r < 3; r++) {
        uint64_t seed = assay_stream(rows[r].label);
        for (uint64_t i = 0; i < 8; i++) CU_ASSERT_EQUAL(assay_normal12(seed, i) * 65536, rows[r].z[i]);
        assay_fill_normal12(filled, seed, 3, 5);
        CU_ASSERT_EQUAL(filled[4], rows[r].z[7] / 65536.0);
    }
    uint64_t seed = assay_stream("x/normal");
    CU_ASSERT_EQUAL(assay_f64_to_f16(assay_normal12(seed, 0)), 0xb01a);
    CU_ASSERT_EQUAL(assay_f64_to_f16(assay_normal12(seed, 1)), 0x3e7d);
    CU_ASSERT_EQUAL(assay_f64_to_f16(assay_normal12(seed, 2)), 0x3112);
    for (uint64_t i = 0; i < 1000; i++) CU_ASSERT_FATAL(assay_uniform(seed, i) >= 0 && assay_uniform(seed, i) < 1);
}

/* ---- recipes by checksum ---- */

static bool has_digest(const assay_tensor *t, const char *want) {
    char hex[65];
    assay_tensor_digest(t, hex);
    return strcmp(hex, want) == 0;
}

static const struct { const char *name, *size, *sha256; } inputs[] = {
    { "normal", "d750", "1cfa2acad7825f995b3d350355816f9018433cdc483bd24381306239d7cbaee0" },
    { "hot-token", "d750", "7a43624a9dcc158de469fcba45fdb16c4e68a553625c05924084e3f283d6cbb3" },
    { "repeat", "d750", "4d8f2afea0fdc3bddd433f046bb015baa86f2647edd5dda703125316fd142d5f" },
    { "alternate", "d750", "e67330c173345212e3b590e348b925fb721aa506015cfbde03ff51337b5feed3" },
    { "near-max-sparse", "d750", "781f09852eff0ecd4decebb8197a8139582f87fc675d029df5408f8ae618daa1" },
    { "denormal", "d750", "6f8a1251d5442ae4a4f0c109217dc6eaf395f6f8e9ca7535275a78bda5b012a3" },
    { "zeros", "d750", "81beb57ba94e8afbf61c796a8a2438ff11c5e05c6fc156e7425b391c81369516" },
    { "constant", "d750", "7fcbd08fbb8a91c154f3b64561ae4ffeb41cf70015c11b059a9dff1211648549" },
    { "halves-equal", "d750", "fe782c7786cfef7d0dfb2a7ee80e988c8bf4e72f7fbb61e1409ff49b62c0a693" },
    { "normal-poked", "d750", "af892c6dc21b37258eb667cec91a95086450a1445310b49ae0020f88332993c4" },
    { "normal", "mini", "388828bc58e686a20f5a4e85dd1a1f8670a00af4ba14ad75be1b952ca0873023" },
    { "hot-token", "mini", "c818ac7c7baa92172203f1133ecfeb19768cc71aafdc1b4d69203113800e4e0f" },
    { "repeat", "mini", "a50a060a5cbd47771d2594679bfdfbc50e07da6e364fbb36d4a5f208f2522dfb" },
    { "alternate", "mini", "69881c70c175f8506fb23b49cd9068cf188289bfd5b577c49d6b3cef97ec47d9" },
    { "near-max-sparse", "mini", "a73d523e5732add513a82e69331b85b114509ade741268c8c15257f44cbc3083" },
    { "denormal", "mini", "dc478b4d6443ebf98bf74932cda561315e2a63ea1e005de42a19fcf9e04d18ac" },
    { "zeros", "mini", "4c7eea521d2218c5965fd3666c694a967a939e29a6928d528b6ed1101176b8ac" },
    { "constant", "mini", "b1303af57965a96b38acdcb0e666def1f3bb65071459f6faa55fb4f453bf5fd5" },
    { "halves-equal", "mini", "05591d2e85d06a7694a0891d53ba84063b495dabb09d0dc77804dd766551e3e6" },
    { "normal-poked", "mini", "1af5ce153550864f758114d92208ab13635353f37e8bdf05f1d53cc36a39b42b" }
};

/* M69_yes: the fixtures are frozen */
static void layer_inputs_match_their_checksums(void) {
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        assay_own_tensor t;
        CU_ASSERT_EQUAL_FATAL(assay_fixture_make(inputs[i].name, inputs[i].size, NULL, &t, NULL), ASSAY_OK);
        if (!has_digest(&t.t, inputs[i].sha256)) {
            printf("%s %s differs ", inputs[i].size, inputs[i].name);
            CU_FAIL("checksum");
        }
        assay_tensor_free(&t);
    }
}

static const struct { const char *name, *size; double gain; const char *sha256; } weights[] = {
    { "wq", "d750", 1, "2d360f59cb9d02e79e81df9fb4b87da184d9b4326b345514b618a1cd45f509f6" },
    { "wk", "d750", 1, "9cecbb3dc05fef6e2e6c6133bdd9e7f5831eca4e11a9b4e3f7f7c9eef6e1493d" },
    { "wv", "d750", 1, "33fe3ba898e4321524fb91317925fb2a0d2a935ee131cb4ecce10eb0d0e88262" },
    { "bq", "d750", 1, "e4b4acd36539fffcf665b805b99452c3b0a40d0af5e2d0994702ede8b1d454df" },
    { "bv", "d750", 1, "25e4df7cd2441f329a24de8acfed04cf40360499a8e5572bfb876ea20b79e5d9" },
    { "wq", "d750", 2.5, "209bc6039b10f1d585b32b1892ffef6d9b3a475acad5c745a4f52598346565fb" },
    { "wk", "d750", 2.5, "7ce2d3d63cb20b025b6a0d3d73db3796452826bbea124375a0fc586c2d04e6c9" },
    { "wq", "mini", 1, "82d2872133798619e9e0dcc9e9990beba5274cbc32b2b97fbc70487a407e13bd" },
    { "wk", "mini", 1, "0c4d2daf9fd5d2b402229bb75684fb397c66cd435ffc89ed2bf0e6c57dafe370" },
    { "wv", "mini", 1, "b9ff8c8a6b61a8d7c9052b8834a690978bf2dd8d13c3023bd8375d099e041401" },
    { "bq", "mini", 1, "fec5d7e744c5cfa01500f25bb2158c545ceaed7a8216d6b7ad73145f768e40df" },
    { "bv", "mini", 1, "8b6200458f65c9faf32b39393bfa8a6f4b24ef2c093fd9c1d53b2de9755c72f4" },
    { "wq", "mini", 2.5, "23a17d4c1ed8cd39e2fea6ac7e95b5f322c8aa8bd54505698408ee3cf3ad64db" },
    { "wk", "mini", 2.5, "b87ff18029abec76b7589c875fe1b81f3a8aec3afe39c7dd1d50d8e527a06d2d" }
};

static void weights_match_their_checksums(void) {
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        assay_own_tensor t;
        CU_ASSERT_EQUAL_FATAL(assay_weight_make(weights[i].name, weights[i].size, weights[i].gain, &t, NULL), ASSAY_OK);
        if (!has_digest(&t.t, weights[i].sha256)) {
            printf("%s %s differs ", weights[i].size, weights[i].name);
            CU_FAIL("checksum");
        }
        assay_tensor_free(&t);
    }
}

static const struct { const char *name; int which; const char *sha256; } attention[] = {
    { "coords-s", 0, "6959bae006c3c62f921aa507efe82f3fa7efb11e35d8d564a20507de26ac5b79" },
    { "coords-s", 1, "6959bae006c3c62f921aa507efe82f3fa7efb11e35d8d564a20507de26ac5b79" },
    { "coords-s", 2, "45504d6be3efda5ff7b5c00cde7adc6470320fbfdcc7cf36049b897d6ac024a8" },
    { "coords-hd", 2, "d5af4e9ea6381387041f72784fbedc72a06e6649911904b75a0af56a08c30d60" },
    { "coords-b", 2, "41b72e9009fd8e6516598b8f787cb9d14fd080f39c8d408b612582de6019633c" },
    { "uniform", 2, "83056926f79be58d1478c52e7303f15d5edbe018968117927a014d866a5c7ca6" },
    { "ladder-16", 0, "a4631453fb1625b7f6c2e20def9c80cf2663a1cc248ec4027ae05809a2b9d2f4" },
    { "ladder-22", 0, "80652ee241ae45d1fb4575343b00314905a3fc07ac765a331936ab4f11d2c946" },
    { "ladder-28", 0, "71f1b400532cde7b71341fe0e018746b3a23f02510a252c92f7c3e3e79baee13" },
    { "ladder-32", 0, "27081e04ea781c15fc12f1e8bd71fe29574502b3b1a3ccd3db490af0cdba6b2d" },
    { "ladder-64", 0, "0e2e38ef83e7dff74ded862a23fd7ebdc21103d96116ddbf960e9579facd4a1f" },
    { "ladder-80", 0, "37c98589a4c482638a45368274f7e920e82eb2ec9fb9dab7998ebac8c4ced6a6" },
    { "ladder-90", 0, "80a212d96e42ccef8cd27f15e9a5c397fd7c07e49ebe373e7dfbd2b4a8d5d4ea" },
    { "ladder-91", 0, "501f507592ecb79fddde7e748552cf09fa01561355189721a1667b4e43d2dc08" },
    { "ladder-128", 0, "98ec2b7fc0c0d4191f6fb168683b2845ca9ef4b1d02f0da40abbb5b7b1f64010" }
};

static void attention_inputs_match_their_checksums(void) {
    for (size_t i = 0; i < sizeof attention / sizeof *attention; i++) {
        assay_own_tensor qkv[3];
        CU_ASSERT_EQUAL_FATAL(assay_attention_fixture_make(attention[i].name, qkv, NULL), ASSAY_OK);
        if (!has_digest(&qkv[attention[i].which].t, attention[i].sha256)) {
            printf("%s %d differs ", attention[i].name, attention[i].which);
            CU_FAIL("checksum");
        }
        for (int k = 0; k < 3; k++) assay_tensor_free(&qkv[k]);
    }
}

/* ---- front end and stem ---- */

static const char *const MELFILTER_80 = "88df35e6c6d720d89b2d59b410cf386081a6ad04ccc6daaa732ca9b481575137";
static const char *const MELFILTER_128 = "c342ed6d06c90b42990bf9e4a3a07ca54f3f1422f7bc3c66b3177a774395df5a";
static const char *const LOGMEL_SILENCE_80 = "c5de24f6d5499edef4aab18ddf111945ee5fac349a8225b64fe8b025314887d1";
static const char *const LOGMEL_SILENCE_128 = "55fe1b9c4eaa65bf6c684423a9511ae1261b8db3e3d8d3b87023c94878297b8e";
static const char *const STEM_SILENCE_1500X1280 = "1af9190e1b98fc47350bebc33d3ef93eb9b7394e190e6e98d99e22af39895b35";
static const char *const D750_X_SILENCE = "071eaeae7180072665027f9ca636bae95df29305ec519e3549a8b07fd4d61ff6";
static const char *const SPEECH_PCM16 = "dbebfa8d5b02f849685416a5fccec4be524be16fdb8238fe82b70081d2b45714";
static const char *const LOGMEL_SPEECH_80 = "e7aabb59b210e8f55c52458147956546a06ef8354793634f1bba6340a567d522";
static const char *const LOGMEL_SPEECH_128 = "12f360670c8ee96724b99b2459486411dc86d7a981a0e8f672740b9aef420676";
static const char *const STEM_SPEECH_1500X1280 = "f9da4f618e09c4d0e0d367aee6fac92472e0822974ad8d930a89070549daeec0";
static const char *const D750_X_SPEECH = "11f7928ea063884bfaecea7e32d6ffd4afe191c40890250006a50dfaeed3140b";

static void mel_filters_are_the_published_ones(void) {
    static float f[128 * 201];
    for (uint32_t mels = 80; mels <= 128; mels += 48) {
        const int64_t shape[2] = { mels, 201 };
        assay_mel_filters(mels, f);
        assay_tensor t = assay_tensor_view(ASSAY_F32, 2, shape, f);
        CU_ASSERT(has_digest(&t, mels == 80 ? MELFILTER_80 : MELFILTER_128));
    }
}

static void silence_is_the_constant_minus_three_halves(void) {
    for (uint32_t mels = 80; mels <= 128; mels += 48) {
        assay_own_tensor t;
        CU_ASSERT_EQUAL_FATAL(assay_log_mel(NULL, 0, mels, &t, NULL), ASSAY_OK);
        CU_ASSERT(has_digest(&t.t, mels == 80 ? LOGMEL_SILENCE_80 : LOGMEL_SILENCE_128));
        CU_ASSERT_EQUAL(*(uint16_t *)t.t.data, 0xbe00);
        assay_tensor_free(&t);
    }
}

static assay_own_tensor read_npy(const char *folder, const char *name) {
    char path[1024];
    assay_own_tensor t = {0};
    assay_error e = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (assay_npy_read(path, &t, &e) != ASSAY_OK) {
        printf("%s ", e.message);
        CU_FAIL_FATAL("cannot read a fixture");
    }
    return t;
}

/* fp16 values in their order, so that neighbours differ by one. */
static int order_of(uint16_t h) { return h & 0x8000 ? -(h & 0x7fff) : h; }

static void speech_log_mel_is_within_one_ulp(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    assay_own_tensor pcm = read_npy(ASSAY_SOURCE_DIR "/scripts/data", "speech-pcm16.npy");
    CU_ASSERT(has_digest(&pcm.t, SPEECH_PCM16));
    for (uint32_t mels = 80; mels <= 128; mels += 48) {
        char name[64], path[1024];
        snprintf(path, sizeof path, "%s/fixtures", shared);
        snprintf(name, sizeof name, "logmel-speech-%u.npy", mels);
        assay_own_tensor want = read_npy(path, name), got;
        CU_ASSERT(has_digest(&want.t, mels == 80 ? LOGMEL_SPEECH_80 : LOGMEL_SPEECH_128));
        CU_ASSERT_EQUAL_FATAL(assay_log_mel(pcm.t.data, (size_t)pcm.t.shape[0], mels, &got, NULL), ASSAY_OK);
        int differing = 0, worst = 0;
        for (int64_t i = 0; i < assay_tensor_count(&got.t); i++) {
            int d = abs(order_of(((uint16_t *)got.t.data)[i]) - order_of(((uint16_t *)want.t.data)[i]));
            differing += d != 0;
            if (d > worst) worst = d;
        }
        printf("(%u: %d differ, worst %d ulp) ", mels, differing, worst);
        CU_ASSERT(worst <= 1);
        assay_tensor_free(&got);
        assay_tensor_free(&want);
    }
    assay_tensor_free(&pcm);
}

static void stem_of_the_stored_log_mel_matches_its_checksum(void) {
    const char *shared = shared_or_skip();
    if (!shared) return;
    char path[1024];
    snprintf(path, sizeof path, "%s/fixtures", shared);
    assay_own_tensor mel = read_npy(path, "logmel-speech-128.npy"), t;
    CU_ASSERT_EQUAL_FATAL(assay_stem_raw(&mel.t, &t, NULL), ASSAY_OK);
    CU_ASSERT(has_digest(&t.t, STEM_SPEECH_1500X1280));
    assay_tensor_free(&t);
    CU_ASSERT_EQUAL_FATAL(assay_stem(&mel.t, &t, NULL), ASSAY_OK);
    CU_ASSERT(has_digest(&t.t, D750_X_SPEECH));
    assay_tensor_free(&t);
    assay_tensor_free(&mel);
}

static void silence_goes_through_the_stem(void) {
    assay_own_tensor mel, t;
    CU_ASSERT_EQUAL_FATAL(assay_log_mel(NULL, 0, 128, &mel, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_stem_raw(&mel.t, &t, NULL), ASSAY_OK);
    CU_ASSERT(has_digest(&t.t, STEM_SILENCE_1500X1280));
    assay_tensor_free(&t);
    assay_tensor_free(&mel);
    CU_ASSERT_EQUAL_FATAL(assay_fixture_make("silence", "d750", NULL, &t, NULL), ASSAY_OK);
    CU_ASSERT(has_digest(&t.t, D750_X_SILENCE));
    assay_tensor_free(&t);
}

/* Blocks, edges and vectors must not show: the same bits as one sum in ascending k. */
static void blocked_product_equals_the_plain_one(void) {
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 5, 13, 300 }, { 8, 24, 256 }, { 3, 505, 7 }, { 9, 11, 513 } };
    for (size_t r = 0; r < sizeof sizes / sizeof *sizes; r++) {
        const int64_t m = sizes[r][0], n = sizes[r][1], k = sizes[r][2];
        double *a = malloc((size_t)(m * k) * 8), *b = malloc((size_t)(k * n) * 8), *c = malloc((size_t)(m * n) * 8);
        CU_ASSERT_FATAL(a && b && c);
        for (int64_t i = 0; i < m * k; i++) a[i] = assay_normal12(1, (uint64_t)i) / 3;
        for (int64_t i = 0; i < k * n; i++) b[i] = assay_normal12(2, (uint64_t)i) / 7;
        assay_matmul_f64(m, n, k, a, b, c);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
                CU_ASSERT_EQUAL_FATAL(c[i * n + j], sum);
            }
        free(a);
        free(b);
        free(c);
    }
}

/* ---- refusals ---- */

static void unknown_names_get_a_suggestion(void) {
    assay_own_tensor t, qkv[3];
    assay_error e = {0};
    CU_ASSERT_EQUAL(assay_fixture_make("nromal", "d750", NULL, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "unknown fixture 'nromal' (did you mean 'normal'?)");
    CU_ASSERT_EQUAL(assay_fixture_make("normal", "d75", NULL, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "did you mean 'd750'?"));
    CU_ASSERT_EQUAL(assay_fixture_make("silence", "mini", NULL, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_fixture_make("speech", "d750", "/nonexistent", &t, &e), ASSAY_E_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "/nonexistent/speech-pcm16.npy"));
    CU_ASSERT_EQUAL(assay_weight_make("wx", "mini", 1, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_attention_fixture_make("coord-s", qkv, &e), ASSAY_E_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "did you mean 'coords-s'?"));
    CU_ASSERT_EQUAL(assay_attention_fixture_make("ladder-x", qkv, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_attention_fixture_make("ladder-", qkv, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_log_mel(NULL, 0, 81, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_log_mel(NULL, 480001, 80, &t, &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL_FATAL(assay_fixture_make("zeros", "mini", NULL, &t, &e), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_poke_token(&t.t, 2, 0, "x", &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_poke_token(&t.t, 0, 30, "x", &e), ASSAY_E_INPUT);
    CU_ASSERT_EQUAL(assay_poke_token(&t.t, 0, -1, "x", &e), ASSAY_E_INPUT);
    assay_tensor_free(&t);
}

ASSAY_SUITE("fixtures", TEST(counter_form_equals_splitmix64), TEST(labels_name_streams), TEST(normal12_matches_its_vectors),
            TEST(layer_inputs_match_their_checksums), TEST(weights_match_their_checksums), TEST(attention_inputs_match_their_checksums),
            TEST(mel_filters_are_the_published_ones), TEST(silence_is_the_constant_minus_three_halves), TEST(speech_log_mel_is_within_one_ulp),
            TEST(stem_of_the_stored_log_mel_matches_its_checksum), TEST(silence_goes_through_the_stem), TEST(blocked_product_equals_the_plain_one), TEST(unknown_names_get_a_suggestion))
