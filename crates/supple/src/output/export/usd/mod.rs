//! Universal Scene Description: one binary file with a mesh for every body, in metres, y up, its points sampled at
//! every frame. Topology is written once, and again at the frames where it changes.

mod crate_file;
mod integers;
mod mesh;

use std::io::{self, Seek, Write};
use std::path::PathBuf;

use self::crate_file::{CrateValue, CrateWriter, PathId, SpecType};
use self::mesh::MeshSamples;
use super::job::Job;
use super::names::identifiers;
use crate::output::atomic::{AtomicFile, write_error};
use supple_core::Error;
use supple_mesh::LabelKind;

/// Where materials are, below the default prim.
const MATERIALS: &str = "materials";

/// Writes `<scene>.usdc`.
pub(super) fn export(job: &mut Job) -> Result<Vec<PathBuf>, Error> {
    let path = job.scene_file("usdc");
    let fail = |e: io::Error| Error::from(write_error(&path, "write", &e));
    let mut out = CrateWriter::new(AtomicFile::create(&path)?).map_err(fail)?;
    let mut meshes: Vec<MeshSamples> = job.surfaces().iter().map(|_| MeshSamples::default()).collect();
    job.each_frame(|_, frame| {
        for (mesh, body) in meshes.iter_mut().zip(&frame.bodies) {
            mesh.add(&mut out, f64::from(frame.index), body).map_err(fail)?;
        }
        Ok(())
    })?;
    write_stage(&mut out, job, &meshes).map_err(fail)?;
    out.finish().map_err(fail)?.commit()?;
    Ok(vec![path])
}

/// The layer, its default prim with every mesh below, and the materials that faces are named after.
fn write_stage<W: Write + Seek>(
    out: &mut CrateWriter<W>,
    job: &Job,
    meshes: &[MeshSamples],
) -> io::Result<()> {
    let scene_name = identifiers(std::iter::once(job.scene())).remove(0);
    let root = out.root();
    let scene = out.child(root, &scene_name);
    let times: Vec<f64> = job.frames().iter().map(|&frame| f64::from(frame)).collect();
    let (fps, first, last) =
        (out.double(job.fps())?, out.double(times[0])?, out.double(times[times.len() - 1])?);
    let layer = [
        ("defaultPrim", out.token(&scene_name)),
        ("upAxis", out.token("Y")),
        ("metersPerUnit", out.double(1.0)?),
        ("timeCodesPerSecond", fps),
        ("framesPerSecond", fps),
        ("startTimeCode", first),
        ("endTimeCode", last),
        ("primChildren", out.token_vector(&[&scene_name])?),
    ];
    out.spec(root, SpecType::PseudoRoot, &layer);

    let body_names = job.surfaces().iter().map(|surface| surface.name.as_str());
    let children = identifiers(std::iter::once(MATERIALS).chain(body_names));
    let materials = material_names(job);
    let has_materials = !materials.is_empty();
    let listed: Vec<&str> = children[usize::from(!has_materials)..].iter().map(String::as_str).collect();
    let fields = [
        ("specifier", CrateValue::def()),
        ("typeName", out.token("Xform")),
        ("primChildren", out.token_vector(&listed)?),
    ];
    out.spec(scene, SpecType::Prim, &fields);
    let materials = if has_materials { write_materials(out, scene, materials)? } else { Vec::new() };
    let times = out.times(&times)?;
    for ((name, mesh), surface) in children[1..].iter().zip(meshes).zip(job.surfaces()) {
        let prim = out.child(scene, name);
        mesh.write(out, prim, (&surface.name, name), times, &materials)?;
    }
    Ok(())
}

/// The distinct names of materials over all bodies, in order of first use.
fn material_names(job: &Job) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for labels in job.surfaces().iter().flat_map(|surface| &surface.mesh.labels) {
        for name in labels.names.iter().filter(|_| labels.kind == LabelKind::Material) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Empty materials to bind faces to: users replace them in their own program.
fn write_materials<W: Write + Seek>(
    out: &mut CrateWriter<W>,
    scene: PathId,
    names: Vec<String>,
) -> io::Result<Vec<(String, PathId)>> {
    let all_identifiers = identifiers(names.iter().map(String::as_str));
    let scope = out.child(scene, MATERIALS);
    let listed: Vec<&str> = all_identifiers.iter().map(String::as_str).collect();
    let fields = [
        ("specifier", CrateValue::def()),
        ("typeName", out.token("Scope")),
        ("primChildren", out.token_vector(&listed)?),
    ];
    out.spec(scope, SpecType::Prim, &fields);
    let kind = out.token("Material");
    let mut materials = Vec::with_capacity(names.len());
    for (name, identifier) in names.into_iter().zip(all_identifiers) {
        let path = out.child(scope, &identifier);
        let mut fields = vec![("specifier", CrateValue::def()), ("typeName", kind)];
        if name != identifier {
            fields.push(("displayName", out.string(&name)));
        }
        out.spec(path, SpecType::Prim, &fields);
        materials.push((name, path));
    }
    Ok(materials)
}
