use super::*;
use crate::diagnostic::Code;

fn read(text: &str) -> (Config, Vec<(Code, u32)>) {
    let variable = |name: &str| (name == "REPO").then(|| "owner/name".to_owned());
    let (config, diagnostics) = parse("c.toml", text, &variable);
    (
        config,
        diagnostics.iter().map(|d| (d.code, d.start.line)).collect(),
    )
}

const HEAD: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n";

#[test]
fn a_full_configuration_is_read() {
    let text = format!(
        "{HEAD}extraction = \"v2\"\n[[source]]\npattern = \"src/**/*.py\"\ntype = \"test\"\nblob-link = \"https://h/${{{{ REPO }}}}\"\n\
         comment-style = {{ meta = \"##=\", content = \"##%\" }}\n[[specification]]\nsource = \"a.md\"\nformat = \"markdown\"\n\
         [[requirement]]\npattern = \"r/*.toml\"\n[report.html]\nenabled = false\nissue-link = \"${{{{ X || 'i' }}}}\"\n\
         [report.json]\nenabled = true\npath = \"x.json\"\n[report.snapshot]\nenabled = true\n"
    );
    let (config, diagnostics) = read(&text);
    assert_eq!(diagnostics, []);
    assert_eq!(config.sources[0].style.meta, "##=");
    assert_eq!(config.sources[0].default_kind, Kind::Test);
    assert_eq!(
        config.sources[0].blob_link.as_deref(),
        Some("https://h/owner/name")
    );
    assert_eq!(config.specifications[0].format, Some(Format::Markdown));
    assert_eq!(config.requirements.len(), 4);
    assert_eq!(
        (config.html.enabled, config.json.enabled, config.snapshot.enabled),
        (false, true, true)
    );
    assert_eq!(config.issue_link.as_deref(), Some("i"));
    assert_eq!(config.extraction, Mode::V2);
}

#[test]
fn names_are_found_where_they_stand() {
    let (config, _) = read(&format!(
        "{HEAD}[[source]]\n  pattern = \"a\"\n[[specification]]\nsource = \"b\"\n[[requirement]]\npattern = \"c\"\n"
    ));
    assert_eq!(config.locations.of("a"), ("c.toml", 3, "  pattern = \"a\""));
    assert_eq!(config.locations.of("b"), ("c.toml", 5, "source = \"b\""));
    assert_eq!(config.locations.of("c"), ("c.toml", 7, "pattern = \"c\""));
    assert_eq!(config.locations.of("d"), ("c.toml", 1, ""));
}

//= specs/duvet.md#configuration
//= type=test
//# A fault in the configuration MUST be reported with its place, and everything else in the file is used.
#[test]
fn faults_are_reported_and_the_rest_is_used() {
    let (config, diagnostics) = read("[[source]]\npatern = \"x\"\n[[source]]\npattern = \"y\"\n");
    assert_eq!(config.sources.len(), 1);
    assert_eq!(
        diagnostics,
        [
            (Code::ConfigInvalid, 1),
            (Code::ConfigUnknownKey, 2),
            (Code::ConfigInvalid, 1)
        ]
    );
    let (config, diagnostics) = read(&format!(
        "{HEAD}[[source]]\npattern = \"y\"\nbroken = = 1\n[report.json]\nenabled = 7\n"
    ));
    assert_eq!(config.sources.len(), 1);
    assert!(
        diagnostics
            .iter()
            .any(|(code, line)| (*code, *line) == (Code::ConfigInvalid, 4)),
        "{diagnostics:?}"
    );
    let (_, diagnostics) = read(&format!("{HEAD}[report.html]\nblob-link = \"${{{{ NOPE }}}}\"\n"));
    assert_eq!(diagnostics, [(Code::TemplateUnresolved, 3)]);
}

#[test]
fn both_spellings_of_the_version_are_known() {
    for name in ["v0.4.json", "v0.4.0.json", "v0.4.json#"] {
        let (_, diagnostics) = read(&format!(
            "'$schema' = \"https://awslabs.github.io/duvet/config/{name}\"\n"
        ));
        assert_eq!(diagnostics, [], "{name}");
    }
}

#[test]
fn old_patterns_carry_their_comment_style() {
    let pattern = source_pattern("(# //=,# //#).github/x.yaml").unwrap();
    assert_eq!(
        (pattern.pattern.as_str(), pattern.style.meta.as_str()),
        (".github/x.yaml", "# //=")
    );
    assert_eq!(
        source_pattern("src/**/*.rs").unwrap().style,
        CommentStyle::default()
    );
    assert!(source_pattern("(a").is_err() && source_pattern("(a)b").is_err());
}
