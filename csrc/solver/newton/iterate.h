/* Functions that the iterations of newton.c and of coulomb.c share. */
#ifndef SAPWOOD_SOLVER_NEWTON_ITERATE_H
#define SAPWOOD_SOLVER_NEWTON_ITERATE_H

#include "solver/newton/line_search.h"

/* The result of the iterations of an island. */
struct sap_newton_result {
  sap_outcome outcome;
  int32_t tree; /* index in the problem, for SAP_BREAKDOWN */
  int32_t iterations;
  int32_t trials;
  struct sap_evaluation last; /* at the velocity that is returned */
  double coulomb_gradient;    /* |D grad| there with Coulomb's friction, sqrt(J); NaN if convex */
  uint8_t fallbacks;          /* bits of sap_fallback */
  double assembly_seconds, factor_seconds, line_search_seconds;
};

/* Times the phases of an iteration if `on`; otherwise it does not read the clock. */
struct sap_stopwatch {
  int on;
  double since;
};

struct sap_stopwatch sap_stopwatch_start(int on);

/* Adds the time since the last lap to *sum. */
void sap_lap(struct sap_stopwatch *watch, double *sum);

/* Both work on the scalars of an island. */
void sap_copy(double *to, const double *from, const struct sap_island *island);
double sap_dot(const struct sap_island *island, const double *x, const double *y);

/* Returns the iterations of the first part of a solve: half of the limit, 50 at most. */
int32_t sap_first_part(const sap_settings *settings);

/* Returns the right side of (20). If every island meets it with eps_r/sqrt(2), the whole
 * problem meets it with eps_r: |g|^2 <= eps^2 sum max(p^2, j^2) <= 2 eps^2 max(sum p^2, sum
 * j^2). */
double sap_tolerance(const struct sap_workspace *w, const sap_settings *settings,
                     const struct sap_evaluation *now);

/* Appends to the history if there is room. Iteration 0 has no step. */
void sap_record(struct sap_workspace *w, const struct sap_island *island, int32_t iteration,
                const struct sap_step *step, double decrease, const struct sap_evaluation *now);

/* Is this b^T H^-1 b? */
static inline int sap_is_usable(double product) { return product > 0 && product < INFINITY; }

/* Solves dv = H^-1 dv. Returns -1, or the position of the node at which H broke down. If single
 * precision is chosen but fails, H is too close to singular, and double precision takes over. */
int32_t sap_solve_system(struct sap_workspace *w, const struct sap_island *island,
                         enum sap_precision *precision, struct sap_stopwatch *watch,
                         struct sap_newton_result *result);

/* Evaluates once more at the end, since sums of steps gather round-off: it recomputes momentum from
 * v, and v_c too unless a bound shows that its round-off does not affect (20). Returns 1 if that
 * bound was found. */
int sap_conclude(struct sap_workspace *w, const struct sap_island *island,
                 const sap_settings *settings, struct sap_evaluation *last);

/* May net momentum and net impulse be round-off of the impulses that cancel in them? Usually the
 * round-off of J^T gamma is about u sqrt(W/R l_p). */
int sap_is_faint(const struct sap_evaluation *now);

/* Are momentum, impulse and gradient all within the bound on round-off? Then nothing moves as far
 * as double precision can tell, and (24) compares round-off with round-off. */
int sap_is_round_off(struct sap_workspace *w, const struct sap_island *island,
                     const struct sap_evaluation *now);

#endif
