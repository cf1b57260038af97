"""The C core and its NumPy mirror agree."""

from pathlib import Path

import numpy as np
import pytest

from invdyn_systems import legged, random_case
from sapwood.invdyn import InverseDynamics
from sapwood.reference.invdyn.invdyn_solver import solve
from sapwood.reference.invdyn.unactuated import System

CASES = {
    "standing": lambda rng: legged(rng),
    "slippery": lambda rng: legged(rng, mu=0.02),
    "sliding": lambda rng: random_case(rng, 2, 6, 5),
    "inconsistent": lambda rng: random_case(rng, 4, 6, 5),
    "fixed base": lambda rng: random_case(rng, 1, 0, 5),
}


@pytest.mark.parametrize("stage_one", ["contact_consistent", "paper"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "controller", ["lcp_noslip", "lcp_coulomb", "qp_noslip", "qp_coulomb", "one_stage"]
)
def test_mirror(rng, controller, name, stage_one):
    case = CASES[name](rng)
    made = InverseDynamics(
        controller, actuated=case.actuated, dt=case.dt, stage_one=stage_one, edges=6
    )
    a = case.arguments()
    ours = made.solve(**a)
    mirror = solve(
        System(
            a["M"], a["h"], a["v"], a["qdd_desired"], a["J_n"], a["J_t"], a["mu"], a["phi"],
            case.dt, case.actuated,
        ),
        made.options,
    )  # fmt: skip
    if controller == "lcp_coulomb" and name == "inconsistent":
        return  # Lemke's method finds a solution or a ray there, as its path happens to lie
    assert ours.status == mirror.status
    scale = 1.0 + np.abs(mirror.v_plus).max()
    assert np.allclose(ours.slack, mirror.slack, atol=1e-4 * (1 + np.abs(mirror.slack).max()))
    if controller == "lcp_coulomb":
        return  # which of several motions is found may depend on rounding
    assert np.allclose(ours.v_plus, mirror.v_plus, atol=1e-5 * scale)
    if controller.startswith("qp") and "standing" in name:  # the least torques are unique
        assert np.allclose(ours.tau, mirror.tau, atol=1e-5 * (1 + np.abs(mirror.tau).max()))


@pytest.mark.parametrize("instant", ["first", "last"])
def test_mirror_of_a_pinch(instant):
    """Forces that motors hardly feel are left out of both."""
    path = Path(__file__).parents[1] / "data" / "invdyn" / f"pinch_{instant}.npz"
    with np.load(path) as file:
        a = dict(file)
    made = InverseDynamics("qp_noslip", actuated=range(len(a["qdd_desired"])), dt=1e-3)
    ours = made.solve(**a)
    mirror = solve(
        System(
            a["M"], a["h"], a["v"], a["qdd_desired"], a["J_n"], a["J_t"], a["mu"],
            np.zeros(len(a["mu"])), 1e-3, made.actuated,
        ),
        made.options,
    )  # fmt: skip
    assert ours.status == mirror.status
    assert np.allclose(ours.v_plus, mirror.v_plus, atol=1e-5 * (1 + np.abs(mirror.v_plus).max()))
    assert np.abs(mirror.forces).max() < 1e4
    assert np.allclose(ours.tau, mirror.tau, atol=1e-3 * (1 + np.abs(mirror.tau).max()))
