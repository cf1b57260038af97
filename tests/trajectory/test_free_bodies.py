"""Free bodies: their motion, and its derivatives against differences of whole runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import sapwood
from derivatives import quotient
from sapwood import trajectory
from sapwood.trajectory import Box, Capsule, FreeBodies, Points, Sphere

NUMBERS = ("mass", "inertia", "k", "tau_d", "mu", "height", "gravity")
CUBE = Box((0.05, 0.04, 0.06), 0.002)
TABLE = Points([[0.1, 0.1, -0.05], [0.1, -0.1, -0.05], [-0.1, 0.1, -0.05], [-0.1, -0.1, -0.05]])
SHAPES = {
    "cube": [CUBE],
    "capsule": [Capsule(0.08, 0.03)],
    "table": [TABLE],
    "spheres": [Sphere(0.05), Sphere(0.04)],
    "capsules": [Capsule(0.08, 0.03), Capsule(0.05, 0.04)],
    "sphere and capsule": [Sphere(0.05), Capsule(0.05, 0.04)],
    "sphere and table": [Sphere(0.05), TABLE],
    "sphere and box": [Sphere(0.05), CUBE],
    "boxes": [CUBE, Box((0.05, 0.05, 0.05))],
    "box and capsule": [CUBE, Capsule(0.05, 0.03)],
}


@dataclasses.dataclass
class Case:
    """A scene, a state and inputs."""

    scene: FreeBodies
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray

    def run(self, change=None, h=0.0, **options):
        """The run, where h times a change is added to all that it follows from."""
        if change is None:
            return trajectory.simulate(self.scene, self.q, self.v, self.inputs, **options)
        values = {
            name: x + h * change[name]
            for name, x in self.scene.parameters.items()
            if name in change
        }
        state = (getattr(self, name) + h * change.get(name, 0.0) for name in ("q", "v", "inputs"))
        return trajectory.simulate(self.scene.replace(**values), *state, **options)


def random_case(rng, shapes, n_steps, friction="convex"):
    """Bodies thrown at the ground, and at each other where there are two."""
    n = len(shapes)
    settings = sapwood.SapSettings(relative_tolerance=1e-13, friction=friction, max_iterations=200)
    n_pairs = len(trajectory.pairing.pairs_of(n, 1, True))
    scene = FreeBodies(
        shapes,
        mass=rng.uniform(0.2, 0.6, n),
        inertia=rng.uniform(6e-4, 9e-4, (n, 3)),
        dt=0.01,
        k=rng.uniform(1e3, 1e4, n_pairs),
        tau_d=rng.uniform(0.01, 0.03, n_pairs),
        mu=rng.uniform(0.2, 0.6, n_pairs),
        height=rng.uniform(-0.01, 0.01),
        settings=settings,
    )
    q = np.concatenate([rng.uniform(-0.02, 0.02, (n, 3)), rng.standard_normal((n, 4))], axis=1)
    q[:, 0] += 0.25 * np.arange(n)
    q[:, 2] += 0.15
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    v = np.concatenate([rng.uniform(-0.2, 0.2, (n, 3)), rng.uniform(-4, 4, (n, 3))], axis=1)
    v[:, 0] += 1.5 - 3.0 * np.arange(n)
    v[:, 2] -= 0.5
    inputs = rng.uniform(-1, 1, (n_steps, n, 6)) * [0.2, 0.2, 0.2, 0.005, 0.005, 0.005]
    return Case(scene, q, v, inputs)


def test_rows_of_pairs_are_of_their_shapes():
    """Radii, points, segments and boxes of every row are those of its bodies."""
    shapes = [Sphere(0.05), CUBE, Box((0.1, 0.2, 0.3), 0.01), Capsule(0.08, 0.03), TABLE]
    pairs = trajectory.pairing.pairs_of(len(shapes), 0, True)
    segments, boxes = trajectory.pairing.body_tables(shapes, pairs)
    for table in (segments, boxes):
        sides = np.stack([table.a, table.b], axis=1)
        np.testing.assert_array_equal(np.sort(sides), pairs[table.pair])
        for radii, bodies in ((table.r_a, table.a), (table.r_b, table.b)):
            np.testing.assert_array_equal(radii, [shapes[body].radius for body in bodies])
    np.testing.assert_array_equal(boxes.half_sizes, [shapes[b].half_sizes for b in boxes.b])
    for a, b in {*zip(boxes.a.tolist(), boxes.b.tolist(), strict=True)}:
        mine = (boxes.a == a) & (boxes.b == b)
        np.testing.assert_array_equal(boxes.points[mine], trajectory.shapes.balls_of(shapes[a]))
    for side, bodies in enumerate((segments.a, segments.b)):
        for body, centre, half in zip(
            bodies, segments.centres[side], segments.halves[side], strict=True
        ):
            known = np.hstack(trajectory.shapes.segments_of(shapes[body]))
            assert np.any(np.all(known == [*centre, *half], axis=1))


def random_change(rng, case, names):
    """Changes of the named parameters; numbers with a sign keep it."""
    change = {}
    for name in names:
        x = getattr(case, name, None)
        x = case.scene.parameters[name] if x is None else x
        change[name] = rng.uniform(-1, 1, x.shape) * (1.0 if name in "qv" else np.abs(x))
    return change


def random_loss(rng, run):
    """DL/d of all states."""
    return rng.standard_normal(run.q.shape), 0.1 * rng.standard_normal(run.v.shape)


def slope_of(gradient, change):
    """The change of the loss by a gradient."""
    of = {"q": gradient.q0, "v": gradient.v0, "inputs": gradient.inputs, **gradient.parameters}
    terms = [np.sum(of[name] * dot) for name, dot in change.items()]
    return sum(terms), sum(map(abs, terms))


def check_gradient(rng, make, names):
    """A gradient of a run agrees with differences of it, for some case where these converge."""
    for _ in range(20):
        case = make()
        try:
            run = case.run()
            bars = random_loss(rng, run)
            change = random_change(rng, case, names)
            expected = quotient(case, change, bars)
        except trajectory.TrajectoryError:
            continue  # Coulomb's law is not solved everywhere
        if expected is None:
            continue
        found, size = slope_of(run.vjp(*bars), change)
        assert run.in_contact.any()
        assert abs(found - expected) <= 1e-6 * max(size, abs(expected))
        return
    pytest.fail("differences converge in no case")


@pytest.mark.parametrize("number", ["q", "v", "inputs", *NUMBERS])
def test_each_number_of_a_tossed_cube(number, rng):
    check_gradient(rng, lambda: random_case(rng, [CUBE], 100), [number])


@pytest.mark.parametrize("friction", ["convex", "coulomb"])
@pytest.mark.parametrize("name", SHAPES)
def test_all_numbers_of_bodies_that_meet(name, friction, rng):
    def make():
        return random_case(rng, SHAPES[name], 30, friction)

    check_gradient(rng, make, ["q", "v", "inputs", *NUMBERS])


def test_checkpoints_change_no_bit(rng):
    case = random_case(rng, SHAPES["spheres"], 37)
    kept, light = case.run(), case.run(checkpoints=True)
    bars = random_loss(rng, kept)
    one, other = kept.vjp(*bars), light.vjp(*bars)
    assert kept._tapes
    assert not light._tapes
    np.testing.assert_array_equal(kept.q, light.q)
    for name in ("q0", "v0", "inputs", "distance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in NUMBERS:
        np.testing.assert_array_equal(one.parameters[name], other.parameters[name])


def test_many_runs_at_once(rng):
    """Bodies that do not meet each other move as they do alone, and gradients add up."""
    cases = [random_case(rng, [CUBE], 25) for _ in range(5)]
    given = {**cases[0].scene.parameters, "mass": 0.4, "inertia": [7e-4, 8e-4, 9e-4]}
    given |= {name: float(given[name][0]) for name in ("k", "tau_d", "mu")}
    options = {"dt": 0.01, "settings": cases[0].scene.settings}
    alone = FreeBodies([CUBE], **given, **options)
    together = FreeBodies([CUBE] * 5, **given, **options, body_contacts=False)
    case = Case(
        together,
        *(np.concatenate([getattr(c, name) for c in cases]) for name in ("q", "v")),
        np.concatenate([c.inputs for c in cases], axis=1),
    )
    run = case.run()
    bars = random_loss(rng, run)
    whole = run.vjp(*bars)
    sums = dict.fromkeys(NUMBERS, 0.0)
    for i, one in enumerate(cases):
        part = dataclasses.replace(one, scene=alone).run()
        np.testing.assert_allclose(part.q[:, 0], run.q[:, i], atol=1e-9)
        gradient = part.vjp(*(bar[:, i : i + 1] for bar in bars))
        scale = np.abs(whole.v0).max()
        np.testing.assert_allclose(gradient.v0[0], whole.v0[i], atol=1e-6 * scale)
        for name in NUMBERS:
            sums[name] = sums[name] + gradient.parameters[name]
    for name in NUMBERS:
        assert np.shape(whole.parameters[name]) == np.shape(given[name])
        scale = np.abs(sums[name]).max()
        np.testing.assert_allclose(whole.parameters[name], sums[name], atol=1e-6 * scale)


# ---- motion -------------------------------------------------------------------------------------


def test_a_free_flight_is_a_parabola(rng):
    scene = FreeBodies([Sphere(0.1)], 1.0, [1e-2] * 3, dt=0.01, k=1e4, tau_d=0.0, mu=0.5)
    v = [1.0, 2.0, 3.0, *rng.uniform(-1, 1, 3)]
    run = trajectory.simulate(scene, [0, 0, 5, 1, 0, 0, 0], v, n_steps=50)
    steps = np.arange(51)
    fall = 9.81 * 0.01**2 * steps * (steps + 1) / 2
    np.testing.assert_allclose(run.q[:, 0, 2], 5 + 0.03 * steps - fall, rtol=1e-12)
    assert not run.in_contact.any()
    np.testing.assert_array_equal(run.vjp(v_bar=np.ones_like(run.v)).distance, np.inf)


def test_a_body_turns_about_a_principal_axis_at_constant_speed():
    scene = FreeBodies(
        [Sphere(0.1)], 1.0, [1e-2, 2e-2, 3e-2], dt=0.01, k=1e4, tau_d=0.0, mu=0.5, normals=[]
    )
    q = [0, 0, 0, 1, 0, 0, 0]
    run = trajectory.simulate(scene, q, [0, 0, 0, 0, 2, 0], n_steps=50)
    np.testing.assert_allclose(run.q[-1, 0, 3:], [np.cos(0.5), 0, np.sin(0.5), 0], atol=1e-13)


@pytest.mark.parametrize("name", [name for name in SHAPES if len(SHAPES[name]) == 2])
def test_two_bodies_that_meet_keep_momentum(name, rng):
    """Linear and, about the origin, angular momentum, with nothing else around."""
    meetings = 0
    for _ in range(40):
        case = random_case(rng, SHAPES[name], 1)
        given = {x: case.scene.parameters[x] for x in ("mass", "inertia")}
        scene = FreeBodies(
            SHAPES[name], **given, dt=0.01, k=1e4, tau_d=0.01, mu=0.5, normals=[], gravity=[0] * 3
        )
        case.v[:, 3:] = 0.0
        case.q[1, 0] -= 0.13
        run = trajectory.simulate(scene, case.q, case.v, n_steps=1)
        meetings += bool(run.in_contact[0])
        R = trajectory.rotations.matrices(run.q[0][:, 3:])

        def momenta(v, R=R, scene=scene, q=run.q[0]):
            p = scene.parameters["mass"][:, None] * v[:, :3]
            spin = np.einsum("nij,nj->ni", R, scene.parameters["inertia"] * v[:, 3:])
            return np.array([p.sum(axis=0), (np.cross(q[:, :3], p) + spin).sum(axis=0)])

        np.testing.assert_allclose(momenta(run.v[1]), momenta(run.v[0]), atol=1e-12)
    assert meetings > 0


def test_a_push_is_passed_on_within_a_step():
    """Three balls in a row: only the first two meet at the free motion."""
    scene = FreeBodies(
        [Sphere(0.1)] * 3, 1.0, [4e-3] * 3, dt=0.01, k=1e5, tau_d=0.0, mu=0.0, normals=[],
        gravity=[0] * 3,
    )  # fmt: skip
    q = [[0.2 * i, 0, 0, 1, 0, 0, 0] for i in range(3)]
    v = [[1, 0, 0, 0, 0, 0], [0] * 6, [0] * 6]
    run = trajectory.simulate(scene, q, v, n_steps=1)
    # the impulses of two springs k dt^2 between masses of 1 kg
    first, second = np.linalg.solve([[2.1, -1.0], [-1.0, 2.1]], [1.0, 0.0])
    wanted = [1.0 - first, first - second, second]
    np.testing.assert_allclose(run.v[1, :, 0], wanted, rtol=1e-9)


def test_a_box_slides_to_rest():
    """By mu g, until it stands."""
    scene = FreeBodies(
        [Box((0.1, 0.1, 0.02))], 1.0, [4e-3, 4e-3, 7e-3], dt=0.005, k=1e5, tau_d=0.005, mu=0.3,
        height=0.5,
    )  # fmt: skip
    start = 0.52 - 9.81 / (4 * 1e5)
    q, v = [0, 0, start, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]
    run = trajectory.simulate(scene, q, v, n_steps=100)
    np.testing.assert_allclose(run.v[40, 0, 0], 1 - 0.3 * 9.81 * 0.2, rtol=0.02)
    assert abs(run.v[-1, 0, 0]) < 1e-3
    np.testing.assert_allclose(run.q[-1, 0, 2], start, atol=1e-6)


# ---- shapes that meet ---------------------------------------------------------------------------


def distance_to(shape, points):
    """Distance of points (n, 3) in the frame of a shape from it, m; not inside of it."""
    if isinstance(shape, Box):
        nearest = np.clip(points, -np.array(shape.half_sizes), shape.half_sizes)
    elif isinstance(shape, Capsule):
        along = np.clip(points[:, 2], -shape.half_length, shape.half_length)
        nearest = along[:, None] * np.array([0.0, 0.0, 1.0])
    else:
        nearest = np.zeros_like(points)
    return np.linalg.norm(points - nearest, axis=1) - shape.radius


@pytest.mark.parametrize("name", ["spheres", "capsules", "sphere and capsule", "sphere and box"])
def test_distances_are_those_of_the_nearest_points(name, rng):
    shapes = SHAPES[name]
    pairs = trajectory.pairing.pairs_of(2, 0, True)
    (table,) = trajectory.pairing.body_tables(shapes, pairs)
    for _ in range(20):
        quaternions = rng.standard_normal((2, 4))
        quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
        x = rng.uniform(-1, 1, (2, 3))
        poses = trajectory.meetings.Poses(x, trajectory.rotations.matrices(quaternions))
        rows = trajectory.contact_rows.find_rows(table, poses)
        # many points of the core of the first against the second
        length = getattr(shapes[0], "half_length", 0.0)
        along = np.linspace(-length, length, 20001)[:, None] * poses.R[0][:, 2]
        points = (x[0] + along - x[1]) @ poses.R[1]
        wanted = distance_to(shapes[1], points).min() - shapes[0].radius
        np.testing.assert_allclose(rows.phi, wanted, atol=1e-8)


# ---- errors -------------------------------------------------------------------------------------

FINE = {"shapes": [CUBE], "mass": 1.0, "inertia": [1e-3] * 3}
FINE |= {"dt": 0.01, "k": 1e4, "tau_d": 0.01, "mu": 0.3}


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"shapes": [3]}, TypeError, r"shapes\[0\] must be one of Sphere, .*, not int"),
        ({"shapes": []}, ValueError, "shapes has length 0"),
        ({"mass": -1.0}, ValueError, "mass"),
        ({"mass": [1.0, 2.0]}, ValueError, "mass"),
        ({"inertia": 1e-3}, ValueError, "inertia"),
        ({"k": 0.0}, ValueError, "k"),
        ({"tau_d": np.nan}, ValueError, "tau_d"),
        ({"mu": [0.1, 0.2]}, ValueError, "mu"),
        ({"dt": 0.0}, ValueError, "dt"),
        ({"normals": [[0.0, 0.0, 2.0]]}, ValueError, r"normals\[0\] has length 2: must be 1"),
        ({"gravity": [0.0, 0.0]}, ValueError, "gravity"),
        ({"settings": sapwood.SapSettings(friction="lagged")}, ValueError, "settings.friction"),
    ],
)
def test_a_wrong_scene_is_named(change, error, text):
    with pytest.raises(error, match=text):
        FreeBodies(**{**FINE, **change})


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Sphere(0.0), "radius"),
        (lambda: Capsule(-1.0, 0.1), "half_length"),
        (lambda: Box((0.1, 0.1, np.inf)), r"half_sizes\[2\]"),
        (lambda: Box((0.1, 0.1, 0.1), -0.1), "radius"),
        (lambda: Points(np.zeros((0, 3))), "points has length 0"),
    ],
)
def test_a_wrong_shape_is_named(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_wrong_runs_are_named():
    scene, q = FreeBodies(**FINE), [0, 0, 1, 1, 0, 0, 0]
    simulate = trajectory.simulate
    with pytest.raises(ValueError, match=r"q0\[0\] has a quaternion of length 0"):
        simulate(scene, np.zeros(7), np.zeros(6), n_steps=1)
    with pytest.raises(ValueError, match="v0"):
        simulate(scene, q, np.zeros(7), n_steps=1)
    with pytest.raises(TypeError, match="inputs or n_steps"):
        simulate(scene, q, np.zeros(6))
    with pytest.raises(ValueError, match="inputs"):
        simulate(scene, q, np.zeros(6), np.zeros((3, 1, 6)), n_steps=4)
    with pytest.raises(TypeError, match="half is none of mass, inertia"):
        scene.replace(half=1.0)
    run = simulate(scene, q, np.zeros(6), n_steps=3)
    with pytest.raises(ValueError, match="v_bar"):
        run.vjp(v_bar=np.zeros((3, 1, 6)))


def test_a_step_that_cannot_be_taken_is_named():
    """Two balls with one centre have no normal."""
    scene = FreeBodies(
        [Sphere(0.1)] * 2, 1.0, [1e-2] * 3, dt=0.01, k=1e4, tau_d=0.0, mu=0.5, gravity=[0] * 3
    )
    q = [[0, 0, 1, 1, 0, 0, 0]] * 2
    with pytest.raises(trajectory.TrajectoryError, match=r"step 0: bodies 0 and 1: .* no normal"):
        trajectory.simulate(scene, q, np.zeros((2, 6)), n_steps=2)
