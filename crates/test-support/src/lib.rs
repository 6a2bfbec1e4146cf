//! What the tests of several crates share.
//!
//! Tests here meet real things: a real PostgreSQL beside SQLite, not a double that agrees with us. So the first thing a
//! store test needs is an empty database that costs little to get and leaves nothing behind, and [`fresh_database`] is
//! that: a line in a test, one cluster for a whole run, and no trace of it afterwards, however the run ended.
//!
//! The decision that shaped this crate: whatever must be cleaned up is cleaned up by *another process* that waits for
//! ours to end. Destructors do not run when a test is killed or aborts, and clusters left behind fill a machine.
//!
//! Whoever speaks MCP with what is tested does so with the clients in [`mcp`], and whoever waits does so with
//! [`eventually`]: no test guesses how long something takes. A story that holds on both engines is a line of [`both!`].
//!
//! Nothing of the product may depend on it, except as a dev-dependency.

mod corpora;
#[cfg(feature = "store")]
mod held_writer;
pub mod mcp;
mod postgres;
mod references;
mod stories;
mod waiting;

#[cfg(feature = "store")]
pub use held_writer::HeldWriter;

pub use corpora::corpora;
pub use postgres::{
    ADMIN_URL_VARIABLE, REQUIRED_VARIABLE, Server, durable_postgres, fresh_database, postgres,
    restored_database,
};
pub use references::references_without;
pub use waiting::{PATIENCE, eventually, eventually_blocking, in_time, settled, until};
