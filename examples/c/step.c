/* A box falls onto a plane, slides and comes to rest: a MuJoCo model, stepped with sapwood. */
#include <mujoco/mujoco.h>
#include <sapwood/mujoco.h>
#include <stdio.h>
#include <stdlib.h>

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
  double *memory = malloc(sizeof(double) * (3 * n + SAP_DAMPING_TERMS * nv));
  if (!memory) {
    return NULL;
  }
  double *stiffness = memory, *dissipation_time = stiffness + n, *friction = dissipation_time + n;
  double *damping = friction + n;
  for (size_t i = 0; i < n; ++i) {
    stiffness[i] = 1e5;
    dissipation_time[i] = 0.02;
    friction[i] = model->geom_friction[3 * i];
  }
  sap_mujoco_damping(model, damping);
  forest->stiffness = stiffness;
  forest->dissipation_time = dissipation_time;
  forest->friction = friction;
  forest->damping = damping;
  return memory;
}

int main(void) {
  int failed = 1;
  sap_stepper *stepper = NULL;
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
  /* Coulomb's friction, with contacts looked for ahead */
  sap_settings settings = sap_settings_default();
  settings.friction = SAP_FRICTION_COULOMB;
  sap_step_settings step = sap_step_settings_default(model->opt.timestep);
  step.speculative = 1;
  sap_error error = {.argument = "step", .rule = "out of memory"};
  sap_mujoco_world world;
  if (!materials || sap_stepper_create(&stepper, &forest, NULL, &step, &settings, NULL, &error) ||
      sap_mujoco_open(&world, &api, stepper, model, data, &error)) {
    fprintf(stderr, "%s: %s\n", error.argument, error.rule);
    goto done;
  }
  static sap_step_record records[STEPS];
  const int64_t taken = sap_mujoco_run(&world, STEPS, records, NULL);
  if (taken < STEPS) {
    fprintf(stderr, "step %d: %s\n", (int)taken, sap_step_failure_name(world.failure));
    goto done;
  }
  for (int i = 0; i < model->nq; ++i) {
    printf("%.17g ", data->qpos[i]);
  }
  for (int i = 0; i < model->nv; ++i) {
    printf("%.17g ", data->qvel[i]);
  }
  printf("\n%d contacts after %.3f s, %d iterations\n", (int)records[STEPS - 1].contacts,
         data->time, (int)records[STEPS - 1].iterations);
  failed = 0;
done:
  sap_stepper_destroy(stepper);
  free(materials);
  mj_deleteData(data);
  mj_deleteModel(model);
  return failed;
}
