/* The numbers of a gathered problem that the impulses at a given velocity depend on: J, R, v_hat,
 * mu and bounds of all constraints.
 *
 * They are smooth functions of the state, and the law is not a smooth function of them: it has
 * kinks, and bends within small slips. So a difference over a wide change of the state finds the
 * changes of the numbers, and one over a small part of these that of the law,
 *
 *     dgamma = [gamma(centre + part change) - gamma(centre - part change)]/(2 part)
 *
 * The first has little round-off of gaps, the second no bends or kinks. R follows by 1/R, which is
 * linear in the slip (held_slip.h).
 *
 * Ownership: all arrays are the caller's. */
#ifndef SAPWOOD_STEP_DERIVATIVES_LAW_NUMBERS_H
#define SAPWOOD_STEP_DERIVATIVES_LAW_NUMBERS_H

#include "step/gather.h"

/* Returns how many numbers the problem has. */
int64_t sap_law_numbers_count(struct sap_gather *gather);

/* Writes the numbers of the centre. */
void sap_law_numbers_keep(double *centre, struct sap_gather *gather);

/* Replaces the numbers of a problem with the same constraints by those of the centre plus a part of
 * their changes; -1 goes to the other side of the centre. */
void sap_law_numbers_take_part(double *centre, struct sap_gather *gather, double part);

#endif
