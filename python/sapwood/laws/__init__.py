"""The laws of contacts and of clamped rows by themselves, and the materials they follow from."""

from sapwood.laws.barrier_table import tabulate_barrier
from sapwood.laws.contact import Projection, contact_cost, project
from sapwood.laws.disk import disk_cost, project_disk
from sapwood.laws.materials import ContactMaterial, Geoms, custom_materials
from sapwood.laws.rigid_core import CoreKind, RigidCore
from sapwood.laws.rows import ClampedRows, clamp

__all__ = [
    "ClampedRows",
    "ContactMaterial",
    "CoreKind",
    "Geoms",
    "Projection",
    "RigidCore",
    "clamp",
    "contact_cost",
    "custom_materials",
    "disk_cost",
    "project",
    "project_disk",
    "tabulate_barrier",
]
