"""Contact problems: their arrays, checks, dense forms, and files."""

from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.io import load_problem, save_problem
from sapwood.problem.sparse_problem import SparseProblem

__all__ = ["ContactProblem", "SparseProblem", "load_problem", "save_problem"]
