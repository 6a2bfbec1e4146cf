//! The stdio server as a host meets it: the real binary on pipes, a real backend or the system inside, both databases.

mod apps;
mod criteria;
mod everywhere;
mod faults;
pub(crate) mod host;
mod methods;
mod path;
mod tls;
mod wizard;
