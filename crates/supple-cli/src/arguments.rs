//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use supple::linear::{LinearKind, Simd};
use supple::mesh::format::{FORMATS, extensions};
use supple::output::ExportFormat;
use supple::simulation::{Registry, Slice};

/// Simulation of cloth and soft bodies with multilevel solvers. Without a command, runs the built-in scene `demo`.
#[derive(Debug, Parser)]
#[command(name = "supple", version, about, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The command line of a program with these steppers. Its help lists the methods, linear solvers and formats of the engine.
pub(crate) fn command(steppers: &Registry) -> clap::Command {
    let linear = LinearKind::ALL.map(LinearKind::name).join(", ");
    let solver = format!(
        "The solver: a method ({}), a linear solver ({linear}), or both: lbfgs+jacobi",
        steppers.method_names().join(", ")
    );
    let formats = format!("{}, separated by commas", ExportFormat::ALL.map(ExportFormat::name).join(", "));
    let list = |command: clap::Command, argument: &'static str, help: String| {
        command.mut_arg(argument, |argument| argument.help(help))
    };
    Arguments::command().mut_subcommands(|command| match command.get_name() {
        "solve" => list(command, "solver", linear.clone()),
        "export" => list(command, "format", formats.clone()),
        "mesh" => {
            let (read, writers) = (extensions(&FORMATS), FORMATS.iter());
            let surfaces = extensions(writers.clone().filter(|format| format.write_surface.is_some()));
            let tets = extensions(writers.filter(|format| format.write_tets.is_some()));
            let command =
                list(command, "surface", format!("The surface to fill, or the mesh to convert: {read}"));
            list(command, "out", format!("The file to write: tetrahedra {tets}, surfaces {surfaces}"))
        }
        "run" => {
            let command = list(command, "format", format!("Exports when done: {formats}"));
            list(command, "solver", solver.clone())
        }
        _ if command.get_arguments().any(|argument| argument.get_id() == "solver") => {
            list(command, "solver", solver.clone())
        }
        _ => command,
    })
}

/// Options common to all commands.
#[derive(Debug, Args)]
pub struct Common {
    /// JSON lines on standard output, everything else on standard error
    #[arg(long, global = true)]
    pub json: bool,
    /// Number of threads; the result does not depend on it [default: all cores]
    #[arg(long, global = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Instruction set; `baseline` gives bit-identical results on every machine
    #[arg(long, global = true, value_enum, default_value_t = SimdChoice::Auto)]
    pub simd: SimdChoice,
    /// Show no progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The steppers of the program.
    #[arg(skip)]
    pub steppers: Registry,
}

impl Common {
    /// The options as expected by the companion program `supple-reproduce`.
    pub(crate) fn as_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut flag = |set: bool, name: &str| arguments.extend(set.then(|| name.to_owned()));
        flag(self.json, "--json");
        flag(self.quiet, "--quiet");
        flag(matches!(self.simd, SimdChoice::Baseline), "--simd=baseline");
        arguments.extend(self.threads.map(|count| format!("--threads={count}")));
        arguments
    }
}

/// The instruction set, as a command-line value.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SimdChoice {
    /// The best instruction set of this machine
    Auto,
    /// Plain instructions that every machine supports
    Baseline,
}

impl From<SimdChoice> for Simd {
    fn from(word: SimdChoice) -> Self {
        match word {
            SimdChoice::Auto => Self::Auto,
            SimdChoice::Baseline => Self::Baseline,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulates a scene
    Run(Run),
    /// Lists the built-in scenes, or prints one
    Scenes {
        /// Print this scene's TOML
        name: Option<String>,
    },
    /// Writes a commented scene with a small mesh to start from
    New {
        /// The scene's name: NAME.toml and its mesh are written
        name: String,
        /// A dress on a figure that walks, instead: on a character of your own (.glb with a skin and an animation), or on a generated one
        #[arg(long, value_name = "FILE")]
        figure: Option<Option<PathBuf>>,
    },
    /// Checks a scene or a mesh for problems (what, where), reports its size and which solvers support it; or checks
    /// the frames of a run for intersecting surfaces
    Check {
        /// A scene (file or built-in name), a mesh file, or the folder of a run
        path: PathBuf,
    },
    /// Draws a picture or an animation
    Render(Render),
    /// Fills a closed surface with tetrahedra, or converts a mesh
    Mesh(Mesh),
    /// Parts surfaces that cross, and pulls out what is inside colliders, at the start and without simulating
    Untangle(Untangle),
    /// Writes the frames of a run in other formats
    Export(Export),
    /// Solves a linear system of your own
    Solve(Solve),
    /// Takes one step of a scene by several solvers: a table, a CSV file and a plot
    Compare(Compare),
    /// Shows a scene or a run in the browser: drag, pin, change, look inside
    View(View),
    /// Measures a figure or table of a paper and prints it next to the paper's numbers
    Reproduce(Reproduce),
}

/// Selects the scene and changes to it.
#[derive(Debug, Default, Args)]
pub(crate) struct SceneChoice {
    /// Scales the resolution of generated shapes and cells (0.25 for a quick look)
    #[arg(long, value_name = "R")]
    pub resolution: Option<f64>,
    /// Changes a value by its dotted path, such as body.cloth.material.young_modulus=1e5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Number of frames
    #[arg(long, value_name = "N")]
    pub frames: Option<u32>,
    /// The solver: a method, a linear solver, or both: lbfgs+jacobi
    #[arg(long, value_name = "NAME")]
    pub solver: Option<String>,
}

impl SceneChoice {
    /// Whether any option changes the scene.
    pub(crate) fn changes_something(&self) -> bool {
        self.resolution.is_some() || !self.sets.is_empty() || self.frames.is_some() || self.solver.is_some()
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct Run {
    /// A scene file, the name of a built-in scene, or a mesh file, which is dropped on a floor [default: demo]
    pub scene: Option<String>,
    #[command(flatten)]
    pub choice: SceneChoice,
    /// The run's folder [default: a new one under `out/`]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Removes an earlier run in the folder
    #[arg(long, conflicts_with_all = ["resume", "from"])]
    pub replace: bool,
    /// Exports when done, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub format: Vec<String>,
    /// Records every state that a step accepts in `states` of the folder, for an audit of crossings
    #[arg(long)]
    pub record_states: bool,
    /// Solves a tight Newton step after every step and reports how far it would still move: whether steps are truly converged
    #[arg(long)]
    pub verify_steps: bool,
    /// Stores force and pressure of contact on every vertex with each frame
    #[arg(long)]
    pub contact_forces: bool,
    /// Resume from the latest valid checkpoint in the folder
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Resumes from the latest checkpoint at or before frame K, with a changed scene
    #[arg(long, value_name = "K", requires = "out", conflicts_with = "resume")]
    pub from: Option<u32>,
}

/// Quantity shown by the colours.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Color {
    #[default]
    /// One colour per body
    Plain,
    /// Stretch
    Stretch,
    /// Von Mises stress: in Pa for solids, in N/m for cloth
    Stress,
    /// Pressure of contact in Pa, and vertices that are left out of contact; of a run if it was made with `--contact-forces`
    Contact,
    /// The solver's hierarchy: regions of coarse nodes, domains or coarse particles, and a slice through octants or cells
    Hierarchy,
}

#[derive(Debug, Args)]
pub(crate) struct Render {
    /// A run's folder, a scene file, a built-in scene's name, or a mesh file, which is dropped on a floor
    pub source: String,
    /// The picture (.png) or animation (.gif)
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub choice: SceneChoice,
    /// Frame shown in a picture [default: the last]
    #[arg(long, value_name = "K")]
    pub frame: Option<u32>,
    /// Quantity shown by the colours
    #[arg(long, value_enum, default_value_t = Color::Plain)]
    pub color: Color,
    /// Level of the hierarchy shown by the colours, counted from 1, the finest
    #[arg(long, value_name = "L", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub level: u32,
    /// Slice through octants and cells, given as an axis and a fraction of the body: x:0.5; everything in front of it
    /// is hidden
    #[arg(long, value_name = "AXIS:PART", default_value = "z:0.5", value_parser = slice)]
    pub slice: Slice,
    /// Camera position and target in metres: x,y,z,x,y,z [default: fits everything in view]
    #[arg(long, value_name = "EYE,TARGET", value_delimiter = ',', num_args = 1, allow_hyphen_values = true)]
    pub camera: Vec<f64>,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "960x720")]
    pub size: String,
    /// Draws polygon edges
    #[arg(long)]
    pub wireframe: bool,
    /// Use every N-th frame in an animation [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub every: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// A scene file, a built-in scene's name, a mesh file, which is dropped on a floor, or a run's folder
    #[arg(default_value = "demo")]
    pub source: String,
    #[command(flatten)]
    pub choice: SceneChoice,
    /// The port [default: a free one]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// Serves other devices too: an address of this computer, or 0.0.0.0 for all of them. Whoever has the printed address can
    /// use the page, over a connection that is not encrypted [default: 127.0.0.1, this computer only]
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<IpAddr>,
    /// Prints the address without opening a browser
    #[arg(long)]
    pub no_open: bool,
    /// Starts paused
    #[arg(long)]
    pub paused: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Mesh {
    /// The surface to fill, or the mesh to convert
    pub surface: PathBuf,
    /// Size of the tetrahedra in the file's unit; without it the mesh is only converted
    #[arg(long, value_name = "H")]
    pub cell: Option<f64>,
    /// The file to write
    #[arg(long, value_name = "BODY")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Untangle {
    /// A scene (file or built-in name), or a mesh file
    pub source: String,
    /// The mesh file to write; of a scene with several bodies one per body, with the body's name appended [default: NAME-untangled.obj]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The run's folder
    pub folder: PathBuf,
    /// Formats, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    pub format: Vec<String>,
    /// Where to write [default: `exports` in the run's folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A scene file or a built-in scene's name
    pub scene: String,
    /// The frame whose first step is compared; earlier frames are run with the scene's own solver
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub frame: u32,
    /// Solvers separated by commas: methods, linear solvers, or both as lbfgs+jacobi
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub solvers: Vec<String>,
    /// Where to write convergence.csv and convergence.svg
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Scales the resolution of generated shapes and cells (0.25 for a quick look)
    #[arg(long, value_name = "R")]
    pub resolution: Option<f64>,
    /// Changes a value by its dotted path, such as body.cloth.material.young_modulus=1e5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Time limit per solver in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub budget: f64,
    /// The residual at which a solver stops
    #[arg(long, value_name = "T", default_value_t = 1e-8)]
    pub tolerance: f64,
}

/// Options of `supple reproduce`.
#[derive(Debug, Args)]
pub struct Reproduce {
    /// Which figure or table [default: list all of them with their parameters]
    pub name: Option<String>,
    /// Changes a parameter of the reproduction
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Your own mesh in place of the built-in shape: a closed surface, or tetrahedra
    #[arg(long, value_name = "FILE")]
    pub mesh: Option<PathBuf>,
    /// Where to write the table (.csv) and the plots (.svg)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Solve {
    /// The symmetric positive-definite matrix: Matrix Market .mtx or SciPy .npz, 1 or 3 unknowns per node
    pub matrix: PathBuf,
    /// The right-hand side: .npy or .mtx
    #[arg(long, value_name = "B")]
    pub rhs: PathBuf,
    /// Positions of the nodes, N x 3: .npy or .mtx; without them the matrix graph is used for locality
    #[arg(long, value_name = "X")]
    pub positions: Option<PathBuf>,
    /// The linear solver
    #[arg(long, value_name = "NAME")]
    pub solver: String,
    /// Options of the solver, named as under `linear` in scenes, such as levels=[2000,100] or modes=12
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Stop when the residual's norm is this fraction of the right-hand side's
    #[arg(long, value_name = "T", default_value_t = 1e-6)]
    pub tolerance: f64,
    /// Stop after this many iterations
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_iterations: u32,
    /// Where to write the solution (.npy)
    #[arg(long, value_name = "X.npy")]
    pub out: Option<PathBuf>,
    /// Where to write iteration, seconds and relative residual (.csv)
    #[arg(long, value_name = "H.csv")]
    pub history: Option<PathBuf>,
}

/// Reads `x:0.5`.
fn slice(text: &str) -> Result<Slice, String> {
    let read = text.split_once(':').and_then(|(axis, share)| {
        let axis = ["x", "y", "z"].iter().position(|name| *name == axis)?;
        let share: f64 = share.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
        Some(Slice { axis, share })
    });
    read.ok_or_else(|| "write it as x:0.5: an axis and a fraction from 0 to 1".into())
}
