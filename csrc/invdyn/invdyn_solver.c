/* This file runs one call: memory, checks, the reduction and a controller. If there are no
 * impulses, it tries again at the nearest joint velocities that have some. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/fail.h"
#include "invdyn/invdyn_check.h"
#include "invdyn/coulomb_lcp.h"
#include "invdyn/holding.h"
#include "invdyn/nearest_lcp.h"
#include "invdyn/noslip.h"
#include "invdyn/unactuated.h"
#include "invdyn/invdyn_tuning.h"
#include "invdyn/invdyn_result.h"
#include "invdyn/stages.h"

/* A change of joint velocities counts as none below these parts of the given velocities and of the
 * free velocities of contacts. */
static const double unmoved = 1e-6, round_off = 1e-7;

struct invdyn_solver {
  sap_allocator allocator;
  struct sap_block block;
  /* settings and sizes of the largest problem, for which the block is carved */
  invdyn_settings settings;
  invdyn_problem most;
  double limit; /* target of most.torque_limit if there are limits */
  lcp_solver *lcp;
  int32_t lcp_size;
  qp_solver *qp;
  int32_t qp_size;

  struct invdyn_reduction reduction;
  struct invdyn_stages stages;
  struct invdyn_coulomb coulomb;
  struct invdyn_nearest_lcp nearest_lcp;
  struct invdyn_holding holding;
  struct invdyn_noslip noslip;
  struct invdyn_result result;
  double *z;    /* (n, 3) */
  double *near; /* (n_q) */
};

/* ---- memory ---------------------------------------------------------------------------------- */

sap_status invdyn_create(invdyn_solver **solver, const sap_allocator *allocator, sap_error *error) {
  const sap_allocator hook = sap_allocator_or_default(allocator);
  *solver = hook.allocate(sizeof **solver, hook.context);
  if (!*solver) {
    return sap_fail(error, SAP_OUT_OF_MEMORY, "solver", -1, NAN, "memory ran out");
  }
  memset(*solver, 0, sizeof **solver);
  (*solver)->allocator = hook;
  (*solver)->most.m = -1;
  return SAP_OK;
}

void invdyn_destroy(invdyn_solver *solver) {
  if (solver) {
    const sap_allocator hook = solver->allocator;
    lcp_destroy(solver->lcp);
    qp_destroy(solver->qp);
    sap_block_release(&solver->block, &hook);
    hook.release(solver, hook.context);
  }
}

static void pieces(void *context, struct sap_arena *arena) {
  invdyn_solver *solver = context;
  const invdyn_settings *settings = &solver->settings;
  const invdyn_problem *most = &solver->most;
  invdyn_reduction_carve(&solver->reduction, most, arena);
  invdyn_result_carve(&solver->result, most, arena);
  invdyn_stages_carve(&solver->stages, settings, most, arena);
  if (invdyn_is_coulomb(settings)) {
    invdyn_coulomb_carve(&solver->coulomb, settings, most, arena);
  }
  if (settings->controller == INVDYN_LCP_NEAREST) {
    invdyn_nearest_lcp_carve(&solver->nearest_lcp, settings, most, arena);
  } else if (settings->controller == INVDYN_LCP_NOSLIP) {
    invdyn_noslip_carve(&solver->noslip, most, arena);
  }
  if (invdyn_is_noslip(settings)) {
    invdyn_holding_carve(&solver->holding, most, arena);
  }
  solver->z = sap_arena_take(arena, 3 * (size_t)most->n, sizeof(double));
  solver->near = sap_arena_take(arena, (size_t)most->n_q, sizeof(double));
}

static int is_large_enough(const invdyn_solver *solver, const invdyn_settings *settings,
                           const invdyn_problem *problem) {
  const invdyn_problem *most = &solver->most;
  const invdyn_settings *made = &solver->settings;
  return problem->m == most->m && problem->n_q == most->n_q && problem->n <= most->n &&
         (most->torque_limit || !problem->torque_limit) &&
         settings->controller == made->controller && settings->edges == made->edges &&
         (made->force_regularization > 0.0 || settings->force_regularization <= 0.0);
}

static int32_t unknowns(const invdyn_settings *settings, const invdyn_problem *problem) {
  switch (settings->controller) {
    case INVDYN_LCP_NOSLIP: return problem->n;
    case INVDYN_LCP_COULOMB:
    case INVDYN_LCP_NEAREST: return problem->n * (settings->edges + 2);
    default: return 0;
  }
}

static sap_status make_lcp(invdyn_solver *solver, int32_t size, sap_error *error) {
  if (size <= solver->lcp_size) {
    return SAP_OK;
  }
  lcp_destroy(solver->lcp);
  solver->lcp = NULL;
  solver->lcp_size = 0;
  const sap_status status = lcp_create(&solver->lcp, size, &solver->allocator, error);
  solver->lcp_size = status == SAP_OK ? size : 0;
  return status;
}

static sap_status make_qp(invdyn_solver *solver, int32_t size, sap_error *error) {
  if (size <= solver->qp_size) {
    return SAP_OK;
  }
  qp_destroy(solver->qp);
  solver->qp = NULL;
  solver->qp_size = 0;
  const sap_status status = qp_create(&solver->qp, size, size, size, &solver->allocator, error);
  solver->qp_size = status == SAP_OK ? size : 0;
  return status;
}

sap_status invdyn_reserve(invdyn_solver *solver, const invdyn_settings *settings,
                          const invdyn_problem *problem, sap_error *error) {
  sap_status status = invdyn_settings_check(settings, error);
  if (status == SAP_OK) {
    status = invdyn_check_sizes(settings, problem, error);
  }
  if (status != SAP_OK || is_large_enough(solver, settings, problem)) {
    return status;
  }
  /* the same system may have as many contacts again */
  int32_t n =
      problem->m == solver->most.m && problem->n < solver->most.n ? solver->most.n : problem->n;
  if (settings->controller == INVDYN_LCP_NEAREST) {
    n = INVDYN_NEAREST_CONTACTS; /* torques of the last call are kept when contacts come */
  }
  solver->settings = *settings;
  solver->most = (invdyn_problem){.m = problem->m, .n_q = problem->n_q, .n = n};
  solver->most.torque_limit = problem->torque_limit ? &solver->limit : NULL;
  if (!sap_block_carve(&solver->block, pieces, solver, &solver->allocator)) {
    solver->most.m = -1;
    return sap_fail(error, SAP_OUT_OF_MEMORY, "problem", -1, NAN, "memory ran out");
  }
  const int32_t size = unknowns(settings, &solver->most);
  if (settings->controller == INVDYN_LCP_NEAREST) {
    invdyn_nearest_lcp_begin(&solver->nearest_lcp, problem->n_q, size);
    status = make_qp(solver, size, error);
  } else {
    status = make_lcp(solver, size, error);
  }
  if (status != SAP_OK) {
    solver->most.m = -1;
  }
  return status;
}

/* ---- one controller -------------------------------------------------------------------------- */

/* Impulses z of the solver and how they were found. */
struct attempt {
  invdyn_outcome outcome;
  int has_impulses;
  int32_t pivots;
  double regularization;
  int is_limited; /* 1 if torque limits count */
};

static struct attempt read_answer(struct invdyn_answer answer) {
  struct attempt attempt = {.outcome = INVDYN_INCONSISTENT_ACCELERATIONS,
                            .pivots = answer.pivots,
                            .regularization = answer.regularization};
  switch (answer.outcome) {
    case LCP_SOLVED: attempt.outcome = INVDYN_SOLVED; break;
    case LCP_INACCURATE: attempt.outcome = INVDYN_INACCURATE; break;
    case LCP_ITERATION_LIMIT: attempt.outcome = INVDYN_ITERATION_LIMIT; break;
    case LCP_NON_FINITE: attempt.outcome = INVDYN_NON_FINITE; break;
    default: break;
  }
  attempt.has_impulses = attempt.outcome == INVDYN_SOLVED || attempt.outcome == INVDYN_INACCURATE;
  return attempt;
}

/* Finds the largest tangential velocity and the largest approach after the impulses; u of the
 * result is scratch. */
static void worst_velocities(invdyn_solver *solver, double *slip, double *approach) {
  const struct invdyn_reduction *reduction = &solver->reduction;
  struct invdyn_result *work = &solver->result;
  *slip = *approach = 0.0;
  invdyn_base(reduction, solver->z, work->y);
  invdyn_contact_velocity(reduction, work->y, work->u);
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    if (i % 3 < 2) {
      *slip = fmax(*slip, fabs(work->u[i]));
    } else {
      *approach = fmax(*approach, -work->u[i]);
    }
  }
}

/* Releases opening contacts one by one, fastest first: a force that holds one may open others. */
static struct attempt attempt_noslip(invdyn_solver *solver) {
  struct invdyn_reduction *reduction = &solver->reduction;
  struct attempt attempt = {.pivots = 0};
  double slip, approach, allowed;
  do {
    const int32_t pivots = attempt.pivots;
    attempt = read_answer(
        invdyn_noslip_solve(&solver->noslip, &solver->holding, solver->lcp, reduction, solver->z));
    attempt.pivots += pivots;
    if (!attempt.has_impulses) {
      return attempt;
    }
    worst_velocities(solver, &slip, &approach);
    allowed = invdyn_allowed_velocity(reduction, solver->result.u);
  } while (invdyn_let_go(&solver->holding, reduction, solver->z, solver->result.u, allowed));
  /* rows that depend on others hold if the accelerations are consistent */
  if (slip > allowed) {
    attempt.outcome = INVDYN_INCONSISTENT_ACCELERATIONS;
    attempt.has_impulses = 0;
  } else if (attempt.outcome == INVDYN_SOLVED &&
             (solver->noslip.degenerate ||
              invdyn_pushes_open(&solver->holding, reduction->problem->n, solver->z))) {
    attempt.outcome = INVDYN_DEGENERATE_NOSLIP;
  }
  return attempt;
}

/* 1 if an impulse alone would move its contact invdyn_squeeze_limit times as fast as all that is
 * given does: contacts that press against each other have solutions with any such force. */
static int squeezes(const struct invdyn_reduction *reduction, const double *z) {
  double fastest = 0.0;
  for (int32_t i = 0; i < 3 * reduction->problem->n; ++i) {
    const double *row = reduction->J_y + (int64_t)i * reduction->n_b;
    double w = 0.0;
    for (int32_t j = 0; j < reduction->n_b; ++j) {
      w += row[j] * row[j];
    }
    fastest = fmax(fastest, w * fabs(z[i]));
  }
  return fastest > invdyn_squeeze_limit * invdyn_velocity_scale(reduction);
}

static struct attempt attempt_coulomb(invdyn_solver *solver, int regularize) {
  struct attempt attempt =
      read_answer(invdyn_coulomb_solve(&solver->coulomb, solver->lcp, &solver->reduction,
                                       solver->stages.settings->edges, regularize, solver->z));
  if (attempt.has_impulses && squeezes(&solver->reduction, solver->z)) {
    attempt.outcome = INVDYN_INCONSISTENT_ACCELERATIONS;
    attempt.has_impulses = 0;
  }
  return attempt;
}

static struct attempt run_stages(invdyn_solver *solver) {
  const enum invdyn_distance_end end =
      invdyn_stages_solve(&solver->stages, &solver->reduction, solver->z);
  const invdyn_outcome outcome[] = {INVDYN_SOLVED, INVDYN_INCONSISTENT_ACCELERATIONS,
                                    INVDYN_ITERATION_LIMIT};
  struct attempt attempt = {.outcome = outcome[end],
                            .has_impulses = end != INVDYN_NO_POINT,
                            .pivots = solver->stages.distance.pivots,
                            .is_limited = solver->stages.n_limits > 0};
  /* the paper's form asks normals to open as far as they can */
  if (end == INVDYN_NEAREST && solver->stages.settings->stage_one == INVDYN_PAPER &&
      !attempt.is_limited) {
    double slip, approach;
    worst_velocities(solver, &slip, &approach);
    if (approach > invdyn_allowed_velocity(&solver->reduction, solver->result.u)) {
      attempt.outcome = INVDYN_INCONSISTENT_ACCELERATIONS;
      attempt.has_impulses = 0;
    }
  }
  return attempt;
}

/* Adds limits that torques would pass until none is passed that does not count. */
static struct attempt attempt_stages(invdyn_solver *solver) {
  struct attempt attempt = {.pivots = 0};
  invdyn_stages_begin(&solver->stages, solver->reduction.problem->n_q);
  do {
    const int32_t pivots = attempt.pivots;
    attempt = run_stages(solver);
    attempt.pivots += pivots;
  } while (attempt.has_impulses &&
           invdyn_stages_add_limits(&solver->stages, &solver->reduction, solver->z));
  return attempt;
}

static struct attempt attempt(invdyn_solver *solver, int regularize) {
  const invdyn_settings *settings = solver->stages.settings;
  if (solver->reduction.problem->n == 0) {
    return (struct attempt){.outcome = INVDYN_SOLVED, .has_impulses = 1};
  }
  switch (settings->controller) {
    case INVDYN_LCP_NOSLIP: return attempt_noslip(solver);
    case INVDYN_LCP_COULOMB: return attempt_coulomb(solver, regularize);
    case INVDYN_LCP_NEAREST:
      return read_answer(invdyn_nearest_lcp_solve(&solver->nearest_lcp, &solver->coulomb,
                                                  solver->qp, &solver->reduction, settings->edges,
                                                  solver->z));
    default: return attempt_stages(solver);
  }
}

/* ---- the solve ------------------------------------------------------------------------------- */

static int has_moved(const invdyn_solver *solver) {
  const struct invdyn_reduction *reduction = &solver->reduction;
  double moved = 0.0, fastest = 0.0;
  for (int32_t i = 0; i < reduction->problem->n_q; ++i) {
    moved = fmax(moved, fabs(solver->near[i] - reduction->v_q[i]));
    fastest = fmax(fastest, fabs(reduction->v_q[i]));
  }
  return moved > unmoved * fastest + round_off * fmin(reduction->free_scale, 1.0);
}

/* Tries the nearest joint velocities that have impulses, if the given ones have none. If both are
 * equal up to round-off, the controller has failed. */
static struct attempt attempt_nearest(invdyn_solver *solver, struct attempt before) {
  struct invdyn_reduction *reduction = &solver->reduction;
  if (!invdyn_nearest_joints(&solver->stages, reduction, solver->near)) {
    return before;
  }
  const int moved = has_moved(solver);
  if (moved && !solver->stages.settings->nearest) {
    return before;
  }
  memcpy(reduction->v_q, solver->near, (size_t)reduction->problem->n_q * sizeof(double));
  invdyn_set_joints(reduction);
  struct attempt again = attempt(solver, 1);
  again.pivots += before.pivots;
  if (again.has_impulses) {
    again.outcome = moved ? INVDYN_INCONSISTENT_ACCELERATIONS : again.outcome;
  } else if (again.outcome == INVDYN_INCONSISTENT_ACCELERATIONS) {
    again.outcome = INVDYN_RAY;
  }
  return again;
}

static void solve_checked(invdyn_solver *solver, const invdyn_settings *settings,
                          const invdyn_problem *problem, invdyn_solution *solution) {
  struct invdyn_reduction *reduction = &solver->reduction;
  solver->stages.settings = settings;
  solution->pivots = 0;
  solution->regularization = 0.0;
  if (!invdyn_reduce(reduction, problem)) {
    invdyn_write_zeros(problem, solution);
    solution->outcome = INVDYN_SINGULAR;
    return;
  }
  if (invdyn_is_noslip(settings)) {
    invdyn_hold_all(&solver->holding, reduction, settings->rank_tolerance);
  }
  memcpy(solver->result.desired, reduction->v_q, (size_t)problem->n_q * sizeof(double));
  struct attempt found = attempt(solver, 0);
  if (found.outcome == INVDYN_INCONSISTENT_ACCELERATIONS) {
    found = attempt_nearest(solver, found);
  }
  if (!found.has_impulses) {
    memset(solver->z, 0, 3 * (size_t)problem->n * sizeof(double));
  }
  invdyn_write(&solver->result, reduction, settings, solver->z, solution);
  solution->outcome = found.outcome;
  if (found.outcome == INVDYN_SOLVED) {
    solution->outcome =
        invdyn_check_result(&solver->result, reduction, settings, found.is_limited, solution);
  }
  solution->pivots = found.pivots;
  solution->regularization = found.regularization;
  if (!invdyn_keep_finite(problem, solution)) {
    solution->outcome = INVDYN_NON_FINITE;
  }
  if (settings->controller == INVDYN_LCP_NEAREST) {
    invdyn_nearest_lcp_store(&solver->nearest_lcp, problem, solution->tau);
  }
}

sap_status invdyn_solve(invdyn_solver *solver, const invdyn_settings *settings,
                        const invdyn_problem *problem, invdyn_solution *solution,
                        sap_error *error) {
  sap_status status = invdyn_reserve(solver, settings, problem, error);
  if (status == SAP_OK) {
    status = invdyn_check_arrays(settings, problem, solver->reduction.b, error);
  }
  if (status == SAP_OK) {
    solve_checked(solver, settings, problem, solution);
  }
  return status;
}
