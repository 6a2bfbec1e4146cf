use super::*;

/// The plain reader gives what the parser gives, or leaves the text to it.
fn check(text: &str, is_plain: bool) {
    let name: Arc<str> = "a.toml".into();
    let by_parser = extract_any(&name, text);
    match plain::extract(&name, text) {
        Some(annotations) => assert_eq!((annotations, Vec::new()), by_parser, "{text}"),
        None => assert!(!is_plain, "{text}"),
    }
    assert_eq!(extract(&name, text), by_parser, "{text}");
}

const PLAIN: &str = r#"target = "https://example.com/a#section-1"

# 1.  Title
#
# The text MUST be "quoted".

[[spec]]
level = "MUST"
quote = '''
The text MUST be
  "quoted".
'''

[[exception]]
target = 'b.md#other'
quote = "It MAY."
reason = """
Not here,
and "not" there."""

[[TODO]]
quote = '''one line'''
feature = "f"
tracking-issue = "12"
reason = ""

[[todo]]
quote = ""
tracking_issue = '7'
"#;

#[test]
fn the_plain_shape_is_read_as_the_parser_reads_it() {
    check(PLAIN, true);
    check("", true);
    check("# nothing\n", true);
    check("target = \"a#b\"", true);
    check("[[spec]]\ntarget = \"a#b\"\nquote = \"x\"", true);
    check(
        "[[spec]]\nquote = \"x\"\ntarget = \"a#b\"\ncontext = '''\n  The server:\n'''\n",
        true,
    );
    check(
        "[[spec]]\nquote = '''\n\n\nx\n'''\ntarget = \"a#b\"\n[[spec]]\nquote=\"y\"\n",
        false,
    );
}

#[test]
fn every_other_shape_is_left_to_the_parser() {
    for line in [
        "quote = \"a\\nb\"",
        "quote = \"\"\"a\\tb\"\"\"",
        "quote = '''a''''",
        "quote = \"a\" # why",
        "quote = 1",
        "quote = [\"a\"]",
        "\"quote\" = \"a\"",
        "quote.x = \"a\"",
        "tags = [\"a\"]",
        "level = \"must\"",
        "format = \"ietf\"",
        "unknown = \"a\"",
        "level = \"MUST\"\nlevel = \"MUST\"",
        "  quote = \"a\"",
        "quote = \"a\"\r",
        "quote = \"a\u{7f}\"",
        "quote = '''never ends",
        "# bad \u{1}",
        "[[other]]",
        "[spec]",
        "[[spec.x]]",
        "[[ spec ]]",
        "[[\"spec\"]]",
        "target = \"no section\"",
    ] {
        check(&format!("target = \"a#b\"\n[[spec]]\n{line}\n"), false);
        check(&format!("{line}\n{PLAIN}"), false);
        check(&format!("{PLAIN}{line}\n"), false);
    }
    check("[[spec]]\nquote = \"x\"\n", false);
    check("[[exception]]\ntarget = \"a#b\"\nquote = \"x\"\n", false);
    check("target = \"a#b\"\ntarget = \"a#b\"\n", false);
    check("spec = \"a\"\n", false);
    check("[[spec]]\n[[spec]]\n", false);
}

#[test]
fn a_byte_changed_anywhere_is_read_as_the_parser_reads_it() {
    for at in 0..PLAIN.len() {
        for byte in [
            b'"', b'\'', b'\n', b'[', b']', b'#', b'=', b' ', b'\\', b'a', b'.',
        ] {
            let mut bytes = PLAIN.as_bytes().to_vec();
            bytes[at] = byte;
            check(std::str::from_utf8(&bytes).unwrap(), false);
            let mut bytes = PLAIN.as_bytes().to_vec();
            bytes.insert(at, byte);
            check(std::str::from_utf8(&bytes).unwrap(), false);
        }
    }
}
