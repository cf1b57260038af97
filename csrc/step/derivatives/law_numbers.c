#include "step/derivatives/law_numbers.h"

#include <math.h>
#include <string.h>

/* What is done with each number. */
struct visit {
  enum { COUNT, KEEP, TAKE_PART } action;
  double part;
  double *centre;
  int64_t n; /* numbers visited */
};

static void take_part(double part, const double *restrict centre, double *restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = centre[i] + part * (x[i] - centre[i]);
  }
}

/* Takes a part of the change of 1/R. */
static void take_part_of_R(double part, const double *centre, double *R, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (R[i] != centre[i]) {
      R[i] = centre[i] * R[i] / (R[i] + part * (centre[i] - R[i]));
    }
  }
}

static void visit(struct visit *visit, double *x, int64_t n, int is_R) {
  double *centre = visit->centre + visit->n;
  visit->n += n;
  if (visit->action == KEEP && n > 0) {
    memcpy(centre, x, sizeof *x * (size_t)n);
  } else if (visit->action == TAKE_PART && is_R) {
    take_part_of_R(visit->part, centre, x, n);
  } else if (visit->action == TAKE_PART) {
    take_part(visit->part, centre, x, n);
  }
}

/* Does the same with bounds, which stay where they are infinite. */
static void visit_bounds(struct visit *to, double *x, int64_t n) {
  if (to->action != TAKE_PART) {
    visit(to, x, n, 0);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    visit(to, x + i, isfinite(x[i]), 0);
    to->n += !isfinite(x[i]);
  }
}

static void visit_all(struct visit *to, struct sap_gather *gather) {
  const int64_t n = gather->problem.n_contacts;
  struct sap_element_gather *e = &gather->elements;
  int64_t nJ = 0;
  visit(to, gather->J, gather->nJ, 0);
  visit(to, gather->mu, n, 0);
  visit(to, gather->R_t, n, 1);
  visit(to, gather->R_n, n, 1);
  visit(to, gather->v_hat_n, n, 0);
  visit(to, gather->v_hat_t, 2 * n, 0);
  visit(to, gather->spins.J, gather->spins.nJ, 0);
  visit(to, gather->spins.mu, 3 * (int64_t)gather->spins.spin.n, 0);
  for (int32_t g = 0; g < e->n_groups; ++g) {
    nJ += e->nJ[g];
  }
  visit(to, e->J, nJ, 0);
  visit(to, e->R, e->n_rows, 1);
  visit(to, e->v_hat, e->n_rows, 0);
  visit_bounds(to, e->lower, e->n_rows);
  visit_bounds(to, e->upper, e->n_rows);
}

int64_t sap_law_numbers_count(struct sap_gather *gather) {
  struct visit to = {.action = COUNT};
  visit_all(&to, gather);
  return to.n;
}

void sap_law_numbers_keep(double *centre, struct sap_gather *gather) {
  struct visit to = {.action = KEEP, .centre = centre};
  visit_all(&to, gather);
}

void sap_law_numbers_take_part(double *centre, struct sap_gather *gather, double part) {
  struct visit to = {.action = TAKE_PART, .part = part, .centre = centre};
  visit_all(&to, gather);
}
