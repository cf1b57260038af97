/* A PD controller acts on the velocity and position at the end of the step, with an effort limit e:
 *
 *     gamma = clamp(dt (Kp (q_d - q_0 - dt v_c) + Kd (v_d - v_c) + u_ff), -dt e, dt e)
 *
 * which is a clamped row with R = 1/(dt (dt Kp + Kd)) and v_hat = (Kp (q_d - q_0) + Kd v_d +
 * u_ff)/(dt Kp + Kd). If R would be less than R_nr, both gains are scaled down until R = R_nr; u_ff
 * keeps its size. */
#include <math.h>

#include "constraints/kinds/row_run.h"

static inline struct sap_row row(const double *p, const struct sap_row_step *step) {
  const double Kp = p[0], Kd = p[1], q_0 = p[2], q_d = p[3], v_d = p[4], u_ff = p[5], effort = p[6];
  const double gain = step->dt * Kp + Kd;
  const double R = gain > 0 && isfinite(gain) ? sap_larger(step->R_nr, 1 / (step->dt * gain)) : 0;
  return (struct sap_row){.R = R,
                          .v_hat = (Kp * (q_d - q_0) + Kd * v_d) / gain + u_ff * step->dt * R,
                          .lower = -step->dt * effort,
                          .upper = step->dt * effort};
}

static int64_t rows(const struct sap_row_run *run, struct sap_row *broken) {
  return sap_fill_rows(row, 7, &sap_kind_controller, run, broken);
}

static void slopes(const double *p, const struct sap_row_step *step,
                   struct sap_row by[SAP_ROW_SLOPES]) {
  const double Kp = p[0], Kd = p[1], q_0 = p[2], q_d = p[3], v_d = p[4], u_ff = p[5], effort = p[6];
  const double dt = step->dt, gain = dt * Kp + Kd, soft = 1 / (dt * gain);
  const int rigid = step->R_nr > soft;
  const double mean = (Kd * v_d + Kp * (q_d - q_0)) / gain; /* v_hat without u_ff */
  by[0].R = rigid ? 0 : -soft * dt / gain;
  by[1].R = rigid ? 0 : -soft / gain;
  by[SAP_ROW_BY_DT].R = rigid ? 0 : -soft * (1 / dt + Kp / gain);
  by[SAP_ROW_BY_R_NR].R = rigid;
  by[0].v_hat = (q_d - q_0 - dt * mean) / gain;
  by[1].v_hat = (v_d - mean) / gain;
  by[2].v_hat = -Kp / gain;
  by[3].v_hat = Kp / gain;
  by[4].v_hat = Kd / gain;
  by[5].v_hat = dt * (rigid ? step->R_nr : soft);
  by[SAP_ROW_BY_DT].v_hat = u_ff * (rigid ? step->R_nr : soft) - mean * Kp / gain;
  for (int k = 0; k < SAP_ROW_SLOPES; ++k) {
    by[k].v_hat += u_ff * dt * by[k].R;
  }
  by[6].lower = -dt;
  by[6].upper = dt;
  by[SAP_ROW_BY_DT].lower = -effort;
  by[SAP_ROW_BY_DT].upper = effort;
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
    .rows = rows,
    .slopes = slopes,
};
