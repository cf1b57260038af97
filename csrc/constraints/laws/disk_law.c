/* This file is the row of friction with a bound of its own (disk.h) in the table of laws. In a view
 * of the pool with convex friction, which finds a start and bounds, contacts obey the compliant
 * law. */
#include <float.h>

#include "base/fail.h"
#include "constraints/laws/contact_law.h"
#include "constraints/laws/disk.h"

static int32_t claim(const sap_problem *problem, sap_friction friction, int32_t *law) {
  const int32_t n = friction == SAP_FRICTION_CONVEX ? 0 : problem->n_contacts;
  for (int32_t i = 0; law && i < n; ++i) {
    law[i] = SAP_LAW_DISK;
  }
  return n;
}

static sap_status check(const sap_problem *problem, sap_error *error) {
  for (int32_t i = 0; problem->friction_bound && i < problem->n_contacts; ++i) {
    const double b = problem->friction_bound[i];
    if (b < 0 || isinf(b)) {
      return sap_invalid(error, "friction_bound", i, b, "must be finite and >= 0, or NaN");
    }
  }
  return SAP_OK;
}

static void bind(struct sap_pool *pool, int32_t begin, int32_t end, const struct sap_origin *origin,
                 const sap_problem *problem) {
  sap_law_contact.bind(pool, begin, end, origin, problem);
  for (int32_t place = begin; place < end; ++place) {
    pool->contact.given[place] = pool->contact.bound[place] =
        sap_contact_bound_given(pool, origin->triple[place], problem);
  }
}

static double difference(const struct sap_pool *p, int32_t begin, int32_t end, double alpha) {
  if (p->friction == SAP_FRICTION_CONVEX) {
    return sap_law_contact.difference(p, begin, end, alpha);
  }
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const double b = p->contact.bound[i];
    const double y[3] = {p->y[0][i], p->y[1][i], p->y[2][i]};
    const double dy[3] = {-alpha * (p->dv_c[0][i] * c.inverse_R_t),
                          -alpha * (p->dv_c[1][i] * c.inverse_R_t),
                          -alpha * (p->dv_c[2][i] * c.inverse_R_n)};
    const struct sap_contact_state from = sap_disk_at_impulse(&c, b, y[0], y[1], y[2]);
    const struct sap_contact_state to =
        sap_disk_at_impulse(&c, b, y[0] + dy[0], y[1] + dy[1], y[2] + dy[2]);
    sum += sap_disk_cost_difference(&c, b, &from, &to, dy);
  }
  return sum;
}

static double complementarity(const struct sap_pool *p, int32_t begin, int32_t end) {
  if (p->friction == SAP_FRICTION_CONVEX) {
    return sap_law_contact.complementarity(p, begin, end);
  }
  double sum = 0;
  for (int32_t i = begin; i < end; ++i) {
    const struct sap_contact c = sap_pool_get(p, i);
    const double v_c[3] = {p->v_c[0][i], p->v_c[1][i], p->v_c[2][i]};
    const double gamma[3] = {p->gamma[0][i], p->gamma[1][i], p->gamma[2][i]};
    sum += sap_disk_complementarity(&c, p->contact.bound[i], v_c, gamma);
  }
  return sum;
}

SAP_DECLARE_LOOPS(disk_loops);

const struct sap_law sap_law_disk = {
    .loops = SAP_LOOPS(disk_loops),
    .projects = 1,
    .claim = claim,
    .check = check,
    .bind = bind,
    .write = sap_contact_write,
    .difference = difference,
    .stick = sap_contact_stick,
    .bound = sap_contact_bound,
    .complementarity = complementarity,
    .n_constants = SAP_BY_BOUND + 1,
    .partials = sap_disk_partials,
};
