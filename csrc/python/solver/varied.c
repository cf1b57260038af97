#include "python/solver/varied.h"

#include "base/fail.h"
#include "constraints/kinds/kinds.h"

enum { N_DERIVED = 4 };

/* ---- life ----------------------------------------------------------------------------------- */

/* Makes room for the groups and for derived numbers. Returns 0, or -1 with MemoryError. */
static int reserve(sapwood_varied *varied, const sapwood_problem *of) {
  const size_t n_groups = (size_t)of->problem.n_groups;
  const size_t n_derived = (size_t)(of->problem.n_contacts + of->sizes.n_rows);
  varied->groups = PyMem_Calloc(n_groups + 1, sizeof *varied->groups);
  varied->physical = PyMem_Calloc(n_groups + 1, sizeof *varied->physical);
  varied->values = PyMem_Calloc(n_groups * SAP_MOST_PARAMETERS + 1, sizeof *varied->values);
  varied->derived = PyMem_Calloc(N_DERIVED * n_derived + 1, sizeof *varied->derived);
  if (varied->groups == NULL || varied->physical == NULL || varied->values == NULL ||
      varied->derived == NULL) {
    return sapwood_no_memory();
  }
  return 0;
}

/* Copies the groups of the problem, whose arrays are still its own. */
static void copy_groups(sapwood_varied *varied) {
  const sapwood_problem *of = varied->of;
  for (int32_t g = 0; g < of->problem.n_groups; g++) {
    const double **value = varied->values + (npy_intp)g * SAP_MOST_PARAMETERS;
    varied->groups[g] = of->problem.groups[g];
    varied->physical[g] = of->groups.physical[g];
    if (varied->physical[g].parameters.value != NULL) {
      for (int k = 0; k < sap_kind_parameters(varied->groups[g].kind); k++) {
        value[k] = varied->physical[g].parameters.value[k];
      }
      varied->physical[g].parameters.value = value;
    }
  }
}

int sapwood_varied_open(sapwood_varied *varied, const sapwood_problem *problem, npy_intp m,
                        PyObject *dict) {
  varied->of = (const sapwood_problem *)Py_NewRef(problem);
  if (problem->energy_follows && !problem->is_physical) {
    return SAPWOOD_FAIL(PyExc_TypeError, "a core beside given R_t, R_n and v_hat_n needs kappa");
  }
  if (reserve(varied, problem) < 0 ||
      sapwood_differential_read(&varied->numbers, problem, m, dict, SAPWOOD_ANY, 0) < 0) {
    return -1;
  }
  copy_groups(varied);
  varied->problem = problem->problem;
  varied->problem.groups = problem->problem.n_groups == 0 ? NULL : varied->groups;
  if (problem->problem.spin != NULL) {
    varied->spin = *problem->problem.spin;
    varied->problem.spin = &varied->spin;
  }
  varied->parameters = problem->parameters;
  varied->parameters.groups = varied->physical;
  return 0;
}

void sapwood_varied_close(sapwood_varied *varied) {
  const sap_allocator memory = sap_allocator_or_default(NULL);
  sap_block_release(&varied->masses, &memory);
  sapwood_differential_clear(&varied->numbers);
  PyMem_Free(varied->groups);
  PyMem_Free(varied->physical);
  PyMem_Free(varied->values);
  PyMem_Free(varied->derived);
  Py_XDECREF(varied->of);
}

/* ---- one problem ---------------------------------------------------------------------------- */

static void replace(const double **place, const double *given) {
  *place = given == NULL ? *place : given;
}

static void replace_scalar(double *place, const double *given) {
  *place = given == NULL ? *place : *given;
}

/* Puts in the numbers that vary of the contacts, trees and spins. */
static void replace_numbers(sapwood_varied *varied) {
  const sap_differential *at = &varied->numbers.at;
  sap_problem *p = &varied->problem;
  sap_parameters *from = &varied->parameters;
  const struct {
    const double **place, *given;
  } all[] = {{&p->A, at->A},
             {&p->v_star, at->v_star},
             {&p->J, at->J},
             {&p->mu, at->mu},
             {&p->R_t, at->R_t},
             {&p->R_n, at->R_n},
             {&p->v_hat_n, at->v_hat_n},
             {&p->v_hat_t, at->v_hat_t},
             {&p->kappa, at->kappa},
             {&p->barrier_lambda, at->barrier_lambda},
             {&p->friction_bound, at->friction_bound},
             {&varied->spin.J, at->spin_J},
             {&varied->spin.mu, at->spin_mu},
             {&from->phi0, at->phi0},
             {&from->k, at->k},
             {&from->tau_d, at->tau_d},
             {&from->delta, at->delta},
             {&from->slip_ratio, at->slip_ratio}};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    replace(all[k].place, all[k].given);
  }
  p->A_inverse_factor = at->A == NULL ? p->A_inverse_factor : NULL;
  replace_scalar(&from->dt, varied->numbers.dt);
  replace_scalar(&from->sigma, varied->numbers.sigma);
}

/* Puts in the numbers that vary of group g. Returns 1 if its R, v_hat and bounds follow from
 * any of them. */
static int replace_group(sapwood_varied *varied, int32_t g) {
  const sap_group_differential *at = &varied->numbers.groups[g];
  sap_constraints *group = &varied->groups[g];
  sap_group_parameters *from = &varied->physical[g].parameters;
  replace(&group->J, at->J);
  replace(&group->R, at->R);
  replace(&group->v_hat, at->v_hat);
  replace(&group->lower, at->lower);
  replace(&group->upper, at->upper);
  if (from->value == NULL) {
    return 0;
  }
  int any = at->J != NULL;
  for (int k = 0; k < sap_kind_parameters(group->kind); k++) {
    const npy_intp place = (npy_intp)g * SAP_MOST_PARAMETERS + k;
    any |= at->value[k] != NULL;
    replace(&varied->values[place], at->value[k]);
  }
  from->dt = varied->parameters.dt;
  from->sigma = varied->parameters.sigma;
  return any;
}

/* Returns 1 if numbers vary on which the R of contacts and groups depend. */
static int any_shared(const sapwood_varied *varied) {
  const sapwood_differential *numbers = &varied->numbers;
  return numbers->at.A != NULL || numbers->dt != NULL || numbers->sigma != NULL;
}

/* Finds R_t, R_n, v_hat_n and kappa of the contacts. */
static sap_status derive_contacts(sapwood_varied *varied, const struct sap_masses *masses,
                                  sap_error *error) {
  sap_problem *p = &varied->problem;
  const int64_t n = p->n_contacts;
  double *R_t = varied->derived, *R_n = R_t + n, *v_hat_n = R_n + n, *kappa = v_hat_n + n;
  p->R_t = R_t;
  p->R_n = R_n;
  p->v_hat_n = v_hat_n;
  sap_status status = sap_regularize_contacts(p, &varied->of->sizes, &varied->parameters, masses,
                                              R_t, R_n, v_hat_n, error);
  if (status == SAP_OK && varied->of->energy_follows) {
    p->kappa = kappa;
    status = sap_barrier_energy(p, &varied->parameters, R_n, kappa, error);
  }
  return status;
}

/* Finds R, v_hat and the bounds of group g, at *room, which advances. */
static sap_status derive_group(sapwood_varied *varied, int32_t g, const struct sap_masses *masses,
                               double **room, sap_error *error) {
  sap_constraints *group = &varied->groups[g];
  sap_group_regularization *physical = &varied->physical[g];
  const int64_t n = sapwood_group_rows(group);
  group->R = physical->R = *room;
  group->v_hat = physical->v_hat = *room + n;
  group->lower = physical->lower = *room + 2 * n;
  group->upper = physical->upper = *room + 3 * n;
  *room += N_DERIVED * n;
  const sap_status status = sap_regularize_rows(&varied->problem, group, physical, masses, error);
  return sap_set_error_group(status, g, error);
}

sap_status sapwood_varied_point(sapwood_varied *varied, npy_intp i, sap_error *error) {
  const sapwood_problem *of = varied->of;
  sapwood_differential_point(&varied->numbers, i);
  replace_numbers(varied);
  const sap_parameters *from = &varied->parameters;
  sap_status status = sap_check_scalars(from->dt, from->sigma, from->beta, from->delassus, error);
  const sap_differential *at = &varied->numbers.at;
  const int shared = any_shared(varied);
  const int contacts = of->is_physical && (shared || at->J || at->phi0 || at->k || at->tau_d ||
                                           at->delta || at->slip_ratio);
  int rows = 0;
  for (int32_t g = 0; g < of->problem.n_groups; g++) {
    const int any = replace_group(varied, g);
    rows |= any || (shared && varied->physical[g].parameters.value != NULL);
  }
  if (status != SAP_OK || !(contacts || rows)) {
    return status;
  }
  const sap_allocator memory = sap_allocator_or_default(NULL);
  struct sap_masses masses;
  status = sap_masses_find(&masses, &varied->problem, &varied->masses, &memory, error);
  if (status == SAP_OK && contacts) {
    status = derive_contacts(varied, &masses, error);
  }
  double *room = varied->derived + N_DERIVED * (npy_intp)of->problem.n_contacts;
  for (int32_t g = 0; g < of->problem.n_groups && rows && status == SAP_OK; g++) {
    if (varied->physical[g].parameters.value != NULL) {
      status = derive_group(varied, g, &masses, &room, error);
    }
  }
  return status;
}

const sap_parameters *sapwood_varied_parameters(const sapwood_varied *varied) {
  int any = varied->of->is_physical;
  for (int32_t g = 0; g < varied->of->problem.n_groups; g++) {
    any |= varied->physical[g].parameters.value != NULL;
  }
  return any ? &varied->parameters : NULL;
}
