"""The viewer without a browser: frames, recordings, the loop and what its panel asks for."""

from __future__ import annotations

import re
import threading
import time
import urllib.request

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("viser", reason="sapwood.viewer needs viser")

import sapwood
from sapwood import fem
from sapwood.mujoco import Stepper
from sapwood.viewer import Recording, Viewer, record, view
from sapwood.viewer.dragging import Dragging
from sapwood.viewer.frames import Camera
from sapwood.viewer.pages import quiet_server
from sapwood.viewer.scene import Scene

BALL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body name="ball" pos="0 0 .099"><freejoint/><geom name="ball" size=".1" mass="2"/></body>
  </worldbody>
  <keyframe><key qpos="0 0 .099 1 0 0 0"/></keyframe>
</mujoco>
"""

EVERYTHING = """
<mujoco>
  <asset>
    <texture name="grid" type="2d" builtin="checker" width="16" height="16" rgb2="1 1 1"/>
    <material name="grid" texture="grid" texrepeat="2 2"/>
    <hfield name="hills" nrow="5" ncol="5" size="1 1 .2 .1"/>
    <mesh name="tent" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="0 0 1" material="grid"/>
    <geom type="hfield" hfield="hills" pos="3 0 0"/>
    <body name="a/b" pos="0 0 1">
      <freejoint/>
      <geom type="sphere" size=".1"/>
      <geom type="capsule" size=".05 .1" rgba="1 0 0 .5"/>
      <geom type="cylinder" size=".05 .1" material="grid"/>
      <geom type="ellipsoid" size=".05 .1 .2"/>
      <geom type="box" size=".05 .1 .2" material="grid"/>
      <geom type="mesh" mesh="tent"/>
      <site name="end" pos="0 0 .2"/>
    </body>
    <site name="top" pos="0 0 3"/>
    <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" pos="1 1 1" dim="2"
      mass=".1"/>
  </worldbody>
  <tendon><spatial><site site="top"/><site site="end"/></spatial></tendon>
</mujoco>
"""


def ball():
    model = mujoco.MjModel.from_xml_string(BALL)
    return Stepper(model), mujoco.MjData(model)


def served(**options):
    stepper, data = ball()
    return stepper, data, Viewer(stepper, data, port=0, **options)


# ---- frames --------------------------------------------------------------------------------------


def test_a_frame_is_the_state_after_the_step():
    stepper, data = ball()
    for _ in range(20):
        stepper.step(data)
    before = data.qpos.copy(), data.xpos.copy()
    frame = Camera(stepper.model).take(data, stepper)
    np.testing.assert_array_equal(data.qpos, before[0])
    np.testing.assert_array_equal(data.xpos, before[1])
    assert frame.time == data.time
    np.testing.assert_allclose(frame.positions[1], data.qpos[:3], rtol=1e-6)
    # it rests: one contact that sticks, and its force is the weight
    np.testing.assert_allclose(frame.forces, [[0, 0, 2 * 9.81]], rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(frame.contact_normals, [[0, 0, 1]], atol=1e-6)
    assert frame.regions.tolist() == [sapwood.Region.stiction]
    assert len(frame.patches[0]) == 0


def test_a_frame_has_the_faces_of_patches():
    model = mujoco.MjModel.from_xml_string(BALL)
    field = sapwood.PressureField(modulus=1e5, resolution=0.05)
    stepper, data = Stepper(model, fields={"ball": field}), mujoco.MjData(model)
    stepper.step(data)
    corners, pressures = Camera(model).take(data, stepper).patches
    (patch,) = stepper.patches
    sides = corners[:, 1:] - corners[:, :1]
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2
    assert areas.sum() == pytest.approx(patch.area, rel=1e-4)
    # off the floor, in whose plane the surface is
    assert np.abs(patch.surface.vertices[:, 2]).max() < 1e-12 < corners[:, :, 2].min()
    assert 0 <= pressures.min() <= pressures.max() <= patch.surface.vertex_pressures.max() * 1.001


def test_tendons_and_cloth_move_with_the_model():
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    data = mujoco.MjData(model)
    data.qpos[2] += 0.5
    frame = Camera(model).take(data)
    np.testing.assert_allclose(frame.tendons, [[[0, 0, 3], [0, 0, 1.7]]], atol=1e-6)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(frame.flex_vertices, data.flexvert_xpos, atol=1e-6)


# ---- recordings ----------------------------------------------------------------------------------


def test_a_recording_begins_with_the_start_and_keeps_the_rate():
    stepper, data = ball()
    recording = record(stepper, data, 0.2, rate=50.0)
    times = np.array([frame.time for frame in recording.frames])
    np.testing.assert_allclose(times, np.arange(11) / 50.0, atol=stepper.time_step)
    assert recording.at(0.101).time == pytest.approx(0.1, abs=stepper.time_step)
    assert repr(recording) == "Recording(11 frames, 0 to 0.2 s)"


def test_controls_are_set_before_each_step():
    stepper, data = ball()
    seen = []
    record(stepper, data, 0.02, control=lambda data: seen.append(data.time))
    np.testing.assert_allclose(seen, stepper.time_step * np.arange(len(seen)), atol=1e-12)
    assert len(seen) == round(0.02 / stepper.time_step)


def test_a_page_needs_nothing_from_elsewhere(tmp_path, capfd):
    stepper, data = ball()
    recording = record(stepper, data, 0.1)
    recording.save(tmp_path / "ball.html", title="a <ball>")
    page = (tmp_path / "ball.html").read_text()
    assert "<title>a &lt;ball&gt;</title>" in page
    assert "__VISER_EMBED_DATA__" in page
    assert "contact sticks" in page
    # no script, style sheet or picture from a network
    assert not re.search(r'<(script|link|img)[^>]*(src|href)="?https?:', page)
    assert "iframe" in recording._repr_html_()
    assert capfd.readouterr() == ("", "")


def test_an_empty_recording_has_no_page():
    recording = Recording(ball()[0].model)
    assert "no frames" in repr(recording) + recording._repr_html_()
    for ask in (recording.to_html, lambda: recording.at(0.0)):
        with pytest.raises(ValueError, match="no frames"):
            ask()


def test_all_that_models_are_made_of_is_drawn():
    model = mujoco.MjModel.from_xml_string(EVERYTHING)
    data = mujoco.MjData(model)
    with quiet_server() as server:
        scene = Scene(server, model)
        scene.draw(Camera(model).take(data))
        nodes = server.scene.get_handle_by_name
        for geom in range(model.ngeom):
            body = model.geom_bodyid[geom]
            assert nodes(f"/model/{body} {('world', 'a b')[body]}/geom {geom}"), geom
        cloth = nodes("/model/flex 0")
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(cloth.vertices, data.flexvert_xpos, atol=1e-6)
        assert nodes("/model/tendons").visible
        # the ball is opaque, the capsule half so, the ground no body that moves
        ball, capsule, ground = (
            nodes("/model/1 a b/geom 2"),
            nodes("/model/1 a b/geom 3"),
            nodes("/model/0 world/geom 1"),
        )
        scene.set_transparent(True)
        assert 0.0 < capsule.opacity < ball.opacity < 1.0
        scene.set_transparent(False)
        assert (ball.opacity, capsule.opacity, ground.opacity) == (None, 0.5, None)


# ---- the loop ------------------------------------------------------------------------------------


def test_the_page_is_served_until_the_viewer_is_closed():
    _, _, viewer = served()
    with viewer:
        assert viewer.is_running()
        assert b"<html" in urllib.request.urlopen(viewer.url, timeout=20).read()
        assert viewer.url in viewer._repr_html_()
    assert not viewer.is_running()
    assert "closed" in repr(viewer)
    with pytest.raises(OSError, match=r"refused|reset|closed"):
        urllib.request.urlopen(viewer.url, timeout=20)


def test_time_on_the_page_is_time_on_the_clock():
    stepper, data, viewer = served()
    with viewer:
        viewer._keep_pace()
        start = time.perf_counter()
        while data.time < 0.2:
            stepper.step(data)
            viewer.sync()
        # late by as much as the machine is busy, but never early
        assert time.perf_counter() - start >= 0.2 - 2 * stepper.time_step
        assert viewer.recording.frames[0].time == 0.0
        assert 2 <= len(viewer.recording) <= 20


def test_a_pause_lets_single_steps_through():
    stepper, data, viewer = served(paused=True)
    with viewer:
        panel = viewer._panel

        def loop():
            while viewer.is_running():
                stepper.step(data)
                viewer.sync()

        thread = threading.Thread(target=loop)
        thread.start()
        for steps in (1, 2, 3):
            wait_for(lambda steps=steps: stepper.steps == steps)
            panel._one_step()
        wait_for(lambda: stepper.steps == 4)
        time.sleep(0.3)
        assert stepper.steps == 4
        panel._set_paused(False)
        wait_for(lambda: stepper.steps > 10)
    thread.join(10)
    assert not thread.is_alive()


def wait_for(condition):
    end = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def with_soft_cube(surface=None):
    """A soft cube above a floor; a surface is what the cube shows of itself."""
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='1 1 .1'/></worldbody>"
        "</mujoco>"
    )
    pose = np.eye(4)
    pose[2, 3] = 0.051
    foam = fem.Material(young=1e5, poisson=0.3, density=1000.0, stiffness_damping=0.01)
    mesh = fem.box([0.1] * 3, 2)
    render_mesh = None if surface is None else fem.RenderMesh(mesh, *surface)
    body = fem.SoftBody(mesh, foam, pose=pose, render_mesh=render_mesh)
    return Stepper(model, soft=[body]), mujoco.MjData(model)


def test_soft_bodies_are_coloured_by_their_stress():
    stepper, data = with_soft_cube()
    recording = record(stepper, data, 0.2)
    (body,) = stepper.soft
    for frame in (recording.frames[0], recording.frames[-1]):
        corners, stresses = frame.soft_faces
        assert corners.shape == (len(body.mesh.faces), 3, 3)
        assert stresses.shape == (len(body.mesh.faces),)
    np.testing.assert_allclose(recording.frames[0].soft_faces[1], 0, atol=1e-3)
    np.testing.assert_allclose(corners, body.positions[body.mesh.faces], rtol=0, atol=1e-7)
    behind = body.evaluate().von_mises[body.mesh.face_tetrahedra]
    np.testing.assert_allclose(stresses, behind, rtol=1e-6)
    assert stresses.max() > 100.0
    drawn = []
    with quiet_server() as server:
        scene = Scene(server, stepper.model)
        for frame in (recording.frames[0], recording.frames[-1]):
            scene.draw(frame)
            drawn.append(scene.stresses._triangles._node.batched_positions.copy())
    # each face is drawn as two right triangles, whose right angles lie on it
    used = 2 * len(body.mesh.faces)
    assert len(drawn[1]) >= used
    low, high = body.positions.min(axis=0), body.positions.max(axis=0)
    assert np.all(drawn[1][:used] > low - 1e-6)
    assert np.all(drawn[1][:used] < high + 1e-6)
    assert np.abs(drawn[1] - drawn[0]).max() > 1e-3


def test_a_render_mesh_is_seen_in_place_of_the_boundary():
    inner = 0.01 * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    stepper, data = with_soft_cube((inner, [[0, 1, 2], [0, 1, 3]]))
    (body,) = stepper.soft
    corners, stresses = record(stepper, data, 0.1).frames[-1].soft_faces
    moved = body.render_mesh.interpolate(body.positions)
    np.testing.assert_allclose(corners, moved[[[0, 1, 2], [0, 1, 3]]], rtol=0, atol=1e-7)
    found = body.render_mesh.average(body.evaluate().von_mises)
    np.testing.assert_allclose(stresses, found, rtol=1e-6)


def test_reset_takes_soft_bodies_back_too():
    stepper, data = with_soft_cube()
    (body,) = stepper.soft
    start = body.positions.copy()
    with Viewer(stepper, data, port=0) as viewer:
        viewer._panel._set_speed("as fast as it goes")
        for _ in range(5):
            stepper.step(data)
            viewer.sync()
        viewer._panel._ask_reset()
        viewer.sync()
        np.testing.assert_array_equal(body.positions, start)
        stepper.step(data)
    assert data.time == pytest.approx(0.01)


def test_reset_goes_back_to_the_state_of_the_start():
    stepper, data, viewer = served()
    with viewer:
        viewer._panel._set_speed("as fast as it goes")
        for _ in range(50):
            stepper.step(data)
            viewer.sync()
        viewer._panel._ask_reset()
        stepper.step(data)
        viewer.sync()
        assert data.time == 0.0
        np.testing.assert_array_equal(data.qpos, stepper.model.key_qpos[0])
        assert [frame.time for frame in viewer.recording.frames] == [0.0]


def test_looking_back_waits_and_shows_what_was():
    stepper, data, viewer = served()
    with viewer:
        panel = viewer._panel
        panel._set_speed("as fast as it goes")
        viewer._interval = 0.0
        for _ in range(30):
            stepper.step(data)
            viewer.sync()
        assert not panel.paused
        panel._time.value = 0.0
        panel._go_to_time()
        assert panel.paused
        first = viewer.recording.frames[0]
        assert viewer._scene._shown is first
        # a frame of the loop that comes late does not take the view away; a step does
        viewer._draw()
        assert viewer._scene._shown is first
        assert "recorded" in panel._status.content
        panel._one_step()
        viewer._draw()
        assert viewer._scene._shown is viewer.recording.frames[-1]
        assert "paused" in panel._status.content


def test_rates_are_checked():
    stepper, data = ball()
    with pytest.raises(ValueError, match="rate"):
        Viewer(stepper, data, rate=0.0)


def test_ctrl_c_ends_a_view_and_leaves_its_recording():
    stepper, data = ball()

    def control(data):
        if data.time > 0.05:
            raise KeyboardInterrupt

    pages = []
    recording = view(stepper, data, control=control, port=0, opened=pages.append)
    assert len(recording) >= 1
    assert not pages[0].is_running()


# ---- the mouse -----------------------------------------------------------------------------------


def test_a_pulled_body_goes_to_the_pointer():
    stepper, data = ball()
    data.xfrc_applied[1, 0] = 0.125
    dragging = Dragging(stepper.model)
    mujoco.mj_forward(stepper.model, data)
    top, target = np.array([0.0, 0.0, 0.2]), np.array([0.3, 0.2, 0.8])
    dragging.pull(1, top, target)
    for _ in range(round(2.0 / stepper.time_step)):
        dragging.apply(data)
        stepper.step(data)
    point = data.xpos[1] + data.xmat[1].reshape(3, 3) @ [0.0, 0.0, 0.1]
    # the weight stretches the spring by g/omega^2
    np.testing.assert_allclose(point, target - [0, 0, 9.81 / 64], atol=0.05)
    dragging.pull(-1, top, target)
    dragging.apply(data)
    # settings of others are left as they were
    np.testing.assert_allclose(data.xfrc_applied[1], [0.125, 0, 0, 0, 0, 0], atol=1e-9)
