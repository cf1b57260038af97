"""A soft body of the command line: a mesh file, its material and its place."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.cli.command import CommandError, number, one_line

if TYPE_CHECKING:
    from sapwood.fem import SoftBody

_SURFACES = (".stl", ".obj", ".ply", ".off")


def add_soft(parser: argparse.ArgumentParser) -> None:
    """Add a soft body to the parser of a command."""
    positive = number(float, "> 0", lambda x: x > 0)
    group = parser.add_argument_group("a soft body beside the model")
    group.add_argument(
        "--soft",
        type=Path,
        metavar="MESH",
        help="a file of tetrahedra (.vtk, .vtu, .msh, ...), or of a closed surface "
        f"({', '.join(_SURFACES)}), which is filled with tetrahedra",
    )
    group.add_argument(
        "--soft-at", type=number(float, "finite", math.isfinite), nargs=3,
        default=[0.0, 0.0, 0.0], metavar=("X", "Y", "Z"), help="place of the origin of the mesh, m",
    )  # fmt: skip
    group.add_argument("--soft-scale", type=positive, default=1.0, help="m in a unit of the file")
    group.add_argument(
        "--soft-edge", type=positive, help="length of edges inside of a surface, m; by default a "
        "tenth of the diagonal of its box"
    )  # fmt: skip
    group.add_argument("--young", type=positive, default=1e5, help="Young's modulus, Pa")
    group.add_argument("--poisson", type=float, default=0.4, help="Poisson's ratio")
    group.add_argument("--density", type=positive, default=1000.0, help="density, kg/m^3")


def soft_bodies(arguments: argparse.Namespace) -> list[SoftBody]:
    """Make the soft body that `add_soft` has asked for, if any.

    Raises
    ------
    CommandError
        For a file that cannot be read, or numbers out of range; the text says why.
    """
    path: Path | None = arguments.soft
    if path is None:
        return []
    import numpy as np

    from sapwood import fem

    pose = np.eye(4)
    pose[:3, 3] = arguments.soft_at
    scale: float = arguments.soft_scale
    try:
        if path.suffix.lower() in _SURFACES:
            mesh = fem.read_surface(path, arguments.soft_edge, scale=scale)
        else:
            read = fem.read_mesh(path)
            mesh = read if scale == 1.0 else fem.Mesh(scale * read.vertices, read.tetrahedra)
        material = fem.Material(
            young=arguments.young,
            poisson=arguments.poisson,
            density=arguments.density,
            stiffness_damping=0.01,
        )
        return [fem.SoftBody(mesh, material, dissipation_time=0.01, pose=pose, name=path.stem)]
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or one_line(error)}") from None
    except (ImportError, ValueError) as error:
        raise CommandError(one_line(error)) from None
