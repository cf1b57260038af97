"""Changes of problems, and problems that were changed, for tests of derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np

import helpers
import row_groups
import sapwood
from sapwood import Differential, GroupDifferential, SapSettings

ROWS = ("J", "R", "v_hat", "lower", "upper")
NAMES = tuple(
    field.name for field in dataclasses.fields(Differential) if field.name != "constraints"
)
TIGHT = 1e-14
CORES = ("none", "log", "exp", "table")
CORE_TABLE = np.array([[0.0, 0.1, 0.3, 1.0], [0.8, 1.5, 1.1, 9.0]])


def settings_of(friction="convex", **options):
    """Settings of solves as exact as they can be."""
    return SapSettings(relative_tolerance=TIGHT, friction=friction, **options)


@dataclasses.dataclass
class Case:
    """The arguments of a problem, its groups by class and arguments, and the law of friction."""

    arguments: dict
    groups: list = dataclasses.field(default_factory=list)
    friction: str = "convex"
    soft_norm: float = 0.0

    def problem(self, change=None, h=0.0):
        """The problem, where change is not None with h times it added."""
        arguments = dict(self.arguments)
        if change is not None:
            for name in NAMES:
                dot = getattr(change, name)
                if dot is not None:
                    default = {"sigma": 1e-3}.get(name)
                    arguments[name] = arguments.get(name, default) + h * np.asarray(dot)
        groups = []
        for k, (kind, own) in enumerate(self.groups):
            own = dict(own)
            if change is not None and change.constraints:
                dots = change.constraints[k]
                given = {name: getattr(dots, name) for name in ROWS} | dict(dots.parameters)
                for name, dot in given.items():
                    if dot is not None:
                        own[name] = own[name] + h * np.asarray(dot)
            groups.append(kind(**own))
        return sapwood.ContactProblem(**arguments, constraints=groups)

    def solve(self, change=None, h=0.0, sensitivity=False):
        """Its solution."""
        settings = settings_of(self.friction, soft_norm=self.soft_norm)
        problem = self.problem(change, h)
        return sapwood.solve(problem, settings=settings, sensitivity=sensitivity)

    def names(self):
        """Numbers that may be changed."""
        fixed = (
            "tree_nv",
            "tree_a",
            "tree_b",
            "core",
            "core_table",
            "delassus",
            "beta",
            "spin_contact",
        )
        own = [name for name in self.arguments if name not in fixed and name in NAMES]
        physical = "phi0" in self.arguments
        rows = any("R" not in group for _, group in self.groups)
        return [*own, *(["sigma"] if (physical or rows) and "sigma" not in own else [])]

    def change(self, rng, names=None):
        """A random change of these numbers, of all by default, that may be made both ways."""
        names = (*self.names(), "constraints") if names is None else names
        dots = {}
        for name in names:
            if name == "constraints":
                continue
            x = np.asarray(self.arguments.get(name, 1e-3), dtype=float)
            dots[name] = direction(rng, name, x)
            if name == "A":
                dots[name] = symmetric(dots[name], self.arguments["tree_nv"])
        groups = ()
        if "constraints" in names:
            groups = tuple(group_change(rng, own) for _, own in self.groups)
        return Differential(**dots, constraints=groups)


def direction(rng, name, x):
    """A random direction of numbers, relative where they have a sign or a scale to keep."""
    free = name in ("v_star", "J", "v_hat_n", "v_hat_t", "v_hat", "spin_J", "phi0", "g", "A")
    dot = rng.uniform(-1.0, 1.0, x.shape)
    if free:
        return dot * (0.1 if name in ("phi0", "g") else 0.01 if name == "A" else 1.0)
    return np.where(np.isfinite(x), dot * np.where(np.isfinite(x), x, 0.0), 0.0)


def symmetric(x, tree_nv):
    """The symmetric part, block by block."""
    blocks, begin = [], 0
    for n in tree_nv:
        block = x[begin : begin + n * n].reshape(n, n)
        blocks.append((0.5 * (block + block.T)).ravel())
        begin += n * n
    return np.concatenate(blocks)


def group_change(rng, own):
    """A random change of a group; bounds that are equal stay so."""
    skipped = ("tree_a", "tree_b", "size", "beta")
    dots = {
        name: direction(rng, name, np.asarray(x, dtype=float))
        for name, x in own.items()
        if name not in skipped
    }
    for low, high in (("lower", "upper"), ("force_lower", "force_upper")):
        if low in dots and high in dots:
            equal = np.asarray(own[low]) == np.asarray(own[high])
            dots[high] = np.where(equal, dots[low], dots[high])
    rows = {name: dots.pop(name) for name in ROWS if name in dots}
    return GroupDifferential(**rows, parameters=dots)


# ---- cases --------------------------------------------------------------------------------------


def given_case(rng, sizes=(6, 4, 1, 9), contacts=12, friction="convex", **options):
    """Contacts with R and v_hat of their own, moving surfaces, and a tree that nothing touches."""
    problem = helpers.random_problem(
        rng, (*sizes, 2), contacts, touched=range(len(sizes)),
        mu=rng.choice([0.3, 0.5, 1.0, 1.7], contacts),
        v_hat_t=rng.uniform(-0.2, 0.2, (contacts, 2)),
    )  # fmt: skip
    arguments = helpers.arguments_of(problem)
    del arguments["constraints"], arguments["dt"]
    arguments = {name: x for name, x in arguments.items() if x is not None}
    return Case({**arguments, "dt": 0.01, **options.pop("extra", {})}, friction=friction, **options)


def lagged_case(rng):
    """Friction with bounds of its own."""
    bounds = rng.uniform(0.05, 2.0, 12)
    return given_case(rng, friction="lagged", extra={"friction_bound": bounds})


def spinning_case(rng, friction="convex"):
    """Contacts that resist turning."""
    problem = helpers.random_spinning_problem(rng, sizes=(6, 4, 6), contacts=8)
    arguments = {k: x for k, x in helpers.arguments_of(problem).items() if x is not None}
    del arguments["constraints"]
    positive = np.where(arguments["mu"] == 0.0, 0.4, arguments["mu"])
    case = Case({**arguments, "mu": positive}, friction=friction)
    if friction == "lagged":
        case.arguments["friction_bound"] = rng.uniform(0.05, 2.0, 8)
    return case


def physical_case(rng, core=False, delassus="block", friction="convex"):
    """Contacts by stiffness and distance, soft and near-rigid."""
    case = given_case(rng, friction=friction)
    for name in ("R_t", "R_n", "v_hat_n"):
        del case.arguments[name]
    n = len(case.arguments["mu"])
    case.arguments |= {
        "phi0": rng.uniform(-0.005, 0.001, n),
        "k": rng.choice([1e2, 1e4, 1e9], n),
        "tau_d": rng.uniform(0.01, 0.03, n),
        "sigma": 1e-2,
        "delassus": delassus,
    }
    if core:
        case.arguments |= {"core": rng.choice(CORES, n), "delta": np.full(n, 0.05)}
        case.arguments["core_lambda"] = rng.uniform(2.0, 4.0, n)
        case.arguments["core_table"] = CORE_TABLE
    return case


def energy_case(rng):
    """Cores by their energy."""
    case = given_case(rng)
    n = len(case.arguments["mu"])
    s = 0.5 + rng.random(n)
    rest = np.abs(case.arguments["v_hat_n"]) + 2.0
    case.arguments |= {
        "core": rng.choice(CORES, n),
        "core_table": CORE_TABLE,
        "kappa": (rest * (1 + s)) ** 2 / case.arguments["R_n"],
        "core_lambda": rng.uniform(1.0, 3.0, n),
    }
    return case


def rows_case(rng, kind, given=False):
    """Rows of one kind alone, and a few contacts."""
    sizes = (6, 4, 1, 9)
    case = given_case(rng, sizes, contacts=3)
    shape, n_rows = row_groups.random_rows(rng, kind, sizes, 6)
    own = {**shape}
    if given:
        probe = kind(**shape, **row_groups.random_parameters(rng, kind, n_rows))
        held = dataclasses.replace(case, groups=[(kind, own | probe.parameters)]).problem()
        group = held.constraints[0]
        own |= {name: np.array(getattr(group, name)) for name in ROWS[1:]}
    else:
        own |= row_groups.random_parameters(rng, kind, n_rows)
    case.groups = [(kind, own)]
    return case


CASES = {
    "contacts": given_case,
    "soft norm": lambda rng: given_case(rng, soft_norm=1e-2),
    "lagged": lagged_case,
    "coulomb": lambda rng: given_case(rng, friction="coulomb"),
    "spins": spinning_case,
    "spins, lagged": lambda rng: spinning_case(rng, "lagged"),
    "spins, coulomb": lambda rng: spinning_case(rng, "coulomb"),
    "physical": physical_case,
    "physical, diagonal": lambda rng: physical_case(rng, delassus="diagonal"),
    "physical, coulomb": lambda rng: physical_case(rng, friction="coulomb"),
    "cores": lambda rng: physical_case(rng, core=True),
    "energies": energy_case,
    **{kind.kind: lambda rng, kind=kind: rows_case(rng, kind) for kind in row_groups.KINDS},
    **{
        f"{kind.kind}, given": lambda rng, kind=kind: rows_case(rng, kind, given=True)
        for kind in row_groups.KINDS
    },
}
