//! The local HTTP server: the page's files and the WebSocket, all behind the [`Guard`].

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::guard::Guard;
use super::hub::Hub;
use super::message::MAX_REQUEST_LENGTH;
use super::{assets, client};
use crate::print::notice;

/// Only the page's own files are loaded, and no other page may embed it in a frame.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Binds a port on loopback (any free one if it is 0) and starts to serve on its own thread. Returns the address.
pub(super) fn start(port: u16, hub: Arc<Hub>) -> anyhow::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
        format!("cannot listen on 127.0.0.1:{port}; choose another --port, or omit it to use a free one")
    })?;
    listener.set_nonblocking(true)?;
    let guard = Guard::new(listener.local_addr()?.port()).context("no random numbers for the token")?;
    let address = guard.address();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("server".into()).spawn(move || {
        runtime.block_on(async {
            let served = match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => axum::serve(listener, router(guard, hub)).await,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                notice(format_args!("supple: the server stopped: {error}"));
            }
        });
    })?;
    Ok(address)
}

fn router(guard: Guard, hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/{token}/", get(index))
        .route("/{token}/socket", get(socket))
        .route("/{token}/{*file}", get(file))
        .with_state(hub)
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

async fn socket(State(hub): State<Arc<Hub>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(MAX_REQUEST_LENGTH)
        .max_frame_size(MAX_REQUEST_LENGTH)
        // A frame is sent immediately: it must not wait for the next one (Nagle's algorithm).
        .write_buffer_size(0)
        .on_upgrade(|socket| client::serve(socket, hub))
}
