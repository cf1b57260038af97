"""Pictures after the sketches of the papers: the soft norm, contacts, the gait, the controllers."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

import sapwood

BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
# the trot of the paper: cycle, s; duty factor; when the feet come down
CYCLE, DUTY, TOUCHDOWN = 0.3, 0.75, {"LF": 0.25, "RF": 0.75, "LH": 0.75, "RH": 0.25}


def soft_norm():
    """Draw friction under the soft norm of the note on the projection, and how much is lost."""
    figure, (force, deficit) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    eps, mu, dt = 1e-8, 0.5, 1e-3
    y = np.zeros((241, 3))
    # so close to the cone's tip that all but y_t = 0 slides
    y[:, 0], y[:, 2] = eps * np.linspace(-6.0, 6.0, 241), 1e-10
    for soft, style, label in ((0.0, "-", "Euclidean norm"), (eps, "--", "soft norm")):
        gamma = sapwood.project(y, mu, 1e-3, 1.0, soft).gamma
        force.plot(y[:, 0] / eps, gamma[:, 0] / (mu * gamma[:, 2]), style, label=label)
    force.set(
        xlabel=r"$y_t/\varepsilon_s$", ylabel=r"friction over its bound, $\gamma_t/\mu\gamma_n$"
    )
    force.legend(loc="upper left")
    mass = np.logspace(-9, 1, 60)
    pushed = np.zeros((mass.size, 3))
    # y_t is twice what friction can hold: the mass slides
    pushed[:, 2] = mass * 9.81 * dt
    pushed[:, 0] = 2.0 * mu * pushed[:, 2]
    sharp = sapwood.project(pushed, mu, 1e-3, 1.0).gamma
    for soft, style, name in ((1e-8, "-", "10^{-8}"), (1e-10, "--", "10^{-10}")):
        lost = 1.0 - sapwood.project(pushed, mu, 1e-3, 1.0, soft).gamma[:, 0] / sharp[:, 0]
        label = rf"$\varepsilon_s = {name}$ N s"
        deficit.loglog(mass, np.maximum(lost, 1e-16), style, label=label)
    deficit.set(
        xlabel="mass that slides, kg, dt = 1 ms", ylabel="part of the friction that is lost"
    )
    deficit.legend()
    return figure


def _ground(axes, height=0.0):
    axes.fill_between([-3, 3], height - 0.35, height, color="0.88")
    axes.plot([-3, 3], [height, height], color="0.45", linewidth=1.0)


def _arrow(axes, start, end, colour="black"):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.6})


def _point(axes, x, y):
    axes.plot(x, y, "o", markersize=7, markerfacecolor="white", markeredgecolor="black", zorder=5)


def contact_points():
    """Draw the frame of a contact, points between disjoint bodies, and a row too early."""
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.3), layout="constrained")
    frame, apart, early = panels
    _ground(frame)
    frame.add_patch(Circle((0, 0.7), 0.7, facecolor="#cfe4f2", edgecolor=BLUE))
    for end, name in (
        ((0, 1.2), r"$\hat n$"),
        ((1.1, 0), r"$\hat s$"),
        ((-0.6, -0.45), r"$\hat t$"),
    ):
        _arrow(frame, (0, 0), end, ORANGE)
        frame.text(end[0] + 0.08, end[1] + 0.08, name)
    _point(frame, 0, 0)
    frame.set_title("frame of a contact")

    _ground(apart)
    apart.add_patch(Circle((-1.1, 0.95), 0.5, facecolor="#cfe4f2", edgecolor=BLUE))
    apart.plot([-1.1, -1.1], [0, 0.45], ":", color="black")
    _point(apart, -1.1, 0.225)
    _arrow(apart, (-1.1, 0.225), (-1.1, 1.1), ORANGE)
    a, b = np.array([0.5, 0.5]), np.array([1.3, 1.6])
    n = (b - a) / np.linalg.norm(b - a)
    for centre in (a, b):
        apart.add_patch(Circle(centre, 0.45, facecolor="#cfe4f2", edgecolor=BLUE))
    ends = a + 0.45 * n, b - 0.45 * n
    apart.plot(*np.transpose(ends), ":", color="black")
    middle = (ends[0] + ends[1]) / 2
    _point(apart, *middle)
    _arrow(apart, middle, middle + 0.75 * n, ORANGE)
    apart.set_title("points between disjoint bodies")

    early.add_patch(Rectangle((0.2, 0.0), 2.2, 0.35, facecolor="#fbe0cb", edgecolor=ORANGE))
    _arrow(early, (1.3, 0.17), (2.6, 0.17), ORANGE)
    early.add_patch(Circle((0.6, 1.1), 0.35, facecolor="#cfe4f2", edgecolor=BLUE))
    _arrow(early, (0.6, 0.75), (0.6, -0.25), BLUE)
    early.plot([-1.2, 3.0], [0.35, 0.35], "--", color="0.3")
    early.text(-1.15, 0.43, "row of the contact", fontsize=8.5)
    early.text(
        -1.15, -0.45, "the foot goes down, the board\nmoves away: no force in truth", fontsize=8.5
    )
    early.set_title("a row that comes too early")
    for axes, limits in ((frame, (-1.3, 1.5)), (apart, (-1.9, 2.1)), (early, (-1.3, 3.0))):
        axes.set(aspect="equal", xlim=limits, ylim=(-0.75, 2.2))
        axes.axis("off")
    return figure


def warm_started_points():
    """Draw that forces stay at the points that carried them, from one step to the next."""
    figure, panels = plt.subplots(1, 3, figsize=(9.0, 2.3), layout="constrained")
    for axes, (title, carry, x) in zip(
        panels,
        (
            ("a step", (0, 2), 0.0),
            ("the next, started anew", (1, 3), 0.25),
            ("the next, warm started", (0, 2), 0.25),
        ),
        strict=True,
    ):
        _ground(axes)
        axes.add_patch(Rectangle((x - 1.2, 0.0), 2.4, 0.55, facecolor="#cfe4f2", edgecolor=BLUE))
        for i, place in enumerate(x + np.array([-1.0, -0.35, 0.35, 1.0])):
            if i in carry:
                _arrow(axes, (place, -0.02), (place, 0.95), ORANGE)
            _point(axes, place, 0.0)
        axes.set_title(title)
        axes.set(aspect="equal", xlim=(-1.6, 1.6), ylim=(-0.4, 1.1))
        axes.axis("off")
    return figure


def gait_plan():
    """Draw when the feet of a trot stand, and what the planner makes of a command."""
    figure, (bars, graph) = plt.subplots(
        1, 2, figsize=(10.0, 3.0), layout="constrained", width_ratios=(1, 1.25)
    )
    for row, touchdown in enumerate(TOUCHDOWN.values()):
        for cycle in (-1, 0, 1):
            start = CYCLE * (touchdown + cycle)
            bars.barh(row, CYCLE * DUTY, left=start, color=BLUE, height=0.55)
            bars.barh(row, CYCLE * (1 - DUTY), left=start + CYCLE * DUTY, color="white",
                      edgecolor=ORANGE, hatch="///", height=0.55)  # fmt: skip
    bars.set_yticks(range(len(TOUCHDOWN)), list(TOUCHDOWN))
    bars.invert_yaxis()
    bars.set(xlim=(0, CYCLE), xlabel="time in a cycle, s", ylabel="foot")
    bars.set_title("stance (solid) and swing (hatched)", fontsize=10)
    boxes = {
        "command": (0.0, 1.0, "base velocity\n$\\dot x, \\dot y, \\dot\\theta$"),
        "stance": (2.2, 1.9, "stance: back\nunder the base"),
        "swing": (2.2, 0.1, "swing: spline to\nnext foothold"),
        "feet": (4.6, 1.0, "feet: $x, \\dot x, \\ddot x$"),
        "joints": (6.6, 1.0, "inverse\nkinematics:\n$q, \\dot q, \\ddot q$"),
    }
    _flow(graph, boxes, ("command stance", "command swing", "stance feet", "swing feet",
                         "feet joints"))  # fmt: skip
    return figure


def controller_diagrams():
    """Draw feedback alone, inverse dynamics that predicts forces, and with sensed ones."""
    figure, panels = plt.subplots(3, 1, figsize=(9.0, 6.0), layout="constrained")
    plan, robot = "plan\n$q, \\dot q, \\ddot q$", "robot"
    diagrams = (
        ("PID: feedback of torques", {
            "plan": (0.0, 0.5, plan), "pid": (2.6, 0.5, "PID"), "robot": (6.9, 0.5, robot),
        }, ("plan pid", "pid robot"), "robot pid"),
        (r"ID($t_i$): predicted forces", {
            "plan": (0.0, 0.5, plan), "pid": (2.2, 0.5, "PID on\naccelerations"),
            "id": (4.5, 0.5, "inverse dynamics\nwith contact"), "robot": (6.9, 0.5, robot),
        }, ("plan pid", "pid id", "id robot"), "robot pid"),
        (r"ID($t_{i-1}$), ID($t_{i-2}$): sensed forces", {
            "plan": (0.0, 0.5, plan), "pid": (2.2, 0.5, "PID on\naccelerations"),
            "id": (4.5, 0.5, "inverse dynamics"), "robot": (6.9, 0.5, robot),
            "sensor": (5.7, -0.95, "forces, one or\ntwo steps late"),
        }, ("plan pid", "pid id", "id robot", "robot sensor", "sensor id"), "robot pid"),
    )  # fmt: skip
    for axes, (title, boxes, links, back) in zip(panels, diagrams, strict=True):
        _flow(axes, boxes, links)
        (x0, _, _), (x1, _, _) = (boxes[name] for name in back.split())
        axes.plot([x0, x0, x1], [0.82, 1.25, 1.25], color="0.3", linewidth=1.2)
        _arrow(axes, (x1, 1.25), (x1, 0.85), "0.3")
        axes.text((x0 + x1) / 2, 1.3, r"$q, \dot q$", ha="center", fontsize=9)
        axes.set_title(title, fontsize=10, loc="left")
    return figure


def _flow(axes, boxes, links):
    """Boxes by name, (x, y, text), and arrows between them, "from to"."""
    for x, y, text in boxes.values():
        axes.add_patch(
            FancyBboxPatch((x - 0.75, y - 0.3), 1.5, 0.6, boxstyle="round,pad=0.08",
                           facecolor="#cfe4f2", edgecolor=BLUE)
        )  # fmt: skip
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5)
    for link in links:
        (x0, y0, _), (x1, y1, _) = (boxes[name] for name in link.split())
        side = 0.85 * np.sign(x1 - x0)
        _arrow(axes, (x0 + side, y0), (x1 - side, y1), "0.3")
    xs, ys = [box[0] for box in boxes.values()], [box[1] for box in boxes.values()]
    axes.set(xlim=(min(xs) - 1, max(xs) + 1), ylim=(min(ys) - 0.6, max(ys) + 0.9))
    axes.axis("off")


DRAWINGS = {
    "soft_norm": soft_norm,
    "contact_points": contact_points,
    "warm_started_points": warm_started_points,
    "gait_plan": gait_plan,
    "controller_diagrams": controller_diagrams,
}
