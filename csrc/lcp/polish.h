/* Polishing: the rows that an interior point method has found to be active become equalities, the
 * others are left out, and the solution of what remains that is next to the one found has as many
 * digits as the problem. Where its multipliers and slacks say that other rows are active, it is done
 * again with those. */
#ifndef SAPWOOD_LCP_POLISH_H
#define SAPWOOD_LCP_POLISH_H

#include "lcp/interior.h"

/* Replaces x and l of w where that makes their residual smaller; 1 where it does, with *residual the
 * new one. */
int qp_polish(struct qp_interior *w, double *residual);

#endif
