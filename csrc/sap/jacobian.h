/* Products with the Jacobian of the contacts, and H = A + J^T G J (VIII-A), island by island.
 *
 * J is packed patch by patch: all rows of the lower tree, then all of the higher one; each row (t1, t2, n of
 * one contact after the other) takes sap_stride(n) doubles. jacobian.c is compiled once per instruction
 * set, like the dense kernels. */
#ifndef SAPWOOD_SAP_JACOBIAN_H
#define SAPWOOD_SAP_JACOBIAN_H

#include "constraints/contact_pool.h"
#include "linalg/factorization.h"
#include "sap/graph.h"
#include "sap/reduction.h"

struct sap_jacobian {
  const struct sap_graph *graph;
  const struct sap_reduced_tree *const *reduced; /* (n_nodes) NULL for a whole tree */
  double *values;
};

struct sap_jacobian_loops {
  /* packs the rows of the problem's J; 0 where one is not finite */
  int (*pack)(const struct sap_jacobian *J, const struct sap_island *island, const double *from);

  /* the same where there are reduced trees: of those the columns that stay, which are finite */
  int (*pack_reduced)(const struct sap_jacobian *J, const struct sap_island *island,
                      const double *from);

  /* x_c = J x, one array per row of a contact: (n_contacts) by place */
  void (*multiply)(const struct sap_jacobian *J, const struct sap_island *island, const double *x,
                   double *const x_c[3]);

  /* the same, and bound = |J| |x| */
  void (*multiply_bounded)(const struct sap_jacobian *J, const struct sap_island *island,
                           const double *x, double *const x_c[3], double *const bound[3]);

  /* y = J^T x_c,  y = |J|^T x_c */
  void (*multiply_transposed)(const struct sap_jacobian *J, const struct sap_island *island,
                              double *const x_c[3], double *y);
  void (*multiply_transposed_absolute)(const struct sap_jacobian *J,
                                       const struct sap_island *island, double *const x_c[3],
                                       double *y);

  /* H = A + J^T G J into the places of a cleared factor: A by position, GJ scratch for one side of one
   * patch. Contacts with G_nn = 0 are passed over. */
  void (*assemble)(const struct sap_jacobian *J, const struct sap_island *island,
                   const double *const *A, const struct sap_contact_pool *contacts, double *GJ,
                   struct sap_factor *factor);
};

/* for the instruction set of number `set`, as in sap_kernels_of() */
const struct sap_jacobian_loops *sap_jacobian_loops_of(int32_t set);

#endif
