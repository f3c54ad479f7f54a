/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doc.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif

#ifdef HAS_SANITIZER
/* Criterion 2.4.1 loses 48 bytes of its own when the last test to end is a slow one. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libcriterion";
}
#endif

/*
 * This program's own malloc: it can fail at the Nth call and counts what is not freed. It serves
 * libyaml and libc too. A sanitizer brings its own, so there the test that needs it is left out.
 */
#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
#define CAN_FAIL_MALLOC 1

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static _Thread_local bool malloc_watched;
static _Thread_local long malloc_calls_left, malloc_live;

static bool malloc_fails_now(void)
{
    return malloc_watched && malloc_calls_left-- <= 0;
}

static void *counted(void *memory)
{
    malloc_live += malloc_watched && memory;
    return memory;
}

void *malloc(size_t size)
{
    return malloc_fails_now() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return malloc_fails_now() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    if (malloc_fails_now())
        return NULL;
    void *moved = __libc_realloc(memory, size);
    return memory ? moved : counted(moved);
}

void free(void *memory)
{
    malloc_live -= malloc_watched && memory;
    __libc_free(memory);
}
#endif

/* ---- helpers ---- */

#define expect_text(got, want) cr_expect_str_eq(got, want)

static doc *load_sized(const char *name, const char *text, size_t size)
{
    llmperf_error error = {0};
    doc *document = NULL;
    llmperf_status status = doc_load_text(name, text, size, &document, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    cr_assert_not_null(document);
    cr_expect_eq(error.faults, 0);
    return document;
}

static doc *load(const char *name, const char *text)
{
    return load_sized(name, text, strlen(text));
}

/* The whole message of a text that must be refused; static storage. */
static const char *refusal_sized(const char *name, const char *text, size_t size)
{
    static llmperf_error error;
    error = (llmperf_error){0};
    doc *document = NULL;
    llmperf_status status = doc_load_text(name, text, size, &document, &error);
    cr_expect(status == LLMPERF_E_SPEC && error.status == LLMPERF_E_SPEC, "'%.60s' gives %d", text,
              (int)status);
    cr_expect_null(document);
    doc_free(document);
    return error.text;
}

static const char *refusal(const char *name, const char *text)
{
    return refusal_sized(name, text, strlen(text));
}

static void expect_start(const char *got, const char *want)
{
    cr_expect(strncmp(got, want, strlen(want)) == 0, "expected '%s...'\n     got '%s'", want, got);
}

static void expect_piece(const char *got, const char *piece)
{
    cr_expect(strstr(got, piece) != NULL, "expected '...%s...'\n     got '%s'", piece, got);
}

typedef struct text_buffer {
    char text[8192];
    size_t used;
} text_buffer;

static void append(text_buffer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
    va_end(arguments);
    cr_assert(length >= 0 && (size_t)length < sizeof out->text - out->used);
    out->used += (size_t)length;
}

/* key@line:column= then KIND@line:column and the content: {..} [..] "quoted" plain */
static void dump(text_buffer *out, const doc_node *node)
{
    if (node->key)
        append(out, "%s@%d:%d=", node->key, node->key_line, node->key_column);
    append(out, "@%d:%d", node->line, node->column);
    if (node->kind == DOC_SCALAR) {
        append(out, node->quoted ? "\"%s\"" : "%s", node->text);
        return;
    }
    append(out, "%c", node->kind == DOC_MAP ? '{' : '[');
    size_t count = 0;
    for (const doc_node *child = node->first; child; child = child->next, count++) {
        append(out, count ? " " : "");
        dump(out, child);
    }
    cr_expect_eq(count, node->count);
    append(out, "%c", node->kind == DOC_MAP ? '}' : ']');
}

static void expect_tree(const char *name, const char *text, const char *want)
{
    doc *document = load(name, text);
    text_buffer got = {.used = 0};
    dump(&got, doc_root(document));
    expect_text(got.text, want);
    doc_free(document);
}

/* ---- trees ---- */

Test(doc, yaml_becomes_a_tree_with_positions)
{
    expect_tree("x.yaml",
                "# a GPU\n"
                "name: H100-SXM   # fast\n"
                "memory: 80 GB\n"
                "compute:\n"
                "  bf16: 989e12\n"
                "  \"fp8\": '1979'\n"
                "links:\n"
                "- {a: 1, b: [x, \"y\"]}\n"
                "- \n"
                "text: >-\n"
                "  one\n"
                "  two\n",
                "@2:1{name@2:1=@2:7H100-SXM memory@3:1=@3:980 GB compute@4:1=@5:3{"
                "bf16@5:3=@5:9989e12 fp8@6:3=@6:10\"1979\"} "
                "links@7:1=@8:1[@8:3{a@8:4=@8:71 b@8:10=@8:13[@8:14x @8:17\"y\"]} @9:2] "
                "text@10:1=@10:7\"one two\"}");
}

Test(doc, json_becomes_a_tree_with_positions)
{
    expect_tree("config.json",
                "{\n"
                "  \"model_type\": \"llama\",\n"
                "\t\"sizes\" : [1,2.5e3 , -0],\n"
                "  \"a\": {}, \"b\": [], \"c\": null,\n"
                "  \"\": true, \"d\":false\n"
                "}\n",
                "@1:1{model_type@2:3=@2:17\"llama\" sizes@3:2=@3:12[@3:131 @3:152.5e3 @3:23-0] "
                "a@4:3=@4:8{} b@4:12=@4:17[] c@4:21=@4:26null @5:3=@5:7true d@5:13=@5:17false}");
}

Test(doc, columns_count_characters)
{
    /* Two bytes, three bytes, four bytes: one column each. */
    expect_tree("x.json", "{\"\xc3\xa9\xe2\x82\xac\xf0\x9f\xa4\x97\": 1}",
                "@1:1{\xc3\xa9\xe2\x82\xac\xf0\x9f\xa4\x97@1:2=@1:91}");
    expect_tree("x.yaml", "\xc3\xa9\xe2\x82\xac\xf0\x9f\xa4\x97: 1",
                "@1:1{\xc3\xa9\xe2\x82\xac\xf0\x9f\xa4\x97@1:1=@1:61}");
}

Test(doc, a_real_config_shape_loads)
{
    /* The shape of deepseek-ai/DeepSeek-V3: nulls, nested maps, small exponents, long lists. */
    doc *document =
        load("config.json", "{\n"
                            "  \"architectures\": [\n    \"DeepseekV3ForCausalLM\"\n  ],\n"
                            "  \"attention_bias\": false,\n"
                            "  \"hidden_size\": 7168,\n"
                            "  \"ep_size\": 1,\n"
                            "  \"quantization_config\": {\n"
                            "    \"activation_scheme\": \"dynamic\",\n"
                            "    \"weight_block_size\": [\n      128,\n      128\n    ]\n"
                            "  },\n"
                            "  \"rms_norm_eps\": 1e-06,\n"
                            "  \"rope_scaling\": null,\n"
                            "  \"routed_scaling_factor\": 2.5,\n"
                            "  \"time_step_limit\": [0.0, Infinity]\n"
                            "}\n");
    cr_expect(doc_is_json(document));
    expect_text(doc_name(document), "config.json");
    doc_node *root = doc_root(document);
    llmperf_error error = {0};
    int64_t hidden = 0, block = 0;
    double eps = 0, factor = 0;
    bool bias = true;
    cr_expect(doc_int64(document, doc_get(root, "hidden_size"), 1, 1 << 20, &hidden, &error) ==
              LLMPERF_OK);
    cr_expect_eq(hidden, 7168);
    cr_expect(doc_double(document, doc_get(root, "rms_norm_eps"), 0, 1, &eps, &error) ==
              LLMPERF_OK);
    cr_expect(eps == 1e-6);
    cr_expect(doc_double(document, doc_get(root, "routed_scaling_factor"), 0, 100, &factor,
                         &error) == LLMPERF_OK);
    cr_expect(factor == 2.5);
    cr_expect(doc_bool(document, doc_get(root, "attention_bias"), &bias, &error) == LLMPERF_OK);
    cr_expect_not(bias);
    cr_expect(doc_is_null(doc_get(root, "rope_scaling")));
    doc_node *blocks = doc_get(doc_get(root, "quantization_config"), "weight_block_size");
    cr_assert_not_null(blocks);
    cr_expect_eq(blocks->count, 2);
    cr_expect(doc_int64(document, blocks->first->next, 1, 1024, &block, &error) == LLMPERF_OK);
    cr_expect_eq(block, 128);
    expect_text(doc_get(root, "time_step_limit")->first->next->text, "Infinity");
    cr_expect_eq(error.faults, 0);
    doc_free(document);
}

Test(doc, the_name_or_the_first_character_makes_it_json)
{
    static const struct {
        const char *name, *text;
        bool json;
    } rows[] = {
        {"x.json", "1", true},         {"X.JSON", "1", true},          {"x.yaml", "\n {}", true},
        {"x.yaml", "[]", true},        {"x.yaml", "a: {}", false},     {"json", "a", false},
        {".json", "1", true},          {"x.json.yaml", "a: 1", false}, {"", "a: 1", false},
        {"-", "\xef\xbb\xbf{}", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        doc *document = load(rows[i].name, rows[i].text);
        cr_expect_eq(doc_is_json(document), rows[i].json, "%s %s", rows[i].name, rows[i].text);
        doc_free(document);
    }
}

Test(doc, the_text_needs_no_final_nul)
{
    const char text[] = {'[', '1', '2', ']', '3'};
    doc *document = load_sized("x.json", text, 4);
    expect_text(doc_root(document)->first->text, "12");
    doc_free(document);
    const char yaml[] = {'a', ':', ' ', '1', '2'};
    document = load_sized("x.yaml", yaml, 4);
    expect_text(doc_root(document)->first->text, "1");
    doc_free(document);
}

Test(doc, bom_and_crlf_change_nothing)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"x.yaml", "a: 1\nb:\n  - x y\n  - \"p\n    q\"\nc: |\n  l1\n  l2\nd: # none\ne: z"},
        {"x.json", "{\n \"a\": [1,\n  \"x\" ],\n \"b\": null\n}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char windows[256] = "\xef\xbb\xbf";
        size_t used = 3;
        for (const char *at = rows[i].text; *at; at++) {
            if (*at == '\n')
                windows[used++] = '\r';
            windows[used++] = *at;
        }
        windows[used] = '\0';
        doc *document = load(rows[i].name, rows[i].text);
        text_buffer want = {.used = 0};
        dump(&want, doc_root(document));
        doc_free(document);
        expect_tree(rows[i].name, windows, want.text);
    }
}

Test(doc, a_lone_cr_ends_a_line)
{
    expect_tree("x.yaml", "a: 1\rb: 2\r", "@1:1{a@1:1=@1:41 b@2:1=@2:42}");
    expect_tree("x.json", "{\"a\":\r1}", "@1:1{a@1:2=@2:11}");
}

/* ---- JSON ---- */

Test(doc, json_escapes_are_decoded)
{
    doc *document = load("x.json", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"\\u0041\\u00e9\\u20AC\", "
                                   "\"\\ud83e\\udd17\", \"\\uD83D\\uDE00!\", \"\\ud800\\udc00\", "
                                   "\"\\udbff\\udfff\", 7]");
    static const char *const want[] = {"\"\\/\b\f\n\r\t",  "A\xc3\xa9\xe2\x82\xac",
                                       "\xf0\x9f\xa4\x97", "\xf0\x9f\x98\x80!",
                                       "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    const doc_node *node = doc_root(document)->first;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++, node = node->next)
        expect_text(node->text, want[i]);
    /* Columns count the source: the pairs do not shift what follows. */
    cr_expect_eq(node->column, 109);
    doc_free(document);
}

Test(doc, json_keeps_what_libyaml_would_change_or_refuse)
{
    char text[4000], key[3001];
    memset(key, 'k', 3000);
    key[3000] = '\0';
    snprintf(text, sizeof text, "{\"%s\"\n:\"a \xe2\x80\xa8 b\xc2\x85 c\x7f\xef\xbb\xbf\"}", key);
    doc *document = load("x.json", text);
    const doc_node *node = doc_root(document)->first;
    expect_text(node->key, key);
    expect_text(node->text, "a \xe2\x80\xa8 b\xc2\x85 c\x7f\xef\xbb\xbf");
    cr_expect_eq(node->line, 2);
    cr_expect_eq(node->column, 2);
    doc_free(document);
}

Test(doc, json_constants_of_python_are_let_through)
{
    expect_tree("x.json", "[NaN,Infinity,-Infinity]", "@1:1[@1:2NaN @1:6Infinity @1:15-Infinity]");
}

Test(doc, json_syntax_is_strict)
{
    static const struct {
        const char *text, *place, *piece;
    } rows[] = {
        {"{\"a\": 1 \"b\": 2}", "1:9", "found '\"'; ',' or '}' is allowed"},
        {"{\"a\": 1\n\"b\": 2}", "2:1", "',' or '}' is allowed"},
        {"[1 2]", "1:4", "found '2'; ',' or ']' is allowed"},
        {"{a: 1}", "1:2", "found 'a'; a key in double quotes is allowed"},
        {"{'a': 1}", "1:2", "found a single quote; a key in double quotes is allowed"},
        {"{\"a\": 'x'}", "1:7", "found a single quote"},
        {"{\"a\" 1}", "1:6", "':' is allowed"},
        {"{\"a\": 1,}", "1:9", "found '}' after a comma"},
        {"[1,]", "1:4", "found ']' after a comma"},
        {"[,1]", "1:2", "found ','"},
        {"[1,,2]", "1:4", "found ','"},
        {"{,}", "1:2", "a key in double quotes"},
        {"{1: 2}", "1:2", "a key in double quotes"},
        {"{\"a\"}", "1:5", "':' is allowed"},
        {"[1}", "1:3", "',' or ']'"},
        {"{\"a\": 1]", "1:8", "',' or '}'"},
        {"{\"a\": // x\n1}", "1:7", "found a comment"},
        {"{\"a\": /* x */ 1}", "1:7", "found a comment"},
        {"{\"a\": 1 # x\n}", "1:9", "found a comment"},
        {"{\"a\": True}", "1:7", "found 'True'; a value is allowed"},
        {"{\"a\": None}", "1:7", "found 'None'"},
        {"{\"a\": nul}", "1:7", "found 'nul'"},
        {"{\"a\": truex}", "1:7", "found 'truex'"},
        {"{\"a\": nan}", "1:7", "found 'nan'"},
        {"{\"a\": +Infinity}", "1:7", "found '+'"},
        {"{\"a\": +1}", "1:7", "found '+'"},
        {"{\"a\": .5}", "1:7", "found '.'"},
        {"{\"a\": 5.}", "1:9", "a digit is allowed after the point"},
        {"{\"a\": 01}", "1:8", "leading zero"},
        {"{\"a\": -01}", "1:9", "leading zero"},
        {"{\"a\": -}", "1:8", "a digit is allowed after '-'"},
        {"{\"a\": -NaN}", "1:8", "found 'NaN' in a number"},
        {"{\"a\": 1e}", "1:9", "exponent"},
        {"{\"a\": 1e+}", "1:10", "exponent"},
        {"{\"a\": 0x10}", "1:8", "found 'x10' behind a number"},
        {"{\"a\": 1_000}", "1:8", "found '_000' behind a number"},
        {"{\"a\": 1.2.3}", "1:10", "found '.'"},
        {"[\"a\tb\"]", "1:4", "control character U+0009 in a string"},
        {"[\"a\nb\"]", "1:4", "the end of the line in a string"},
        {"[\"a\r\nb\"]", "1:4", "the end of the line in a string"},
        {"[\"a\\x41\"]", "1:4", "a wrong escape"},
        {"[\"\\u12g4\"]", "1:3", "a wrong escape"},
        {"[\"\\u12\"]", "1:3", "a wrong escape"},
        {"[\"ab\\u0000\"]", "1:5", "a NUL character"},
        {"[\"ab\\ud83e\"]", "1:5", "the lone surrogate \\ud83e"},
        {"[\"\\ud83e\\u0041\"]", "1:3", "the lone surrogate \\ud83e"},
        {"[\"\\ud83e\\ud83e\\udd17\"]", "1:3", "the lone surrogate \\ud83e"},
        {"[\"\\udd17\\ud83e\"]", "1:3", "the lone surrogate \\udd17"},
        {"{\"a\": 1} x", "1:10", "found 'x' after the end of the document"},
        {"{\"a\": 1}\n{\"a\": 1}", "2:1", "after the end of the document"},
        {"a: 1\n", "1:1", "found 'a'"},
        {"[\x01]", "1:2", "control character U+0001"},
        {"[\xc3\xa9]", "1:2", "found '\xc3\xa9'"},
        {"[\"\xc3\xa9\xe2\x82\xac\", x]", "1:8", "found 'x'"},
        {"]", "1:1", "found ']'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char start[64];
        snprintf(start, sizeof start, "x.json:%s: ", rows[i].place);
        const char *got = refusal("x.json", rows[i].text);
        expect_start(got, start);
        expect_piece(got, rows[i].piece);
        expect_piece(got, "; ");
        cr_expect(strchr(got, '\n') == NULL, "one fault: %s", got);
    }
}

Test(doc, json_cut_anywhere_is_end_of_input_at_its_end)
{
    const char *whole = "{\"a\": [1, -2.5e3, \"x\\n\\u00e9\\ud83e\\udd17\",\n {\"b\": null}], "
                        "\"c\": true}";
    doc_free(load("x.json", whole));
    int line = 1, column = 2;
    for (size_t size = 1; size < strlen(whole); size++) {
        const char *got = refusal_sized("x.json", whole, size);
        char start[64];
        snprintf(start, sizeof start, "x.json:%d:%d: ", line, column);
        bool in_word = strchr("nulltrue", whole[size]) && strchr("nulltrue", whole[size - 1]);
        /* A cut word or a cut pair is a fault where it starts; all else is the end. */
        if (!in_word && !strstr(got, "surrogate")) {
            expect_start(got, start);
            expect_piece(got, "end of input");
        }
        line += whole[size] == '\n';
        column = whole[size] == '\n' ? 1 : column + 1;
    }
    expect_start(refusal("x.json", "{\n \"model_type\": \"llama\",\n \"hidden_size\": 4096,\n"
                                   " \"num_hidden_lay"),
                 "x.json:4:17: found end of input in a string; ");
    expect_start(refusal("x.json", "[1,\n"), "x.json:2:1: found end of input; ");
    expect_start(refusal("x.json", "{\"\xc3\xa9"), "x.json:1:4: found end of input in a string; ");
}

Test(doc, json_in_a_yaml_file_says_why)
{
    expect_text(refusal("x.yaml", "{a: 1}"),
                "x.yaml:1:2: found 'a'; a key in double quotes is allowed (text that starts with "
                "'{' or '[' is JSON)");
}

/* ---- YAML ---- */

Test(doc, yaml_features_beyond_the_plain_subset_are_refused_all_at_once)
{
    expect_text(refusal("x.yaml", "base: &b {x: 1}\n"
                                  "use: *b\n"
                                  "more:\n"
                                  "  <<: *b\n"
                                  "  t: !mine 1\n"
                                  "  ? *b\n"
                                  "  : 1\n"
                                  "base: 2\n"),
                "x.yaml:1:7: found anchor '&b'; plain values without anchors are allowed\n"
                "x.yaml:2:6: found alias '*b'; values written out in full are allowed\n"
                "x.yaml:4:3: found a merge key '<<'; keys written out in full are allowed\n"
                "x.yaml:4:7: found alias '*b'; values written out in full are allowed\n"
                "x.yaml:5:6: found tag '!mine'; plain values without tags are allowed\n"
                "x.yaml:6:5: found alias '*b'; values written out in full are allowed\n"
                "x.yaml:8:1: key 'base' is given again, first on line 1; each key is allowed once");
}

Test(doc, yaml_faults_have_their_place)
{
    static const struct {
        const char *text, *place, *piece;
    } rows[] = {
        {"a: !!str 1\n", "1:4", "found tag"},
        {"a: ! 1\n", "1:4", "found tag"},
        {"!!map\na: 1\n", "1:1", "found tag"},
        {"- &x [1]\n", "1:3", "found anchor '&x'"},
        {"<<: {a: 1}\n", "1:1", "found a merge key"},
        {"x: 1\n? [a]\n: b\n", "2:3", "found a list as a key"},
        {"x:\n  ? {a: 1}\n  : b\n", "2:5", "found a map as a key"},
        {"x: {? : 1}\n", "1:7", "a key is missing"},
        {"%YAML 1.1\n---\na: 1\n", "1:1", "found a %directive"},
        {"# c\n\n%TAG ! x\n---\na: 1\n", "3:1", "found a %directive"},
        {"a: 1\n...\n%TAG ! x\n", "3:1", "found a %directive"},
        {"a: 1\n---\nb: 2\n", "2:1", "a second document starts"},
        {"--- a\n--- b\n", "2:1", "a second document starts"},
        {"a: 1\n...\n# c\n---\nb: 2\n", "4:1", "a second document starts"},
        {"a: \"x\\0y\"\n", "1:4", "a NUL character"},
        /* libyaml's own */
        {"a: b: c\n", "1:5", "mapping values are not allowed in this context; one 'key: value'"},
        {"a: @b\n", "1:4", "cannot start any token; text that starts with one of"},
        {"a: [1, 2", "1:9", "did not find expected ',' or ']'"},
        {"a: [1, 2\n", "2:1", "did not find expected ',' or ']'"},
        {"a:\n  b: 1\n c: 2\n", "3:2", "did not find expected key"},
        {"a: 1\nbandwidth\n", "2:1", "could not find expected ':'"},
        {"a: - b\n", "1:4", "block sequence entries are not allowed"},
        {"a: \"x\nb: 1\n", "3:1", "that starts on line 1; "},
        {"a: \"\\q\"\n", "1:5", "found unknown escape character"},
        {"a: \"\\ud83e\"\n", "1:7", "invalid Unicode character escape"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char start[64];
        snprintf(start, sizeof start, "x.yaml:%s: ", rows[i].place);
        const char *got = refusal("x.yaml", rows[i].text);
        expect_start(got, start);
        expect_piece(got, rows[i].piece);
        expect_piece(got, "; ");
    }
}

Test(doc, yaml_document_marks_around_one_document_are_fine)
{
    expect_tree("x.yaml", "---\na: 1\n...\n\n# the end\n...\n", "@2:1{a@2:1=@2:41}");
    expect_tree("x.yaml", "--- |\n %no directive\n", "@1:5\"%no directive\n\"");
    expect_tree("x.yaml", "a: \"<<\"\n\"<<\": 1\n", "@1:1{a@1:1=@1:4\"<<\" <<@2:1=@2:71}");
}

Test(doc, tabs_in_the_indentation_are_refused)
{
    static const struct {
        const char *text, *place;
    } rows[] = {
        {"name: H100\ncompute:\n\tbf16: 989 TFLOPS\nmemory: 80 GB\n", "3:1"},
        {"a:\n  - b\n  \t- c\n", "3:3"},
        {"a:\n  b: 1\n\tc: 2\n", "3:1"},
        {"- a\n\t- b\n", "2:1"},
        {"-\t- a\n", "1:2"},
        {"\ta: 1\n", "1:1"},
        {"a: \"x\"\n \tb: 1\n", "2:2"},
        {"a: |\n  x\n\ty\n", "3:1"},
        /* These libyaml would let pass. */
        {"a: [\n\t1]\n", "2:1"},
        {"a: b\n \tc\n", "2:2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char want[128];
        snprintf(want, sizeof want,
                 "x.yaml:%s: found a tab in the indentation; spaces are allowed there",
                 rows[i].place);
        expect_text(refusal("x.yaml", rows[i].text), want);
    }
    expect_text(refusal("x.yaml", "a: [\n\t1,\n 2,\n\t3]\n"),
                "x.yaml:2:1: found a tab in the indentation; spaces are allowed there\n"
                "x.yaml:4:1: found a tab in the indentation; spaces are allowed there");
}

Test(doc, tabs_elsewhere_are_fine)
{
    expect_tree("x.yaml", "a:\t1\t# c\nb: |\n  x\n  \ty", "@1:1{a@1:1=@1:41 b@2:1=@2:4\"x\n\ty\"}");
    expect_tree("x.yaml", "a: |\n  x\n  \ty\nb: 'p\n\tq'\nc: \"r\n\ts\"\n",
                "@1:1{a@1:1=@1:4\"x\n\ty\n\" b@4:1=@4:4\"p q\" c@6:1=@6:4\"r s\"}");
    expect_tree("x.json", "{\n\t\"a\":\t1\n}", "@1:1{a@2:2=@2:71}");
}

/* ---- what is refused by its bytes ---- */

Test(doc, empty_texts_say_so)
{
    static const char *const rows[] = {"", " ", "\n\n", " \t\r\n", "\xef\xbb\xbf", "# only\n#\n"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = refusal("x.yaml", rows[i]);
        expect_start(got, "x.yaml:1:1: the file is empty");
        expect_piece(got, "; a YAML or JSON document is allowed");
    }
    expect_start(refusal("x.json", "\n"), "x.json:1:1: the file is empty; ");
    expect_start(refusal_sized("x.json", NULL, 0), "x.json:1:1: the file is empty; ");
}

Test(doc, html_is_called_html)
{
    expect_start(refusal("x.json", "<!DOCTYPE html><html></html>\n"),
                 "x.json:1:1: looks like HTML or XML, not YAML or JSON; ");
    expect_start(refusal("x.yaml", "\xef\xbb\xbf\r\n  <?xml?>"),
                 "x.yaml:2:3: looks like HTML or XML, not YAML or JSON; ");
    expect_start(refusal("x.yaml", "<p>\xe9</p>"), "x.yaml:1:1: looks like HTML");
}

Test(doc, bytes_that_are_no_text_are_refused_with_their_place)
{
    static const struct {
        const char *bytes, *place, *piece;
        size_t size;
    } rows[] = {
        {"a: 1\nb\0c: 2\n", "2:2", "found a NUL byte", 13},
        {"a: \xff\n", "1:4", "byte 0xFF is no valid UTF-8", 5},
        {"\xc3\xa9: \x80\n", "1:4", "byte 0x80 is no valid UTF-8", 6},
        {"a: \xc3", "1:4", "byte 0xC3", 4},              /* cut at the end */
        {"a: \xe2\x82\n", "1:4", "byte 0xE2", 6},        /* cut in the middle */
        {"a: \xc0\xaf", "1:4", "byte 0xC0", 5},          /* overlong */
        {"a: \xe0\x80\xaf", "1:4", "byte 0xE0", 6},      /* overlong */
        {"a: \xf0\x80\x80\xaf", "1:4", "byte 0xF0", 7},  /* overlong */
        {"a: \xed\xa0\xbe", "1:4", "byte 0xED", 6},      /* a surrogate, U+D83E */
        {"a: \xf4\x90\x80\x80", "1:4", "byte 0xF4", 7},  /* U+110000 */
        {"a:\r\n b:\r c: \xf5", "3:5", "byte 0xF5", 14}, /* CRLF and CR are lines */
        {"\xff\xfe"
         "a\0",
         "1:1", "looks like UTF-16", 4},
        {"\xfe\xff\0a", "1:1", "looks like UTF-16", 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int json = 0; json < 2; json++) {
            const char *name = json ? "x.json" : "x.yaml";
            char start[64];
            snprintf(start, sizeof start, "%s:%s: ", name, rows[i].place);
            const char *got = refusal_sized(name, rows[i].bytes, rows[i].size);
            expect_start(got, start);
            expect_piece(got, rows[i].piece);
        }
    }
}

Test(doc, yaml_refuses_characters_that_libyaml_mistreats)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"a: \x1b[2J", "x.yaml:1:4: found control character U+001B; "},
        {"a: \x7f", "x.yaml:1:4: found control character U+007F; "},
        {"a: \xc2\x9b", "x.yaml:1:4: found control character U+009B; "},
        {"a: \"x\xc2\x85y\"", "x.yaml:1:6: found line separator U+0085; "},
        {"a: \"x\xe2\x80\xa8y\"", "x.yaml:1:6: found line separator U+2028; "},
        {"a: \xef\xbb\xbf", "x.yaml:1:4: found byte order mark inside the text, U+FEFF; "},
        {"a: \xef\xbf\xbf", "x.yaml:1:4: found noncharacter U+FFFF; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_start(refusal("x.yaml", rows[i].text), rows[i].want);
    expect_tree("x.yaml", "a: \"\\u2028\"\n", "@1:1{a@1:1=@1:4\"\xe2\x80\xa8\"}");
}

Test(doc, messages_are_safe_to_print)
{
    const char *got = refusal("\x1b[2J.json", "[\"\\u001b[2J\" \x1b]");
    expect_start(got, "\\x1b[2J.json:1:14: found control character U+001B; ");
    got = refusal("x.json", "{\"\\u001b\\n\": 1, \"\\u001b\\n\": 2}");
    expect_start(got, "x.json:1:17: key '\\x1b\\x0a' is given again");
}

/* ---- duplicate keys ---- */

Test(doc, every_duplicate_key_is_reported_in_file_order)
{
    expect_text(refusal("x.yaml", "b: 1\n"
                                  "a:\n"
                                  "  c: 1\n"
                                  "  \"c\": 2\n"
                                  "b: 3\n"
                                  "d: [{e: 1, e: 2}]\n"
                                  "b: 4\n"),
                "x.yaml:4:3: key 'c' is given again, first on line 3; each key is allowed once\n"
                "x.yaml:5:1: key 'b' is given again, first on line 1; each key is allowed once\n"
                "x.yaml:6:12: key 'e' is given again, first on line 6; each key is allowed once\n"
                "x.yaml:7:1: key 'b' is given again, first on line 1; each key is allowed once");
    expect_text(
        refusal("x.json", "{\"a\": {\"b\": 1,\n \"b\": 2},\n \"\\u0061\": 3, \"\": 1, \"\": 2}"),
        "x.json:2:2: key 'b' is given again, first on line 1; each key is allowed once\n"
        "x.json:3:2: key 'a' is given again, first on line 1; each key is allowed once\n"
        "x.json:3:22: key '' is given again, first on line 3; each key is allowed once");
}

Test(doc, equal_keys_in_different_maps_are_fine)
{
    doc_free(load("x.yaml", "a: {k: 1}\nb: {k: 1}\nc: {a: 1, A: 2}\n"));
    doc_free(load("x.json", "[{\"k\": 1}, {\"k\": {\"k\": 1}}]"));
}

Test(doc, duplicates_come_before_the_syntax_fault_that_follows)
{
    expect_text(
        refusal("x.json", "[{\"a\": 1, \"a\": 2}, x]"),
        "x.json:1:11: key 'a' is given again, first on line 1; each key is allowed once\n"
        "x.json:1:20: found 'x'; a value is allowed: \"text\", a number, true, false, null, "
        "{...} or [...]");
}

/* "{"k0":0,"k1":0,...}" or "k0: 0\n..."; the caller frees. */
static char *many_keys(int count, bool json, int duplicate_of, size_t *ret_size)
{
    char *text = malloc((size_t)count * 16 + 64);
    cr_assert_not_null(text);
    size_t used = 0;
    for (int i = 0; i <= count; i++) {
        int key = i < count ? i : duplicate_of;
        if (key < 0)
            break;
        used += (size_t)sprintf(text + used, json ? "%c\"k%d\":0\n" : "%ck%d: 0\n",
                                json ? (i ? ',' : '{') : ' ', key);
    }
    if (json)
        text[used++] = '}';
    *ret_size = used;
    return text;
}

Test(doc, a_map_of_200000_keys_is_not_quadratic, .timeout = 20)
{
    for (int json = 0; json < 2; json++) {
        size_t size;
        char *text = many_keys(200000, json, -1, &size);
        doc *document = load_sized(json ? "x.json" : "x.yaml", text, size);
        cr_expect_eq(doc_root(document)->count, 200000);
        doc_free(document);
        free(text);
        text = many_keys(200000, json, 77777, &size);
        expect_text(refusal_sized("x", text, size),
                    "x:200001:2: key 'k77777' is given again, first on line 77778; each key is "
                    "allowed once");
        free(text);
    }
}

Test(doc, all_faults_are_counted_although_few_have_room, .timeout = 20)
{
    size_t size = 0;
    char *text = malloc(100000 * 8);
    cr_assert_not_null(text);
    for (int i = 0; i < 100000; i++)
        size += (size_t)sprintf(text + size, "k: %d\n", i % 7);
    llmperf_error error = {0};
    doc *document = NULL;
    cr_expect(doc_load_text("x.yaml", text, size, &document, &error) == LLMPERF_E_SPEC);
    cr_expect_eq(error.faults, 99999);
    expect_start(error.text, "x.yaml:2:1: key 'k' is given again, first on line 1; ");
    expect_text(strrchr(error.text, '\n'), "\n... and more faults");
    cr_expect(doc_load_text("x.yaml", text, size, &document, NULL) == LLMPERF_E_SPEC);
    free(text);
}

/* ---- limits ---- */

static char *repeated(const char *start, const char *piece, size_t size)
{
    char *text = malloc(size);
    cr_assert_not_null(text);
    size_t used = strlen(start), length = strlen(piece);
    memcpy(text, start, used);
    for (size_t i = 0; used < size; i++)
        text[used++] = piece[i % length];
    return text;
}

Test(doc, sixty_four_levels_are_allowed)
{
    char text[1024];
    for (int levels = 64; levels <= 65; levels++) {
        size_t used = 0;
        for (int i = 0; i < levels; i++)
            text[used++] = '[';
        for (int i = 0; i < levels; i++)
            text[used++] = ']';
        if (levels == 64)
            doc_free(load_sized("x.json", text, used));
        else
            expect_text(refusal_sized("x.json", text, used),
                        "x.json:1:65: maps and lists are nested too deeply; 64 levels are allowed");
        used = 0;
        for (int i = 0; i < levels; i++) {
            text[used++] = '-';
            text[used++] = ' ';
        }
        text[used++] = 'x';
        if (levels == 64)
            doc_free(load_sized("x.yaml", text, used));
        else
            expect_text(refusal_sized("x.yaml", text, used), "x.yaml:1:129: maps and lists are "
                                                             "nested too deeply; 64 levels are "
                                                             "allowed");
    }
}

/* Each of them takes libyaml minutes when nothing stops it, if it ends at all. */
Test(doc, sixteen_mebibytes_of_nesting_return_at_once, .timeout = 30)
{
    static const struct {
        const char *start, *piece;
    } rows[] = {
        {"", "["},
        {"", "{\"a\":"},
        {"a: ", "["},
        {"a: ", "[\n"},
        {"a: ", "{b: "},
        {"", "- "},
        {"", "? "},
        {"", "- ? "},
        {"", "? - "},
        {"", "%TAG !a! b\n"},
        {"a\n...\n", "%TAG !a! b\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = repeated(rows[i].start, rows[i].piece, LLMPERF_DOC_MAX_BYTES);
        refusal_sized("x.yaml", text, LLMPERF_DOC_MAX_BYTES);
        refusal_sized("x.json", text, LLMPERF_DOC_MAX_BYTES);
        free(text);
    }
}

Test(doc, more_than_16_mebibytes_are_refused, .timeout = 20)
{
    size_t size = (size_t)LLMPERF_DOC_MAX_BYTES + 1;
    char *text = repeated("a: ", " ", size);
    llmperf_error error = {0};
    doc *document = NULL;
    cr_expect(doc_load_text("x.yaml", text, size, &document, &error) == LLMPERF_E_IO);
    expect_text(error.text, "x.yaml: is larger than 16 MiB; up to 16777216 bytes are allowed");
    cr_expect_null(document);
    document = load_sized("x.yaml", text, size - 1);
    doc_free(document);
    free(text);
}

/* ---- files ---- */

static char folder[] = "/tmp/llmperf-test-doc-XXXXXX";

static const char *path_in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = {"x.yaml", "x.json", "fifo", "large.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_in_folder(names[i]));
    rmdir(folder);
}

static const char *write_file(const char *name, const char *text, size_t size)
{
    const char *path = path_in_folder(name);
    FILE *out = fopen(path, "wb");
    cr_assert_not_null(out);
    cr_assert_eq(fwrite(text, 1, size, out), size);
    cr_assert_eq(fclose(out), 0);
    return path;
}

static const char *file_refusal(const char *path, llmperf_status want)
{
    static llmperf_error error;
    error = (llmperf_error){0};
    doc *document = NULL;
    llmperf_status status = doc_load_file(path, &document, &error);
    cr_expect_eq(status, want, "%s: %s", path, error.text);
    cr_expect_null(document);
    doc_free(document);
    return error.text;
}

Test(doc, a_file_is_read_in_full, .init = make_folder, .fini = remove_folder)
{
    char text[20000] = "[";
    memset(text + 1, ' ', sizeof text - 2);
    text[sizeof text - 1] = ']';
    doc *document = NULL;
    llmperf_error error = {0};
    const char *path = write_file("x.yaml", text, sizeof text);
    cr_assert(doc_load_file(path, &document, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(doc_root(document)->count, 0);
    expect_text(doc_name(document), path);
    doc_free(document);
}

Test(doc, faults_name_the_path, .init = make_folder, .fini = remove_folder)
{
    char want[256];
    const char *path = write_file("x.json", "{\n1}", 4);
    snprintf(want, sizeof want, "%s:2:1: found '1'; a key in double quotes is allowed", path);
    expect_text(file_refusal(path, LLMPERF_E_SPEC), want);
    path = write_file("x.json", "", 0);
    snprintf(want, sizeof want, "%s:1:1: the file is empty; a YAML or JSON document is allowed",
             path);
    expect_text(file_refusal(path, LLMPERF_E_SPEC), want);
}

Test(doc, what_is_no_regular_file_is_refused, .init = make_folder, .fini = remove_folder,
     .timeout = 10)
{
    expect_piece(file_refusal(folder, LLMPERF_E_IO),
                 ": is a folder; a YAML or JSON file is allowed");
    expect_text(file_refusal("/dev/null", LLMPERF_E_IO),
                "/dev/null: is no regular file; a YAML or JSON file is allowed");
    expect_text(file_refusal("/dev/zero", LLMPERF_E_IO),
                "/dev/zero: is no regular file; a YAML or JSON file is allowed");
    cr_assert_eq(mkfifo(path_in_folder("fifo"), 0600), 0);
    expect_piece(file_refusal(path_in_folder("fifo"), LLMPERF_E_IO), ": is no regular file; ");
    expect_piece(file_refusal(path_in_folder("none.yaml"), LLMPERF_E_IO),
                 "/none.yaml: cannot be opened: No such file or directory");
    expect_piece(file_refusal("", LLMPERF_E_IO), "cannot be opened");
}

Test(doc, a_file_that_is_too_large_is_refused_unread, .init = make_folder, .fini = remove_folder)
{
    const char *path = write_file("large.yaml", "a", 1);
    cr_assert_eq(truncate(path, (off_t)1 << 40), 0); /* a hole */
    expect_piece(file_refusal(path, LLMPERF_E_IO), "large.yaml: is larger than 16 MiB; ");
}

/* Its size is 0 by fstat(), its content is not. */
Test(doc, the_size_that_stat_gives_is_not_trusted)
{
    doc *document = NULL;
    llmperf_error error = {0};
    if (access("/proc/self/status", R_OK) != 0)
        cr_skip_test("no /proc here");
    /* "Name:\ttest_doc\n" ...: plain YAML. */
    cr_assert(doc_load_file("/proc/self/status", &document, &error) == LLMPERF_OK, "%s",
              error.text);
    cr_expect_not_null(doc_get(doc_root(document), "Pid"));
    doc_free(document);
}

/* ---- looking things up ---- */

Test(doc, get_finds_values_and_marks_them)
{
    doc *document = load("x.yaml", "a: 1\nb: {c: 2}\nd: [a]\ne:\n");
    doc_node *root = doc_root(document);
    cr_expect_not(root->first->used);
    doc_node *a = doc_get(root, "a");
    cr_expect(a == root->first && a->used);
    cr_expect_not(root->first->next->used);
    expect_text(doc_get(doc_get(root, "b"), "c")->text, "2");
    cr_expect_null(doc_get(root, "c"));
    cr_expect_null(doc_get(root, ""));
    cr_expect_null(doc_get(a, "a"));
    cr_expect_null(doc_get(doc_get(root, "d"), "a"));
    cr_expect_null(doc_get(NULL, "a"));
    cr_expect(doc_is_null(doc_get(root, "e")));
    doc_free(document);
    doc_free(NULL);
}

Test(doc, null_is_plain_null_tilde_or_nothing)
{
    doc *document = load("x.yaml", "- null\n- Null\n- NULL\n- ~\n-\n"
                                   "- 'null'\n- \"\"\n- nUll\n- none\n- 0\n- \"~\"\n- []\n- {}\n"
                                   "- |\n  null\n");
    const doc_node *node = doc_root(document)->first;
    for (int i = 0; node; node = node->next, i++)
        cr_expect_eq(doc_is_null(node), i < 5, "item %d", i);
    cr_expect(doc_is_null(NULL));
    doc_free(document);
}

Test(doc, fail_points_at_the_value_or_its_key)
{
    doc *document = load("x.yaml", "a:\n  bc:  7\n");
    doc_node *node = doc_get(doc_get(doc_root(document), "a"), "bc");
    llmperf_error error = {0};
    cr_expect(doc_fail(document, node, &error, "%d; %s", 7, "8") == LLMPERF_E_SPEC);
    cr_expect(doc_fail_at_key(document, node, &error, "100%%") == LLMPERF_E_SPEC);
    doc_fail_at_key(document, doc_root(document), &error, "no key");
    doc_fail(document, NULL, &error, "no node");
    expect_text(error.text, "x.yaml:2:8: 7; 8\nx.yaml:2:3: 100%\nx.yaml:1:1: no key\n"
                            "x.yaml: no node");
    cr_expect_eq(error.faults, 4);
    cr_expect(doc_fail(document, node, NULL, "unseen") == LLMPERF_E_SPEC);
    doc_free(document);
}

/* ---- typed readings ---- */

/* A document "k: TEXT" and the node of TEXT. */
typedef struct one_value {
    doc *document;
    const doc_node *node;
} one_value;

static one_value yaml_value(const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "k: %s\n", text);
    one_value one = {.document = load("x.yaml", whole)};
    one.node = doc_get(doc_root(one.document), "k");
    return one;
}

Test(doc, int64_takes_whole_numbers_exactly)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"42", 42},
        {"+5", 5},
        {"-7", -7},
        {"8e3", 8000},
        {"8E+3", 8000},
        {"1.5e3", 1500},
        {"4096.0", 4096},
        {"4096.", 4096},
        {"4096000e-3", 4096},
        {".5e1", 5},
        {"0.0", 0},
        {"0e999999999999999999999", 0},
        {"0.0000e-5", 0},
        {"100000000000000000000e-5", 1000000000000000},
        {"9007199254740992", 9007199254740992}, /* 2^53 */
        {"-9007199254740992", -9007199254740992},
        {"9.007199254740992e15", 9007199254740992},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        int64_t value = 99;
        cr_expect(doc_int64(one.document, one.node, INT64_MIN, INT64_MAX, &value, &error) ==
                      LLMPERF_OK,
                  "%s", error.text);
        cr_expect_eq(value, rows[i].want, "%s", rows[i].text);
        doc_free(one.document);
    }
}

Test(doc, int64_refuses_with_the_reason)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"'4096'", "text \"4096\"; an integer from 1 to 8 is allowed"},
        {"\"7\"", "text \"7\"; an integer from 1 to 8 is allowed"},
        {"0", "integer 0; an integer from 1 to 8 is allowed"},
        {"9", "integer 9; an integer from 1 to 8 is allowed"},
        {"-1", "integer -1; an integer from 1 to 8 is allowed"},
        {"1e1", "number 1e1; an integer from 1 to 8 is allowed"},
        {"", "null; an integer from 1 to 8 is allowed"},
        {"~", "null; an integer from 1 to 8 is allowed"},
        {"true", "boolean true; an integer from 1 to 8 is allowed"},
        {"{a: 1}", "a map; an integer from 1 to 8 is allowed"},
        {"[1]", "a list; an integer from 1 to 8 is allowed"},
        {"4.5", "number 4.5, which is not whole; an integer from 1 to 8 is allowed"},
        {"4.0000000000000000000001",
         "number 4.0000000000000000000001, which is not whole; an integer from 1 to 8 is allowed"},
        {"1e-1", "number 1e-1, which is not whole; an integer from 1 to 8 is allowed"},
        {"1e-999999999999",
         "number 1e-999999999999, which is not whole; an integer from 1 to 8 is allowed"},
        {"9007199254740993", "integer 9007199254740993, too large to count exactly; an integer "
                             "from 1 to 8 is allowed"},
        {"90071992547409930e-1", "number 90071992547409930e-1, too large to count exactly; an "
                                 "integer from 1 to 8 is allowed"},
        {"1e999999999999999999999", "number 1e999999999999999999999, too large to count exactly; "
                                    "an integer from 1 to 8 is allowed"},
        {"1_000", "text \"1_000\" with '_' between the digits; an integer from 1 to 8 is allowed"},
        {"0x10", "text \"0x10\" in hexadecimal; an integer from 1 to 8 is allowed"},
        {"0o10", "text \"0o10\" in octal; an integer from 1 to 8 is allowed"},
        {"0b11", "text \"0b11\" in binary; an integer from 1 to 8 is allowed"},
        {"010", "text \"010\" with a leading zero, which some readers take for octal; an integer "
                "from 1 to 8 is allowed"},
        {"00", "text \"00\" with a leading zero, which some readers take for octal; an integer "
               "from 1 to 8 is allowed"},
        {"3,35", "text \"3,35\" with a comma among the digits; an integer from 1 to 8 is allowed"},
        {"8 GB", "text \"8 GB\"; an integer from 1 to 8 is allowed"},
        {".inf", "number .inf; an integer from 1 to 8 is allowed"},
        {"1:30", "text \"1:30\"; an integer from 1 to 8 is allowed"},
        {"--1", "text \"--1\"; an integer from 1 to 8 is allowed"},
        {"e5", "text \"e5\"; an integer from 1 to 8 is allowed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        int64_t value = 99;
        char want[256];
        snprintf(want, sizeof want, "x.yaml:1:%d: k is %s", rows[i].text[0] ? 4 : 3, rows[i].want);
        cr_expect(doc_int64(one.document, one.node, 1, 8, &value, &error) == LLMPERF_E_SPEC);
        cr_expect_eq(value, 99);
        expect_text(error.text, want);
        doc_free(one.document);
    }
}

Test(doc, int64_names_the_range_it_can_count)
{
    one_value one = yaml_value("x");
    llmperf_error error = {0};
    int64_t value = 0;
    doc_int64(one.document, one.node, INT64_MIN, INT64_MAX, &value, &error);
    expect_text(error.text, "x.yaml:1:4: k is text \"x\"; an integer from -9007199254740992 to "
                            "9007199254740992 is allowed");
    doc_free(one.document);
}

Test(doc, the_message_of_the_design)
{
    doc *document = load("x.json", "{\"a\": 1,\n\n \"hidden_size\": \"4096\"}");
    llmperf_error error = {0};
    int64_t value = 0;
    doc_int64(document, doc_get(doc_root(document), "hidden_size"), 1, 1048576, &value, &error);
    expect_text(error.text, "x.json:3:17: hidden_size is text \"4096\"; an integer from 1 to "
                            "1048576 is allowed");
    doc_free(document);
}

Test(doc, readings_without_a_key_or_a_node_have_a_subject_too)
{
    doc *document = load("x.json", "[true]");
    llmperf_error error = {0};
    int64_t value = 0;
    doc_int64(document, doc_root(document)->first, 0, 1, &value, &error);
    doc_int64(document, doc_root(document), 0, 1, &value, &error);
    doc_int64(document, NULL, 0, 1, &value, &error);
    cr_expect(doc_int64(document, NULL, 0, 1, &value, NULL) == LLMPERF_E_SPEC);
    expect_text(error.text,
                "x.json:1:2: the item is boolean true; an integer from 0 to 1 is allowed\n"
                "x.json:1:1: the document is a list; an integer from 0 to 1 is allowed\n"
                "x.json: a value is missing; an integer from 0 to 1 is allowed");
    doc_free(document);
}

Test(doc, double_takes_finite_decimal_numbers)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"0", 0},       {"-1.5", -1.5},
        {"80e9", 8e10}, {"3.35e12", 3.35e12},
        {".5", 0.5},    {"5.", 5},
        {"+2", 2},      {"1e-400", 0},
        {"0.1", 0.1},   {"12345678901234567890", 12345678901234567890.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        double value = 99;
        cr_expect(doc_double(one.document, one.node, -INFINITY, INFINITY, &value, &error) ==
                      LLMPERF_OK,
                  "%s", error.text);
        cr_expect(value == rows[i].want, "%s", rows[i].text);
        doc_free(one.document);
    }
}

Test(doc, double_refuses_with_the_reason)
{
    static const struct {
        const char *text;
        double min, max;
        const char *want;
    } rows[] = {
        {"-1", 0, 1, "integer -1; a number from 0 to 1 is allowed"},
        {"1.5", 0, 1, "number 1.5; a number from 0 to 1 is allowed"},
        {"0", DBL_MIN, INFINITY, "integer 0; a number above 0 is allowed"},
        {"0", DBL_MIN, 0.5, "integer 0; a number above 0 and up to 0.5 is allowed"},
        {"-1", 0, DBL_MAX, "integer -1; a number of 0 or more is allowed"},
        {"7", -INFINITY, 0.5, "integer 7; a finite number up to 0.5 is allowed"},
        {"x", -DBL_MAX, DBL_MAX, "text \"x\"; a finite number is allowed"},
        {"'1'", 0, 1, "text \"1\"; a number from 0 to 1 is allowed"},
        {".nan", 0, 1, "number .nan, which is not finite; a number from 0 to 1 is allowed"},
        {".inf", 0, INFINITY, "number .inf, which is not finite; a number of 0 or more is allowed"},
        {"-.inf", 0, 1, "number -.inf, which is not finite; a number from 0 to 1 is allowed"},
        {"1e999", 0, INFINITY,
         "number 1e999, too large for a double; a number of 0 or more is "
         "allowed"},
        {"3,35", 0, 9,
         "text \"3,35\" with a comma among the digits; a number from 0 to 9 is "
         "allowed"},
        {"1_0.5", 0, 99,
         "text \"1_0.5\" with '_' between the digits; a number from 0 to 99 is "
         "allowed"},
        {"null", 0, 1, "null; a number from 0 to 1 is allowed"},
        {"[1]", 0, 1, "a list; a number from 0 to 1 is allowed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        double value = 99;
        char want[256];
        snprintf(want, sizeof want, "x.yaml:1:4: k is %s", rows[i].want);
        cr_expect(doc_double(one.document, one.node, rows[i].min, rows[i].max, &value, &error) ==
                  LLMPERF_E_SPEC);
        cr_expect(value == 99);
        expect_text(error.text, want);
        doc_free(one.document);
    }
}

Test(doc, double_refuses_the_constants_of_python)
{
    doc *document = load("x.json", "{\"a\": Infinity, \"b\": NaN, \"c\": -Infinity}");
    llmperf_error error = {0};
    double value = 99;
    for (const doc_node *node = doc_root(document)->first; node; node = node->next)
        cr_expect(doc_double(document, node, -INFINITY, INFINITY, &value, &error) ==
                  LLMPERF_E_SPEC);
    expect_text(error.text,
                "x.json:1:7: a is number Infinity, which is not finite; a finite number is "
                "allowed\n"
                "x.json:1:22: b is number NaN, which is not finite; a finite number is allowed\n"
                "x.json:1:32: c is number -Infinity, which is not finite; a finite number is "
                "allowed");
    doc_free(document);
}

Test(doc, bool_takes_its_words)
{
    static const struct {
        const char *text;
        int want; /* -1 = refused */
    } rows[] = {
        {"true", 1},  {"True", 1},    {"TRUE", 1},  {"yes", 1},     {"On", 1},  {"YES", 1},
        {"false", 0}, {"False", 0},   {"FALSE", 0}, {"no", 0},      {"off", 0}, {"NO", 0},
        {"tRUE", -1}, {"'true'", -1}, {"1", -1},    {"0", -1},      {"y", -1},  {"n", -1},
        {"", -1},     {"[]", -1},     {"{}", -1},   {"\"no\"", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        bool value = rows[i].want == 0;
        llmperf_status status = doc_bool(one.document, one.node, &value, &error);
        cr_expect_eq(status, rows[i].want < 0 ? LLMPERF_E_SPEC : LLMPERF_OK, "%s", rows[i].text);
        if (rows[i].want >= 0)
            cr_expect_eq(value, rows[i].want == 1, "%s", rows[i].text);
        else
            expect_piece(error.text, "; true, false, yes, no, on or off is allowed");
        doc_free(one.document);
    }
    doc *document = load("x.json", "[1, \"true\", false]");
    llmperf_error error = {0};
    bool value = true;
    cr_expect(doc_bool(document, doc_root(document)->first, &value, &error) == LLMPERF_E_SPEC);
    cr_expect(doc_bool(document, doc_root(document)->first->next, &value, &error) ==
              LLMPERF_E_SPEC);
    cr_expect(doc_bool(document, doc_root(document)->first->next->next, &value, &error) ==
              LLMPERF_OK);
    cr_expect_not(value);
    expect_text(error.text, "x.json:1:2: the item is integer 1; true or false is allowed\n"
                            "x.json:1:5: the item is text \"true\"; true or false is allowed");
    doc_free(document);
}

Test(doc, text_takes_any_scalar_but_null)
{
    static const struct {
        const char *text, *want; /* NULL = refused */
    } rows[] = {
        {"NO", "NO"},  {"80 GB", "80 GB"}, {"1e3", "1e3"},         {"true", "true"},
        {"\"\"", ""},  {"'null'", "null"}, {"null", NULL},         {"", NULL},
        {"[a]", NULL}, {"{a: 1}", NULL},   {"1234567", "1234567"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        llmperf_error error = {0};
        char buffer[8] = "before";
        llmperf_status status = doc_text(one.document, one.node, buffer, sizeof buffer, &error);
        cr_expect_eq(status, rows[i].want ? LLMPERF_OK : LLMPERF_E_SPEC, "%s", rows[i].text);
        expect_text(buffer, rows[i].want ? rows[i].want : "before");
        if (!rows[i].want)
            expect_piece(error.text, "; a text is allowed");
        doc_free(one.document);
    }
    one_value one = yaml_value("12345678");
    llmperf_error error = {0};
    char buffer[8] = "before";
    cr_expect(doc_text(one.document, one.node, buffer, sizeof buffer, &error) == LLMPERF_E_SPEC);
    expect_text(buffer, "before");
    expect_text(error.text, "x.yaml:1:4: k is integer 12345678, 8 bytes long; a text of up to 7 "
                            "bytes is allowed");
    cr_expect(doc_text(one.document, one.node, buffer, 0, NULL) == LLMPERF_E_SPEC);
    doc_free(one.document);
}

/* ---- describe ---- */

Test(doc, describe_names_what_a_node_is)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"4096", "integer 4096"},
        {"-0", "integer -0"},
        {"0.5", "number 0.5"},
        {"1e3", "number 1e3"},
        {".inf", "number .inf"},
        {"'4096'", "text \"4096\""},
        {"abc", "text \"abc\""},
        {"true", "boolean true"},
        {"yes", "text \"yes\""},
        {"null", "null"},
        {"", "null"},
        {"'null'", "text \"null\""},
        {"{a: 1}", "a map"},
        {"{}", "an empty map"},
        {"[1]", "a list"},
        {"[]", "an empty list"},
        {"010", "text \"010\""},
        {"\"\\e\"", "text \"\\x1b\""},
    };
    char buffer[128];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        one_value one = yaml_value(rows[i].text);
        cr_expect(doc_describe(one.node, buffer, sizeof buffer) == buffer);
        expect_text(buffer, rows[i].want);
        doc_free(one.document);
    }
    expect_text(doc_describe(NULL, buffer, sizeof buffer), "missing");
}

Test(doc, describe_cuts_between_characters)
{
    char text[201] = "";
    for (int i = 0; i < 50; i++)
        strcat(text, "\xc3\xa9"); /* 100 bytes, of which 60 are shown */
    one_value one = yaml_value(text);
    char buffer[128], want[128] = "text \"";
    for (int i = 0; i < 30; i++)
        strcat(want, "\xc3\xa9");
    strcat(want, "...\"");
    expect_text(doc_describe(one.node, buffer, sizeof buffer), want);
    expect_text(doc_describe(one.node, buffer, 8), "text \"");
    expect_text(doc_describe(one.node, buffer, 9), "text \"\xc3\xa9");
    expect_text(doc_describe(one.node, buffer, 1), "");
    cr_expect(doc_describe(one.node, buffer, 0) == buffer);
    doc_free(one.document);
}

/* ---- unknown keys ---- */

Test(doc, unknown_keys_are_refused_all_at_once)
{
    static const char *const known[] = {"name", "memory", "bandwidth", NULL};
    doc *document = load("x.yaml", "name: x\nbandwith: 1\n  \n\"zzz\": 2\nmemory: 3\n");
    doc_node *root = doc_root(document);
    doc_get(root, "name");
    llmperf_error error = {0};
    cr_expect(doc_refuse_unknown(document, root, known, &error) == LLMPERF_E_SPEC);
    expect_text(error.text, "x.yaml:2:1: key 'bandwith' is not known; did you mean 'bandwidth'?\n"
                            "x.yaml:4:1: key 'zzz' is not known; name, memory, bandwidth are "
                            "allowed here\n"
                            "x.yaml:5:1: key 'memory' has no effect here; it is allowed elsewhere");
    cr_expect_eq(error.faults, 3);
    cr_expect(doc_refuse_unknown(document, root, known, NULL) == LLMPERF_E_SPEC);

    static const char *const rest[] = {"bandwith", "zzz", "memory", NULL};
    for (size_t i = 0; rest[i]; i++)
        doc_get(root, rest[i]);
    error = (llmperf_error){0};
    cr_expect(doc_refuse_unknown(document, root, known, &error) == LLMPERF_OK);
    cr_expect(doc_refuse_unknown(document, root->first, known, &error) == LLMPERF_OK);
    cr_expect(doc_refuse_unknown(document, NULL, known, &error) == LLMPERF_OK);
    cr_expect_eq(error.faults, 0);
    doc_free(document);
}

Test(doc, unknown_keys_name_as_many_known_ones_as_fit)
{
    static const char *const many[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                       "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                                       "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                                       "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
                                       "ccccccccccccccccccccccccccccccccccc",
                                       "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
                                       "ddddddddddddddddddddddddddddddddddd",
                                       "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
                                       "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
                                       "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
                                       "fffffffffffffffffffffffffffffffffff",
                                       NULL};
    static const char *const one[] = {"tp", NULL}, *const none[] = {NULL};
    doc *document = load("x.yaml", "zzz: 1\n");
    llmperf_error error = {0};
    doc_refuse_unknown(document, doc_root(document), many, &error);
    expect_piece(error.text, ", ... are allowed here");
    error = (llmperf_error){0};
    doc_refuse_unknown(document, doc_root(document), one, &error);
    doc_refuse_unknown(document, doc_root(document), none, &error);
    expect_text(error.text, "x.yaml:1:1: key 'zzz' is not known; tp is allowed here\n"
                            "x.yaml:1:1: key 'zzz' is not known; no key is allowed here");
    doc_free(document);
}

Test(doc, faults_of_loading_and_reading_gather_in_one_error)
{
    doc *document = load("x.yaml", "memory: 0\nbandwidth: -3\ncompute: .nan\ntp: 1.5\n");
    llmperf_error error = {0};
    double value;
    int64_t count;
    doc_node *root = doc_root(document);
    doc_double(document, doc_get(root, "memory"), DBL_MIN, INFINITY, &value, &error);
    doc_double(document, doc_get(root, "bandwidth"), DBL_MIN, INFINITY, &value, &error);
    doc_double(document, doc_get(root, "compute"), DBL_MIN, INFINITY, &value, &error);
    doc_int64(document, doc_get(root, "tp"), 1, 1024, &count, &error);
    cr_expect_eq(error.faults, 4);
    expect_text(error.text,
                "x.yaml:1:9: memory is integer 0; a number above 0 is allowed\n"
                "x.yaml:2:12: bandwidth is integer -3; a number above 0 is allowed\n"
                "x.yaml:3:10: compute is number .nan, which is not finite; a number above 0 is "
                "allowed\n"
                "x.yaml:4:5: tp is number 1.5, which is not whole; an integer from 1 to 1024 is "
                "allowed");
    doc_free(document);
}

/* ---- surroundings ---- */

Test(doc, numbers_do_not_depend_on_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    bool comma = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !comma; i++)
        comma = setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0;
    if (!comma)
        cr_skip_test("no locale with a decimal comma is installed");
    one_value one = yaml_value("3.35");
    llmperf_error error = {0};
    double value = 0;
    cr_expect(doc_double(one.document, one.node, 0, 10, &value, &error) == LLMPERF_OK);
    cr_expect(value == 3.35);
    doc_double(one.document, one.node, 0, 2.5, &value, &error);
    doc_fail(one.document, one.node, &error, "%.2f", 3.25);
    expect_text(error.text, "x.yaml:1:4: k is number 3.35; a number from 0 to 2.5 is allowed\n"
                            "x.yaml:1:4: 3.25");
    doc_free(one.document);
}

/* ---- some entries alone ---- */

static const char *const NAME_AND_LIST[] = {"name", "list", NULL};

/* "name/item item" of the entries that are read; "fault" where they do not read. Static storage. */
static const char *entries_of(const char *text)
{
    static char shown[128];
    doc *document = NULL;
    size_t used = 0;
    if (doc_load_entries_text("x.yaml", text, strlen(text), NAME_AND_LIST, &document, NULL) !=
        LLMPERF_OK)
        return "fault";
    doc_node *name = doc_get(doc_root(document), "name"),
             *list = doc_get(doc_root(document), "list");
    used += (size_t)snprintf(shown, sizeof shown, "%s/", name ? name->text : "");
    for (doc_node *item = list ? list->first : NULL; item; item = item->next)
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s ", item->text);
    used += doc_get(doc_root(document), "other") != NULL
                ? (size_t)snprintf(shown + used, sizeof shown - used, "+ other")
                : 0;
    doc_free(document);
    return shown;
}

Test(doc, entries_alone_are_read_as_they_stand)
{
    expect_text(entries_of("other: 1\nname: a\nlist: [x, y]\n"), "a/x y ");
    expect_text(entries_of("list:\n  - x\n\n# c\n  - y\nother: 1\nname: 'a b'\n"), "a b/x y ");
    expect_text(entries_of("list:\n- x\n- y\nnames: z\nname: a # not\n"), "a/x y ");
    expect_text(entries_of("list: [x,\n  y]\nother:\n  name: inner\nname: a"), "a/x y ");
    expect_text(entries_of("other: 1\r\nname: a\r\nlist: []\r\n"), "a/");
    expect_text(entries_of("name: a\nlist: ['# x', \"y: z\"]\n"), "a/# x y: z ");
}

Test(doc, entries_alone_hide_the_faults_of_others_but_not_their_own)
{
    expect_text(entries_of("other: [1\nname: a\nlist: [x]\n"), "a/x ");
    expect_text(entries_of("name: a\nlist: [x]\nother: @\n"), "a/x ");
    expect_text(entries_of("other: 1\nname: a\nname: b\nlist: []\n"), "fault");
    expect_text(entries_of("name: a\nlist: [x\n"), "fault");
}

Test(doc, entries_that_lines_do_not_tell_take_the_whole_document)
{
    expect_text(entries_of("{\"name\": \"a\", \"list\": [\"x\"], \"other\": 1}"), "a/x + other");
    expect_text(entries_of("\"name\": a\nother: 1\nlist: [x]\n"), "a/x + other");
    expect_text(entries_of("name : a\nother: 1\nlist: [x]\n"), "a/x + other");
    expect_text(entries_of("\xEF\xBB\xBFname: a\nother: 1\n"), "a/+ other");
    expect_text(entries_of("other: 1\n"), "/+ other"); /* nothing of them: what is there is read */
    expect_text(entries_of("other: [1\n"), "fault");
}

Test(doc, entries_of_files)
{
    static const char text[] = "other: [1\nname: a\n";
    doc *document = NULL;
    llmperf_error error = {0};
    make_folder();
    cr_assert(doc_load_entries(write_file("x.yaml", text, sizeof text - 1), NAME_AND_LIST,
                               &document, &error) == LLMPERF_OK,
              "%s", error.text);
    expect_text(doc_get(doc_root(document), "name")->text, "a");
    doc_free(document);
    remove_folder();
    cr_expect(doc_load_entries("/nowhere/x.yaml", NAME_AND_LIST, &document, &error) ==
              LLMPERF_E_IO);
    expect_piece(error.text, "cannot be opened");
}

#ifdef CAN_FAIL_MALLOC
/* Lets the Nth allocation fail, for each N until loading no longer notices. */
static void fail_each_malloc(const char *name, const char *text, bool from_file)
{
    static llmperf_error error;
    long n = 0;
    bool failed = true;
    for (; failed && n < 10000; n++) {
        error = (llmperf_error){0};
        doc *document = NULL;
        malloc_live = 0;
        malloc_calls_left = n;
        malloc_watched = true;
        llmperf_status status = from_file
                                    ? doc_load_file(name, &document, &error)
                                    : doc_load_text(name, text, strlen(text), &document, &error);
        failed = malloc_calls_left < 0;
        doc_free(document);
        long live = malloc_live;
        malloc_watched = false;
        cr_expect_eq(live, 0, "%s: %ld blocks left when allocation %ld fails", name, live, n);
        if (failed && status != LLMPERF_OK)
            cr_expect(status == LLMPERF_E_MEMORY || strstr(error.text, "is given again"),
                      "%s: allocation %ld: %s", name, n, error.text);
        if (status == LLMPERF_E_MEMORY)
            expect_piece(error.text, ": not enough memory to read it");
        cr_expect_eq(status == LLMPERF_OK, document != NULL);
    }
    cr_expect(n > 3 && n < 10000);
}

Test(doc, every_failing_malloc_is_noticed_and_nothing_leaks)
{
    fail_each_malloc("x.json", "{\"a\": [1, \"\\ud83e\\udd17\", {\"b\": null}], \"c\": \"x\"}",
                     false);
    fail_each_malloc("x.json", "{\"a\": 1, \"a\": 2}", false);
    fail_each_malloc("x.yaml", "# c\na: [1, x y, {b: null}]\nc:\n- 'q\n  r'\n- |\n  s\n", false);
    fail_each_malloc("x.yaml", "a: 1\nb: {c: 1, c: 2}\na: 2\n", false);
    char *big = repeated("a: ", "long text ", 100000);
    big[99999] = '\0';
    fail_each_malloc("x.yaml", big, false);
    free(big);
    make_folder();
    fail_each_malloc(write_file("x.yaml", "a: [1, 2]\n", 10), "", true);
    remove_folder();
}
#endif
