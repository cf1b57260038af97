/* Steps in which nobody looks: those of a run but for the last one.
 *
 * A step leaves much in mjData that the next one computes anew: rows of constraints, values of
 * sensors, energies. A lean step computes of it what the state after it takes, which then is the
 * same to the bit: of the rows those of equality constraints and of dry friction of tendons, which
 * are gathered from (step/joints/constraints.h); of contacts, limits and dofs with friction they
 * are where forces are written to. Of contacts and limits they say besides how fast a deep
 * violation is released (step/joints/release.h): where the step before asked for that all rows are
 * made, and where it comes as a surprise the step is taken again. */
#ifndef SAPWOOD_MUJOCO_STAGES_LEAN_STEP_H
#define SAPWOOD_MUJOCO_STAGES_LEAN_STEP_H

#include "sapwood/mujoco.h"

/* At the start of a run. 0 where every step has to leave all: its values are recorded; a state goes
 * on in what lean steps leave out (plugins, histories of sensors, flexes); or more than the
 * contact part reads rows. */
int sap_mujoco_begin_lean(sap_mujoco_world *world);

/* 1 where a callback is registered, which may look at anything */
int sap_mujoco_is_watched(const sap_mujoco_world *world);

/* After the collision stage, which empties the list of rows: makes those that a lean step reads,
 * and returns 1. 0, with nothing done, where all of them might be more than there is memory for. */
int sap_mujoco_make_few_rows(const sap_mujoco_world *world);

#endif
