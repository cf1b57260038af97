/* Constraints that a contact problem cannot hold, ahead of it.
 *
 * A problem knows constraints of one or two trees. Those of tendons that move more, equality
 * constraints that sap_equality has not, and contacts of flexes, whose elements are between bodies
 * of their own, act on the free motion instead, by impulses lambda,
 *
 *     v* += A^-1 J^T lambda,     lower <= lambda <= upper,
 *
 * with which J v* stops a limit or a contact where it would be passed within the step, lets a
 * violation decay in SAP_PRESOLVE_TIME, and holds or brakes what has friction, whose bounds are mu
 * times the normal impulse in a contact: projected Gauss-Seidel over the rows. Other contacts and
 * all other constraints come after, and what they do to these shows in the next step.
 * Rows of one level move no tree in common, and a sweep takes level after level: what comes of it
 * is what comes of the order in which rows are listed, but a row need not wait for the one before.
 * No impulse is more than what stops its row, so that none gives energy but by that decay.
 *
 * Ownership: a sap_presolve owns its workspace, which grows as needed and is kept. */
#ifndef SAPWOOD_STEP_PRESOLVE_PRESOLVE_H
#define SAPWOOD_STEP_PRESOLVE_PRESOLVE_H

#include "step/joints/element_rows.h"
#include "step/dynamics/free_motion.h"
#include "step/contacts/listed_contact.h"

#define SAP_PRESOLVE_TIME 0.05 /* s, in which violations decay */

/* one row: the engine's times `sign`, and what it asks of its velocity */
struct sap_presolve_row {
  struct sap_engine_jacobian J;
  double sign;
  double velocity; /* that it wants, or the least that it lets be */
  double lower, upper;
  int64_t back; /* friction of a contact: the row of its normal is so many before; 0 elsewhere */
  double mu;
  int32_t engine_row; /* -1 for none */
  int32_t is_edge;    /* 1 where it moves two trees of three and is no friction */
  int64_t part;       /* the first of its parts */
  double w, inverse;  /* J A^-1 J^T, and its inverse; 0 where nothing moves */
  double impulse;
};

/* what a row has of one tree */
struct sap_presolve_part {
  int32_t tree;
  int32_t first, n; /* its dofs */
  int64_t at;       /* in `J` and `response` */
};

struct sap_presolve {
  int64_t n, n_parts, n_entries;  /* of this step; no fewer while room is made */
  struct sap_presolve_row *row;   /* (n + 1), the last one to end the parts */
  struct sap_presolve_part *part; /* (n_parts) */
  double *J, *response;           /* (n_entries) rows times their sign, and A^-1 J^T */
  int64_t *level, *order;         /* (n) of a row; rows by level, each as they are listed */
  int64_t *level_end;             /* (n + 1) in `order` */

  int flexes; /* 1 where contacts may be of flexes */
  int needed; /* 0: no element is ever held here, and nothing below is there */
  const struct sap_element_gather *elements;
  sap_allocator allocator;
  struct sap_block fixed, listed;
  int64_t *block; /* (n_trees + 1) where the block of A of a tree begins */
  int32_t *trees; /* (n_trees) of one row */
  uint8_t *is_in; /* (n_trees) 1 for these, else 0 */
  int64_t *place; /* (n_trees) of these: where the entries of dof 0 would be */
  int64_t *next;  /* (n_trees) the first level without a row that moves the tree */
  int32_t widest; /* dofs of the widest tree */
};

/* `elements` must outlive it; without elements there is nothing to be done. */
sap_status sap_presolve_create(struct sap_presolve *presolve,
                               const struct sap_element_gather *elements,
                               const sap_allocator *allocator);
void sap_presolve_release(struct sap_presolve *presolve);

/* 1 where a contact of these geoms is one of a flex, and held here */
static inline int sap_is_presolved_contact(const struct sap_presolve *presolve,
                                           const int32_t *geom) {
  return presolve->flexes && (geom[0] < 0 || geom[1] < 0);
}

/* Finds the rows and moves v* and a*; without rows everything stays as it is. SAP_INVALID_ARGUMENT:
 * a row has columns that are no dofs, or is none of the engine's. */
sap_status sap_presolve_run(struct sap_presolve *presolve, const struct sap_element_state *state,
                            const struct sap_contact_list *contacts, enum sap_cone cone, double dt,
                            struct sap_free_motion *motion);

/* Adds the forces to qfrc_constraint (nv) and to the engine's rows, which must still lie where
 * sap_presolve_run found them. */
void sap_presolve_scatter(const struct sap_presolve *presolve, double dt, double *qfrc_constraint,
                          double *rows);

#endif
