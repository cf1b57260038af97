"""Elements in C against the NumPy mirror, differences and invariances (spec of soft bodies)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sapwood import fem
from sapwood.fem.material import MODELS
from sapwood.reference import evaluate_elements

EXACT = ("corotated", "neo_hookean", "st_venant_kirchhoff")


def material(model, young=1e5, poisson=0.35):
    return fem.Material(young=young, poisson=poisson, density=1000.0, model=model)


def random_mesh(rng, cells=2):
    """A box with moved vertices, numbered at random, turned."""
    mesh = fem.box([0.1, 0.12, 0.09], cells)
    x = mesh.vertices + 0.005 * rng.uniform(-1, 1, mesh.vertices.shape)
    order = rng.permutation(len(x))
    place = np.argsort(order)
    return fem.Mesh(x[order] @ rotation(rng).T, place[mesh.tetrahedra], orient=True)


def rotation(rng):
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def moved(rng, mesh, size):
    """Positions after a rotation, a random affine strain and a random change of this size."""
    strain = np.eye(3) + size * rng.standard_normal((3, 3))
    noise = size * 0.03 * rng.standard_normal(mesh.vertices.shape)
    return (mesh.vertices @ strain.T + noise) @ rotation(rng).T + rng.standard_normal(3)


def core(mesh, soft, x, rotations=None, exact=False):
    found = fem.evaluate(mesh, soft, x, rotations, exact=exact)
    K = fem.scatter_blocks(mesh.pairs, found.K, found.K_pairs)
    return found.energy, found.force, K, found.stress


def mirror(mesh, soft, x, rotations=None, exact=False):
    return evaluate_elements(
        mesh.vertices,
        mesh.tetrahedra,
        soft.model,
        soft.mu,
        soft.lam,
        x,
        rotations,
        exact=exact,
    )


def close(one, other, tolerance):
    scale = np.max(np.abs(other)) + 1e-300
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [1e-9, 0.05, 0.3])
@pytest.mark.parametrize("exact", [False, True])
def test_the_core_agrees_with_the_mirror(model, size, exact, rng):
    for _ in range(3):
        mesh, soft = random_mesh(rng), material(model, poisson=rng.uniform(-0.5, 0.45))
        x = moved(rng, mesh, size)
        ours, theirs = core(mesh, soft, x, exact=exact), mirror(mesh, soft, x, exact=exact)
        # stresses of strains of 1e-9 are differences of numbers of the size of Young's modulus
        scale = soft.young * mesh.volume
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-15 * scale + 1e-13 * theirs[0])
        close(ours[2], theirs[2], 1e-11 if exact else 1e-12)
        noise = 1e-12 * soft.young * 0.1**2
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=noise)
        close(ours[3], theirs[3], 1e-11 if size > 1e-3 else 1e-5)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("evaluate", [core, mirror])
def test_forces_and_stiffness_are_derivatives(model, evaluate, rng):
    mesh, soft = random_mesh(rng, 1), material(model)
    x, h = moved(rng, mesh, 0.2), 1e-6
    R0 = fem.rotations(mesh, x)
    _, force, K, _ = evaluate(mesh, soft, x, R0, exact=True)
    slope, forces = np.empty(x.size), np.empty((x.size, x.size))
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = h
        more = evaluate(mesh, soft, x + step.reshape(-1, 3), R0)
        less = evaluate(mesh, soft, x - step.reshape(-1, 3), R0)
        slope[i] = (more[0] - less[0]) / (2 * h)
        forces[i] = (more[1] - less[1]).ravel() / (2 * h)
    close(-slope, force.ravel(), 2e-8)
    close(-forces, K, 1e-8)
    close(K, K.T, 1e-15)


@pytest.mark.parametrize("model", MODELS)
def test_invariances(model, rng):
    mesh, soft = random_mesh(rng), material(model)
    x, Q = moved(rng, mesh, 0.2), rotation(rng)
    one = fem.evaluate(mesh, soft, x)
    if model != "linear":
        turned = fem.evaluate(mesh, soft, x @ Q.T)
        assert turned.energy == pytest.approx(one.energy, rel=1e-13)
        close(turned.force, one.force @ Q.T, 4e-13)
    largest = np.max(np.abs(one.force))
    assert np.max(np.abs(one.force.sum(axis=0))) < 3e-14 * largest
    if model in EXACT:
        moments = np.cross(x - x.mean(axis=0), one.force)
        assert np.max(np.abs(moments.sum(axis=0))) < 1e-13 * np.max(np.abs(moments))


@pytest.mark.parametrize("model", MODELS)
def test_small_strain_is_linear_elasticity(model, rng):
    """All models have the stress 2 mu e + lam tr(e) I of small strains, neo_hookean too."""
    mesh, soft = fem.box([0.1, 0.1, 0.1], 1), material(model, 1.0, 0.3)
    e = rng.standard_normal((3, 3))
    e = 1e-6 * (e + e.T)
    stress = fem.evaluate(mesh, soft, mesh.vertices @ (np.eye(3) + e)).stress
    expected = 2 * soft.mu * e + soft.lam * np.trace(e) * np.eye(3)
    close(stress, np.broadcast_to(expected, stress.shape), 2e-5)


@pytest.mark.parametrize("model", MODELS)
def test_turned_over_and_collapsed_tetrahedra_are_finite(model, rng):
    mesh, soft = random_mesh(rng), material(model)
    n = len(mesh.vertices)
    flattened = mesh.vertices * [1, 1, 0]
    inverted = mesh.vertices * [1, 1, -1]
    point, line = np.zeros((n, 3)), mesh.vertices * [0, 1, 0]
    mixed = mesh.vertices + 0.2 * rng.standard_normal((n, 3))
    for x in (flattened, inverted, point, line, mixed, inverted @ rotation(rng)):
        found = fem.evaluate(mesh, soft, x)
        assert np.isfinite(found.energy)
        assert np.all(np.isfinite(found.force))
        K = fem.scatter_blocks(mesh.pairs, found.K, found.K_pairs)
        assert np.all(np.isfinite(K))
        assert np.linalg.eigvalsh(K)[0] >= -1e-13 * np.max(np.abs(K))
    assert fem.evaluate(mesh, soft, inverted).turned_over == len(mesh.tetrahedra)
    assert fem.evaluate(mesh, soft, mesh.vertices).turned_over == 0


def test_projection_only_acts_where_it_must(rng):
    mesh = random_mesh(rng)
    for model in MODELS:
        soft = material(model)
        x = mesh.vertices * 1.05
        K, exact = core(mesh, soft, x)[2], core(mesh, soft, x, exact=True)[2]
        close(K, exact, 1e-14)
    squeezed = mesh.vertices * [0.3, 1, 1]
    soft = material("st_venant_kirchhoff")
    exact = core(mesh, soft, squeezed, exact=True)[2]
    assert np.linalg.eigvalsh(exact)[0] < -1e-3 * np.max(np.abs(exact))


def test_rotations_are_the_nearest(rng):
    mesh = random_mesh(rng)
    for size in (0.0, 1e-9, 0.3, 3.0):
        found = fem.evaluate(mesh, material("linear"), moved(rng, mesh, size))
        R = fem.rotations(mesh, moved(rng, mesh, size))
        close(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), R.shape), 1e-14)
        np.testing.assert_allclose(np.linalg.det(R), 1, rtol=1e-13)
        assert np.all(np.isfinite(found.von_mises))


def test_patch_test(rng):
    """Random inner vertices: the positions of zero inner force are affine, the stress constant."""
    rest = fem.box([0.1, 0.1, 0.1], 3)
    surface = np.unique(rest.faces)
    inner = np.setdiff1d(np.arange(len(rest.vertices)), surface)
    X = rest.vertices.copy()
    X[inner] += 0.004 * rng.uniform(-1, 1, (len(inner), 3))
    mesh, strain = fem.Mesh(X, rest.tetrahedra), np.eye(3) + 0.05 * rng.standard_normal((3, 3))
    dofs = (3 * inner[:, None] + np.arange(3)).ravel()
    for model in ("linear", *EXACT):
        soft, x = material(model), X @ strain.T
        x[inner] += 0.001 * rng.standard_normal((len(inner), 3))
        for _ in range(100):  # K without negative eigenvalues: linear convergence
            found = fem.evaluate(mesh, soft, x)
            K = fem.scatter_blocks(mesh.pairs, found.K, found.K_pairs)
            step = np.linalg.solve(K[np.ix_(dofs, dofs)], found.force.ravel()[dofs])
            x[inner] += step.reshape(-1, 3)
            if np.max(np.abs(step)) < 1e-16:
                break
        np.testing.assert_allclose(x, X @ strain.T, rtol=0, atol=1e-15)
        stress = fem.evaluate(mesh, soft, x).stress
        close(stress, np.broadcast_to(stress[0], stress.shape), 1e-12)


def test_masses(rng):
    mesh = random_mesh(rng)
    rows = []
    for kind in ("lumped", "consistent", "one_point"):
        diagonal, pairs = fem.mass_matrix(mesh, 1234.0, kind)
        M = np.diag(diagonal)
        M[mesh.pairs[:, 0], mesh.pairs[:, 1]] = M[mesh.pairs[:, 1], mesh.pairs[:, 0]] = pairs
        rows.append(M.sum(axis=1))
        assert M.sum() == pytest.approx(1234.0 * mesh.volume, rel=1e-14)
        assert np.linalg.eigvalsh(M)[0] > -1e-14 * np.max(M)
    close(rows[1], rows[0], 1e-14)
    close(rows[2], rows[0], 1e-14)


# ---- statics ------------------------------------------------------------------------------------


def equilibrium(mesh, soft, held, load, steps=60):
    """Positions where elastic forces and loads (n, 3) are in balance, by Newton's method.

    The stiffness of the corotated models with the change of rotation is that of "corotated".
    """
    tangent = replace(soft, model="corotated") if soft.model == "linear_corotated" else soft
    free = np.setdiff1d(np.arange(len(mesh.vertices)), held)
    dofs = (3 * free[:, None] + np.arange(3)).ravel()
    x = mesh.vertices.copy()
    for k in range(steps):
        found, slope = fem.evaluate(mesh, soft, x), fem.evaluate(mesh, tangent, x)
        residual = (found.force + min(1, (k + 1) / 5) * load).ravel()[dofs]
        K = fem.scatter_blocks(mesh.pairs, slope.K, slope.K_pairs)[np.ix_(dofs, dofs)]
        step = np.linalg.solve(K, residual)
        x[free] += step.reshape(-1, 3)
        if k > 5 and np.max(np.abs(step)) < 1e-14:
            break
    return x


@pytest.mark.parametrize(
    ("model", "tolerance"),
    [("linear", 1e-3), ("linear_corotated", 1e-3), ("corotated", 1e-3), ("neo_hookean", 5e-3)],
)
def test_hung_bar(model, tolerance):
    """rho g L^2/(2 Y) for a bar of 2 x 2 x 10 cells, nu = 0, rho g L/Y = 0.0981."""
    L, young, rho, g = 1.0, 1e5, 1000.0, 9.81
    mesh = fem.box([0.2, 0.2, L], [2, 2, 10])
    top = np.flatnonzero(mesh.vertices[:, 2] > L / 2 - 1e-9)
    load = np.zeros((len(mesh.vertices), 3))
    load[:, 2] = -g * fem.mass_matrix(mesh, rho)[0]
    soft = material(model, young, 0.0)
    x = equilibrium(mesh, soft, top, load)
    bottom = mesh.vertices[:, 2] < -L / 2 + 1e-9
    drop = np.mean(mesh.vertices[bottom, 2] - x[bottom, 2])
    assert drop == pytest.approx(rho * g * L**2 / (2 * young), rel=0, abs=tolerance * L)
    assert drop != pytest.approx(0, abs=0.04)


@pytest.mark.parametrize(("across", "ratio"), [(1, 0.244), (2, 0.550), (4, 0.824), (6, 0.913)])
def test_cantilever(across, ratio):
    """Tip over Timoshenko's P L^3/(3 Y I) + P L/(5/6 G A), L = 10 h, nu = 0: linear elements."""
    h, young, P = 0.1, 1e6, 1e-3
    L = 10 * h
    mesh = fem.box([L, h, h], [10 * across, across, across])
    X = mesh.vertices
    root = np.flatnonzero(X[:, 0] < -L / 2 + 1e-9)
    end = X[:, 0] > L / 2 - 1e-9
    # a uniform shear traction on the end face
    load = np.zeros((len(X), 3))
    for face in mesh.faces[np.all(end[mesh.faces], axis=1)]:
        a, b, c = X[face]
        load[face, 2] += P * np.linalg.norm(np.cross(b - a, c - a)) / 2 / h**2 / 3
    body = fem.SoftBody(mesh, material("linear", young, 0.0))
    body.fix(root)
    body.loads[:] = load
    # a step so long that inertia does nothing
    dt = 1e4
    fem.World([body], gravity=[0, 0, 0], time_step=dt).step()
    u = body.positions - X
    inertia, shear = h**4 / 12, young / 2
    expected = P * L**3 / (3 * young * inertia) + P * L / (5 / 6 * shear * h**2)
    assert np.mean(u[end, 2]) / expected == pytest.approx(ratio, abs=0.005)
