"""What predicted contact forces are compared with: measured ones that come late, and none."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sapwood import _core
from sapwood.base.checks import integer

from .selection import selected

Array = NDArray[np.float64]


class SensedForces:
    """Inverse dynamics with contact forces as they were measured some steps ago.

    Parameters
    ----------
    actuated : array_like
        Velocities with a motor, as for :class:`InverseDynamics`.
    dt : float
        Time step, s.
    delay : int
        Steps by which measurements are late: 1 for the paper's ID(t_i-1), 2 for ID(t_i-2).

    Examples
    --------
    A motor lifts 2 kg; once the floor is felt to carry half of it, it has less to do:

    >>> sensed = SensedForces(actuated=[0], dt=1e-3)
    >>> sensed.solve([[2.0]], [20.0], [0.0], [0.0]).tolist()
    [20.0]
    >>> sensed.measure([[1.0]], [[[0.0], [0.0]]], [[0.0, 0.0, 10.0]])
    >>> sensed.solve([[2.0]], [20.0], [0.0], [0.0]).tolist()
    [10.0]
    """

    def __init__(self, *, actuated: ArrayLike, dt: float, delay: int = 1) -> None:
        self._actuated = selected(actuated)
        self._dt = float(_core.as_float64(dt, "dt", (), "positive"))
        self._delay = integer(delay, "delay", 1)
        self._measured: deque[Array] = deque(maxlen=self._delay)

    def measure(self, J_n: ArrayLike, J_t: ArrayLike, forces: ArrayLike) -> None:
        """Remember the forces of a step that has been done.

        Parameters
        ----------
        J_n, J_t : array_like
            Jacobians (n, m) and (n, 2, m) at which they acted.
        forces : (n, 3) array_like
            N: along both tangents, then the normal.
        """
        force = _core.as_float64(forces, "forces", (-1, 3), "finite")
        n = len(force)
        normal = _core.as_float64(J_n, "J_n", (n, -1), "finite")
        tangents = _core.as_float64(J_t, "J_t", (n, 2, normal.shape[1]), "finite")
        self._measured.append(
            normal.T @ force[:, 2] + np.einsum("cij,ci->j", tangents, force[:, :2])
        )

    def solve(self, M: ArrayLike, h: ArrayLike, v: ArrayLike, qdd_desired: ArrayLike) -> Array:
        """Torques (n_q,) of one instant, N m; without contact while nothing is measured.

        Parameters
        ----------
        M, h, v, qdd_desired : array_like
            The same as for :meth:`InverseDynamics.solve`.
        """
        velocity = _core.as_float64(v, "v", (-1,), "finite")
        m, q = len(velocity), self._actuated
        mass = _core.as_float64(M, "M", (m, m), "finite")
        load = _core.as_float64(h, "h", (m,), "finite")
        a_q = _core.as_float64(qdd_desired, "qdd_desired", (len(q),), "finite")
        late = len(self._measured) == self._delay
        load = load - (self._measured[0] if late else 0.0)
        b = np.setdiff1d(np.arange(m), q)
        a = np.zeros(m)
        a[q] = a_q
        if len(b):
            a[b] = np.linalg.solve(mass[np.ix_(b, b)], -(load[b] + mass[np.ix_(b, q)] @ a_q))
        return np.asarray((mass @ a + load)[q])


class Pid:
    """Error feedback of joints: u = K_p e + K_v de/dt + K_i sum e.

    e is the desired less the actual; the sum is over steps, not times their length, as in the
    paper's code.

    Parameters
    ----------
    kp, kv, ki : float or (n_q,) array_like
        Gains: of torques, or of accelerations where the result is added to desired ones.

    Examples
    --------
    >>> Pid(kp=100.0, kv=10.0).step([0.5], [0.0], [1.0], [0.25]).tolist()
    [52.5]
    """

    def __init__(self, kp: ArrayLike, kv: ArrayLike, ki: ArrayLike = 0.0) -> None:
        self._gains = [
            _core.as_float64(gain, name, rule="non-negative")
            for name, gain in (("kp", kp), ("kv", kv), ("ki", ki))
        ]
        self._sum: Array | float = 0.0

    def reset(self) -> None:
        """Forget the errors until now."""
        self._sum = 0.0

    def step(
        self, q: ArrayLike, qd: ArrayLike, q_desired: ArrayLike, qd_desired: ArrayLike
    ) -> Array:
        """What the errors of one instant ask for (n_q,).

        Parameters
        ----------
        q, qd, q_desired, qd_desired : (n_q,) array_like
            Positions and velocities of the joints, actual and desired.
        """
        actual = _core.as_float64(q, "q", (-1,), "finite")
        n = len(actual)
        error = _core.as_float64(q_desired, "q_desired", (n,), "finite") - actual
        rate = _core.as_float64(qd_desired, "qd_desired", (n,), "finite") - _core.as_float64(
            qd, "qd", (n,), "finite"
        )
        self._sum = self._sum + error
        kp, kv, ki = self._gains
        return np.asarray(kp * error + kv * rate + ki * self._sum)
