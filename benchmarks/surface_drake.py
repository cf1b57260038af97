"""Drake's `ComputeContactSurfaces` on the same pairs, from the same parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddRigidHydroelasticProperties,
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    HydroelasticContactRepresentation,
    Mesh,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from pydrake.math import RigidTransform, RotationMatrix

from benchmarks.surface_cases import Body, Pair

_PRIMITIVES = {
    "sphere": Sphere,
    "box": Box,
    "cylinder": Cylinder,
    "capsule": Capsule,
    "ellipsoid": Ellipsoid,
}
_FILES = {"mesh": (Mesh, "lshape.vtk"), "convex": (Convex, "rock.obj")}


def surface_call(pair: Pair, meshes: Path) -> Callable[[], Any]:
    """The scene of the two bodies that finds the surface, with their poses.

    Parameters
    ----------
    pair
        The bodies.
    meshes
        Folder of the two mesh files of the reference data.
    """
    scene = SceneGraph()
    source = scene.RegisterSource("pair")
    poses = FramePoseVector()
    for name, body in (("a", pair.a), ("b", pair.b)):
        frame = scene.RegisterFrame(source, GeometryFrame(name))
        geometry = GeometryInstance(RigidTransform(), _shape(body, meshes), name)
        geometry.set_proximity_properties(_properties(body))
        scene.RegisterGeometry(source, frame, geometry)
        X = body.pose
        poses.set_value(frame, RigidTransform(RotationMatrix(X[:3, :3].copy()), X[:3, 3]))
    context = scene.CreateDefaultContext()
    scene.get_source_pose_port(source).FixValue(context, poses)
    query = scene.get_query_output_port().Eval(context)

    # the scene and its context live as long as what asks them
    def find(_alive: object = (scene, context)) -> Any:
        return query.ComputeContactSurfaces(HydroelasticContactRepresentation.kPolygon)

    return find


def _shape(body: Body, meshes: Path) -> Any:
    if body.kind == "half_space":
        return HalfSpace()
    if body.kind in _FILES:
        make, name = _FILES[body.kind]
        return make(str(meshes / name))
    return _PRIMITIVES[body.kind](*body.params)


def _properties(body: Body) -> ProximityProperties:
    properties = ProximityProperties()
    if np.isinf(body.modulus):
        if body.kind == "half_space":
            AddRigidHydroelasticProperties(properties)
        else:
            AddRigidHydroelasticProperties(body.resolution, properties)
    elif body.kind == "half_space":
        AddCompliantHydroelasticPropertiesForHalfSpace(body.slab, body.modulus, properties)
    else:
        AddCompliantHydroelasticProperties(body.resolution, body.modulus, properties)
    if body.margin > 0:
        properties.AddProperty("hydroelastic", "margin", body.margin)
    return properties
