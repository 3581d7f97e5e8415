//! `supple view`: a running simulation, or the frames of a run, on a page in the browser.
//!
//! | what | file |
//! | --- | --- |
//! | the simulation and its clock | `live.rs`, `changes.rs` (the scene changed while it runs), `controls.rs` (what can be changed) |
//! | a run on disk with a timeline | `playback.rs` |
//! | exchange of frames and requests with the clients | `hub.rs` |
//! | messages | `message.rs`, `snapshot.rs` (frames), `state.rs` |
//! | the local server | `server.rs`, `guard.rs` (token and origin), `client.rs` (one WebSocket), `assets.rs` (the page) |
//! | the user's browser | `browser.rs` |

mod assets;
mod browser;
mod changes;
mod client;
mod clock;
mod controls;
mod guard;
mod hub;
mod live;
mod message;
mod playback;
mod server;
mod snapshot;
mod state;

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use serde_json::json;

use crate::arguments::{Common, View};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::line;
use crate::scenes::choose;

/// Shows a scene or a run until Ctrl-C.
pub(crate) fn view(options: &View, common: &Common) -> Result<ExitCode, Failure> {
    let folder = Path::new(&options.source);
    let hub = hub::Hub::new();
    if folder.is_dir() {
        if options.choice.changes_something() {
            let problem = "is a run: --resolution, --set, --frames and --solver have no effect on it";
            return Err(Failure::usage(anyhow!("{} {problem}", folder.display())));
        }
        if options.paused {
            let problem = "is a run, which is played back, not simulated: omit --paused";
            return Err(Failure::usage(anyhow!("{} {problem}", folder.display())));
        }
        let mut player =
            playback::Player::open(folder, hub.clone(), &common.steppers).map_err(Failure::usage)?;
        announce(options, common, hub)?;
        player.run();
    } else {
        let scene = choose(&options.source, &options.choice, common)?;
        let mut live = live::Live::new(scene, common.simd.into(), hub.clone(), &common.steppers)
            .map_err(Failure::usage)?;
        live.pause(options.paused);
        announce(options, common, hub)?;
        live.run();
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the server, prints its address, and opens the page.
fn announce(options: &View, common: &Common, hub: std::sync::Arc<hub::Hub>) -> Result<(), Failure> {
    let address = server::start(options.port.unwrap_or(0), hub).map_err(Failure::usage)?;
    interrupt::install_immediate_handler();
    if common.json {
        line(json!({ "address": address }));
    } else {
        line(format!("{address}\npress Ctrl-C to stop"));
    }
    if !options.no_open {
        browser::open(&address);
    }
    Ok(())
}
