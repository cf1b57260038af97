/* This file gives default problems and parameters, without the arrays of the caller. */
#include "sapwood.h"

sap_problem sap_problem_default(void) { return (sap_problem){.n_trees = 0}; }

sap_parameters sap_parameters_default(double dt) {
  return (sap_parameters){.dt = dt, .sigma = 1e-3, .beta = 1, .delassus = SAP_DELASSUS_BLOCK};
}

sap_group_parameters sap_group_parameters_default(double dt) {
  return (sap_group_parameters){
      .dt = dt, .sigma = 1e-3, .beta = 0.1, .delassus = SAP_DELASSUS_BLOCK};
}
