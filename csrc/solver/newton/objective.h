/* Evaluates the cost (17) of one island, its gradient and Hessian (VIII-A), and its derivatives
 * along a line (VIII-C).
 *
 * Every function works on the ranges of one island in the workspace and allocates nothing. */
#ifndef SAPWOOD_SOLVER_NEWTON_OBJECTIVE_H
#define SAPWOOD_SOLVER_NEWTON_OBJECTIVE_H

#include "solver/plan/workspace.h"

/* Value and gradient at w->v. */
struct sap_evaluation {
  double cost;        /* l_p, J */
  double constraints; /* its part sum l_i, J */
  double gradient;    /* |D grad l_p|, sqrt(J) */
  double scale;       /* max(|D A v|, |D J^T gamma|) of (20), sqrt(J) */
  double momentum;    /* |D A v| */
  double impulse;     /* |D J^T gamma| */
};

/* Does any triple of the island have a law with a bounded domain? */
int sap_has_rigid_core(const struct sap_island *island);

/* Returns e_m (24): 0 without a gradient, infinite if the gradient is not 0 and the scale is, NaN
 * if the scale overflowed. */
double sap_momentum_error(double gradient, double scale);

/* Computes dw = v - v*, momentum = A dw and v_c = J v from v. */
void sap_refresh(struct sap_workspace *w, const struct sap_island *island);

/* Refreshes and evaluates the whole problem: it finds the eliminated velocities, and computes
 * momentum and gradient with the whole A. */
struct sap_evaluation sap_verify(struct sap_workspace *w, const struct sap_island *island,
                                 sap_friction friction);

/* Works as sap_verify(), but keeps v_c, gamma and their cost `constraints` of the last
 * evaluation. */
struct sap_evaluation sap_verify_momentum(struct sap_workspace *w, const struct sap_island *island,
                                          double constraints);

/* Writes y, gamma, region, slip, G, impulse and gradient from dw, momentum and v_c, under this law
 * of friction. */
struct sap_evaluation sap_evaluate(struct sap_workspace *w, const struct sap_island *island,
                                   sap_friction friction);

/* Assembles H = A + J^T G J into the factor's places, in this precision, from w->pool.G. It skips
 * triples with G = 0. */
void sap_assemble(struct sap_workspace *w, const struct sap_island *island,
                  enum sap_precision precision);

/* The cost along a line, l(alpha) = l_p(v + alpha dv). */
struct sap_line {
  struct sap_workspace *w;
  const struct sap_island *island;
  sap_friction friction; /* law in l; its bounds do not follow v along the line */
  struct sap_products product;
};

struct sap_line_point {
  double alpha;
  double slope;     /* dl/dalpha */
  double curvature; /* d2l/dalpha2 */
};

/* Computes dp = A dv and dv_c = J dv. */
struct sap_line sap_line_make(struct sap_workspace *w, const struct sap_island *island,
                              sap_friction friction);
struct sap_line_point sap_line_at(const struct sap_line *line, double alpha);

/* If a barrier makes the slope at alpha infinite, returns a shorter step that is at least the
 * longest one inside its domain. */
double sap_line_wall(const struct sap_line *line, double alpha);

/* Does v + alpha dv differ from v? */
int sap_line_moves(const struct sap_line *line, double alpha);

/* Returns l(alpha) - l(0), summed as differences. */
double sap_line_difference(const struct sap_line *line, double alpha);

/* Moves v, dw, momentum and v_c along the line. */
void sap_line_advance(const struct sap_line *line, double alpha);

#endif
