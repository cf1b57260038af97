/* The motion of a step without contacts and other constraints.
 *
 *     A_t = M_t + dt D_t     D_t: slopes of the joint damping forces at v_0, or those of all smooth
 *                            forces (slopes.h)
 *     a*  = A^-1 f           f: all smooth forces, damping -D v_0 included, without implicit
 *                            controllers
 *     v*  = v_0 + dt a*      (10)
 *
 * A tree without damping and such controllers keeps the a* of the engine: its A = M is not factored
 * here. For any other tree a* = S^T S f with the inverse S = U^-1 of the factor U U^T of A. The
 * solver uses the same S, so no block is factored or inverted twice. While a block stays the same,
 * from one call to the next, as in differences by velocities or controls, so does its S.
 *
 * Ownership: the arrays lie in the block that sap_free_motion_carve() is given. */
#ifndef SAPWOOD_STEP_DYNAMICS_FREE_MOTION_H
#define SAPWOOD_STEP_DYNAMICS_FREE_MOTION_H

#include "linalg/kernels/kernels.h"
#include "step/dynamics/slopes.h"
#include "problem/products/vectors.h"

/* One stored entry of the mass matrix: M[from] goes to two places of the block of its tree. */
struct sap_mass_entry {
  int64_t lower, upper;
  int32_t from;
};

struct sap_free_motion {
  int64_t nA;          /* length of A */
  double *A;           /* blocks of the trees, one after the other */
  double *v_0;         /* (nv) velocity before the step, initial guess of the solver */
  double *a_star;      /* (nv) free acceleration; sap_scatter overwrites it */
  double *v_star;      /* (nv) */
  const double *force; /* (nv) f, in arrays of the caller */
  double *change;      /* (nv) velocity change by v* and by implicit controllers at v_0 */
  const double **S;    /* (n_trees) inverse factors of the factored blocks, else NULL */

  const struct sap_forest *forest;
  const struct sap_vector_loops *loops;
  struct sap_slopes slopes; /* slopes of smooth forces, if the forest has their pattern */
  double *inverse;          /* (nA) memory of the inverse factors */
  double *before;           /* (nA) A of the last call of sap_free_motion_find() */
  uint8_t *is_of_before;    /* (n_trees) 1 if the inverse factor is that of `before` */
  double *image;            /* (nv) workspace for S f */
  struct sap_mass_entry *mass_entries; /* entries of the mass matrix, tree by tree */
  int64_t *mass_begin;                 /* (n_trees + 1) first entry of each tree */
  int32_t *parent;                     /* (nv) branches of A, as in sap_problem */
  uint64_t *strips;                    /* (nv) strips of the inverse factors, as in branches.h */
  uint8_t *damped;                     /* (n_trees) 1 if a joint has damping */
  int keeps_v_star; /* 1: v* and `change` stay, as in differences on which they do not act */
};

/* Sets up the struct; `forest` must outlive it. */
void sap_free_motion_create(struct sap_free_motion *motion, const struct sap_forest *forest);
void sap_free_motion_carve(struct sap_free_motion *motion, struct sap_arena *arena);

/* Fills the parts that follow from the forest, once the arrays lie in zeroed memory. */
void sap_free_motion_prepare(struct sap_free_motion *motion);

/* Returns 1 if a* of all trees is found by A, so that the one of the engine is not read. */
int sap_free_motion_solves_all(const struct sap_free_motion *motion,
                               const struct sap_element_gather *elements);

/* Finds A, v_0, a* and v* of a step, after the forces of controllers were removed. Faults set
 * *index: SAP_FAULT_MASS to the tree, SAP_FAULT_FORCE to the dof. */
enum sap_fault sap_free_motion_find(struct sap_free_motion *motion, double dt,
                                    const struct sap_model_state *state,
                                    const struct sap_element_gather *elements, int64_t *index);

/* Finds the change of the velocity, once v* is final. */
void sap_free_motion_find_change(struct sap_free_motion *motion, double dt,
                                 const struct sap_element_gather *elements);

/* Returns the inverse factor of the block of a tree in this step, and finds it if motion->S has
 * none yet; the block begins at `first` in A. NULL if the block is not positive definite. */
const double *sap_free_motion_inverse(struct sap_free_motion *motion, int32_t tree, int64_t first);

/* Sets x <- A^-1 x for a tree with that S; returns |S x|^2. */
double sap_free_motion_multiply(const struct sap_free_motion *motion, int32_t tree, const double *S,
                                double *x);

#endif
