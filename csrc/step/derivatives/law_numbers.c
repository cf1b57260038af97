#include "step/derivatives/law_numbers.h"

#include <math.h>
#include <string.h>

#include "constraints/kinds/kinds.h"

/* The action on each number. */
struct visit {
  enum { COUNT, KEEP, SUBTRACT } action;
  struct sap_law_numbers *numbers;
  int64_t n; /* numbers visited */
};

static void subtract(const double *restrict x, const double *restrict centre,
                     double *restrict change, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    change[i] = x[i] - centre[i];
  }
}

/* Finds the change of R from that of 1/R. */
static void subtract_R(const double *x, const double *centre, double *change, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    change[i] = x[i] == centre[i] ? 0.0 : centre[i] * (x[i] - centre[i]) / x[i];
  }
}

/* Visits n numbers x, whose changes are *change. */
static void visit(struct visit *visit, const double *x, int64_t n, int is_R, double **change) {
  const struct sap_law_numbers *numbers = visit->numbers;
  if (visit->action == KEEP && n > 0) {
    memcpy(numbers->centre + visit->n, x, sizeof *x * (size_t)n);
    *change = numbers->change + visit->n;
  } else if (visit->action == SUBTRACT) {
    (is_R ? subtract_R : subtract)(x, numbers->centre + visit->n, *change, n);
  }
  visit->n += n;
}

/* Does the same with bounds, which stay where they are infinite. */
static void visit_bounds(struct visit *to, const double *x, int64_t n, double **change) {
  visit(to, x, n, 0, change);
  for (int64_t i = 0; i < n && to->action == SUBTRACT; ++i) {
    (*change)[i] = isfinite((*change)[i]) ? (*change)[i] : 0.0;
  }
}

/* Returns 1 if J of a group does not change: all rows are those of joints. A controller may move
 * one joint by a tendon whose moment changes. */
static int has_constant_J(const sap_constraints *group) {
  int constant = group->kind != SAP_CONTROLLER;
  for (int32_t c = 0; c < group->n && constant; ++c) {
    constant = sap_dof_of(group, c) >= 0;
  }
  return constant;
}

static void visit_group(struct visit *to, const struct sap_element_gather *e, int32_t g) {
  const int64_t first = e->first_row[g], n = e->first_row[g + 1] - first;
  sap_group_differential *by = to->numbers->groups + g;
  if (!has_constant_J(e->groups + g)) {
    visit(to, e->groups[g].J, e->nJ[g], 0, &by->J);
  }
  visit(to, e->R + first, n, 1, &by->R);
  visit(to, e->v_hat + first, n, 0, &by->v_hat);
  visit_bounds(to, e->lower + first, n, &by->lower);
  visit_bounds(to, e->upper + first, n, &by->upper);
}

static int64_t visit_all(struct visit to, const struct sap_gather *gather) {
  const int64_t n = gather->problem.n_contacts;
  const struct sap_torsional_contacts *spins = &gather->spins;
  sap_differential *by = &to.numbers->by;
  visit(&to, gather->J, gather->nJ, 0, &by->J);
  visit(&to, gather->mu, n, 0, &by->mu);
  visit(&to, gather->R_t, n, 1, &by->R_t);
  visit(&to, gather->R_n, n, 1, &by->R_n);
  visit(&to, gather->v_hat_n, n, 0, &by->v_hat_n);
  visit(&to, gather->v_hat_t, 2 * n, 0, &by->v_hat_t);
  visit(&to, spins->J, spins->nJ, 0, &by->spin_J);
  visit(&to, spins->mu, 3 * (int64_t)spins->spin.n, 0, &by->spin_mu);
  for (int32_t g = 0; g < gather->elements.n_groups; ++g) {
    visit_group(&to, &gather->elements, g);
  }
  return to.n;
}

int64_t sap_law_numbers_count(const struct sap_gather *gather) {
  struct sap_law_numbers none;
  return visit_all((struct visit){.action = COUNT, .numbers = &none}, gather);
}

/* ---- the centre ------------------------------------------------------------------------------ */

/* Returns a copy of n indices at *to, which it advances; NULL for NULL. */
static const int32_t *copy(const int32_t *index, int32_t n, int32_t **to) {
  int32_t *made = *to;
  if (!index || n == 0) {
    return index ? made : NULL;
  }
  memcpy(made, index, sizeof *index * (size_t)n);
  *to += n;
  return made;
}

/* The lengths of the copied indices: of a contact, and of a constraint. */
enum { OF_CONTACT = 3, OF_CONSTRAINT = 4 };

void sap_law_numbers_measure(struct sap_law_numbers *numbers, const struct sap_gather *gather) {
  numbers->n = sap_law_numbers_count(gather);
  numbers->n_index = OF_CONTACT * (int64_t)gather->problem.n_contacts +
                     OF_CONSTRAINT * (int64_t)gather->elements.n_constraints;
}

void sap_law_numbers_carve(struct sap_law_numbers *numbers, struct sap_arena *arena) {
  numbers->centre = sap_arena_take(arena, (size_t)numbers->n, sizeof(double));
  numbers->change = sap_arena_take(arena, (size_t)numbers->n, sizeof(double));
  numbers->index = sap_arena_take(arena, (size_t)numbers->n_index, sizeof(int32_t));
}

void sap_law_numbers_keep(struct sap_law_numbers *numbers, const struct sap_gather *gather) {
  memset(&numbers->by, 0, sizeof numbers->by);
  memset(numbers->groups, 0, sizeof numbers->groups);
  visit_all((struct visit){.action = KEEP, .numbers = numbers}, gather);
  numbers->by.groups = numbers->groups;
}

sap_problem sap_law_numbers_problem(struct sap_law_numbers *numbers,
                                    const struct sap_gather *gather) {
  sap_problem problem = gather->problem;
  int32_t *to = numbers->index;
  problem.tree_a = copy(problem.tree_a, problem.n_contacts, &to);
  problem.tree_b = copy(problem.tree_b, problem.n_contacts, &to);
  if (problem.spin) {
    numbers->spin = *problem.spin;
    numbers->spin.contact = copy(problem.spin->contact, problem.spin->n, &to);
    problem.spin = &numbers->spin;
  }
  for (int32_t g = 0; g < problem.n_groups; ++g) {
    sap_constraints *group = numbers->constraints + g;
    *group = problem.groups[g];
    group->tree_a = copy(group->tree_a, group->n, &to);
    group->tree_b = copy(group->tree_b, group->n, &to);
    group->dof = copy(group->dof, group->n, &to);
    group->size = copy(group->size, group->n, &to);
  }
  problem.groups = problem.n_groups > 0 ? numbers->constraints : problem.groups;
  return problem;
}

/* ---- changes --------------------------------------------------------------------------------- */

void sap_law_numbers_subtract(struct sap_law_numbers *numbers, const struct sap_gather *gather) {
  visit_all((struct visit){.action = SUBTRACT, .numbers = numbers}, gather);
}

void sap_law_numbers_clear(struct sap_law_numbers *numbers) {
  memset(numbers->change, 0, sizeof(double) * (size_t)numbers->n);
}

sap_differential sap_law_numbers_at_J(const struct sap_law_numbers *numbers,
                                      sap_group_differential groups[SAP_ELEMENT_GROUPS]) {
  sap_differential by = numbers->by;
  by.J = by.spin_J = NULL;
  memcpy(groups, numbers->groups, sizeof numbers->groups);
  for (int g = 0; g < SAP_ELEMENT_GROUPS; ++g) {
    groups[g].J = NULL;
  }
  by.groups = groups;
  return by;
}
