"""Pictures of single ideas: complementary cones, rotation without drift, soft bodies."""

import matplotlib.pyplot as plt
import mujoco
import numpy as np

import sapwood.mujoco
from sapwood import fem, lcp


def complementary_cones():
    """Draw which pairs of an LCP in the plane have z > 0, for each q, and one solution."""
    M = np.array([[2.0, -1.0], [-0.5, 1.5]])
    axis = np.linspace(-2.0, 2.0, 121)
    active = np.zeros((axis.size, axis.size))
    for i, second in enumerate(axis):
        for j, first in enumerate(axis):
            z = lcp.solve(M, [first, second]).z
            active[i, j] = (z[0] > 1e-12) + 2 * (z[1] > 1e-12)
    figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    colours = ["#f0f0f0", "#9ecae1", "#fdbe85", "#a6dba0"]
    axes.contourf(axis, axis, active, levels=[-0.5, 0.5, 1.5, 2.5, 3.5], colors=colours)
    for column, label in (
        ((1.0, 0.0), "$e_1$"), ((0.0, 1.0), "$e_2$"),
        (-M[:, 0], "$-M_1$"), (-M[:, 1], "$-M_2$"),
    ):  # fmt: skip
        column = 1.6 * np.asarray(column) / np.linalg.norm(column)
        axes.annotate("", column, (0, 0), arrowprops={"arrowstyle": "->", "lw": 1.2})
        axes.text(*(1.12 * column), label, ha="center", va="center")
    for place, text in (
        ((0.8, 0.8), "$z = 0$"), ((-1.1, 1.1), "$z_1 > 0$"),
        ((1.3, -0.9), "$z_2 > 0$"), ((-0.9, -0.9), "$z_1, z_2 > 0$"),
    ):  # fmt: skip
        axes.text(*place, text, ha="center", va="center")
    axes.set(xlabel="$q_1$", ylabel="$q_2$", aspect="equal", xlim=(-2, 2), ylim=(-2, 2))
    return figure


def _energy_of_rotation(step, seconds, dt):
    """Return times and the energy of a body that tumbles freely, over its first one."""
    model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="{dt}" gravity="0 0 0"/><worldbody><body><freejoint/>
  <geom type="box" size=".1 .2 .3" mass="1"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[3:] = [0.1, 8.0, 0.1]  # about the middle axis, which is unstable
    take = step(model)
    inertia, energies = model.body_inertia[1], []
    for _ in range(round(seconds / dt)):
        energies.append(0.5 * inertia @ data.qvel[3:] ** 2)
        take(data)
    return dt * np.arange(len(energies)), np.array(energies) / energies[0]


def free_rotation():
    """Draw the rotational energy of a body that tumbles, by the stepper and by mj_step."""
    figure, axes = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    for label, step, style in (
        ("mj_step, Euler", lambda model: lambda data: mujoco.mj_step(model, data), "--"),
        ("Stepper, midpoint of the torque",
         lambda model: sapwood.mujoco.Stepper(model).step, "-"),
    ):  # fmt: skip
        axes.plot(*_energy_of_rotation(step, 10.0, 0.005), style, label=label)
    axes.set(xlabel="time, s", ylabel="rotational energy over the first")
    axes.legend()
    return figure


def _bent(cells):
    """Return a beam of rubber that one end holds, at rest under its weight."""
    mesh = fem.box([0.4, 0.04, 0.04], cells=cells)
    rubber = fem.Material(young=5e6, poisson=0.3, density=1000.0, stiffness_damping=0.02)
    beam = fem.SoftBody(mesh, rubber)
    beam.fix(mesh.vertices[:, 0] < mesh.vertices[:, 0].min() + 1e-9)
    fem.World([beam], time_step=0.02).step(150)
    return beam


def soft_beam():
    """Draw a bent beam with its stresses, and how its deflection grows with finer meshes."""
    figure = plt.figure(figsize=(9.0, 3.4), layout="constrained")
    shape, growth = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    numbers = (1, 2, 3, 4, 5)
    beams = [_bent((10 * n // 2, n, n)) for n in numbers]
    beams[-1].plot(shape)
    deflections = [1e3 * (beam.mesh.vertices[:, 2] - beam.positions[:, 2]).max() for beam in beams]
    growth.plot(numbers, deflections, "o-", label="linear tetrahedra")
    w, length, E, side = 1000.0 * 0.04**2 * 9.81, 0.4, 5e6, 0.04
    theory = 1e3 * w * length**4 / (8.0 * E * side**4 / 12.0)
    growth.axhline(theory, color="0.4", linestyle="--", label="beam theory")
    growth.set(xlabel="cells across the beam", ylabel="deflection of the tip, mm", ylim=(0, None),
               xticks=numbers)  # fmt: skip
    growth.legend()
    return figure


def soft_schur():
    """Draw the blocks of A of a cube, touched vertices last, and the mass that these show."""
    mesh = fem.box([0.1, 0.1, 0.1], 5)
    rubber = fem.Material(young=1e5, poisson=0.3, density=1000.0)
    found, (mass, _) = fem.evaluate(mesh, rubber, mesh.vertices), fem.mass_matrix(mesh, 1000.0)
    A = 1e-4 * fem.scatter_blocks(mesh.pairs, found.K, found.K_pairs)  # steps of 10 ms
    A += np.kron(np.diag(mass), np.eye(3))
    touched = mesh.vertices[:, 2] < -0.0499
    order = np.r_[np.flatnonzero(~touched), np.flatnonzero(touched)]
    n, p = len(order), int(touched.sum())
    dofs = (3 * order[:, None] + np.arange(3)).ravel()
    A = A[np.ix_(dofs, dofs)]
    u = slice(3 * (n - p))
    S = A[3 * (n - p) :, 3 * (n - p) :] - A[3 * (n - p) :, u] @ np.linalg.solve(
        A[u, u], A[u, 3 * (n - p) :]
    )
    size = np.abs(A).reshape(n, 3, n, 3).max(axis=(1, 3))
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained")
    rows, columns = np.nonzero(size)
    last = (rows >= n - p) & (columns >= n - p)
    left.scatter(columns, rows, s=1.5, lw=0, color=np.where(last, "#d55e00", "#0072b2"))
    left.axhline(n - p - 0.5, color="0.6", lw=0.8)
    left.axvline(n - p - 0.5, color="0.6", lw=0.8)
    left.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal", title="A, by vertices",
             xticks=[(n - p) / 2, n - p / 2], xticklabels=["others", "touched"],
             yticks=[(n - p) / 2, n - p / 2], yticklabels=["others", "touched"])  # fmt: skip
    seen = np.log10(np.abs(S).reshape(p, 3, p, 3).max(axis=(1, 3)) / np.abs(S).max())
    image = right.imshow(seen, cmap="cividis", vmin=-4)
    right.set(title="S, over touched vertices", xticks=[], yticks=[])
    figure.colorbar(image, ax=right, shrink=0.8, label="largest entry, log10, over that of S")
    return figure


DRAWINGS = {
    "complementary_cones": complementary_cones,
    "free_rotation": free_rotation,
    "soft_beam": soft_beam,
    "soft_schur": soft_schur,
}
