#include "step/linear_step.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "constraints/kinds/kinds.h"

/* largest part of the way to another region that a difference goes */
static const double LARGEST_PART = 0.1;

/* ---- life ----------------------------------------------------------------------------------- */

static void carve_fixed(void *context, struct sap_arena *arena) {
  struct sap_linear_step *linear = context;
  const size_t nv = (size_t)linear->nv;
  linear->v = sap_arena_take(arena, nv, sizeof(double));
  linear->most = sap_arena_take(arena, nv, sizeof(double));
  linear->unit = sap_arena_take(arena, nv, sizeof(double));
  linear->column = sap_arena_take(arena, nv, sizeof(double));
  linear->inverse = sap_arena_take(arena, nv * nv, sizeof(double));
}

sap_status sap_linear_step_create(struct sap_linear_step **linear, const sap_stepper *stepper,
                                  const sap_settings *settings, sap_error *error) {
  const sap_allocator memory = stepper->memory;
  struct sap_linear_step *made = memory.allocate(sizeof *made, memory.context);
  *linear = NULL;
  if (!made) {
    return SAP_OUT_OF_MEMORY;
  }
  memset(made, 0, sizeof *made);
  made->memory = memory;
  made->nv = stepper->forest.nv;
  sap_status status = sap_sensitivity_create(&made->sensitivity, settings, &memory, error);
  if (status == SAP_OK && !sap_block_carve_zeros(&made->fixed, carve_fixed, made, &memory)) {
    status = SAP_OUT_OF_MEMORY;
  }
  if (status != SAP_OK) {
    sap_linear_step_destroy(made);
    return status;
  }
  *linear = made;
  return SAP_OK;
}

void sap_linear_step_destroy(struct sap_linear_step *linear) {
  if (linear) {
    const sap_allocator memory = linear->memory;
    sap_sensitivity_destroy(linear->sensitivity);
    sap_block_release(&linear->fixed, &memory);
    sap_block_release(&linear->rows, &memory);
    memory.release(linear, memory.context);
  }
}

/* ---- the largest difference ------------------------------------------------------------------ */

/* Bounds the changes of the positions of n velocities from `first` on, whose entries in a row of J
 * are given, so that the row moves by `way` at most. */
static void bound_changes(struct sap_linear_step *linear, const double *J, int32_t first, int32_t n,
                          double way) {
  for (int32_t j = 0; j < n; ++j) {
    const double speed = fabs(J[j]);
    if (speed > 0.0) {
      linear->most[first + j] = fmin(linear->most[first + j], way / speed);
    }
  }
}

static void bound_by_contacts(struct sap_linear_step *linear, const struct sap_gather *gather,
                              const int8_t *regions, const double *distance) {
  const sap_problem *p = &gather->problem;
  const sap_forest *forest = gather->forest;
  const double *J = p->J;
  for (int32_t c = 0; c < p->n_contacts; ++c) {
    const double time = gather->dt + gather->tau_d[c];
    const int acts = regions[c] != SAP_NO_CONTACT;
    double way = time * distance[c];
    if (acts) {
      way = fmin(way, fabs(gather->phi0[c]));
      linear->distance = fmin(linear->distance, distance[c]);
      ++linear->n_acting;
    }
    const int32_t tree[2] = {p->tree_a[c], p->tree_b[c]};
    for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
      const int32_t n = forest->tree_dofnum[tree[side]];
      bound_changes(linear, J + 2 * (int64_t)n, forest->tree_dofadr[tree[side]], n,
                    LARGEST_PART * way);
      J += 3 * (int64_t)n;
    }
  }
}

static void bound_by_group(struct sap_linear_step *linear, const struct sap_gather *gather,
                           const sap_constraints *group, const double *distance) {
  const sap_forest *forest = gather->forest;
  const double *J = group->J;
  for (int32_t i = 0; i < group->n; ++i) {
    const int32_t size = sap_rows_of(group, i), dof = group->dof ? group->dof[i] : -1;
    const int32_t tree[2] = {group->tree_a[i], dof < 0 ? group->tree_b[i] : -1};
    for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
      const int32_t first = forest->tree_dofadr[tree[side]] + (dof < 0 ? 0 : dof);
      const int32_t n = dof < 0 ? forest->tree_dofnum[tree[side]] : 1;
      for (int32_t r = 0; r < size; ++r, J += n) {
        bound_changes(linear, J, first, n, LARGEST_PART * gather->dt * distance[r]);
      }
    }
    distance += size;
  }
}

/* ---- the centre ------------------------------------------------------------------------------ */

struct row_arrays {
  int32_t n_contacts;
  int64_t n_rows;
  int8_t *regions;
  double *distance, *row_distance;
};

static void carve_rows(void *context, struct sap_arena *arena) {
  struct row_arrays *rows = context;
  rows->distance = sap_arena_take(arena, (size_t)rows->n_contacts, sizeof(double));
  rows->row_distance = sap_arena_take(arena, (size_t)rows->n_rows, sizeof(double));
  rows->regions = sap_arena_take(arena, (size_t)rows->n_contacts, 1);
}

/* Finds how far positions may change. */
static sap_status bound_all(struct sap_linear_step *linear, const struct sap_gather *gather) {
  const sap_problem *p = &gather->problem;
  struct row_arrays rows = {.n_contacts = p->n_contacts, .n_rows = gather->elements.n_rows};
  if (!sap_block_carve(&linear->rows, carve_rows, &rows, &linear->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  for (int32_t i = 0; i < linear->nv; ++i) {
    linear->most[i] = INFINITY;
  }
  linear->distance = INFINITY;
  linear->n_acting = 0;
  sap_sensitivity_regions(linear->sensitivity, rows.regions, rows.distance, rows.row_distance);
  bound_by_contacts(linear, gather, rows.regions, rows.distance);
  const double *distance = rows.row_distance;
  for (int32_t g = 0; g < p->n_groups; ++g) {
    bound_by_group(linear, gather, &p->groups[g], distance);
    for (int32_t i = 0; i < p->groups[g].n; ++i) {
      distance += sap_rows_of(&p->groups[g], i);
    }
  }
  return SAP_OK;
}

/* Multiplies each row of x (nv, nv) by A^-1, tree by tree. Returns the tree whose block of A is not
 * positive definite, or -1. */
static int32_t multiply_rows(const struct sap_linear_step *linear, struct sap_gather *gather,
                             double *x) {
  const sap_forest *forest = gather->forest;
  int64_t begin = 0;
  for (int32_t t = 0; t < forest->n_trees; ++t) {
    const double *S = sap_free_motion_inverse(&gather->free_motion, t, begin);
    if (!S) {
      return t;
    }
    for (int32_t row = 0; row < linear->nv; ++row) {
      sap_free_motion_multiply(&gather->free_motion, t, S,
                               x + (int64_t)row * linear->nv + forest->tree_dofadr[t]);
    }
    begin += (int64_t)forest->tree_dofnum[t] * forest->tree_dofnum[t];
  }
  return -1;
}

/* Finds H^-1 = (dv/dv*) A^-1, where H dv = A dv*. */
static sap_status find_inverse(struct sap_linear_step *linear, struct sap_gather *gather,
                               sap_error *error) {
  const int32_t nv = linear->nv;
  const sap_differential change = {.v_star = linear->unit};
  const sap_response response = {.v = linear->column};
  memset(linear->unit, 0, sizeof(double) * (size_t)nv);
  for (int32_t j = 0; j < nv; ++j) {
    sap_coupling coupling;
    linear->unit[j] = 1.0;
    const sap_status status =
        sap_sensitivity_jvp(linear->sensitivity, &change, 1, &response, &coupling, error);
    if (status != SAP_OK) {
      return status;
    }
    linear->unit[j] = 0.0;
    for (int32_t i = 0; i < nv; ++i) {
      linear->inverse[(int64_t)i * nv + j] = linear->column[i];
    }
  }
  const int32_t tree = multiply_rows(linear, gather, linear->inverse);
  return tree < 0 ? SAP_OK
                  : sap_fail_whole(error, SAP_NOT_POSITIVE_DEFINITE, SAP_ERROR_TREE, "A", tree, NAN,
                                   "must be positive definite");
}

sap_status sap_linear_step_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                const sap_step_arrays *arrays, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  if (stepper->solution.n_deep > 0) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "delta", -1, NAN,
                    "must not be exceeded at the start of a linearized step");
  }
  memcpy(linear->v, gather->v, sizeof(double) * (size_t)linear->nv);
  sap_status status = sap_stepper_gather(stepper, arrays, error);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0) {
    return status;
  }
  sap_linear_point point;
  status = sap_sensitivity_linearize(linear->sensitivity, &gather->problem, NULL, linear->v, NULL,
                                     &point, error);
  if (status == SAP_OK) {
    status = bound_all(linear, gather);
  }
  return status == SAP_OK ? find_inverse(linear, gather, error) : status;
}

/* ---- differences ----------------------------------------------------------------------------- */

sap_status sap_linear_step_residual(const struct sap_linear_step *linear, sap_stepper *stepper,
                                    const sap_step_arrays *arrays, double *F, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  const sap_status status = sap_stepper_gather(stepper, arrays, error);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0) {
    return status;
  }
  return sap_solver_evaluate(stepper->solver, &gather->problem, linear->v, NULL, F, NULL, NULL,
                             error);
}

void sap_linear_step_change(const struct sap_linear_step *linear, const double *dF, double *dv) {
  const int32_t nv = linear->nv;
  for (int32_t i = 0; i < nv; ++i) {
    const double *row = linear->inverse + (int64_t)i * nv;
    double sum = 0.0;
    for (int32_t j = 0; j < nv; ++j) {
      sum += row[j] * dF[j];
    }
    dv[i] = -sum;
  }
}
