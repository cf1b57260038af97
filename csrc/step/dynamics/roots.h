/* Kinematic trees of a forest, whose trees may have several roots: bodies that one constraint joins
 * are one tree of the problem, and turn by themselves. */
#ifndef SAPWOOD_STEP_DYNAMICS_ROOTS_H
#define SAPWOOD_STEP_DYNAMICS_ROOTS_H

#include "sapwood/model.h"

/* Returns the end of the dofs that hang on the root dof `first`: the next root, or nv. */
static inline int32_t sap_root_end(const sap_forest *forest, int32_t first) {
  int32_t end = first + 1;
  while (end < forest->nv && forest->dof_parentid[end] >= 0) {
    ++end;
  }
  return end;
}

#endif
