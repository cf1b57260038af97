"""A contact problem: its arrays, its checks, dense forms of it, and files that hold one."""

from sapwood.problem.contact_problem import ContactProblem
from sapwood.problem.io import load_problem, save_problem

__all__ = ["ContactProblem", "load_problem", "save_problem"]
