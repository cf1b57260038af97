"""The cube of the speed comparison of soft bodies in Drake."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pydrake.geometry import (
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    GeometryInstance,
    Mesh,
    ProximityProperties,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
from pydrake.multibody.plant import (
    AddMultibodyPlant,
    CoulombFriction,
    MultibodyPlantConfig,
)
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

from benchmarks.soft_cube import DAMPING, DENSITY, FRICTION, POISSON, YOUNG, Cube

_MODELS = {
    "linear_corotated": MaterialModel.kLinearCorotated,
    "corotated": MaterialModel.kCorotated,
    "neo_hookean": MaterialModel.kNeoHookean,
}


def _write_vtk(cube: Cube, path: Path) -> None:
    x, cells = cube.mesh.vertices, cube.mesh.tetrahedra
    lines = ["# vtk DataFile Version 3.0", "cube", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines.append(f"POINTS {len(x)} double")
    lines += [" ".join(repr(float(value)) for value in point) for point in x]
    lines.append(f"CELLS {len(cells)} {5 * len(cells)}")
    lines += ["4 " + " ".join(str(corner) for corner in cell) for cell in cells]
    lines.append(f"CELL_TYPES {len(cells)}")
    lines += ["10"] * len(cells)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def step_call(cube: Cube, model: str, time_step: float) -> Callable[[], object]:
    """One step of the cube on a box, as a call."""
    builder = DiagramBuilder()
    config = MultibodyPlantConfig(
        time_step=time_step, discrete_contact_approximation="sap", contact_model="hydroelastic"
    )
    plant, _ = AddMultibodyPlant(config, builder)
    floor = ProximityProperties()
    AddContactMaterial(
        dissipation=None,
        point_stiffness=None,
        friction=CoulombFriction(FRICTION, FRICTION),
        properties=floor,
    )
    AddRigidHydroelasticProperties(resolution_hint=1.0, properties=floor)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0, 0, -0.5]), Box(10, 10, 1), "floor", floor
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cube.vtk"
        _write_vtk(cube, path)
        pose = RigidTransform(RotationMatrix(cube.pose[:3, :3].copy()), cube.pose[:3, 3])
        shape = GeometryInstance(pose, Mesh(str(path)), "cube")
        surface = ProximityProperties()
        AddContactMaterial(
            dissipation=None,
            point_stiffness=None,
            friction=CoulombFriction(FRICTION, FRICTION),
            properties=surface,
        )
        shape.set_proximity_properties(surface)
        material = DeformableBodyConfig()
        material.set_youngs_modulus(YOUNG)
        material.set_poissons_ratio(POISSON)
        material.set_mass_density(DENSITY)
        material.set_stiffness_damping_coefficient(DAMPING)
        material.set_material_model(_MODELS[model])
        deformable = plant.mutable_deformable_model()
        deformable.RegisterDeformableBody(shape, material, 1.0)
        plant.Finalize()
        diagram = builder.Build()
        simulator = Simulator(diagram)
        simulator.Initialize()
    steps = 0

    # the diagram lives as long as its simulator
    def step(_alive: object = diagram) -> object:
        nonlocal steps
        steps += 1
        return simulator.AdvanceTo(steps * time_step)

    return step
