/* A small model with limits, tendons, equality constraints and controllers, whose arrays a test
 * fills by hand, and the rows of an engine beside them. */
#ifndef SAPWOOD_TESTS_ELEMENT_MODEL_H
#define SAPWOOD_TESTS_ELEMENT_MODEL_H

#include "check.h"
#include "step/joints/constraints.h"
#include "step/joints/element_rows.h"

enum { MOST_DOFS = 5, MOST_TREES = 3, ROWS = 12, OUTPUTS = 3 };

struct model {
  int32_t tree_dofadr[MOST_TREES], tree_dofnum[MOST_TREES];
  struct sap_forest forest;

  int32_t limit_joint[2], limit_ball[2], limit_qposadr[2], limit_dofadr[2];
  double limit_range[4], limit_k[2], limit_tau_d[2];
  int32_t tendon_tree[4], tendon_limited[2], rownnz[2], rowadr[2], colind[4];
  double tendon_range[4], tendon_k[2], tendon_tau_d[2];
  int32_t equality_kind[3], equality_tree[6];
  double frictionloss[MOST_DOFS], equality_k[6], equality_tau_d[3], equality_scale[3];
  int32_t output[2], controller_tree[4], group[2], dof[2];
  double gains[4], range[4], total[4];
  struct sap_elements elements;

  double qpos[6], efc_pos[ROWS], loss[ROWS], J[ROWS * MOST_DOFS], ten_length[2], ten_J[4];
  int32_t type[ROWS], id[ROWS], J_nnz[ROWS], J_adr[ROWS], J_col[ROWS * MOST_DOFS];
  double length[OUTPUTS], speed[OUTPUTS], moment[OUTPUTS], force[OUTPUTS];
  int32_t moment_nnz[OUTPUTS], moment_adr[OUTPUTS], moment_col[OUTPUTS];
  double qfrc_actuator[MOST_DOFS], qfrc_smooth[MOST_DOFS];
  struct sap_element_state state;
};

/* Makes forest, elements and state point to the arrays of the model. Elements that are counted
 * are those of `counts`. */
static inline void wire(struct model *m, int32_t n_trees, int32_t nv,
                        const struct sap_elements *counts) {
  struct sap_elements *e = &m->elements;
  m->forest = (struct sap_forest){
      .n_trees = n_trees, .nv = nv, .tree_dofadr = m->tree_dofadr, .tree_dofnum = m->tree_dofnum};
  *e = *counts;
  e->dof_frictionloss = m->frictionloss;
  e->limit_joint = m->limit_joint;
  e->limit_ball = m->limit_ball;
  e->limit_qposadr = m->limit_qposadr;
  e->limit_dofadr = m->limit_dofadr;
  e->limit_range = m->limit_range;
  e->limit_k = m->limit_k;
  e->limit_tau_d = m->limit_tau_d;
  e->tendon_tree = m->tendon_tree;
  e->tendon_limited = m->tendon_limited;
  e->tendon_range = m->tendon_range;
  e->tendon_k = m->tendon_k;
  e->tendon_tau_d = m->tendon_tau_d;
  e->ten_J_rownnz = m->rownnz;
  e->ten_J_rowadr = m->rowadr;
  e->ten_J_colind = m->colind;
  e->equality_kind = m->equality_kind;
  e->equality_tree = m->equality_tree;
  e->equality_k = m->equality_k;
  e->equality_tau_d = m->equality_tau_d;
  e->equality_scale = m->equality_scale;
  e->controller_output = m->output;
  e->controller_tree = m->controller_tree;
  e->controller_group = m->group;
  e->controller_dof = m->dof;
  e->controller_gains = m->gains;
  e->controller_range = m->range;
  e->controller_total = m->total;
  m->state = (struct sap_element_state){.qpos = m->qpos,
                                        .efc_type = m->type,
                                        .efc_id = m->id,
                                        .efc_pos = m->efc_pos,
                                        .efc_frictionloss = m->loss,
                                        .efc_J = m->J,
                                        .efc_J_rownnz = m->J_nnz,
                                        .efc_J_rowadr = m->J_adr,
                                        .efc_J_colind = m->J_col,
                                        .ten_length = m->ten_length,
                                        .ten_J = m->ten_J,
                                        .actuator_length = m->length,
                                        .actuator_velocity = m->speed,
                                        .moment_rownnz = m->moment_nnz,
                                        .moment_rowadr = m->moment_adr,
                                        .moment_colind = m->moment_col,
                                        .actuator_moment = m->moment,
                                        .actuator_force = m->force,
                                        .qfrc_actuator = m->qfrc_actuator,
                                        .qfrc_smooth = m->qfrc_smooth,
                                        .n_constraint_entries = ROWS * nv,
                                        .n_moment_entries = OUTPUTS};
}

/* Adds one row of the engine with an entry for every dof. */
static inline void add_row(struct model *m, int32_t type, int32_t id, double pos, double loss,
                           const double *J) {
  const int32_t i = m->state.n_rows++, nv = m->forest.nv;
  m->type[i] = type;
  m->id[i] = id;
  m->efc_pos[i] = pos;
  m->loss[i] = loss;
  for (int32_t j = 0; j < nv; ++j) {
    m->J[i * nv + j] = J[j];
    m->J_col[i * nv + j] = j;
  }
  m->J_nnz[i] = nv;
  m->J_adr[i] = i * nv;
}

/* Gathers the rows of a step whose limits all act. */
static inline sap_status gather_rows(struct sap_element_gather *g,
                                     const struct sap_element_state *state, uint8_t *touched,
                                     enum sap_fault *fault, int64_t *index) {
  const sap_status status = sap_element_gather_begin(g, state, fault, index);
  if (status == SAP_OK && *fault == SAP_FAULT_NONE && !sap_element_gather_run(g, state, touched)) {
    *fault = SAP_FAULT_ROWS;
  }
  return status;
}

#endif
