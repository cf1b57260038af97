"""Run the benchmarks: ``python -m benchmarks``."""

from __future__ import annotations

import os
import sys

# one thread: must be known before NumPy loads its BLAS
for _library in ("OMP", "OPENBLAS", "MKL", "BLIS", "RAYON"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

if __name__ == "__main__":
    from benchmarks.command import main

    sys.exit(main())
