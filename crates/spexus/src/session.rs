//! Opening the system for a command: the database, the service, and who acts.

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Timestamp};
use spexus_service::account::login;
use spexus_service::{FirstStart, Service, ServiceOptions};
use spexus_store::{Clock, Location};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Whether a command may make the database it finds missing. What works in one must not hide a misspelt name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Make it.
    Create,
    /// Refuse.
    Refuse,
}

/// An open system and the person who acts in it.
pub(crate) struct Session {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
    /// The project of the command, when it names one.
    pub(crate) project: Option<String>,
}

impl Session {
    /// Opens the configured database as the user named, or as the first administrator.
    //= specs/spexus.md#answers
    //# Only `init`, `serve`, `migrate` in its target and `mcp --database` MUST make a database; every other command MUST
    //# refuse one that is empty or not there, leave it as it is, and say how to make it.
    pub(crate) async fn open(config: &Config, user: Option<&str>, project: Option<&str>) -> Outcome<Self> {
        let (service, first) = open(config, Missing::Refuse).await?;
        if let Some(first) = first {
            eprintln!("{}", made_up(&first));
        }
        let caller = login::local(&service, user, "spexus command line").await?;
        Ok(Self {
            service,
            caller,
            project: project.map(str::to_owned),
        })
    }

    /// The project's key, if one was named.
    pub(crate) fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// Ends the session; what is in memory is written.
    pub(crate) async fn close(self) {
        self.service.close().await;
    }
}

/// Opens the service on the configured database.
pub(crate) async fn open(config: &Config, missing: Missing) -> Outcome<(Service, Option<FirstStart>)> {
    let location = Location::parse(&config.settings.database).map_err(Failure::configuration)?;
    if let Location::File(path) = &location {
        prepare_file(path, missing)?;
    }
    let mut options = config.settings.service.clone();
    options.store.may_prepare = missing == Missing::Create;
    open_service(&location, options).await
}

/// Opens the service on any database.
pub(crate) async fn open_service(
    location: &Location,
    options: ServiceOptions,
) -> Outcome<(Service, Option<FirstStart>)> {
    Service::open(location, options, clock()).await.map_err(opening)
}

/// What is refused while opening is a matter of configuration, unless the database merely does not answer.
pub(crate) fn opening(refusal: Refusal) -> Failure {
    match refusal.code {
        Code::ServiceUnavailable | Code::InvalidParams => Failure::configuration(refusal),
        _ => refusal.into(),
    }
}

/// The clock of the machine.
pub(crate) fn clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    })
}

/// What the person must know who made a database by the way.
pub(crate) fn made_up(first: &FirstStart) -> String {
    match &first.password {
        Some(password) => format!(
            "A new database was made. User: {}  one-time password: {password}",
            first.username
        ),
        None => format!("A new database was made. User: {}", first.username),
    }
}

/// Refuses a file that cannot be a database of ours, with words the store does not have.
pub(crate) fn prepare_file(path: &Path, missing: Missing) -> Outcome {
    let refuse = |problem: String| {
        let refusal =
            crate::config::refused("database", problem, "a SQLite file that can be read and written")
                .hint("Name another file with --database sqlite:FILE, or SPEXUS_DATABASE.");
        Err(Failure::configuration(refusal))
    };
    let shown = path.display();
    if !path.exists() {
        if missing == Missing::Refuse {
            let refusal = crate::config::refused(
                "database",
                format!("there is no database {shown}"),
                "an existing one",
            )
            .hint("Make it with `spexus init`, or name another with --database.");
            return Err(Failure::configuration(refusal));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
            && let Err(error) = make_folder(folder)
        {
            return refuse(format!("the folder {} cannot be made: {error}", folder.display()));
        }
    }
    if path.is_dir() {
        return refuse(format!("{shown} is a folder"));
    }
    let mut options = std::fs::OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(missing == Missing::Create)
        .truncate(false);
    // It will hold password hashes and the key of the tokens.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) => refuse(format!("{shown} cannot be opened for writing: {error}")),
        Ok(mut file) => {
            let mut head = [0; 16];
            let read = std::io::Read::read(&mut file, &mut head).unwrap_or(0);
            if read > 0 && &head != b"SQLite format 3\0" {
                return refuse(format!("{shown} is no SQLite database"));
            }
            Ok(())
        }
    }
}

/// Makes a folder that only its owner can look into, and those above it as usual.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
