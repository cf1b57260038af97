"""Studies made with the library: scenes, experiments and their plots, other solvers, commands.

Nothing of the library needs what is here, and each part is loaded when it is first used.
"""

from importlib import import_module
from types import ModuleType

_LOADED_WHEN_USED = ("experiments", "peers", "plotting", "scenes")


def __getattr__(name: str) -> ModuleType:
    if name in _LOADED_WHEN_USED:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
