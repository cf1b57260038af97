/* sapwood: a solver for compliant frictional contact and other constraints.
 *
 * Its input is the mass matrix A of a forest of kinematic trees, its free-motion velocity v*, and a
 * set of frictional contacts and other constraints. It finds the next velocity as the minimiser of
 * the convex cost
 *
 *     l_p(v) = 1/2 |v - v*|_A^2 + sum_i l_i(v_c,i),   v_c = J v,   gamma_i = -dl_i/dv_c,i      (17)
 *
 * and bounds its error. Equation numbers are those of Castro, Permenter and Han, "An Unconstrained
 * Convex Formulation of Compliant Contact".
 *
 * Ownership: every array belongs to the caller; the library reads inputs in place and writes
 * outputs in place. A solver object owns its workspace and nothing else. Nothing here prints, exits
 * or keeps state outside the objects. One solver may be used by one thread at a time; it may have
 * threads of its own.
 *
 * Units: SI. Velocities are generalized velocities; impulses are in N s. */
#ifndef SAPWOOD_H
#define SAPWOOD_H
#include "sapwood/law.h"
#include "sapwood/fem.h"
#include "sapwood/geometry.h"
#include "sapwood/invdyn.h"
#include "sapwood/lcp.h"
#include "sapwood/model.h"
#include "sapwood/problem.h"
#include "sapwood/qp.h"
#include "sapwood/sensitivity.h"
#include "sapwood/solver.h"
#include "sapwood/status.h"
#include "sapwood/stepper.h"
#include "sapwood/tasks.h"

#define SAP_VERSION "0.1.0"

#endif /* SAPWOOD_H */
