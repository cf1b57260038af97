"""The error of a call of a batch in which some worlds failed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MOST = 5  # worlds that a text lists


class SimulationError(RuntimeError):
    """Some simulations of a call failed; they kept their state, and the others went on.

    Attributes
    ----------
    ids : ndarray of int
        The simulations that failed; :meth:`Batch.error` has the text of each.
    """

    def __init__(self, text: object, ids: ArrayLike = ()) -> None:
        super().__init__(text, ids)
        self.ids = np.asarray(ids, dtype=np.intp)

    def __str__(self) -> str:
        return str(self.args[0])

    @classmethod
    def of(cls, ids: NDArray[np.intp], reason: str, n_called: int) -> SimulationError:
        """The error of simulations `ids` of a call with `n_called`; `reason` is of the first."""
        listed = ", ".join(str(i) for i in ids[:_MOST]) + (", ..." if len(ids) > _MOST else "")
        return cls(
            f"a step failed in {len(ids)} of {n_called} simulations ({listed}); "
            f"simulation {ids[0]}: {reason}",
            ids,
        )
