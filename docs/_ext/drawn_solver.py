"""Pictures of the solver: islands, the junction tree, and certificates."""

import matplotlib.pyplot as plt
import numpy as np

import sapwood

# trees of the example of section VIII-D, of their velocities, and patches between them, with the
# number of their contacts; -1 is the ground
TREES = {"robot": 9, "cup": 6, "lid": 6, "table": 6, "box": 6, "ball": 6, "crate": 6}
PATCHES = [
    (0, 1, 4),
    (1, 2, 3),
    (1, 3, 4),
    (3, -1, 4),
    (0, -1, 4),
    (4, 3, 4),
    (5, 6, 1),
    (6, -1, 4),
]
PLACES = [(0.0, 1.0), (1.2, 1.3), (1.9, 2.1), (1.7, 0.4), (2.8, 1.0), (4.0, 1.6), (4.2, 0.6)]


def example():
    """Return the problem of the example, with random masses and Jacobians."""
    rng = np.random.default_rng(3)
    sizes = list(TREES.values())
    pairs = [(a, b) for a, b, count in PATCHES for _ in range(count)]
    blocks = []
    for a, b in pairs:
        width = sizes[a] + (sizes[b] if b >= 0 else 0)
        blocks.append(rng.normal(size=3 * width))
    return sapwood.ContactProblem(
        tree_nv=sizes,
        A=np.concatenate([np.eye(size).ravel() for size in sizes]),
        v_star=rng.normal(size=sum(sizes)),
        tree_a=[a for a, _ in pairs],
        tree_b=[b for _, b in pairs],
        J=np.concatenate(blocks),
        mu=0.5, phi0=0.0, k=1e5, tau_d=0.01, dt=0.01,
    )  # fmt: skip


def islands():
    """Draw trees and patches as a graph, the blocks of J, and those of H and its factor."""
    names = list(TREES)
    figure, (graph, jacobian, hessian) = plt.subplots(
        1, 3, figsize=(11.0, 4.2), layout="constrained", width_ratios=[1.25, 1.0, 1.0]
    )
    island = {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1}
    colours = ("#0072b2", "#d55e00")
    ground = -0.5
    for number, (a, b, count) in enumerate(PATCHES):
        start, end = PLACES[a], PLACES[b] if b >= 0 else (PLACES[a][0], ground)
        graph.plot(
            *zip(start, end, strict=True), color="0.5", linewidth=0.8 + 0.5 * count, zorder=1
        )
        middle = np.mean([start, end], axis=0)
        graph.text(*middle, f"$p_{number + 1}$", fontsize=8, zorder=3, ha="center", va="center",
                   bbox={"boxstyle": "round,pad=.1", "fc": "white", "ec": "none"})  # fmt: skip
    graph.axhline(ground, color="0.3", linewidth=2.0)
    for i, (x, y) in enumerate(PLACES):
        marker = "o" if island[i] == 0 else "s"
        graph.plot(x, y, marker, markersize=17, color=colours[island[i]], zorder=2)
        graph.text(x, y, f"$t_{i + 1}$", color="white", ha="center", va="center", zorder=4)
        graph.text(x + 0.27, y - 0.25 if i == 0 else y + 0.05, names[i], fontsize=8)
    graph.set(xlim=(-0.4, 5.0), ylim=(-0.7, 2.7), title="trees, patches, two islands")
    graph.axis("off")
    for row, (a, b, _) in enumerate(PATCHES):
        for column in (a, b):
            if column >= 0:
                jacobian.add_patch(plt.Rectangle(
                    (column, row), 1, 1, fc=colours[island[column]], ec="white",
                    hatch="" if island[column] == 0 else "//",
                ))  # fmt: skip
    jacobian.set(
        xlim=(0, len(TREES)), ylim=(len(PATCHES), 0), aspect="equal", title="blocks of J",
        xticks=np.arange(len(TREES)) + 0.5, yticks=np.arange(len(PATCHES)) + 0.5,
        xticklabels=[f"$t_{i + 1}$" for i in range(len(TREES))],
        yticklabels=[f"$p_{i + 1}$" for i in range(len(PATCHES))],
    )  # fmt: skip
    example().plot_structure(ax=hessian)
    hessian.get_legend().remove()
    hessian.set_title("H and its factor")
    return figure


def certificates():
    """Draw the proved bound beside the true error, for random problems and tolerances."""
    rng = np.random.default_rng(5)
    figure, axes = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
    for contacts, marker in ((2, "o"), (6, "s"), (12, "^")):
        true, proved = [], []
        for _ in range(6):
            nv = 2 * contacts
            root = rng.normal(size=(nv, nv))
            A = root @ root.T + nv * np.eye(nv)
            problem = sapwood.ContactProblem.from_dense(
                A, rng.normal(size=nv), rng.normal(size=(3 * contacts, nv)),
                phi0=0.0, k=1e4, tau_d=0.01, mu=0.7, dt=0.01,
            )  # fmt: skip
            exact = sapwood.solve(problem, settings=sapwood.SapSettings(relative_tolerance=0.0)).v
            for iterations in range(1, 7):
                settings = sapwood.SapSettings(max_iterations=iterations, relative_tolerance=1e-13)
                solution = sapwood.solve(problem, settings=settings)
                error = solution.v - exact
                true.append(np.sqrt(error @ A @ error))
                proved.append(solution.velocity_error_bound)
        axes.loglog(np.maximum(true, 1e-17), proved, marker, markersize=4, alpha=0.8,
                    label=f"{contacts} contacts")  # fmt: skip
    line = np.array([1e-17, 10.0])
    axes.loglog(line, line, color="0.3", linewidth=0.9, label="bound = error")
    axes.set(
        xlabel=r"true error $\|v - v_{\min}\|_A$, $\sqrt{J}$", ylabel=r"proved bound, $\sqrt{J}$"
    )
    axes.legend()
    return figure


DRAWINGS = {"islands": islands, "certificates": certificates}
