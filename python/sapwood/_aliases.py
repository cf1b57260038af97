"""Second names of packages: ``sapwood.experiments`` is ``sapwood.studies.experiments``.

A module is loaded once, whichever name it is asked for by, and knows itself by the first one, also
in pickles. Type checkers know the second names as attributes of :mod:`sapwood` only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

STUDIES = ("experiments", "peers", "plotting", "scenes")
"""Packages of :mod:`sapwood.studies` that are packages of :mod:`sapwood`, too."""


# no classes of importlib.abc, whose import takes longer than that of the rest of the package


class _Finder:
    """Finds modules by their second names, on ``sys.meta_path``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, name = fullname.partition(".")
        if package != "sapwood" or name.partition(".")[0] not in STUDIES:
            return None
        from importlib.util import find_spec

        found = find_spec(f"sapwood.studies.{name}")
        if found is None:
            return None
        loader: Any = _Loader(found)
        spec = ModuleSpec(fullname, loader, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec


class _Loader:
    """Loads a module by its first name."""

    def __init__(self, found: ModuleSpec) -> None:
        self._found = found

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        del spec
        module = import_module(self._found.name)
        self._found = module.__spec__ or self._found
        return module

    def exec_module(self, module: ModuleType) -> None:
        # it is loaded; that it was asked for by its second name has put the second spec here
        module.__spec__ = self._found

    # what `python -m` and tools that read sources ask for

    def is_package(self, fullname: str) -> bool:
        del fullname
        return self._found.submodule_search_locations is not None

    def get_code(self, fullname: str) -> CodeType | None:
        del fullname
        code: CodeType | None = self._loader().get_code(self._found.name)
        return code

    def get_source(self, fullname: str) -> str | None:
        del fullname
        source: str | None = self._loader().get_source(self._found.name)
        return source

    def _loader(self) -> Any:
        return self._found.loader


def install() -> None:
    """Let the import system know of the second names; once is enough."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # before the file system, where an earlier version may have left a folder of that name
        sys.meta_path.insert(0, _Finder())
