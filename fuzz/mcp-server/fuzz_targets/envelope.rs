//! Any text: never a panic, and an id that was read is the id that is answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_protocol::envelope::{self, Frame, Malformed, Message};

fuzz_target!(|text: &str| {
    if let Some(id) = envelope::id_in_prefix(text) {
        assert!(text.contains(id));
        serde_json::from_str::<&serde_json::value::RawValue>(id).expect("an id is JSON by itself");
    }
    match envelope::frame(text) {
        Ok(Frame::Single(text)) => check(text),
        Ok(Frame::Batch(texts)) => texts.iter().for_each(|text| check(text.get())),
        Err(_) => {}
    }
});

fn check(text: &str) {
    let id = match envelope::message(text) {
        Ok(Message::Request(request)) => Some(request.id),
        Ok(Message::Response(response)) => Some(response.id),
        Ok(Message::Notification(_)) => None,
        Err(Malformed::Shape { id, .. }) => id,
        Err(Malformed::Syntax(_)) => {
            // As a value, not raw: half a surrogate is not looked at in a raw text, and is no text all the same.
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err());
            None
        }
    };
    if let Some(id) = id {
        let answer = format!("{{\"id\":{id}}}");
        serde_json::from_str::<&serde_json::value::RawValue>(&answer).expect("an id can be written back as it is");
    }
}
