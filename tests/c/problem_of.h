/* A problem whose arrays are the fields of the same names of a struct. */
#ifndef SAPWOOD_TESTS_PROBLEM_OF_H
#define SAPWOOD_TESTS_PROBLEM_OF_H

#include "sapwood.h"

/* `sizes` are the velocities of each tree. Arrays that a test has beside these stay NULL. */
#define PROBLEM_OF(owner, sizes, trees, contacts) \
  ((sap_problem){.n_trees = (trees),              \
                 .n_contacts = (contacts),        \
                 .tree_nv = (sizes),              \
                 .A = (owner)->A,                 \
                 .v_star = (owner)->v_star,       \
                 .tree_a = (owner)->tree_a,       \
                 .tree_b = (owner)->tree_b,       \
                 .J = (owner)->J,                 \
                 .mu = (owner)->mu,               \
                 .R_t = (owner)->R_t,             \
                 .R_n = (owner)->R_n,             \
                 .v_hat_n = (owner)->v_hat_n})

#endif
