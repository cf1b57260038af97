"""`sapwood check`: all that stands between a model and its simulation, from a file."""

from __future__ import annotations

import lzma
import tracemalloc
import zlib

import pytest

mujoco = pytest.importorskip("mujoco")

import sapwood.mujoco.reading.fields
from mujoco_models import needs_surface_velocity
from sapwood.cli import main
from sapwood.mujoco.report import load_model

FINE = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="l"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
REFUSED = """<mujoco><option integrator="RK4"/><worldbody>
  <geom type="plane" size="1 1 1" condim="4" surfacevel="0 0 0 0 0 1"/>
  <body pos="0 0 1"><freejoint/><geom size=".1"/></body><body name="cloth" pos="0 0 2">
  <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2">
  <edge equality="true"/></flexcomp></body></worldbody></mujoco>"""


def test_every_kind_of_file_is_read(tmp_path, capsys):
    names = ["fine.xml", "robot.urdf", "fine.mjb", "fine.mjb.xz"]
    paths = [tmp_path / name for name in names]
    paths[0].write_text(FINE)
    paths[1].write_text(URDF)
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(FINE), str(paths[2]))
    paths[3].write_bytes(lzma.compress(paths[2].read_bytes()))
    assert main(["check", *map(str, paths)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{path}: runs" for path in paths]


@needs_surface_velocity
def test_all_reasons_and_warnings_are_printed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo leaves a log file
    path = tmp_path / "cloth.xml"
    path.write_text(REFUSED)
    assert main(["check", str(path)]) == 1
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == f"{path}: refused"
    assert [line.split(":")[0] for line in lines] == ["  refused", "  warning"]
    for line, switch in zip(lines, ("condim", "mjINT_EULER"), strict=True):
        assert switch in line


@needs_surface_velocity
def test_malformed_numbers_are_told_with_all_other_reasons(tmp_path, capsys):
    numbers = {
        "sapwood/geom/foot": "1e5",
        "sapwood/default": "1e7 -2",
        "sapwood/group/0": "1e6 0.01",
        "sapwood/joint/knee": "1e4",
        "sapwood/constraint": "1 2 3 4",
        "sapwood/field/group/7": "1e6 0.01",
    }
    custom = "".join(f"<numeric name='{name}' data='{x}'/>" for name, x in numbers.items())
    turning = FINE.replace("/>", " condim='4' surfacevel='0 0 0 0 0 1'/>", 1)
    path = tmp_path / "arm.xml"
    path.write_text(turning.replace("<mujoco>", f"<mujoco><custom>{custom}</custom>"))
    assert main(["check", str(path)]) == 1
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == f"{path}: refused"
    starts = [f"  refused: numeric '{name}'" for name in numbers if not name.endswith("/0")]
    for line, start in zip(lines, [*starts, "  refused: geom 0 (unnamed): condim 4"], strict=True):
        assert line.startswith(start)


def test_files_that_are_no_models_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fine, *wrong = (tmp_path / name for name in ("fine.xml", "a.xml", "b.mjb", "c.mjb.xz", "d.xml"))
    fine.write_text(FINE)
    for path in wrong[:-1]:
        path.write_bytes(b"garbage")
    assert main(["check", *map(str, wrong), str(fine)]) == 1
    output = capsys.readouterr()
    assert output.out == f"{fine}: runs\n"
    errors = [line for line in output.err.splitlines() if line.startswith("sapwood: error: ")]
    assert [line.split(": ")[2] for line in errors] == [str(path) for path in wrong]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (lzma.compress(bytes(1 << 26)), "more than 1000 times the bytes of the file"),
        (lzma.compress(b"x" * 1000)[:-20], "it ends early"),
        (lzma.compress(b"x") + b"more", "in one stream"),
        (lzma.compress(b"x") * 2, "in one stream"),
    ],
    ids=["bomb", "cut", "longer", "twice"],
)
def test_compressed_models_take_no_more_memory_than_models_do(content, text, tmp_path):
    path = tmp_path / "model.mjb.xz"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=text):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_decompressor_that_asks_for_memory_is_refused(tmp_path):
    """A dictionary of 1 GiB, for a model of one byte."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    content = bytearray(lzma.compress(b"x", filters=filters))
    at = content.index(b"\x21\x01") + 2  # size of the dictionary, in the header of the block
    content[at] = 36
    content[20:24] = zlib.crc32(content[12:20]).to_bytes(4, "little")
    path = tmp_path / "model.mjb.xz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="Memory usage limit"):
        load_model(path)


def test_fields_of_all_geoms_together_have_a_limit(tmp_path, capsys, monkeypatch):
    """Each for itself is coarse enough."""
    monkeypatch.setattr(sapwood.mujoco.reading.fields, "_MOST_CELLS", 300)
    balls = "".join(
        f'<body pos="0 0 {i}"><freejoint/><geom group="3" size="{0.1 + 0.001 * i}"/></body>'
        for i in range(4)
    )
    path = tmp_path / "balls.xml"
    path.write_text(
        '<mujoco><custom><numeric name="sapwood/field/group/3" data="1e5 0.04"/></custom>'
        f'<worldbody><geom type="plane" size="1 1 1"/>{balls}</worldbody></mujoco>'
    )
    assert main(["check", str(path)]) == 1
    text = "geom 3 (unnamed): its shape makes 384 cells with those of other geoms, more than 300"
    assert text in capsys.readouterr().out
