#include "linalg/ordering.h"

#include <amd.h>

void sap_ordering_carve(struct sap_ordering *ordering, struct sap_arena *arena, int32_t n,
                        int32_t n_edges) {
  const int64_t room = 2 * (int64_t)n_edges + (2 * (int64_t)n_edges) / 5 + n + 1;
  ordering->capacity = (int32_t)(room < INT32_MAX ? room : INT32_MAX);
  ordering->start = sap_arena_take(arena, (size_t)n + 1, sizeof(int32_t));
  ordering->length = sap_arena_take(arena, (size_t)n, sizeof(int32_t));
  ordering->list = sap_arena_take(arena, (size_t)ordering->capacity, sizeof(int32_t));
  ordering->scratch = sap_arena_take(arena, 6 * (size_t)n, sizeof(int32_t));
}

/* both directions of every edge, as AMD wants them */
static void list_neighbours(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                            const int32_t *edge_a, const int32_t *edge_b) {
  for (int32_t i = 0; i < n; ++i) {
    ordering->length[i] = 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    ordering->length[edge_a[e]]++;
    ordering->length[edge_b[e]]++;
  }
  ordering->start[0] = 0;
  for (int32_t i = 0; i < n; ++i) {
    ordering->start[i + 1] = ordering->start[i] + ordering->length[i];
    ordering->length[i] = 0;
  }
  for (int32_t e = 0; e < n_edges; ++e) {
    const int32_t a = edge_a[e], b = edge_b[e];
    ordering->list[ordering->start[a] + ordering->length[a]++] = b;
    ordering->list[ordering->start[b] + ordering->length[b]++] = a;
  }
}

void sap_ordering_minimum_degree(struct sap_ordering *ordering, int32_t n, int32_t n_edges,
                                 const int32_t *edge_a, const int32_t *edge_b, int32_t *order) {
  if (n == 0) {
    return;
  }
  list_neighbours(ordering, n, n_edges, edge_a, edge_b);
  int32_t *piece = ordering->scratch;
  double control[AMD_CONTROL], info[AMD_INFO];
  amd_defaults(control);
  amd_2(n, ordering->start, ordering->list, ordering->length, ordering->capacity,
        ordering->start[n], piece, piece + n, order, piece + 2 * n, piece + 3 * n, piece + 4 * n,
        piece + 5 * n, control, info);
}
