/* What dense.h knows of a problem and of a tree. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_COMPONENT_H
#define SAPWOOD_SOLVER_DENSE_DENSE_COMPONENT_H

#include "problem/regularization/regularization.h"
#include "problem/products/vectors.h"
#include "solver/dense/condensation.h"
#include "solver/dense/dense_contacts.h"
#include "solver/dense/joined_trees.h"
#include "solver/records.h"
#include "solver/dense/dense_row.h"

/* dense rows that go into H together */
enum { SAP_ROWS_AT_ONCE = 8 };

/* what there is room for */
struct sap_rows_room {
  int64_t n_rows, n_joined_rows;
  int64_t nv;
  int32_t n_contacts, widest, n_records;
};

struct sap_dense {
  struct sap_components components;
  struct sap_block block; /* the memory of all arrays but those of the components */
  struct sap_rows_room room;
  struct sap_joined_trees joined; /* "tree" below is what they make one */
  struct sap_masses masses;       /* the plan's */
  sap_impulses_function *find_impulses;
  struct sap_dense_row *row;         /* (n_rows) */
  int32_t *entry;                    /* (n_rows, a few) those of rows that have no more, packed */
  double *few;                       /* (n_rows, a few) the entries */
  struct sap_dense_contact *contact; /* (n_contacts) */
  struct sap_dense_unknowns unknowns;
  struct sap_condensed condensed;
  double *v; /* (nv) */
  struct sap_records records;

  /* of one tree */
  double *dw, *momentum, *momentum_star, *impulse, *gradient, *scale, *error, *dv; /* (widest) */
  double *of_rows; /* (widest) of the impulse, what rows give */
  double *root;    /* (8, widest) rows over sqrt(R) */
};

struct sap_dense_component {
  int32_t island; /* its index among those of the problem */
  int32_t n;
  const double *A, *v_star;
  struct sap_tree_inverse inverse;
  double *v;
  struct sap_dense_row *row, *end;
  struct sap_dense_contact *contact, *contact_end;
  int32_t n_impulses; /* of contacts */
};

/* The lower triangle of H (ld, n) = A + sum J^T J/R over the rows that are free */
void sap_dense_component_assemble(const struct sap_dense *dense,
                                  const struct sap_dense_component *tree, double *H, int32_t ld);

#endif
