/* The numbers of a triple, by its place in the order of the islands, in arrays in the shape of a
 * problem or of a solution: sap_differential, sap_response. */
#ifndef SAPWOOD_SOLVER_DERIVATIVES_PLACES_H
#define SAPWOOD_SOLVER_DERIVATIVES_PLACES_H

#include "solver/derivatives/sensitivity_object.h"

/* One side of the rows of a triple, in J or in numbers of its shape. */
struct sap_place_side {
  int32_t scalar, n; /* first velocity, number of velocities */
  int64_t offset, step;
};

struct sap_place_rows {
  double *J; /* the array, or NULL */
  int32_t n_rows, n_sides;
  struct sap_place_side side[2];
  const int32_t *dof; /* (n_rows) NULL unless rows have one entry each */
};

/* Returns the number of columns of one row of a side, and their first one in *first. */
static inline int32_t sap_columns_of(const struct sap_place_rows *rows, int side, int32_t row,
                                     int32_t *first) {
  *first = rows->side[side].scalar + (rows->dof ? rows->dof[row] : 0);
  return rows->dof ? 1 : rows->side[side].n;
}

/* Returns the rows of the triple at a place, in numbers with the shape of the problem's J. */
static inline struct sap_place_rows sap_rows_at_place(const struct sap_sensitivity *s,
                                                      int32_t place, const sap_differential *in) {
  const struct sap_graph *graph = &s->solver->plan.graph;
  const struct sap_triples *triples = &s->solver->plan.triples;
  const int32_t t = graph->triple[place], trees[2] = {triples->tree_a[t], triples->tree_b[t]};
  struct sap_place_rows rows = {.n_rows = 3, .n_sides = trees[1] < 0 ? 1 : 2};
  for (int side = 0; side < rows.n_sides; ++side) {
    rows.side[side].scalar = graph->tree.node_scalar[graph->tree_position[trees[side]]];
    rows.side[side].n = graph->tree_nv[trees[side]];
  }
  if (t < triples->n_contacts) {
    rows.J = in->J;
    rows.side[0].offset = graph->contact_J[place];
    rows.side[0].step = rows.side[0].n;
    rows.side[1].offset = rows.side[0].offset + 3 * (int64_t)rows.side[0].n;
    rows.side[1].step = rows.side[1].n;
    return rows;
  }
  const struct sap_triple_rows *of = &triples->rows[t - triples->n_contacts];
  const sap_constraints *group = of->group;
  rows.J = !group ? in->spin_J : in->groups ? in->groups[group - s->problem.groups].J : NULL;
  rows.n_rows = of->n;
  rows.dof = of->dof;
  rows.side[0].offset = of->J - (group ? group->J : s->problem.spin->J);
  rows.side[0].step = of->a_step;
  rows.side[1].offset = rows.side[0].offset + of->b;
  rows.side[1].step = of->b_step;
  return rows;
}

/* Returns the rows of a triple that is no contact's own. */
static inline const struct sap_triple_rows *sap_triple_rows_at_place(
    const struct sap_sensitivity *s, int32_t place) {
  const struct sap_origin origin =
      sap_graph_origin(&s->solver->plan.graph, &s->solver->plan.triples);
  return sap_rows_at(&origin, place);
}

/* Returns the address of entry i, or NULL for NULL. */
static inline double *sap_at(double *x, int64_t i) { return x ? x + i : NULL; }

/* Returns the place of `constant` of a row of a clamp; NULL if there is none. */
static inline double *sap_row_constant_at_place(const struct sap_sensitivity *s, int32_t place,
                                                enum sap_row_constant constant, int row,
                                                const sap_differential *in) {
  const struct sap_triple_rows *rows = sap_triple_rows_at_place(s, place);
  if (!in->groups) {
    return NULL;
  }
  const sap_group_differential *group = &in->groups[rows->group - s->problem.groups];
  double *const of[] = {group->R, group->lower, group->upper};
  return sap_at(of[constant], rows->row + row);
}

/* Returns the place of `constant` of a contact; NULL if there is none. */
static inline double *sap_contact_constant_at_place(const struct sap_sensitivity *s, int law,
                                                    int32_t place, int constant,
                                                    const sap_differential *in) {
  if (constant >= SAP_BY_SPIN) {
    const int pairs = sap_laws[law]->takes_pairs;
    return pairs ? sap_at(in->spin_mu, 3 * sap_triple_rows_at_place(s, place + 1)->row +
                                           (constant - SAP_BY_SPIN))
                 : NULL;
  }
  double *const of[] = {in->mu,    in->R_t,           in->R_n, in->friction_bound,
                        in->kappa, in->barrier_lambda};
  return sap_at(of[constant], s->solver->plan.graph.triple[place]);
}

/* Returns the place of v_hat of a row, or NULL. */
static inline double *sap_target_at_place(const struct sap_sensitivity *s, int law, int32_t place,
                                          int row, const sap_differential *in) {
  const struct sap_triples *triples = &s->solver->plan.triples;
  const int64_t i = s->solver->plan.graph.triple[place];
  if (sap_laws[law]->takes_rows) {
    const struct sap_triple_rows *rows = sap_triple_rows_at_place(s, place);
    return in->groups ? sap_at(in->groups[rows->group - s->problem.groups].v_hat, rows->row + row)
                      : NULL;
  }
  if (i >= triples->n_contacts) {
    return NULL; /* the angular rows have none */
  }
  return row < 2 ? sap_at(in->v_hat_t, 2 * i + row) : sap_at(in->v_hat_n, i);
}

/* Returns the place of a row's impulse, or NULL; second triples count as places of their own. */
static inline double *sap_impulse_at_place(const struct sap_sensitivity *s, int law, int32_t place,
                                           int row, const sap_response *in) {
  const struct sap_triples *triples = &s->solver->plan.triples;
  const int64_t i = s->solver->plan.graph.triple[place];
  if (sap_laws[law]->takes_rows) {
    return sap_at(in->group_gamma, sap_triple_rows_at_place(s, place)->place + row);
  }
  return i < triples->n_contacts
             ? sap_at(in->gamma, 3 * i + row)
             : sap_at(in->spin_gamma, 3 * sap_triple_rows_at_place(s, place)->row + row);
}

#endif
