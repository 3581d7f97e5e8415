//! Lists in the manual against those of the engine: an added name must be documented.

use std::collections::BTreeSet;

use supple::linear::LinearKind;
use supple::mesh::format::{FORMATS, extensions};
use supple::output::ExportFormat;
use supple::scene::Model;
use supple::simulation::Registry;

const SOLVERS: &str = include_str!("../../../../docs/solvers.md");
const SCENE_FORMAT: &str = include_str!("../../../../docs/scene-format.md");

/// The part of a page below a heading.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, below) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no `{heading}`"));
    below.split("\n## ").next().expect("split gives something")
}

/// The names in backticks in the first cells of the first table of a text.
fn first_column(text: &str) -> BTreeSet<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| ---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.flat_map(|row| quoted(row.split('|').nth(1).unwrap_or_default(), '`')).collect()
}

/// What stands between pairs of `mark`.
fn quoted(text: &str, mark: char) -> impl Iterator<Item = &str> {
    text.split(mark).skip(1).step_by(2)
}

/// The row of a key in the scene format.
fn row(key: &str) -> &'static str {
    let start = format!("| `{key}` |");
    SCENE_FORMAT.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row `{key}`"))
}

#[test]
fn solvers_md_lists_every_method_and_every_linear_solver() {
    let methods: BTreeSet<&str> = Registry::builtin().method_names().into_iter().collect();
    assert_eq!(first_column(section(SOLVERS, "## Nonlinear methods")), methods, "docs/solvers.md");
    let linear: BTreeSet<&str> = LinearKind::ALL.map(LinearKind::name).into();
    assert_eq!(first_column(section(SOLVERS, "## Linear solvers")), linear, "docs/solvers.md");
}

#[test]
fn solvers_md_describes_every_option_of_every_linear_solver() {
    let options = section(SOLVERS, "### Options of linear solvers");
    let described = first_column(options);
    for kind in LinearKind::ALL {
        let own: BTreeSet<&str> = kind.options().collect();
        assert!(own.is_subset(&described), "docs/solvers.md lacks one of {own:?}, the options of {kind:?}");
    }
}

#[test]
fn scene_format_md_lists_every_model_and_every_export_format() {
    let models: BTreeSet<&str> = Model::ALL.map(Model::name).into();
    let listed: BTreeSet<&str> = quoted(row("model"), '"').collect();
    assert_eq!(listed, models, "the row `model` of docs/scene-format.md");
    let formats: BTreeSet<&str> = ExportFormat::ALL.map(ExportFormat::name).into();
    let listed: BTreeSet<&str> = quoted(row("formats"), '"').collect();
    assert_eq!(listed, formats, "the row `formats` of docs/scene-format.md");
}

#[test]
fn scene_format_md_lists_every_mesh_format() {
    let known = extensions(&FORMATS);
    let known: BTreeSet<&str> = known.split(' ').collect();
    let listed: BTreeSet<&str> =
        quoted(row("file"), '`').filter(|word| word.starts_with('.') && word.len() < 8).collect();
    assert_eq!(listed, known, "the row `file` of docs/scene-format.md");
}
