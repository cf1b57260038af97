/* A box falls onto a plane, slides and comes to rest: a MuJoCo model, stepped with sapwood, and the
 * derivative of its next step. */
#include <mujoco/mujoco.h>
#include <sapwood/linearization.h>
#include <sapwood/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char description[] =
    "<mujoco>"
    "  <option timestep='.005' cone='elliptic'/>"
    "  <worldbody>"
    "    <geom type='plane' size='1 1 1'/>"
    "    <body pos='0 0 .2' euler='20 10 0'>"
    "      <freejoint/>"
    "      <geom type='box' size='.05 .04 .03'/>"
    "    </body>"
    "  </worldbody>"
    "</mujoco>";

enum { STEPS = 200 };

static mjModel *make_model(void) {
  char error[256] = "";
  mjSpec *spec = mj_parseXMLString(description, NULL, error, sizeof error);
  mjModel *model = spec ? mj_compile(spec, NULL) : NULL;
  mj_deleteSpec(spec);
  if (!model) {
    fprintf(stderr, "%s\n", error);
  }
  return model;
}

/* one material for all geoms; the friction is MuJoCo's */
static double *make_materials(const mjModel *model, sap_forest *forest) {
  const size_t n = (size_t)model->ngeom, nv = (size_t)model->nv;
  double *memory = (double *)malloc(sizeof(double) * (4 * n + (SAP_DAMPING_TERMS + 1) * nv));
  if (!memory) {
    return NULL;
  }
  double *stiffness = memory, *dissipation_time = stiffness + n, *friction = dissipation_time + n;
  double *inverse_mass = friction + n, *damping = inverse_mass + n;
  int32_t *quaternion = (int32_t *)(damping + SAP_DAMPING_TERMS * nv);
  for (size_t i = 0; i < n; ++i) {
    stiffness[i] = 1e5;
    dissipation_time[i] = 0.02;
    friction[i] = model->geom_friction[3 * i];
  }
  sap_mujoco_damping(model, damping);
  sap_mujoco_bodies(model, inverse_mass, quaternion);
  forest->stiffness = stiffness;
  forest->dissipation_time = dissipation_time;
  forest->friction = friction;
  forest->damping = damping;
  forest->geom_inverse_mass = inverse_mass;
  forest->dof_quaternion = quaternion;
  return memory;
}

static int report(sap_status status, const sap_error *error) {
  char text[200] = "";
  if (status == SAP_INVALID_ARGUMENT) {
    sap_error_text(error, text, sizeof text);
  }
  fprintf(stderr, "%s %s\n", sap_status_text(status), text);
  return 1;
}

/* prints the derivative of the next position by the present state; the model has no controls */
static int differentiate(sap_mujoco_world *world, const sap_stepper *stepper) {
  const struct sap_linear_sizes size = sap_mujoco_linear_sizes(world);
  const size_t n = (size_t)size.n, nv = (size_t)size.nv, nq = (size_t)size.nq;
  double *A =
      (double *)malloc(sizeof(double) * (n * n + nq + nv + (size_t)sap_mujoco_linear_work(world)));
  struct sap_mujoco_linear found;
  sap_linear_step *memory;
  sap_error error;
  const sap_status status = sap_linear_step_create(&memory, stepper, NULL, &error);
  if (!A || status != SAP_OK) {
    free(A);
    return report(A ? status : SAP_OUT_OF_MEMORY, &error);
  }
  memset(&found, 0, sizeof found);
  found.step = 1e-6;
  found.soften = 1;
  found.A = A;
  found.q = A + n * n;
  found.v = found.q + nq;
  found.work = found.v + nv;
  const int failed = sap_mujoco_linearize(world, memory, &found) != SAP_STEP_TAKEN;
  for (size_t i = 0; i < nv * n && !failed; ++i) {
    printf("%.17g ", A[i]);
  }
  printf("\n");
  sap_linear_step_destroy(memory);
  free(A);
  return failed;
}

/* takes STEPS steps and prints where they lead; what went wrong goes to stderr */
static int simulate(const sap_mujoco *api, sap_stepper *stepper, mjModel *model, mjData *data) {
  static sap_step_record records[STEPS];
  sap_mujoco_world *world;
  sap_error error;
  const sap_status status = sap_mujoco_open(&world, api, stepper, model, data, &error);
  if (status != SAP_OK) {
    return report(status, &error);
  }
  const int64_t taken = sap_mujoco_run(world, STEPS, records, NULL);
  const sap_step_failure failure = sap_mujoco_end(world)->failure;
  if (taken < STEPS) {
    fprintf(stderr, "step %d: %s\n", (int)taken, sap_step_failure_name(failure));
    sap_mujoco_close(world);
    return 1;
  }
  for (int i = 0; i < model->nq; ++i) {
    printf("%.17g ", data->qpos[i]);
  }
  for (int i = 0; i < model->nv; ++i) {
    printf("%.17g ", data->qvel[i]);
  }
  printf("\n%d contacts after %.3f s, %d iterations\n", (int)records[STEPS - 1].contacts,
         data->time, (int)records[STEPS - 1].iterations);
  const int failed = differentiate(world, stepper);
  sap_mujoco_close(world);
  return failed;
}

/* Coulomb's friction, with contacts looked for ahead */
static int step(const sap_mujoco *api, const sap_forest *forest, mjModel *model, mjData *data) {
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  sap_step_settings how = sap_mujoco_step_settings(model);
  sap_stepper *stepper;
  sap_error error;
  const sap_status status =
      sap_stepper_create(&stepper, forest, NULL, &how, &settings, NULL, &error);
  if (status != SAP_OK) {
    return report(status, &error);
  }
  const int failed = simulate(api, stepper, model, data);
  sap_stepper_destroy(stepper);
  return failed;
}

int main(void) {
  int failed = 1;
  sap_mujoco api;
  sap_mujoco_fill(&api);
  mjModel *model = make_model();
  if (!model) {
    return 1;
  }
  mjData *data = mj_makeData(model);
  sap_mujoco_prepare(model);
  sap_forest forest = sap_mujoco_forest(model);
  double *materials = make_materials(model, &forest);
  if (data && materials) {
    failed = step(&api, &forest, model, data);
  }
  free(materials);
  mj_deleteData(data);
  mj_deleteModel(model);
  return failed;
}
