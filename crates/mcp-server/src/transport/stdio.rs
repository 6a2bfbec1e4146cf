//! The process's own input and output as a line connection.
//!
//! Standard output belongs to the protocol: whoever wants to log uses standard error.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use tokio::net::unix::pipe;

use crate::server::Server;
use crate::transport::lines::{self, Ended};

/// Serves standard input and output until the client closes its side, then returns.
///
/// Pipes, which hosts use, are driven without helper threads; anything else goes through tokio's. A process that was
/// told to stop should exit with [`exit_status`] rather than wait for its runtime: a helper thread may still be reading.
pub async fn serve(server: &Server, extensions: http::Extensions) -> Ended {
    match pipes() {
        Ok((reader, writer)) => lines::serve(server, reader, writer, extensions).await,
        Err(_not_pipes) => lines::serve(server, tokio::io::stdin(), tokio::io::stdout(), extensions).await,
    }
}

/// The status a process should exit with after its connection ended.
//= specs/mcp-server.md#line-transport
//# A stdio server MUST exit with 0 when its client leaves in peace, and with 76 when it refused the client's version.
pub const fn exit_status(ended: Ended) -> u8 {
    match ended {
        Ended::InPeace => 0,
        Ended::VersionRefused => 76,
        Ended::Broken => 74,
    }
}

/// The process's input and output as pipes that need no helper threads; an error when they are anything else.
pub fn pipes() -> io::Result<(pipe::Receiver, pipe::Sender)> {
    let (input, output, errors) = (own(io::stdin())?, own(io::stdout())?, own(io::stderr())?);
    if same_file(&output, &errors)? {
        // The pipe would become non-blocking for those who log into it, too.
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok((
        pipe::Receiver::from_owned_fd(input)?,
        pipe::Sender::from_owned_fd(output)?,
    ))
}

fn own(stream: impl AsFd) -> io::Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned()
}

fn same_file(a: &OwnedFd, b: &OwnedFd) -> io::Result<bool> {
    let place = |fd: &OwnedFd| -> io::Result<(u64, u64)> {
        let metadata = File::from(fd.try_clone()?).metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    };
    Ok(place(a)? == place(b)?)
}
