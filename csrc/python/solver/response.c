#include "python/solver/response.h"

#include <math.h>

static const char *const names[SAPWOOD_RESPONSES] = {"v", "gamma", "group_gamma", "spin_gamma"};

static void measure(sapwood_response *r, const sapwood_problem *of) {
  const sap_problem *p = &of->problem;
  *r = (sapwood_response){.n = {(npy_intp)of->sizes.nv, 3 * (npy_intp)p->n_contacts,
                                (npy_intp)of->sizes.n_rows,
                                p->spin == NULL ? 0 : 3 * (npy_intp)p->spin->n}};
}

int sapwood_response_read(sapwood_response *r, const sapwood_problem *problem, npy_intp m,
                          PyObject *const objects[SAPWOOD_RESPONSES]) {
  measure(r, problem);
  for (int k = 0; k < SAPWOOD_RESPONSES; k++) {
    if (objects[k] != Py_None &&
        (r->array[k] = sapwood_as_float64(objects[k], names[k], SAPWOOD_SHAPE(m, r->n[k]),
                                          SAPWOOD_FINITE)) == NULL) {
      return -1;
    }
  }
  return 0;
}

int sapwood_response_make(sapwood_response *r, const sapwood_problem *problem, npy_intp m) {
  measure(r, problem);
  for (int k = 0; k < SAPWOOD_RESPONSES; k++) {
    r->array[k] = sapwood_new(NPY_DOUBLE, SAPWOOD_SHAPE(m, r->n[k]));
    if (r->array[k] == NULL) {
      return -1;
    }
  }
  return 0;
}

void sapwood_response_clear(sapwood_response *r) { sapwood_release(r->array, SAPWOOD_RESPONSES); }

sap_response sapwood_response_at(const sapwood_response *r, npy_intp i) {
  double *at[SAPWOOD_RESPONSES];
  for (int k = 0; k < SAPWOOD_RESPONSES; k++) {
    at[k] = r->array[k] == NULL ? NULL : sapwood_doubles(r->array[k]) + i * r->n[k];
  }
  return (sap_response){at[0], at[1], at[2], at[3]};
}

sap_status sapwood_pull(sap_sensitivity *sensitivity, sapwood_differential *gradient,
                        const sapwood_response *bar, npy_intp i, int frozen, double *residual,
                        sap_error *error) {
  const sap_response one = sapwood_response_at(bar, i);
  sap_coupling coupling = {0};
  sapwood_differential_point(gradient, i);
  const sap_status status =
      sap_sensitivity_vjp(sensitivity, &one, frozen, &gradient->at, &coupling, error);
  *gradient->dt = gradient->at.dt;
  *gradient->sigma = gradient->at.sigma;
  *residual = fmax(*residual, coupling.residual);
  return status;
}

sap_status sapwood_push(sap_sensitivity *sensitivity, sapwood_differential *change,
                        const sapwood_response *to, npy_intp i, int frozen, double *residual,
                        sap_error *error) {
  const sap_response one = sapwood_response_at(to, i);
  sap_coupling coupling = {0};
  sapwood_differential_point(change, i);
  change->at.dt = change->dt == NULL ? 0 : *change->dt;
  change->at.sigma = change->sigma == NULL ? 0 : *change->sigma;
  const sap_status status =
      sap_sensitivity_jvp(sensitivity, &change->at, frozen, &one, &coupling, error);
  *residual = fmax(*residual, coupling.residual);
  return status;
}
