/* SPDX-License-Identifier: MIT */
/* JSON and CSV from one walk. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doc.h"
#include "formats.h"

static char *text;
static size_t size;
static FILE *out;
static sink s;

static void begin(bool csv)
{
    free(text);
    text = NULL;
    out = open_memstream(&text, &size);
    cr_assert(out != NULL);
    sink_open(&s, out, csv ? &csv_sink : &json_sink);
}

static const char *end(void)
{
    llmperf_error error = {0};
    cr_expect(sink_close(&s, &error) == LLMPERF_OK, "%s", error.text);
    fclose(out);
    return text;
}

/* ---- JSON ---- */

Test(sink, json_is_indented_by_depth)
{
    begin(false);
    sink_begin_object(&s, NULL);
    sink_integer(&s, "a", 1);
    sink_begin_array(&s, "list");
    sink_integer(&s, NULL, 2);
    sink_begin_object(&s, NULL);
    sink_bool(&s, "b", true);
    sink_end_object(&s);
    sink_end_array(&s);
    sink_begin_object(&s, "empty");
    sink_end_object(&s);
    sink_begin_array(&s, "none");
    sink_end_array(&s);
    sink_null(&s, "n");
    sink_end_object(&s);
    cr_expect_str_eq(end(), "{\n"
                            "  \"a\": 1,\n"
                            "  \"list\": [\n"
                            "    2,\n"
                            "    {\n"
                            "      \"b\": true\n"
                            "    }\n"
                            "  ],\n"
                            "  \"empty\": {},\n"
                            "  \"none\": [],\n"
                            "  \"n\": null\n"
                            "}\n");
}

Test(sink, json_escapes_text)
{
    begin(false);
    sink_begin_object(&s, NULL);
    sink_text(&s, "k\"ey", "quote \" slash \\ tab \t line \n bell \a del \x7f esc \x1b e \xc3\xa9");
    sink_text(&s, "null", NULL);
    sink_text(&s, "empty", "");
    sink_end_object(&s);
    cr_expect_str_eq(end(), "{\n"
                            "  \"k\\\"ey\": \"quote \\\" slash \\\\ tab \\t line \\n bell \\u0007 "
                            "del \\u007f esc \\u001b e \xc3\xa9\",\n"
                            "  \"null\": null,\n"
                            "  \"empty\": \"\"\n"
                            "}\n");
}

/* Never NaN or Infinity: null. Numbers read back as they were. */
Test(sink, json_numbers_read_back)
{
    static const double rows[] = {0,      1,       -1,
                                  0.1,    1.0 / 3, 3.35e12,
                                  1e22,   5e-324,  1.7976931348623157e308,
                                  2.5e-7, -0.0,    9007199254740991.0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(false);
        sink_begin_object(&s, NULL);
        sink_number(&s, "x", rows[i]);
        sink_end_object(&s);
        doc *document;
        const char *json = end();
        cr_assert(doc_load_text("x.json", json, strlen(json), &document, NULL) == LLMPERF_OK, "%s",
                  json);
        double back;
        cr_expect(doc_double(document, doc_get(doc_root(document), "x"), -INFINITY, INFINITY, &back,
                             NULL) == LLMPERF_OK);
        cr_expect(back == rows[i], "%s", json);
        doc_free(document);
    }
    begin(false);
    sink_begin_array(&s, NULL);
    sink_number(&s, NULL, NAN);
    sink_number(&s, NULL, INFINITY);
    sink_number(&s, NULL, -INFINITY);
    sink_end_array(&s);
    cr_expect_str_eq(end(), "[\n  null,\n  null,\n  null\n]\n");
}

/* Whatever bytes a name holds, the result is JSON: our own strict reader takes it. */
Test(sink, json_is_valid_for_any_bytes)
{
    uint64_t state = 1;
    for (int i = 0; i < 5000; i++) {
        char name[40];
        size_t length = 0;
        while (length < sizeof name - 1) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            char byte = (char)(state >> 56);
            if (!byte || (length > 5 && (state >> 40) % 10 == 0))
                break;
            name[length++] = byte;
        }
        name[length] = '\0';
        begin(false);
        sink_begin_object(&s, NULL);
        sink_text(&s, "name", name);
        sink_end_object(&s);
        const char *json = end();
        doc *document = NULL;
        llmperf_error error = {0};
        llmperf_status status = doc_load_text("x.json", json, strlen(json), &document, &error);
        doc_free(document);
        cr_assert(status == LLMPERF_OK, "case %d: %s", i, error.text);
    }
}

/* ---- CSV ---- */

Test(sink, csv_columns_are_the_paths)
{
    begin(true);
    for (int row = 0; row < 2; row++) {
        sink_begin_row(&s);
        sink_begin_object(&s, NULL);
        sink_integer(&s, "a", 1 + row);
        sink_begin_object(&s, "memory");
        sink_number(&s, "weight_bytes", 2.5);
        sink_begin_object(&s, "deep");
        sink_bool(&s, "fits", false);
        sink_end_object(&s);
        sink_end_object(&s);
        sink_begin_array(&s, "list");
        sink_integer(&s, NULL, 7);
        sink_integer(&s, NULL, 8);
        sink_end_array(&s);
        sink_null(&s, "nothing");
        sink_end_object(&s);
        sink_end_row(&s);
    }
    cr_expect_str_eq(end(), "a,memory.weight_bytes,memory.deep.fits,list.0,list.1,nothing\n"
                            "1,2.5,false,7,8,\n"
                            "2,2.5,false,7,8,\n");
}

static const char *cell(const char *value)
{
    begin(true);
    csv_sink.cell(out, value);
    fclose(out);
    return text;
}

Test(sink, csv_quotes_what_needs_it)
{
    cr_expect_str_eq(cell("plain text"), "plain text");
    cr_expect_str_eq(cell(""), "");
    cr_expect_str_eq(cell("a,b"), "\"a,b\"");
    cr_expect_str_eq(cell("say \"hi\""), "\"say \"\"hi\"\"\"");
    /* control bytes are shown, not sent: a row stays one line */
    cr_expect_str_eq(cell("two\r\nlines"), "two\\x0d\\x0alines");
    cr_expect_str_eq(cell("\x1b[31mred, bold"), "\"\\x1b[31mred, bold\"");
    cr_expect_str_eq(cell("h\xc3\xa9"), "h\xc3\xa9");
}

/* A cell that a spreadsheet would run begins with an apostrophe (OWASP, "CSV injection"). */
Test(sink, csv_disarms_formulas)
{
    cr_expect_str_eq(cell("=1+1"), "\"'=1+1\"");
    cr_expect_str_eq(cell("+1"), "\"'+1\"");
    cr_expect_str_eq(cell("-1"), "\"'-1\"");
    cr_expect_str_eq(cell("@SUM(A1)"), "\"'@SUM(A1)\"");
    cr_expect_str_eq(cell("\t=1"), "\"'\\x09=1\"");
    cr_expect_str_eq(cell("\r=1"), "\"'\\x0d=1\"");
    cr_expect_str_eq(cell("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
    cr_expect_str_eq(cell("a=1"), "a=1");
}

/* Numbers are no text: a minus sign stays. */
Test(sink, csv_numbers_are_plain)
{
    begin(true);
    sink_begin_row(&s);
    sink_number(&s, "x", -1.5);
    sink_integer(&s, "n", -3);
    sink_number(&s, "nan", NAN);
    sink_text(&s, "t", "-x");
    sink_end_row(&s);
    cr_expect_str_eq(end(), "x,n,nan,t\n-1.5,-3,,\"'-x\"\n");
}

Test(sink, csv_without_rows_is_empty)
{
    begin(true);
    cr_expect_str_eq(end(), "");
}
