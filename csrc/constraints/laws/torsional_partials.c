/* This file differentiates contacts with torsional and rolling friction (torsional.h): the radial
 * law of three rows, lifted to five components of y_t, and the scales mu_k/mu of three of them. */
#include "constraints/partials.h"
#include "constraints/laws/torsional_law.h"

/* Returns the place of component k of y_t in the rows of a pair. */
static int row_of(int k) { return k < 2 ? k : k + 1; }

/* Finds G of the five components and, last, of n, if all have the same R_t. */
static void lift(const struct sap_radial *law, const struct sap_torsional_state *at,
                 double G[SAP_TORSIONAL + 1][SAP_TORSIONAL + 1]) {
  double radial[SAP_G_ENTRIES];
  sap_torsional_hessian(law, at, radial);
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    for (int l = 0; l < SAP_TORSIONAL; ++l) {
      const double along = at->e[k] * at->e[l];
      G[k][l] = radial[SAP_G_11] * along + radial[SAP_G_22] * ((k == l) - along);
    }
    G[k][SAP_TORSIONAL] = G[SAP_TORSIONAL][k] = radial[SAP_G_1N] * at->e[k];
  }
  G[SAP_TORSIONAL][SAP_TORSIONAL] = radial[SAP_G_NN];
}

/* Stores dgamma_t (SAP_TORSIONAL) and dgamma_n by one constant into the rows of the pair. */
static void store(const struct sap_pool *p, int32_t i, const double gamma_t[SAP_TORSIONAL],
                  double gamma_n, double by[6]) {
  for (int k = 0; k < SAP_TORSIONAL; ++k) {
    by[row_of(k)] = (k < 2 ? 1 : p->torsional.scale[k - 2][i]) * gamma_t[k];
  }
  by[2] = gamma_n;
}

void sap_torsional_partials(const struct sap_pool *p, int32_t i, struct sap_partials *to) {
  const int cone = p->friction == SAP_FRICTION_CONVEX;
  const int follows = p->friction == SAP_FRICTION_COULOMB;
  const struct sap_radial law = sap_torsional_get(p, cone, i);
  const struct sap_contact *c = &law.contact;
  const struct sap_torsional_state at = sap_torsional_state(p, &law, i);
  const double y_n = p->y[2][i], slide = at.radial.t[0];
  const double y_r = at.radial.y_r;
  double G[SAP_TORSIONAL + 1][SAP_TORSIONAL + 1], t[3][SAP_TORSIONAL], n[3];
  *to = (struct sap_partials){.distance = {cone ? sap_cone_distance(c, y_r, y_n)
                                                : sap_disk_distance(c, law.b, follows, y_r, y_n)}};
  lift(&law, &at, G);

  /* derivatives by mu, R_t and R_n, of the law itself and through y */
  struct sap_cone_slopes slopes = {{0}, {0}};
  if (cone) {
    slopes = sap_cone_slopes(c, &at.radial);
  } else if (follows && y_n > 0) {
    slopes.friction[SAP_BY_MU] = y_n;
    slopes.friction[SAP_BY_R_N] = -c->mu * y_n * c->inverse_R_n;
  }
  for (int k = 0; k <= SAP_TORSIONAL; ++k) {
    double along = 0;
    for (int l = 0; l < SAP_TORSIONAL; ++l) {
      along += G[k][l] * at.y_t[l];
    }
    const double through[3] = {0, -along, -G[k][SAP_TORSIONAL] * y_n};
    for (int constant = 0; constant < 3; ++constant) {
      *(k < SAP_TORSIONAL ? &t[constant][k] : &n[constant]) =
          through[constant] + (k < SAP_TORSIONAL ? slopes.friction[constant] * slide * at.e[k]
                                                 : slopes.normal[constant]);
    }
  }
  for (int constant = 0; constant < 3; ++constant) {
    store(p, i, t[constant], n[constant], to->by[constant]);
  }
  for (int k = 0; k < SAP_TORSIONAL && !cone && !follows; ++k) {
    to->by[SAP_BY_BOUND][row_of(k)] = (k < 2 ? 1 : p->torsional.scale[k - 2][i]) * slide * at.e[k];
  }

  /* derivatives by the scales mu_k/mu, of y_k and of the rows of gamma */
  double gamma_t[SAP_TORSIONAL], gamma_n;
  sap_torsional_impulse(&law, &at, gamma_t, &gamma_n);
  for (int r = 0; r < 3; ++r) {
    const double speed = p->v_hat[r][i + 1] - p->v_c[r][i + 1];
    double column[SAP_TORSIONAL], *by = to->by[SAP_BY_SPIN + r];
    for (int k = 0; k < SAP_TORSIONAL; ++k) {
      column[k] = G[k][2 + r] * speed;
    }
    store(p, i, column, G[SAP_TORSIONAL][2 + r] * speed, by);
    by[3 + r] += gamma_t[2 + r];
    for (int row = 0; row < 6; ++row) {
      by[row] /= c->mu;
      to->by[SAP_BY_MU][row] -= p->torsional.scale[r][i] * by[row];
    }
  }
}
