/* SPDX-License-Identifier: MIT */
/*
 * Man pages and shell completion, written from the tables that also parse the command line: an
 * option that is added there can not be forgotten here.
 */
#include "option.h"

#include <ctype.h>
#include <string.h>

/* What stands at one place of a synopsis or behind an option, as completion sees it. */
typedef enum value_source {
    SOURCE_NONE, /* free text, numbers */
    SOURCE_WORDS,
    SOURCE_FILES,
    SOURCE_MODELS,   /* names of shipped models, and files */
    SOURCE_HARDWARE, /* the same for hardware */
} value_source;

static value_source source_of_word(const char *word, size_t length)
{
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)(length < 127 ? length : 127), word);
    if (strstr(text, "MODEL"))
        return SOURCE_MODELS;
    if (strstr(text, "HARDWARE") || strncmp(text, "HW", 2) == 0)
        return SOURCE_HARDWARE;
    return SOURCE_FILES;
}

static value_source source_of_option(const option *row)
{
    if (row->kind == OPTION_YESNO || option_choices(row))
        return SOURCE_WORDS;
    if (row->kind != OPTION_TEXT && row->kind != OPTION_WORDS)
        return SOURCE_NONE;
    const char *metavar = option_metavar(row);
    value_source source = source_of_word(metavar, strlen(metavar));
    if (source != SOURCE_FILES || strstr(metavar, "FILE") || strstr(metavar, "DIR") ||
        strstr(metavar, "PATH"))
        return source;
    return SOURCE_NONE;
}

static const char *const yes_no[] = {"yes", "no", NULL};

static const char *const *words_of_option(const option *row)
{
    const char *const *choices = option_choices(row);
    return choices ? choices : yes_no;
}

static bool has_row(const option *options, const char *name, char letter)
{
    for (; options && options->name; options++)
        if ((name && strcmp(options->name, name) == 0) || (letter && options->letter == letter))
            return true;
    return false;
}

/* One positional of a synopsis: "MODEL" of "[MODEL]", "list|show" of "list|show", "FILE" of
 * "FILE...". */
typedef struct place {
    const char *text;
    size_t length;
    bool repeats;
} place;

static bool belongs_to_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '|';
}

/*
 * Reads the next positional of a synopsis; options in it ("--hw HW[,HW...]", "[-o FILE]") are
 * passed over with their value. False at the end.
 */
static bool next_place(const char **cursor, place *ret_place)
{
    const char *at = *cursor;
    bool value_follows = false;
    for (;;) {
        while (*at && !belongs_to_word(*at))
            at++;
        if (*at == '\0')
            return false;
        const char *start = at;
        while (*at && *at != ' ' && *at != ']' && *at != '[' && *at != '.')
            at++;
        place found = {.text = start, .length = (size_t)(at - start)};
        /* ".csv" of "SAMPLES.csv..." is no place of its own, and neither is "[,HW...]". */
        size_t rest = strcspn(at, " ");
        for (size_t i = 0; i + 2 < rest; i++)
            if (strncmp(at + i, "...", 3) == 0)
                found.repeats = true;
        bool whole = *start != '-';
        if (!whole)
            value_follows = *at == ' ';
        at += rest;
        if (whole && !value_follows) {
            *cursor = at;
            *ret_place = found;
            return true;
        }
        if (whole)
            value_follows = false;
    }
}

/* Is it a list of literal words, such as "list|show|check"? */
static bool is_words(const place *at)
{
    return memchr(at->text, '|', at->length) && islower((unsigned char)at->text[0]);
}

/* ---- man(7) ---- */

/* Decodes one character of UTF-8 at `text`; returns its length, 1 and U+FFFD when it is broken. */
static size_t decode(const char *text, unsigned *ret_code)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length = at[0] < 0x80       ? 1
                    : at[0] >> 5 == 6  ? 2
                    : at[0] >> 4 == 14 ? 3
                    : at[0] >> 3 == 30 ? 4
                                       : 0;
    *ret_code = 0xfffd;
    if (length == 0)
        return 1;
    unsigned code = length == 1 ? at[0] : at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        code = code << 6 | (at[i] & 0x3fu);
    }
    *ret_code = code;
    return length;
}

/*
 * Writes text so that troff takes no byte of it for a request or an escape. Quotes, carets and
 * dashes are spelled out: a plain one may turn into a typographic one, which can not be copied
 * into a shell.
 */
static void man_text(FILE *out, const char *text, size_t length)
{
    bool line_start = true;
    for (size_t i = 0; i < length;) {
        unsigned code = 0;
        i += decode(text + i, &code);
        switch (code) {
        case '\\':
            fputs("\\(rs", out);
            break;
        case '-':
            fputs("\\-", out);
            break;
        case '\'':
            fputs("\\(aq", out);
            break;
        case '`':
            fputs("\\(ga", out);
            break;
        case '^':
            fputs("\\(ha", out);
            break;
        case '~':
            fputs("\\(ti", out);
            break;
        case '"':
            fputs("\\(dq", out);
            break;
        case '\t':
            fputc(' ', out);
            break;
        case '.':
            fputs(line_start ? "\\&." : ".", out);
            break;
        default:
            if (code >= 0x80)
                fprintf(out, "\\[u%04X]", code);
            else if (code >= 0x20 && code != 0x7f)
                fputc((int)code, out);
            break;
        }
        line_start = false;
    }
}

static void man_string(FILE *out, const char *text)
{
    man_text(out, text, strlen(text));
}

/* Running text: paragraphs at empty lines, blanks and line ends collapsed. */
static void man_prose(FILE *out, const char *text)
{
    const size_t line_bytes = 76;
    size_t column = 0;
    bool fresh = true;
    for (;;) {
        size_t newlines = 0, blanks = strspn(text, " \t\n");
        for (size_t i = 0; i < blanks; i++)
            newlines += text[i] == '\n';
        text += blanks;
        if (*text == '\0')
            break;
        size_t length = strcspn(text, " \t\n");
        /* A sentence begins a line: troff then knows where it may leave a wider gap. */
        bool breaks =
            !fresh && (text[-(ptrdiff_t)blanks - 1] == '.' || column + 1 + length > line_bytes);
        if (newlines > 1 && !fresh)
            fputs("\n.PP\n", out);
        else if (!fresh)
            fputc(breaks ? '\n' : ' ', out);
        column = fresh || breaks || newlines > 1 ? length : column + 1 + length;
        man_text(out, text, length);
        text += length;
        fresh = false;
    }
    if (!fresh)
        fputc('\n', out);
}

/* The first `limit` examples; `follows` when other text of the section stands before them. */
static void man_examples(FILE *out, const char *examples, int limit, bool follows)
{
    const char *line = examples;
    for (int count = 0; count < limit; count++) {
        line += strspn(line, " \t\n");
        if (*line == '\0')
            return;
        size_t length = strcspn(line, "\n");
        const char *comment = NULL;
        size_t command = length;
        for (size_t i = 0; i + 3 < length && !comment; i++) {
            if (memcmp(line + i, "  # ", 4) == 0) {
                comment = line + i + 4;
                command = i;
            }
        }
        while (command > 0 && line[command - 1] == ' ')
            command--;
        if (comment) {
            char text[1024];
            snprintf(text, sizeof text, "%.*s:", (int)(line + length - comment), comment);
            fputs(follows ? ".PP\n" : "", out);
            man_prose(out, text);
        }
        fputs(follows && !comment ? ".PP\n.RS 4\n.EX\n" : ".RS 4\n.EX\n", out);
        follows = true;
        man_text(out, line, command);
        fputs("\n.EE\n.RE\n", out);
        line += length;
    }
}

static const char *group_of(const option *row)
{
    return row->group ? row->group : "Options";
}

static bool opens_group(const option *options, const option *row)
{
    for (const option *each = options; each != row; each++)
        if (strcmp(group_of(each), group_of(row)) == 0)
            return false;
    return true;
}

static void man_row(FILE *out, const option *row)
{
    const char *metavar = option_metavar(row);
    char text[4096];
    fputs(".TP\n", out);
    if (row->letter) {
        const char letter[] = {row->letter, '\0'};
        fputs("\\fB\\-", out);
        man_string(out, letter);
        fputs("\\fR, ", out);
    }
    fputs("\\fB\\-\\-", out);
    man_string(out, row->name);
    fputs("\\fR", out);
    if (metavar) {
        fputs(" \\fI", out);
        man_string(out, metavar);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    man_prose(out, option_describe(row, text, sizeof text));
}

static const option help_row = {
    .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "show a summary of the options"};
static const option help_row_long = {
    .name = "help", .kind = OPTION_FLAG, .help = "show a summary of the options"};
static const option version_row = {
    .name = "version", .kind = OPTION_FLAG, .help = "print the version"};

static void man_options(FILE *out, const option *options)
{
    for (const option *first = options; first && first->name; first++) {
        if (!opens_group(options, first))
            continue;
        fputs(".SS ", out);
        man_string(out, group_of(first));
        fputc('\n', out);
        for (const option *row = first; row->name; row++)
            if (strcmp(group_of(row), group_of(first)) == 0)
                man_row(out, row);
    }
    if (has_row(options, "help", '\0'))
        return;
    if (options && options->name)
        fputs(".SS Other\n", out);
    man_row(out, has_row(options, NULL, 'h') ? &help_row_long : &help_row);
}

static void man_exit_status(FILE *out)
{
    static const char *const meaning[] = {
        "success",
        "a fault of llmperf itself; please report it",
        "wrong usage: an unknown option or name, or a value that is not legal (for this model)",
        "a bad specification, config or workload file",
        "a file cannot be read or written",
        "not supported here: a missing peak, link or device, or a build without it",
        "a calibration fit failed",
        "a device reported an error",
        "the deployment does not fit into memory (the report is still printed); no plan is enough",
        "this machine ran out of memory",
    };
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++) {
        fprintf(out, ".TP\n\\fB%zu\\fR\n", i);
        man_prose(out, meaning[i]);
    }
}

static void man_header(FILE *out, const char *name, const char *version)
{
    fputs(".\\\" SPDX-License-Identifier: MIT\n"
          ".\\\" Written by llmperf from its option tables; changes belong there.\n"
          ".TH LLMPERF",
          out);
    if (name) {
        fputs("\\-", out);
        for (; *name; name++) {
            const char upper[] = {(char)toupper((unsigned char)*name), '\0'};
            man_string(out, upper);
        }
    }
    /* No date: the same sources must give the same page. */
    fputs(" 1 \"\" \"llmperf ", out);
    man_string(out, version);
    fputs("\" \"llmperf manual\"\n", out);
}

static void man_command(FILE *out, const option_command *commands, const option_command *one,
                        const char *version)
{
    man_header(out, one->name, version);
    fputs(".SH NAME\nllmperf\\-", out);
    man_string(out, one->name);
    fputs(" \\- ", out);
    man_prose(out, one->summary ? one->summary : "a command of llmperf");

    fputs(".SH SYNOPSIS\n\\fBllmperf ", out);
    man_string(out, one->name);
    fputs("\\fR [\\fIoptions\\fR]", out);
    if (one->synopsis && *one->synopsis) {
        fputc(' ', out);
        man_string(out, one->synopsis);
    }
    fputs("\n.SH DESCRIPTION\n", out);
    man_prose(out, one->about ? one->about : one->summary ? one->summary : "");
    fputs(".SH OPTIONS\n", out);
    man_options(out, one->options);
    man_exit_status(out);
    if (one->examples && *one->examples) {
        fputs(".SH EXAMPLES\n", out);
        man_examples(out, one->examples, 1000, false);
    }
    fputs(".SH SEE ALSO\n\\fBllmperf\\fR(1)", out);
    for (const option_command *each = commands; each->name; each++) {
        if (strcmp(each->name, one->name) == 0)
            continue;
        fputs(",\n\\fBllmperf\\-", out);
        man_string(out, each->name);
        fputs("\\fR(1)", out);
    }
    fputc('\n', out);
}

static void man_overview(FILE *out, const option_command *commands, const char *version)
{
    man_header(out, NULL, version);
    fputs(".SH NAME\nllmperf \\- predict the performance of LLM inference\n"
          ".SH SYNOPSIS\n"
          "\\fBllmperf\\fR \\fICOMMAND\\fR [\\fIoptions\\fR] \\fIMODEL\\fR [\\fIHARDWARE\\fR]\n"
          ".SH DESCRIPTION\n",
          out);
    man_prose(out, "llmperf predicts how fast a large language model runs on given hardware, what "
                   "limits it and what it costs, and checks its predictions against "
                   "measurements.\n\n"
                   "A MODEL is a shipped name, a YAML file, a Hugging Face config.json or a folder "
                   "that holds one, or a .gguf file. HARDWARE is a shipped name or a YAML file. "
                   "Options may stand anywhere; every option has a long form.");
    fputs(".SH COMMANDS\n", out);
    for (const option_command *each = commands; each->name; each++) {
        fputs(".TP\n\\fB", out);
        man_string(out, each->name);
        fputs("\\fR", out);
        if (each->synopsis && *each->synopsis) {
            fputc(' ', out);
            man_string(out, each->synopsis);
        }
        fputc('\n', out);
        man_prose(out, each->summary ? each->summary : "");
    }
    fputs(".SH OPTIONS\n", out);
    man_row(out, &help_row);
    man_row(out, &version_row);
    man_exit_status(out);
    fputs(".SH ENVIRONMENT\n.TP\nLLMPERF_SPECS\n", out);
    man_prose(out, "a folder in which names of models and hardware are looked up first");
    fputs(".TP\nNO_COLOR\n", out);
    man_prose(out, "when set, no colour is written");
    fputs(".SH EXAMPLES\n", out);
    bool follows = false;
    for (const option_command *each = commands; each->name; each++) {
        if (each->examples)
            man_examples(out, each->examples, 1, follows);
        follows = follows || each->examples;
    }
    fputs(".SH SEE ALSO\n", out);
    for (const option_command *each = commands; each->name; each++) {
        fputs(each == commands ? "\\fBllmperf\\-" : ",\n\\fBllmperf\\-", out);
        man_string(out, each->name);
        fputs("\\fR(1)", out);
    }
    fputc('\n', out);
}

void option_print_man(FILE *out, const option_command *commands, const option_command *one,
                      const char *version)
{
    if (one)
        man_command(out, commands, one, version);
    else
        man_overview(out, commands, version);
}

/* ---- Shared by bash and zsh ---- */

/* `text` up to `length` bytes as one word of a shell. */
static void quote(FILE *out, const char *text, size_t length)
{
    bool plain = length > 0;
    for (size_t i = 0; i < length; i++)
        plain = plain && (isalnum((unsigned char)text[i]) || strchr("-_./", text[i]));
    if (plain) {
        fwrite(text, 1, length, out);
        return;
    }
    fputc('\'', out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            fputs("'\\''", out);
        else
            fputc(text[i], out);
    }
    fputc('\'', out);
}

static void quote_string(FILE *out, const char *text)
{
    quote(out, text, strlen(text));
}

/* The words "list|show|check" of a place, each behind a blank. */
static void quote_place_words(FILE *out, const place *at)
{
    for (size_t i = 0; i < at->length;) {
        size_t length = 0;
        while (i + length < at->length && at->text[i + length] != '|')
            length++;
        fputc(' ', out);
        quote(out, at->text + i, length);
        i += length + 1;
    }
}

/* ---- bash ---- */

static void bash_source(FILE *out, value_source source)
{
    static const char *const names[] = {"none", "words", "files", "models", "hardware"};
    fprintf(out, "source=%s", names[source]);
}

/* The case branch of one option: "predict:--batch | predict:-b) source=none ;;" */
static void bash_option(FILE *out, const option_command *command, const option *row)
{
    fputs("    ", out);
    quote_string(out, command->name);
    fprintf(out, ":--%s", row->name);
    if (row->letter) {
        fputs(" | ", out);
        quote_string(out, command->name);
        fprintf(out, ":-%c", row->letter);
    }
    fputs(") ", out);
    bash_source(out, source_of_option(row));
    if (source_of_option(row) == SOURCE_WORDS) {
        fputs(" words=(", out);
        const char *const *words = words_of_option(row);
        for (size_t i = 0; words[i]; i++) {
            fputs(i ? " " : "", out);
            quote_string(out, words[i]);
        }
        fputc(')', out);
    }
    if (row->kind == OPTION_WORDS)
        fputs(" list=yes", out);
    fputs(" ;;\n", out);
}

static void bash_places(FILE *out, const option_command *command)
{
    const char *cursor = command->synopsis ? command->synopsis : "";
    place at;
    for (int i = 0; next_place(&cursor, &at); i++) {
        fputs("    ", out);
        quote_string(out, command->name);
        if (at.repeats)
            fputs(":*) ", out);
        else
            fprintf(out, ":%d) ", i);
        if (is_words(&at)) {
            bash_source(out, SOURCE_WORDS);
            fputs(" words=(", out);
            quote_place_words(out, &at);
            fputs(" )", out);
        } else {
            bash_source(out, source_of_word(at.text, at.length));
        }
        fputs(" ;;\n", out);
        if (at.repeats)
            return;
    }
}

void option_print_bash(FILE *out, const option_command *commands)
{
    fputs("# bash completion for llmperf, written by llmperf from its option tables\n"
          "# SPDX-License-Identifier: MIT\n"
          "\n"
          "# Where the value of option $2 of command $1 comes from; \"flag\" when it takes none.\n"
          "_llmperf_option()\n"
          "{\n"
          "    source=flag words=() list=\n"
          "    case $1:$2 in\n",
          out);
    for (const option_command *each = commands; each->name; each++)
        for (const option *row = each->options; row && row->name; row++)
            if (row->kind != OPTION_FLAG)
                bash_option(out, each, row);
    fputs("    esac\n"
          "}\n"
          "\n"
          "# The same for positional number $2, counted from 0.\n"
          "_llmperf_positional()\n"
          "{\n"
          "    source=none words=() list=\n"
          "    case $1:$2 in\n",
          out);
    for (const option_command *each = commands; each->name; each++)
        bash_places(out, each);
    fputs("    esac\n"
          "}\n"
          "\n"
          "# The options of command $1.\n"
          "_llmperf_options()\n"
          "{\n"
          "    case $1 in\n",
          out);
    for (const option_command *each = commands; each->name; each++) {
        fputs("    ", out);
        quote_string(out, each->name);
        fputs(") words=(", out);
        for (const option *row = each->options; row && row->name; row++) {
            fprintf(out, "--%s ", row->name);
            if (row->letter)
                fprintf(out, "-%c ", row->letter);
        }
        if (!has_row(each->options, "help", '\0'))
            fputs("--help ", out);
        fputs(has_row(each->options, NULL, 'h') ? ") ;;\n" : "-h) ;;\n", out);
    }
    fputs("    *) words=(--help -h --version) ;;\n"
          "    esac\n"
          "}\n"
          "\n"
          "# Offers those lines of standard input that go on from $cur. Names come from files:\n"
          "# one with a character that means something to the shell is left out.\n"
          "_llmperf_offer()\n"
          "{\n"
          "    local word\n"
          "    while IFS= read -r word; do\n"
          "        if [[ -n $word && $word == \"$cur\"* &&\n"
          "            $word != *[^A-Za-z0-9._:/+=-]* ]]; then\n"
          "            COMPREPLY+=(\"$prefix$word\")\n"
          "        fi\n"
          "    done\n"
          "}\n"
          "\n"
          "_llmperf_files()\n"
          "{\n"
          "    local word\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    while IFS= read -r word; do\n"
          "        COMPREPLY+=(\"$prefix$word\")\n"
          "    done < <(compgen -f -- \"$cur\")\n"
          "}\n"
          "\n"
          "_llmperf()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prefix='' command=''\n"
          "    local source='' list='' words=() word option='' ended='' positional=0 i=1 j\n"
          "    COMPREPLY=()\n"
          "\n"
          "    # Readline makes three words of --name=value: \"--name\", \"=\" and \"value\".\n"
          "    while ((i < COMP_CWORD)); do\n"
          "        word=${COMP_WORDS[i]}\n"
          "        if [[ -z $ended && $word == -- ]]; then\n"
          "            ended=yes\n"
          "        elif [[ -z $ended && $word == -?* ]]; then\n"
          "            _llmperf_option \"$command\" \"$word\"\n"
          "            if [[ $source != flag || ${COMP_WORDS[i + 1]} == = ]]; then\n"
          "                j=$((i + 1))\n"
          "                if [[ ${COMP_WORDS[j]} == = ]] && ((j < COMP_CWORD)); then\n"
          "                    j=$((j + 1))\n"
          "                fi\n"
          "                if ((j >= COMP_CWORD)); then\n"
          "                    option=$word\n"
          "                fi\n"
          "                i=$j\n"
          "            fi\n"
          "        elif [[ -z $command ]]; then\n"
          "            command=$word\n"
          "        else\n"
          "            positional=$((positional + 1))\n"
          "        fi\n"
          "        i=$((i + 1))\n"
          "    done\n"
          "\n"
          "    if [[ -n $option ]]; then\n"
          "        if [[ $cur == = ]]; then\n"
          "            cur=\n"
          "        fi\n"
          "        _llmperf_option \"$command\" \"$option\"\n"
          "    elif [[ -z $ended && $cur == --*=* ]]; then\n"
          "        prefix=${cur%%=*}=\n"
          "        cur=${cur#*=}\n"
          "        _llmperf_option \"$command\" \"${prefix%=}\"\n"
          "    elif [[ -z $ended && $cur == -* ]]; then\n"
          "        _llmperf_options \"$command\"\n"
          "        source=words\n"
          "    elif [[ -z $command ]]; then\n"
          "        source=words words=(",
          out);
    for (const option_command *each = commands; each->name; each++) {
        quote_string(out, each->name);
        fputc(' ', out);
    }
    fputs("--help --version)\n"
          "    else\n"
          "        _llmperf_positional \"$command\" \"$positional\"\n"
          "    fi\n"
          "\n"
          "    if [[ -n $list && $cur == *,* ]]; then\n"
          "        prefix=$prefix${cur%,*},\n"
          "        cur=${cur##*,}\n"
          "    fi\n"
          "    case $source in\n"
          "    words)\n"
          "        _llmperf_offer < <(printf '%s\\n' \"${words[@]}\")\n"
          "        ;;\n"
          "    models | hardware)\n"
          "        _llmperf_offer < <(llmperf specs list --names \"$source\" \\\n"
          "            2>/dev/null </dev/null)\n"
          "        _llmperf_files\n"
          "        ;;\n"
          "    files)\n"
          "        _llmperf_files\n"
          "        ;;\n"
          "    esac\n"
          "}\n"
          "\n"
          "complete -F _llmperf llmperf\n",
          out);
}

/* ---- zsh ---- */

/*
 * Text inside the single quotes of an _arguments specification, whose own signs are escaped: the
 * bracket that ends an explanation and the colon that ends a message.
 */
static void zsh_text(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            fputs("'\\''", out);
        else if (strchr("\\[]:", text[i]))
            fprintf(out, "\\%c", text[i]);
        else if (text[i] == '\n' || text[i] == '\t')
            fputc(' ', out);
        else
            fputc(text[i], out);
    }
}

static void zsh_string(FILE *out, const char *text)
{
    zsh_text(out, text, strlen(text));
}

/* A word of an action such as (fused unfused). */
static void zsh_word(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') {
            fputs("\\'\\''", out);
            continue;
        }
        if (!isalnum((unsigned char)text[i]) && !strchr("-_./+", text[i]))
            fputc('\\', out);
        fputc(text[i], out);
    }
}

static void zsh_source(FILE *out, value_source source)
{
    switch (source) {
    case SOURCE_MODELS:
        fputs("_llmperf_models", out);
        break;
    case SOURCE_HARDWARE:
        fputs("_llmperf_hardware", out);
        break;
    case SOURCE_FILES:
        fputs("_files", out);
        break;
    case SOURCE_NONE:
    case SOURCE_WORDS:
        /* One blank: a message without matches. */
        fputc(' ', out);
        break;
    }
}

/* "'[help]:N: '" behind the names of an option. */
static void zsh_option_text(FILE *out, const option *row)
{
    char text[4096];
    fputs("'[", out);
    zsh_string(out, option_describe(row, text, sizeof text));
    fputc(']', out);
    const char *metavar = option_metavar(row);
    if (metavar) {
        value_source source = source_of_option(row);
        fputc(':', out);
        zsh_string(out, metavar);
        fputc(':', out);
        if (source == SOURCE_WORDS) {
            fputs(row->kind == OPTION_WORDS ? "_values -s , word" : "(", out);
            const char *const *words = words_of_option(row);
            for (size_t i = 0; words[i]; i++) {
                fputs(i > 0 || row->kind == OPTION_WORDS ? " " : "", out);
                zsh_word(out, words[i], strlen(words[i]));
            }
            fputs(row->kind == OPTION_WORDS ? "" : ")", out);
        } else {
            if (row->kind == OPTION_WORDS && source != SOURCE_NONE)
                fputs("_sequence ", out);
            zsh_source(out, source);
        }
    }
    fputc('\'', out);
}

static void zsh_option(FILE *out, const option *row)
{
    bool flag = row->kind == OPTION_FLAG;
    fputs("            ", out);
    if (row->letter)
        /* "-b+": the value may follow in the same word; "--batch=": or behind "=". */
        fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}", row->letter, row->name, row->letter,
                flag ? "" : "+", row->name, flag ? "" : "=");
    else
        fprintf(out, "--%s%s", row->name, flag ? "" : "=");
    zsh_option_text(out, row);
    fputs(" \\\n", out);
}

static void zsh_places(FILE *out, const option_command *command)
{
    const char *cursor = command->synopsis ? command->synopsis : "";
    place at;
    for (int i = 1; next_place(&cursor, &at); i++) {
        fputs(" \\\n            '", out);
        if (at.repeats)
            fputc('*', out);
        else
            fprintf(out, "%d", i);
        fputs(i > command->min_positionals && !at.repeats ? "::" : ":", out);
        if (is_words(&at)) {
            fputs("what:(", out);
            for (size_t k = 0; k < at.length; k++) {
                if (at.text[k] == '|')
                    fputc(' ', out);
                else
                    zsh_word(out, at.text + k, 1);
            }
            fputc(')', out);
        } else {
            zsh_text(out, at.text, at.length);
            fputc(':', out);
            zsh_source(out, source_of_word(at.text, at.length));
        }
        fputc('\'', out);
        if (at.repeats)
            break;
    }
    fputc('\n', out);
}

void option_print_zsh(FILE *out, const option_command *commands)
{
    fputs("#compdef llmperf\n"
          "# zsh completion for llmperf, written by llmperf from its option tables\n"
          "# SPDX-License-Identifier: MIT\n"
          "\n"
          "_llmperf_models()\n"
          "{\n"
          "    local -a names expl\n"
          "    names=(${(f)\"$(llmperf specs list --names models 2>/dev/null </dev/null)\"})\n"
          "    _wanted models expl model compadd \"$@\" -a names\n"
          "    _files \"$@\"\n"
          "}\n"
          "\n"
          "_llmperf_hardware()\n"
          "{\n"
          "    local -a names expl\n"
          "    names=(${(f)\"$(llmperf specs list --names hardware 2>/dev/null </dev/null)\"})\n"
          "    _wanted hardware expl hardware compadd \"$@\" -a names\n"
          "    _files \"$@\"\n"
          "}\n"
          "\n"
          "_llmperf()\n"
          "{\n"
          "    local curcontext=$curcontext state line\n"
          "    local -A opt_args\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (const option_command *each = commands; each->name; each++) {
        fputs("        '", out);
        zsh_string(out, each->name);
        fputc(':', out);
        zsh_string(out, each->summary ? each->summary : "");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    _arguments -C \\\n"
          "        '(- *)'{-h,--help}'[show help]' \\\n"
          "        '(- *)--version[print the version]' \\\n"
          "        '1:command:->command' \\\n"
          "        '*::argument:->argument' && return 0\n"
          "    case $state in\n"
          "    command)\n"
          "        _describe -t commands 'llmperf command' commands\n"
          "        ;;\n"
          "    argument)\n"
          "        case $words[1] in\n",
          out);
    for (const option_command *each = commands; each->name; each++) {
        fputs("        ", out);
        quote_string(out, each->name);
        fputs(")\n            _arguments -s -S \\\n", out);
        for (const option *row = each->options; row && row->name; row++)
            zsh_option(out, row);
        /* The last specification before the places ends the line or goes on with them. */
        if (has_row(each->options, NULL, 'h'))
            fputs("            '(- *)--help[show help]'", out);
        else
            fputs("            '(- *)'{-h,--help}'[show help]'", out);
        zsh_places(out, each);
        fputs("            ;;\n", out);
    }
    fputs("        esac\n"
          "        ;;\n"
          "    esac\n"
          "}\n"
          "\n"
          "# As an autoloaded function, or when the file is sourced.\n"
          "if [[ $funcstack[1] == _llmperf ]]; then\n"
          "    _llmperf \"$@\"\n"
          "else\n"
          "    compdef _llmperf llmperf\n"
          "fi\n",
          out);
}
