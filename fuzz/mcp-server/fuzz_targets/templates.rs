//! Any template and any value: never a panic; what is not a variable stays; a value is never read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_protocol::PromptTemplate;
use serde_json::{Map, Value};

fuzz_target!(|input: (&str, &str)| {
    let (source, value) = input;
    let Ok(template) = PromptTemplate::parse(source) else {
        assert!(source.contains("{{"), "only a variable can be wrong");
        return;
    };
    let names: Vec<String> = template.variables().into_iter().map(str::to_owned).collect();
    let with = |value: &str| {
        let values: Map<String, Value> = names.iter().map(|name| (name.clone(), Value::from(value))).collect();
        template.render(&values)
    };
    let (empty, full) = (template.render(&Map::new()), with(value));
    assert!(full.len() >= empty.len(), "a value only adds");
    if names.is_empty() {
        assert_eq!(full, source.replace("\\{{", "{{"));
    } else if !source.contains('|') {
        assert!(full.contains(value), "a plain value stands in the text as it is");
    }
});
