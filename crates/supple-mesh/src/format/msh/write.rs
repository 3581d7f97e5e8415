//! Writes version 2.2, which every Gmsh reader supports. Coordinates round-trip bit by bit.

use std::io::{self, BufWriter, Write};

use crate::TetMesh;

/// Writes tetrahedra as Gmsh 2.2 text; regions become physical groups.
pub fn write_msh22(mesh: &TetMesh, out: &mut impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    writeln!(out, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}", mesh.positions.len())?;
    for (i, p) in mesh.positions.iter().enumerate() {
        writeln!(out, "{} {:?} {:?} {:?}", i + 1, p.x, p.y, p.z)?;
    }
    writeln!(out, "$EndNodes\n$Elements\n{}", mesh.tets.len())?;
    for (i, tet) in mesh.tets.iter().enumerate() {
        let [a, b, c, d] = tet.map(|v| u64::from(v) + 1);
        writeln!(out, "{} 4 2 {} 1 {a} {b} {c} {d}", i + 1, region(mesh, i))?;
    }
    writeln!(out, "$EndElements")?;
    out.flush()
}

/// Writes tetrahedra as Gmsh 2.2 binary (little-endian); regions become physical groups. The format numbers nodes and
/// elements with 32 bits, so a mesh with more than 2147483647 is an error.
pub fn write_msh22_binary(mesh: &TetMesh, out: &mut impl Write) -> io::Result<()> {
    if mesh.positions.len().max(mesh.tets.len()) > i32::MAX as usize {
        return Err(io::Error::other("binary Gmsh 2.2 numbers at most 2147483647 nodes and elements"));
    }
    let mut out = BufWriter::new(out);
    out.write_all(b"$MeshFormat\n2.2 1 8\n")?;
    out.write_all(&1i32.to_le_bytes())?;
    write!(out, "\n$EndMeshFormat\n$Nodes\n{}\n", mesh.positions.len())?;
    for (i, p) in mesh.positions.iter().enumerate() {
        out.write_all(&(i as i32 + 1).to_le_bytes())?;
        for coordinate in p.to_array() {
            out.write_all(&coordinate.to_le_bytes())?;
        }
    }
    write!(out, "\n$EndNodes\n$Elements\n{}\n", mesh.tets.len())?;
    if !mesh.tets.is_empty() {
        write_integers(&mut out, &[4, mesh.tets.len() as i32, 2])?;
    }
    for (i, tet) in mesh.tets.iter().enumerate() {
        let [a, b, c, d] = tet.map(|v| v as i32 + 1);
        write_integers(&mut out, &[i as i32 + 1, region(mesh, i), 1, a, b, c, d])?;
    }
    out.write_all(b"\n$EndElements\n")?;
    out.flush()
}

fn region(mesh: &TetMesh, element: usize) -> i32 {
    mesh.regions.as_ref().map_or(0, |regions| regions[element])
}

fn write_integers(out: &mut impl Write, values: &[i32]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}
