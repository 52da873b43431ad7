/* One game, written by hand: DW-FTRL on a ball, linear losses, late gradients, at most `capacity`
 * tracked rounds. The same schedulers, keyed draws, timing wheel, index and books as the compiled
 * round, in the same order of floating-point operations, so that sums agree to the last bit.
 *
 * What only a general program needs is left out: rates are constant, the ball is centred at 0, the
 * row is read where it lies, and the scheduler is fixed at compile time by inlining `play`.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { BERNOULLI, PARETO, VAROPT };
enum { FIXED, GEOMETRIC };
enum { USED, UNTRACKED, SATURATED, PREEMPTED };

typedef struct {
    int64_t horizon, dimension, capacity, cycle;
    const double *rows; /* cycle x dimension; round t reads row (t - 1) mod cycle */
    double rate, radius;
    int64_t delays, delay;
    double log_failure;
    uint64_t delay_key, schedule_key;
    double probability, safety;
    int64_t nodes;
} Game;

typedef struct {
    double loss, weight, square, largest, occupancy;
    int64_t fates[4], full, peak;
} Books;

/* ---- keyed draws ---- */

INLINE uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

INLINE double uniform(uint64_t key, int64_t t) {
    return (double)((mix(key + (uint64_t)t * 0x9E3779B97F4A7C15ULL) >> 11) + 1) * 0x1p-53;
}

/* ---- timing wheel ---- */

enum { BITS = 10, LEVELS = 6, BUCKETS = 1 << BITS, MASK = BUCKETS - 1 };

typedef struct { int64_t after, origin, due; } Node;
typedef struct { int64_t head, tail; } Bucket;
typedef struct { Bucket *buckets; Node *nodes; int64_t vacant; } Wheel;

INLINE void link_node(Wheel *w, int64_t now, int64_t node) {
    int64_t due = w->nodes[node].due, level = 0;
    for (int64_t differ = (due ^ now) >> BITS; differ; differ >>= BITS) level++;
    Bucket *b = &w->buckets[level * BUCKETS + ((due >> (BITS * level)) & MASK)];
    w->nodes[node].after = -1;
    if (b->tail < 0) b->head = node;
    else w->nodes[b->tail].after = node;
    b->tail = node;
}

INLINE void schedule(Wheel *w, int64_t now, int64_t due) {
    int64_t node = w->vacant;
    w->vacant = w->nodes[node].after;
    w->nodes[node].due = due;
    w->nodes[node].origin = now;
    link_node(w, now, node);
}

static __attribute__((noinline)) void deal(Wheel *w, int64_t now) {
    int64_t level = 1;
    while (level < LEVELS - 1 && ((now >> (BITS * level)) & MASK) == 0) level++;
    for (; level >= 1; level--) {
        Bucket *b = &w->buckets[level * BUCKETS + ((now >> (BITS * level)) & MASK)];
        int64_t node = b->head;
        b->head = b->tail = -1;
        while (node >= 0) {
            int64_t following = w->nodes[node].after;
            link_node(w, now, node);
            node = following;
        }
    }
}

INLINE int64_t take(Wheel *w, int64_t now) {
    Bucket *b = &w->buckets[now & MASK];
    int64_t node = b->head;
    if (node < 0) return -1;
    b->head = w->nodes[node].after;
    if (b->head < 0) b->tail = -1;
    w->nodes[node].after = w->vacant;
    w->vacant = node;
    return w->nodes[node].origin;
}

/* ---- tracking set ---- */

typedef struct { int64_t key, slot; } Cell;
typedef struct {
    int64_t *rounds, *vacant;
    Cell *cells;
    int64_t mask, slots, tracked;
} Table;

INLINE int64_t home(const Table *s, int64_t t) { return (t * 0x9E3779B1LL >> 7) & s->mask; }

INLINE void index_round(Table *s, int64_t t, int64_t slot) {
    int64_t i = home(s, t);
    while (s->cells[i].key) i = (i + 1) & s->mask;
    s->cells[i] = (Cell){t, slot};
}

INLINE int64_t find(const Table *s, int64_t t) {
    for (int64_t i = home(s, t); s->cells[i].key; i = (i + 1) & s->mask)
        if (s->cells[i].key == t) return s->cells[i].slot;
    return -1;
}

INLINE void unindex(Table *s, int64_t t) {
    int64_t hole = home(s, t);
    while (s->cells[hole].key != t) hole = (hole + 1) & s->mask;
    for (int64_t i = (hole + 1) & s->mask; s->cells[i].key; i = (i + 1) & s->mask)
        if (((i - home(s, s->cells[i].key)) & s->mask) >= ((i - hole) & s->mask)) {
            s->cells[hole] = s->cells[i];
            hole = i;
        }
    s->cells[hole].key = 0;
}

INLINE void vacate(Table *s, int64_t slot) {
    unindex(s, s->rounds[slot]);
    s->rounds[slot] = 0;
    s->tracked--;
    s->vacant[s->slots - s->tracked - 1] = slot;
}

/* ---- Pareto: an indexed heap of rounds by when they are preempted ---- */

typedef struct { double *key; int64_t *order, *place; int64_t size; } Heap;

INLINE void sift_up(Heap *h, int64_t i) {
    int64_t slot = h->order[i];
    double key = h->key[slot];
    while (i > 0) {
        int64_t parent = (i - 1) >> 1, above = h->order[parent];
        if (h->key[above] <= key) break;
        h->order[i] = above;
        h->place[above] = i;
        i = parent;
    }
    h->order[i] = slot;
    h->place[slot] = i;
}

INLINE void sift_down(Heap *h, int64_t i) {
    int64_t slot = h->order[i];
    double key = h->key[slot];
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= h->size) break;
        if (child + 1 < h->size && h->key[h->order[child + 1]] < h->key[h->order[child]]) child++;
        int64_t below = h->order[child];
        if (key <= h->key[below]) break;
        h->order[i] = below;
        h->place[below] = i;
        i = child;
    }
    h->order[i] = slot;
    h->place[slot] = i;
}

INLINE void push(Heap *h, int64_t slot, double key) {
    int64_t i = h->size++;
    h->key[slot] = key;
    h->order[i] = slot;
    sift_up(h, i);
}

INLINE void discard(Heap *h, int64_t slot) {
    int64_t i = h->place[slot], last = --h->size;
    if (i == last) return;
    h->order[i] = h->order[last];
    if (i > 0 && h->key[h->order[i]] < h->key[h->order[(i - 1) >> 1]]) sift_up(h, i);
    else sift_down(h, i);
}

/* ---- VarOpt: members in runs of equal weight, heaviest run first ---- */

typedef struct { int64_t start, count; double weight; } Run;
typedef struct { int64_t *members, *place; Run *runs; int64_t length, top; } VarOpt;

INLINE void compact(VarOpt *v) {
    int64_t end = 0, kept = 0;
    for (int64_t r = 0; r < v->top; r++) {
        Run run = v->runs[r];
        if (run.count == 0) continue;
        for (int64_t i = 0; i < run.count; i++) {
            int64_t slot = v->members[run.start + i];
            v->members[end + i] = slot;
            v->place[slot] = end + i;
        }
        v->runs[kept++] = (Run){end, run.count, run.weight};
        end += run.count;
    }
    v->top = kept;
}

INLINE void append(VarOpt *v, int64_t slot) {
    int64_t end = 0;
    if (v->top > 0) {
        if (v->runs[v->top - 1].start + v->runs[v->top - 1].count == v->length) compact(v);
        end = v->runs[v->top - 1].start + v->runs[v->top - 1].count;
    }
    if (v->top > 0 && v->runs[v->top - 1].weight == 1.0) v->runs[v->top - 1].count++;
    else v->runs[v->top++] = (Run){end, 1, 1.0};
    v->members[end] = slot;
    v->place[slot] = end;
}

INLINE void merge_last_two(VarOpt *v) {
    Run *upper = &v->runs[v->top - 1], *lower = upper - 1;
    int64_t end = lower->start + lower->count, gap = upper->start - end;
    int64_t moves = gap < upper->count ? gap : upper->count;
    for (int64_t i = 0; i < moves; i++) {
        int64_t slot = v->members[upper->start + upper->count - 1 - i];
        v->members[end + i] = slot;
        v->place[slot] = end + i;
    }
    lower->count += upper->count;
    v->top--;
}

INLINE int64_t overflow(VarOpt *v, double u) {
    double total = 1.0, theta = INFINITY;
    int64_t size = 1, first = v->top, place = -1;
    while (first > 0 && theta > v->runs[first - 1].weight) {
        first--;
        total += v->runs[first].count * v->runs[first].weight;
        size += v->runs[first].count;
        if (size > 1) theta = total / (size - 1);
    }
    double left = u - (1.0 - 1.0 / theta);
    for (int64_t r = v->top - 1; left > 0.0; r--) {
        Run *run = &v->runs[r];
        double chance = 1.0 - run->weight / theta, share = chance * run->count;
        if (left <= share || r == first) {
            int64_t at = chance > 0.0 ? (int64_t)(left / chance) : 0;
            place = run->start + (at < run->count ? at : run->count - 1);
            break;
        }
        left -= share;
    }
    int64_t slot = place >= 0 ? v->members[place] : -1;
    while (v->top > first + 1) merge_last_two(v);
    v->runs[first].weight = theta;
    return slot;
}

INLINE double depart(VarOpt *v, int64_t slot) {
    int64_t place = v->place[slot], low = 0, high = v->top - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) >> 1;
        if (v->runs[middle].start <= place) low = middle;
        else high = middle - 1;
    }
    Run *run = &v->runs[low];
    int64_t last = run->start + run->count - 1, moved = v->members[last];
    v->members[place] = moved;
    v->place[moved] = place;
    run->count--;
    while (v->top > 0 && v->runs[v->top - 1].count == 0) v->top--;
    return run->weight;
}

/* ---- the game ---- */

static void *zeros(int64_t count, size_t size) { return calloc((size_t)(count > 0 ? count : 1), size); }

INLINE void play(const Game *game, Books *out, const int scheduler, const int delays) {
    const int64_t k = game->dimension, capacity = game->capacity;
    Wheel wheel = {malloc(LEVELS * BUCKETS * sizeof(Bucket)), malloc(game->nodes * sizeof(Node)), 0};
    memset(wheel.buckets, -1, LEVELS * BUCKETS * sizeof(Bucket));
    for (int64_t i = 0; i < game->nodes; i++) wheel.nodes[i].after = i + 1;
    Table table = {.rounds = zeros(capacity, 8), .vacant = zeros(capacity, 8), .slots = capacity};
    for (int64_t i = 0; i < capacity; i++) table.vacant[i] = capacity - 1 - i;
    table.mask = 7;
    while (table.mask + 1 < 4 * capacity) table.mask = 2 * table.mask + 1;
    table.cells = zeros(table.mask + 1, sizeof(Cell));
    Heap heap = {zeros(capacity, 8), zeros(capacity, 8), zeros(capacity, 8), 0};
    VarOpt set = {zeros(2 * capacity + 2, 8), zeros(capacity, 8), zeros(2 * capacity + 2, sizeof(Run)),
                  2 * capacity + 2, 0};
    double *scale = zeros(capacity, 8), *feedback = zeros(capacity * k, 8);
    double *point = zeros(k, 8), *anchor = zeros(k, 8), *total = zeros(k, 8);
    double inverse_probability = 1.0 / game->probability, harmonic = 0.0;
    int changed = 1;
    Books books = {0};

    const double *row = game->rows, *last_row = game->rows + (game->cycle - 1) * k;
    for (int64_t t = 1; t <= game->horizon; t++) {
        if ((t & MASK) == 0) deal(&wheel, t);

        /* the leader moves when there is news */
        if (changed) {
            double squares = 0.0;
            for (int64_t i = 0; i < k; i++) {
                point[i] = game->rate * (anchor[i] - total[i]);
                squares += point[i] * point[i];
            }
            if (squares > game->radius * game->radius) {
                double shrink = game->radius / sqrt(squares);
                for (int64_t i = 0; i < k; i++) point[i] = shrink * point[i];
            }
            changed = 0;
        }

        /* preempt */
        if (scheduler == PARETO)
            while (heap.size > 0 && heap.key[heap.order[0]] <= (double)t) {
                int64_t slot = heap.order[0];
                discard(&heap, slot);
                vacate(&table, slot);
                books.fates[PREEMPTED]++;
            }

        /* admit */
        books.occupancy += table.tracked;
        if (table.tracked >= capacity) books.full++;
        if (table.tracked > books.peak) books.peak = table.tracked;
        int64_t slot = table.tracked < capacity ? table.vacant[capacity - table.tracked - 1] : -1;
        if (scheduler == VAROPT) {
            if (slot >= 0) append(&set, slot);
            else {
                slot = overflow(&set, uniform(game->schedule_key, t));
                if (slot >= 0) {
                    unindex(&table, table.rounds[slot]);
                    table.tracked--;
                    books.fates[PREEMPTED]++;
                } else books.fates[UNTRACKED]++;
            }
        } else {
            double proxy, tail = 0.0;
            if (scheduler == PARETO) {
                harmonic += 1.0 / (double)t;
                tail = capacity / (game->safety * harmonic);
                proxy = floor(tail / uniform(game->schedule_key, t)) - 1.0;
            } else proxy = uniform(game->schedule_key, t) <= game->probability ? INFINITY : -1.0;
            if (proxy < 0) {
                slot = -1;
                books.fates[UNTRACKED]++;
            } else if (slot < 0) books.fates[SATURATED]++;
            else if (scheduler == PARETO) {
                scale[slot] = tail;
                push(&heap, slot, t + proxy + 1.0);
            }
        }
        if (slot >= 0) {
            table.rounds[slot] = t;
            table.tracked++;
            index_round(&table, t, slot);
        }

        /* arrivals to come: of every round, tracked or not */
        int64_t wait = game->delay;
        if (delays == GEOMETRIC) {
            double failures = log(uniform(game->delay_key, t)) / game->log_failure;
            wait = (int64_t)(failures < 0x1p62 ? failures : 0x1p62);
        }
        schedule(&wheel, t, t + (wait < game->horizon - t ? wait : game->horizon - t));

        /* the loss, and the gradient that will arrive */
        double loss = 0.0;
        for (int64_t i = 0; i < k; i++) loss += row[i] * point[i];
        books.loss += loss;
        if (slot >= 0) memcpy(feedback + slot * k, row, k * sizeof(double));
        row = row == last_row ? game->rows : row + k;

        /* deliver */
        for (int64_t s; (s = take(&wheel, t)) > 0;) {
            slot = find(&table, s);
            if (slot < 0) continue;
            double weight;
            if (scheduler == VAROPT) weight = depart(&set, slot);
            else if (scheduler == PARETO) {
                discard(&heap, slot);
                double chance = scale[slot] / ((double)(t - s) + 1.0);
                weight = 1.0 / (chance < 1.0 ? chance : 1.0);
            } else weight = inverse_probability;
            books.fates[USED]++;
            books.weight += weight;
            books.square += weight * weight;
            if (weight > books.largest) books.largest = weight;
            vacate(&table, slot);
            for (int64_t i = 0; i < k; i++) total[i] += weight * feedback[slot * k + i];
            changed = 1;
        }
    }
    *out = books;
    free(wheel.buckets), free(wheel.nodes);
    free(table.rounds), free(table.vacant), free(table.cells);
    free(heap.key), free(heap.order), free(heap.place);
    free(set.members), free(set.place), free(set.runs);
    free(scale), free(feedback), free(point), free(anchor), free(total);
}

void bernoulli_fixed(const Game *game, Books *out) { play(game, out, BERNOULLI, FIXED); }
void bernoulli_geometric(const Game *game, Books *out) { play(game, out, BERNOULLI, GEOMETRIC); }
void pareto_fixed(const Game *game, Books *out) { play(game, out, PARETO, FIXED); }
void pareto_geometric(const Game *game, Books *out) { play(game, out, PARETO, GEOMETRIC); }
void varopt_fixed(const Game *game, Books *out) { play(game, out, VAROPT, FIXED); }
void varopt_geometric(const Game *game, Books *out) { play(game, out, VAROPT, GEOMETRIC); }
