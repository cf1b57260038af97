"""FCLIB's files: what is read is what was written, and is posed to our solver unchanged."""

from __future__ import annotations

import dataclasses
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import sapwood

h5py = pytest.importorskip("h5py")
sparse = pytest.importorskip("scipy.sparse")

from sapwood.studies import fclib
from sapwood.studies.fclib.merit import project

KINDS = {"columns": -1, "rows": -2, "triplets": 0}


# ---- problems ------------------------------------------------------------------------------------


def bodies(rng, n_bodies=5, n_contacts=7):
    """A global problem of bodies of 6, with contacts of one or two of them."""
    nv = 6 * n_bodies
    M = np.zeros((nv, nv))
    for b in range(n_bodies):
        X = rng.standard_normal((6, 6))
        M[6 * b : 6 * b + 6, 6 * b : 6 * b + 6] = X @ X.T + np.eye(6)
    H = np.zeros((nv, 3 * n_contacts))
    for i in range(n_contacts):
        # the first contact joins two bodies, so that halves of bodies never do
        count = 2 if i == 0 else rng.integers(1, 3)
        for b in rng.choice(n_bodies, count, replace=False):
            H[6 * b : 6 * b + 6, 3 * i : 3 * i + 3] = rng.standard_normal((6, 3))
    return fclib.GlobalProblem(
        M=sparse.csc_array(M),
        H=sparse.csc_array(H),
        f=rng.standard_normal(nv),
        w=rng.standard_normal(3 * n_contacts),
        mu=rng.uniform(0.1, 1.0, n_contacts),
        title="bodies",
    )


def write(path, problem, kind):
    """A file as FCLIB writes it."""
    local = isinstance(problem, fclib.LocalProblem)
    matrices = {"W": problem.W} if local else {"M": problem.M, "H": problem.H}
    vectors = ("q", "mu") if local else ("f", "w", "mu")
    with h5py.File(path, "w") as file:
        group = file.create_group("fclib_local" if local else "fclib_global")
        group["spacedim"] = np.array([3], np.int32)
        group["info/title"] = np.bytes_(problem.title)
        for name, matrix in matrices.items():
            put_matrix(group.create_group(name), matrix, kind)
        for name in vectors:
            group[f"vectors/{name}"] = getattr(problem, name)


def put_matrix(group, matrix, kind):
    spare = 5  # room beyond what is used, as FCLIB's files have it
    if kind == "triplets":
        stored = matrix.tocoo()
        i, p, nz = stored.row, stored.col, stored.nnz
    else:
        stored = matrix.tocsc() if kind == "columns" else matrix.tocsr()
        i, p, nz = stored.indices, stored.indptr, KINDS[kind]
        i = np.append(i, np.zeros(spare, np.int32))
    x = np.append(stored.data, np.full(spare, 7.0)) if kind != "triplets" else stored.data
    arrays = {"i": i, "p": p, "x": x, "nz": [nz], "m": [matrix.shape[0]], "n": [matrix.shape[1]]}
    for name, values in arrays.items():
        group[name] = np.asarray(values, float if name == "x" else np.int32)


def data_files():
    folder = os.environ.get("SAPWOOD_DATA")
    if folder is None:
        skip = pytest.mark.skip(reason="SAPWOOD_DATA names no folder with fclib/*.hdf5")
        return [pytest.param(None, id="collection", marks=skip)]
    return [pytest.param(path, id=path.stem) for path in sorted(Path(folder).glob("fclib/*.hdf5"))]


collection = pytest.mark.parametrize("path", data_files())


# ---- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_is_what_was_written(kind, tmp_path, rng):
    problem = bodies(rng)
    write(tmp_path / "global.hdf5", problem, kind)
    read = fclib.load(tmp_path / "global.hdf5")
    assert isinstance(read, fclib.GlobalProblem)
    for name in ("M", "H"):
        np.testing.assert_array_equal(
            getattr(read, name).toarray(), getattr(problem, name).toarray()
        )
    for name in ("f", "w", "mu"):
        np.testing.assert_array_equal(getattr(read, name), getattr(problem, name))

    write(tmp_path / "local.hdf5", problem.local, kind)
    local = fclib.load(str(tmp_path / "local.hdf5"))
    assert isinstance(local, fclib.LocalProblem)
    np.testing.assert_array_equal(local.W.toarray(), problem.local.W.toarray())
    np.testing.assert_array_equal(local.q, problem.local.q)
    assert local.title == "bodies"


def test_local_form_has_the_velocities_of_the_global_one(rng):
    problem = bodies(rng)
    r = rng.standard_normal(3 * len(problem.mu))
    v = np.linalg.solve(problem.M.toarray(), problem.H @ r + problem.f)
    local = problem.local
    np.testing.assert_allclose(local.W @ r + local.q, problem.H.T @ v + problem.w, rtol=1e-9)


def spoil(group, name, values):
    del group[name]
    if values is not None:
        group[name] = values


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("spacedim", [2], "spacedim = 2: must be 3"),
        ("vectors/mu", None, "there is no /fclib_local/vectors/mu"),
        ("vectors/mu", [0.5, -0.1, 0.5, 0.5, 0.5, 0.5, 0.5], "mu: must be >= 0"),
        ("vectors/mu", [0.5, np.nan], "mu: must be finite"),
        ("vectors/mu", [0.5], "W is .21, 21., expected .3, 3."),
        ("vectors/q", [0.0, 1.0], "q has 2 entries, expected 21"),
        ("W/nz", [-3], "nz = -3: must be >= -2"),
        ("W/nz", [1, 2], "nz has 2 entries, expected 1"),
        ("W/p", np.arange(22)[::-1].copy(), "W: "),
        ("W/i", [1000] * 441, "W: "),
        ("W/i", [0.5] * 441, "W/i holds float64"),
        ("W/x", [b"text"], "W/x holds"),
        ("W/x", [np.inf] * 441, "W/x: must be finite"),
    ],
)
def test_files_that_do_not_fit_are_refused_by_name(name, values, text, tmp_path, rng):
    path = tmp_path / "spoilt.hdf5"
    write(path, bodies(rng).local, "rows")
    with h5py.File(path, "r+") as file:
        spoil(file["fclib_local"], name, values)
    with pytest.raises(ValueError, match=text) as error:
        fclib.load(path)
    assert str(path) in str(error.value)


def test_equality_constraints_and_other_files_are_refused(tmp_path, rng):
    path = tmp_path / "joints.hdf5"
    write(path, bodies(rng), "columns")
    with h5py.File(path, "r+") as file:
        file["fclib_global"].create_group("G")
    with pytest.raises(ValueError, match="G: equality constraints are not read"):
        fclib.load(path)
    with h5py.File(path, "w") as file:
        file["solution"] = [1.0]
    with pytest.raises(ValueError, match="neither fclib_global nor fclib_local"):
        fclib.load(path)
    path.write_bytes(b"no such format")
    with pytest.raises(OSError, match="file signature"):
        fclib.load(path)
    with pytest.raises(FileNotFoundError):
        fclib.load(tmp_path / "missing.hdf5")


def gzipped(group, _folder):
    group["vectors"].create_dataset(
        "mu", (10**8,), "f8", chunks=(10**6,), compression="gzip", fillvalue=0.5
    )


def never_written(group, _folder):
    """Fill values have no bytes in the file."""
    group["vectors"].create_dataset("mu", (10**8,), "f8", fillvalue=0.5)


def linked(group, folder):
    with h5py.File(folder / "other.hdf5", "w") as other:
        other["mu"] = np.full(7, 0.5)
    group["vectors/mu"] = h5py.ExternalLink(str(folder / "other.hdf5"), "mu")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (gzipped, "vectors/mu: is compressed, in chunks, or not in this file"),
        (never_written, "vectors/mu has shape .100000000,., of which the file holds a part"),
        (linked, "vectors/mu: is a link to another place"),
    ],
)
def test_arrays_that_the_file_does_not_hold_are_refused(make, text, tmp_path, rng):
    """Before they are read: some would take a gigabyte, others come from elsewhere."""
    path = tmp_path / "problem.hdf5"
    write(path, bodies(rng).local, "rows")
    with h5py.File(path, "r+") as file:
        group = file["fclib_local"]
        del group["vectors/mu"]
        make(group, tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=text):
            fclib.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


# ---- symmetry ----------------------------------------------------------------------------------


def nearly_symmetric(rng, part):
    """A problem whose M differs from its transpose by this part of its largest entry."""
    problem = bodies(rng)
    M = problem.M.toarray()
    M[0, 1] += part * abs(M).max()
    return dataclasses.replace(problem, M=sparse.csc_array(M)), M


@pytest.mark.parametrize("kind", KINDS)
def test_a_mass_matrix_of_single_precision_is_made_symmetric(kind, tmp_path, rng):
    problem, M = nearly_symmetric(rng, 1.5e-7)
    path = tmp_path / "problem.hdf5"
    write(path, problem, kind)
    with pytest.warns(UserWarning, match=r"problem\.hdf5: M is symmetric to single .*1\.5e-07 of"):
        read = fclib.load(path)
    np.testing.assert_array_equal(read.M.toarray(), (M + M.T) / 2)
    # and our own problem takes it
    assert fclib.pose(read).at(1e-3, 1e-3).n_contacts == len(problem.mu)


def test_a_mass_matrix_that_is_not_symmetric_is_refused_with_the_number(tmp_path, rng):
    problem, _ = nearly_symmetric(rng, 1e-6)
    path = tmp_path / "problem.hdf5"
    write(path, problem, "rows")
    with pytest.raises(ValueError, match=r"problem\.hdf5: .*M: must be symmetric: .* 1e-06 of the"):
        fclib.load(path)


# ---- merit ---------------------------------------------------------------------------------------


def test_projection_is_the_nearest_point(rng):
    """Moreau: z = P_K(z) - P_K*(-z), two orthogonal parts in the cone and in its dual."""
    mu = rng.choice([0.0, 0.3, 2.0], 200)
    z = rng.standard_normal((200, 3)) * rng.choice([0.0, 1e-3, 1.0], (200, 1))
    inside = project(z, mu)
    polar = z - inside
    length = np.linalg.norm(z, axis=1)
    assert np.all(np.hypot(inside[:, 1], inside[:, 2]) <= mu * inside[:, 0] + 1e-15 * length)
    # in the polar cone: mu |t| <= -n
    assert np.all(mu * np.hypot(polar[:, 1], polar[:, 2]) <= -polar[:, 0] + 1e-15 * length)
    assert np.all(np.abs(np.sum(inside * polar, axis=1)) <= 1e-14 * length**2)


@pytest.mark.parametrize("kind", ["sliding", "sticking", "separating"])
def test_solutions_by_hand_have_no_residual(kind):
    """A point mass of 2 kg on the floor: friction at its limit, below it, and no contact."""
    mass, mu = 2.0, 0.5
    q = {"sliding": [-1.0, 3.0, 4.0], "sticking": [-1.0, 0.3, 0.0], "separating": [1.0, 3.0, 4.0]}
    r = {
        "sliding": mass * np.array([1.0, -mu * 0.6, -mu * 0.8]),
        "sticking": mass * np.array([1.0, -0.3, 0.0]),
        "separating": np.zeros(3),
    }
    W = sparse.csr_array(np.eye(3) / mass)
    problem = fclib.LocalProblem(W, np.array(q[kind]), np.array([mu]))
    assert fclib.relative_residual(problem, r[kind]) <= 1e-15
    assert fclib.merit(problem, r[kind]) <= 1e-15
    assert fclib.relative_residual(problem, r[kind] + [1e-6, 0.0, 0.0]) > 1e-8
    assert fclib.relative_residual(problem, r[kind] - [0.0, 1e-6, 0.0]) > 1e-8


def test_merit_is_that_of_fclib(rng):
    """Its own formula, contact by contact."""
    problem = bodies(rng).local
    W, q = problem.W.toarray(), problem.q
    for _ in range(20):
        r = rng.standard_normal(len(q))
        u = W @ r + q
        total = 0.0
        for i, mu in enumerate(problem.mu):
            mine = slice(3 * i, 3 * i + 3)
            z = r[mine] - u[mine]
            z[0] -= mu * np.hypot(*u[mine][1:])
            radial = np.hypot(z[1], z[2])
            if mu * radial <= -z[0]:
                z = np.zeros(3)
            elif radial > mu * z[0]:
                normal = (mu * radial + z[0]) / (mu**2 + 1.0)
                z = np.array([normal, mu * normal * z[1] / radial, mu * normal * z[2] / radial])
            total += np.sum((r[mine] - z) ** 2)
        expected = np.sqrt(total) / (1.0 + np.sqrt(np.linalg.norm(q)))
        np.testing.assert_allclose(fclib.merit(problem, r), expected, rtol=1e-12)
        np.testing.assert_allclose(
            fclib.relative_residual(problem, r), np.sqrt(total) / np.linalg.norm(q), rtol=1e-12
        )


def test_residual_without_motion():
    problem = fclib.LocalProblem(sparse.csr_array(np.eye(3)), np.zeros(3), np.array([0.5]))
    assert fclib.relative_residual(problem, np.zeros(3)) == 0.0
    assert fclib.relative_residual(problem, np.ones(3)) == np.inf


# ---- posing --------------------------------------------------------------------------------------


def check_posed(problem):
    """W, q, mu and R of what the solver gets, with rows in its order."""
    posed = fclib.pose(problem)
    sigma_t, sigma_n = 1e-3, 1e-5
    local, ours = problem.local, posed.at(sigma_t, sigma_n)
    n = len(local.mu)
    A, J = ours.to_dense()
    W = (J @ np.linalg.solve(A, J.T)).reshape(n, 3, n, 3)[:, [2, 0, 1]][..., [2, 0, 1]]
    W = W.reshape(3 * n, 3 * n) + posed.rest.toarray()
    wanted = local.W.toarray()
    assert np.abs(W - wanted).max() <= 1e-11 * np.abs(wanted).max()
    v_hat = np.column_stack([ours.v_hat_n, ours.v_hat_t])
    np.testing.assert_array_equal(v_hat.ravel(), -local.q)
    assert not ours.v_star.any()
    np.testing.assert_array_equal(ours.mu, local.mu)
    for i in range(n):
        block = wanted[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]
        w = np.linalg.norm(block) / 3.0
        np.testing.assert_allclose([ours.R_t[i], ours.R_n[i]], [sigma_t * w, sigma_n * w])
    return posed


def test_bodies_become_trees(rng):
    posed = check_posed(bodies(rng))
    assert posed.trees.tree_nv.tolist() == [6] * 5
    assert not posed.rest.nnz


def test_a_local_problem_becomes_a_tree_per_island(rng):
    """Also where W has rank deficient blocks and is not quite symmetric."""
    local = bodies(rng, n_bodies=3, n_contacts=12).local
    blocks = sparse.block_diag([local.W, local.W[:6][:, :6]], format="csr")
    blocks.data *= 1.0 + 1e-3 * rng.standard_normal(blocks.nnz)
    problem = fclib.LocalProblem(
        sparse.csr_array(blocks), np.append(local.q, local.q[:6]), np.append(local.mu, [0.1, 0.2])
    )
    posed = check_posed(problem)
    assert len(posed.trees.tree_nv) >= 2
    assert np.abs(posed.rest).max() > 1e-6


def test_a_contact_that_moves_nothing_is_named(rng):
    problem = bodies(rng)
    H = problem.H.tolil()
    H[:, 9:12] = 0.0
    spoilt = fclib.GlobalProblem(problem.M, H.tocsc(), problem.f, problem.w, problem.mu)
    with pytest.raises(ValueError, match="contact 3 moves nothing"):
        fclib.pose(spoilt)


def convex_residual(problem, r):
    """The natural map of the convex law, without De Saxcé's part, over |q|."""
    u = (problem.W @ r + problem.q).reshape(-1, 3)
    impulse = r.reshape(-1, 3)
    gap = impulse - project(impulse - u, problem.mu)
    return np.linalg.norm(gap) / np.linalg.norm(problem.q)


@pytest.mark.parametrize("form", ["global", "local"])
def test_shifts_take_the_compliance_away(form, rng):
    """W r + q obeys the convex law of rigid contact, to round-off after a few solves."""
    problem = bodies(rng)
    problem = problem if form == "global" else problem.local
    posed = fclib.pose(problem)
    solver = sapwood.SapSolver(sapwood.SapSettings(relative_tolerance=1e-11))
    residuals, gamma = [], None
    for _ in range(5):
        gamma = solver.solve(posed.at(1e-4, 1e-4, gamma)).gamma
        residuals.append(convex_residual(problem.local, posed.impulses(gamma)))
    assert residuals[0] > 1e-6
    assert min(residuals) <= 1e-8


@collection
def test_files_of_the_collection_are_posed_unchanged(path):
    problem = fclib.load(path)
    posed = check_posed(problem)
    asked = posed.at(1.0, 1.0)
    assert asked.n_contacts == len(problem.mu) >= 80
    assert asked.source == f"FCLIB: {problem.title}"
    assert problem.title
