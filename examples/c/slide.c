/* A mass of 1 kg slides over the floor at 1 m/s with mu = 0.5; the next 10 ms of it. */
#include <sapwood.h>
#include <stdio.h>

int main(void) {
  const double A[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, J[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double v_star[] = {1, 0, -9.81 * 0.01}, phi0 = 0, k = 1e5, tau_d = 0.01, mu = 0.5;
  double R_t, R_n, v_hat_n, v[3], gamma[3];
  sap_problem problem = {.n_trees = 1, .n_contacts = 1, .tree_nv = (int32_t[]){3}, .A = A, .J = J,
                         .v_star = v_star, .tree_a = (int32_t[]){0}, .tree_b = (int32_t[]){-1},
                         .mu = &mu, .R_t = &R_t, .R_n = &R_n, .v_hat_n = &v_hat_n};
  sap_parameters parameters = {.dt = 0.01, .sigma = 1e-3, .beta = 1.0, .phi0 = &phi0, .k = &k,
                               .tau_d = &tau_d};
  sap_solution solution = {.v = v, .gamma = gamma};
  sap_settings settings = sap_settings_default();
  sap_solver *solver = NULL;
  sap_error error = {0};

  sap_status status = sap_regularize(&problem, &parameters, &R_t, &R_n, &v_hat_n, NULL, &error);
  if (!status) status = sap_solver_create(&solver, &settings, NULL, &error);
  if (!status) status = sap_solver_solve(solver, &problem, NULL, &solution, &error);
  sap_solver_destroy(solver);
  if (status) return fprintf(stderr, "%s: %s\n", error.argument, error.rule), 1;

  printf("v = %.6f %.6f %.6f m/s\n", v[0], v[1], v[2]);
  printf("gamma = %.6f %.6f %.6f N s\n", gamma[0], gamma[1], gamma[2]);
  printf("%s in %d iterations\n", sap_outcome_text(solution.outcome), solution.iterations);
  return 0;
}
