//! A way to a server that can fail as networks do: it goes silent, or it breaks right after a COMMIT got through.

use spexus_store::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections to a PostgreSQL server.
pub(crate) struct Proxy {
    pub(crate) location: Location,
    /// Connections older than this number are silent: open, and nothing comes through.
    silent_before: watch::Sender<usize>,
    connections: watch::Receiver<usize>,
    break_at_commit: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) async fn before(url: &str) -> Self {
        let at = url
            .rfind('@')
            .map_or_else(|| url.find("//").unwrap() + 2, |at| at + 1);
        let end = url[at..].find('/').map_or(url.len(), |slash| at + slash);
        let server = url[at..end].to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap();
        let location = Location::Server(format!("{}{own}{}", &url[..at], &url[end..]));
        let (silent_before, silence) = watch::channel(0);
        let (counted, connections) = watch::channel(0);
        let break_at_commit = Arc::new(AtomicBool::new(false));
        let breaking = break_at_commit.clone();
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let number = *counted.borrow();
                counted.send_replace(number + 1);
                let server = TcpStream::connect(&server).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let (there, back) = (silence.clone(), silence.clone());
                let broken = Arc::new(AtomicBool::new(false));
                let watching = Some((breaking.clone(), broken.clone()));
                tokio::spawn(forward(from_client, to_server, number, there, watching));
                tokio::spawn(answer(from_server, to_client, number, back, broken));
            }
        });
        Self {
            location,
            silent_before,
            connections,
            break_at_commit,
        }
    }

    /// Nothing comes through any more on the connections there are; new ones work.
    pub(crate) fn fall_silent(&self) {
        self.silent_before.send_replace(*self.connections.borrow());
    }

    /// Waits until there were so many connections more than there are now.
    pub(crate) async fn more_connections(&self, more: usize) {
        let mut connections = self.connections.clone();
        let wanted = *connections.borrow() + more;
        connections.wait_for(|count| *count >= wanted).await.unwrap();
    }

    /// The next COMMIT gets through, its answer does not, and the connection ends.
    pub(crate) fn break_at_commit(&self) {
        self.break_at_commit.store(true, Ordering::SeqCst);
    }
}

type Watching = Option<(Arc<AtomicBool>, Arc<AtomicBool>)>;

async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    silence: watch::Receiver<usize>,
    watching: Watching,
) {
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if number < *silence.borrow() {
            std::future::pending::<()>().await;
        }
        if let Some((wanted, broken)) = &watching
            && buffer[..read].windows(8).any(|word| word == b"; COMMIT")
            && wanted.swap(false, Ordering::SeqCst)
        {
            broken.store(true, Ordering::SeqCst);
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

async fn answer(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    number: usize,
    silence: watch::Receiver<usize>,
    broken: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if number < *silence.borrow() {
            std::future::pending::<()>().await;
        }
        // The server has answered, so what it was asked for is done; nobody will hear of it.
        if broken.load(Ordering::SeqCst) {
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
