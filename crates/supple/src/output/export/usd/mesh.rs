//! One body as a USD `Mesh`: points and extent at every frame, topology wherever it changes, UVs, colours, and a
//! `GeomSubset` for every named set of faces; contact forces at the frames that have them.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use glam::Vec3;

use super::super::names::identifiers;
use super::crate_file::{CrateValue, CrateWriter, PathId, SpecType};
use crate::output::frame::{FrameBody, FrameContact, FrameSurface};
use supple_mesh::{CornerAttribute, FaceLabels, LabelKind, NO_VALUE, SurfaceMesh};

/// The values of one mesh, already in the file.
#[derive(Default)]
pub(super) struct MeshSamples {
    points: Vec<CrateValue>,
    extents: Vec<CrateValue>,
    topologies: Vec<Topology>,
    contact: ContactSamples,
}

/// Force and pressure of contact, where frames have them.
#[derive(Default)]
struct ContactSamples {
    times: Vec<f64>,
    forces: Vec<CrateValue>,
    pressures: Vec<CrateValue>,
}

/// The values that are valid from one frame until the next topology.
struct Topology {
    time: f64,
    surface: Arc<FrameSurface>,
    values: Vec<TopologyValue>,
}

/// One attribute that changes with the topology only.
struct TopologyValue {
    name: &'static str,
    type_name: &'static str,
    interpolation: Option<&'static str>,
    value: CrateValue,
}

impl MeshSamples {
    /// Writes the values of one frame.
    pub(super) fn add<W: Write + Seek>(
        &mut self,
        out: &mut CrateWriter<W>,
        time: f64,
        body: &FrameBody,
    ) -> io::Result<()> {
        if !self.topologies.last().is_some_and(|last| Arc::ptr_eq(&last.surface, &body.surface)) {
            let values = topology_values(out, &body.surface.mesh)?;
            self.topologies.push(Topology { time, surface: Arc::clone(&body.surface), values });
        }
        self.points.push(out.vec3_array(body.positions.iter().map(|p| p.to_array()))?);
        self.extents.push(out.vec3_array(extent(&body.positions).into_iter())?);
        if let Some(FrameContact { force, pressure }) = &body.contact {
            self.contact.times.push(time);
            self.contact.forces.push(out.vec3_array(force.iter().map(|f| f.to_array()))?);
            self.contact.pressures.push(out.float_array(pressure.iter().copied())?);
        }
        Ok(())
    }

    /// Describes the prim (`names`: the user's and the identifier), its properties and its subsets.
    pub(super) fn write<W: Write + Seek>(
        &self,
        out: &mut CrateWriter<W>,
        prim: PathId,
        names: (&str, &str),
        times: CrateValue,
        materials: &[(String, PathId)],
    ) -> io::Result<()> {
        let mut properties = Properties { prim, names: Vec::new() };
        for (name, type_name, samples) in
            [("points", "point3f[]", &self.points), ("extent", "float3[]", &self.extents)]
        {
            let samples_value = out.time_samples(times, samples)?;
            let fields = [("default", samples[0]), ("timeSamples", samples_value)];
            properties.attribute(out, name, type_name, &fields);
        }
        properties.uniform(out, "subdivisionScheme", "token", |out| out.token("none"));
        properties.uniform(out, "doubleSided", "bool", |_| CrateValue::bool(true));
        self.write_topology(out, &mut properties)?;
        self.contact.write(out, &mut properties)?;
        let subsets = self.write_subsets(out, &mut properties, materials)?;

        let mut fields = vec![("specifier", CrateValue::def()), ("typeName", out.token("Mesh"))];
        if names.0 != names.1 {
            fields.push(("displayName", out.string(names.0)));
        }
        fields.push(("properties", out.token_vector(&properties.names)?));
        if !subsets.is_empty() {
            let listed: Vec<&str> = subsets.iter().map(String::as_str).collect();
            fields.push(("primChildren", out.token_vector(&listed)?));
        }
        out.spec(prim, SpecType::Prim, &fields);
        Ok(())
    }

    fn write_topology<W: Write + Seek>(
        &self,
        out: &mut CrateWriter<W>,
        properties: &mut Properties,
    ) -> io::Result<()> {
        for TopologyValue { name, type_name, interpolation, value } in &self.topologies[0].values {
            let mut fields = vec![("default", *value)];
            if let Some(interpolation) = interpolation {
                fields.push(("interpolation", out.token(interpolation)));
            }
            if self.topologies.len() > 1 {
                let (times, values) = self.samples_of(name);
                let times = out.times(&times)?;
                fields.push(("timeSamples", out.time_samples(times, &values)?));
            }
            properties.attribute(out, name, type_name, &fields);
        }
        Ok(())
    }

    fn samples_of(&self, name: &str) -> (Vec<f64>, Vec<CrateValue>) {
        let samples = self.topologies.iter().filter_map(|topology| {
            let value = topology.values.iter().find(|value| value.name == name)?;
            Some((topology.time, value.value))
        });
        samples.unzip()
    }

    /// Subsets cannot appear or vanish over time, so they are left out where a new topology has different labels.
    fn write_subsets<W: Write + Seek>(
        &self,
        out: &mut CrateWriter<W>,
        properties: &mut Properties,
        materials: &[(String, PathId)],
    ) -> io::Result<Vec<String>> {
        let labels = &self.topologies[0].surface.mesh.labels;
        if self.topologies.iter().any(|topology| topology.surface.mesh.labels != *labels) {
            return Ok(Vec::new());
        }
        let all: Vec<(&FaceLabels, usize)> = labels
            .iter()
            .filter(|labels| labels.kind != LabelKind::Smoothing)
            .flat_map(|labels| (0..labels.names.len()).map(move |label| (labels, label)))
            .collect();
        let all_identifiers = identifiers(all.iter().map(|(labels, label)| labels.names[*label].as_str()));
        for (identifier, &(labels, label)) in all_identifiers.iter().zip(&all) {
            let subset = out.child(properties.prim, identifier);
            write_subset(out, subset, identifier, labels, label, materials)?;
        }
        for family in families(&all) {
            let name = family_type(family);
            properties.uniform(out, name, "token", |out| out.token("nonOverlapping"));
        }
        Ok(all_identifiers)
    }
}

impl ContactSamples {
    fn write<W: Write + Seek>(
        &self,
        out: &mut CrateWriter<W>,
        properties: &mut Properties,
    ) -> io::Result<()> {
        if self.times.is_empty() {
            return Ok(());
        }
        let times = out.times(&self.times)?;
        for (name, type_name, samples) in [
            ("primvars:contact_force", "vector3f[]", &self.forces),
            ("primvars:contact_pressure", "float[]", &self.pressures),
        ] {
            let fields = [
                ("default", samples[0]),
                ("interpolation", out.token("vertex")),
                ("timeSamples", out.time_samples(times, samples)?),
            ];
            properties.attribute(out, name, type_name, &fields);
        }
        Ok(())
    }
}

/// The attributes of one prim, in the order written.
struct Properties {
    prim: PathId,
    names: Vec<&'static str>,
}

impl Properties {
    fn attribute<W: Write + Seek>(
        &mut self,
        out: &mut CrateWriter<W>,
        name: &'static str,
        type_name: &str,
        fields: &[(&str, CrateValue)],
    ) {
        let path = out.property(self.prim, name);
        let mut all = vec![("typeName", out.token(type_name))];
        all.extend_from_slice(fields);
        out.spec(path, SpecType::Attribute, &all);
        self.names.push(name);
    }

    fn uniform<W: Write + Seek>(
        &mut self,
        out: &mut CrateWriter<W>,
        name: &'static str,
        type_name: &str,
        value: impl FnOnce(&mut CrateWriter<W>) -> CrateValue,
    ) {
        let value = value(out);
        self.attribute(out, name, type_name, &[("variability", CrateValue::uniform()), ("default", value)]);
    }
}

fn topology_values<W: Write + Seek>(
    out: &mut CrateWriter<W>,
    mesh: &SurfaceMesh,
) -> io::Result<Vec<TopologyValue>> {
    let counts: Vec<i32> = mesh.faces().map(|face| face.len() as i32).collect();
    let mut values = vec![
        topology_value("faceVertexCounts", "int[]", None, out.int_array(&counts)?),
        topology_value("faceVertexIndices", "int[]", None, out.int_array(&signed(&mesh.corners))?),
    ];
    if let Some(uvs) = &mesh.uvs {
        let (st, indices) = whole_uvs(uvs);
        let st = out.vec2_array(st.into_iter())?;
        let indices = out.int_array(&indices)?;
        values.push(topology_value("primvars:st", "texCoord2f[]", Some("faceVarying"), st));
        values.push(topology_value("primvars:st:indices", "int[]", None, indices));
    }
    if let Some(colors) = &mesh.colors {
        let color = out.vec3_array(colors.iter().map(|&[r, g, b, _]| [r, g, b]))?;
        values.push(topology_value("primvars:displayColor", "color3f[]", Some("vertex"), color));
        if colors.iter().any(|color| color[3] != 1.0) {
            let opacity = out.float_array(colors.iter().map(|color| color[3]))?;
            values.push(topology_value("primvars:displayOpacity", "float[]", Some("vertex"), opacity));
        }
    }
    Ok(values)
}

fn topology_value(
    name: &'static str,
    type_name: &'static str,
    interpolation: Option<&'static str>,
    value: CrateValue,
) -> TopologyValue {
    TopologyValue { name, type_name, interpolation, value }
}

/// UVs in which every corner has a value: USD cannot represent missing ones, so such corners get (0, 0).
fn whole_uvs(uvs: &CornerAttribute<2>) -> (Vec<[f32; 2]>, Vec<i32>) {
    let mut values: Vec<[f32; 2]> = uvs.values.iter().map(|uv| uv.map(|x| x as f32)).collect();
    let none = values.len() as u32;
    if uvs.indices.contains(&NO_VALUE) {
        values.push([0.0; 2]);
    }
    let indices = uvs.indices.iter().map(|&i| if i == NO_VALUE { none } else { i } as i32).collect();
    (values, indices)
}

fn write_subset<W: Write + Seek>(
    out: &mut CrateWriter<W>,
    subset: PathId,
    identifier: &str,
    labels: &FaceLabels,
    label: usize,
    materials: &[(String, PathId)],
) -> io::Result<()> {
    let name = &labels.names[label];
    let faces = labels.label_of_face.iter().enumerate().filter(|&(_, &l)| l as usize == label);
    let faces: Vec<i32> = faces.map(|(face, _)| face as i32).collect();
    let mut properties = Properties { prim: subset, names: Vec::new() };
    properties.uniform(out, "elementType", "token", |out| out.token("face"));
    properties.uniform(out, "familyName", "token", |out| out.token(family(labels.kind)));
    let indices = out.int_array(&faces)?;
    properties.attribute(out, "indices", "int[]", &[("default", indices)]);
    let mut fields = vec![("specifier", CrateValue::def()), ("typeName", out.token("GeomSubset"))];
    if name != identifier {
        fields.push(("displayName", out.string(name)));
    }
    let material =
        materials.iter().find(|(material, _)| labels.kind == LabelKind::Material && material == name);
    if let Some(&(_, material)) = material {
        fields.push(("apiSchemas", out.prepended_tokens(&["MaterialBindingAPI"])?));
        let path = out.property(subset, "material:binding");
        let targets = out.explicit_paths(&[material])?;
        out.spec(
            path,
            SpecType::Relationship,
            &[("variability", CrateValue::uniform()), ("targetPaths", targets)],
        );
        properties.names.push("material:binding");
    }
    fields.push(("properties", out.token_vector(&properties.names)?));
    out.spec(subset, SpecType::Prim, &fields);
    Ok(())
}

fn families(all: &[(&FaceLabels, usize)]) -> Vec<LabelKind> {
    let mut kinds: Vec<LabelKind> = Vec::new();
    for (labels, _) in all {
        if !kinds.contains(&labels.kind) {
            kinds.push(labels.kind);
        }
    }
    kinds
}

fn family(kind: LabelKind) -> &'static str {
    match kind {
        LabelKind::Material => "materialBind",
        LabelKind::Group => "group",
        LabelKind::Object => "object",
        LabelKind::Smoothing => "smoothing",
    }
}

fn family_type(kind: LabelKind) -> &'static str {
    match kind {
        LabelKind::Material => "subsetFamily:materialBind:familyType",
        LabelKind::Group => "subsetFamily:group:familyType",
        LabelKind::Object => "subsetFamily:object:familyType",
        LabelKind::Smoothing => "subsetFamily:smoothing:familyType",
    }
}

fn signed(indices: &[u32]) -> Vec<i32> {
    indices.iter().map(|&index| index as i32).collect()
}

/// Smallest and largest coordinates; empty without points.
fn extent(points: &[Vec3]) -> Vec<[f32; 3]> {
    let Some(&first) = points.first() else { return Vec::new() };
    let (low, high) = points.iter().fold((first, first), |(low, high), &p| (low.min(p), high.max(p)));
    vec![low.to_array(), high.to_array()]
}
