#include "step/inactive/open_limits.h"

#include <string.h>

void sap_open_limits_carve(struct sap_open_limits *open, struct sap_arena *arena, size_t n_limits) {
  open->n_sides = 2 * n_limits;
  open->limits = sap_arena_take(arena, open->n_sides, sizeof *open->limits);
  open->velocity = sap_arena_take(arena, open->n_sides, sizeof *open->velocity);
  open->must_act = sap_arena_take(arena, open->n_sides, sizeof *open->must_act);
}

void sap_open_limits_keep(const struct sap_open_limits *open, uint8_t *acting) {
  if (open->n_sides > 0) {
    memset(acting, 1, open->n_sides);
  }
  for (int32_t i = 0; i < open->n; ++i) {
    acting[open->limits[i].side] = 0;
  }
}

int32_t sap_open_limits_check(struct sap_open_limits *open, const double *v) {
  int32_t acting = 0;
  for (int32_t i = 0; i < open->n; ++i) {
    const struct sap_limit_side *limit = open->limits + i;
    const double rate = limit->dof >= 0 ? v[limit->dof] : sap_engine_product(&limit->row, v);
    open->velocity[i] = limit->sign * rate;
    if (limit->phi0 + limit->h * open->velocity[i] < 0.0) {
      open->must_act[limit->side] = 1;
      ++acting;
    }
  }
  return acting;
}
