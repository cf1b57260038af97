/* Finds the components of a problem, which are trees that constraints join, and chooses the storage
 * of each (dense.h).
 *
 * A component has the index of its first tree. A tree that is not joined to another one is a
 * component by itself. */
#ifndef SAPWOOD_SOLVER_DENSE_COMPONENTS_H
#define SAPWOOD_SOLVER_DENSE_COMPONENTS_H

#include "base/memory.h"
#include "sapwood.h"

/* Upper limits of a component in dense storage. IMPULSES: contact impulses; more would cost more
 * than A + J^T G J. FEWER_IMPULSES: the same with torsion, condensed rows or joined trees, unless
 * there are as many velocities. ROWS: rows beside contacts that are always unknowns. UNKNOWN_ROWS:
 * rows that are or may become unknowns. */
enum {
  SAP_DENSE_IMPULSES = 48,
  SAP_DENSE_FEWER_IMPULSES = 24,
  SAP_DENSE_ROWS = 6,
  SAP_DENSE_UNKNOWN_ROWS = 24
};

/* Counts over the dense components: the widest one, and sums. */
struct sap_component_counts {
  int32_t n_components, widest; /* velocities of the widest one */
  int32_t n_contacts;
  int64_t n_rows;
  int64_t n_joined_rows; /* rows of J over the velocities of several trees */
};

struct sap_components {
  struct sap_block block;
  int32_t room;           /* trees for which the arrays have room */
  int32_t n_trees, n_all; /* trees; components that a constraint touches */
  int32_t *first;         /* (n_trees) component of each tree */
  int32_t *size;      /* (n_trees) velocities of the component, at its first tree; otherwise 0 */
  int32_t *offset;    /* (n_trees) first velocity of a tree among those of its component */
  int32_t *touched;   /* (n_trees) -1 where no constraint touches the tree, otherwise 0 */
  int32_t *row_begin; /* (n_trees + 1) rows of the dense components, component by component */
  int32_t *contact_begin; /* (n_trees + 1) contacts of the dense components */
  int32_t *impulses;      /* (n_trees) impulses of the contacts of components */
  int8_t *is_unfit;       /* (n_trees) 1: a contact has a rigid core or breaks a rule */
  int32_t *island;        /* (n_trees) number of the tree's component among the touched ones */
  int8_t *is_dense;       /* (n_trees) 1: the tree's component has dense storage */
  int8_t *is_solved;      /* (n_trees) 1: the tree's component was solved in dense storage */
  struct sap_component_counts dense;
};

/* Finds the components of a problem with checked sizes; none is solved yet. Returns 0 when memory
 * ran out. */
int sap_components_find(struct sap_components *components, const sap_problem *problem,
                        const sap_settings *settings, const sap_allocator *allocator);

#endif
