/* SPDX-License-Identifier: MIT */
/* A page in Markdown: whoever shows it breaks its lines. */
#include "formats.h"

static void put_heading(page *p, int level, const char *text)
{
    fprintf(p->out, "%.*s %s\n\n", level, "######", text);
}

static void put_paragraph(page *p, int indent, const char *text)
{
    (void)indent;
    fprintf(p->out, "%s\n\n", text);
}

static void put_command(page *p, const char *text)
{
    fprintf(p->out, "    %s\n", text);
}

static void put_table(page *p)
{
    for (int i = 0; i < p->columns; i++)
        fprintf(p->out, "| %s ", p->heading[i][0] ? p->heading[i] : " ");
    fputs("|\n", p->out);
    for (int i = 0; i < p->columns; i++)
        fputs(p->right[i] ? "|---:" : "|---", p->out);
    fputs("|\n", p->out);
    for (int r = 0; r < p->rows; r++) {
        for (int i = 0; i < p->columns; i++) {
            fputs("| ", p->out);
            for (const char *c = page_cell(p, r, i); *c; c++) {
                if (*c == '|')
                    fputc('\\', p->out);
                fputc(*c, p->out);
            }
            fputc(' ', p->out);
        }
        fputs("|\n", p->out);
    }
    fputc('\n', p->out);
}

static void put_line(page *p, const int *widths, const char *const *cells, int columns,
                     bool is_heading)
{
    (void)widths;
    for (int i = 0; i < columns; i++)
        fprintf(p->out, "| %s ", cells[i]);
    fputs("|\n", p->out);
    for (int i = 0; is_heading && i < columns; i++)
        fputs("| --- ", p->out);
    if (is_heading)
        fputs("|\n", p->out);
}

const page_format md_page = {.markdown = true,
                             .heading = put_heading,
                             .paragraph = put_paragraph,
                             .command = put_command,
                             .table = put_table,
                             .line = put_line};
