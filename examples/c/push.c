/* A mass of 1 kg rests on the floor with mu = 0.5 and is pushed with 3 N for 10 ms: it sticks. */
#include <sapwood.h>
#include <stdio.h>

int main(void) {
  /* one tree of three velocities (two tangents, normal), one contact with the world */
  const int32_t tree_nv = 3, tree_a = 0, tree_b = -1;
  const double A[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, J[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double v_star[] = {3 * 0.01, 0, -9.81 * 0.01}, mu = 0.5;
  const double k = 1e5, tau_d = 0.01, phi0 = -9.81 / k;
  double R_t, R_n, v_hat_n, v[3], gamma[3];
  sap_problem problem = {1, 1,   &tree_nv, A,    v_star, &tree_a, &tree_b,
                         J, &mu, NULL,     NULL, NULL,   NULL};
  sap_parameters physical = {0.01, 1e-3, 1.0, SAP_DELASSUS_BLOCK, &phi0, &k, &tau_d};
  sap_solution solution = {.v = v, .gamma = gamma};
  sap_solver *solver;

  if (sap_solver_create(&solver, NULL, NULL, NULL) ||
      sap_solver_solve_physical(solver, &problem, &physical, &R_t, &R_n, &v_hat_n, NULL, &solution,
                                NULL)) {
    return 1;
  }
  printf("v = %.8f %.8f %.8f m/s\n", v[0], v[1], v[2]);
  printf("gamma = %.8f %.8f %.8f N s\n", gamma[0], gamma[1], gamma[2]);
  printf("%s in %d iterations\n", sap_outcome_text(solution.outcome), (int)solution.iterations);
  sap_solver_destroy(solver);
  return 0;
}
