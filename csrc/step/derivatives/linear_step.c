#include "step/derivatives/linear_step.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "constraints/kinds/kinds.h"
#include "constraints/kinds/slip_sigma.h"
#include "problem/regularization/regularization.h"
#include "step/derivatives/difference_bounds.h"
#include "step/derivatives/held_slip.h"
#include "step/derivatives/softer_law.h"
#include "step/step_tuning.h"

/* ---- life ----------------------------------------------------------------------------------- */

static void carve_fixed(void *context, struct sap_arena *arena) {
  struct sap_linear_step *linear = context;
  const size_t nv = (size_t)linear->nv;
  linear->v = sap_arena_take(arena, nv, sizeof(double));
  linear->most = sap_arena_take(arena, nv, sizeof(double));
  linear->inverse.unit = sap_arena_take(arena, nv, sizeof(double));
  linear->inverse.column = sap_arena_take(arena, nv, sizeof(double));
  linear->F = sap_arena_take(arena, nv, sizeof(double));
  linear->J_gamma = sap_arena_take(arena, nv, sizeof(double));
  linear->A = sap_arena_take(arena, (size_t)linear->nA, sizeof(double));
  linear->inverse.matrix = sap_arena_take(arena, nv * nv, sizeof(double));
  linear->rate = sap_arena_take(arena, nv, sizeof(double));
  linear->inverse.is_moved = sap_arena_take(arena, (size_t)linear->forest->n_trees, 1);
  linear->acting = sap_arena_take(arena, linear->n_sides, 1);
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
  made->forest = &stepper->forest;
  made->soften = 1.0;
  made->nA = stepper->gather.free_motion.nA;
  made->n_sides = stepper->gather.elements.open.n_sides;
  sap_status status = sap_sensitivity_create(&made->sensitivity, settings, &memory, error);
  made->inverse = (struct sap_linear_inverse){
      .forest = made->forest, .sensitivity = made->sensitivity, .nv = made->nv};
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

/* ---- the centre ------------------------------------------------------------------------------ */

/* Carves the arrays of the centre's contacts and rows. */
static void carve_rows(void *context, struct sap_arena *arena) {
  struct sap_linear_step *linear = context;
  const size_t n = (size_t)linear->n_contacts, n_rows = (size_t)linear->n_rows;
  linear->contact_distance = sap_arena_take(arena, n, sizeof(double));
  linear->row_distance = sap_arena_take(arena, n_rows, sizeof(double));
  linear->gap_way = sap_arena_take(arena, n, sizeof(double));
  linear->turn_way = sap_arena_take(arena, n, sizeof(double));
  linear->regions = sap_arena_take(arena, n, 1);
  linear->geom = sap_arena_take(arena, 2 * n, sizeof(int32_t));
  linear->offset = sap_arena_take(arena, 3 * n, sizeof(double));
  linear->released = sap_arena_take(arena, n, 1);
  linear->slip = sap_arena_take(arena, n, sizeof(double));
  linear->slip_direction = sap_arena_take(arena, 2 * n, sizeof(double));
  linear->row_slip = sap_arena_take(arena, n_rows, sizeof(double));
  linear->contact = sap_arena_take(arena, SAP_CONTACT_NUMBERS * n, sizeof(double));
  linear->row_value = sap_arena_take(arena, (SAP_ELEMENT_VALUES + 2) * n_rows, sizeof(double));
  linear->label = sap_arena_take(arena, n_rows, sizeof *linear->label);
  sap_law_numbers_carve(&linear->law, arena);
  linear->by_number =
      sap_arena_take(arena, (size_t)linear->n_numbers * (size_t)linear->law.n, sizeof(double));
  sap_mass_slopes_carve(&linear->masses, arena);
}

static struct sap_difference_bounds bounds_of(const struct sap_linear_step *linear,
                                              const struct sap_gather *gather) {
  return (struct sap_difference_bounds){.gather = gather,
                                        .v = linear->v,
                                        .gap_way = linear->gap_way,
                                        .turn_way = linear->turn_way,
                                        .rate = linear->rate};
}

/* Finds how far positions may change. */
static void bound_all(struct sap_linear_step *linear, const struct sap_gather *gather) {
  struct sap_difference_bounds bounds = bounds_of(linear, gather);
  bounds.most = linear->most;
  sap_sensitivity_regions(linear->sensitivity, linear->regions, linear->contact_distance,
                          linear->row_distance);
  sap_bound_differences(&bounds, linear->regions, linear->contact_distance, linear->row_distance);
  linear->distance = bounds.distance;
  linear->n_acting = bounds.n_acting;
}

double sap_linear_step_reach(const struct sap_linear_step *linear, const sap_stepper *stepper,
                             const double *x) {
  struct sap_difference_bounds bounds = bounds_of(linear, &stepper->gather);
  bounds.x = x;
  for (int32_t i = 0; i < linear->nv; ++i) {
    bounds.size = sap_larger(fabs(x[i]), bounds.size);
  }
  sap_bound_differences(&bounds, linear->regions, linear->contact_distance, linear->row_distance);
  return bounds.reach;
}

/* Returns 1 if the violation of contact c is corrected more slowly than in one step. */
static int8_t is_released(const struct sap_gather *gather, int32_t c) {
  const double full = fabs(gather->phi0[c]) / (gather->dt + gather->tau_d[c]);
  return gather->rebound[c] == 0.0 && fabs(gather->v_hat_n[c]) < (1.0 - 1e-9) * full;
}

/* Keeps which contacts of the centre are released, or compares those of another state. */
static void watch_release(struct sap_linear_step *linear, const struct sap_gather *gather,
                          int keep) {
  for (int32_t c = 0; c < linear->n_contacts && c < gather->problem.n_contacts; ++c) {
    if (keep) {
      linear->released[c] = is_released(gather, c);
    } else if (memcmp(linear->geom + 2 * (int64_t)c, gather->contacts[c].geom,
                      2 * sizeof(int32_t)) == 0) {
      linear->crosses_release |= linear->released[c] != is_released(gather, c);
    }
  }
}

static struct sap_softer_law softer_law(const struct sap_linear_step *linear) {
  return (struct sap_softer_law){linear->soften, linear->v, linear->n_contacts, linear->geom,
                                 linear->offset};
}

static void hold_slip(const struct sap_linear_step *linear, struct sap_gather *gather, int keep) {
  const struct sap_held_slip held = {.n_contacts = linear->n_contacts,
                                     .n_rows = linear->n_rows,
                                     .geom = linear->geom,
                                     .contact = linear->slip,
                                     .direction = linear->slip_direction,
                                     .row = linear->row_slip};
  sap_hold_slip(&held, gather, keep);
}

/* ---- sources of R, v_hat and bounds ---------------------------------------------------------- */

/* Copies n numbers to *kept, or compares them with it; advances *kept. Returns 0 if they differ. */
static int visit(const double *x, int64_t n, int keep, double **kept) {
  const size_t bytes = sizeof(double) * (size_t)n;
  int same = 1;
  if (keep && n > 0) {
    memcpy(*kept, x, bytes);
  } else if (n > 0) {
    same = memcmp(*kept, x, bytes) == 0;
  }
  *kept += n;
  return same;
}

/* Keeps the numbers from which R, v_hat and bounds follow at the present positions, or compares
 * them with those of the centre. */
static int visit_constants(const struct sap_linear_step *linear, const struct sap_gather *gather,
                           int keep) {
  const struct sap_element_gather *e = &gather->elements;
  const int64_t n = linear->n_contacts;
  double *kept = linear->contact;
  int same = visit(gather->phi0, n, keep, &kept) && visit(gather->k, n, keep, &kept) &&
             visit(gather->tau_d, n, keep, &kept) && visit(gather->mu, n, keep, &kept) &&
             visit(gather->release, n, keep, &kept) && visit(gather->v_hat_t, 2 * n, keep, &kept) &&
             visit(gather->body_w, 2 * n, keep, &kept) && visit(gather->rebound, n, keep, &kept) &&
             visit(gather->slip_ratio, gather->slip_speed > 0.0 ? n : 0, keep, &kept);
  kept = linear->row_value;
  for (int32_t g = 0; g < e->n_groups && same; ++g) {
    const int64_t first = e->first_row[g], n_rows = e->first_row[g + 1] - first;
    const int32_t n_values = sap_kind_parameters(e->groups[g].kind);
    for (int32_t p = 0; p < n_values && same; ++p) {
      same = visit(e->parameter[g][p], n_rows, keep, &kept);
    }
    if (e->n_released > 0) {
      same = same && visit(e->release + first, n_rows, keep, &kept) &&
             visit(e->release_impulse + first, n_rows, keep, &kept);
    }
  }
  return same;
}

/* Returns 1 if the present problem, at the positions of the centre, has its J^T gamma at its v. */
static int has_same_impulses(const struct sap_linear_step *linear,
                             const struct sap_gather *gather) {
  const sap_problem *p = &gather->problem;
  return !linear->loads_act && p->n_contacts == linear->n_contacts &&
         p->n_groups == linear->n_groups && gather->elements.n_rows == linear->n_rows &&
         memcmp(linear->A, p->A, sizeof(double) * (size_t)linear->nA) == 0 &&
         visit_constants(linear, gather, 0);
}

/* Adds A (v - v*) of the present problem to y, as A (v - v_0) - dt f: at rest v - v_0 is tiny, and
 * v* is not. */
static void add_free(const struct sap_linear_step *linear, const struct sap_gather *gather,
                     double *y) {
  const struct sap_free_motion *motion = &gather->free_motion;
  const double *column = motion->A;
  int32_t first = 0;
  for (int32_t t = 0; t < gather->problem.n_trees; first += gather->problem.tree_nv[t], ++t) {
    const int32_t n = gather->problem.tree_nv[t];
    sap_vector_add(n, -gather->dt, motion->force + first, y + first);
    for (int32_t j = first; j < first + n; ++j, column += n) {
      sap_vector_add(n, linear->v[j] - motion->v_0[j], column, y + first);
    }
  }
}

/* Returns 1 unless R of all rigid contacts is that without a load: R_n/R_t then follows from sigma,
 * because both are in proportion to w. */
static int may_be_loaded(const struct sap_gather *gather) {
  const sap_parameters *p = &gather->parameters;
  int any = 0;
  for (int32_t c = 0; p->free_change && c < gather->problem.n_contacts; ++c) {
    const double sigma = p->slip_ratio ? sap_sigma_of_slip(p->sigma, p->slip_ratio[c]) : p->sigma;
    const double R_nr = sap_near_rigid(p->beta) * gather->R_t[c] / sigma;
    const double excess = gather->R_n[c] / R_nr - 1.0;
    any |= (isinf(gather->k[c]) ? fabs(excess) : -excess) > 1e-9 || is_released(gather, c);
  }
  return any;
}

/* Keeps the numbers of the centre's problem. */
static void keep_centre(struct sap_linear_step *linear, struct sap_gather *gather) {
  linear->loads_act = may_be_loaded(gather) || gather->elements.n_released > 0;
  for (int32_t c = 0; c < linear->n_contacts; ++c) {
    memcpy(linear->geom + 2 * (int64_t)c, gather->contacts[c].geom, 2 * sizeof(int32_t));
  }
  memcpy(linear->A, gather->problem.A, sizeof(double) * (size_t)linear->nA);
  hold_slip(linear, gather, 1);
  visit_constants(linear, gather, 1);
  if (linear->n_rows > 0) { /* without rows there is no array to copy */
    memcpy(linear->label, gather->elements.label, sizeof *linear->label * (size_t)linear->n_rows);
  }
  sap_softer_law_find(softer_law(linear), gather);
  linear->crosses_release = linear->crosses_set = 0;
  watch_release(linear, gather, 1);
}

/* Linearizes the law of the centre, and finds F and J^T gamma. */
static sap_status linearize(struct sap_linear_step *linear, const struct sap_gather *gather,
                            sap_error *error) {
  sap_problem problem = sap_law_numbers_problem(&linear->law, gather);
  sap_linear_point point;
  problem.A = linear->A; /* other states replace that of the gather before the last solve */
  problem.v_star = linear->v;
  const sap_status status = sap_sensitivity_linearize(linear->sensitivity, &problem, NULL,
                                                      linear->v, NULL, &point, error);
  if (status == SAP_OK) {
    memset(linear->F, 0, sizeof(double) * (size_t)linear->nv);
    sap_sensitivity_gradient(linear->sensitivity, linear->F);
    for (int32_t i = 0; i < linear->nv; ++i) {
      linear->J_gamma[i] = -linear->F[i];
    }
    add_free(linear, gather, linear->F);
  }
  return status;
}

/* Gathers the problem of the step that was solved last, unless the gather has it. */
static sap_status gather_centre(struct sap_linear_step *linear, sap_stepper *stepper,
                                const sap_step_arrays *arrays, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  sap_open_limits_keep(&gather->elements.open, linear->acting);
  if (sap_has_problem_of_start(stepper)) {
    return SAP_OK;
  }
  const sap_status status = sap_stepper_gather_numbers(stepper, arrays, linear->acting);
  return status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0
             ? status
             : sap_stepper_regularize(stepper, error);
}

sap_status sap_linear_step_find(struct sap_linear_step *linear, sap_stepper *stepper,
                                const sap_step_arrays *arrays, int32_t n_changes,
                                sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  if (stepper->solution.n_deep > 0) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "delta", -1, NAN,
                    "must not be exceeded at the start of a linearized step");
  }
  memcpy(linear->v, gather->v, sizeof(double) * (size_t)linear->nv);
  sap_status status = gather_centre(linear, stepper, arrays, error);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0) {
    return status;
  }
  if (linear->soften != 1.0 && (gather->problem.spin || gather->problem.barrier)) {
    return sap_fail(error, SAP_INVALID_ARGUMENT, "soften", -1, linear->soften,
                    "must be 1 for contacts with torsional friction or a rigid core");
  }
  linear->n_contacts = gather->problem.n_contacts;
  linear->n_groups = gather->problem.n_groups;
  linear->n_rows = gather->elements.n_rows;
  linear->has_whole_blocks = gather->parameters.delassus == SAP_DELASSUS_BLOCK;
  sap_law_numbers_measure(&linear->law, gather);
  sap_mass_slopes_measure(&linear->masses, gather);
  if (!sap_block_carve(&linear->rows, carve_rows, linear, &linear->memory)) {
    return SAP_OUT_OF_MEMORY;
  }
  keep_centre(linear, gather);
  sap_soften(softer_law(linear), gather);
  sap_law_numbers_keep(&linear->law, gather);
  status = linearize(linear, gather, error);
  if (status != SAP_OK) {
    return status;
  }
  bound_all(linear, gather);
  return sap_linear_inverse_find(&linear->inverse, gather, n_changes >= linear->nv, error);
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Returns 1 if all rows are of the elements of the centre's rows. The engine may list other rows:
 * a lean step has none. */
static int has_same_rows(const struct sap_linear_step *linear, const struct sap_gather *gather) {
  int same = gather->elements.n_rows == linear->n_rows;
  for (int32_t i = 0; i < linear->n_rows && same; ++i) {
    const struct sap_row_label a = linear->label[i], b = gather->elements.label[i];
    same = a.element == b.element && a.index == b.index && a.part == b.part;
  }
  return same;
}

/* Returns 1 if the present problem has the constraints of the centre, with open contacts open: they
 * have another dissipation time. */
static int has_same_set(const struct sap_linear_step *linear, struct sap_gather *gather) {
  const double *tau_d = linear->contact + 2 * (int64_t)linear->n_contacts; /* as visited above */
  int same = gather->problem.n_contacts == linear->n_contacts && has_same_rows(linear, gather) &&
             sap_law_numbers_count(gather) == linear->law.n;
  for (int32_t c = 0; c < linear->n_contacts && same; ++c) {
    same =
        tau_d[c] == gather->tau_d[c] &&
        memcmp(linear->geom + 2 * (int64_t)c, gather->contacts[c].geom, 2 * sizeof(int32_t)) == 0;
  }
  return same;
}

/* Writes -J^T gamma of the present problem. */
static sap_status find_impulses(const struct sap_linear_step *linear, sap_stepper *stepper,
                                double *F, sap_error *error) {
  sap_problem problem = stepper->gather.problem;
  problem.v_star = linear->v;
  return sap_solver_gradient(stepper->solver, &problem, linear->v, F, error);
}

/* Adds a row of `by_number` times `width` to the changes of the law's numbers. */
static void add_number(struct sap_linear_step *linear) {
  if (linear->along) {
    sap_vector_add((int32_t)linear->law.n, linear->width, linear->along, linear->law.change);
  }
}

/* Writes that of the centre, and adds the derivative along the changes of the law's numbers. */
static sap_status add_law_change(struct sap_linear_step *linear, const struct sap_gather *gather,
                                 double *F, sap_error *error) {
  sap_law_numbers_subtract(&linear->law, gather);
  add_number(linear);
  const sap_status status =
      sap_sensitivity_momentum(linear->sensitivity, &linear->law.by, 0, F, error);
  for (int32_t i = 0; i < linear->nv && status == SAP_OK; ++i) {
    F[i] = -F[i] - linear->J_gamma[i];
  }
  return status;
}

sap_status sap_linear_step_along(struct sap_linear_step *linear, double *F, sap_error *error) {
  if (!linear->along) {
    return SAP_OK;
  }
  sap_law_numbers_clear(&linear->law);
  add_number(linear);
  const sap_status status = sap_sensitivity_momentum(linear->sensitivity, &linear->law.by, 0,
                                                     linear->inverse.column, error);
  if (status == SAP_OK) {
    sap_vector_add(linear->nv, -1.0, linear->inverse.column, F);
  }
  return status;
}

sap_status sap_linear_step_residual(struct sap_linear_step *linear, sap_stepper *stepper,
                                    const sap_step_arrays *arrays, int in_place, double *F,
                                    sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  const int is_of_centre = linear->forest == &stepper->forest; /* which has v* in its gather */
  gather->free_motion.keeps_v_star = is_of_centre && !linear->loads_act;
  sap_status status = sap_stepper_gather_numbers(stepper, arrays, linear->acting);
  gather->free_motion.keeps_v_star = 0;
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0) {
    return status;
  }
  hold_slip(linear, gather, 0);
  if (in_place && has_same_impulses(linear, gather)) {
    for (int32_t i = 0; i < linear->nv; ++i) {
      F[i] = -linear->J_gamma[i];
    }
    add_free(linear, gather, F);
    return SAP_OK;
  }
  status = sap_stepper_regularize(stepper, error);
  if (status != SAP_OK) {
    return status;
  }
  watch_release(linear, gather, 0);
  sap_soften(softer_law(linear), gather);
  const int is_same = !linear->is_law_linear || has_same_set(linear, gather);
  linear->crosses_set |= !is_same;
  if (linear->is_law_linear && is_same) {
    status = add_law_change(linear, gather, F, error);
  } else {
    status = find_impulses(linear, stepper, F, error);
    status = status == SAP_OK ? sap_linear_step_along(linear, F, error) : status;
  }
  add_free(linear, gather, F);
  return status;
}

sap_status sap_linear_step_write(const struct sap_linear_step *linear, sap_stepper *stepper,
                                 const sap_step_arrays *arrays, const double *v, sap_error *error) {
  struct sap_gather *gather = &stepper->gather;
  sap_status status = sap_stepper_gather_numbers(stepper, arrays, NULL);
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE || linear->nv == 0) {
    return status;
  }
  hold_slip(linear, gather, 0);
  status = sap_stepper_regularize(stepper, error);
  if (status != SAP_OK) {
    return status;
  }
  sap_soften(softer_law(linear), gather);
  return sap_stepper_write_at(stepper, arrays, v, error);
}

sap_status sap_linear_step_change(struct sap_linear_step *linear, const double *dF, double *dv,
                                  sap_error *error) {
  return sap_linear_inverse_apply(&linear->inverse, dF, dv, error);
}
