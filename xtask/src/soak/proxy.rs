//! A TCP proxy that can become a black hole: connections stay open, bytes vanish, and new connections work.

use std::io::{Read as _, Result, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Carries bytes to an address, until it is told to swallow them.
pub(super) struct Proxy {
    address: String,
    /// Connections accepted before the last black hole carry nothing any more.
    swallowed: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
}

impl Proxy {
    pub(super) fn start(target: String) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Self {
            address: listener.local_addr()?.to_string(),
            swallowed: Arc::default(),
            accepted: Arc::default(),
        };
        let (swallowed, accepted) = (Arc::clone(&proxy.swallowed), Arc::clone(&proxy.accepted));
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let number = accepted.fetch_add(1, Ordering::SeqCst);
                // A target that is down closes the connection, as it would without us.
                let Ok(far) = TcpStream::connect(&target) else {
                    continue;
                };
                let _ = carry(number, &near, &far, &swallowed);
            }
        });
        Ok(proxy)
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// From now on nothing passes on the connections there are.
    pub(super) fn swallow(&self) {
        self.swallowed
            .store(self.accepted.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

fn carry(number: usize, near: &TcpStream, far: &TcpStream, swallowed: &Arc<AtomicUsize>) -> Result<()> {
    for (from, to) in [
        (near.try_clone()?, far.try_clone()?),
        (far.try_clone()?, near.try_clone()?),
    ] {
        let swallowed = Arc::clone(swallowed);
        std::thread::spawn(move || pump(number, from, to, &swallowed));
    }
    Ok(())
}

fn pump(number: usize, mut from: TcpStream, mut to: TcpStream, swallowed: &AtomicUsize) {
    let mut part = [0; 16 << 10];
    loop {
        let count = match from.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        if number < swallowed.load(Ordering::SeqCst) {
            continue;
        }
        if to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    // The end of a swallowed connection is swallowed, too.
    if number >= swallowed.load(Ordering::SeqCst) {
        let _ = to.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_connections_are_swallowed_and_new_ones_work() {
        let echo = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = echo.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for mut stream in echo.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        let proxy = Proxy::start(target).unwrap();
        let open = || TcpStream::connect(proxy.address()).unwrap();
        let echoes = |stream: &mut TcpStream| {
            stream
                .set_read_timeout(Some(std::time::Duration::from_millis(300)))
                .unwrap();
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0]).is_ok()
        };
        let mut old = open();
        assert!(echoes(&mut old));
        proxy.swallow();
        assert!(!echoes(&mut old), "swallowed");
        assert!(echoes(&mut open()), "carried");
    }
}
