#include "step/gather.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"
#include "step/joints/element_rows.h"
#include "step/joints/release.h"

static void set_fault(struct sap_gather *gather, enum sap_fault fault, int64_t index) {
  gather->fault = fault;
  gather->fault_index = index;
  gather->problem.n_contacts = 0;
  gather->problem.n_groups = 0;
  gather->problem.spin = NULL;
  gather->nJ = 0;
  gather->spins.spin.n = 0;
  gather->spins.nJ = 0;
}

/* ---- contacts ------------------------------------------------------------------------------- */

static int32_t rows_of(int32_t dim, enum sap_cone cone) {
  return dim == 1 || cone == SAP_CONE_ELLIPTIC ? dim : 2 * (dim - 1);
}

/* Returns the first row of a contact, -1 if it has none. */
static int32_t row_of(const struct sap_contact_list *list, int32_t i) {
  return list->left_out ? -1 : *sap_int32s_at(list->row, i);
}

/* Returns the reason why a contact of the list cannot be taken. */
static enum sap_fault fault_of(const struct sap_gather *gather,
                               const struct sap_listed_contact *contact,
                               const struct sap_contact_list *list, enum sap_cone cone) {
  const int32_t *geom = contact->geom, n_geoms = gather->forest->n_geoms;
  if (geom[0] >= n_geoms || geom[1] >= n_geoms || geom[0] < 0 || geom[1] < 0) {
    return SAP_FAULT_GEOM;
  }
  const int32_t dim = contact->dim;
  if (dim != 1 && dim != 3 && dim != 4 && dim != 6) {
    return SAP_FAULT_DIMENSION;
  }
  if (list->left_out) {
    return SAP_FAULT_NONE;
  }
  if (contact->row < 0) {
    return SAP_FAULT_OVERFLOW;
  }
  if (contact->row > list->n_rows - rows_of(dim, cone)) {
    return SAP_FAULT_ROWS;
  }
  return SAP_FAULT_NONE;
}

/* Marks a tree that a contact touches, and prepares its cdof. */
static void touch(struct sap_gather *gather, const struct sap_motion *motion, const double *cdof) {
  if (motion->tree >= 0 && !gather->touched[motion->tree]) {
    gather->touched[motion->tree] = 1;
    if (motion->columns == SAP_SIX) {
      const int64_t start = SAP_SIX * (int64_t)motion->first;
      sap_transpose_six(cdof + start, gather->transposed + start);
    }
  }
}

/* Lists a contact with its trees, whose blocks of J have so many columns together. Adds up the
 * lengths of J of the contacts and of their torsional friction. */
static void append_contact(struct sap_gather *gather, const struct sap_listed_contact *contact,
                           int32_t tree_a, int32_t tree_b, int64_t columns) {
  const int32_t n = gather->problem.n_contacts++;
  gather->tree_a[n] = tree_a;
  gather->tree_b[n] = tree_b;
  gather->nJ += 3 * columns;
  gather->spins.nJ += contact->dim > 3 ? 3 * columns : 0;
  gather->contacts[n] = *contact;
}

/* Lists a contact of two geoms if one of these can move. */
static void list_contact(struct sap_gather *gather, const double *cdof,
                         const struct sap_listed_contact *contact) {
  const struct sap_motion *one = gather->motion + contact->geom[0];
  const struct sap_motion *two = gather->motion + contact->geom[1];
  touch(gather, one, cdof);
  touch(gather, two, cdof);
  const struct sap_motion *a = one->tree < 0 ? two : one;
  const int other = one->tree >= 0 && two->tree >= 0 && one->tree != two->tree;
  if (a->tree < 0) {
    return;
  }
  append_contact(gather, contact, a->tree, other ? two->tree : -1,
                 a->columns + (int64_t)(other ? two->columns : 0));
}

/* Lists a contact of a flex with the trees that its rows move. */
static enum sap_fault list_flex_contact(struct sap_gather *gather, const struct sap_flex_rows *rows,
                                        const struct sap_listed_contact *contact) {
  int32_t tree[2];
  if (rows->list->left_out || !sap_flex_trees(rows, contact, tree)) {
    return SAP_FAULT_ROWS;
  }
  for (int side = 0; side < 2 && tree[side] >= 0; ++side) {
    gather->touched[tree[side]] = 1;
  }
  if (tree[0] >= 0) {
    append_contact(gather, contact, tree[0], tree[1], sap_width_of(gather->forest, tree));
  }
  return SAP_FAULT_NONE;
}

static int has_flexes_elsewhere(const struct sap_gather *gather) {
  return gather->elements.elements && gather->elements.elements->flexes_elsewhere;
}

/* Sets the sides of a contact that are flexes to the geoms of their surfaces. */
static void find_surfaces(const struct sap_gather *gather, const struct sap_contact_list *list,
                          struct sap_listed_contact *contact) {
  const struct sap_elements *e = gather->elements.elements;
  const int32_t n_flexes = e ? e->n_flexes : 0;
  for (int side = 0; side < 2 && list->flex.base; ++side) {
    const int32_t flex = sap_int32s_at(list->flex, contact->index)[side];
    if (contact->geom[side] < 0 && flex >= 0 && flex < n_flexes) {
      contact->geom[side] = gather->forest->n_geoms - n_flexes + flex;
    }
  }
}

/* Lists the active contacts of the engine, and returns the number of their rows. */
static int64_t list_contacts(struct sap_gather *gather, const struct sap_model_state *state,
                             const struct sap_contact_list *list,
                             const struct sap_element_state *elements, enum sap_cone cone) {
  const struct sap_flex_rows rows = {&gather->elements, elements, list, cone};
  int64_t n_rows = 0;
  memset(gather->touched, 0, (size_t)gather->forest->n_trees);
  for (int32_t i = 0; i < list->count; ++i) {
    if (*sap_int32s_at(list->exclude, i) != 0) {
      continue;
    }
    const int32_t *geom = sap_int32s_at(list->geom, i);
    struct sap_listed_contact contact = {.index = i,
                                         .row = row_of(list, i),
                                         .dim = *sap_int32s_at(list->dim, i),
                                         .face = -1,
                                         .geom = {geom[0], geom[1]}};
    const int of_flex = geom[0] < 0 || geom[1] < 0;
    if (of_flex && has_flexes_elsewhere(gather)) {
      n_rows += list->left_out ? 0 : rows_of(contact.dim, cone);
      continue;
    }
    if (of_flex) {
      find_surfaces(gather, list, &contact);
    }
    enum sap_fault fault = fault_of(gather, &contact, list, cone);
    if (fault == SAP_FAULT_NONE && of_flex) {
      fault = list_flex_contact(gather, &rows, &contact);
    } else if (fault == SAP_FAULT_NONE) {
      list_contact(gather, state->cdof, &contact);
    }
    if (fault != SAP_FAULT_NONE) {
      set_fault(gather, fault, i);
      return n_rows;
    }
    n_rows += list->left_out ? 0 : rows_of(contact.dim, cone);
  }
  return n_rows;
}

/* Lists the faces that make contacts, after the contacts of the engine. */
static void list_faces(struct sap_gather *gather, const double *cdof) {
  const struct sap_patches *patches = &gather->patches;
  for (int32_t s = 0; s < patches->found.n_pairs; ++s) {
    const int32_t pair = patches->pair[s], *geom = patches->fields.pair_geom + 2 * (int64_t)pair;
    struct sap_listed_contact contact = {
        .index = -1, .row = -1, .dim = patches->fields.pair_dim[pair], .geom = {geom[0], geom[1]}};
    for (int32_t f = patches->found.pair_start[s]; f < patches->found.pair_start[s + 1]; ++f) {
      if (patches->found.k[f] > 0.0) {
        contact.face = f;
        list_contact(gather, cdof, &contact);
      }
    }
  }
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* ratio of V_1 of problem/loads.h to the release speed */
static const double load_speed_share = 2.5;

/* Points the problem at the workspace. */
static void set_problem(struct sap_gather *gather, const sap_step_parameters *parameters) {
  sap_problem *problem = &gather->problem;
  gather->parameters = *parameters;
  gather->parameters.phi0 = gather->phi0;
  gather->parameters.k = gather->k;
  gather->parameters.tau_d = gather->tau_d;
  gather->parameters.delta = gather->has_barriers ? gather->delta : NULL;
  gather->parameters.slip_ratio = gather->slip_speed > 0.0 ? gather->slip_ratio : NULL;
  gather->parameters.release = gather->release;
  gather->parameters.body_w = gather->body_w;
  gather->parameters.rebound = gather->n_rebounds > 0 ? gather->rebound : NULL;
  const int has_loads =
      (!isinf(gather->release_speed) || gather->slip_speed > 0.0) && problem->n_contacts > 0;
  gather->parameters.free_change = has_loads ? gather->free_motion.change : NULL;
  gather->parameters.load_speed = load_speed_share * gather->release_speed;
  gather->parameters.slip_speed = gather->slip_speed;
  gather->parameters.groups = gather->elements.regularization;
  problem->n_trees = gather->forest->n_trees;
  problem->tree_nv = gather->forest->tree_dofnum;
  problem->A = gather->free_motion.A;
  problem->A_inverse_factor = gather->free_motion.S;
  problem->parent = gather->free_motion.parent;
  problem->v_star = gather->free_motion.v_star;
  problem->tree_a = gather->tree_a;
  problem->tree_b = gather->tree_b;
  problem->J = gather->J;
  problem->mu = gather->mu;
  problem->R_t = gather->R_t;
  problem->R_n = gather->R_n;
  problem->v_hat_n = gather->v_hat_n;
  problem->v_hat_t = gather->v_hat_t;
  problem->friction_bound = NULL;
  gather->spins.spin.J = gather->spins.J;
  problem->spin = gather->spins.spin.n > 0 ? &gather->spins.spin : NULL;
  problem->barrier = gather->has_barriers ? gather->barrier : NULL;
  problem->barrier_lambda = gather->has_barriers ? gather->barrier_lambda : NULL;
  problem->n_groups = gather->elements.n_groups;
  problem->groups = gather->elements.groups;
  sap_element_gather_parameters(&gather->elements, parameters);
}

/* Gathers the free motion, and constraints other than contacts; with the contacts they must account
 * for all rows of the engine. */
static sap_status gather_elements(struct sap_gather *gather, const struct sap_model_state *motion,
                                  const struct sap_contact_list *list,
                                  const struct sap_element_state *state, int64_t n_contact_rows) {
  struct sap_element_gather *elements = &gather->elements;
  enum sap_fault fault;
  int64_t index;
  elements->left_out = list->left_out;
  elements->open.dt = gather->dt;
  elements->open.v_0 = motion->qvel;
  elements->open.v_star = gather->free_motion.v_star;
  const sap_status status = sap_element_gather_begin(elements, state, &fault, &index);
  if (status != SAP_OK) {
    return status;
  }
  if (fault == SAP_FAULT_NONE && elements->n_engine_rows + n_contact_rows != gather->n_rows) {
    fault = SAP_FAULT_ROWS;
  }
  if (fault == SAP_FAULT_NONE) {
    fault = sap_free_motion_find(&gather->free_motion, gather->dt, motion, elements, &index);
  }
  if (fault == SAP_FAULT_NONE && !sap_element_gather_run(elements, state, gather->touched)) {
    fault = SAP_FAULT_ROWS;
  }
  if (fault != SAP_FAULT_NONE) {
    set_fault(gather, fault, index);
  }
  return SAP_OK;
}

sap_status sap_gather_run(struct sap_gather *gather, const struct sap_model_state *state,
                          const struct sap_contact_list *list,
                          const struct sap_element_state *elements, enum sap_cone cone,
                          const sap_step_parameters *parameters) {
  set_fault(gather, SAP_FAULT_NONE, -1);
  int32_t geom = -1;
  const sap_status status = sap_patches_find(&gather->patches, state, &geom);
  if (status == SAP_INVALID_ARGUMENT) {
    set_fault(gather, SAP_FAULT_PATCH, geom);
    return SAP_OK;
  }
  if (status != SAP_OK || gather->patches.n_contacts > INT32_MAX - 1 - list->count ||
      !sap_gather_make_room(gather, list->count + gather->patches.n_contacts)) {
    return SAP_OUT_OF_MEMORY;
  }
  gather->inactive.all_act = 0;
  if (gather->elements.elements) {
    memset(gather->elements.open.must_act, 0, gather->elements.open.n_sides);
  }
  return sap_gather_again(gather, state, list, elements, cone, parameters);
}

/* Collects the motion and the engine's parameters that determine the release of rows. */
static struct sap_release release_of(struct sap_gather *gather, const struct sap_model_state *state,
                                     const struct sap_contact_list *list,
                                     const struct sap_element_state *elements) {
  return (struct sap_release){.forest = gather->forest,
                              .dt = gather->dt,
                              .speed = gather->release_speed,
                              .rate = gather->release_rate,
                              .v = state->qvel,
                              .M = state->M,
                              .A = gather->free_motion.A,
                              .change = gather->free_motion.change,
                              .motion = gather->row_motion,
                              .rate_of = list->rate,
                              .engine = list->engine,
                              .D = elements ? elements->efc_D : NULL,
                              .KBIP = elements ? elements->efc_KBIP : NULL};
}

/* Does the change of the free motion matter: to the release of rows, and to loads of contacts? */
static int needs_change(const struct sap_gather *gather) {
  int any = gather->problem.n_contacts > 0;
  if (gather->free_motion.keeps_v_star) {
    return 0;
  }
  for (int32_t g = 0; g < gather->elements.n_groups; ++g) {
    const sap_constraints *group = &gather->elements.groups[g];
    any |= group->n > 0 && sap_kinds[group->kind]->released;
  }
  return any && !isinf(gather->release_speed);
}

sap_status sap_gather_again(struct sap_gather *gather, const struct sap_model_state *state,
                            const struct sap_contact_list *list,
                            const struct sap_element_state *elements, enum sap_cone cone,
                            const sap_step_parameters *parameters) {
  set_fault(gather, SAP_FAULT_NONE, -1);
  gather->dt = parameters->dt;
  gather->n_rows = list->n_rows;

  const int64_t n_contact_rows = list_contacts(gather, state, list, elements, cone);
  gather->n_listed = gather->problem.n_contacts;
  if (gather->fault == SAP_FAULT_NONE) {
    list_faces(gather, state->cdof);
  }
  sap_status status = SAP_OK;
  if (gather->fault == SAP_FAULT_NONE) {
    status = gather_elements(gather, state, list, elements, n_contact_rows);
  }
  if (status != SAP_OK || gather->fault != SAP_FAULT_NONE) {
    return status;
  }
  if (needs_change(gather)) {
    sap_free_motion_find_change(&gather->free_motion, gather->dt, &gather->elements);
  }
  const struct sap_release release = release_of(gather, state, list, elements);
  sap_release_elements(&release, &gather->elements);
  enum sap_fault fault;
  int64_t index;
  status = sap_gather_contacts(gather, state, list, elements, cone, &release, &fault, &index);
  if (status != SAP_OK) {
    return status;
  }
  if (fault != SAP_FAULT_NONE) {
    set_fault(gather, fault, index);
    return SAP_OK;
  }
  set_problem(gather, parameters);
  return SAP_OK;
}
