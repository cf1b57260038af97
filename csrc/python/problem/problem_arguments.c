#include "python/problem/problem_arguments.h"

int sapwood_problem_arguments_parse(struct sapwood_problem_arguments *in, PyObject *args,
                                    PyObject *keywords) {
  static char *names[] = {"tree_nv",
                          "A",
                          "v_star",
                          "tree_a",
                          "tree_b",
                          "J",
                          "mu",
                          "dt",
                          "sigma",
                          "beta",
                          "delassus",
                          "phi0",
                          "k",
                          "tau_d",
                          "R_t",
                          "R_n",
                          "v_hat_n",
                          "v_hat_t",
                          "groups",
                          "core",
                          "kappa",
                          "core_lambda",
                          "delta",
                          "v_guess",
                          "friction_bound",
                          "spin_contact",
                          "spin_J",
                          "spin_mu",
                          "slip_ratio",
                          "core_table",
                          "factors_of",
                          NULL};
  sapwood_spin_arguments *spin = &in->spin;
  in->groups = NULL;
  in->core = in->kappa = in->core_lambda = in->delta = in->v_guess = in->friction_bound = Py_None;
  in->slip_ratio = in->core_table = in->factors_of = Py_None;
  in->phi0 = in->k = in->tau_d = in->R_t = in->R_n = in->v_hat_n = in->v_hat_t = Py_None;
  spin->contact = spin->J = spin->mu = Py_None;
  return PyArg_ParseTupleAndKeywords(
             args, keywords, "OOOOOOOOOOO|OOOOOOOOOOOOOOOOOOOO:Problem", names, &in->tree_nv,
             &in->A, &in->v_star, &in->tree_a, &in->tree_b, &in->J, &in->mu, &in->dt, &in->sigma,
             &in->beta, &in->delassus, &in->phi0, &in->k, &in->tau_d, &in->R_t, &in->R_n,
             &in->v_hat_n, &in->v_hat_t, &in->groups, &in->core, &in->kappa, &in->core_lambda,
             &in->delta, &in->v_guess, &in->friction_bound, &spin->contact, &spin->J, &spin->mu,
             &in->slip_ratio, &in->core_table, &in->factors_of)
             ? 0
             : -1;
}
