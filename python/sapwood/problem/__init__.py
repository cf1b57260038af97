"""Contact problems: their arrays, checks, dense forms, and files."""

from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.io import load_problem, save_problem

__all__ = ["ContactProblem", "load_problem", "save_problem"]
