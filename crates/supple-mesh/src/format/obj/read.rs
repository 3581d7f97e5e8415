//! Reading OBJ: one pass over the lines; indices may point forward, so the largest are checked at the end.

use std::collections::BTreeMap;
use std::path::Path;

use glam::DVec3;

use super::super::LoadedMesh;
use super::super::builder::{self, CornerTrack, LabelTrack, fits, unit_colors};
use crate::{LabelKind, NO_VALUE, SurfaceMesh};
use supple_core::FileError;
use supple_core::text::scan::{Scanner, name, parse_i64, shown};

/// A face may be in several groups; longer lists are truncated to this many.
const MOST_GROUPS: usize = 16;
/// Colour of vertices without one in a file where others have one.
const WHITE: [f32; 4] = [1.0; 4];

/// Reads a Wavefront OBJ file from its bytes; `path` appears in errors.
pub fn read_obj(bytes: &[u8], path: &Path) -> Result<LoadedMesh, FileError> {
    let mut reader = ObjReader::new(bytes, path);
    loop {
        if let Some(keyword) = reader.scan.token_in_line() {
            reader.statement(keyword)?;
        }
        if !reader.scan.next_line() {
            return reader.finish(path);
        }
    }
}

/// The three index lists of a face corner.
#[derive(Debug, Clone, Copy)]
enum ObjIndexKind {
    Vertex,
    Texture,
    Normal,
}

impl ObjIndexKind {
    fn name(self) -> &'static str {
        ["vertex", "texture coordinate", "normal"][self as usize]
    }
}

struct ObjReader<'a> {
    scan: Scanner<'a>,
    mesh: SurfaceMesh,
    uvs: CornerTrack<2>,
    normals: CornerTrack<3>,
    colors: Vec<[f32; 4]>,
    has_alpha: bool,
    object: LabelTrack,
    groups: Vec<LabelTrack>,
    material: LabelTrack,
    smoothing: LabelTrack,
    /// For each [`ObjIndexKind`] the largest index, counted from 1, and its line.
    largest: [(u64, u64); 3],
    /// Skipped statements by their [`meaning`]: how many, and the first line.
    ignored: BTreeMap<&'static str, (u64, u64)>,
}

impl<'a> ObjReader<'a> {
    fn new(bytes: &'a [u8], path: &'a Path) -> Self {
        Self {
            scan: Scanner::new(bytes, path).with_comment(b'#').with_continuation(),
            mesh: SurfaceMesh { face_starts: vec![0], ..SurfaceMesh::default() },
            uvs: CornerTrack::new(),
            normals: CornerTrack::new(),
            colors: Vec::new(),
            has_alpha: false,
            object: LabelTrack::new(LabelKind::Object),
            groups: Vec::new(),
            material: LabelTrack::new(LabelKind::Material),
            smoothing: LabelTrack::new(LabelKind::Smoothing),
            largest: [(0, 0); 3],
            ignored: BTreeMap::new(),
        }
    }

    #[inline]
    fn statement(&mut self, keyword: &[u8]) -> Result<(), FileError> {
        match keyword {
            b"v" => self.vertex(),
            b"f" | b"fo" => self.face(),
            b"vt" => self.texture_coordinate(),
            b"vn" => self.normal(),
            _ => self.name_statement(keyword),
        }
    }

    fn name_statement(&mut self, keyword: &[u8]) -> Result<(), FileError> {
        match keyword {
            b"o" => self.object.set(name(self.scan.rest_of_line())),
            b"g" => self.group(),
            b"usemtl" => self.material.set(name(self.scan.rest_of_line())),
            b"s" => match self.scan.rest_of_line() {
                b"off" | b"0" => self.smoothing.set(String::new()),
                number => self.smoothing.set(name(number)),
            },
            b"mtllib" => self.mesh.material_libraries.push(name(self.scan.rest_of_line())),
            _ => return self.ignore(keyword),
        }
        Ok(())
    }

    fn vertex(&mut self) -> Result<(), FileError> {
        let x = self.scan.f64_in_line("the x coordinate of this vertex")?;
        let y = self.scan.f64_in_line("the y coordinate of this vertex")?;
        let z = self.scan.f64_in_line("the z coordinate of this vertex")?;
        if let Some(fourth) = self.scan.token_in_line() {
            self.vertex_color(fourth)?;
        }
        self.mesh.positions.push(DVec3::new(x, y, z));
        self.check_capacity(self.mesh.positions.len())
    }

    /// The values after the position: a weight (meaningless for polygons), or a colour of three or four numbers.
    fn vertex_color(&mut self, fourth: &[u8]) -> Result<(), FileError> {
        let mut more = [self.color_component(fourth)?, 0.0, 0.0, 1.0];
        let mut count = 1;
        while let Some(token) = self.scan.token_in_line() {
            let value = self.color_component(token)?;
            *more.get_mut(count).ok_or_else(|| self.wrong_vertex_length(8, " or more"))? = value;
            count += 1;
        }
        match count {
            1 => Ok(()),
            2 => Err(self.wrong_vertex_length(5, "")),
            _ => {
                self.has_alpha |= count == 4;
                self.colors.resize(self.mesh.positions.len(), WHITE);
                self.colors.push(more);
                Ok(())
            }
        }
    }

    fn wrong_vertex_length(&self, length: usize, more: &str) -> FileError {
        self.scan.error(format!(
            "a vertex has 3 numbers, 4 with a weight, 6 or 7 with a colour; this line has {length}{more}"
        ))
    }

    fn color_component(&self, token: &[u8]) -> Result<f32, FileError> {
        let value = std::str::from_utf8(token).ok().and_then(|text| text.parse::<f32>().ok());
        value.filter(|c| c.is_finite()).ok_or_else(|| {
            let found = shown(token);
            self.scan.error(format!(
                "a colour or weight after a position should be a finite number, found {found}"
            ))
        })
    }

    fn texture_coordinate(&mut self) -> Result<(), FileError> {
        let u = self.scan.f64_in_line("u of this texture coordinate")?;
        let v = match self.scan.token_in_line() {
            Some(token) => self.scan.to_f64(token, "v of this texture coordinate")?,
            None => 0.0,
        };
        self.uvs.values.push([u, v]);
        self.check_capacity(self.uvs.values.len())
    }

    fn normal(&mut self) -> Result<(), FileError> {
        let x = self.scan.f64_in_line("the x component of this normal")?;
        let y = self.scan.f64_in_line("the y component of this normal")?;
        let z = self.scan.f64_in_line("the z component of this normal")?;
        self.normals.values.push([x, y, z]);
        self.check_capacity(self.normals.values.len())
    }

    #[inline]
    fn check_capacity(&self, count: usize) -> Result<(), FileError> {
        if fits(count, 0) {
            return Ok(());
        }
        Err(self.scan.error("more entries of one kind than 32-bit indices can address; split the file"))
    }

    fn face(&mut self) -> Result<(), FileError> {
        let start = self.mesh.corners.len();
        while let Some(token) = self.scan.token_in_line() {
            self.corner(token)?;
        }
        let end = self.mesh.corners.len();
        if end - start < 3 {
            return Err(self
                .scan
                .error(format!("a face needs at least 3 corners, this one has {}", end - start)));
        }
        self.check_capacity(end)?;
        let face = self.mesh.face_count();
        self.mesh.face_starts.push(end as u32);
        self.object.push_face(face);
        self.material.push_face(face);
        self.smoothing.push_face(face);
        self.groups.iter_mut().for_each(|group| group.push_face(face));
        Ok(())
    }

    /// `vertex`, `vertex/texture`, `vertex//normal` or `vertex/texture/normal`.
    #[inline]
    fn corner(&mut self, token: &[u8]) -> Result<(), FileError> {
        let corner = self.mesh.corners.len();
        let mut parts = token.split(|&b| b == b'/');
        let vertex = self.index(ObjIndexKind::Vertex, parts.next().unwrap_or_default(), token)?;
        self.mesh.corners.push(vertex);
        match parts.next() {
            None => return Ok(()),
            Some(b"") => {}
            Some(part) => {
                let texture = self.index(ObjIndexKind::Texture, part, token)?;
                self.uvs.set(corner, texture);
            }
        }
        match parts.next() {
            None | Some(b"") => {}
            Some(part) => {
                let normal = self.index(ObjIndexKind::Normal, part, token)?;
                self.normals.set(corner, normal);
            }
        }
        match parts.next() {
            None => Ok(()),
            Some(_) => Err(self.bad_corner(token)),
        }
    }

    /// An index counted from 0. Forward references are checked at the end.
    #[inline]
    fn index(&mut self, kind: ObjIndexKind, part: &[u8], token: &[u8]) -> Result<u32, FileError> {
        let Some(number) = parse_i64(part) else { return Err(self.bad_corner(token)) };
        let count = self.count(kind);
        if number < 1 {
            return self.backward_index(kind, number, count);
        }
        let largest = &mut self.largest[kind as usize];
        if number as u64 > largest.0 {
            *largest = (number as u64, self.scan.line());
        }
        Ok((number - 1).min(i64::from(NO_VALUE)) as u32)
    }

    /// An index counted back from the newest entry, -1.
    fn backward_index(&self, kind: ObjIndexKind, number: i64, count: usize) -> Result<u32, FileError> {
        let what = kind.name();
        match count as i64 + number {
            _ if number == 0 => {
                Err(self.scan.error(format!("{what} index 0: indices count from 1, or back from -1")))
            }
            index @ 0.. => Ok(index as u32),
            _ => Err(self.scan.error(format!(
                "{what} index {number} points before the start: only {count} precede this line"
            ))),
        }
    }

    fn count(&self, kind: ObjIndexKind) -> usize {
        match kind {
            ObjIndexKind::Vertex => self.mesh.positions.len(),
            ObjIndexKind::Texture => self.uvs.values.len(),
            ObjIndexKind::Normal => self.normals.values.len(),
        }
    }

    fn bad_corner(&self, token: &[u8]) -> FileError {
        self.scan
            .error(format!("a face corner is `vertex/texture/normal` as indices, found {}", shown(token)))
    }

    /// The names after `g`: the faces that follow are in all of these groups.
    fn group(&mut self) {
        let line = self.scan.rest_of_line();
        let mut names = line.split(u8::is_ascii_whitespace).filter(|n| !n.is_empty());
        for group in &mut self.groups {
            group.set(names.next().map(name).unwrap_or_default());
        }
        for more in names.take(MOST_GROUPS - self.groups.len()) {
            let mut group = LabelTrack::new(LabelKind::Group);
            group.set(name(more));
            self.groups.push(group);
        }
    }

    /// Skips a statement. Real files have broken comment lines, so only binary data is rejected.
    fn ignore(&mut self, keyword: &[u8]) -> Result<(), FileError> {
        let is_text = std::str::from_utf8(keyword).is_ok_and(|text| !text.contains(char::is_control));
        if !is_text {
            let problem = format!("{} is not an OBJ statement; is this an OBJ file?", shown(keyword));
            return Err(self.scan.error(problem));
        }
        let line = self.scan.line();
        self.ignored.entry(meaning(keyword)).or_insert((0, line)).0 += 1;
        while self.scan.token_in_line().is_some() {}
        Ok(())
    }

    fn finish(mut self, path: &Path) -> Result<LoadedMesh, FileError> {
        for kind in [ObjIndexKind::Vertex, ObjIndexKind::Texture, ObjIndexKind::Normal] {
            let ((number, line), count) = (self.largest[kind as usize], self.count(kind));
            if number > count as u64 {
                let what = kind.name();
                let problem = format!("{what} index {number} is out of range: the file has only {count}");
                return Err(FileError::line(path, line, problem));
            }
        }
        let (corners, faces) = (self.mesh.corners.len(), self.mesh.face_count());
        self.mesh.uvs = self.uvs.finish(corners);
        self.mesh.normals = self.normals.finish(corners);
        if !self.colors.is_empty() {
            self.colors.resize(self.mesh.positions.len(), WHITE);
            self.mesh.colors = Some(unit_colors(self.colors, self.has_alpha));
        }
        let tracks = [self.object].into_iter().chain(self.groups).chain([self.material, self.smoothing]);
        self.mesh.labels = tracks.filter_map(|track| track.finish(faces)).collect();
        builder::finish(self.mesh, notes(&self.ignored), path)
    }
}

/// The category of a statement that is not used for polygons.
fn meaning(keyword: &[u8]) -> &'static str {
    match keyword {
        b"l" => "line elements (`l`)",
        b"p" => "point elements (`p`)",
        b"vp" | b"cstype" | b"deg" | b"bmat" | b"step" | b"curv" | b"curv2" | b"surf" | b"parm" | b"trim"
        | b"hole" | b"scrv" | b"sp" | b"end" | b"con" => "statements of free-form curves and surfaces",
        b"mg" | b"bevel" | b"c_interp" | b"d_interp" | b"lod" | b"maplib" | b"usemap" | b"shadow_obj"
        | b"trace_obj" | b"ctech" | b"stech" => "statements about display",
        _ => "lines that are not OBJ statements",
    }
}

fn notes(ignored: &BTreeMap<&'static str, (u64, u64)>) -> Vec<String> {
    let note = |(what, (count, line)): (&&str, &(u64, u64))| {
        format!("{count} {what} were skipped, the first in line {line}")
    };
    ignored.iter().map(note).collect()
}
