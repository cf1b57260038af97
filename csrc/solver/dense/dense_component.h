/* The data of dense.h: arrays for all dense components, and a view of one component ("tree"). */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_COMPONENT_H
#define SAPWOOD_SOLVER_DENSE_DENSE_COMPONENT_H

#include "problem/regularization/regularization.h"
#include "problem/products/vectors.h"
#include "solver/dense/condensation.h"
#include "solver/dense/dense_contacts.h"
#include "solver/dense/joined_trees.h"
#include "solver/records.h"
#include "solver/dense/dense_row.h"

/* dense rows that are added to H together */
enum { SAP_ROWS_AT_ONCE = 8 };

/* The sizes of the arrays. */
struct sap_rows_room {
  int64_t n_rows, n_joined_rows;
  int64_t nv;
  int32_t n_contacts, widest, n_records;
};

struct sap_dense {
  struct sap_components components;
  struct sap_block block; /* memory of all arrays except those of `components` */
  struct sap_rows_room room;
  struct sap_joined_trees joined; /* trees of a component joined to one "tree" */
  struct sap_masses masses;       /* owned by the plan */
  sap_impulses_function *find_impulses;
  struct sap_dense_row *row; /* (n_rows) */
  int32_t *entry;            /* (n_rows, a few) velocities of the entries of sparse rows, packed */
  double *few;               /* (n_rows, a few) entries of sparse rows, packed */
  struct sap_dense_contact *contact; /* (n_contacts) */
  struct sap_dense_unknowns unknowns;
  struct sap_condensed condensed;
  double *v; /* (nv) */
  struct sap_records records;

  /* variables of one tree */
  double *dw, *momentum, *momentum_star, *impulse, *gradient, *scale, *error, *dv; /* (widest) */
  double *of_rows; /* (widest) part of the impulse from rows */
  double *root;    /* (8, widest) J/sqrt(R) of rows */
};

struct sap_dense_component {
  int32_t island; /* index of the island in the problem */
  int32_t n;
  const double *A, *v_star;
  struct sap_tree_inverse inverse;
  double *v;
  struct sap_dense_row *row, *end;
  struct sap_dense_contact *contact, *contact_end;
  int32_t n_impulses; /* impulses of contacts */
};

/* Writes the lower triangle of H (ld, n) = A + sum J^T J/R over the free rows. */
void sap_dense_component_assemble(const struct sap_dense *dense,
                                  const struct sap_dense_component *tree, double *H, int32_t ld);

#endif
