//! A child process in a group of its own, which ends with everything it started.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::launch::Launch;
use crate::options::AppLimits;

/// How much of what a process said last is remembered.
const LAST_WORDS_BYTES: usize = 2_048;
/// How long a killed process may take to be gone; only the kernel can take longer.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// A child process in a group of its own. Dropped, its whole group is killed.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    group: Option<u32>,
    said: Arc<Mutex<VecDeque<u8>>>,
}

impl Process {
    /// Starts a program and gives its output and input.
    pub(crate) fn start(launch: &Launch, limits: &AppLimits) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let (mut command, is_confined) = command(launch, limits)?;
        command
            .env_clear()
            .envs(&launch.environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        //= specs/mcp-apps.md#isolation
        //# The process of an app MUST run in a process group of its own, and the whole group MUST end when the app does.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = child.id();
        if let Some(id) = group.filter(|_| !is_confined) {
            confine(id, limits)?;
        }
        let pipe = || io::Error::other("the process has no pipes");
        let input = child.stdin.take().ok_or_else(pipe)?;
        let output = child.stdout.take().ok_or_else(pipe)?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(errors) = child.stderr.take() {
            tokio::spawn(listen(errors, said.clone()));
        }
        Ok((Self { child, group, said }, output, input))
    }

    /// The number of the process, which is also that of its group.
    pub(crate) fn id(&self) -> Option<u32> {
        self.group
    }

    /// Waits until the process ended by itself.
    pub(crate) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => ending(status),
            Err(error) => format!("its end cannot be seen: {}", error.kind()),
        }
    }

    /// What it wrote last to its error output, for the log and for administrators.
    pub(crate) fn last_words(&self) -> String {
        let said = self.said.lock();
        let bytes: Vec<u8> = said.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Lets the process end, whose input was closed; then ends what is left of its group.
    pub(crate) async fn end(mut self, grace: Duration) {
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            self.signal(Signal::Terminate);
            // It was asked nicely, twice.
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        self.kill().await;
    }

    /// Ends the whole group at once, and waits until the process is gone.
    pub(crate) async fn kill(mut self) {
        self.signal(Signal::Kill);
        let _ = tokio::time::timeout(KILLED_WITHIN, self.child.wait()).await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            tell_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Signal {
    Terminate,
    Kill,
}

/// Reads what a process complains about, so that it never waits to be read; the end of it is remembered.
async fn listen(errors: ChildStderr, said: Arc<Mutex<VecDeque<u8>>>) {
    let mut errors = BufReader::new(errors);
    let mut buffer = [0; 4_096];
    while let Ok(read) = errors.read(&mut buffer).await {
        if read == 0 {
            return;
        }
        let mut said = said.lock();
        said.extend(&buffer[..read]);
        let over = said.len().saturating_sub(LAST_WORDS_BYTES);
        said.drain(..over);
    }
}

fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => format!("it ended: {status}"),
    }
}

/// Sends a signal to a whole group; one that is gone needs none.
#[cfg(unix)]
pub(crate) fn tell_group(group: u32, signal: Signal) {
    use rustix::process::{Pid, Signal as Number, kill_process_group};
    let number = match signal {
        Signal::Terminate => Number::TERM,
        Signal::Kill => Number::KILL,
    };
    if let Some(pid) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, number);
    }
}

#[cfg(not(unix))]
pub(crate) fn tell_group(_group: u32, _signal: Signal) {}

/// Whether a process of this number runs.
#[cfg(unix)]
pub(crate) fn runs(id: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
pub(crate) fn runs(_id: u32) -> bool {
    false
}

/// Where the program is that sets limits before it becomes another program.
#[cfg(target_os = "linux")]
const PRLIMIT: [&str; 2] = ["/usr/bin/prlimit", "/bin/prlimit"];

/// The command to start, and whether its limits hold before the app's own program begins: a child it starts at once
/// would otherwise be out of them.
#[cfg(target_os = "linux")]
fn command(launch: &Launch, limits: &AppLimits) -> io::Result<(Command, bool)> {
    let Some(prlimit) = PRLIMIT
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
    else {
        return Ok((plain(launch), false));
    };
    check_program(launch)?;
    let mut command = Command::new(prlimit);
    command.arg("--core=0:0");
    for (name, value) in [("data", limits.max_memory_bytes), ("cpu", limits.max_cpu_seconds)] {
        if value > 0 {
            command.arg(format!("--{name}={value}:{value}"));
        }
    }
    command.arg("--").arg(&launch.program).args(&launch.arguments);
    Ok((command, true))
}

#[cfg(not(target_os = "linux"))]
fn command(launch: &Launch, _limits: &AppLimits) -> io::Result<(Command, bool)> {
    Ok((plain(launch), false))
}

fn plain(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments);
    command
}

/// Tells a program that is not there before anything is started.
#[cfg(target_os = "linux")]
fn check_program(launch: &Launch) -> io::Result<()> {
    let folder = launch.folder.as_deref().unwrap_or(std::path::Path::new(""));
    let is_there = |path: std::path::PathBuf| folder.join(path).is_file();
    let found = match (launch.program.contains('/'), launch.environment.get("PATH")) {
        (true, _) => is_there(launch.program.as_str().into()),
        (false, Some(path)) => path
            .split(':')
            .any(|at| is_there(std::path::Path::new(at).join(&launch.program))),
        (false, None) => true,
    };
    if found {
        Ok(())
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Sets the limits of a process and of all it will start. Data is limited, not address space: runtimes such as that of
/// Node.js reserve far more addresses than they ever use.
//= specs/mcp-apps.md#isolation
//# The memory of each process of an app MUST be limited as configured.
#[cfg(target_os = "linux")]
fn confine(id: u32, limits: &AppLimits) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    for (resource, value) in [
        (Resource::Data, limits.max_memory_bytes),
        (Resource::Cpu, limits.max_cpu_seconds),
        (Resource::Core, 0),
    ] {
        let is_core = matches!(resource, Resource::Core);
        if value == 0 && !is_core {
            continue;
        }
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        match prlimit(pid, resource, limit) {
            // It is gone already, which is told by its pipes.
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn confine(_id: u32, _limits: &AppLimits) -> io::Result<()> {
    Ok(())
}
