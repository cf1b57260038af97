"""Problems of the FCLIB collection: reading, posing to our solver, and FCLIB's merit function.

Needs h5py and SciPy, which the extra ``fclib`` installs.
"""

from sapwood.studies.fclib.merit import merit, natural_map, relative_residual
from sapwood.studies.fclib.posing import Posed, pose
from sapwood.studies.fclib.problems import GlobalProblem, LocalProblem
from sapwood.studies.fclib.reading import load
from sapwood.studies.fclib.solving import Answer, solve

__all__ = [
    "Answer",
    "GlobalProblem",
    "LocalProblem",
    "Posed",
    "load",
    "merit",
    "natural_map",
    "pose",
    "relative_residual",
    "solve",
]
