/* The solver object behind sapwood/solver.h: settings, the plan of the problem that was solved
 * last, and the workspaces of the threads. */
#ifndef SAPWOOD_SOLVER_SOLVER_OBJECT_H
#define SAPWOOD_SOLVER_SOLVER_OBJECT_H

#include "solver/islands/islands.h"
#include "solver/dense/dense.h"

struct sap_solver {
  struct sap_block block; /* the memory of the solver itself */
  sap_settings settings;
  struct sap_plan plan;
  struct sap_islands islands;
  struct sap_dense dense;
  int without_dense;                 /* 1: every island in supernodal storage, to compare */
  const struct sap_records *history; /* records of the last solve */
  struct sap_interruption interruption;
  struct sap_threads *threads; /* NULL for one */
  struct sap_workspace work[]; /* (islands.sharing.n_threads) */
};

/* As if it was made anew with these settings, for as many threads as before: what it solved is
 * forgotten, its memory is kept. */
sap_status sap_solver_reset(sap_solver *solver, const sap_settings *settings, sap_error *error);

/* bytes that it keeps */
size_t sap_solver_memory(const sap_solver *solver);

/* Checks all of the problem but the numbers that binding an island checks, and makes the plan and
 * room for its islands, no tree of which is reduced. */
sap_status sap_solver_lay_out(sap_solver *solver, const sap_problem *problem, sap_error *error);

/* The same, and binds all islands to the first workspace. */
sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error);

/* which rule a problem that was laid out breaks, once binding an island has found that it breaks
 * one; v_guess may be NULL */
sap_status sap_solver_fault(sap_solver *solver, const sap_problem *problem, const double *v_guess,
                            sap_error *error);

/* What the two public ways to solve are made of: sap_solver_solve() where `physical` is NULL, else
 * sap_solver_solve_physical(). */
sap_status sap_solver_solve_regularized(sap_solver *solver, const sap_problem *problem,
                                        const struct sap_regularization *physical,
                                        const double *v_guess, sap_solution *solution,
                                        sap_error *error);

#endif
