r"""Small dense convex quadratic programs.

.. math:: \min_x\ \tfrac12 x^T H x + g^T x, \qquad A x = b,\quad C x \ge d,\quad l \le x \le u

::

    solution = sapwood.qp.solve(H, g, C=C, d=d, lower=0.0)

H is positive semidefinite, of any rank; rows may depend on each other. An interior point method on
the homogeneous embedding finds a solution or proves that there is none; it is polished on the rows
that are active, as soon as that gives all digits. `solve_as_lcp` solves the conditions of Karush,
Kuhn and Tucker as a complementarity problem, for comparison.
"""

from .kkt import solve_as_lcp
from .result import QpSolution, QpStatus
from .solver import solve, solve_batch

__all__ = ["QpSolution", "QpStatus", "solve", "solve_as_lcp", "solve_batch"]
