/* SPDX-License-Identifier: MIT */
/* Memory of the devices: reserved pages, and stretches whose values are worked out when seen. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"

enum { ALIGNMENT = 256, FILL_PIECE = 64, SET_PIECE = 256 };

typedef struct allocation {
    uint64_t start, bytes;
    int device;
    bool host;
    void *map;
    size_t map_bytes;
    fake_lazy *lazy; /* no two overlap */
} allocation;

static allocation *list; /* by address */
static int count, room;

/* ---- finding --------------------------------------------------------------------------------- */

/* The first allocation that ends after `address`. */
static int find(uint64_t address)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (list[middle].start + list[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static allocation *holder(uint64_t address, uint64_t bytes)
{
    int at = find(address);
    if (at == count || list[at].start > address ||
        list[at].start + list[at].bytes - address < bytes)
        return NULL;
    return &list[at];
}

bool fake_memory_holds(uint64_t address, uint64_t bytes)
{
    return holder(address, bytes) != NULL;
}

uint64_t fake_memory_used(int device)
{
    uint64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += list[i].host || list[i].device != device ? 0 : list[i].bytes;
    return sum;
}

/* ---- stretches to be worked out ---------------------------------------------------------------- */

static void lazy_free(fake_lazy *lazy)
{
    free(lazy->done);
    free(lazy);
}

static uint64_t pieces(const fake_lazy *lazy)
{
    return (lazy->to - lazy->base + lazy->piece_bytes - 1) / lazy->piece_bytes;
}

static fake_lazy *lazy_copy(const fake_lazy *lazy)
{
    size_t words = (size_t)(pieces(lazy) + 63) / 64;
    fake_lazy *copy = malloc(sizeof *copy);
    if (!copy)
        abort();
    *copy = *lazy;
    if (lazy->done) {
        copy->done = malloc(words * sizeof *copy->done);
        if (!copy->done)
            abort();
        memcpy(copy->done, lazy->done, words * sizeof *copy->done);
    }
    return copy;
}

/* Takes [from, to) out of an allocation's list; what is left of one may be two. */
static void cut(allocation *a, uint64_t from, uint64_t to)
{
    for (fake_lazy **at = &a->lazy; *at;) {
        fake_lazy *one = *at;
        if (one->to <= from || one->from >= to) {
            at = &one->next;
            continue;
        }
        if (one->from < from && one->to > to) {
            fake_lazy *rest = lazy_copy(one);
            rest->from = to;
            one->to = from;
            one->next = rest;
            return;
        }
        if (one->from < from) {
            one->to = from;
        } else if (one->to > to) {
            one->from = to;
        } else {
            *at = one->next;
            lazy_free(one);
            continue;
        }
        at = &one->next;
    }
}

static void add(allocation *a, const fake_lazy *lazy)
{
    fake_lazy *own = lazy_copy(lazy);
    cut(a, lazy->from, lazy->to);
    own->next = a->lazy;
    a->lazy = own;
}

void fake_memory_fill(const kernel_fill_args *fill)
{
    uint64_t start = (uint64_t)fill->data, bits = fake_format_bits(fill->format);
    allocation *a = holder(start, fill->count * bits / 8);
    fake_lazy lazy = {.base = start,
                      .from = start,
                      .to = start + fill->count * bits / 8,
                      .piece_bytes = (uint32_t)(FILL_PIECE * bits / 8),
                      .kind = FAKE_FILL,
                      .fill = *fill};
    fake_memory_changed();
    if (a && lazy.to > lazy.from)
        add(a, &lazy);
}

void fake_memory_set(uint64_t address, uint64_t bytes, unsigned char value)
{
    allocation *a = holder(address, bytes);
    fake_lazy lazy = {.base = address,
                      .from = address,
                      .to = address + bytes,
                      .piece_bytes = SET_PIECE,
                      .kind = FAKE_SET,
                      .value = value};
    if (a && bytes > 0)
        add(a, &lazy);
}

/* Elements that a matrix spans, gaps between its columns and batches included. */
uint64_t fake_matrix_span(const fake_matrix *m)
{
    if (m->rows == 0 || m->columns == 0 || m->batch == 0)
        return 0;
    return (m->batch - 1) * (uint64_t)m->batch_stride + (m->columns - 1) * (uint64_t)m->stride +
           m->rows;
}

void fake_memory_product(const fake_product *product)
{
    const fake_matrix *d = &product->d;
    uint32_t bytes = fake_bits(d->type) / 8;
    uint64_t span = fake_matrix_span(d) * bytes;
    allocation *a = holder(d->address, span);
    fake_lazy lazy = {.base = d->address,
                      .from = d->address,
                      .to = d->address + span,
                      .piece_bytes = bytes,
                      .kind = FAKE_PRODUCT,
                      .product = *product};
    if (a && span > 0)
        add(a, &lazy);
}

/* ---- working out ------------------------------------------------------------------------------- */

/* Element (row, column) of op(M), before op its own row and column. */
static uint64_t element_of(const fake_matrix *m, uint64_t row, uint64_t column, uint64_t batch)
{
    uint64_t r = m->transposed ? column : row, c = m->transposed ? row : column;
    return batch * (uint64_t)m->batch_stride + c * (uint64_t)m->stride + r;
}

static void touch_element(const fake_matrix *m, uint64_t element)
{
    fake_memory_touch(m->address + element * fake_bits(m->type) / 8, (fake_bits(m->type) + 7) / 8);
}

static uint64_t key_of(const fake_product *p, uint64_t a_first, uint64_t b_first)
{
    const uint64_t parts[] = {p->a.address, p->b.address, (uint64_t)p->a.type,
                              p->k,         a_first,      b_first};
    uint64_t key = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        key = kernel_mix(key ^ parts[i]);
    return key;
}

/* One of the operands is not contiguous along k. */
static double dot_strided(const fake_product *p, uint64_t a_first, uint64_t a_step,
                          uint64_t b_first, uint64_t b_step)
{
    double sum = 0;
    for (uint64_t i = 0; i < p->k; i++) {
        uint64_t a = a_first + i * a_step, b = b_first + i * b_step;
        touch_element(&p->a, a);
        touch_element(&p->b, b);
        sum += fake_load(p->a.type, p->a.address, a) * fake_load(p->b.type, p->b.address, b);
    }
    return sum;
}

static double dot(const fake_product *p, uint64_t row, uint64_t column, uint64_t batch)
{
    uint64_t a_first = element_of(&p->a, row, 0, batch),
             b_first = element_of(&p->b, 0, column, batch);
    uint64_t a_step = element_of(&p->a, row, 1, batch) - a_first;
    uint64_t b_step = element_of(&p->b, 1, column, batch) - b_first;
    uint64_t key = key_of(p, a_first, b_first);
    fake_sum s;
    if (a_step != 1 || b_step != 1)
        return p->alpha * dot_strided(p, a_first, a_step, b_first, b_step);
    if (!fake_known(key, &s)) {
        s = fake_dot_rows(p->a.type, p->a.address, a_first, p->b.address, b_first, p->k);
        fake_know(key, s);
    }
    return p->alpha * s.sum;
}

/* Writes one element of D; nothing between its columns. */
static void make_product(const fake_lazy *lazy, uint64_t element)
{
    const fake_matrix *d = &lazy->product.d;
    uint64_t batch_stride = d->batch > 1 ? (uint64_t)d->batch_stride : UINT64_MAX;
    uint64_t batch = element / batch_stride, rest = element % batch_stride;
    uint64_t column = rest / (uint64_t)d->stride, row = rest % (uint64_t)d->stride;
    if (row >= d->rows || column >= d->columns)
        return;
    double value = dot(&lazy->product, row, column, batch);
    if (lazy->product.wrong)
        value = value * 1.25 + 1;
    fake_count(FAKE_values_checked, 1);
    fake_store(d->type, (void *)(lazy->base + element * lazy->piece_bytes), value);
}

/* A piece of a fill, or of bytes all alike; what is left of it. */
static void make_piece(const fake_lazy *lazy, uint64_t piece)
{
    unsigned char values[FILL_PIECE * 4];
    uint64_t begin = lazy->base + piece * lazy->piece_bytes;
    uint64_t from = begin < lazy->from ? lazy->from : begin;
    uint64_t end = begin + lazy->piece_bytes;
    end = end > lazy->to ? lazy->to : end;
    if (lazy->kind == FAKE_SET)
        memset(values, lazy->value, sizeof values);
    else
        fake_fill_values(&lazy->fill, piece * FILL_PIECE, FILL_PIECE, values);
    memcpy((void *)from, values + (from - begin), end - from);
}

static void make(fake_lazy *lazy, uint64_t from, uint64_t to)
{
    uint64_t first = (from - lazy->base) / lazy->piece_bytes;
    uint64_t last = (to - 1 - lazy->base) / lazy->piece_bytes;
    if (!lazy->done)
        lazy->done = calloc((size_t)(pieces(lazy) + 63) / 64, sizeof *lazy->done);
    if (!lazy->done)
        abort();
    for (uint64_t i = first; i <= last; i++) {
        if (lazy->done[i / 64] >> (i % 64) & 1)
            continue;
        lazy->done[i / 64] |= (uint64_t)1 << (i % 64);
        if (lazy->kind == FAKE_PRODUCT)
            make_product(lazy, i);
        else
            make_piece(lazy, i);
    }
}

void fake_memory_touch(uint64_t address, uint64_t bytes)
{
    allocation *a = bytes > 0 ? holder(address, bytes) : NULL;
    for (fake_lazy *one = a ? a->lazy : NULL; one; one = one->next) {
        uint64_t from = address > one->from ? address : one->from;
        uint64_t to = address + bytes < one->to ? address + bytes : one->to;
        if (from < to)
            make(one, from, to);
    }
}

void fake_memory_forget(uint64_t address, uint64_t bytes)
{
    allocation *a = bytes > 0 ? holder(address, bytes) : NULL;
    if (a)
        cut(a, address, address + bytes);
}

/* ---- allocating -------------------------------------------------------------------------------- */

static void insert(const allocation *one)
{
    if (count == room) {
        room = room ? 2 * room : 64;
        list = realloc(list, (size_t)room * sizeof *list);
        if (!list)
            abort();
    }
    int at = find(one->start);
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = *one;
    count++;
}

/* Pages that cost nothing until written, ending at one that must not be touched. */
uint64_t fake_memory_allocate(int device, size_t bytes, bool host)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t pages = (whole + page - 1) / page * page;
    unsigned char *map =
        mmap(NULL, pages + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return 0;
    if (mprotect(map, pages, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, pages + page);
        return 0;
    }
    allocation one = {.start = (uint64_t)(map + pages - whole),
                      .bytes = bytes,
                      .device = device,
                      .host = host,
                      .map = map,
                      .map_bytes = pages + page};
    insert(&one);
    fake_count(host ? FAKE_live_host_allocations : FAKE_live_allocations, 1);
    fake_count(FAKE_allocations, 1);
    int64_t above = (int64_t)fake_memory_used(device) - fake_counted(FAKE_peak_bytes);
    fake_count(FAKE_peak_bytes, !host && above > 0 ? above : 0);
    return one.start;
}

static void drop(int at)
{
    allocation one = list[at];
    fake_memory_changed();
    cut(&one, one.start, one.start + one.bytes);
    munmap(one.map, one.map_bytes);
    memmove(list + at, list + at + 1, (size_t)(count - at - 1) * sizeof *list);
    count--;
    fake_count(one.host ? FAKE_live_host_allocations : FAKE_live_allocations, -1);
}

bool fake_memory_free(uint64_t address, bool host)
{
    int at = find(address);
    if (at == count || list[at].start != address || list[at].host != host)
        return false;
    drop(at);
    return true;
}

void fake_memory_release(int device)
{
    for (int i = count; i-- > 0;)
        if (list[i].device == device)
            drop(i);
}
