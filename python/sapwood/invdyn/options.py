"""Options of a controller of inverse dynamics."""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.base.checks import integer

Controller = Literal[
    "lcp_noslip", "lcp_coulomb", "lcp_nearest", "qp_noslip", "qp_coulomb", "one_stage"
]  # fmt: skip
StageOne = Literal["contact_consistent", "paper"]
OnInconsistent = Literal["nearest", "report"]

_OF_CONES = ("qp_noslip", "qp_coulomb", "one_stage")
# options of these controllers only, and their values when unused
_OF_QPS = {"torque_limit": None, "torque_regularization": 0.0, "force_regularization": 0.0}


def choice(value: object, name: str, among: object) -> None:
    """See that a value is one of a Literal's."""
    names = get_args(among)
    if value not in names:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(repr, names))}")


@dataclasses.dataclass(frozen=True, eq=False)
class InvdynOptions:
    """Options of :class:`sapwood.invdyn.InverseDynamics`, which describes them.

    Raises
    ------
    ValueError, TypeError
        One is wrong; the message names it.
    """

    controller: Controller = "qp_coulomb"
    edges: int = 4
    stage_one: StageOne = "contact_consistent"
    torque_limit: NDArray[np.float64] | None = None
    torque_regularization: float = 0.0
    force_regularization: float = 0.0
    on_inconsistent: OnInconsistent = "nearest"
    smoothing: float = 1e-2
    rank_tolerance: float = 1e-3

    def __post_init__(self) -> None:
        choice(self.controller, "controller", Controller)
        choice(self.stage_one, "stage_one", StageOne)
        choice(self.on_inconsistent, "on_inconsistent", OnInconsistent)
        if integer(self.edges, "edges", 4) % 2:
            raise ValueError(f"edges = {self.edges}: must be even")
        for name in ("torque_regularization", "force_regularization", "smoothing"):
            _core.as_float64(getattr(self, name), name, (), "non-negative")
        if not 0.0 <= _core.as_float64(self.rank_tolerance, "rank_tolerance", (), "finite") < 1.0:
            raise ValueError(f"rank_tolerance = {self.rank_tolerance}: must be from 0 to below 1")
        if self.controller not in _OF_CONES:
            given = [
                name
                for name, none in _OF_QPS.items()
                if not (getattr(self, name) is none or getattr(self, name) == none)
            ]
            if given:
                raise ValueError(f"{given[0]}: only for {', '.join(_OF_CONES)}")

    @property
    def noslip(self) -> bool:
        """Whether contacts are held from slipping in place of having friction."""
        return self.controller in ("lcp_noslip", "qp_noslip")

    @property
    def one_stage(self) -> bool:
        """Whether Stage I is all."""
        return self.controller == "one_stage"
