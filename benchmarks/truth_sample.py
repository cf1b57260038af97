"""One process that measures parts of `truth_scenes` with the sapwood it is given.

Reads {"quick", "part"} from each line of the standard input, and answers with the figures of the
part, or with the error that it ends with. Run with the folder of one build first on PYTHONPATH.
Scenes, and the mirror that judges impulses, are those of the working tree where the build has none.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_MIRROR = "sapwood.reference", "sapwood.reference.solver"


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    for package in ("sapwood.studies", "sapwood.studies.peers", *_MIRROR):
        folder = _ROOT / "python" / package.replace(".", "/")
        module = importlib.import_module(package)
        # older builds have a module in the place of a folder
        module.__path__ = [*getattr(module, "__path__", ()), str(folder)]
    sys.path.append(str(_ROOT))
    from benchmarks.truth_scenes import parts

    for line in sys.stdin:
        asked = json.loads(line)
        part = parts(asked["quick"])[asked["part"]]
        try:
            answer = {"figures": part.measure()}
        except Exception as error:  # an older build has errors of its own
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
