/* What rows_alone.h knows of a problem and of a tree. */
#ifndef SAPWOOD_SOLVER_DENSE_TREE_ALONE_H
#define SAPWOOD_SOLVER_DENSE_TREE_ALONE_H

#include "problem/regularization/regularization.h"
#include "problem/products/vectors.h"
#include "solver/dense/condensation.h"
#include "solver/dense/contacts_alone.h"
#include "solver/dense/component.h"
#include "solver/records.h"
#include "solver/dense/row_alone.h"

/* dense rows that go into H together */
enum { SAP_ROWS_AT_ONCE = 8 };

/* what there is room for */
struct sap_rows_room {
  int64_t nv, nA, n_rows, n_joined_rows;
  int32_t n_trees, n_contacts, widest, n_records;
};

struct sap_rows_alone {
  struct sap_block block; /* that all arrays lie in */
  struct sap_rows_room room;
  sap_sizes sizes;
  int32_t n_trees, n_contacts;
  struct sap_joined_trees joined; /* "tree" below is what they make one */
  struct sap_masses masses;
  int32_t *row_begin;                /* (n_trees + 1) rows by tree */
  int32_t *position;                 /* (n_trees) -1 where there are none */
  struct sap_row_alone *row;         /* (n_rows) */
  int32_t *entry;                    /* (n_rows, a few) those of rows that have no more, packed */
  double *few;                       /* (n_rows, a few) the entries */
  int32_t *contact_begin;            /* (n_trees + 1) contacts by tree */
  struct sap_contact_alone *contact; /* (n_contacts) */
  int32_t *impulses;                 /* (n_trees) of contacts */
  struct sap_unknowns_alone unknowns;
  struct sap_condensed condensed;
  sap_impulses_function *find_impulses;
  double *v; /* (nv) */
  struct sap_records records;

  /* of one tree */
  double *dw, *momentum, *momentum_star, *impulse, *gradient, *scale, *error, *dv; /* (widest) */
  double *of_rows; /* (widest) of the impulse, what rows give */
  double *root;    /* (8, widest) rows over sqrt(R) */
};

struct sap_tree_alone {
  int32_t island; /* its index among those of the problem */
  int32_t n;
  const double *A, *v_star;
  struct sap_tree_inverse inverse;
  double *v;
  struct sap_row_alone *row, *end;
  struct sap_contact_alone *contact, *contact_end;
  int32_t n_impulses; /* of contacts */
};

/* The lower triangle of H (ld, n) = A + sum J^T J/R over the rows that are free */
void sap_tree_alone_assemble(const struct sap_rows_alone *alone, const struct sap_tree_alone *tree,
                             double *H, int32_t ld);

#endif
