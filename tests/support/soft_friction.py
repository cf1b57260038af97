"""Friction of soft contacts, and the bounds that lagged friction has by the step before."""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-8  # N, of bodies that weigh some 10 N


def loads(result):
    """Sums of the normal and tangential forces of each part of a soft body on each other body."""
    found = {}
    for touch in result.touches:
        contacts = touch.contacts
        normal = np.einsum("ij,ij->i", contacts.normals, touch.forces)
        tangent = np.linalg.norm(touch.forces - normal[:, None] * contacts.normals, axis=1)
        for c, vertices in enumerate(contacts.vertices.tolist()):
            face = int(contacts.faces[c])
            part = face if face >= 0 else tuple(sorted(set(vertices)))
            key = touch.body, touch.other, part
            found[key] = found.get(key, 0.0) + np.array([normal[c], tangent[c]])
    return found


def parts_at_bound(before, now, mu):
    """Check that friction keeps to the bounds by the step before; return how many parts reach it.

    Parts of soft bodies without contact in the step before do not count.
    """
    common = now.keys() & before.keys()
    left = np.array([mu * before[key][0] - now[key][1] for key in common])
    assert left.min() >= -TOLERANCE
    touch = np.array([now[key][1] > TOLERANCE for key in common])
    return np.count_nonzero(touch & (left <= TOLERANCE))
