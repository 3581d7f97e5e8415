//! The HTTP server: the page's files, the WebSocket and files dropped onto the page, all behind the [`Guard`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use serde_json::json;
use supple::scene::builtin_scenes;

use super::dropped::{DroppedFiles, MAX_FILE_BYTES};
use super::guard::Guard;
use super::hub::Hub;
use super::message::MAX_REQUEST_LENGTH;
use super::{assets, client};
use crate::print::notice;

/// Only the page's own files are loaded, and no other page may embed it in a frame.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The addresses of the page.
pub(super) struct Addresses {
    /// For this computer.
    pub(super) own: String,
    /// For other devices, if they are served and this computer is in a network.
    pub(super) network: Option<String>,
}

/// What requests are served from.
#[derive(Clone)]
struct Sources {
    hub: Arc<Hub>,
    files: Arc<DroppedFiles>,
}

/// Binds a port on an address of this computer (any free port if it is 0) and starts to serve on its own thread.
pub(super) fn start(
    host: IpAddr,
    port: u16,
    hub: Arc<Hub>,
    files: Arc<DroppedFiles>,
) -> anyhow::Result<Addresses> {
    let listener = TcpListener::bind((host, port)).with_context(|| {
        let remedy = match host.is_loopback() {
            true => "choose another --port, or omit it to use a free one",
            false => {
                "--host takes an address of this computer, or 0.0.0.0 for all of them, and --port a free port"
            }
        };
        format!("cannot listen on {}; {remedy}", SocketAddr::new(host, port))
    })?;
    listener.set_nonblocking(true)?;
    let guard = Guard::new(listener.local_addr()?).context("no random numbers for the token")?;
    let addresses = addresses(&guard, host);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("server".into()).spawn(move || {
        runtime.block_on(async {
            let served = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => axum::serve(listener, router(guard, Sources { hub, files })).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                notice(format_args!("supple: the server stopped: {error}"));
            }
        });
    })?;
    Ok(addresses)
}

fn addresses(guard: &Guard, host: IpAddr) -> Addresses {
    let own = match host {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    let network = if host.is_unspecified() { address_in_network(host) } else { Some(host) };
    let network = network.filter(|address| !address.is_loopback());
    Addresses { own: guard.address(own), network: network.map(|address| guard.address(address)) }
}

/// The address under which other devices know this computer: that from which it would send. Nothing is sent.
fn address_in_network(any: IpAddr) -> Option<IpAddr> {
    // Addresses that are reserved for documentation (RFC 5737 and RFC 3849) are beyond every local network.
    let elsewhere: IpAddr = match any {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((elsewhere, 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

fn router(guard: Guard, sources: Sources) -> Router {
    Router::new()
        .route("/{token}/", get(index))
        .route("/{token}/socket", get(socket))
        .route("/{token}/scenes.json", get(scenes))
        .route("/{token}/dropped/{drop}/{name}", put(dropped))
        .route("/{token}/{*file}", get(file))
        .with_state(sources)
        .layer(middleware::from_fn_with_state(Arc::new(guard), check))
}

async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Err(refusal) = guard.check(request.uri().path(), request.headers()) {
        return refusal.into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn index() -> Response {
    asset("")
}

async fn file(Path((_, name)): Path<(String, String)>) -> Response {
    asset(&name)
}

fn asset(name: &str) -> Response {
    match assets::find(name) {
        Some((kind, bytes)) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "the page has no such file").into_response(),
    }
}

/// The built-in scenes, and the limit of dropped files.
async fn scenes() -> Response {
    let scenes: Vec<_> = builtin_scenes()
        .iter()
        .map(|(name, description, _)| json!({ "name": name, "description": description }))
        .collect();
    let about = json!({ "scenes": scenes, "max_file_bytes": MAX_FILE_BYTES });
    ([(header::CONTENT_TYPE, "application/json")], about.to_string()).into_response()
}

/// Keeps a file that was dropped onto the page.
async fn dropped(
    Path((_, drop, name)): Path<(String, u32, String)>,
    State(sources): State<Sources>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let bytes = match announced.and_then(|length| length.parse::<usize>().ok()) {
        Some(length) if length > MAX_FILE_BYTES => None,
        _ => to_bytes(body, MAX_FILE_BYTES).await.ok(),
    };
    let Some(bytes) = bytes else {
        let most = MAX_FILE_BYTES >> 20;
        let problem = format!("`{name}` is larger than {most} MB: open it by `supple view FILE`");
        return (StatusCode::PAYLOAD_TOO_LARGE, problem).into_response();
    };
    let kept = tokio::task::spawn_blocking(move || sources.files.keep(drop, &name, &bytes)).await;
    match kept {
        Ok(Ok(())) => StatusCode::NO_CONTENT.into_response(),
        Ok(Err(problem)) => (StatusCode::BAD_REQUEST, problem).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the file could not be kept").into_response(),
    }
}

async fn socket(State(Sources { hub, .. }): State<Sources>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(MAX_REQUEST_LENGTH)
        .max_frame_size(MAX_REQUEST_LENGTH)
        // A frame is sent immediately: it must not wait for the next one (Nagle's algorithm).
        .write_buffer_size(0)
        .on_upgrade(|socket| client::serve(socket, hub))
}
