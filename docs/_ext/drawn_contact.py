"""Pictures of the contact law: the cone, compliance, gliding and the laws of friction."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

import sapwood

GRAVITY = 9.81
# pale shades of the colours of the lines: stiction, sliding, no contact
SHADES = ListedColormap(["#cfe4f2", "#fbe0cb", "#ededed"])


def cone():
    """Draw the regions of the projection, Fig. 22 of the paper, and the law of friction."""
    mu, ratio = 0.8, 0.5  # R_t/R_n
    figure, (plane, law) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    tangential, normal = np.meshgrid(np.linspace(-3.0, 3.0, 241), np.linspace(-3.0, 3.0, 241))
    # scaled impulses sqrt(R) y, in which the projection is an orthogonal one
    scale = np.sqrt(ratio)
    y = np.zeros((tangential.size, 3))
    y[:, 0], y[:, 2] = tangential.ravel() / scale, normal.ravel()
    regions = sapwood.project(y, mu, ratio, 1.0)[2].reshape(normal.shape)
    plane.pcolormesh(tangential, normal, regions, cmap=SHADES, shading="nearest", rasterized=True)
    slope = mu * scale
    end = np.array([0.0, 3.0])
    for side in (-1.0, 1.0):
        plane.plot(side * slope * end, end, color="#0072b2")
        plane.plot(side * end, -slope * end, color="0.4", linestyle="--", linewidth=1.0)
    points = np.array([[0.4, 1.6], [2.2, 1.2], [-1.7, 0.3], [1.2, -1.6], [-2.4, 1.8]])
    start = np.zeros((len(points), 3))
    start[:, 0], start[:, 2] = points[:, 0] / scale, points[:, 1]
    gamma = sapwood.project(start, mu, ratio, 1.0)[0]
    for point, found in zip(points, gamma[:, [0, 2]] * [scale, 1.0], strict=True):
        plane.plot(*point, "o", color="black", markersize=4)
        if np.linalg.norm(found - point) > 1e-9:
            plane.annotate(
                "", found, point, arrowprops={"arrowstyle": "->", "color": "black", "lw": 1.1}
            )
    for text, place in (
        ("I: stiction\n(the cone)", (0.0, 2.4)),
        ("II: sliding", (2.05, 0.35)),
        ("II: sliding", (-2.05, 0.9)),
        ("III: no contact\n(the polar cone)", (0.0, -2.3)),
    ):
        plane.text(*place, text, ha="center", va="center")
    plane.set(
        aspect="equal", xlim=(-3, 3), ylim=(-3, 3),
        xlabel=r"$\sqrt{R_t}\,y_t$", ylabel=r"$\sqrt{R_n}\,y_n$",
    )  # fmt: skip

    slip = np.linspace(-3e-3, 3e-3, 301)
    weight = 1.0  # N s, normal impulse
    for sigma, style in ((1e-3, "-"), (4e-4, "--")):
        pushed = np.zeros((slip.size, 3))
        pushed[:, 0], pushed[:, 2] = -slip / sigma, weight
        friction = sapwood.project_disk(pushed, mu * weight, sigma, 1.0)[0][:, 0]
        law.plot(1e3 * slip, friction, style, label=f"$R_t$ = {sigma:g} 1/kg")
    law.axhline(mu, color="0.6", linewidth=0.8, linestyle=":")
    law.axhline(-mu, color="0.6", linewidth=0.8, linestyle=":")
    law.text(-2.9, mu + 0.04, r"$\mu\gamma_n$")
    law.set(xlabel="slip $v_t$, mm/s", ylabel=r"friction $\gamma_t$, N s", ylim=(-1.05, 1.05))
    law.legend(loc="lower left")
    return figure


def _fall_to_rest(k, dt):
    """Return the depth (m) at which a mass of 1 kg rests on a contact of stiffness k."""
    height, v = 0.0, 0.0
    solver = sapwood.SapSolver()
    for _ in range(200):
        problem = sapwood.ContactProblem.from_dense(
            np.eye(3), [0.0, 0.0, v - GRAVITY * dt], np.eye(3),
            phi0=height, k=k, tau_d=dt if np.isinf(k) else 2.0 / np.sqrt(k), mu=0.5, dt=dt,
        )  # fmt: skip
        v = solver.solve(problem).v[2]
        height += dt * v
    return -height


def compliance():
    """Draw depth against stiffness, and the force of a sliding contact against the distance."""
    figure, (rest, slide) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
    stiffness = np.logspace(3, 9, 25)
    rest.loglog(stiffness, GRAVITY / stiffness, ":", color="0.4", label="spring, $m g/k$")
    for dt, marker in ((0.01, "o"), (0.001, "s")):
        depth = [_fall_to_rest(k, dt) for k in stiffness]
        rest.loglog(stiffness, depth, marker=marker, markersize=4, label=f"dt = {1e3 * dt:g} ms")
    rest.set(xlabel="stiffness k, N/m", ylabel="depth of 1 kg at rest, m")
    rest.annotate("near-rigid:\nas stiff as the step resolves", (3e7, 2.5e-5), (2e5, 1.2e-3),
                  arrowprops={"arrowstyle": "->", "lw": 0.8})  # fmt: skip
    rest.legend(loc="lower left")

    dt, tau_d, k, mu, speed = 0.01, 0.01, 1e4, 0.8, 0.5
    R_n = 1.0 / (dt * k * (dt + tau_d))
    gap = np.linspace(-6e-3, 10e-3, 161)
    for ratio, v_t, style, label in (
        (0.01, 0.0, "-", "stiction"),
        (0.01, speed, "--", "sliding, $R_t \\ll R_n$"),
        (2.0, speed, "-.", "sliding, $R_t = 2 R_n$"),
    ):
        R_t = ratio * R_n
        y = np.zeros((gap.size, 3))
        y[:, 0], y[:, 2] = -v_t / R_t, -gap / (dt + tau_d) / R_n
        gamma = sapwood.project(y, mu, R_t, R_n)[0]
        slide.plot(1e3 * gap, gamma[:, 2] / dt, style, label=label)
    drift = 1e3 * (dt + tau_d) * mu * speed
    slide.annotate("", (0, 81), (drift, 81), arrowprops={"arrowstyle": "<->", "lw": 0.9})
    slide.text(0.62 * drift, 86, r"$(\delta t+\tau_d)\mu|v_t|$", ha="center")
    slide.axvline(drift, color="0.6", linewidth=0.8, linestyle=":")
    slide.set(xlabel=r"distance $\phi$, mm ($v_n = 0$)", ylabel="normal force, N")
    slide.legend()
    return figure


def _slide(friction, dt, steps=120, mu=0.5, speed=1.0):
    """Return times, gaps (m), speeds and normal forces of a mass of 1 kg that slides."""
    height, v = -1e-6, np.array([speed, 0.0, 0.0])
    solver = sapwood.SapSolver(sapwood.SapSettings(friction=friction))
    rows, bound = [], mu * GRAVITY * dt
    for _ in range(steps):
        problem = sapwood.ContactProblem.from_dense(
            np.eye(3), v - [0.0, 0.0, GRAVITY * dt], np.eye(3),
            phi0=height, k=np.inf, tau_d=dt, mu=mu, dt=dt,
            **({"friction_bound": bound} if friction == "lagged" else {}),
        )  # fmt: skip
        solution = solver.solve(problem)
        v, bound = solution.v, mu * solution.gamma[0, 2]
        height += dt * v[2]
        rows.append((height, abs(v[0]), solution.gamma[0, 2] / dt))
    return dt * np.arange(1, steps + 1), *np.array(rows).T


def gliding():
    """Draw the gap of a sliding mass under the three laws, and the normal force."""
    figure, (gaps, forces) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    dt = 0.002
    for law, style in (("convex", "-"), ("lagged", "--"), ("coulomb", ":")):
        time, height, speed, force = _slide(law, dt)
        width = 3.0 if law == "coulomb" else 1.6
        gaps.plot(time, 1e3 * height, style, label=law, linewidth=width)
        forces.plot(time, force, style, label=law, linewidth=width)
        if law == "convex":
            gaps.plot(time, 1e3 * 2 * dt * 0.5 * speed, color="0.3", linewidth=0.8,
                      label=r"$(\delta t+\tau_d)\mu|v_t|$")  # fmt: skip
    gaps.set(xlabel="time, s", ylabel="gap below the body, mm")
    forces.axhline(GRAVITY, color="0.5", linewidth=0.8)
    forces.set(xlabel="time, s", ylabel="normal force, N", ylim=(0.0, 30.0))
    gaps.legend()
    forces.legend()
    return figure


DRAWINGS = {"cone": cone, "compliance": compliance, "gliding": gliding}
