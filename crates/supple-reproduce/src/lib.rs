//! Figures and tables of papers, measured here and compared with the papers' own numbers: `supple reproduce`.
//!
//! One folder per paper, one file for related figures; `catalogue` lists them with their parameters.

mod catalogue;
mod findings;
mod milne2016;
mod mueller2008;
mod wu2022;
mod xian2019;
mod zhu2010;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use supple::FileError;
use supple::output::write_whole;

use catalogue::{Reproduction, Request, find};
use findings::Findings;
use supple_cli::failure::Failure;
use supple_cli::print::line;
use supple_cli::{Common, Reproduce};

/// The reproductions of each paper.
static PAPERS: [&[Reproduction]; 5] =
    [&xian2019::ALL, &wu2022::ALL, &mueller2008::ALL, &milne2016::ALL, &zhu2010::ALL];

/// Lists the reproductions, or performs one.
pub fn reproduce(options: &Reproduce, common: &Common) -> Result<ExitCode, Failure> {
    let Some(name) = &options.name else {
        catalogue::all().for_each(|reproduction| list(reproduction, common));
        return Ok(ExitCode::SUCCESS);
    };
    let reproduction = find(name)?;
    let request = Request::new(reproduction, options, common)?;
    make_folder(options.out.as_deref())?;
    let findings = (reproduction.run)(&request)?;
    match common.json {
        true => findings.json_lines(reproduction.name).iter().for_each(line),
        false => findings.table().iter().for_each(line),
    }
    options.out.as_deref().map_or(Ok(()), |folder| write_files(folder, reproduction.name, &findings))?;
    Ok(ExitCode::SUCCESS)
}

fn list(reproduction: &Reproduction, common: &Common) {
    let Reproduction { name, title, parameters, .. } = reproduction;
    if common.json {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|p| json!({ "name": p.name, "default": p.default, "range": p.range, "meaning": p.meaning }))
            .collect();
        return line(json!({ "reproduction": name, "title": title, "parameters": parameters }));
    }
    line(format!("{name:<18} {title}"));
    for parameter in *parameters {
        line(format!("    {}={:<10} {}", parameter.name, parameter.default, parameter.meaning));
    }
}

fn make_folder(folder: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| Failure::usage(FileError::whole(folder, format!("cannot be created: {error}"))))
}

fn write_files(folder: &Path, name: &str, findings: &Findings) -> Result<(), Failure> {
    let plots = findings.plots.iter().map(|(file, plot)| (format!("{name}{file}.svg"), plot.svg()));
    let pictures = findings.pictures.iter().map(|(file, svg)| (format!("{name}{file}.svg"), svg.clone()));
    for (file, text) in std::iter::once((format!("{name}.csv"), findings.csv())).chain(plots).chain(pictures)
    {
        write_whole(&folder.join(file), |file| file.write_all(text.as_bytes())).map_err(Failure::running)?;
    }
    Ok(())
}
