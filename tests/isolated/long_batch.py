"""A long run of a batch: steps, random resets, other parameters, failures, Ctrl-C in the middle.

    python tests/isolated/long_batch.py 10000000

Takes so many steps of worlds in all. Exits with 1 and a line per fault if memory grows once a
fifth of the steps is taken, if a file stays open, if another world than the broken one fails, or if
Ctrl-C leaves a batch that goes on differently.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import mujoco
import numpy as np

from sapwood.mujoco import Batch

WORLDS, SUBSTEPS = 64, 10
GROWTH = 8.0  # MB
MODEL = mujoco.MjModel.from_xml_string("""
<mujoco><option timestep=".004" integrator="implicitfast"/>
<worldbody>
  <geom type="plane" size="9 9 1"/>
  <body pos="0 0 .3"><freejoint/><geom type="box" size=".2 .1 .05" mass="4"/>
    <body pos=".15 0 0"><joint axis="0 1 0" range="-1 1" limited="true" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .1 0 -.2" size=".03" mass=".4"/></body>
    <body pos="-.15 0 0"><joint axis="0 1 0" range="-1 1" limited="true" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 -.1 0 -.2" size=".03" mass=".4"/></body>
  </body>
</worldbody>
</mujoco>""")


def memory() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def files() -> int:
    """Number of open files."""
    return len(os.listdir("/proc/self/fd"))


def randomize(batch: Batch, rng: np.random.Generator, world: int) -> None:
    """Other friction, masses and damping, and a start in another place."""
    ids = [world]
    batch.expand("geom_friction")[world] = MODEL.geom_friction * rng.uniform(0.5, 1.5)
    batch.expand("body_mass")[world] = MODEL.body_mass * rng.uniform(0.5, 2.0)
    batch.expand("dof_damping")[world] = MODEL.dof_damping * rng.uniform(0.5, 2.0)
    batch.set_const(ids)
    batch.reset(ids, stage=int(mujoco.mjtStage.mjSTAGE_NONE))
    batch.qvel[world] = rng.standard_normal(MODEL.nv)


def interrupted(batch: Batch) -> bool:
    """Whether Ctrl-C in a call ends it with all states as they were."""
    before = batch.get_state()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        batch.step(nstep=10**9)
    except KeyboardInterrupt:
        return bool(np.array_equal(batch.state, before)) and not batch.status.any()
    return False


def run(steps: int) -> list[str]:
    """Run; the faults."""
    rng, faults = np.random.default_rng(1), []
    batch = Batch(MODEL, WORLDS, 2, on_error="keep")
    calls = max(10, steps // (WORLDS * SUBSTEPS))
    settled, opened, failed = 0.0, files(), 0
    for call in range(calls):
        if call == calls // 5:
            settled, opened = memory(), files()
        if call == calls // 2 and not interrupted(batch):
            faults.append("Ctrl-C does not leave the states")
        randomize(batch, rng, int(rng.integers(WORLDS)))
        batch.xfrc_applied[:, 1, :3] = rng.normal(0.0, 10.0, (WORLDS, 3))
        broken = int(rng.integers(WORLDS)) if call % 50 == 0 else -1
        if broken >= 0:
            batch.qvel[broken, 0] = np.nan
        batch.step(nstep=SUBSTEPS)
        found = np.flatnonzero(batch.status).tolist()
        failed += len(found)
        if found != [broken] * (broken >= 0):
            texts = [batch.error(world) for world in found]
            faults.append(f"call {call}: worlds {found} fail, not {broken}: {texts}")
        batch.reset(found, stage=int(mujoco.mjtStage.mjSTAGE_NONE))
    grown = memory() - settled
    print(
        f"{calls * WORLDS * SUBSTEPS} steps, {calls} resets, {failed} failures: "
        f"{memory():.1f} MB, {grown:+.1f} MB since a fifth, {files() - opened} more files"
    )
    if grown > GROWTH:
        faults.append(f"memory grows by {grown:.1f} MB")
    if files() != opened:
        faults.append(f"{files() - opened} files stay open")
    if not np.isfinite(batch.state).all():
        faults.append("states are not finite")
    return faults


if __name__ == "__main__":
    found = run(int(sys.argv[1]))
    print(*found, sep="\n")
    sys.exit(bool(found))
