/* Contacts of one tree, under Coulomb's friction, and the clamped rows beside them: the step
 * of dense.h to what all of them ask for. So are most steps of a robot that stands.
 *
 * Where rows are few, all impulses are unknowns. With S^T S = A^-1, Y = J S^T
 *
 *     v = v* + S^T Y^T gamma,   gamma: the law at v_hat - J v* - Y Y^T gamma
 *
 * which delassus_newton.h solves; S is there already, so that nothing is factored. It needs no
 * iterate: only the step from v* is taken, and it ends the solve or is not taken.
 *
 * Where rows are many, most of them stay as they are at an iterate v, between their bounds or at
 * one. They are condensed into H = A + sum J_r^T J_r/R over those between:
 * with H = L L^T, Y = J L^-T and b what they and the momentum ask for
 *
 *     dv = H^-1 b + L^-T Y^T gamma,   gamma: the law at v_hat - J v - J H^-1 b - Y Y^T gamma
 *
 * Rows that this would free or bring to a bound become unknowns of the same step (condensation.h).
 * */
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
  double *panel;   /* (ld, n) column-major: J, or H above J above a row for b */
  double *J;       /* its rows in the panel */
  int32_t ld;      /* of the panel, whole vectors where it has H */
  double *Y;       /* (m, n) column-major: J S^T; room for one row more */
  double *product; /* (n) Y^T gamma */
};

/* room for one tree of so many velocities, with contacts or without any */
void sap_dense_unknowns_carve(struct sap_dense_unknowns *unknowns, struct sap_arena *arena,
                              int32_t widest, int any);

/* what there is of one tree */
struct sap_unknowns_sizes {
  int32_t n; /* velocities */
  int32_t n_contacts, n_impulses, n_rows;
  int is_condensed;
};

/* impulses of a contact: tangential ones, those of torsion and rolling where it has any, the normal
 * one; as they were evaluated, in the units of delassus_newton.h. Returns how many. */
int32_t sap_dense_contact_impulses(const struct sap_dense_contact *contact, double gamma[6]);

/* Begins with the impulses of contacts, which were evaluated; those of rows are to follow. */
void sap_dense_unknowns_begin(struct sap_dense_unknowns *unknowns,
                              const struct sap_unknowns_sizes *sizes,
                              const struct sap_dense_contact *contact);

/* row i of them, which was evaluated */
void sap_dense_unknowns_add(const struct sap_dense_unknowns *unknowns, int32_t n, int32_t i,
                            const struct sap_dense_row *row);

/* S of a tree, as sap_invert_mass() writes it */
struct sap_tree_inverse {
  const double *S;
  const uint64_t *strips;
};

/* from v* of the tree, at which its contacts and rows were evaluated, to v (n) */
void sap_dense_unknowns_solve(struct sap_dense_unknowns *unknowns, int32_t n,
                              const struct sap_tree_inverse *inverse,
                              const struct sap_kernels *kernels,
                              const struct sap_vector_loops *loops, sap_impulses_function *find,
                              double *v);

/* Contacts of a problem, dense component by component and those of each in the order of the
 * problem, at contact_begin of the components. A component is unfit where a number breaks a rule.
 */
void sap_dense_contacts_list(const sap_problem *problem, struct sap_joined_trees *joined,
                             struct sap_dense_contact *contact);

/* v_c, gamma and all else of a contact at v; adds J^T gamma to the impulse, and returns its cost */
double sap_dense_contact_evaluate(struct sap_dense_contact *contact,
                                  const struct sap_vector_loops *loops, int32_t n, const double *v,
                                  double *impulse);

/* Adds to e what round-off may change of J^T gamma, as certificate.h has it, where so many terms
 * are summed into a velocity; returns its part of (25). */
double sap_dense_contact_certify(const struct sap_dense_contact *contact,
                                 const struct sap_vector_loops *loops, int32_t n, const double *v,
                                 double terms, double *e);

void sap_dense_contact_write(const struct sap_dense_contact *contact, const sap_solution *solution);

#endif
