"""Thrown bodies with pressure fields never gain energy, whatever the pose, modulus and step."""

import math

import pytest

from sapwood.studies.conservation import (
    MODULI,
    SPEEDS,
    TIME_STEPS,
    cube_poses,
    cube_throw,
    random_throw,
)

# energy may grow by this in a run: the free rotation of bodies between contacts
BOUND = 1.0005


def cube_gain(*arguments, **options):
    """The gain of a throw in which the cubes meet."""
    thrown = cube_throw(*arguments, **options)
    assert thrown.met
    return thrown.gain


@pytest.mark.parametrize(("dt", "modulus"), [(0.005, 1e8), (0.002, 1e8), (0.005, 1e7)])
def test_a_rigid_cube_thrown_on_a_soft_one_gains_nothing(dt, modulus):
    """Face to face, where side strips would push with their whole load as the bodies part."""
    assert cube_gain(dt, modulus, 3.0, cube_poses()[0]) <= BOUND


def test_without_the_release_speed_it_gains():
    """So the rule is the cause: faces keep the depth -p0/g that they promise."""
    face_to_face = cube_poses()[0]
    gains = [cube_gain(dt, 1e8, 3.0, face_to_face, release_speed=math.inf) for dt in TIME_STEPS]
    assert max(gains) > 10


@pytest.mark.slow
@pytest.mark.parametrize("dt", TIME_STEPS)
def test_no_pose_modulus_or_speed_gains(dt):
    """48 throws of each step."""
    for modulus in MODULI:
        for speed in SPEEDS:
            for i, pose in enumerate(cube_poses()):
                gain = cube_gain(dt, modulus, speed, pose)
                assert gain <= BOUND, (modulus, speed, i)


def check_random_throws(rng, n):
    met = 0
    for i in range(n):
        thrown, case = random_throw(rng)
        assert thrown.gain <= 1.001, (i, *case)
        met += thrown.met > 0
    assert met > n / 2


def test_random_throws_gain_nothing(rng):
    check_random_throws(rng, 12)


@pytest.mark.slow
def test_many_random_throws_gain_nothing(rng):
    check_random_throws(rng, 2400)
