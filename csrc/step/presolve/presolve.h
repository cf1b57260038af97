/* The presolve: constraints that a contact problem cannot represent act on its free motion.
 *
 * A problem has constraints of one or two trees. Three kinds of constraints do not fit: tendons
 * that move more trees, equality constraints without a type in sap_equality, and contacts of
 * flexes, whose elements lie between bodies of their own. Impulses lambda apply them to the free
 * motion,
 *
 *     v* += A^-1 J^T lambda,     lower <= lambda <= upper.
 *
 * Their target velocity J v* stops a limit or a contact that would be passed within the step, and
 * lets a violation decay in SAP_PRESOLVE_TIME. Friction holds or brakes; in a contact its bounds
 * are mu times the normal impulse. Projected Gauss-Seidel solves the rows. The problem acts after
 * that, and what it does to these rows shows in the next step. Rows of one level have no tree in
 * common, and a sweep takes level after level. The result is that of the listed order, and a row
 * does not depend on the one just before it. No impulse is larger than the one that stops its row,
 * so only the decay of violations adds energy.
 *
 * Ownership: a sap_presolve owns its workspace, which grows as needed and is kept. */
#ifndef SAPWOOD_STEP_PRESOLVE_PRESOLVE_H
#define SAPWOOD_STEP_PRESOLVE_PRESOLVE_H

#include "step/joints/element_rows.h"
#include "step/dynamics/free_motion.h"
#include "step/contacts/listed_contact.h"

#define SAP_PRESOLVE_TIME 0.05 /* s, decay time of violations */

/* One row: the engine's row times `sign`, and its target velocity. */
struct sap_presolve_row {
  struct sap_engine_jacobian J;
  double sign;
  double velocity; /* target velocity, or lower bound of it */
  double lower, upper;
  int64_t back; /* distance to the row of the normal, for friction of a contact; else 0 */
  double mu;
  int32_t engine_row; /* -1 for none */
  int32_t is_edge;    /* 1 if it moves two trees of three dofs each and is no friction */
  int64_t part;       /* first of its parts */
  double w, inverse;  /* J A^-1 J^T, and its inverse; 0 if nothing moves */
  double impulse;
};

/* The dofs of one tree in a row. */
struct sap_presolve_part {
  int32_t tree;
  int32_t first, n; /* range of the dofs of the row */
  int64_t at;       /* index in `J` and `response` */
};

struct sap_presolve {
  int64_t n, n_parts, n_entries;  /* lengths in this step; they never shrink while room is made */
  struct sap_presolve_row *row;   /* (n + 1) rows; the last one ends the parts */
  struct sap_presolve_part *part; /* (n_parts) */
  double *J, *response;           /* (n_entries) rows times their sign, and A^-1 J^T */
  int64_t *level, *order;         /* (n) level of each row; rows sorted by level, in listed order */
  int64_t *level_end;             /* (n + 1) in `order` */

  int flexes; /* 1 if the model has flexes that may have contacts */
  int needed; /* 0: no element is presolved, and the fields below are not set */
  const struct sap_element_gather *elements;
  sap_allocator allocator;
  struct sap_block fixed, listed;
  int64_t *block; /* (n_trees + 1) start of the block of A of each tree */
  int32_t *trees; /* (n_trees) trees of one row */
  uint8_t *is_in; /* (n_trees) 1 for the trees of that row, else 0 */
  int64_t *place; /* (n_trees) for these trees, index where the entries of dof 0 would be */
  int64_t *next;  /* (n_trees) first level without a row that moves the tree */
  int32_t widest; /* number of dofs of the widest tree */
};

/* Creates the presolve. `elements` must outlive it; without elements it has nothing to do. */
sap_status sap_presolve_create(struct sap_presolve *presolve,
                               const struct sap_element_gather *elements,
                               const sap_allocator *allocator);
void sap_presolve_release(struct sap_presolve *presolve);

/* Returns 1 if a contact of these geoms belongs to a flex: the problem does not have it. */
static inline int sap_is_flex_contact(const struct sap_presolve *presolve, const int32_t *geom) {
  return presolve->flexes && (geom[0] < 0 || geom[1] < 0);
}

/* Finds the rows and moves v* and a*; without rows everything stays as it is. SAP_INVALID_ARGUMENT:
 * a column of a row is no dof, or a row is not in the engine's arrays. */
sap_status sap_presolve_run(struct sap_presolve *presolve, const struct sap_element_state *state,
                            const struct sap_contact_list *contacts, enum sap_cone cone, double dt,
                            struct sap_free_motion *motion);

/* Adds the forces to qfrc_constraint (nv) and to the engine's rows, which must not have moved since
 * sap_presolve_run. */
void sap_presolve_scatter(const struct sap_presolve *presolve, double dt, double *qfrc_constraint,
                          double *rows);

#endif
