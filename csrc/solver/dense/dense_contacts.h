/* Finds the step of dense.h for contacts of one tree with Coulomb's friction and clamped rows
 * beside them: the step that obeys all their laws. Most steps of a standing robot are of this kind.
 *
 * With few rows, all impulses are unknowns. With S^T S = A^-1, Y = J S^T
 *
 *     v = v* + S^T Y^T gamma,   gamma: the law at v_hat - J v* - Y Y^T gamma
 *
 * which delassus_newton.h solves. S exists already, so that nothing is factored. There is no
 * iterate: the step from v* ends the solve or is not taken.
 *
 * With many rows, most keep their state at an iterate v, between their bounds or at one. The rows
 * between their bounds are condensed into H = A + sum J_r^T J_r/R_r. With H = L L^T, Y = J L^-T and
 * the right-hand side b of rows and momentum
 *
 *     dv = H^-1 b + L^-T Y^T gamma,   gamma: the law at v_hat - J v - J H^-1 b - Y Y^T gamma
 *
 * Rows that this step would free or bring to a bound are activated (condensation.h). */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_CONTACTS_H
#define SAPWOOD_SOLVER_DENSE_DENSE_CONTACTS_H

#include "base/memory.h"
#include "linalg/kernels.h"
#include "solver/delassus/delassus_newton.h"
#include "solver/dense/joined_trees.h"
#include "solver/dense/dense_row.h"
#include "solver/dense/dense_torsion.h"

struct sap_dense_unknowns {
  struct sap_impulses impulses;
  double *panel;   /* (ld, n) column-major: J; with condensation H, J, then a row for b */
  double *J;       /* rows of J in the panel */
  int32_t ld;      /* stride of the panel, in whole vectors if it has H */
  double *Y;       /* (m + 1, n) column-major: J S^T, and room for one row */
  double *product; /* (n) Y^T gamma */
};

/* Carves room for one tree of so many velocities; `any`: it may have contacts. */
void sap_dense_unknowns_carve(struct sap_dense_unknowns *unknowns, struct sap_arena *arena,
                              int32_t widest, int any);

/* The sizes of the unknowns of one tree. */
struct sap_unknowns_sizes {
  int32_t n; /* velocities */
  int32_t n_contacts, n_impulses, n_rows;
  int is_condensed;
};

/* Writes the evaluated impulses of a contact in the units of delassus_newton.h: tangential,
 * torsional and rolling if it has any, normal. Returns their number. */
int32_t sap_dense_contact_impulses(const struct sap_dense_contact *contact, double gamma[6]);

/* Begins with the unknowns of contacts, which were evaluated. Rows follow. */
void sap_dense_unknowns_begin(struct sap_dense_unknowns *unknowns,
                              const struct sap_unknowns_sizes *sizes,
                              const struct sap_dense_contact *contact);

/* Adds row i, which was evaluated. */
void sap_dense_unknowns_add(const struct sap_dense_unknowns *unknowns, int32_t n, int32_t i,
                            const struct sap_dense_row *row);

/* The factor S of a tree, as sap_invert_mass() writes it. */
struct sap_tree_inverse {
  const double *S;
  const uint64_t *strips;
};

/* Moves v (n) from v* of the tree, where its contacts and rows were evaluated, to the solution. */
void sap_dense_unknowns_solve(struct sap_dense_unknowns *unknowns, int32_t n,
                              const struct sap_tree_inverse *inverse,
                              const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, sap_impulses_function *find,
                              double *v);

/* Lists the contacts of all dense components at contact_begin, each component in the order of the
 * problem. Marks a component unfit if a number breaks a rule. */
void sap_dense_contacts_list(const sap_problem *problem, struct sap_joined_trees *joined,
                             struct sap_dense_contact *contact);

/* Evaluates a contact at v. Adds J^T gamma to the impulse, and returns its cost. */
double sap_dense_contact_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  double *impulse);

/* Adds the bound on the round-off of J^T gamma (certificate.h) to e, for so many terms per
 * velocity. Returns the contact's part of (25). */
double sap_dense_contact_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e);

void sap_dense_contact_write(const struct sap_dense_contact *contact, const sap_solution *solution);

#endif
