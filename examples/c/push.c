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
  sap_error error;
  sap_solver *solver;

  sap_problem problem = sap_problem_default();
  problem.n_trees = problem.n_contacts = 1;
  problem.tree_nv = &tree_nv;
  problem.A = A;
  problem.v_star = v_star;
  problem.tree_a = &tree_a;
  problem.tree_b = &tree_b;
  problem.J = J;
  problem.mu = &mu;

  sap_parameters physical = sap_parameters_default(0.01);
  physical.phi0 = &phi0;
  physical.k = &k;
  physical.tau_d = &tau_d;

  sap_solution solution = sap_solution_default();
  solution.v = v;
  solution.gamma = gamma;

  sap_status status = sap_solver_create(&solver, NULL, NULL, &error);
  if (status == SAP_OK) {
    status = sap_solver_solve_physical(solver, &problem, &physical, &R_t, &R_n, &v_hat_n, NULL,
                                       &solution, &error);
    sap_solver_destroy(solver);
  }
  if (status != SAP_OK) {
    char text[200] = "";
    if (status == SAP_INVALID_ARGUMENT) {
      sap_error_text(&error, text, sizeof text);
    }
    fprintf(stderr, "%s %s\n", sap_status_text(status), text);
    return 1;
  }
  printf("v = %.8f %.8f %.8f m/s\n", v[0], v[1], v[2]);
  printf("gamma = %.8f %.8f %.8f N s\n", gamma[0], gamma[1], gamma[2]);
  printf("%s in %d iterations\n", sap_outcome_text(solution.outcome), (int)solution.iterations);
  return 0;
}
