/* The cost (17) of one island, its gradient and Hessian (VIII-A), and its derivatives along a line
 * (VIII-C).
 *
 * Every function works on the ranges of one island in the workspace and allocates nothing. */
#ifndef SAPWOOD_SOLVER_NEWTON_OBJECTIVE_H
#define SAPWOOD_SOLVER_NEWTON_OBJECTIVE_H

#include "solver/plan/workspace.h"

/* value and gradient at w->v */
struct sap_evaluation {
  double cost;        /* l_p, J */
  double constraints; /* sum l_i of it */
  double gradient;    /* |D grad l_p|, sqrt(J) */
  double scale;       /* max(|D A v|, |D J^T gamma|) of (20), sqrt(J) */
  double momentum;    /* |D A v| */
  double impulse;     /* |D J^T gamma| */
};

/* is any triple of the island under a law with a domain? */
int sap_has_rigid_core(const struct sap_island *island);

/* e_m (24): 0 without a gradient, infinite where there is one and nothing to measure it by, NaN
 * where what measures it overflowed */
double sap_momentum_error(double gradient, double scale);

/* dw = v - v*, momentum = A dw and v_c = J v from v */
void sap_refresh(struct sap_workspace *w, const struct sap_island *island);

/* sap_refresh() and sap_evaluate() for the whole problem: finds the velocities that were
 * eliminated, and takes momentum and gradient from the whole A. */
struct sap_evaluation sap_verify(struct sap_workspace *w, const struct sap_island *island,
                                 sap_friction friction);

/* The same but for v_c and gamma, which stay as they were evaluated last, to `constraints`. */
struct sap_evaluation sap_verify_momentum(struct sap_workspace *w, const struct sap_island *island,
                                          double constraints);

/* writes y, gamma, region, slip, G, impulse and gradient from dw, momentum and v_c, under this law
 * of friction */
struct sap_evaluation sap_evaluate(struct sap_workspace *w, const struct sap_island *island,
                                   sap_friction friction);

/* H = A + J^T G J into the factor's places, in this precision, from w->pool.G; triples with G = 0
 * are passed over */
void sap_assemble(struct sap_workspace *w, const struct sap_island *island,
                  enum sap_precision precision);

/* l(alpha) = l_p(v + alpha dv) */
struct sap_line {
  struct sap_workspace *w;
  const struct sap_island *island;
  sap_friction friction; /* the law in l, whose bounds do not follow v along the line */
  struct sap_products product;
};

struct sap_line_point {
  double alpha;
  double slope;     /* dl/dalpha */
  double curvature; /* d2l/dalpha2 */
};

/* forms dp = A dv and dv_c = J dv */
struct sap_line sap_line_make(struct sap_workspace *w, const struct sap_island *island,
                              sap_friction friction);
struct sap_line_point sap_line_at(const struct sap_line *line, double alpha);

/* where the slope is infinite at alpha, which a barrier makes it: a shorter step that is no shorter
 * than the longest one inside of its domain */
double sap_line_wall(const struct sap_line *line, double alpha);

/* does v + alpha dv differ from v? */
int sap_line_moves(const struct sap_line *line, double alpha);

/* l(alpha) - l(0), summed as differences */
double sap_line_difference(const struct sap_line *line, double alpha);

/* moves v, dw, momentum and v_c along the line */
void sap_line_advance(const struct sap_line *line, double alpha);

#endif
