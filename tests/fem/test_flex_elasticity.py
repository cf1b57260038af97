"""Elasticity by lengths of edges: C against the mirror, differences, invariances, wrong tables."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sapwood import _core, fem
from sapwood.fem.meshes.flex import FlexMesh, FlexNumbers
from sapwood.reference.fem.flexes import energy, force_and_stiffness, lengths

SIDES = {3: ((1, 2), (2, 0), (0, 1)), 4: ((0, 1), (1, 2), (2, 0), (2, 3), (0, 3), (1, 3))}


def tables_of(elements, sides):
    """Edges, edges of elements, and hinges: an edge with the corners across it."""
    every = np.sort(np.array([[element[list(side)] for side in sides] for element in elements]))
    edges, of = np.unique(every.reshape(-1, 2), axis=0, return_inverse=True)
    of = of.reshape(len(elements), len(sides)).astype(np.int32)
    hinges = []
    for e, edge in enumerate(edges):
        around = np.flatnonzero((of == e).any(axis=1))[:2]
        across = [np.setdiff1d(elements[i], edge)[0] for i in around]
        if len(around) == 2 and len(elements[0]) == 3:
            hinges.append([*edge, *across])
    return {
        "edges": edges.astype(np.int32),
        "element_edges": of,
        "hinges": np.array(hinges, np.int32).reshape(-1, 4),
    }


def case(corners, rng, springs=3.0):
    """A random flex at random positions, stretched: elements, tables, numbers, last, x."""
    if corners == 4:
        mesh = fem.box([0.2, 0.3, 0.2], 2)
        vertices, elements = mesh.vertices, np.ascontiguousarray(mesh.tetrahedra)
    else:
        x, y = np.meshgrid(np.arange(4.0), np.arange(3.0), indexing="ij")
        vertices = np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)]) / 10
        squares = [(3 * i + j, 3 * i + j + 3, 3 * i + j + 4, 3 * i + j + 1)
                   for i in range(3) for j in range(2)]  # fmt: skip
        triangles = [t for a, b, c, d in squares for t in ((a, b, c), (a, c, d))]
        elements = np.array(triangles, np.int32)
    tables = tables_of(elements, SIDES[corners])
    m, n_hinges = len(SIDES[corners]), len(tables["hinges"])
    roots = rng.standard_normal((len(elements), m, m))
    M = 1e3 * roots @ np.swapaxes(roots, 1, 2)
    rows, columns = np.triu_indices(m)
    bend = rng.standard_normal((n_hinges, 4, 1))
    numbers = {
        "stiffness": np.hstack([M[:, rows, columns], rng.standard_normal((len(M), 3))]),
        "bending": bend @ np.swapaxes(bend, 1, 2),
        "rest": lengths(tables["edges"], vertices),
        "edge_stiffness": springs,
    }
    x = 1.3 * vertices + 0.008 * rng.uniform(-1.0, 1.0, vertices.shape)
    x_last = x + 0.01 * rng.standard_normal(x.shape)
    last = x_last, lengths(tables["edges"], x_last), 0.4, 0.7
    return vertices, elements, tables, numbers, last, x


def mesh_of(vertices, elements, tables):
    return FlexMesh(vertices, tables["edges"], elements, tables["element_edges"], tables["hinges"])


def core(vertices, elements, tables, numbers, last, x):
    mesh = mesh_of(vertices, elements, tables)
    n, pairs = len(x), len(mesh.pairs)
    x_last, L_last, c, r = last
    outputs = (np.empty(len(mesh.edges)), np.empty((n, 3)), np.empty((n, 3, 3)),
               np.empty((pairs, 3, 3)))  # fmt: skip
    dt = 0.5
    given = FlexNumbers(**numbers, damping=c * dt, edge_damping=r * dt)
    mesh.evaluate(given, (x_last, L_last, dt), x, outputs)
    tension, force, K, K_pairs = outputs
    return tension, force, fem.scatter_blocks(mesh.pairs, K, K_pairs)


@pytest.mark.parametrize("corners", [3, 4])
@pytest.mark.parametrize("stretch", [1.0, 0.5])
def test_the_core_has_the_numbers_of_the_mirror(corners, stretch, rng):
    """Stretched and, in half the cases, pressed together."""
    vertices, elements, tables, numbers, last, x = case(corners, rng)
    x = stretch * x
    ours = core(vertices, elements, tables, numbers, last, x)
    for one, other in zip(ours, force_and_stiffness(tables, numbers, last, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(other).max())
    least = np.linalg.eigvalsh(ours[2]).min()
    assert least > -1e-12 * np.abs(ours[2]).max()


@pytest.mark.parametrize("corners", [3, 4])
def test_forces_are_slopes_of_the_energy_and_stiffness_of_forces(corners, rng):
    """Where all edges are pulled, nothing is left out of K."""
    vertices, elements, tables, numbers, last, x = case(corners, rng)
    if corners == 4:
        # tensions of random matrices have both signs: springs alone, then
        numbers["stiffness"] = np.zeros_like(numbers["stiffness"])
    else:
        numbers["stiffness"][:, [0, 3, 5]] += 1e5
    x_last, _, _, r = last
    last = x_last, numbers["rest"], 0.0, r
    tension, force, K = core(vertices, elements, tables, numbers, last, x)
    assert tension.min() > 0
    step, d = 1e-6, rng.standard_normal(x.shape)
    ends = [energy(tables, numbers, last, x + s * d) for s in (-step, step)]
    assert np.sum(force * d) == pytest.approx(-(ends[1] - ends[0]) / (2 * step), rel=1e-7)
    ends = [core(vertices, elements, tables, numbers, last, x + s * d)[1] for s in (-step, step)]
    change = -(ends[1] - ends[0]).ravel() / (2 * step)
    np.testing.assert_allclose(K @ d.ravel(), change, rtol=0, atol=1e-7 * np.abs(change).max())


@pytest.mark.parametrize("corners", [3, 4])
def test_forces_and_moments_add_up_to_nothing(corners, rng):
    """Inner forces: with damping too, as it acts along edges; bending moments are those of B."""
    vertices, elements, tables, numbers, last, x = case(corners, rng)
    numbers["bending"] = np.zeros_like(numbers["bending"])
    _, force, _ = core(vertices, elements, tables, numbers, last, x)
    size = np.abs(force).max()
    np.testing.assert_allclose(force.sum(axis=0), 0, atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0, atol=1e-12 * size)


def test_a_mesh_survives_copies(rng):
    vertices, elements, tables, *_ = case(3, rng)
    mesh = mesh_of(vertices, elements, tables)
    for other in (copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))):
        np.testing.assert_array_equal(other.pairs, mesh.pairs)
    # flaps are pairs that no edge joins
    assert len(mesh.pairs) > len(mesh.edges)


def test_wrong_tables_are_told_of(rng):
    vertices, elements, tables, *_ = case(3, rng)
    beyond = elements.copy()
    beyond[2, 1] = len(vertices)
    other = {**tables, "element_edges": np.roll(tables["element_edges"], 1, axis=1)}
    for text, given in (
        (r"elements\[2\] = 12.*: names a vertex that is not there", (vertices, beyond, tables)),
        (r"element_edges\[0\].*joins other vertices", (vertices, elements, other)),
        ("element_edges, hinge_pairs: do not fit",
         (vertices, elements, {**tables, "element_edges": tables["element_edges"][1:]})),
        ("vertices", (np.full_like(vertices, np.nan), elements, tables)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            mesh_of(*given)
    with pytest.raises(TypeError, match="flex must be one of fem_flex"):
        _core.fem_evaluate_flex(3, (0, 0, 0, 0.0), (0, 0, 0.0, 0.0), 0, ())
