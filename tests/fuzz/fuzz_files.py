"""Problem files out of bytes, damaged as people and disks damage them, through `load_problem`.

Whatever the file is, `load_problem` gives a problem or one of the errors that it documents, which
names the file, and takes no more memory than the arrays of the file would. Run by `make fuzz`, with
the options of libFuzzer.
"""

from __future__ import annotations

import io
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    import atheris

    with atheris.instrument_imports(include=["sapwood"]):
        import sapwood
        import sapwood.problem.io
else:
    import sapwood

MOST_MEMORY = 64 << 20
HOSTILE = (0, -1, 1, 2**31 - 1, 2**31, 2**62, -(2**63), 10**6)
DTYPES = "f8 >f8 f4 f2 i4 >i4 i8 u8 i1 b1 c16 U8 S8 O V8 M8[s] f8,i4".split()


class Bytes:
    """Numbers from bytes; zeros where they end."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def byte(self) -> int:
        """From 0 to 255."""
        return next(self._data, 0)

    def pick(self, choices):
        """One of a sequence."""
        return choices[(self.byte() + 256 * self.byte()) % len(choices)]

    def rest(self) -> bytes:
        """All that is left."""
        return bytes(self._data)


def sound_arrays() -> list[dict[str, np.ndarray]]:
    """Arrays of files that the damage begins with: physical parameters, groups, cores, spins."""
    n = 2
    common = {
        "tree_nv": np.array([3, 2], np.int32),
        "A": np.concatenate([np.eye(3).ravel(), np.eye(2).ravel()]),
        "v_star": np.linspace(-1.0, 1.0, 5),
        "tree_a": np.array([0, 1], np.int32),
        "tree_b": np.array([-1, 0], np.int32),
        "J": np.linspace(-1.0, 1.0, 9 + 6 + 9),
        "mu": np.full(n, 0.5),
        "dt": np.array(0.01),
    }
    given = {"R_t": np.full(n, 1e-3), "R_n": np.full(n, 1e-2), "v_hat_n": np.zeros(n)}
    physical = {"phi0": np.zeros(n), "k": np.full(n, 1e5), "tau_d": np.zeros(n)}
    group = {"kind": np.array("dry_friction"), "J": np.ones(3), "f": np.ones(1)}
    group |= {"tree_a": np.zeros(1, np.int32), "tree_b": np.full(1, -1, np.int32)}
    cores = {"core": np.ones(n, np.int8), "delta": np.full(n, 1e-2)}
    spins = {"spin_contact": np.ones(1, np.int32), "spin_J": np.linspace(-1.0, 1.0, 15)}
    spins |= {"spin_mu": np.full((1, 3), 1e-2), "friction_bound": np.array([np.nan, 0.1])}
    return [
        {**common, **given},
        {**common, **physical, **cores, "delassus": np.array("diagonal")},
        {**common, **given, **{f"constraints.0.{key}": value for key, value in group.items()}},
        {**common, **given, **spins},
    ]


def damaged_array(take: Bytes, array: np.ndarray) -> np.ndarray:
    """The array with another type, shape or entry."""
    how = take.byte() % 6
    if how == 0:
        return np.zeros(array.shape, take.pick(DTYPES))
    if how == 1:
        return np.repeat(array.ravel(), take.byte() % 4)
    if how == 2:
        return array.reshape(take.pick([(-1, 1), (1, -1), (1, 1, -1)]))
    if how == 3:
        return np.asfortranarray(np.array(take.pick(["", "x", "block", "limit", 3, np.nan, None])))
    changed = np.array(array)
    if changed.size > 0 and changed.dtype.kind in "if":
        value = take.pick([*HOSTILE, np.nan, np.inf, 1e308, 1e-308])
        with np.errstate(all="ignore"):
            changed.ravel()[take.byte() % changed.size] = np.array([value]).astype(changed.dtype)[0]
    return changed


def written(array: np.ndarray, take: Bytes) -> bytes:
    """The array as a file of NumPy, whose header may say something else than its contents."""
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    data = file.getvalue()
    how = take.byte()
    if how < 200:
        return data
    if how < 220:
        end = data.index(b"\n") + 1
        shape = tuple(take.pick(HOSTILE) for _ in range(take.byte() % 3))
        header = {"descr": take.pick(DTYPES), "fortran_order": bool(how % 2), "shape": shape}
        line = repr(header).encode().ljust(117) + b"\n"
        return data[:8] + len(line).to_bytes(2, "little") + line + data[end:]
    if how < 238:
        return data[: take.byte() % (len(data) + 1)]
    changed = bytearray(data)
    changed[take.byte() % len(changed)] = take.byte()
    return bytes(changed)


def archive(data: bytes) -> bytes:
    """A problem file that the bytes damage."""
    take = Bytes(data)
    arrays = take.pick(sound_arrays())
    for _ in range(take.byte() % 4):
        key = take.pick(list(arrays))
        how = take.byte() % 8
        if how == 0:
            del arrays[key]
        elif how == 1:
            other = take.pick([*arrays, "constraints.1.kind", "constraints.x", "v_guess", "kappa"])
            arrays[other] = arrays[key]
        else:
            arrays[key] = damaged_array(take, arrays[key])
        if not arrays:
            break
    file = io.BytesIO()
    method = take.pick([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(file, "w", method) as packed:
        for key, array in arrays.items():
            packed.writestr(f"{key}.npy", written(array, take))
    packed_data = bytearray(file.getvalue())
    for _ in range(max(take.byte() % 16 - 12, 0)):
        packed_data[(take.byte() + 256 * take.byte()) % len(packed_data)] = take.byte()
    return bytes(packed_data) if take.byte() < 240 else bytes(packed_data[: -1 - take.byte()])


def check(data: bytes, folder: Path) -> None:
    """Load the file that the bytes make; AssertionError where that breaks a promise."""
    path = folder / "problem.npz"
    path.write_bytes(archive(data))
    problem, refused = None, ""
    tracemalloc.start()
    try:
        problem = sapwood.load_problem(path)
    except (OSError, ValueError) as error:
        refused = str(error)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MOST_MEMORY, f"{peak} bytes"
    assert problem is not None or str(path) in refused, refused
    if problem is not None:
        sapwood.save_problem(path, problem)
        assert sapwood.load_problem(path) == problem


def main() -> None:
    """Fuzz, with the options of the command line."""
    with tempfile.TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, lambda data: check(data, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
