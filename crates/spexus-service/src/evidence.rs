//! Evidence: what CI and people push about a commit, and what that makes of each item.
//!
//! A push is one transaction: its documents are kept as they are, its digest is sealed by a change in the project's ledger, and where
//! items stand is made anew from all that is known of the commit that is traced. Everybody who asks reads that one table.

mod affected;
mod body;
mod carried;
mod check;
mod derive;
mod documents;
mod ground;
mod matrix;
mod pack;
mod past;
mod push;
mod read;
mod review;
pub mod scan;
mod traced;

pub use affected::ChangedSince;
pub use body::{PushBody, ReportBody, ReportQuery};
pub(crate) use carried::TraceKeeper;
pub(crate) use check::requirements_below;
pub use check::{CheckQuery, CheckReport, TraceGap, check, gaps};
pub use matrix::{EvidenceRun, MatrixRow, TraceMatrix, matrix};
pub use pack::{EvidenceSource, PushedSource, SourceForm};
pub use past::{TimelinePoint, timeline};
pub use push::{NewPush, PushAnswer, push};
pub(crate) use read::read_trace;
pub use read::{TraceAnswer, trace};
pub use review::{NewReview, review};
