#include "solver/plan/coulomb_workspace.h"

static void carve_iterate(struct sap_iterate *x, struct sap_arena *arena, size_t scalars,
                          int32_t triples) {
  double **const by_scalar[] = {&x->v, &x->dw, &x->momentum, &x->reach};
  for (size_t i = 0; i < sizeof by_scalar / sizeof *by_scalar; ++i) {
    *by_scalar[i] = sap_arena_take(arena, scalars, sizeof(double));
  }
  double **const by_place[] = {&x->v_c[0], &x->v_c[1], &x->v_c[2]};
  sap_pool_take(arena, triples, 3, by_place);
}

void sap_coulomb_workspace_carve(struct sap_coulomb_workspace *c, struct sap_arena *arena,
                                 size_t scalars, int32_t triples) {
  carve_iterate(&c->start, arena, scalars, triples);
  carve_iterate(&c->best, arena, scalars, triples);
  struct sap_linear_law *law = &c->law;
  double **const by_place[] = {&law->G[0], &law->G[1],      &law->G[2],      &law->G[3],
                               &law->G[4], &law->G[5],      &law->u[0],      &law->u[1],
                               &law->u[2], &law->origin[0], &law->origin[1], &law->origin[2],
                               &c->weight, &c->gap};
  sap_pool_take(arena, triples, sizeof by_place / sizeof *by_place, by_place);
  c->lack = sap_arena_take(arena, scalars, sizeof(double));
  c->target = sap_arena_take(arena, scalars, sizeof(double));
  c->S = sap_arena_take(arena, (size_t)9 * SAP_SMALL_MOST * SAP_SMALL_MOST, sizeof(double));
  sap_small_carve(&c->small, arena);
  sap_path_carve(&c->path, arena);
}
