"""The error of a call of a batch in which some worlds failed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST = 5  # worlds that a text lists


class SimulationError(RuntimeError):
    """Some simulations of a call failed; they kept their state, and the others went on.

    Attributes
    ----------
    ids : ndarray of int
        The simulations that failed; :meth:`Batch.error` has the text of each.
    """

    def __init__(self, ids: NDArray[np.intp], message: str, n_called: int | None = None) -> None:
        super().__init__(ids, message, n_called)
        self.ids = ids
        self._message, self._n_called = message, n_called

    def __str__(self) -> str:
        listed = ", ".join(str(i) for i in self.ids[:_MOST])
        rest = ", ..." if len(self.ids) > _MOST else ""
        total = "" if self._n_called is None else f" of {self._n_called}"
        return (
            f"a step failed in {len(self.ids)}{total} simulations ({listed}{rest}); "
            f"simulation {self.ids[0]}: {self._message}"
        )
