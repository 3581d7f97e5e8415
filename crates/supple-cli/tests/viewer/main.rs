//! `supple view` as browsers and other clients see it: the protocol, rejected input, many clients, and the page itself.

mod crowd;
mod page;
mod program;
mod protocol;
mod recorded;
mod safety;
