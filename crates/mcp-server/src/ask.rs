//! Questions to the client while a handler works: how they are carried, elicitation with its attempts, sampling with its
//! strategy.

mod carry;
mod elicit;
mod sampler;

pub use elicit::{Elicitation, ElicitationRequest};
pub use sampler::{Decision, Sampled, Sampler, SamplingSettings, Strategy};
