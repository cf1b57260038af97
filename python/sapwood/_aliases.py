"""Second names of packages: ``sapwood.experiments`` is ``sapwood.studies.experiments``.

A module is loaded once, whichever name it is asked for by.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

STUDIES = ("experiments", "peers", "plotting", "scenes")
"""Packages of :mod:`sapwood.studies` that are packages of :mod:`sapwood`, too."""


class _Alias(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        parts = fullname.split(".")
        if len(parts) < 2 or parts[0] != "sapwood" or parts[1] not in STUDIES:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(spec.name.replace("sapwood.", "sapwood.studies.", 1))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # importing by the second name has put the second spec here
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Let the import system know of the second names."""
    sys.meta_path.insert(0, _Alias())
