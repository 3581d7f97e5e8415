//! Connects clients and the source of frames (a simulation, or a run on disk). Frames: the newest wins, and one is
//! built only when a client is ready for it, so that slow clients cost nothing. Requests: a bounded queue.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::ws::{Message, Utf8Bytes};
use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::message::PageRequest;
use super::snapshot::Snapshot;

/// Maximum number of clients.
const MAX_CLIENTS: usize = 32;
/// Maximum number of pending requests.
const MAX_PENDING_REQUESTS: usize = 256;
/// Maximum number of pending answers per client; more are dropped.
const MAX_PENDING_ANSWERS: usize = 4;

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClientId(u64);

/// An event of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Requested(PageRequest),
    Left,
}

/// Work during which the source handles no requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// A time step.
    Step,
    /// Bodies and solver of a scene are built.
    Building,
}

#[derive(Default)]
struct Clients {
    mailboxes: HashMap<ClientId, mpsc::Sender<Message>>,
    last: u64,
}

/// Shared state between clients and the source.
pub(super) struct Hub {
    queue: Mutex<VecDeque<(ClientId, Event)>>,
    arrived: Condvar,
    /// Whether a client waits for a frame.
    wanted: AtomicBool,
    frames: watch::Sender<Option<Arc<Snapshot>>>,
    state: watch::Sender<Utf8Bytes>,
    clients: Mutex<Clients>,
    /// The work in progress, and since when.
    work: Mutex<Option<(Work, Instant)>>,
}

/// A client's slot; when it is dropped, the source is notified.
pub(super) struct ClientSlot {
    hub: Arc<Hub>,
    id: ClientId,
    pub(super) mailbox: mpsc::Receiver<Message>,
    pub(super) frames: watch::Receiver<Option<Arc<Snapshot>>>,
    pub(super) state: watch::Receiver<Utf8Bytes>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::default(),
            arrived: Condvar::new(),
            wanted: AtomicBool::new(false),
            frames: watch::Sender::new(None),
            state: watch::Sender::new(Utf8Bytes::from_static("")),
            clients: Mutex::default(),
            work: Mutex::default(),
        })
    }

    /// Admits a client; `None` if there are too many.
    pub(super) fn join(self: &Arc<Self>) -> Option<ClientSlot> {
        let mut clients = lock(&self.clients);
        if clients.mailboxes.len() >= MAX_CLIENTS {
            return None;
        }
        clients.last += 1;
        let id = ClientId(clients.last);
        let (sender, mailbox) = mpsc::channel(MAX_PENDING_ANSWERS);
        clients.mailboxes.insert(id, sender);
        drop(clients);
        let (mut frames, mut state) = (self.frames.subscribe(), self.state.subscribe());
        frames.mark_changed();
        state.mark_changed();
        self.want_frame();
        Some(ClientSlot { hub: self.clone(), id, mailbox, frames, state })
    }

    /// A client is ready for a frame.
    fn want_frame(&self) {
        // Under the queue's lock, or the source could miss it between checking and waiting.
        let _queue = lock(&self.queue);
        self.wanted.store(true, Ordering::SeqCst);
        self.arrived.notify_one();
    }

    /// Whether a client waits for a frame.
    pub(super) fn frame_is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }

    /// Does work that is reported to clients while it lasts.
    pub(super) fn during<T>(&self, work: Work, perform: impl FnOnce() -> T) -> T {
        *lock(&self.work) = Some((work, Instant::now()));
        let done = perform();
        *lock(&self.work) = None;
        done
    }

    /// The work in progress, and for how long already.
    pub(super) fn work(&self) -> Option<(Work, Duration)> {
        lock(&self.work).map(|(work, since)| (work, since.elapsed()))
    }

    /// Publishes a frame in place of the previous one.
    pub(super) fn publish(&self, snapshot: Snapshot) {
        self.wanted.store(false, Ordering::SeqCst);
        self.frames.send_replace(Some(Arc::new(snapshot)));
    }

    /// Sends the state to all clients if it has changed.
    pub(super) fn set_state(&self, state: String) {
        self.state.send_if_modified(|known| {
            let changed = known.as_str() != state;
            *known = state.into();
            changed
        });
    }

    /// Answers one client. One that does not read its answers loses them.
    pub(super) fn answer(&self, client: ClientId, message: Message) {
        if let Some(mailbox) = lock(&self.clients).mailboxes.get(&client) {
            let _ = mailbox.try_send(message);
        }
    }

    /// Waits until there is a request, or a client wants a frame and `has_news` is true, but no longer than the
    /// timeout. Returns the requests.
    pub(super) fn wait(&self, longest: Duration, has_news: bool) -> VecDeque<(ClientId, Event)> {
        let queue = lock(&self.queue);
        let idle = |queue: &mut VecDeque<_>| queue.is_empty() && !(has_news && self.frame_is_wanted());
        let waited = self.arrived.wait_timeout_while(queue, longest, idle);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *queue)
    }
}

impl ClientSlot {
    /// Forwards a request. The error states why it is rejected.
    pub(super) fn ask(&self, request: PageRequest) -> Result<(), String> {
        let mut queue = lock(&self.hub.queue);
        let last = queue.iter_mut().rev().find(|(id, _)| *id == self.id);
        if let Some((_, Event::Requested(last))) = last
            && last.is_replaced_by(&request)
        {
            *last = request;
        } else if queue.len() >= MAX_PENDING_REQUESTS {
            return Err("too many requests are pending; this one was dropped".into());
        } else {
            queue.push_back((self.id, Event::Requested(request)));
        }
        self.hub.arrived.notify_one();
        Ok(())
    }

    /// The source's work in progress, and for how long already.
    pub(super) fn work(&self) -> Option<(Work, Duration)> {
        self.hub.work()
    }

    /// The client is ready for a frame.
    pub(super) fn want_frame(&self) {
        self.hub.want_frame();
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        lock(&self.hub.clients).mailboxes.remove(&self.id);
        lock(&self.hub.queue).push_back((self.id, Event::Left));
        self.hub.arrived.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn only_the_newest_drag_waits_and_the_queue_is_bounded() {
        let hub = Hub::new();
        let slot = hub.join().unwrap();
        for x in 0..1000 {
            slot.ask(PageRequest::Drag { target: DVec3::X * f64::from(x) }).unwrap();
        }
        let waiting = hub.wait(Duration::ZERO, false);
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].1, Event::Requested(PageRequest::Drag { target: DVec3::X * 999.0 }));
        let accepted = (0..1000).filter(|_| slot.ask(PageRequest::Step {}).is_ok()).count();
        assert_eq!(accepted, MAX_PENDING_REQUESTS);
    }

    #[test]
    fn clients_are_bounded_and_their_leaving_is_announced() {
        let hub = Hub::new();
        let mut slots: Vec<ClientSlot> = std::iter::from_fn(|| hub.join()).collect();
        assert_eq!(slots.len(), MAX_CLIENTS);
        let missing = slots.pop().unwrap().id;
        assert!(hub.join().is_some());
        assert_eq!(hub.wait(Duration::ZERO, false)[0], (missing, Event::Left));
    }

    #[test]
    fn a_client_that_does_not_read_its_answers_loses_them() {
        let hub = Hub::new();
        let mut slot = hub.join().unwrap();
        (0..100).for_each(|_| hub.answer(slot.id, Message::text("answer")));
        let kept = std::iter::from_fn(|| slot.mailbox.try_recv().ok()).count();
        assert_eq!(kept, MAX_PENDING_ANSWERS);
    }
}
