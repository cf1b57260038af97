/* This module declares a contact problem: masses, free-motion velocity, contacts and other
 * constraints. It also turns physical parameters into those of the convex cost. */
#ifndef SAPWOOD_PROBLEM_H
#define SAPWOOD_PROBLEM_H

#include "sapwood/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Barrier around the compliant law of a contact: its rigid core, see sap_project_barrier().
 *
 * With kappa = (delta/(dt + tau_d))^2/R_n the log barrier keeps the penetration of a contact below
 * delta. It needs a start inside of its domain: the solve moves the guess towards v = 0 as far as
 * needed. A contact that would be outside at rest, deeper than delta, gets a larger kappa for this
 * solve, with delta growing like sqrt(kappa). So does a contact to which a moving surface leaves no
 * room. */
typedef enum sap_barrier {
  SAP_BARRIER_NONE = 0,
  SAP_BARRIER_LOG,  /* no penetration beyond delta */
  SAP_BARRIER_EXP,  /* soft bound: the stiffness grows with exp(lambda s) */
  SAP_BARRIER_TABLE /* the barrier of sap_problem.barrier_table, for any s >= 0 */
} sap_barrier;

/* A barrier b(s) of the user's own, by nodes. Its curvature b'' is linear between nodes and
 * constant beyond the last one; slope and value are its integrals from b(0) = b'(0) = 0. b'' = 1 is
 * the compliant law. */
typedef struct sap_barrier_table {
  int32_t n;               /* nodes, >= 2 */
  const double *s;         /* (n) ascending from 0 */
  const double *curvature; /* (n) b'' > 0: b is convex */
  const double *slope;     /* (n) b' */
  const double *value;     /* (n) b */
} sap_barrier_table;

/* Computes slope (n) and value (n) of a table from its s and curvature. */
SAP_API void sap_barrier_integrate(int32_t n, const double *s, const double *curvature,
                                   double *slope, double *value);

/* Kinds of constraint other than frictional contact. Each row is a clamped spring and damper:
 *
 *     y = (v_hat - v_c)/R,   gamma = clamp(y, lower, upper),   G = 1/R within the bounds, 0 beyond
 *
 * and kinds differ in the parameters of R, v_hat and the bounds, see sap_regularize_group(). */
typedef enum sap_kind {
  SAP_LIMIT = 0,    /* joint limit, frictionless contact */
  SAP_BILATERAL,    /* ball, weld, distance, coupler, closed loop */
  SAP_CONTROLLER,   /* implicit PD controller with an effort limit */
  SAP_DRY_FRICTION, /* dry friction of a joint */
  SAP_N_KINDS
} sap_kind;

/* Constraints of one kind. J holds, per constraint, a row-major size x tree_nv[tree_a] block and
 * then, if tree_b >= 0, a row-major size x tree_nv[tree_b] block; n_rows is the sum of the sizes. A
 * single row that moves one velocity, as limits and friction of joints do, may have only that entry
 * in J, at the velocity `dof`. */
typedef struct sap_constraints {
  sap_kind kind;
  int32_t n;             /* constraints */
  const int32_t *size;   /* (n) rows of each, 1 to 6; NULL: one each */
  const int32_t *tree_a; /* (n) first tree */
  const int32_t *tree_b; /* (n) second tree, or -1 */
  const double *J;       /* flat, see above */
  const double *R;     /* (n_rows), >= 0, regularization: 1/kg, or 1/(kg m^2) for rows that turn */
  const double *v_hat; /* (n_rows), m/s or rad/s */
  const double *lower; /* (n_rows), may be -INFINITY: N s or N m s */
  const double *upper; /* (n_rows), >= lower, may be INFINITY */
  /* (n) velocity of tree_a of the only entry of J, for one row without tree_b; -1 if J has its
   * whole block. NULL: all have */
  const int32_t *dof;
} sap_constraints;

/* Torsional and rolling friction of contacts has the cone (Eq. 2 of the paper, with more
 * components)
 *
 *     sqrt(|gamma_t|^2/mu^2 + sum_k gamma_k^2/mu_k^2) <= gamma_n
 *
 * where gamma_k is the impulse, N m s, about the axis k of (n, t1, t2). With R_k = R_t (mu/mu_k)^2
 * it is a circular cone of the components gamma_k mu/mu_k, in every law of friction. A component
 * with mu_k = 0 has no friction. */
typedef struct sap_spin {
  int32_t n;              /* contacts with such friction */
  const int32_t *contact; /* (n) ascending; with mu > 0 and no core */
  const double *J;        /* flat: rows about (n, t1, t2), rad/s, per contact as sap_problem.J */
  const double *mu;       /* (n, 3) >= 0: torsional, rolling about t1 and t2, m */
} sap_spin;

/* One contact problem. Trees are concatenated in v; nv = sum of tree_nv.
 * tree_a[i] is the first tree of contact i (never -1), tree_b[i] the second one, or -1 when the
 * other side is the world or the same tree. tree_a[i] != tree_b[i].
 * J holds, per contact, a row-major 3 x tree_nv[tree_a] block and then, if tree_b >= 0, a row-major
 * 3 x tree_nv[tree_b] block; rows (t1, t2, n), v_n > 0 separates. */
typedef struct sap_problem {
  int32_t n_trees;
  int32_t n_contacts;
  const int32_t *tree_nv; /* (n_trees), each >= 1 */
  const double *A;        /* (sum tree_nv^2), row-major SPD block of each tree after the other */
  const double *v_star;   /* (nv) free-motion velocity, Eq. (10) */
  const int32_t *tree_a;  /* (n_contacts) */
  const int32_t *tree_b;  /* (n_contacts) */
  const double *J;        /* flat, see above */
  const double *mu;       /* (n_contacts), >= 0 */
  const double
      *R_t; /* (n_contacts), >= 0, tangential regularization, 1/kg; 0: sap_solver_solve() */
  const double *R_n;     /* (n_contacts), >= 0, normal regularization, 1/kg */
  const double *v_hat_n; /* (n_contacts), normal stabilization velocity, m/s */
  const double *v_hat_t; /* (n_contacts, 2), tangential bias (moving surfaces), m/s; NULL means 0 */
  int32_t n_groups;
  const sap_constraints *groups; /* (n_groups) constraints of other kinds; NULL if there are none */
  const int8_t *barrier;         /* (n_contacts) enum sap_barrier; NULL: none has one */
  /* (n_contacts) each; may be NULL if no core reads it */
  const double *kappa;                    /* > 0, energy of the core, J */
  const double *barrier_lambda;           /* > 0, dimensionless, for exp cores */
  const sap_barrier_table *barrier_table; /* for all tabulated cores; NULL: there are none */
  const sap_spin *spin;                   /* NULL: no contact has torsional or rolling friction */
  /* (n_contacts) bound b >= 0 of the friction of each contact, N s, NaN if unknown; read for lagged
   * friction. NULL: none is known */
  const double *friction_bound;
  /* (n_trees) inverse S = U^-1 of the known factor U of a block A = U U^T, S^T S = A^-1:
   * column-major (tree_nv, tree_nv), upper triangular with zeros below the diagonal. NULL entries:
   * a solve or check that needs the factor computes it. NULL: none is known */
  const double *const *A_inverse_factor;
  /* (nv) branches of the trees, whose parent velocities precede their children: the next velocity
   * towards the root, counted within the tree, -1 at a root. A_ij is zero if neither i nor j is on
   * the path from the other one to its root. NULL: any A_ij may be nonzero */
  const int32_t *parent;
} sap_problem;

/* Returns an empty problem: no trees, no contacts, all arrays NULL. */
SAP_API sap_problem sap_problem_default(void);

/* Lengths that follow from the index arrays of a problem. */
typedef struct sap_sizes {
  int64_t nv;      /* length of v_star */
  int64_t nA;      /* length of A */
  int64_t nJ;      /* length of J */
  int64_t n_rows;  /* rows of all groups */
  int64_t nJ_spin; /* length of spin->J */
} sap_sizes;

/* Checks n_trees, n_contacts, tree_nv, tree_a, tree_b, the groups' kind, n, size, tree_a and
 * tree_b, and n and contact of spin. It reads no other fields, and computes the lengths of the
 * other arrays. `error` may be NULL, here and below. */
SAP_API sap_status sap_problem_sizes(const sap_problem *problem, sap_sizes *sizes,
                                     sap_error *error);

/* Checks everything: sizes, finiteness, A symmetric and positive definite, mu >= 0, R >= 0. */
SAP_API sap_status sap_problem_check(const sap_problem *problem, const sap_allocator *allocator,
                                     sap_error *error);

/* Estimate of the diagonal Delassus block W_ii (section IX-A). */
typedef enum sap_delassus {
  SAP_DELASSUS_BLOCK = 0, /* W_ii = sum_t J_it A_t^-1 J_it^T: the paper's */
  SAP_DELASSUS_DIAGONAL   /* diag(A_t)^-1 instead of A_t^-1: Drake's */
} sap_delassus;

/* Physical parameters of a group: arrays (n_rows), one for each parameter of the kind. */
typedef struct sap_group_parameters {
  double dt;    /* time step, s, > 0 */
  double sigma; /* dimensionless, > 0 (1e-3): dry friction */
  double beta;  /* near-rigid parameter, dimensionless, >= 0 (0.1) */
  sap_delassus delassus;
  const double *const *value; /* (sap_kind_parameters(kind)), read if there are rows */
  const double *release;      /* (n_rows) as in sap_parameters; acts on limits and bilateral ones */
  /* (n_rows) largest impulse at rest, N s or N m s, > 0, of a held-back row; NULL: any */
  const double *release_impulse;
  const double *slip_speed; /* (n_rows) V_s of dry friction, m/s or rad/s, >= 0; NULL: none */
} sap_group_parameters;

/* Parameters of R, v_hat and the bounds of a group, and the arrays (n_rows) that receive them.
 * These must be the arrays of the group; they are ignored if it has no rows. lower and upper are
 * NULL if the group has given bounds. */
typedef struct sap_group_regularization {
  sap_group_parameters parameters;
  double *R, *v_hat, *lower, *upper;
} sap_group_regularization;

/* Physical parameters of the contacts of one problem, and of its groups. */
typedef struct sap_parameters {
  double dt;    /* time step, s, > 0 */
  double sigma; /* tangential regularization, dimensionless, > 0 (1e-3) */
  double beta;  /* near-rigid parameter, dimensionless, >= 0 (1.0) */
  sap_delassus delassus;
  const double *phi0;  /* (n_contacts) signed distance at the start of the step, m */
  const double *k;     /* (n_contacts) stiffness, N/m, > 0 */
  const double *tau_d; /* (n_contacts) dissipation time, s, >= 0 */
  /* (n_contacts) depth of the core, m, > 0, read if there is one; NULL: the problem has kappa */
  const double *delta;
  /* (n_groups) as for sap_regularize_group(); NULL: the groups have R, v_hat and bounds */
  const sap_group_regularization *groups;
  /* (n_contacts) slip speed at the start of the step over V_s, >= 0: sigma is smaller for what
   * hardly slips; NULL: sigma holds at any slip */
  const double *slip_ratio;
  /* (n_contacts) largest speed of correction of a violation for infinite k, m/s, > 0; NULL: any */
  const double *release;
  /* (nv) change of the velocity in the step by all forces except those of constraints, m/s or
   * rad/s; NULL: no contact is stiffer for its load */
  const double *free_change;
  double load_speed; /* V_1, m/s, > 0, INFINITY for none: read with free_change */
  double slip_speed; /* V_s, m/s, >= 0, 0 for none: read with free_change and slip_ratio */
  /* (n_contacts, 2) inverse masses of the bodies of tree_a and tree_b at any point, 1/kg, >= 0: a
   * held-back contact uses at least their sum; NULL: 0 */
  const double *body_w;
  /* (n_contacts) speed at which an impact opens the contact for infinite k, m/s, >= 0; NULL: 0 */
  const double *rebound;
} sap_parameters;

/* Return the defaults: sigma = 1e-3, beta = 1 for contacts and 0.1 for groups, the paper's W_ii;
 * all arrays are NULL. */
SAP_API sap_parameters sap_parameters_default(double dt);
SAP_API sap_group_parameters sap_group_parameters_default(double dt);

/* R_n = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))   (21)
 * R_t = max(1e-6, min(sigma, sigma slip_ratio)) w       (22)
 * v_hat_n = -phi0/(dt + tau_d)
 * with w = |W_ii|_F/3. Writes three arrays (n_contacts), and then those of parameters->groups.
 * The first term of R_n, R_nr, is smaller under a load: with P, N s, the impulse by which the free
 * motion presses the contacts of an island, and x = R_nr P/load_speed > 1, it is R_nr x^(-0.98).
 * There P is at least the impulse max(0, min(0, v_hat_n) - J_n v*)/w of the impact of the contact.
 * R_t is smaller, too: with f = min(1, slip_speed/(4 sigma w mu P)) both 1e-6 and slip_ratio are
 * multiplied by f, so that nothing creeps at full sigma.
 * If v_hat_n > release and k is infinite, v_hat_n becomes release, and R_n is multiplied by release
 * over the full v_hat_n, and by body_w/w if that exceeds 1: a contact that lies too deep opens with
 * that speed, and carries the same load at rest.
 * If rebound > 0 exceeds that v_hat_n and k is infinite, v_hat_n becomes rebound, and R_n becomes
 * 0.01 R_nr.
 * Reads only trees, A and J of `problem`, v_star if there is free_change, mu if there are
 * slip_ratio, slip_speed and free_change, and the inputs of sap_regularize_group() for groups that
 * it regularizes. Checks its inputs. */
SAP_API sap_status sap_regularize(const sap_problem *problem, const sap_parameters *parameters,
                                  double *R_t, double *R_n, double *v_hat_n,
                                  const sap_allocator *allocator, sap_error *error);

/* Writes kappa = (delta/(dt + tau_d))^2/R_n of the contacts with a core, infinite elsewhere
 * (n_contacts). Reads barrier and n_contacts of `problem`, R_n (n_contacts), and dt, tau_d and
 * delta of `parameters`, which it checks if a contact has a core; checks its results. */
SAP_API sap_status sap_barrier_energy(const sap_problem *problem, const sap_parameters *parameters,
                                      const double *R_n, double *kappa, sap_error *error);

SAP_API const char *sap_kind_name(sap_kind kind); /* for example "limit" */
SAP_API int32_t sap_kind_parameters(sap_kind kind);
SAP_API const char *sap_kind_parameter(sap_kind kind,
                                       int32_t parameter);           /* name, for example "tau_d" */
SAP_API const char *sap_kind_rule(sap_kind kind, int32_t parameter); /* for example "must be > 0" */

/* Computes R, v_hat, lower and upper (n_rows) of a group. With w = |W_ii|_F/n of n <= 3 rows
 * together (1 to 3 and 4 to 6 of a constraint, which may differ in their units) and R_nr =
 * beta^2/(4 pi^2) w:
 *
 *     limit        phi0, k, tau_d
 *                  R = max(R_nr, 1/(dt k (dt + tau_d))), v_hat = -phi0/(dt + tau_d), gamma >= 0
 *     bilateral    g, k, tau_d, force_lower, force_upper
 *                  the same with g for phi0, dt force_lower <= gamma <= dt force_upper
 *     controller   Kp, Kd, q_0, q_d, v_d, u_ff, effort
 *                  R = max(R_nr, 1/(dt (dt Kp + Kd))),
 *                  v_hat = (Kp (q_d - q_0) + Kd v_d + u_ff)/(dt Kp + Kd),
 *                  |gamma| <= dt effort
 *     dry_friction f, slip_ratio
 *                  R = max(1e-6, min(sigma, sigma slip_ratio)) w, v_hat = 0, |gamma| <= dt f;
 *                  slip_ratio INFINITY gives R = sigma w; with slip_speed, slip_ratio is
 *                  multiplied by min(1, slip_speed/(4 sigma w dt f))
 *
 * For infinite k, |v_hat| is limited to `release` as for contacts (for a limit only if it is
 * violated): R is multiplied by release over the full |v_hat|, and is at least
 * release/release_impulse.
 *
 * If R_nr is the larger for a controller, both gains are scaled down at the same Kd/Kp. Reads trees
 * and A of `problem`, and the group except its R, v_hat, lower and upper. Checks its inputs. */
SAP_API sap_status sap_regularize_group(const sap_problem *problem, const sap_constraints *group,
                                        const sap_group_parameters *parameters, double *R,
                                        double *v_hat, double *lower, double *upper,
                                        const sap_allocator *allocator, sap_error *error);

#ifdef __cplusplus
}
#endif

#endif
