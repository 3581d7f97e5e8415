"""Files, pictures and plots of a simulation."""

import struct

import numpy as np
import pytest
from conftest import cloth, hanging

import supple


def read_pc2(path):
    """Samples of a point cache, by its published layout."""
    data = path.read_bytes()
    magic, version, points, start, rate, samples = struct.unpack("<12siiffi", data[:32])
    assert magic == b"POINTCACHE2\0" and version == 1 and (start, rate) == (0.0, 1.0)
    return np.frombuffer(data[32:], dtype="<f4").reshape(samples, points, 3)


def test_a_point_cache_holds_the_start_and_every_step(tmp_path):
    sim = hanging().finalize()
    seen = [sim.positions]
    for _ in range(4):
        sim.step(0.02)
        seen.append(sim.positions)
    assert sim.recorded == 5
    assert sim.save(tmp_path / "cloth.pc2") == [tmp_path / "cloth.pc2"]
    np.testing.assert_array_equal(read_pc2(tmp_path / "cloth.pc2"), np.array(seen, dtype=np.float32))


def test_several_bodies_have_a_point_cache_each(tmp_path):
    b = cloth(3)
    b.add_cloth(shape={"grid": {"size": [1, 1], "vertices": [4, 4]}}, name="other", translate=[0, 1, 0])
    sim = b.finalize()
    sim.step()
    files = sim.save(tmp_path / "x.pc2")
    assert [file.name for file in files] == ["x-cloth.pc2", "x-other.pc2"]
    assert [read_pc2(file).shape for file in files] == [(2, 9, 3), (2, 16, 3)]


def test_meshes_hold_what_is_seen_now(tmp_path):
    meshio = pytest.importorskip("meshio")
    sim = hanging(5).finalize()
    sim.step(0.1)
    for ending in ("obj", "ply", "vtu"):
        (file,) = sim.save(tmp_path / f"now.{ending}")
        read = meshio.read(file)
        np.testing.assert_allclose(read.points, sim.positions, rtol=1e-6, atol=1e-7)


def test_animations_of_other_formats_are_written(tmp_path):
    sim = hanging(5).finalize()
    sim.step()
    for ending, start in (("glb", b"glTF"), ("usdc", b"PXR-USDC"), ("mdd", struct.pack(">ii", 2, 25))):
        (file,) = sim.save(tmp_path / f"x.{ending}")
        assert file.read_bytes().startswith(start)
    files = sim.export(tmp_path / "all", ["obj", "pc2"])
    assert sorted(file.suffix for file in files) == [".obj", ".obj", ".pc2"]


def test_a_recording_ends_at_its_limit_and_says_so(tmp_path):
    sim = hanging(5).finalize(record=12 * 25 * 2)
    sim.step()
    with pytest.warns(RuntimeWarning, match="limit"):
        sim.step()
    sim.step()
    assert sim.recorded == 2
    with pytest.raises(supple.InvalidInput, match="recording ended after 2 frames"):
        sim.save(tmp_path / "x.pc2")
    sim.clear_recording()
    sim.step()
    sim.save(tmp_path / "x.pc2")
    assert len(read_pc2(tmp_path / "x.pc2")) == 2
    with pytest.raises(supple.InvalidInput, match="record=True"):
        hanging(5).finalize(record=False).save(tmp_path / "y.pc2")


def test_files_that_cannot_be_written_are_reported(tmp_path):
    sim = hanging(5).finalize()
    with pytest.raises(supple.InvalidInput, match=".pc2"):
        sim.save(tmp_path / "x.abc")
    with pytest.raises(OSError, match="nowhere"):
        sim.save(tmp_path / "nowhere" / "x.obj")
    with pytest.raises(supple.InvalidInput, match="pc2"):
        sim.export(tmp_path, ["pc3"])


def test_a_preview_is_a_picture_of_its_size(tmp_path):
    b = hanging(5)
    b.add_collider(sphere={"center": [0, -1, 0], "radius": 0.3})
    sim = b.finalize()
    picture = sim.preview(width=80, height=60)
    png = picture._repr_png_()
    assert png.startswith(b"\x89PNG") and struct.unpack(">II", png[16:24]) == (80, 60)
    assert sim.preview(width=80, height=60, color="stretch", camera=[[0, 1, 3], [0, 0, 0]]).png != png
    picture.save(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes() == png
    for wrong in ({"width": 0}, {"color": "red"}, {"camera": [[0, 0, 0]]}):
        with pytest.raises(supple.InvalidInput):
            sim.preview(**wrong)


def test_residuals_are_plotted(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    sim = hanging(5).finalize()
    with pytest.raises(supple.InvalidInput, match="nothing"):
        sim.plot()
    sim.step()
    (line,) = sim.plot().lines
    np.testing.assert_array_equal(line.get_ydata(), sim.residuals)
