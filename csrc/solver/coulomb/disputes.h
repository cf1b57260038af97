/* Solves the contacts in dispute exactly beside the factor of Newton's direction.
 *
 * The system of a direction replaces the law of each contact by gamma' = gamma - K (v_c' - v_c).
 * At the end u of the step some contacts, often a few out of hundreds, obey other regions of the
 * law than that, and their regions depend on each other. For these contacts D the exact law
 * replaces the linear one, while all others keep theirs:
 *
 *     (H - J_D^T K_D J_D) (u' - u) = J_D^T (gamma_D - gamma_D^0)
 *     u_c' = u_c + W (gamma - gamma^0)
 *     W = (1 - S K_D)^-1 S,    S = J_D H^-1 J_D^T
 *
 * with gamma^0 the impulses for which u solves the linear equations. S comes from path_columns.h,
 * gamma from small_problem.h, and u' from one solve with the factor of H. Rounds go on from u' with
 * the contacts whose impulse by the law differs most from that of the equations, in the norm
 * sqrt(w_n) |gamma|, and the u of the least |D r| is the step, or the last u where the search makes
 * no progress. Contacts with torsional friction keep the linear law. */
#ifndef SAPWOOD_SOLVER_COULOMB_DISPUTES_H
#define SAPWOOD_SOLVER_COULOMB_DISPUTES_H

#include "solver/coulomb/unsymmetric_direction.h"

/* Finds the weights w_n = J_n diag(A)^-1 J_n^T of the contacts of a bound island. */
void sap_find_weights(struct sap_workspace *w, const struct sap_island *island);

/* Keeps K of a new factor: G of the pool, with U of the last sap_find_coupling() if `coupled`. Call
 * this before the next evaluation. */
void sap_keep_slope(struct sap_workspace *w, const struct sap_island *island, int coupled);

/* Keeps gamma of the pool as the start of the linear law, before the iterate moves. */
void sap_keep_origin(struct sap_workspace *w, const struct sap_island *island);

/* Copies of the iterate that the workspace holds. Restoring one needs a new evaluation. */
void sap_iterate_save(const struct sap_workspace *w, const struct sap_island *island,
                      struct sap_iterate *to);
void sap_iterate_restore(struct sap_workspace *w, const struct sap_island *island,
                         const struct sap_iterate *from);

/* Extent of the rounds of a step. */
struct sap_dispute_effort {
  int32_t share;  /* contacts that a round adds at most */
  int32_t rounds; /* rounds in any case */
  double enough;  /* |D r| above which more follow, sqrt(J) */
  int thorough;   /* 1: small problems take their thorough search */
  int leaps;      /* 1: the step is the u of the last round, not the one of the least |D r| */
};

/* Continues from the full step, which `now` evaluates, by rounds that end where (20) holds or the
 * workspace has no room for more contacts. Leaves the u of the least |D r|, or of the last round if
 * the effort says so, with its evaluation in *now. Returns the number of evaluations. */
int32_t sap_settle_disputes(struct sap_workspace *w, const struct sap_island *island,
                            const sap_settings *settings, enum sap_factor_kind kind,
                            const struct sap_dispute_effort *effort, struct sap_evaluation *now);

#endif
