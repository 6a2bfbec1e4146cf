//! The stdio server as a host meets it: the real binary on pipes, a real backend or the system inside, both databases.

mod apps;
mod faults;
mod host;
mod path;
mod wizard;
