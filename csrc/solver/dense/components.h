/* The components of a problem, which are the trees that constraints join, and the storage that each
 * is solved in (dense.h).
 *
 * A component bears the index of its first tree. A tree that nothing joins to another one is a
 * component by itself. */
#ifndef SAPWOOD_SOLVER_DENSE_COMPONENTS_H
#define SAPWOOD_SOLVER_DENSE_COMPONENTS_H

#include "base/memory.h"
#include "sapwood.h"

/* Limits of a component in dense storage: its impulses of contacts, with more of which these cost
 * more than A + J^T G J; fewer of them where there is torsion or rolling, where rows are condensed
 * or trees are joined, unless it has as many velocities; its rows, with contacts, that are unknowns
 * from the beginning in any case; and its rows that are or may become unknowns. */
enum {
  SAP_DENSE_IMPULSES = 48,
  SAP_DENSE_FEWER_IMPULSES = 24,
  SAP_DENSE_ROWS = 6,
  SAP_DENSE_UNKNOWN_ROWS = 24
};

/* The largest counts over the components that are for dense storage, and their sums. */
struct sap_component_counts {
  int32_t n_components, widest; /* velocities of the widest one */
  int32_t n_contacts;
  int64_t n_rows;
  int64_t n_joined_rows; /* rows of J over the velocities of several trees */
};

struct sap_components {
  struct sap_block block;
  int32_t room;           /* trees that the arrays have room for */
  int32_t n_trees, n_all; /* trees; components that a constraint touches */
  int32_t *first;         /* (n_trees) the component of each tree */
  int32_t *size;      /* (n_trees) velocities of components, 0 of trees that are not the first */
  int32_t *offset;    /* (n_trees) first velocity of a tree among those of its component */
  int32_t *touched;   /* (n_trees) -1 where no constraint touches the tree, otherwise 0 */
  int32_t *row_begin; /* (n_trees + 1) rows of the dense components, component by component */
  int32_t *contact_begin; /* (n_trees + 1) and their contacts */
  int32_t *impulses;      /* (n_trees) impulses of the contacts of components */
  int8_t *is_unfit;       /* (n_trees) 1: a contact has a rigid core, or breaks a rule */
  int32_t *island;   /* (n_trees) number of the component of a tree among those that are touched */
  int8_t *is_dense;  /* (n_trees) 1: the component of the tree is for dense storage */
  int8_t *is_solved; /* (n_trees) 1: and was solved there */
  struct sap_component_counts dense;
};

/* Finds the components of a problem whose sizes have been checked, none of which is solved yet; 0
 * when memory ran out. */
int sap_components_find(struct sap_components *components, const sap_problem *problem,
                        const sap_settings *settings, const sap_allocator *allocator);

#endif
