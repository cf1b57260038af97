/* A PD controller that acts on the velocity and position at the end of the step, with an effort
 * limit e:
 *
 *     gamma = clamp(dt (Kp (q_d - q_0 - dt v_c) + Kd (v_d - v_c) + u_ff), -dt e, dt e)
 *
 * which is a clamped row with R = 1/(dt (dt Kp + Kd)) and v_hat = (Kp (q_d - q_0) + Kd v_d +
 * u_ff)/(dt Kp + Kd). Where R would be less than R_nr, both gains are scaled down until it is not:
 * u_ff alone keeps its size. */
#include <math.h>

#include "constraints/kinds.h"

static struct sap_row row(const double *p, const struct sap_row_step *step) {
  const double Kp = p[0], Kd = p[1], q_0 = p[2], q_d = p[3], v_d = p[4], u_ff = p[5], effort = p[6];
  const double gain = step->dt * Kp + Kd;
  const double R = gain > 0 && isfinite(gain) ? fmax(step->R_nr, 1 / (step->dt * gain)) : 0;
  return (struct sap_row){.R = R,
                          .v_hat = (Kp * (q_d - q_0) + Kd * v_d) / gain + u_ff * step->dt * R,
                          .lower = -step->dt * effort,
                          .upper = step->dt * effort};
}

const struct sap_kind_entry sap_kind_controller = {
    .name = "controller",
    .law = SAP_LAW_CLAMP,
    .most_rows = 1,
    .n_parameters = 7,
    .parameter = {{"Kp", SAP_NON_NEGATIVE},
                  {"Kd", SAP_NON_NEGATIVE},
                  {"q_0", SAP_FINITE},
                  {"q_d", SAP_FINITE},
                  {"v_d", SAP_FINITE},
                  {"u_ff", SAP_FINITE},
                  {"effort", SAP_SYMMETRIC_BOUND}},
    .stiffness = 0,
    .target = 3,
    .row = row,
};
