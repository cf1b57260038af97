/* Finds the components of a problem, which are trees that constraints join, and chooses the storage
 * of each (dense.h).
 *
 * A component has the index of its first tree. A tree that is not joined to another one is a
 * component by itself. */
#ifndef SAPWOOD_SOLVER_DENSE_COMPONENTS_H
#define SAPWOOD_SOLVER_DENSE_COMPONENTS_H

#include "base/memory.h"
#include "problem/triples.h"
#include "solver/solver_tuning.h"

struct sap_components {
  struct sap_block block;
  int64_t version;        /* version of the triples; 0 with contacts: their numbers count */
  int32_t room;           /* trees for which the arrays have room */
  int32_t n_trees, n_all; /* trees; components that a constraint touches */
  int32_t n_dense;        /* components in dense storage */
  int32_t *first;         /* (n_trees) component of each tree */
  int32_t *size;       /* (n_trees) velocities of the component, at its first tree; otherwise 0 */
  int32_t *touched;    /* (n_trees) -1 where no constraint touches the tree, otherwise 0 */
  int32_t *n_rows;     /* (n_trees) clamped rows of components */
  int32_t *n_contacts; /* (n_trees) contacts of components */
  int32_t *impulses;   /* (n_trees) impulses of the contacts of components */
  int32_t *island;     /* (n_trees) number of the tree's component among the touched ones */
  int8_t *has_core;    /* (n_trees) 1: a contact of the component has a rigid core */
  int8_t *is_dense;    /* (n_trees) 1: the tree's component has dense storage */
  int8_t *is_other;    /* (n_trees) 1: it has not */
  int8_t *is_solved;   /* (n_trees) 1: the tree's component was solved in dense storage */
};

/* Finds the components of a problem with checked sizes and these triples; none is solved yet.
 * Returns 0 when memory ran out. */
int sap_components_find(struct sap_components *components, const sap_problem *problem,
                        const struct sap_triples *triples, const sap_settings *settings,
                        const sap_allocator *allocator);

#endif
