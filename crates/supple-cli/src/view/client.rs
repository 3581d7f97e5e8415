//! One WebSocket. At most one frame is sent before the page acknowledges that the last one is on the screen; if a
//! client does not read, only its own task waits.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::hub::{ClientSlot, Hub};
use super::message::{self, PageRequest};
use super::snapshot::Snapshot;

/// How often a client hears of long work.
const PULSE: Duration = Duration::from_millis(500);

/// The connection is over.
struct Disconnected;

/// The state of a client.
struct ClientState {
    socket: WebSocket,
    slot: ClientSlot,
    /// Whether it has received the state, without which no frame makes sense.
    has_state: bool,
    /// Whether the last frame is on the screen.
    is_ready: bool,
    /// The topology last sent to it.
    topology: Option<u64>,
    /// When to look for long work.
    pulse: Interval,
    /// Whether it knows that work is in progress.
    knows_of_work: bool,
}

/// Serves a client until it disconnects.
pub(super) async fn serve(mut socket: WebSocket, hub: Arc<Hub>) {
    let Some(slot) = hub.join() else {
        let reason = "too many pages are open for this simulation: close some".into();
        let _ = socket.send(Message::Close(Some(CloseFrame { code: close_code::AGAIN, reason }))).await;
        return;
    };
    let mut pulse = interval(PULSE);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut client = ClientState {
        socket,
        slot,
        has_state: false,
        is_ready: true,
        topology: None,
        pulse,
        knows_of_work: false,
    };
    while client.turn().await.is_ok() {}
}

impl ClientState {
    /// Handles the next event.
    async fn turn(&mut self) -> Result<(), Disconnected> {
        tokio::select! {
            received = self.socket.recv() => self.receive(received).await,
            changed = self.slot.state.changed() => {
                changed.map_err(|_| Disconnected)?;
                let state = self.slot.state.borrow_and_update().clone();
                self.has_state |= !state.is_empty();
                if state.is_empty() { Ok(()) } else { self.send(Message::Text(state)).await }
            }
            _ = self.pulse.tick() => self.tell_of_work().await,
            answer = self.slot.mailbox.recv() => self.send(answer.ok_or(Disconnected)?).await,
            changed = self.slot.frames.changed(), if self.has_state && self.is_ready => {
                changed.map_err(|_| Disconnected)?;
                let newest = self.slot.frames.borrow_and_update().clone();
                match newest {
                    Some(snapshot) => self.show(&snapshot).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Long work is reported while it lasts, so that the page does not look frozen; so is its end.
    async fn tell_of_work(&mut self) -> Result<(), Disconnected> {
        let work = self.slot.work().filter(|(_, lasts)| *lasts >= PULSE);
        if work.is_none() && !self.knows_of_work {
            return Ok(());
        }
        self.knows_of_work = work.is_some();
        self.send(message::work(work)).await
    }

    async fn show(&mut self, snapshot: &Snapshot) -> Result<(), Disconnected> {
        if self.topology != Some(snapshot.topology.id) {
            self.topology = Some(snapshot.topology.id);
            self.send(Message::Binary(snapshot.topology.message.clone())).await?;
        }
        self.is_ready = false;
        self.send(Message::Binary(snapshot.message.clone())).await
    }

    async fn receive(&mut self, received: Option<Result<Message, axum::Error>>) -> Result<(), Disconnected> {
        let problem = match received {
            None | Some(Ok(Message::Close(_))) => return Err(Disconnected),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Err(_)) => {
                // Too long, or not a WebSocket at all: nothing after it can be parsed.
                let reason = "a message that is too long or malformed".into();
                let close = Message::Close(Some(CloseFrame { code: close_code::POLICY, reason }));
                self.send(close).await?;
                return Err(Disconnected);
            }
            Some(Ok(Message::Binary(_))) => Err("messages to the program must be JSON text".to_owned()),
            Some(Ok(Message::Text(text))) => match PageRequest::read(&text) {
                Ok(PageRequest::Drawn {}) => {
                    self.is_ready = true;
                    self.slot.want_frame();
                    Ok(())
                }
                Ok(request) => self.slot.ask(request),
                Err(problem) => Err(problem),
            },
        };
        match problem {
            Ok(()) => Ok(()),
            Err(problem) => self.send(message::error(&problem)).await,
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), Disconnected> {
        self.socket.send(message).await.map_err(|_| Disconnected)
    }
}
