"""Contact surfaces of bodies with pressure fields (Elandt et al. 2019, Masterjohn et al. 2021).

Compliant bodies carry a pressure that rises from zero on their surface to the modulus at their
core. Two of them meet where their pressures are equal, on a patch of polygons that each act as one
contact: patches have torsional friction, a centre of pressure, and no corners to balance on::

    soft = sapwood.geometry.PressureField(modulus=1e5, resolution=0.01)
    surface = contact_surface(soft.sphere(0.05), None, soft.box([0.1, 0.1, 0.02]), pose)
    surface.force, surface.torque, surface.areas, surface.pressures, surface.k, surface.phi0
    surface.plot()

A rigid body is ``PressureField(modulus=math.inf)``. What is computed, and how accurate it is, says
``docs/explanation/pressure_fields.md``.
"""

from .field import PressureField
from .shape import FieldShape, ShapeKind
from .surface import ContactSurface, contact_surface, contact_surfaces

__all__ = [
    "ContactSurface",
    "FieldShape",
    "PressureField",
    "ShapeKind",
    "contact_surface",
    "contact_surfaces",
]
