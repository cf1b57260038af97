/* Boxes slide on a plane, each with a speed of its own: many worlds of a MuJoCo model on two
 * threads. */
#include <mujoco/mujoco.h>
#include <sapwood/batch.h>
#include <sapwood/mujoco.h>
#include <stdio.h>
#include <stdlib.h>

static const char description[] =
    "<mujoco>"
    "  <option timestep='.005' cone='elliptic'/>"
    "  <worldbody>"
    "    <geom type='plane' size='5 5 1' friction='.5'/>"
    "    <body pos='0 0 .03'>"
    "      <freejoint/>"
    "      <geom type='box' size='.05 .04 .03' friction='.5'/>"
    "    </body>"
    "  </worldbody>"
    "</mujoco>";

enum { WORLDS = 8, WORKERS = 2, CALLS = 20, SUBSTEPS = 10, GEOMS = 2, DOFS = 6 };

/* one material for both geoms; the friction is MuJoCo's */
struct materials {
  double stiffness[GEOMS], dissipation_time[GEOMS], friction[GEOMS];
  double damping[SAP_DAMPING_TERMS * DOFS], inverse_mass[GEOMS];
  int32_t quaternion[DOFS];
};

static mjModel *make_model(void) {
  char error[256] = "";
  mjSpec *spec = mj_parseXMLString(description, NULL, error, sizeof error);
  mjModel *model = spec ? mj_compile(spec, NULL) : NULL;
  mj_deleteSpec(spec);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return NULL;
  }
  sap_mujoco_prepare(model);
  return model;
}

static int report(sap_status status, const sap_error *error) {
  char text[200] = "";
  if (status == SAP_INVALID_ARGUMENT) {
    sap_error_text(error, text, sizeof text);
  }
  fprintf(stderr, "%s %s\n", sap_status_text(status), text);
  return 1;
}

/* a stepper and an mjData for each thread; both share the model */
static sap_status make_workers(sap_batch_worker *workers, mjModel *model, struct materials *m,
                               sap_error *error) {
  sap_forest forest = sap_mujoco_forest(model);
  for (int i = 0; i < GEOMS; ++i) {
    m->stiffness[i] = 1e5;
    m->dissipation_time[i] = 0.02;
    m->friction[i] = model->geom_friction[3 * i];
  }
  sap_mujoco_damping(model, m->damping);
  sap_mujoco_bodies(model, m->inverse_mass, m->quaternion);
  forest.stiffness = m->stiffness;
  forest.dissipation_time = m->dissipation_time;
  forest.friction = m->friction;
  forest.damping = m->damping;
  forest.geom_inverse_mass = m->inverse_mass;
  forest.dof_quaternion = m->quaternion;
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  sap_step_settings how = sap_mujoco_step_settings(model);
  sap_status status = SAP_OK;
  for (int i = 0; i < WORKERS && status == SAP_OK; ++i) {
    workers[i].model = model;
    workers[i].data = mj_makeData(model);
    status = workers[i].data ? sap_stepper_create(&workers[i].stepper, &forest, NULL, &how,
                                                  &settings, NULL, error)
                             : SAP_OUT_OF_MEMORY;
  }
  return status;
}

/* lets the boxes slide; returns the number of worlds that failed */
static int64_t slide(sap_batch *batch, double *state, int n_state) {
  sap_batch_call call;
  memset(&call, 0, sizeof call);
  call.n_worlds = WORLDS;
  call.chunk = 1;
  call.state = state;
  call.state_stride = n_state;
  call.state_spec = mjSTATE_INTEGRATION;
  call.steps = SUBSTEPS;
  int64_t failed = 0;
  for (int i = 0; i < CALLS; ++i) {
    failed += sap_batch_run(batch, &call, NULL).failed;
  }
  return failed;
}

static int simulate(const sap_mujoco *api, const sap_batch_worker *workers, const mjModel *model) {
  sap_batch *batch;
  sap_error error;
  const sap_status status = sap_batch_open(&batch, api, workers, WORKERS, &error);
  if (status != SAP_OK) {
    return report(status, &error);
  }
  const int n_state = sap_batch_state_size(batch, mjSTATE_INTEGRATION);
  double *state = (double *)malloc(sizeof(double) * WORLDS * (size_t)n_state);
  int64_t failed = state ? 0 : WORLDS;
  for (int w = 0; w < WORLDS && state; ++w) {
    mj_getState(model, (const mjData *)workers[0].data, state + w * n_state, mjSTATE_INTEGRATION);
    state[w * n_state + 1 + model->nq] = 0.5 * w; /* time, qpos, qvel */
  }
  failed = state ? slide(batch, state, n_state) : failed;
  for (int w = 0; w < WORLDS && state; ++w) {
    printf("%.17g %.17g\n", 0.5 * w, state[w * n_state + 1]);
  }
  free(state);
  sap_batch_close(batch);
  return failed != 0;
}

int main(void) {
  static struct materials materials;
  sap_batch_worker workers[WORKERS];
  sap_mujoco api;
  sap_error error;
  memset(workers, 0, sizeof workers);
  sap_mujoco_fill(&api);
  mjModel *model = make_model();
  if (!model) {
    return 1;
  }
  const sap_status status = make_workers(workers, model, &materials, &error);
  const int failed = status == SAP_OK ? simulate(&api, workers, model) : report(status, &error);
  for (int i = 0; i < WORKERS; ++i) {
    sap_stepper_destroy(workers[i].stepper);
    mj_deleteData((mjData *)workers[i].data);
  }
  mj_deleteModel(model);
  return failed;
}
