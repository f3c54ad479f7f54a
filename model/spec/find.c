/* SPDX-License-Identifier: MIT */
/* Shipped specifications by name or alias, in folders; never in the current directory. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "doc.h"
#include "llmperf/spec.h"
#include "llmperf/engine.h"
#include "entry.h"

enum { NAMES_MAX = 4096 };

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length > tail && strcmp(text + length - tail, suffix) == 0;
}

/* Anything with a '/' or a known suffix; but "org/Name" where nothing of that path exists is a hub
 * id, which may be an alias. */
static bool is_path(const char *name)
{
    static const char *const suffixes[] = {".yaml", ".yml", ".json", ".gguf"};
    const char *slash = strchr(name, '/');
    struct stat info;
    if (slash) {
        bool hub_id = slash != name && name[0] != '.' && slash[1] && !strchr(slash + 1, '/');
        return !hub_id || stat(name, &info) == 0 || errno != ENOENT;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (has_suffix(name, suffixes[i]))
            return true;
    return false;
}

/* The names of one kind, sorted, with the folder each was first found in. */
typedef struct name_list {
    int count;
    char *name[NAMES_MAX];
    int folder[NAMES_MAX];
} name_list;

static void free_list(name_list *list)
{
    if (!list)
        return;
    for (int i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list);
}

static bool known(const name_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->name[i], name) == 0)
            return true;
    return false;
}

static bool insert(name_list *list, const char *name, int folder)
{
    if (list->count == NAMES_MAX || known(list, name))
        return true;
    char *copy = strdup(name);
    if (!copy)
        return false;
    int at = list->count++;
    for (; at > 0 && strcmp(list->name[at - 1], name) > 0; at--) {
        list->name[at] = list->name[at - 1];
        list->folder[at] = list->folder[at - 1];
    }
    list->name[at] = copy;
    list->folder[at] = folder;
    return true;
}

/* A folder that is not there is no fault: most of the places are optional. */
static bool add_folder(name_list *list, const char *path, int folder)
{
    DIR *directory = opendir(path);
    bool ok = true;
    if (!directory)
        return true;
    for (struct dirent *entry; ok && (entry = readdir(directory));) {
        char name[LLMPERF_NAME_MAX];
        if (entry->d_name[0] == '.' || !has_suffix(entry->d_name, ".yaml"))
            continue;
        size_t length = strlen(entry->d_name) - strlen(".yaml");
        if (length >= sizeof name)
            continue;
        memcpy(name, entry->d_name, length);
        name[length] = '\0';
        ok = insert(list, name, folder);
    }
    closedir(directory);
    return ok;
}

static bool join(char *buffer, const char *folder, const char *kind, const char *name)
{
    int length = name ? snprintf(buffer, LLMPERF_PATH_MAX, "%s/%s/%s.yaml", folder, kind, name)
                      : snprintf(buffer, LLMPERF_PATH_MAX, "%s/%s", folder, kind);
    return length > 0 && length < LLMPERF_PATH_MAX;
}

static name_list *list_names(const llmperf_spec_paths *paths, const char *kind)
{
    char path[LLMPERF_PATH_MAX];
    name_list *list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    for (int i = 0; i < paths->count; i++)
        if (join(path, paths->folder[i], kind, NULL) && !add_folder(list, path, i)) {
            free_list(list);
            return NULL;
        }
    return list;
}

llmperf_status llmperf_list_specs(const llmperf_spec_paths *paths, const char *kind,
                                  llmperf_spec_visit visit, void *context, llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && kind && visit, error);
    char path[LLMPERF_PATH_MAX];
    name_list *list = list_names(paths, kind);
    if (!list)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < list->count; i++)
        if (join(path, paths->folder[list->folder[i]], kind, list->name[i]) &&
            !visit(list->name[i], path, context))
            break;
    free_list(list);
    return LLMPERF_OK;
}

static bool same_text(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static bool reads(const char *path)
{
    doc *document;
    bool ok = doc_load_file(path, &document, NULL) == LLMPERF_OK;
    if (ok)
        doc_free(document);
    return ok;
}

/* Does the file's `aliases` (or `name`) hold the asked name? A file that does not read is passed
 * over: `specs check` is there to name its faults. */
static bool has_alias(const char *path, const char *name,
                      bool (*same)(const char *a, const char *b))
{
    static const char *const KEYS[] = {"name", "aliases", NULL};
    doc *document;
    bool found = false;
    if (doc_load_entries(path, KEYS, &document, NULL) != LLMPERF_OK)
        return false;
    doc_node *root = doc_root(document);
    doc_node *own = doc_get(root, "name");
    doc_node *aliases = doc_get(root, "aliases");
    if (own && own->kind == DOC_SCALAR && same(own->text, name))
        found = true;
    for (doc_node *node = aliases ? aliases->first : NULL; node && !found; node = node->next)
        found = node->kind == DOC_SCALAR && same(node->text, name);
    doc_free(document);
    return found && reads(path);
}

static bool readable(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file)
        fclose(file);
    return file != NULL;
}

static llmperf_status unknown(const name_list *list, const char *kind, const char *name,
                              llmperf_error *error)
{
    const char **words = malloc(sizeof *words * ((size_t)list->count + 1));
    if (!words)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < list->count; i++)
        words[i] = list->name[i];
    words[list->count] = NULL;
    const char *near = llmperf_nearest(name, words); /* one of the list's own */
    free(words);
    const char *what = strcmp(kind, "models") == 0     ? "model"
                       : strcmp(kind, "hardware") == 0 ? "hardware"
                       : strcmp(kind, "engine") == 0   ? "engine profile"
                                                       : "calibration";
    if (strchr(name, '/')) /* it may have been meant as a path */
        return llmperf_fail(error, LLMPERF_E_IO,
                            "'%s' is neither a file nor a known id%s%s%s; a path, or a name from "
                            "'llmperf specs list %s' is allowed",
                            name, near ? ", did you mean '" : "", near ? near : "",
                            near ? "'?" : "", kind);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "no %s is named '%s'%s%s%s; a name from 'llmperf specs list %s' or a path "
                        "is allowed",
                        what, name, near ? ", did you mean '" : "", near ? near : "",
                        near ? "'?" : "", kind);
}

static llmperf_status find(const llmperf_spec_paths *paths, const char *kind, const char *name,
                           char *ret_path, llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    if (is_path(name)) {
        if (strlen(name) >= LLMPERF_PATH_MAX)
            return llmperf_fail(error, LLMPERF_E_IO, "path of %zu bytes; at most %d are allowed",
                                strlen(name), LLMPERF_PATH_MAX - 1);
        memcpy(ret_path, name, strlen(name) + 1);
        return LLMPERF_OK;
    }
    for (int i = 0; i < paths->count; i++)
        if (*name && !strchr(name, '/') && join(path, paths->folder[i], kind, name) &&
            readable(path)) {
            memcpy(ret_path, path, strlen(path) + 1);
            return LLMPERF_OK;
        }
    name_list *list = list_names(paths, kind);
    if (!list)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = LLMPERF_E_USAGE;
    /* parts are spelt in many ways; in a model's name a '-' may tell two apart */
    bool (*same)(const char *, const char *) =
        strcmp(kind, "hardware") == 0 ? llmperf_same_part : same_text;
    for (int i = 0; i < list->count && status != LLMPERF_OK; i++)
        if (join(path, paths->folder[list->folder[i]], kind, list->name[i]) &&
            has_alias(path, name, same)) {
            memcpy(ret_path, path, strlen(path) + 1);
            status = LLMPERF_OK;
        }
    if (status != LLMPERF_OK)
        status = unknown(list, kind, name, error);
    free_list(list);
    return status;
}

llmperf_status llmperf_find_model(const llmperf_spec_paths *paths, const char *name, char *ret_path,
                                  llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && name && ret_path, error);
    return find(paths, "models", name, ret_path, error);
}

llmperf_status llmperf_find_hw(const llmperf_spec_paths *paths, const char *name, char *ret_path,
                               llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && name && ret_path, error);
    return find(paths, "hardware", name, ret_path, error);
}

llmperf_status llmperf_find_calib(const llmperf_spec_paths *paths, const char *name, char *ret_path,
                                  llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && name && ret_path, error);
    return find(paths, "calibration", name, ret_path, error);
}

/* All names, with commas: there are few engines, and nobody should have to look them up. */
static llmperf_status unknown_engine(const llmperf_spec_paths *paths, const char *name,
                                     llmperf_error *error)
{
    char names[1024] = "";
    size_t used = 0;
    name_list *list = list_names(paths, "engine");
    for (int i = 0; list && i < list->count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 list->name[i]);
    free_list(list);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "no engine profile is named '%s'; %s or the path of a profile is allowed",
                        name, names[0] ? names : "(none is shipped)");
}

llmperf_status llmperf_find_engine(const llmperf_spec_paths *paths, const char *name,
                                   char *ret_path, llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && name && ret_path, error);
    llmperf_status status = find(paths, "engine", name, ret_path, is_path(name) ? error : NULL);
    return status == LLMPERF_E_USAGE && !is_path(name) ? unknown_engine(paths, name, error)
                                                       : status;
}

/* ---- peaks that look sparse ---------------------------------------------------------------------------- */

static bool near(double a, double b)
{
    return fabs(a - b) <= 0.01 * b;
}

typedef struct suspect {
    llmperf_hw *given;
    llmperf_hw *shipped; /* scratch */
    bool doubled[LLMPERF_DTYPE_COUNT], confirmed[LLMPERF_DTYPE_COUNT];
    char part[LLMPERF_DTYPE_COUNT][LLMPERF_NAME_MAX];
} suspect;

/* Parts of one bandwidth are taken for one part: its dense peak confirms, twice that accuses. */
static bool compare_peaks(const char *name, const char *path, void *context)
{
    suspect *s = context;
    if (llmperf_hw_load(path, s->shipped, NULL) != LLMPERF_OK ||
        !near(s->given->mem_bytes_per_s, s->shipped->mem_bytes_per_s))
        return true;
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++) {
        double dense = s->shipped->peak_flop_per_s[i], peak = s->given->peak_flop_per_s[i];
        if (dense <= 0 || peak <= 0)
            continue;
        s->confirmed[i] |= near(peak, dense);
        if (near(peak, 2 * dense) && !s->doubled[i]) {
            s->doubled[i] = true;
            snprintf(s->part[i], sizeof s->part[i], "%s", name);
        }
    }
    return true;
}

llmperf_status llmperf_hw_suspect(const llmperf_spec_paths *paths, llmperf_hw *hw,
                                  llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && hw_is_sound(hw), error);
    suspect s = {.given = hw, .shipped = malloc(sizeof *s.shipped)};
    if (!s.shipped)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = llmperf_list_specs(paths, "hardware", compare_peaks, &s, error);
    for (int i = 1; i < LLMPERF_DTYPE_COUNT && status == LLMPERF_OK; i++)
        if (s.doubled[i] && !s.confirmed[i])
            llmperf_note(
                &hw->warnings,
                "peak %s of %s, %.4g TFLOP/s, is twice the dense figure of %s: a 2:4-sparse "
                "figure? peaks are dense",
                llmperf_dtype_name((llmperf_dtype)i), hw->name, hw->peak_flop_per_s[i] / 1e12,
                s.part[i]);
    free(s.shipped);
    return status;
}
