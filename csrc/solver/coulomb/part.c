#include "solver/coulomb/part.h"

#include <math.h>

void sap_solve_part(struct sap_workspace *w, const struct sap_island *island,
                    const sap_settings *settings, sap_friction friction, double tolerance,
                    struct sap_newton_result *sum) {
  sap_settings rest = *settings;
  rest.friction = friction;
  rest.relative_tolerance = fmax(settings->relative_tolerance, tolerance);
  rest.max_iterations -= sum->iterations;
  rest.start = sum->iterations > 0 ? SAP_START_NEWTON : settings->start;
  w->records.before = sum->iterations;
  struct sap_newton_result part = sap_newton(w, island, &rest);
  w->records.before = 0;
  part.iterations += sum->iterations;
  part.trials += sum->trials;
  part.fallbacks |= sum->fallbacks;
  part.assembly_seconds += sum->assembly_seconds;
  part.factor_seconds += sum->factor_seconds;
  part.line_search_seconds += sum->line_search_seconds;
  *sum = part;
}
