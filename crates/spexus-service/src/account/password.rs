//! Passwords: hashed with argon2id, a few at a time, because each takes memory and a while on purpose.

use crate::setup;
use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use spexus_domain::{Code, Refusal, Ruled};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// How many may wait for their turn in each lane.
const MAX_WAITING: usize = 16;
/// How long one waits for one's turn.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The memory of a hash is asked for in a piece so large that the allocator maps it and gives it back when it is freed:
/// glibc keeps freed pieces of up to 32 MiB, for each thread that ever hashed. What is not touched costs nothing.
const MAPPED_BYTES: usize = 33 << 20;
const SALT_BYTES: usize = 16;

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

/// Who waits for whom: those who come from where they always come from do not wait behind strangers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Somebody who is logged in, or who logs in from a network that was good before.
    Familiar,
    /// Everybody else.
    Stranger,
}

/// Hashes and checks passwords, one at a time in each lane.
pub(crate) struct Passwords {
    params: Params,
    familiar: Queue,
    strangers: Queue,
    /// Checked against when there is no such user, so that the answer takes as long as for one there is.
    nobody: String,
}

struct Queue {
    place: Semaphore,
    waiting: AtomicUsize,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            place: Semaphore::new(1),
            waiting: AtomicUsize::new(0),
        }
    }
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
        let nobody = hash(&params, "nobody has this password")?;
        Ok(Self {
            params,
            familiar: Queue::default(),
            strangers: Queue::default(),
            nobody,
        })
    }

    /// The hash of a password, in its own text form, for somebody who is logged in.
    pub(crate) async fn hash(&self, password: &str) -> Ruled<String> {
        let _turn = self.turn(Lane::Familiar).await?;
        let (params, password) = (self.params.clone(), password.to_owned());
        run_blocking(move || hash(&params, &password)).await?
    }

    /// Waits until it is one's turn to hash, not for long and not behind too many.
    //= specs/spexus-service.md#logging-in
    //# Those who wait for a password to be checked MUST be limited in number and time, and those from familiar networks MUST NOT wait behind others.
    pub(crate) async fn turn(&self, lane: Lane) -> Ruled<SemaphorePermit<'_>> {
        let queue = match lane {
            Lane::Familiar => &self.familiar,
            Lane::Stranger => &self.strangers,
        };
        let waits = Waits::join(&queue.waiting).ok_or_else(busy)?;
        let turn = tokio::time::timeout(MAX_WAIT, queue.place.acquire()).await;
        drop(waits);
        turn.map_err(|_| busy())?.map_err(|_| broken())
    }

    /// Whether a password fits a hash; without a hash it takes as long and never fits. It is the caller's turn.
    pub(crate) async fn fits(
        &self,
        _turn: &SemaphorePermit<'_>,
        password: &str,
        known: Option<&str>,
    ) -> Ruled<bool> {
        let password = password.to_owned();
        let (exists, known) = (known.is_some(), known.unwrap_or(&self.nobody).to_owned());
        let fits = run_blocking(move || fits(&password, &known)).await??;
        Ok(fits && exists)
    }
}

/// One of those who wait.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn join(waiting: &'a AtomicUsize) -> Option<Self> {
        let one = Self(waiting);
        (waiting.fetch_add(1, Ordering::AcqRel) < MAX_WAITING).then_some(one)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs slow work beside the threads that answer requests.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Ruled<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| broken())
}

fn hash(params: &Params, password: &str) -> Ruled<String> {
    let random = setup::random_bytes()?;
    let salt = random.get(..SALT_BYTES).unwrap_or_default();
    let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    digest(&argon, password, salt, &mut output)?;
    let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
    let (salt, output) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(output));
    Ok(format!(
        "$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${output}"
    ))
}

/// Whether a password has this hash, made with whatever cost the hash names.
fn fits(password: &str, hash: &str) -> Ruled<bool> {
    let parsed = PasswordHash::new(hash).map_err(|_| broken())?;
    let params = Params::try_from(&parsed).map_err(|_| broken())?;
    let algorithm = Algorithm::try_from(parsed.algorithm.as_str()).map_err(|_| broken())?;
    let version = parsed.version.map_or(Ok(Version::V0x13), Version::try_from);
    let argon = Argon2::new(algorithm, version.map_err(|_| broken())?, params);
    let (Some(salt), Some(expected)) = (parsed.salt, parsed.hash) else {
        return Err(broken());
    };
    let mut output = vec![0; expected.as_bytes().len()];
    digest(&argon, password, &salt, &mut output)?;
    // Compared in constant time.
    Ok(Output::new(&output).is_ok_and(|output| output == expected))
}

fn digest(argon: &Argon2<'_>, password: &str, salt: &[u8], output: &mut [u8]) -> Ruled<()> {
    let blocks = argon.params().block_count();
    let mut memory = Vec::with_capacity(blocks.max(MAPPED_BYTES / Block::SIZE));
    memory.resize(blocks, Block::new());
    argon
        .hash_password_into_with_memory(password.as_bytes(), salt, output, &mut memory[..])
        .map_err(|_| broken())
}

fn busy() -> Refusal {
    Refusal::new(
        Code::ConcurrentLimitExceeded,
        "too many passwords are being checked",
    )
    .hint("Try again in a moment.")
    .fact("retry_after_seconds", 1)
}

fn broken() -> Refusal {
    Refusal::new(Code::InternalError, "the password could not be processed")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hash as the versions before this one wrote it.
    const OLD: &str = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$";

    #[test]
    fn a_password_fits_its_own_hash_and_no_other() {
        let params = Params::new(8, 1, 1, None).unwrap();
        let one = hash(&params, "long enough").unwrap();
        assert_ne!(one, hash(&params, "long enough").unwrap(), "salted");
        assert!(fits("long enough", &one).unwrap() && !fits("long enougH", &one).unwrap());
        // What the library itself writes and what we write are one form.
        let theirs = argon2::PasswordHasher::hash_password(&Argon2::from(params.clone()), b"long enough");
        assert!(fits("long enough", &theirs.unwrap().to_string()).unwrap());
        let ours = PasswordHash::new(&one).unwrap();
        argon2::PasswordVerifier::verify_password(&Argon2::from(params), b"long enough", &ours).unwrap();
        assert!(fits("x", OLD).is_err(), "a hash without an output fits nothing");
    }

    //= specs/spexus-service.md#logging-in
    //= type=test
    //# Those who wait for a password to be checked MUST be limited in number and time, and those from familiar networks MUST NOT wait behind others.
    #[tokio::test(start_paused = true)]
    async fn strangers_wait_for_a_bounded_time_and_keep_nobody_familiar_out() {
        let passwords = Passwords::new(PasswordCost::for_testing()).unwrap();
        let first = passwords.turn(Lane::Stranger).await.unwrap();
        let waiting = (0..MAX_WAITING).map(|_| passwords.turn(Lane::Stranger));
        let waiting = futures_util::future::join_all(waiting);
        let more = async {
            let refused = passwords.turn(Lane::Stranger).await.map(drop).unwrap_err();
            assert_eq!(refused.code, Code::ConcurrentLimitExceeded, "the queue is full");
            drop(passwords.turn(Lane::Familiar).await.unwrap());
        };
        let (waited, ()) = tokio::join!(waiting, more);
        assert!(waited.iter().all(Result::is_err), "nobody waits for ever");
        drop((waited, first));
        passwords.turn(Lane::Stranger).await.map(drop).unwrap();
    }
}
