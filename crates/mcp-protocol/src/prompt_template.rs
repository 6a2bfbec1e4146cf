//! Prompt texts with `{{variables}}`.
//!
//! A value goes in as it is and is never read again, so a value that looks like a variable stays text. `\{{` writes
//! the braces themselves; `{{name|json}}` and `{{name|xml}}` write a value so that it cannot end the text around it.

use std::collections::BTreeSet;

use refusal::{Code, Refusal};
use serde_json::{Map, Value};

/// A prompt template, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable { name: String, writing: Writing },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    Plain,
    Json,
    Xml,
}

impl PromptTemplate {
    /// Takes a text apart. Braces that open a variable and do not close it are refused.
    pub fn parse(source: &str) -> Result<PromptTemplate, Refusal> {
        let mut pieces = Vec::new();
        let (mut text, mut rest) = (String::new(), source);
        while let Some(at) = rest.find("{{") {
            let (before, after) = (&rest[..at], &rest[at + 2..]);
            if let Some(before) = before.strip_suffix('\\') {
                text.push_str(before);
                text.push_str("{{");
                rest = after;
                continue;
            }
            text.push_str(before);
            let (inner, remaining) = after
                .split_once("}}")
                .ok_or_else(|| wrong("a variable is not closed by `}}`"))?;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(variable(inner)?);
            rest = remaining;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(PromptTemplate(pieces))
    }

    /// The names of its variables.
    pub fn variables(&self) -> BTreeSet<&str> {
        let names = self.0.iter().filter_map(|piece| match piece {
            Piece::Variable { name, .. } => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        names.collect()
    }

    // Fulfils 002 Req-Prompt-003
    /// The text with values in place of variables. A variable without a value is left empty; a line of several that says nothing without
    /// its values is left out.
    //= specs/mcp-server.md#prompts
    //# A value MUST be inserted as it is and never be read as a template again.
    //= specs/mcp-server.md#prompts
    //# A line of a prompt all of whose variables have no value MUST be left out, where the prompt has others.
    pub fn render(&self, values: &Map<String, Value>) -> String {
        let (mut out, mut line) = (String::new(), Line::default());
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => {
                    for part in text.split_inclusive('\n') {
                        line.text.push_str(part);
                        if part.ends_with('\n') {
                            std::mem::take(&mut line).end(&mut out);
                        }
                    }
                }
                Piece::Variable { name, writing } => {
                    line.variables += 1;
                    if let Some(value) = values.get(name) {
                        line.values += 1;
                        write(&mut line.text, value, *writing);
                    }
                }
            }
        }
        if out.is_empty() {
            line.values = line.variables;
        }
        line.end(&mut out);
        out
    }
}

/// A line of a template while it is filled in.
#[derive(Default)]
struct Line {
    text: String,
    variables: usize,
    values: usize,
}

impl Line {
    fn end(self, out: &mut String) {
        if self.variables == 0 || self.values > 0 {
            out.push_str(&self.text);
        }
    }
}

fn variable(inner: &str) -> Result<Piece, Refusal> {
    let (name, writing) = match inner.split_once('|') {
        None => (inner, Writing::Plain),
        Some((name, how)) => match how.trim() {
            "json" => (name, Writing::Json),
            "xml" => (name, Writing::Xml),
            other => {
                return Err(wrong(&format!(
                    "{other:?} is no way to write a value; there are `json` and `xml`"
                )));
            }
        },
    };
    let name = name.trim();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(fits) {
        return Err(wrong(&format!("{name:?} is no name for a variable")));
    }
    Ok(Piece::Variable {
        name: name.to_owned(),
        writing,
    })
}

fn write(out: &mut String, value: &Value, writing: Writing) {
    let plain = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    match writing {
        Writing::Plain => out.push_str(&plain),
        Writing::Json => out.push_str(&value.to_string()),
        Writing::Xml => plain.chars().for_each(|c| match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }),
    }
}

fn wrong(problem: &str) -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "template",
        problem,
        "text with `{{variables}}`; `\\{{` for the braces themselves",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(source: &str, values: &Value, expect: &str) {
        let values = values.as_object().unwrap();
        assert_eq!(
            PromptTemplate::parse(source).unwrap().render(values),
            expect,
            "{source}"
        );
    }

    // proves 002 Req-Prompt-003
    //= specs/mcp-server.md#prompts
    //= type=test
    //# A value MUST be inserted as it is and never be read as a template again.
    #[test]
    fn variables_are_replaced_once() {
        check(
            "Hello {{name}}, {{ name }}!",
            &json!({ "name": "Анна" }),
            "Hello Анна, Анна!",
        );
        check("{{a}}{{b}}", &json!({ "a": "{{b}}", "b": "x" }), "{{b}}x");
        check("{{n}} {{missing}}.", &json!({ "n": 5 }), "5 .");
        check(r"\{{name}} {", &json!({ "name": "x" }), "{{name}} {");
        check("}} {{a}}", &json!({ "a": null }), "}} ");
        check(
            "<a>{{x|xml}}</a> {{x|json}}",
            &json!({ "x": "</a>\"" }),
            "<a>&lt;/a&gt;&quot;</a> \"</a>\\\"\"",
        );
        check("", &json!({}), "");
        //= specs/mcp-server.md#prompts
        //= type=test
        //# A line of a prompt all of whose variables have no value MUST be left out, where the prompt has others.
        check(
            "Look at {{id}}.\nFocus: {{focus}}\nThen answer.",
            &json!({ "id": "x" }),
            "Look at x.\nThen answer.",
        );
        check("Focus: {{focus}}\nThen answer.", &json!({}), "Then answer.");
        check(
            "{{a}} and {{b}}\nEnd {{c}}",
            &json!({ "a": "x\ny" }),
            "x\ny and \n",
        );
    }

    #[test]
    fn broken_templates_are_refused_and_names_are_known() {
        for source in ["{{", "{{a", "{{}}", "{{a b}}", "{{a|html}}", "{{a}"] {
            assert_eq!(
                PromptTemplate::parse(source).unwrap_err().code,
                Code::InvalidParams,
                "{source}"
            );
        }
        let template = PromptTemplate::parse("{{b}} {{a}} {{b}}").unwrap();
        assert_eq!(template.variables().into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
