//! Passwords: hashed with argon2id, a few at a time, because each takes memory and a while on purpose.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use spexus_domain::{Code, Refusal, Ruled};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Hashes computed at once.
const MAX_AT_ONCE: usize = 2;

/// What hashing a password costs.
#[derive(Clone, Copy, Debug)]
pub struct PasswordCost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
}

impl Default for PasswordCost {
    /// What OWASP recommends for argon2id.
    fn default() -> Self {
        Self {
            memory_kib: 19_456,
            passes: 2,
        }
    }
}

impl PasswordCost {
    /// As cheap as the algorithm allows.
    pub fn for_testing() -> Self {
        Self {
            memory_kib: 8,
            passes: 1,
        }
    }
}

/// Hashes and checks passwords.
pub(crate) struct Passwords {
    argon: Argon2<'static>,
    at_once: Semaphore,
    /// Checked against when there is no such user, so that the answer takes as long as for one there is.
    nobody: String,
}

impl Passwords {
    pub(crate) fn new(cost: PasswordCost) -> Ruled<Self> {
        let params = Params::new(cost.memory_kib, cost.passes, 1, None).map_err(|error| {
            Refusal::field(
                Code::InvalidParams,
                "password_cost",
                error.to_string(),
                "at least 8 KiB and 1 pass",
            )
        })?;
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = hash(&argon, "nobody has this password")?;
        Ok(Self {
            argon,
            at_once: Semaphore::new(MAX_AT_ONCE),
            nobody,
        })
    }

    /// The hash of a password, in its own text form.
    pub(crate) async fn hash(&self, password: &str) -> Ruled<String> {
        let _turn = self.turn().await?;
        let (argon, password) = (self.argon.clone(), password.to_owned());
        aside(move || hash(&argon, &password)).await?
    }

    /// Waits until it is one's turn to hash.
    pub(crate) async fn turn(&self) -> Ruled<SemaphorePermit<'_>> {
        self.at_once.acquire().await.map_err(|_| broken())
    }

    /// Whether a password fits a hash; without a hash it takes as long and never fits. It is the caller's turn.
    pub(crate) async fn fits(
        &self,
        _turn: &SemaphorePermit<'_>,
        password: &str,
        known: Option<&str>,
    ) -> Ruled<bool> {
        let (argon, password) = (self.argon.clone(), password.to_owned());
        let (exists, hash) = (known.is_some(), known.unwrap_or(&self.nobody).to_owned());
        let fits = aside(move || {
            let parsed = PasswordHash::new(&hash).map_err(|_| broken())?;
            Ok::<bool, Refusal>(argon.verify_password(password.as_bytes(), &parsed).is_ok())
        })
        .await??;
        Ok(fits && exists)
    }
}

/// Runs slow work beside the threads that answer requests.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Ruled<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| broken())
}

fn hash(argon: &Argon2<'_>, password: &str) -> Ruled<String> {
    argon
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|_| broken())
}

fn broken() -> Refusal {
    Refusal::new(Code::InternalError, "the password could not be processed")
}
