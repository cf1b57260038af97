/* The motion of a step without contacts and other constraints.
 *
 *     A_t = M_t + dt D_t     D_t: slopes of the joint damping forces at v_0, or those of all smooth
 *                            forces (slopes.h)
 *     a*  = A^-1 f           f: all smooth forces but those of implicit controllers, damping -D v_0
 *                            included
 *     v*  = v_0 + dt a*      (10)
 *
 * The a* of the engine stays where a tree has neither damping nor such controllers: A = M is then
 * not factored here. Where it is, a* = S^T S f with the inverse S = U^-1 of its factor U U^T,
 * which the solver needs too: no block is factored or inverted twice.
 *
 * Ownership: arrays lie in the block that sap_free_motion_carve() is given. */
#ifndef SAPWOOD_STEP_DYNAMICS_FREE_MOTION_H
#define SAPWOOD_STEP_DYNAMICS_FREE_MOTION_H

#include "linalg/kernels.h"
#include "step/dynamics/slopes.h"
#include "problem/products/vectors.h"

/* one stored entry of the mass matrix: M[from] goes to two places of the block of its tree */
struct sap_mass_entry {
  int64_t lower, upper;
  int32_t from;
};

struct sap_free_motion {
  int64_t nA;       /* length of A */
  double *A;        /* blocks of the trees, one after the other */
  double *v_0;      /* (nv) velocity before the step, the solver's guess */
  double *a_star;   /* (nv) free acceleration, until sap_scatter */
  double *v_star;   /* (nv) */
  double *change;   /* (nv) of the velocity, by v* and by what implicit controllers do at v_0 */
  const double **S; /* (n_trees) inverse factors of the blocks that were factored, else NULL */

  const struct sap_forest *forest;
  const struct sap_vector_loops *loops;
  struct sap_slopes slopes; /* of smooth forces, where the forest has a pattern of them */
  double *inverse;          /* (nA) room for them */
  double *image;            /* (nv) room for S f */
  struct sap_mass_entry *mass_entries; /* tree by tree */
  int64_t *mass_begin;                 /* (n_trees + 1) */
  int32_t *parent;                     /* (nv) the branches of A, as in sap_problem */
  uint64_t *strips;                    /* (nv) and those of the inverses, as branches.h has them */
  uint8_t *damped;                     /* (n_trees) 1 where a joint has damping */
};

/* `forest` must outlive it. */
void sap_free_motion_create(struct sap_free_motion *motion, const struct sap_forest *forest);
void sap_free_motion_carve(struct sap_free_motion *motion, struct sap_arena *arena);

/* fills what follows from the forest, once the arrays lie in memory that is zero */
void sap_free_motion_prepare(struct sap_free_motion *motion);

/* Finds A, v_0, a* and v* of a step, after the elements were gathered. SAP_FAULT_MASS with the tree
 * or SAP_FAULT_FORCE with the dof in *index. */
enum sap_fault sap_free_motion_find(struct sap_free_motion *motion, double dt,
                                    const struct sap_model_state *state,
                                    const struct sap_element_gather *elements, int64_t *index);

/* Finds the change of the velocity, once v* is what the step begins with. */
void sap_free_motion_find_change(struct sap_free_motion *motion, double dt,
                                 const struct sap_element_gather *elements);

/* The inverse factor in motion->S of the block of a tree, which begins at `first` in A: of this
 * step, found now where it was not before. NULL where the block is not positive definite. */
const double *sap_free_motion_inverse(struct sap_free_motion *motion, int32_t tree, int64_t first);

/* x <- A^-1 x of a tree with that S; returns |S x|^2 */
double sap_free_motion_multiply(const struct sap_free_motion *motion, int32_t tree, const double *S,
                                double *x);

#endif
