#include "sap/impulse_room.h"

static int32_t at_most(int32_t n, int32_t most) { return n < most ? n : most; }

void sap_impulse_room_carve(struct sap_impulse_room *room, struct sap_arena *arena,
                            const struct sap_graph *graph) {
  /* no less for a larger graph, whatever its islands */
  const int32_t scalars = at_most(graph->tree.n_scalars, SAP_MOST_SCALARS);
  const int32_t rows = at_most(3 * graph->n_triples, SAP_MOST_MARKED);
  const int32_t of_contacts = at_most(3 * graph->n_triples, SAP_MOST_IMPULSES);
  struct sap_impulses *p = &room->impulses;
  const size_t n = (size_t)scalars, contacts = (size_t)of_contacts / 3;
  const size_t m = (size_t)of_contacts + (size_t)rows;
  const size_t ld = (size_t)sap_impulses_stride((int32_t)m);
  room->panel = sap_arena_take(arena, (n + m + 1) * n, sizeof(double));
  room->scratch = sap_arena_take(arena, n, sizeof(double));
  room->unknown = sap_arena_take(arena, m, sizeof *room->unknown);
  room->state = sap_arena_take(arena, 3 * (size_t)graph->n_triples, 1);
  p->first = sap_arena_take(arena, contacts + 1, sizeof(int32_t));
  p->W = sap_arena_take(arena, ld * m, sizeof(double));
  p->u = sap_arena_take(arena, ld, sizeof(double));
  p->mu = sap_arena_take(arena, contacts, sizeof(double));
  p->lower = sap_arena_take(arena, (size_t)rows, sizeof(double));
  p->upper = sap_arena_take(arena, (size_t)rows, sizeof(double));
  p->gamma = sap_arena_take(arena, m, sizeof(double));
  p->before = sap_arena_take(arena, 2 * m, sizeof(double));
  p->lack = sap_arena_take(arena, m, sizeof(double));
  p->step = sap_arena_take(arena, 2 * ld, sizeof(double));
  p->system = sap_arena_take(arena, ld * m, sizeof(double));
}
