/* One gradient of a solution, into arrays that stand. */
#include <float.h>
#include <stdlib.h>

#include "base/clock.h"
#include "sapwood/sensitivity.h"

/* least seconds of `repeat` gradients by every number but A and J at v (nv) of a loss with the
 * derivatives v_bar (nv), and of as many linearizations; 0, or a sap_status */
int benchmark_gradient(const sap_problem *problem, const double *v, double *v_bar, int32_t nv,
                       int repeat, double *gradient, double *linearization) {
  const size_t n = (size_t)problem->n_contacts;
  double *room = malloc(sizeof *room * ((size_t)nv + 6 * n + 1));
  sap_sensitivity *sensitivity = NULL;
  sap_status status =
      room ? sap_sensitivity_create(&sensitivity, NULL, NULL, NULL) : SAP_OUT_OF_MEMORY;
  *gradient = *linearization = DBL_MAX;
  for (int r = 0; r < repeat && status == SAP_OK; ++r) {
    sap_linear_point point;
    const double start = sap_seconds();
    status = sap_sensitivity_linearize(sensitivity, problem, NULL, v, NULL, &point, NULL);
    const double seconds = sap_seconds() - start;
    *linearization = seconds < *linearization ? seconds : *linearization;
  }
  for (int r = 0; r < repeat && status == SAP_OK; ++r) {
    double *const of = room + nv;
    sap_differential to = {.v_star = room,
                           .mu = of,
                           .R_t = of + n,
                           .R_n = of + 2 * n,
                           .v_hat_n = of + 3 * n,
                           .v_hat_t = problem->v_hat_t ? of + 4 * n : NULL};
    sap_coupling coupling;
    const double start = sap_seconds();
    status = sap_sensitivity_vjp(sensitivity, &(sap_response){.v = v_bar}, 0, &to, &coupling, NULL);
    const double seconds = sap_seconds() - start;
    *gradient = seconds < *gradient ? seconds : *gradient;
  }
  sap_sensitivity_destroy(sensitivity);
  free(room);
  return (int)status;
}
