/* What the iterations share: those of newton.c, and those of coulomb.c around them. */
#ifndef SAPWOOD_SOLVER_NEWTON_ITERATE_H
#define SAPWOOD_SOLVER_NEWTON_ITERATE_H

#include "solver/newton/line_search.h"

/* what comes of the iterations of an island */
struct sap_newton_result {
  sap_outcome outcome;
  int32_t tree; /* of the problem, for SAP_BREAKDOWN */
  int32_t iterations;
  int32_t trials;
  struct sap_evaluation last; /* at the velocity that is returned */
  double coulomb_gradient;    /* |D grad| of it with Coulomb's friction; NaN for convex friction */
  uint8_t fallbacks;          /* bits of sap_fallback */
  double assembly_seconds, factor_seconds, line_search_seconds;
};

/* times the phases of an iteration, where asked to: reading the clock takes time too */
struct sap_stopwatch {
  int on;
  double since;
};

struct sap_stopwatch sap_stopwatch_start(int on);

/* adds the time since the last lap to *sum */
void sap_lap(struct sap_stopwatch *watch, double *sum);

/* the scalars of an island */
void sap_copy(double *to, const double *from, const struct sap_island *island);
double sap_dot(const struct sap_island *island, const double *x, const double *y);

/* Iterations of the first part of a solve, which others follow: half of the limit, 50 at most. */
int32_t sap_first_part(const sap_settings *settings);

/* right side of (20). Where every island meets it with eps_r/sqrt(2), the whole problem meets it
 * with eps_r: |g|^2 <= eps^2 sum max(p^2, j^2) <= 2 eps^2 max(sum p^2, sum j^2). */
double sap_share_of_tolerance(const sap_settings *settings, int32_t n_islands, double scale);
double sap_tolerance(const struct sap_workspace *w, const sap_settings *settings,
                     const struct sap_evaluation *now);

/* appends to the history, where there is room; the step that led here is that of iterations beyond
 * 0 */
void sap_record(struct sap_workspace *w, const struct sap_island *island, int32_t iteration,
                const struct sap_step *step, double decrease, const struct sap_evaluation *now);

/* Is this b^T H^-1 b? */
static inline int sap_is_usable(double product) { return product > 0 && product < INFINITY; }

/* dv = H^-1 dv; -1, or the position of the node at which H broke down. In single precision first,
 * where that is chosen; where it fails H is too close to singular, and double precision takes
 * over. */
int32_t sap_solve_system(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_precision *precision, struct sap_stopwatch *watch,
                         struct sap_newton_result *result);

/* Evaluates once more at the end, where sums of steps have gathered round-off: momentum is formed
 * anew from v, and so is v_c unless a bound on the round-off says that it makes no difference to
 * (20). Has that bound been found? */
int sap_conclude(struct sap_workspace *w, const struct sap_island *island,
                 const sap_settings *settings, struct sap_evaluation *last);

/* May net momentum and net impulse be round-off of the impulses that cancel in them? As a rule the
 * round-off of J^T gamma is some u sqrt(W/R l_p). */
int sap_is_faint(const struct sap_evaluation *now);

/* Are they, and so all that there is of the gradient? Then nothing moves as far as double precision
 * can tell, and (24) compares round-off with round-off. */
int sap_is_round_off(struct sap_workspace *w, const struct sap_island *island,
                     const struct sap_evaluation *now);

#endif
