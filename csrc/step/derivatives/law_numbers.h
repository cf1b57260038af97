/* The numbers of a gathered problem that the impulses at a given velocity depend on: J, R, v_hat,
 * mu and bounds of all constraints.
 *
 * They are smooth functions of the state, and the law is not a smooth function of them: it has
 * kinks, and bends within small slips. So a difference over a wide change of the state finds the
 * changes of the numbers, and sap_sensitivity_momentum() the derivative of J^T gamma along them.
 * The first has little round-off of gaps, the second no bends or kinks. R follows by 1/R, which is
 * linear in the slip (held_slip.h).
 *
 * Ownership: the memory of an arena is the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_LAW_NUMBERS_H
#define SAPWOOD_STEP_DERIVATIVES_LAW_NUMBERS_H

#include "step/gather.h"
#include "sapwood/sensitivity.h"

struct sap_law_numbers {
  int64_t n;
  double *centre;      /* (n) numbers of the centre */
  double *change;      /* (n) changes of them */
  sap_differential by; /* pointers into `change` */
  sap_group_differential groups[SAP_ELEMENT_GROUPS];

  /* copies for the problem of the centre: other states replace the gathered problem */
  sap_constraints constraints[SAP_ELEMENT_GROUPS];
  sap_spin spin;
  int64_t n_index;
  int32_t *index; /* (n_index) trees, velocities and sizes of constraints */
};

/* Returns how many numbers the problem has. */
int64_t sap_law_numbers_count(const struct sap_gather *gather);

/* Finds the lengths of the arrays for the gathered problem, the centre; takes the arrays. */
void sap_law_numbers_measure(struct sap_law_numbers *numbers, const struct sap_gather *gather);
void sap_law_numbers_carve(struct sap_law_numbers *numbers, struct sap_arena *arena);

/* Keeps the numbers of the centre. */
void sap_law_numbers_keep(struct sap_law_numbers *numbers, const struct sap_gather *gather);

/* Returns the gathered problem with indices of its constraints that stay, while its numbers do
 * not. */
sap_problem sap_law_numbers_problem(struct sap_law_numbers *numbers,
                                    const struct sap_gather *gather);

/* Finds the changes from the centre to a gathered problem with the same constraints. */
void sap_law_numbers_subtract(struct sap_law_numbers *numbers, const struct sap_gather *gather);

/* Sets all changes to 0. */
void sap_law_numbers_clear(struct sap_law_numbers *numbers);

/* Returns the changes without those of J, with `groups`. */
sap_differential sap_law_numbers_at_J(const struct sap_law_numbers *numbers,
                                      sap_group_differential groups[SAP_ELEMENT_GROUPS]);

#endif
