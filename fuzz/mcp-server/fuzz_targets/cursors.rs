//! Any cursor: refused, unless this server made it. Sent through the real loop.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcp_server::{Info, Prompt, Server, Settings, lines};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

static SERVER: LazyLock<(Server, String)> = LazyLock::new(|| {
    let mut settings = Settings::default();
    settings.limits.page_entries = 1;
    let server = Server::builder(Info::new("fuzz", "1.0.0")).settings(settings).build();
    let prompts = ["a", "b"].map(|name| Prompt::template(name, "A prompt.", vec![])).to_vec();
    server.add_prompts(prompts).expect("they are well formed");
    let first = ask(&server, json!({}));
    let own = first["result"]["nextCursor"].as_str().expect("there are two pages").to_owned();
    (server, own)
});

fuzz_target!(|input: (String, u8)| {
    let (server, own) = &*SERVER;
    // Some inputs are the server's own cursor with one character changed.
    let (text, at) = (input.0, usize::from(input.1) % own.len());
    let cursor = match text.chars().next() {
        Some(other) if text.len() == 1 => own.char_indices().map(|(i, c)| if i == at { other } else { c }).collect(),
        _ => text,
    };
    let answer = ask(server, json!({ "cursor": cursor }));
    match answer.get("result") {
        Some(_) => assert_eq!(&cursor, own),
        None => assert_eq!(answer["error"]["code"], -32602),
    }
});

fn ask(server: &Server, mut params: Value) -> Value {
    params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let line = format!("{}\n", json!({ "jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": params }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let (mut ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let talk = async {
            ours.write_all(line.as_bytes()).await.expect("it fits");
            ours.shutdown().await.expect("it is ours");
            let mut text = String::new();
            ours.read_to_string(&mut text).await.expect("it is text");
            serde_json::from_str(&text).expect("one answer")
        };
        tokio::join!(lines::serve(server, reader, writer, http::Extensions::new()), talk).1
    })
}
