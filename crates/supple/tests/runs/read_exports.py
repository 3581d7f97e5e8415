"""Opens an export folder with readers that Supple's authors did not write, and compares with expected.json.

Usage: read_exports.py EXPORT_FOLDER EXPECTED.json      needs: usd-core meshio numpy pygltflib
"""

import json
import struct
import sys
import xml.etree.ElementTree
from pathlib import Path

import meshio
import numpy as np
import pygltflib
from pxr import Usd, UsdGeom, UsdShade

COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
PLY_TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "float": "f", "double": "d"}
TYPES = {pygltflib.FLOAT: np.float32, pygltflib.UNSIGNED_INT: np.uint32}


def same(found, expected, what, relative=1e-6):
    """Agreement to single precision, relative to the largest value."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape, f"{what}: shape {found.shape} instead of {expected.shape}"
    if expected.size:
        error = np.abs(found - expected).max()
        assert error <= relative * np.abs(expected).max(), f"{what}: differs by {error}"


def check_usd(folder, expected):
    stage = Usd.Stage.Open(str(folder / f"{expected['scene']}.usdc"))
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == expected["fps"]
    frames = expected["frames"]
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (frames[0], frames[-1])
    assert stage.GetDefaultPrim().GetPath() == f"/{expected['scene']}"
    meshes = [UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    assert len(meshes) == len(expected["bodies"])
    for mesh, body in zip(meshes, expected["bodies"]):
        check_usd_mesh(mesh, body, expected)
    assert stage.ExportToString(), "every value of the file can be printed"


def check_usd_mesh(mesh, body, expected):
    name = body["name"]
    prim = mesh.GetPrim()
    assert name in (prim.GetName(), prim.GetDisplayName()), prim.GetPath()
    assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
    assert mesh.GetPointsAttr().GetTimeSamples() == expected["frames"]
    points = mesh.GetPointsAttr().Get(expected["frame"])
    same(points, body["positions"], f"USD points of {name}")
    same(mesh.GetPointsAttr().Get(expected["frames"][0]), body["first_positions"], f"first USD points of {name}")
    extent = mesh.GetExtentAttr().Get(expected["frame"])
    same(extent, [np.min(body["positions"], 0), np.max(body["positions"], 0)], f"USD extent of {name}")
    counts, indices = mesh.GetFaceVertexCountsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
    assert list(counts) == [len(face) for face in body["faces"]]
    assert list(indices) == [vertex for face in body["faces"] for vertex in face]
    valid, reason = UsdGeom.Mesh.ValidateTopology(indices, counts, len(points))
    assert valid, reason
    primvars = UsdGeom.PrimvarsAPI(mesh)
    if body["corner_uvs"]:
        st = primvars.GetPrimvar("st")
        assert st.GetInterpolation() == "faceVarying" and st.IsIndexed()
        same(st.ComputeFlattened(), body["corner_uvs"], f"USD UVs of {name}")
    if body["colors"]:
        color = primvars.GetPrimvar("displayColor")
        assert color.GetInterpolation() == "vertex"
        same(color.Get(), np.array(body["colors"])[:, :3], f"USD colours of {name}")
    check_usd_subsets(mesh, body)


def check_usd_subsets(mesh, body):
    subsets = UsdGeom.Subset.GetGeomSubsets(mesh, "face", "materialBind")
    assert len(subsets) == len(body["materials"])
    for subset, material in zip(subsets, body["materials"]):
        assert list(subset.GetIndicesAttr().Get()) == material["faces"]
        bound = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()[0].GetPrim()
        assert material["name"] in (bound.GetName(), bound.GetDisplayName()), bound
    if subsets:
        assert UsdGeom.Subset.GetFamilyType(mesh, "materialBind") == "nonOverlapping"
        valid, reason = UsdGeom.Subset.ValidateFamily(mesh, "face", "materialBind")
        assert valid, reason


def frame_file(folder, expected, body, ending):
    return folder / ending / f"{body['stem']}_{expected['frame']:06}.{ending}"


def check_obj_text(folder, expected):
    """The lines of every OBJ read as its specification says."""
    for body in expected["bodies"]:
        lines = [line.split() for line in frame_file(folder, expected, body, "obj").read_text().splitlines()]
        numbers = {word: [[float(x) for x in line[1:]] for line in lines if line[:1] == [word]] for word in ("v", "vt")}
        same([v[:3] for v in numbers["v"]], body["positions"], "OBJ points")
        corners = [[corner.split("/") for corner in line[1:]] for line in lines if line[:1] == ["f"]]
        assert [[int(c[0]) - 1 for c in face] for face in corners] == body["faces"], "OBJ polygons"
        if body["corner_uvs"]:
            same([numbers["vt"][int(c[1]) - 1] for face in corners for c in face], body["corner_uvs"], "OBJ UVs")
        if body["colors"]:
            same([v[3:6] for v in numbers["v"]], np.array(body["colors"])[:, :3], "OBJ colours")


def check_ply_bytes(folder, expected):
    """Every binary PLY read row by row, as its header says."""
    for body in expected["bodies"]:
        header, data = frame_file(folder, expected, body, "ply").read_bytes().split(b"end_header\n", 1)
        lines = [line.split() for line in header.decode().splitlines()]
        assert ["format", "binary_little_endian", "1.0"] in lines
        rows, at = {"vertex": [], "face": []}, 0
        for start, line in enumerate(lines):
            if line[0] != "element":
                continue
            properties = [p for p in lines[start + 1 :] if p[0] in ("property", "element")]
            ends = [i for i, p in enumerate(properties) if p[0] == "element"]
            for _ in range(int(line[2])):
                row, at = read_ply_row(data, at, properties[: ends[0] if ends else None])
                rows[line[1]].append(row)
        assert at == len(data), "bytes left over"
        same([[row[axis] for axis in "xyz"] for row in rows["vertex"]], body["positions"], "PLY points")
        assert [row["vertex_indices"] for row in rows["face"]] == body["faces"], "PLY polygons"
        if has_seam(body):
            same(sum((row["texcoord"] for row in rows["face"]), []), np.ravel(body["corner_uvs"]), "PLY UVs")


def read_ply_row(data, at, properties):
    row = {}
    for words in properties:
        count, kind = 1, words[1]
        if kind == "list":
            (count,), kind = struct.unpack_from("<" + PLY_TYPES[words[2]], data, at), words[3]
            at += struct.calcsize(PLY_TYPES[words[2]])
        layout = f"<{count}{PLY_TYPES[kind]}"
        values = list(struct.unpack_from(layout, data, at))
        at += struct.calcsize(layout)
        row[words[-1]] = values if words[1] == "list" else values[0]
    return row, at


def has_seam(body):
    if not body["corner_uvs"]:
        return False
    corners = [vertex for face in body["faces"] for vertex in face]
    return len({(v, *uv) for v, uv in zip(corners, body["corner_uvs"])}) > len(set(corners))


def cells_in_order(mesh):
    return sorted(tuple(cell) for block in mesh.cells for cell in block.data.tolist())


def check_meshio(folder, expected, ending):
    for body in expected["bodies"]:
        if ending in ("obj", "ply") and has_seam(body):
            # meshio wants as many UVs as vertices in an OBJ and one list a face in a PLY: `check_obj_text` and
            # `check_ply_bytes` read these.
            continue
        path = frame_file(folder, expected, body, ending)
        mesh = meshio.read(path)
        # Colours of an OBJ follow the position on the same line, and meshio keeps them there.
        same(mesh.points[:, :3], body["positions"], f"{path.name} points")
        assert cells_in_order(mesh) == sorted(tuple(face) for face in body["faces"]), path.name
        if ending == "vtu":
            displacement = np.array(body["positions"]) - np.array(body["rest"])
            same(mesh.point_data["displacement"], displacement, f"{path.name} displacement")


def check_pvd(folder, expected):
    for body in expected["bodies"]:
        sets = xml.etree.ElementTree.parse(folder / f"{body['stem']}.pvd").findall("Collection/DataSet")
        same([float(s.get("timestep")) for s in sets], np.array(expected["frames"]) / expected["fps"], "PVD times")
        assert all((folder / s.get("file")).is_file() for s in sets)


class Glb:
    """A .glb and its accessors as arrays."""

    def __init__(self, path):
        self.gltf = pygltflib.GLTF2().load(str(path))
        self.blob = self.gltf.binary_blob()
        assert self.gltf.buffers[0].byteLength == len(self.blob)

    def array(self, number):
        accessor = self.gltf.accessors[number]
        view = self.gltf.bufferViews[accessor.bufferView]
        width = COMPONENTS[accessor.type]
        start = view.byteOffset + (accessor.byteOffset or 0)
        assert start % 4 == 0 and start + view.byteLength <= len(self.blob)
        values = np.frombuffer(self.blob, TYPES[accessor.componentType], accessor.count * width, start)
        values = values.reshape(-1, width)
        if accessor.min:
            assert np.array_equal(np.float32(accessor.min), values.min(0)), f"min of accessor {number}"
            assert np.array_equal(np.float32(accessor.max), values.max(0)), f"max of accessor {number}"
        return values


def check_gltf(folder, expected):
    glb = Glb(folder / f"{expected['scene']}.glb")
    frames = expected["frames"]
    assert [glb.gltf.nodes[n].name for n in glb.gltf.scenes[0].nodes] == [b["name"] for b in expected["bodies"]]
    weights = check_gltf_animation(glb, expected)
    for mesh, body in zip(glb.gltf.meshes, expected["bodies"]):
        attributes = mesh.primitives[0].attributes
        base = glb.array(attributes.POSITION)
        assert attributes.POSITION is not None and len(mesh.weights) == len(frames) - 1
        targets = [glb.array(target["POSITION"]) for target in mesh.primitives[0].targets]
        count = len(body["positions"])
        same(base[:count], body["first_positions"], "glTF base")
        posed = base + sum(w * target for w, target in zip(weights[frames.index(expected["frame"])], targets))
        same(posed[:count], body["positions"], "glTF pose")
        check_gltf_triangles(glb, mesh, body, base)


def check_gltf_animation(glb, expected):
    (animation,) = glb.gltf.animations
    frames = expected["frames"]
    assert [c.target.node for c in animation.channels] == list(range(len(expected["bodies"])))
    sampler = animation.samplers[0]
    same(glb.array(sampler.input)[:, 0], np.array(frames) / expected["fps"], "glTF times")
    weights = glb.array(sampler.output).reshape(len(frames), len(frames) - 1)
    assert np.array_equal(weights[1:], np.eye(len(frames) - 1)) and not weights[0].any()
    return weights


def check_gltf_triangles(glb, mesh, body, base):
    """The triangles cover the user's polygons, and every corner keeps its UV."""
    triangles = sum(glb.array(p.indices).size // 3 for p in mesh.primitives)
    assert triangles == sum(len(face) - 2 for face in body["faces"])
    if not body["corner_uvs"]:
        return
    corners = [vertex for face in body["faces"] for vertex in face]
    wanted = {(*np.float32(body["first_positions"][v]), *np.float32([u, 1 - w]))
              for v, (u, w) in zip(corners, body["corner_uvs"])}
    uvs = glb.array(mesh.primitives[0].attributes.TEXCOORD_0)
    used = np.unique(np.concatenate([glb.array(p.indices).ravel() for p in mesh.primitives]))
    assert {(*base[i], *uvs[i]) for i in used} == wanted, "glTF UVs"


def main():
    folder, expected = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    check_usd(folder, expected)
    for ending in ("vtu", "obj", "ply"):
        check_meshio(folder, expected, ending)
    check_obj_text(folder, expected)
    check_ply_bytes(folder, expected)
    check_pvd(folder, expected)
    check_gltf(folder, expected)
    print("usd, vtu, obj, ply, pvd and gltf agree with the run")


if __name__ == "__main__":
    main()
