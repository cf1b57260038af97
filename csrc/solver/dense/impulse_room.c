#include "solver/dense/impulse_room.h"

static int32_t at_most(int32_t n, int32_t most) { return n < most ? n : most; }

void sap_impulse_room_carve(struct sap_impulse_room *room, struct sap_arena *arena,
                            const struct sap_graph *graph) {
  /* no less for a larger graph, whatever its islands */
  const int32_t scalars = at_most(graph->tree.n_scalars, SAP_MOST_SCALARS);
  const int32_t rows = at_most(3 * graph->n_triples, SAP_MOST_MARKED);
  const int32_t of_contacts = at_most(3 * graph->n_triples, SAP_MOST_IMPULSES);
  const size_t n = (size_t)scalars, contacts = (size_t)of_contacts / 3;
  const size_t m = (size_t)of_contacts + (size_t)rows;
  room->panel = sap_arena_take(arena, (n + m + 1) * n, sizeof(double));
  room->scratch = sap_arena_take(arena, n, sizeof(double));
  room->unknown = sap_arena_take(arena, m, sizeof *room->unknown);
  room->state = sap_arena_take(arena, 3 * (size_t)graph->n_triples, 1);
  sap_impulses_carve(&room->impulses, arena, contacts, m, (size_t)rows);
}
