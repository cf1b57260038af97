#include "linalg/ordering.h"

#include <amd.h>
#include <string.h>

#include "linalg/linalg_tuning.h"

/* Sets of nodes of a small component are bits of words. */
enum { WORD = 64, MOST_WORDS = SAP_ORDERING_WORDS, SMALL = MOST_WORDS * WORD };

static int32_t words_of(int32_t n) { return (n + WORD - 1) / WORD; }

static uint64_t bit(int32_t i) { return (uint64_t)1 << (i % WORD); }

/* Counts the bits of a word in which few are set. */
static int32_t size_of(uint64_t word) {
  int32_t size = 0;
  for (; word != 0; word &= word - 1) {
    ++size;
  }
  return size;
}

void sap_ordering_carve(struct sap_ordering *ordering, struct sap_arena *arena, int32_t n,
                        int32_t n_edges) {
  const int64_t room = 2 * (int64_t)n_edges + (2 * (int64_t)n_edges) / 5 + n + 1;
  const int32_t words = words_of(n < SMALL ? n : SMALL);
  ordering->capacity = (int32_t)(room < INT32_MAX ? room : INT32_MAX);
  ordering->root = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->name = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->count = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->begin = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->node = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->set = sap_arena_take(arena, (size_t)words * (size_t)n, sizeof(uint64_t));
  ordering->start = sap_arena_take(arena, (size_t)n + 1, sizeof(int32_t));
  ordering->length = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->list = sap_arena_take(arena, (size_t)ordering->capacity, sizeof(int32_t));
  ordering->scratch = sap_arena_take(arena, 7 * (size_t)n, sizeof(int32_t));
}

/* ---- components ---- */

static int32_t root_of(int32_t *root, int32_t i) {
  while (root[i] != i) {
    i = root[i] = root[root[i]];
  }
  return i;
}

/* Numbers the nodes and finds their places; returns the number of nodes in small components. */
static int32_t find_components(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                               const int32_t *edge_a, const int32_t *edge_b) {
  int32_t *root = ordering->root, *count = ordering->count;
  for (int32_t i = 0; i < n; ++i) {
    root[i] = i;
    count[i] = 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    const int32_t a = root_of(root, edge_a[e]), b = root_of(root, edge_b[e]);
    *(a < b ? &root[b] : &root[a]) = a < b ? a : b;
  }
  for (int32_t i = 0; i < n; ++i) {
    root[i] = root[root[i]]; /* roots come first, so that their root is final */
    ordering->name[i] = count[root[i]]++;
  }
  int32_t n_small = 0, n_large = 0, most = 0;
  for (int32_t i = 0; i < n; ++i) {
    if (root[i] == i && count[i] <= SMALL) {
      ordering->begin[i] = n_small;
      n_small += count[i];
      most = count[i] > most ? count[i] : most;
    }
  }
  ordering->words = words_of(most);
  for (int32_t i = 0; i < n; ++i) {
    if (count[root[i]] <= SMALL) {
      ordering->node[ordering->begin[root[i]] + ordering->name[i]] = i;
    } else {
      ordering->node[n_small + n_large] = i;
      ordering->name[i] = ~n_large++;
    }
  }
  return n_small;
}

/* ---- small components ---- */

/* Lists the neighbours S_i of every node, by place; i itself is added later. */
static void list_sets(struct sap_ordering *ordering, int32_t n_small, int32_t n_edges,
                      const int32_t *edge_a, const int32_t *edge_b) {
  const int32_t *name = ordering->name;
  const size_t words = (size_t)ordering->words;
  memset(ordering->set, 0, (size_t)n_small * words * sizeof *ordering->set);
  for (int32_t e = 0; e < n_edges; ++e) {
    const int32_t a = name[edge_a[e]], b = name[edge_b[e]];
    if (a >= 0) {
      uint64_t *set = ordering->set + (size_t)ordering->begin[ordering->root[edge_a[e]]] * words;
      set[(size_t)a * words + (size_t)(b / WORD)] |= bit(b);
      set[(size_t)b * words + (size_t)(a / WORD)] |= bit(a);
    }
  }
}

/* Sets S_j <- (S_j + S_i) - {i} for all j in S_i, without i, and updates their degrees. */
static void connect(int32_t words, int32_t stride, int32_t i, uint64_t *set, int32_t *degree,
                    uint64_t *of_degree) {
  const uint64_t *clique = set + (size_t)i * (size_t)stride;
  for (int32_t v = 0; v < words; ++v) {
    for (uint64_t members = clique[v]; members != 0; members &= members - 1) {
      const int32_t j = v * WORD + __builtin_ctzll(members);
      uint64_t *own = set + (size_t)j * (size_t)stride;
      of_degree[degree[j] * words + v] ^= bit(j);
      own[i / WORD] ^= bit(i);
      degree[j]--;
      for (int32_t w = 0; w < words; ++w) {
        degree[j] += size_of(clique[w] & ~own[w]);
        own[w] |= clique[w];
      }
      of_degree[degree[j] * words + v] ^= bit(j);
    }
  }
}

/* Eliminates the first node of least degree, again and again. */
static void eliminate(int32_t words, int32_t stride, int32_t n, uint64_t *set, const int32_t *node,
                      int32_t *order) {
  uint64_t of_degree[SMALL * MOST_WORDS]; /* sets of nodes */
  int32_t degree[SMALL];
  memset(of_degree, 0, (size_t)n * (size_t)words * sizeof *of_degree);
  for (int32_t i = 0; i < n; ++i) {
    degree[i] = 0;
    for (int32_t w = 0; w < words; ++w) {
      degree[i] += size_of(set[i * stride + w]);
    }
    of_degree[degree[i] * words + i / WORD] |= bit(i);
    set[i * stride + i / WORD] |= bit(i);
  }
  /* no node of smaller degree is left, and none of this degree before word w */
  int32_t least = 0, w = 0;
  for (int32_t k = 0; k < n; ++k) {
    while (of_degree[least * words + w] == 0) {
      w = w + 1 < words ? w + 1 : 0;
      least += w == 0;
    }
    uint64_t *nodes = &of_degree[least * words + w];
    const int32_t i = w * WORD + __builtin_ctzll(*nodes);
    order[k] = node[i];
    *nodes ^= bit(i);
    if (least < n - 1 - k) { /* else all remaining nodes are neighbours of each other */
      set[i * stride + w] ^= bit(i);
      connect(words, stride, i, set, degree, of_degree);
      least -= least > 0;
      w = 0;
    }
  }
}

static void order_small(struct sap_ordering *ordering, int32_t n_small, int32_t n_edges,
                        const int32_t *edge_a, const int32_t *edge_b, int32_t *order) {
  const int32_t stride = ordering->words;
  list_sets(ordering, n_small, n_edges, edge_a, edge_b);
  for (int32_t k = 0, count = 0; k < n_small; k += count) {
    count = ordering->count[ordering->root[ordering->node[k]]];
    eliminate(words_of(count), stride, count, ordering->set + (size_t)k * (size_t)stride,
              ordering->node + k, order + k);
  }
}

/* ---- large components ---- */

/* Lists both directions of every edge, as AMD expects them. */
static void list_neighbours(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                            const int32_t *edge_a, const int32_t *edge_b) {
  const int32_t *name = ordering->name;
  for (int32_t i = 0; i < n; ++i) {
    ordering->length[i] = 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    if (name[edge_a[e]] < 0) {
      ordering->length[~name[edge_a[e]]]++;
      ordering->length[~name[edge_b[e]]]++;
    }
  }
  ordering->start[0] = 0;
  for (int32_t i = 0; i < n; ++i) {
    ordering->start[i + 1] = ordering->start[i] + ordering->length[i];
    ordering->length[i] = 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    if (name[edge_a[e]] < 0) {
      const int32_t a = ~name[edge_a[e]], b = ~name[edge_b[e]];
      ordering->list[ordering->start[a] + ordering->length[a]++] = b;
      ordering->list[ordering->start[b] + ordering->length[b]++] = a;
    }
  }
}

static void order_large(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                        const int32_t *edge_a, const int32_t *edge_b, const int32_t *node,
                        int32_t *order) {
  int32_t *piece = ordering->scratch, *last = piece + 6 * (int64_t)n;
  double control[AMD_CONTROL], info[AMD_INFO];
  list_neighbours(ordering, n, n_edges, edge_a, edge_b);
  amd_defaults(control);
  amd_2(n, ordering->start, ordering->list, ordering->length, ordering->capacity,
        ordering->start[n], piece, piece + n, last, piece + 2 * n, piece + 3 * n, piece + 4 * n,
        piece + 5 * n, control, info);
  for (int32_t k = 0; k < n; ++k) {
    order[k] = node[last[k]];
  }
}

void sap_ordering_minimum_degree(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                                 const int32_t *edge_a, const int32_t *edge_b, int32_t *order) {
  const int32_t n_small = find_components(ordering, n, n_edges, edge_a, edge_b);
  if (n_small > 0) {
    order_small(ordering, n_small, n_edges, edge_a, edge_b, order);
  }
  if (n_small < n) {
    order_large(ordering, n - n_small, n_edges, edge_a, edge_b, ordering->node + n_small,
                order + n_small);
  }
}
