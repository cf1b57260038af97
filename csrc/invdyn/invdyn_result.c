#include "invdyn/invdyn_result.h"

#include <math.h>
#include <string.h>

#include "base/finite.h"
#include "invdyn/holding.h"
#include "invdyn/pyramid.h"

/* of the largest torque and impulse, what round-off may leave */
static const double torque_tolerance = 1e-6, force_tolerance = 1e-6;
/* of the largest force, below which there is none; of velocities, below which a contact sticks */
static const double no_force = 1e-9, no_slip = 1e-7;

void invdyn_result_carve(struct invdyn_result *of, const invdyn_problem *most,
                         struct sap_arena *arena) {
  const size_t m = (size_t)most->m, n = (size_t)most->n;
  of->wanted = sap_arena_take(arena, (size_t)most->n_q, sizeof(double));
  of->y = sap_arena_take(arena, m, sizeof(double));
  of->u = sap_arena_take(arena, 3 * n, sizeof(double));
  of->balance = sap_arena_take(arena, m, sizeof(double));
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* |M (v+ - v) + dt h - J^T z - S^T lambda| */
static double dynamics(const struct invdyn_result *of, const struct invdyn_reduction *reduction,
                       const double *z, const invdyn_solution *solution) {
  const invdyn_problem *problem = reduction->problem;
  const int64_t m = (int64_t)problem->m;
  double largest = 0.0;
  for (int64_t i = 0; i < m; ++i) {
    double sum = problem->dt * problem->h[i];
    for (int64_t j = 0; j < m; ++j) {
      sum += problem->M[i * m + j] * (solution->v_plus[j] - problem->v[j]);
    }
    for (int64_t k = 0; k < (int64_t)problem->n; ++k) {
      sum -= problem->J_t[2 * k * m + i] * z[3 * k] +
             problem->J_t[(2 * k + 1) * m + i] * z[3 * k + 1] +
             problem->J_n[k * m + i] * z[3 * k + 2];
    }
    of->balance[i] = sum;
  }
  for (int32_t i = 0; i < problem->n_q; ++i) {
    of->balance[problem->actuated[i]] -= problem->dt * solution->tau[i];
  }
  for (int64_t i = 0; i < m; ++i) {
    largest = fmax(largest, fabs(of->balance[i]));
  }
  return largest;
}

/* of one contact with friction: z and u (3) */
static void friction(const invdyn_settings *settings, double mu, const double *z, const double *u,
                     invdyn_residuals *residuals) {
  const int32_t edges = settings->edges;
  double fastest = 0.0;
  double unit[2];
  for (int32_t k = 0; k < edges; ++k) {
    invdyn_direction(k, edges, unit);
    fastest = fmax(fastest, unit[0] * u[0] + unit[1] * u[1]);
    /* facets of the pyramid lie between its edges */
    const double across = cos(3.141592653589793 / edges);
    invdyn_direction(k + 0.5, edges, unit);
    residuals->cone =
        fmax(residuals->cone, unit[0] * z[0] + unit[1] * z[1] - mu * fmax(z[2], 0.0) * across);
  }
  residuals->friction = fmax(residuals->friction, z[0] * u[0] + z[1] * u[1] + mu * z[2] * fastest);
}

static void of_contacts(const struct invdyn_result *of, const struct invdyn_reduction *reduction,
                        const invdyn_settings *settings, const double *z,
                        invdyn_residuals *residuals) {
  const int noslip = invdyn_is_noslip(settings);
  for (int32_t i = 0; i < reduction->problem->n; ++i) {
    const double *z_i = z + 3 * (int64_t)i, *u = of->u + 3 * (int64_t)i;
    residuals->penetration = fmax(residuals->penetration, -u[2]);
    residuals->complementarity = fmax(residuals->complementarity, fabs(z_i[2] * u[2]));
    residuals->tension = fmax(residuals->tension, -z_i[2]);
    if (noslip) {
      residuals->slip = fmax(residuals->slip, fmax(fabs(u[0]), fabs(u[1])));
    } else {
      friction(settings, reduction->problem->mu[i], z_i, u, residuals);
    }
  }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_states(const struct invdyn_result *of, const struct invdyn_reduction *reduction,
                         const double *z, int8_t *states) {
  const int32_t n = reduction->problem->n;
  double largest = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    largest = fmax(largest, hypot(hypot(z[3 * i], z[3 * i + 1]), z[3 * i + 2]));
  }
  for (int32_t i = 0; i < n; ++i) {
    const double force = hypot(hypot(z[3 * i], z[3 * i + 1]), z[3 * i + 2]);
    const double slip = hypot(of->u[3 * i], of->u[3 * i + 1]);
    if (!(force > no_force * largest + reduction->no_impulse)) {
      states[i] = INVDYN_SEPARATE;
    } else {
      states[i] = slip > no_slip * invdyn_velocity_scale(reduction) ? INVDYN_SLIP : INVDYN_STICK;
    }
  }
}

void invdyn_write(struct invdyn_result *of, const struct invdyn_reduction *reduction,
                  const invdyn_settings *settings, const double *z, invdyn_solution *solution) {
  const invdyn_problem *problem = reduction->problem;
  const double dt = problem->dt;
  invdyn_residuals residuals = {0};
  invdyn_base(reduction, z, of->y);
  invdyn_contact_velocity(reduction, of->y, of->u);
  invdyn_velocity(reduction, of->y, solution->v_plus);
  invdyn_motors(reduction, of->y, z, solution->tau);
  for (int32_t i = 0; i < problem->n_q; ++i) {
    const double off = reduction->v_q[i] - of->wanted[i];
    solution->tau[i] /= dt;
    solution->slack[i] = off / dt;
    residuals.acceleration = fmax(residuals.acceleration, fabs(off));
    if (problem->torque_limit) {
      residuals.torque = fmax(residuals.torque, fabs(solution->tau[i]) - problem->torque_limit[i]);
    }
  }
  for (int32_t i = 0; i < 3 * problem->n; ++i) {
    solution->forces[i] = z[i] / dt;
  }
  residuals.dynamics = dynamics(of, reduction, z, solution);
  of_contacts(of, reduction, settings, z, &residuals);
  write_states(of, reduction, z, solution->states);
  solution->residuals = residuals;
}

invdyn_outcome invdyn_judge(const struct invdyn_result *of,
                            const struct invdyn_reduction *reduction,
                            const invdyn_settings *settings, int is_limited,
                            const invdyn_solution *solution) {
  const invdyn_residuals *residuals = &solution->residuals;
  double torque = 0.0;
  for (int32_t i = 0; i < reduction->problem->n_q; ++i) {
    torque = fmax(torque, fabs(solution->tau[i]));
  }
  if (residuals->torque > torque_tolerance * torque) {
    return INVDYN_TORQUE_LIMITED;
  }
  const int holds = settings->controller == INVDYN_LCP_NOSLIP ||
                    (settings->controller == INVDYN_QP_NOSLIP &&
                     settings->stage_one == INVDYN_CONTACT_CONSISTENT);
  const double wrong = fmax(residuals->penetration, holds ? residuals->slip : 0.0);
  if (wrong > invdyn_allowed_velocity(reduction, of->u)) {
    return is_limited ? INVDYN_TORQUE_LIMITED : INVDYN_INACCURATE;
  }
  double force = 0.0;
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    force = fmax(force, fabs(solution->forces[i]) * reduction->problem->dt);
  }
  return fmax(residuals->cone, residuals->tension) > force_tolerance * force + reduction->no_impulse
             ? INVDYN_INACCURATE
             : INVDYN_SOLVED;
}

int invdyn_keep_finite(const invdyn_problem *problem, invdyn_solution *solution) {
  const double *numbers = &solution->residuals.dynamics;
  if (sap_first_non_finite(problem->n_q, solution->tau) < 0 &&
      sap_first_non_finite(3 * (int64_t)problem->n, solution->forces) < 0 &&
      sap_first_non_finite(problem->m, solution->v_plus) < 0 &&
      sap_first_non_finite(problem->n_q, solution->slack) < 0 &&
      sap_first_non_finite(sizeof solution->residuals / sizeof(double), numbers) < 0) {
    return 1;
  }
  invdyn_write_zeros(problem, solution);
  return 0;
}

void invdyn_write_zeros(const invdyn_problem *problem, invdyn_solution *solution) {
  memset(solution->tau, 0, (size_t)problem->n_q * sizeof(double));
  memset(solution->forces, 0, 3 * (size_t)problem->n * sizeof(double));
  memset(solution->v_plus, 0, (size_t)problem->m * sizeof(double));
  memset(solution->slack, 0, (size_t)problem->n_q * sizeof(double));
  memset(solution->states, INVDYN_SEPARATE, (size_t)problem->n);
  solution->residuals = (invdyn_residuals){0};
}
