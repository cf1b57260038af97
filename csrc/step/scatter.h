/* Writes the solution of a step back to a model's arrays.
 *
 *     qacc            = (v - v_0)/dt, exactly a* for trees without contact
 *     qfrc_constraint = J^T gamma/dt + J_spin^T gamma_spin/dt
 *     rows            = gamma/dt in the engine's row order, forces (n, t1, t2) and torques about
 *                       them, or as pyramid edges
 *
 * Pyramid edges e_k+ and e_k- of the friction components k represent force and torque: f_n is the
 * sum of all edges, and f_k = mu_k (e_k+ - e_k-). One of the two edges carries f_k/mu_k. All edges
 * share the remainder, rest = f_n - sum |f_k|/mu_k, evenly. So edges are negative exactly where the
 * friction cone reaches outside the pyramid. */
#ifndef SAPWOOD_STEP_SCATTER_H
#define SAPWOOD_STEP_SCATTER_H

#include "step/joints/constraints.h"
#include "step/gather.h"

/* Reads gather->v and gather->gamma; writes qacc (nv), qfrc_constraint (nv) and rows (n_rows).
 * Checks every acceleration first: with |qacc| > limit or not finite it writes nothing and sets
 * SAP_FAULT_ACCELERATION. Overwrites a* of the free motion. */
void sap_scatter(struct sap_gather *gather, enum sap_cone cone, double limit, double *qacc,
                 double *qfrc_constraint, double *rows);

/* Runs after sap_scatter without a fault. It adds J^T gamma/dt of all constraints except
 * controllers to qfrc_constraint (nv), and writes their rows of the engine. It replaces the forces
 * that the engine computed for the actuators of controllers by the forces of the controllers. */
void sap_scatter_elements(const struct sap_element_gather *elements,
                          const struct sap_element_state *state, double dt, double *qfrc_constraint,
                          double *rows);

#endif
