#include "model/open_limits.h"

#include <math.h>

/* how much sooner than at the present velocities a limit may close and still wait */
static const double margin = 2.0;

void sap_open_limits_carve(struct sap_open_limits *open, struct sap_arena *arena, size_t n_limits) {
  open->limits = sap_arena_take(arena, 2 * n_limits, sizeof *open->limits);
  open->velocity = sap_arena_take(arena, 2 * n_limits, sizeof *open->velocity);
  open->must_act = sap_arena_take(arena, 2 * n_limits, sizeof *open->must_act);
}

int sap_open_limits_take(struct sap_open_limits *open, const struct sap_limit_side *limit) {
  if (!open->waits || open->must_act[limit->side]) {
    return 0;
  }
  const double before = limit->sign * open->v_0[limit->dof];
  const double free = before + open->dt * limit->sign * open->a_star[limit->dof];
  const double slowest = before < free ? before : free;
  if (!(limit->phi0 > 0.0 && limit->phi0 + margin * limit->h * slowest > 0.0)) {
    return 0;
  }
  open->limits[open->n++] = *limit;
  return 1;
}

int32_t sap_open_limits_check(struct sap_open_limits *open, const double *v) {
  int32_t acting = 0;
  for (int32_t i = 0; i < open->n; ++i) {
    const struct sap_limit_side *limit = open->limits + i;
    open->velocity[i] = limit->sign * v[limit->dof];
    if (limit->phi0 + limit->h * open->velocity[i] < 0.0) {
      open->must_act[limit->side] = 1;
      ++acting;
    }
  }
  return acting;
}
