//! Signed checkpoints: the key, which is never in the database, the file they are kept in, and the task that makes them while
//! a server runs.

use crate::config::{AuditSettings, refused};
use crate::failure::{Failure, Outcome, message_and_hint};
use crate::operator_command;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use spexus_domain::change::Entity;
use spexus_domain::checkpoint::{Checkpoint, SignedCheckpoint};
use spexus_domain::{Code, Refusal};
use spexus_service::{Service, audit, changes};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Changes that are looked through at once for a baseline.
const READ_CHANGES: u32 = 200;

/// Checkpoints that wait to be kept at most; of more the oldest are given up, because later ones say what they said.
const MAX_WAITING: usize = 100;

/// Bytes of a key file at most; a longer one is something else.
const MAX_KEY_BYTES: u64 = 1_024;

/// The key that checkpoints are signed with.
pub(crate) struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Makes a key and keeps it in a new file that only its owner can read.
    pub(crate) fn create(file: &Path) -> Outcome<Self> {
        let mut seed = [0; 32];
        SystemRandom::new()
            .fill(&mut seed)
            .map_err(|_| Failure::unavailable("there is no randomness", ""))?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(file).and_then(|mut file| {
            file.write_all(hex::encode(seed).as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        written.map_err(|error| bad_key(file, &format!("cannot be written: {}", error.kind())))?;
        Self::of(file, &seed)
    }

    /// Reads a key.
    //= specs/spexus.md#checkpoints
    //# A key file that is not there, that others can read or that holds no key MUST be refused before anything is written.
    pub(crate) fn read(file: &Path) -> Outcome<Self> {
        if file.as_os_str().is_empty() {
            return Err(bad_key(
                "no file".as_ref(),
                "is named, by `--key` or `audit.key_file`",
            ));
        }
        let unreadable = |error: std::io::Error| bad_key(file, &format!("cannot be read: {}", error.kind()));
        let opened = File::open(file).map_err(unreadable)?;
        #[cfg(unix)]
        {
            let about = opened.metadata().map_err(unreadable)?;
            if std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0 {
                return Err(bad_key(file, "can be read or written by others"));
            }
        }
        let mut text = String::new();
        let read = opened.take(MAX_KEY_BYTES).read_to_string(&mut text);
        read.map_err(unreadable)?;
        let seed = hex::decode(text.trim()).ok();
        let seed: Option<[u8; 32]> = seed.and_then(|seed| seed.try_into().ok());
        let seed = seed.ok_or_else(|| bad_key(file, "holds no key"))?;
        Self::of(file, &seed)
    }

    fn of(file: &Path, seed: &[u8; 32]) -> Outcome<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| bad_key(file, "holds no key"))?;
        Ok(Self(pair))
    }

    /// The half of it that others may know.
    pub(crate) fn public(&self) -> String {
        hex::encode(self.0.public_key().as_ref())
    }

    /// Signs bytes as they are.
    pub(crate) fn sign_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }

    pub(crate) fn sign(&self, checkpoint: Checkpoint) -> SignedCheckpoint {
        let signature = self.0.sign(&checkpoint.digest());
        SignedCheckpoint {
            checkpoint,
            key: self.public(),
            signature: hex::encode(signature.as_ref()),
        }
    }
}

fn bad_key(file: &Path, problem: &str) -> Failure {
    let allowed = "a file of its own with one key, which only its owner can read (mode 600)";
    let problem = format!("{} {problem}", file.display());
    let refusal = Refusal::field(Code::InvalidParams, "key", problem, allowed);
    Failure::configuration(refusal.hint("`spexus audit key FILE` makes one."))
}

/// Who signs checkpoints: a key of a file, or a key store behind a command.
pub(crate) enum Signer {
    /// The key itself.
    File(SigningKey),
    /// A command, its public key, and how long it may take.
    Store {
        argv: Vec<String>,
        public: String,
        limit: Duration,
    },
}

impl Signer {
    /// As it is configured; `None` where no key is named.
    pub(crate) async fn of(settings: &AuditSettings) -> Outcome<Option<Self>> {
        match (settings.key_file.is_empty(), settings.key_command.is_empty()) {
            (true, true) => Ok(None),
            (false, true) => SigningKey::read(settings.key_file.as_ref()).map(|key| Some(Self::File(key))),
            (true, false) => Self::ask(settings).await.map(Some),
            (false, false) => Err(Failure::configuration(refused(
                "audit.key_command",
                "is set, and audit.key_file as well",
                "one of the two",
            ))),
        }
    }

    //= specs/spexus.md#checkpoints
    //# A key store that does not answer, or answers what is no key or no signature of the checkpoint, MUST be refused in plain
    //# words before a checkpoint is kept.
    async fn ask(settings: &AuditSettings) -> Outcome<Self> {
        let (argv, limit) = (settings.key_command.clone(), limit(settings));
        let answer = operator_command::run(&argv, &["public"], "", limit).await;
        let public = answer
            .map_err(|problem| bad_store(&argv, &problem))?
            .trim()
            .to_ascii_lowercase();
        match hex::decode(&public).is_ok_and(|key| key.len() == 32) {
            true => Ok(Self::Store { argv, public, limit }),
            false => Err(bad_store(&argv, "answered no public key to `public`")),
        }
    }

    /// The half of the key that others may know.
    pub(crate) fn public(&self) -> String {
        match self {
            Signer::File(key) => key.public(),
            Signer::Store { public, .. } => public.clone(),
        }
    }

    pub(crate) async fn sign(&self, checkpoint: Checkpoint) -> Outcome<SignedCheckpoint> {
        let (argv, public, limit) = match self {
            Signer::File(key) => return Ok(key.sign(checkpoint)),
            Signer::Store { argv, public, limit } => (argv, public, *limit),
        };
        let digest = hex::encode(checkpoint.digest());
        let answer = operator_command::run(argv, &["sign"], &format!("{digest}\n"), limit).await;
        let signed = SignedCheckpoint {
            checkpoint,
            key: public.clone(),
            signature: answer
                .map_err(|problem| bad_store(argv, &problem))?
                .trim()
                .to_ascii_lowercase(),
        };
        match is_signed(&signed) {
            true => Ok(signed),
            false => Err(bad_store(argv, "answered no right signature to `sign`")),
        }
    }
}

fn limit(settings: &AuditSettings) -> Duration {
    Duration::from_millis(settings.max_command_ms)
}

fn bad_store(argv: &[String], problem: &str) -> Failure {
    let name = argv.first().map_or("the command", String::as_str);
    let problem = format!("{name} {problem}");
    let allowed =
        "a command that answers `public` with a key and `sign` with a signature, in hexadecimal digits";
    Failure::configuration(refused("audit.key_command", problem, allowed))
}

/// Where checkpoints are kept: a file, a command, or both.
pub(crate) struct Keeper {
    file: Option<PathBuf>,
    command: Vec<String>,
    limit: Duration,
}

impl Keeper {
    /// As it is configured; `None` where nothing is named.
    fn of(settings: &AuditSettings) -> Option<Self> {
        let file = Some(&settings.checkpoint_file).filter(|file| !file.is_empty());
        let command = settings.checkpoint_command.clone();
        (file.is_some() || !command.is_empty()).then(|| Self {
            file: file.map(PathBuf::from),
            command,
            limit: limit(settings),
        })
    }

    async fn keep(&self, signed: &SignedCheckpoint) -> Outcome {
        if let Some(file) = &self.file {
            append(file, signed)?;
        }
        if self.command.is_empty() {
            return Ok(());
        }
        let line = serde_json::to_string(signed).map_err(std::io::Error::from)?;
        let given = operator_command::run(&self.command, &[], &format!("{line}\n"), self.limit).await;
        given.map(drop).map_err(|problem| {
            let name = self.command.first().map_or("the command", String::as_str);
            let problem = format!("{name} {problem}");
            refused(
                "audit.checkpoint_command",
                problem,
                "a command that takes a line and ends with 0",
            )
            .into()
        })
    }
}

/// Adds a checkpoint to the file they are kept in, and flushes it.
pub(crate) fn append(file: &Path, signed: &SignedCheckpoint) -> Outcome {
    let line = serde_json::to_string(signed).map_err(std::io::Error::from)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let written = options.open(file).and_then(|mut file| {
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| {
        let problem = format!("{} cannot be written: {}", file.display(), error.kind());
        refused("audit.checkpoint_file", problem, "a file that can be added to").into()
    })
}

/// Reads the checkpoints of a file, each of which must carry a right signature; with a key, of that key.
//= specs/spexus.md#checkpoints
//# A checkpoint whose signature is not right, or not of the key that was named, MUST be refused with its line.
pub(crate) fn read(file: &Path, public_key: Option<&str>) -> Outcome<Vec<SignedCheckpoint>> {
    let bad = |problem: String| {
        let allowed = "a file of checkpoints as `spexus audit checkpoint` writes it";
        Failure::from(Refusal::field(
            Code::InvalidParams,
            "checkpoint",
            problem,
            allowed,
        ))
    };
    let text = std::fs::read_to_string(file)
        .map_err(|error| bad(format!("{} cannot be read: {}", file.display(), error.kind())))?;
    let mut all = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let number = at + 1;
        let signed: SignedCheckpoint = serde_json::from_str(line)
            .map_err(|_| bad(format!("line {number} is no checkpoint, or not a whole one")))?;
        if public_key.is_some_and(|key| !key.eq_ignore_ascii_case(&signed.key)) {
            return Err(bad(format!(
                "line {number} is signed with another key, {}",
                signed.key
            )));
        }
        if !is_signed(&signed) {
            return Err(bad(format!("the signature of line {number} is not right")));
        }
        all.push(signed);
    }
    match all.is_empty() {
        true => Err(bad(format!("{} holds no checkpoint", file.display()))),
        false => Ok(all),
    }
}

fn is_signed(signed: &SignedCheckpoint) -> bool {
    let (Ok(key), Ok(signature)) = (hex::decode(&signed.key), hex::decode(&signed.signature)) else {
        return false;
    };
    let key = UnparsedPublicKey::new(&ED25519, key);
    key.verify(&signed.checkpoint.digest(), &signature).is_ok()
}

/// What makes checkpoints while a server runs.
pub(crate) struct Schedule {
    signer: Signer,
    keeper: Keeper,
    every: Duration,
    /// Checkpoints that are in the ledger and could not be signed or kept yet, the oldest first.
    waiting: Vec<Checkpoint>,
}

impl Schedule {
    /// As it is configured; `None` where no key is named.
    pub(crate) async fn of(settings: &AuditSettings) -> Outcome<Option<Self>> {
        let Some(signer) = Signer::of(settings).await? else {
            return Ok(None);
        };
        let Some(keeper) = Keeper::of(settings) else {
            let problem = "a key is named, and this is not";
            let allowed = "the path of a file on another machine or disk, or audit.checkpoint_command";
            return Err(Failure::configuration(refused(
                "audit.checkpoint_file",
                problem,
                allowed,
            )));
        };
        Ok(Some(Self {
            signer,
            keeper,
            every: Duration::from_secs(u64::from(settings.checkpoint_minutes) * 60),
            waiting: vec![],
        }))
    }

    /// Makes a checkpoint now and then, and after every baseline.
    //= specs/spexus.md#checkpoints
    //# With a key, a server MUST write a signed checkpoint when it starts, as often as is configured, and after every baseline.
    pub(crate) async fn run(mut self, service: Service) {
        let mut head = service.follow();
        let mut since = *head.borrow_and_update();
        loop {
            if let Err(failure) = self.take(&service).await {
                tracing::error!(
                    failure = message_and_hint(&failure).0,
                    "a checkpoint could not be made"
                );
            }
            let next = Instant::now() + self.every;
            loop {
                let changed = tokio::select! {
                    () = sleep_until(next) => break,
                    changed = head.changed() => changed,
                };
                if changed.is_err() {
                    return;
                }
                let (last, baseline) = look_for_baseline(&service, since).await;
                since = last;
                if baseline {
                    break;
                }
            }
        }
    }

    //= specs/spexus.md#checkpoints
    //# A checkpoint that could not be signed or kept MUST be tried again with the next one.
    async fn take(&mut self, service: &Service) -> Outcome {
        let made = audit::scheduled_checkpoint(service, &self.signer.public()).await?;
        self.waiting.extend(made);
        if self.waiting.len() > MAX_WAITING {
            self.waiting.drain(..self.waiting.len() - MAX_WAITING);
        }
        while let Some(oldest) = self.waiting.first() {
            let signed = self.signer.sign(oldest.clone()).await?;
            self.keeper.keep(&signed).await?;
            self.waiting.remove(0);
        }
        Ok(())
    }
}

/// How far the history could be read, and whether there was a baseline in it.
async fn look_for_baseline(service: &Service, mut since: i64) -> (i64, bool) {
    let mut found = false;
    loop {
        match changes::news(service, since, READ_CHANGES, false).await {
            Ok(news) if !news.is_empty() => {
                since = news.last().map_or(since, |news| news.change.seq);
                found |= news.iter().any(|news| news.change.entity == Entity::Baseline);
            }
            _ => return (since, found),
        }
    }
}
