//! `supple view`: a running simulation, or the frames of a run, on a page in the browser.
//!
//! | what | file |
//! | --- | --- |
//! | the simulation and its clock | `live.rs`, `clock.rs`, `pace.rs` (the achieved speed), `changes.rs` (the scene changed while it runs), `controls.rs` (what can be changed) |
//! | files dropped onto the page, advice for slow simulations | `dropped.rs`, `advice.rs` |
//! | a run on disk with a timeline | `playback.rs` |
//! | exchange of frames and requests with the clients | `hub.rs` |
//! | messages | `message.rs`, `snapshot.rs` (frames), `state.rs` |
//! | the local server | `server.rs`, `guard.rs` (token and origin), `client.rs` (one WebSocket), `assets.rs` (the page) |
//! | the user's browser | `browser.rs` |

mod advice;
mod assets;
mod browser;
mod changes;
mod client;
mod clock;
mod controls;
mod dropped;
mod guard;
mod hub;
mod live;
mod message;
mod pace;
mod playback;
mod server;
mod snapshot;
mod state;

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

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
    let files = Arc::new(dropped::DroppedFiles::default());
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
        announce(options, common, hub, files)?;
        player.run();
    } else {
        let scene = choose(&options.source, &options.choice, common)?;
        let simd = common.simd.into();
        let mut live = live::Live::new(scene, simd, hub.clone(), files.clone(), &common.steppers)
            .map_err(Failure::usage)?;
        live.pause(options.paused);
        announce(options, common, hub, files.clone())?;
        live.run();
        files.remove();
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the server, prints its addresses, and opens the page.
fn announce(
    options: &View,
    common: &Common,
    hub: Arc<hub::Hub>,
    files: Arc<dropped::DroppedFiles>,
) -> Result<(), Failure> {
    let host = options.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let addresses = server::start(host, options.port.unwrap_or(0), hub, files).map_err(Failure::usage)?;
    interrupt::install_immediate_handler();
    let server::Addresses { own, network } = &addresses;
    if common.json {
        line(json!({ "address": own, "network": network }));
    } else {
        line(own);
        if let Some(network) = network {
            line(format!("on a phone or another computer in the same network: {network}"));
            line("whoever has this address can use the page, and the connection is not encrypted");
        }
        line("press Ctrl-C to stop");
    }
    if !options.no_open {
        browser::open(own);
    }
    Ok(())
}
