//! `supple view` as browsers and others meet it: the protocol, what is refused, many clients, and the page itself.

mod crowd;
mod page;
mod program;
mod protocol;
mod recorded;
mod safety;
