//! Any address: what is accepted has one canonical form, and no form of it climbs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_protocol::uri;

fuzz_target!(|text: &str| {
    let Ok(form) = uri::canonical(text) else { return };
    assert_eq!(uri::canonical(&form).as_deref(), Ok(form.as_str()), "the canonical form is its own");
    let path = form.split(['?', '#']).next().unwrap_or_default();
    let mut decoded = path.as_bytes().to_vec();
    for _ in 0..8 {
        assert!(!decoded.contains(&b'\\') && !decoded.contains(&0));
        assert!(decoded.split(|b| *b == b'/').all(|part| part != b".."));
        decoded = decode(&decoded);
    }
    let roots = mcp_server::RootDirs::new(["/proc/self/task"]).expect("this folder is always there");
    if let Ok(path) = roots.resolve(text) {
        assert!(path.starts_with(std::fs::canonicalize("/proc/self/task").expect("it is there")));
    }
});

fn decode(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|h| std::str::from_utf8(h).ok()).and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(value) if bytes[at] == b'%' && bytes[at + 1] != b'+' => {
                out.push(value);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}
