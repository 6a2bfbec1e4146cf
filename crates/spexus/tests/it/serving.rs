//! The server as a process: what it prints, what it logs, how it ends.

use crate::world::{PASSWORD, World};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A running server; killed when a test fails.
pub(crate) struct Server {
    child: Child,
    pub(crate) printed: String,
    address: String,
}

impl Server {
    /// Starts and waits for the line with the URL, and everything else that is printed with it.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut printed = String::new();
        // The line of the database is the last that every start prints.
        while !printed.contains("Database: ") {
            let line = lines.next().expect("the server prints its URL").unwrap();
            printed.push_str(&format!("{line}\n"));
        }
        let address = printed
            .split("://")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned();
        Self {
            child,
            printed,
            address,
        }
    }

    /// Where it serves.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Tells it to stop; answers its exit code and what it logged.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        signal("TERM", self.child.id());
        let status = self.child.wait().unwrap();
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        (status.code(), log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn the_first_start_makes_everything_and_later_ones_tell_less() {
    //= specs/spexus.md#serving
    //= type=test
    //# The first start MUST print the URL, the name of the first user and, when it was made up, the password.
    let world = World::empty();
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut child = command
        .env_remove("SPEXUS_ADMIN_PASSWORD")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    signal("INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(said["username"], "admin");
    assert_eq!(said["password"].as_str().unwrap().len(), 23);

    //= specs/spexus.md#serving
    //= type=test
    //# A later start MUST NOT print a password.
    let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
    assert!(
        server.printed.starts_with("Spexus serves http://127.0.0.1:"),
        "{}",
        server.printed
    );
    assert!(
        !server.printed.to_lowercase().contains("password"),
        "{}",
        server.printed
    );
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn commands_work_beside_a_running_server_and_logs_hold_no_secret() {
    //= specs/spexus.md#secrets
    //= type=test
    //# Log lines MUST NOT contain a password or a token.
    for world in World::both() {
        let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
        let token = world.json(&[
            "token", "create", "--user", "admin", "--name", "t", "--scope", "admin",
        ])["token"]
            .as_str()
            .unwrap()
            .to_owned();
        world.json(&["item", "create", "epic", "--title", "Beside"]);
        let answer = server.get("/api/v1/epics", &token);
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("Beside"),
            "{answer}"
        );
        assert!(server.get("/health/live", "").starts_with("HTTP/1.1 200"));
        assert!(
            server
                .get("/api/v1/epics", "mcp_pat_wrong")
                .starts_with("HTTP/1.1 401")
        );
        //= specs/spexus.md#serving
        //= type=test
        //# At SIGTERM or SIGINT the server MUST stop accepting, answer what it accepted and end with exit code 0.
        let (code, log) = server.stop();
        assert_eq!(code, Some(0), "{log}");
        assert!(
            log.contains("\"message\":\"serving\""),
            "logs of a server are JSON: {log}"
        );
        for secret in [token.as_str(), PASSWORD, "mcp_pat_wrong"] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

#[test]
fn an_address_in_use_is_told() {
    //= specs/spexus.md#serving
    //= type=test
    //# An address that is in use MUST be told in a sentence, with exit code 69.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let world = World::empty();
    let answer = world.run(&["serve", "--listen", &address]).expect(69);
    assert!(
        answer
            .err
            .contains(&format!("error: {address} is in use by another program")),
        "{}",
        answer.err
    );
    assert!(!world.path("test.db").exists());
    assert!(
        world
            .run(&["serve", "--listen", "192.0.2.1:80"])
            .expect(78)
            .err
            .contains("cannot be served on")
    );
}

#[test]
fn spans_are_sent_and_a_missing_collector_does_no_harm() {
    //= specs/spexus.md#serving
    //= type=test
    //# A collector of spans that does not answer MUST NOT disturb the server.
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (stream, _) = collector.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        reader.read_line(&mut head).unwrap();
        let _ = reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        head
    });
    let world = World::new();
    let server =
        Server::start(world.command(&["serve", "--listen", "127.0.0.1:0", "--otlp-endpoint", &endpoint]));
    assert!(server.get("/api/v1/epics", "x").starts_with("HTTP/1.1 401"));
    assert_eq!(server.stop().0, Some(0));
    assert!(received.join().unwrap().starts_with("POST /v1/traces"));

    let nobody = "http://127.0.0.1:1";
    let server =
        Server::start(world.command(&["serve", "--listen", "127.0.0.1:0", "--otlp-endpoint", nobody]));
    assert!(server.get("/health/live", "").starts_with("HTTP/1.1 200"));
    assert_eq!(server.stop().0, Some(0));
}

// Found by review (S-H8): a server that listened to everybody said nothing of passwords in clear.
//= specs/spexus.md#serving
//= type=test
//# A server that is told to serve other machines in clear MUST warn of it when it starts.
#[test]
fn a_server_for_others_warns_when_it_speaks_in_clear() {
    let world = World::new();
    let said = |arguments: &[&str]| {
        let server = Server::start(world.command(&[&["serve", "--listen"], arguments].concat()));
        let (code, log) = server.stop();
        assert_eq!(code, Some(0), "{log}");
        log.contains("travel in clear")
    };
    assert!(said(&["0.0.0.0:0", "--insecure-plain"]));
    assert!(!said(&["127.0.0.1:0"]));
    assert!(
        !said(&["0.0.0.0:0", "--trusted-proxy", "192.0.2.0/24"]),
        "a proxy speaks HTTPS"
    );
}

//= specs/spexus.md#serving
//= type=test
//# Serving other machines in clear MUST be refused with exit code 78 unless a proxy is trusted or it is asked for by name.
#[test]
fn a_server_for_others_does_not_speak_in_clear_unless_told_to() {
    let world = World::empty();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let refused = world.run(&["serve", "--listen", address, "--http-secure-cookies"]);
        assert_eq!(refused.code, 78, "{refused:?}");
        for way in ["--tls-cert", "--trusted-proxy", "--insecure-plain"] {
            assert!(refused.err.contains(way), "{refused:?}");
        }
    }
    assert!(!world.path("test.db").exists(), "nothing was made");
}
