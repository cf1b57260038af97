/* The solver object behind sapwood/solver.h holds the settings, the plan of the last problem, and
 * the workspaces of the threads. */
#ifndef SAPWOOD_SOLVER_SOLVER_OBJECT_H
#define SAPWOOD_SOLVER_SOLVER_OBJECT_H

#include "solver/islands/islands.h"
#include "solver/dense/dense.h"

struct sap_solver {
  struct sap_block block; /* memory of the solver itself */
  sap_settings settings;
  struct sap_plan plan;
  struct sap_islands islands;
  struct sap_dense dense;
  struct sap_block proximal, masses; /* memory of proximal solves, and of the masses they need */
  int without_dense;                 /* 1: every island uses supernodal storage, for comparisons */
  const struct sap_records *history; /* records of the last solve */
  struct sap_interruption interruption;
  struct sap_threads *threads; /* NULL with one thread */
  struct sap_workspace work[]; /* (islands.sharing.n_threads) */
};

/* Resets the solver to the state after its creation with these settings. The number of threads and
 * the memory stay. */
sap_status sap_solver_reset(sap_solver *solver, const sap_settings *settings, sap_error *error);

/* Returns the bytes that the solver owns. */
size_t sap_solver_memory(const sap_solver *solver);

/* Checks the problem, except the numbers that binding an island checks. Makes the plan, without
 * reduced trees, and room for its islands. Finds the regularization of `physical`, unless that is
 * NULL. */
sap_status sap_solver_lay_out(sap_solver *solver, const sap_problem *problem,
                              const struct sap_regularization *physical, sap_error *error);

/* Lays out the problem and binds all islands to the first workspace. */
sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem, sap_error *error);

/* Names the rule that a laid-out problem breaks, after binding an island has failed; v_guess may be
 * NULL. */
sap_status sap_solver_fault(sap_solver *solver, const sap_problem *problem, const double *v_guess,
                            sap_error *error);

/* A public call wakes the helping threads, runs one solve or several, and lets the threads sleep. A
 * run solves with R of the problem as it is, or with the regularization of `physical`, unless that
 * is NULL. */
void sap_solver_begin(sap_solver *solver);
sap_status sap_solver_run(sap_solver *solver, const sap_problem *problem,
                          const struct sap_regularization *physical, const double *v_guess,
                          sap_solution *solution, sap_error *error);
void sap_solver_end(sap_solver *solver);

#endif
