//! The animation of a glTF file: channels of translation, rotation and scale. Those of morph targets are left out.

use glam::{DQuat, DVec3};

use super::buffers::Buffers;
use super::document::{Animation, Channel as FileChannel, Document, Property};
use crate::skin::{Channel, Interpolation, Values};
use supple_core::FileError;

/// The channels of the animation of a name, or of the first one.
pub(super) fn read_channels(buffers: &Buffers<'_>, name: Option<&str>) -> Result<Vec<Channel>, FileError> {
    let (index, animation) = find(buffers.document, name).map_err(|problem| buffers.error(problem))?;
    let mut channels = Vec::new();
    for (number, channel) in animation.channels.iter().enumerate() {
        let named = |error: FileError| {
            let problem = format!("animation {index}, channel {number}: {}", error.problem);
            error.with_problem(problem)
        };
        channels.extend(read_channel(channel, buffers).map_err(named)?);
    }
    if channels.is_empty() {
        let problem =
            format!("animation {index} moves no node; pins need one with translations, rotations or scales");
        return Err(buffers.error(problem));
    }
    Ok(channels)
}

fn find<'d>(document: &'d Document, name: Option<&str>) -> Result<(usize, &'d Animation), String> {
    let Some(first) = document.animations.first() else {
        return Err("the file has no animation; export the character with one".to_owned());
    };
    let Some(name) = name else { return Ok((0, first)) };
    let names = || document.animations.iter().map(|animation| animation.name.as_deref());
    let found = names().position(|other| other == Some(name));
    found.map(|index| (index, &document.animations[index])).ok_or_else(|| {
        let names: Vec<String> = names().flatten().map(|name| format!("`{}`", name.escape_debug())).collect();
        let known = if names.is_empty() {
            "its animations have no names; leave out `animation` for the first".to_owned()
        } else {
            format!("available: {}", names.join(", "))
        };
        format!("there is no animation called `{name}`: {known}")
    })
}

/// A channel, or nothing where it moves no node.
fn read_channel(channel: &FileChannel, buffers: &Buffers<'_>) -> Result<Option<Channel>, FileError> {
    let Some(node) = channel.node else { return Ok(None) };
    let times = buffers.read::<1>(buffers.accessor(channel.input), "times of keys")?;
    let times: Vec<f64> = times.into_iter().map(|[time]| time).collect();
    let output = buffers.accessor(channel.output);
    let vectors = || Ok(buffers.read::<3>(output, "values of keys")?.into_iter().map(DVec3::from).collect());
    let values = match channel.property {
        Property::Translation => Values::Translation(vectors()?),
        Property::Scale => Values::Scale(vectors()?),
        Property::Rotation => {
            let turns = buffers.read::<4>(output, "values of keys")?;
            Values::Rotation(turns.into_iter().map(DQuat::from_array).collect())
        }
        Property::Other => return Ok(None),
    };
    let interpolation = channel.interpolation;
    check(&times, &values, interpolation).map_err(|problem| buffers.error(problem))?;
    Ok(Some(Channel { node, times, values, interpolation }))
}

fn check(times: &[f64], values: &Values, interpolation: Interpolation) -> Result<(), String> {
    let (count, finite) = match values {
        Values::Translation(values) | Values::Scale(values) => {
            (values.len(), values.iter().all(|value| value.is_finite()))
        }
        Values::Rotation(values) => (values.len(), values.iter().all(|value| value.is_finite())),
    };
    let each = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
    if times.is_empty() || count != each * times.len() {
        let keys = times.len();
        return Err(format!("{count} values for {keys} keys; expected {each} per key, and at least one key"));
    }
    if !finite || times.iter().any(|time| !time.is_finite()) {
        return Err("a key is not finite; export the animation again".to_owned());
    }
    match times.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(key) => Err(format!("key {} is not later than the one before it; times must increase", key + 1)),
        None => Ok(()),
    }
}
