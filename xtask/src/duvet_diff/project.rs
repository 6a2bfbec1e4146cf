//! A whole project that follows from a number.

use super::text::{Dice, sentence, wrapped};

pub(super) struct Project {
    pub(super) files: Vec<(String, String)>,
    /// Names of the specifications among them.
    pub(super) specifications: Vec<String>,
    /// How its sources are written.
    pub(super) styles: Vec<Style>,
}

/// A way to write a comment: extension, prefix of a target, prefix of a quote.
pub(super) type Style = (&'static str, &'static str, &'static str);

/// A section that can be cited: its target and its sentences.
struct Section {
    target: String,
    sentences: Vec<String>,
}

/// Ten of them.
const STYLES: &[Style] = &[
    ("rs", "//=", "//#"),
    ("py", "##=", "##%"),
    ("c", "*=", "*#"),
    ("rb", "# //=", "# //#"),
    ("lua", "--=", "--#"),
    ("hs", "-- =", "-- #"),
    ("tex", "%=", "%#"),
    ("lisp", ";;=", ";;#"),
    ("sh", "#=", "#%"),
    ("ml", "(*=", "(*#"),
];

pub(super) fn generate(number: u64) -> Project {
    let mut dice = Dice::new(number);
    let mut files = Vec::new();
    let mut sections = Vec::new();
    let mut names = Vec::new();
    for index in 0..1 + dice.roll(3) {
        let (name, text) = match dice.roll(3) {
            0 => (
                format!("specs/ietf{index}.txt"),
                ietf(&mut dice, &format!("specs/ietf{index}.txt"), &mut sections),
            ),
            _ => (
                format!("specs/doc{index}.md"),
                markdown(&mut dice, &format!("specs/doc{index}.md"), &mut sections),
            ),
        };
        files.push((name.clone(), text));
        names.push(name);
    }
    let first = dice.roll(STYLES.len());
    let styles: Vec<Style> = (0..1 + dice.roll(4))
        .map(|n| STYLES[(first + n * 3) % STYLES.len()])
        .collect();
    for (index, style) in styles.iter().enumerate() {
        files.push((
            format!("src/m{index}/file.{}", style.0),
            source(&mut dice, style, &sections),
        ));
    }
    if dice.one_in(3) && !sections.is_empty() {
        files.push((
            ".duvet/exceptions/one.toml".to_owned(),
            exceptions(&mut dice, &sections),
        ));
    }
    if dice.one_in(3) && !sections.is_empty() {
        files.push((".duvet/todos/one.toml".to_owned(), todos(&mut dice, &sections)));
    }
    files.push((
        ".duvet/config.toml".to_owned(),
        config(&mut dice, &names, &styles),
    ));
    Project {
        files,
        specifications: names,
        styles,
    }
}

fn config(dice: &mut Dice, specifications: &[String], styles: &[Style]) -> String {
    let mut text = String::from("'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n\n");
    for (extension, meta, content) in styles {
        text.push_str(&format!(
            "[[source]]\npattern = \"src/**/*.{extension}\"\ncomment-style = {{ meta = \"{meta}\", content = \"{content}\" }}\n"
        ));
        if dice.one_in(8) {
            text.push_str("type = \"test\"\n");
        }
        if dice.one_in(8) {
            text.push_str("blob-link = \"https://code.example/blob/main\"\n");
        }
        text.push('\n');
    }
    for name in specifications {
        if dice.one_in(6) {
            continue;
        }
        text.push_str(&format!("[[specification]]\nsource = \"{name}\"\n"));
        if dice.one_in(4) {
            let format = if name.ends_with(".md") { "markdown" } else { "ietf" };
            text.push_str(&format!("format = \"{format}\"\n"));
        }
        text.push('\n');
    }
    if dice.one_in(2) {
        text.push_str("[report.html]\nenabled = false\n\n");
    }
    text.push_str("[report.snapshot]\nenabled = true\n");
    text
}

fn markdown(dice: &mut Dice, name: &str, sections: &mut Vec<Section>) -> String {
    let mut text = String::new();
    if dice.one_in(10) {
        text.push('\u{feff}');
    }
    if dice.one_in(6) {
        text.push_str("Words before the first heading MUST be lost.\n\n");
    }
    for index in 0..1 + dice.roll(6) {
        let id = heading(dice, index, &mut text);
        blank(dice, &mut text, 1);
        let mut said = Vec::new();
        for _ in 0..1 + dice.roll(4) {
            block(dice, &mut text, &mut said);
            blank(dice, &mut text, 1);
        }
        if let Some(id) = id {
            sections.push(Section {
                target: format!("{name}#{id}"),
                sentences: said,
            });
        }
    }
    if dice.one_in(12) {
        text = text.replace('\n', "\r\n");
    }
    text
}

/// A heading; its id where it is plain to see.
fn heading(dice: &mut Dice, index: usize, text: &mut String) -> Option<String> {
    let level = "#".repeat(1 + dice.roll(if index == 0 { 1 } else { 4 }));
    let word = ["Alpha", "Beta", "Gamma", "Delta"][dice.roll(4)];
    match dice.roll(12) {
        0 => {
            let rule = if dice.one_in(2) { "===" } else { "---" };
            text.push_str(&format!("{word} {index}\n{rule}\n"));
            Some(format!("{}-{index}", word.to_lowercase()))
        }
        1 => {
            text.push_str(&format!("{level} {word} text {{#own-{index}}}\n"));
            Some(format!("own-{index}"))
        }
        2 => {
            let title = dice.pick(&[
                "`code` first",
                "last `code`",
                "mid `code` dle",
                "[link](http://a.b/c) x",
                "*em* word",
                "x **strong**",
                "1.2 Numbered Title",
                "Ünï çode",
                "A & B < C",
                "Trailing #",
                "`only`",
                "a\\_b",
                "<b>html</b> x",
                "![i](u)",
            ]);
            text.push_str(&format!("{level} {title}\n"));
            None
        }
        3 => {
            text.push_str(&format!("{level} {word}\n"));
            None
        }
        4 => {
            text.push_str(&format!("{level}   {word} {index}   {level}\n"));
            Some(format!("{}-{index}", word.to_lowercase()))
        }
        _ => {
            text.push_str(&format!("{level} {word} {index}\n"));
            Some(format!("{}-{index}", word.to_lowercase()))
        }
    }
}

fn blank(dice: &mut Dice, text: &mut String, least: usize) {
    let count = if dice.one_in(5) { 1 + dice.roll(3) } else { least };
    for _ in 0..count {
        text.push_str(if dice.one_in(12) { "   \n" } else { "\n" });
    }
}

fn block(dice: &mut Dice, text: &mut String, said: &mut Vec<String>) {
    let sentences: Vec<String> = (0..1 + dice.roll(3)).map(|_| sentence(dice)).collect();
    match dice.roll(12) {
        0 | 1 => {
            let mark = *dice.pick(&["- ", "* ", "1. ", "+ "]);
            for item in &sentences {
                text.push_str(mark);
                text.push_str(
                    wrapped(dice, std::slice::from_ref(item), &" ".repeat(mark.len())).trim_start(),
                );
                if dice.one_in(4) {
                    text.push_str(&format!("{}- {}\n", " ".repeat(mark.len()), sentence(dice)));
                }
                if dice.one_in(5) {
                    text.push('\n');
                }
            }
            said.extend(sentences);
        }
        2 => text.push_str(&format!("```\n{}```\n", wrapped(dice, &sentences, ""))),
        3 => {
            text.push_str("| a | b |\n|---|---|\n");
            for row in &sentences {
                text.push_str(&format!("| x | {row} |\n"));
            }
        }
        4 => text.push_str(&wrapped(dice, &sentences, "> ")),
        5 => text.push_str(&format!("<!-- {} -->\n", sentences.join(" "))),
        6 => text.push_str(&wrapped(dice, &sentences, "    ")),
        7 if !said.is_empty() => {
            // The same sentence again, wrapped in another way.
            let again = dice.pick(said).clone();
            text.push_str(&wrapped(dice, &[again], ""));
        }
        _ => {
            text.push_str(&wrapped(dice, &sentences, ""));
            said.extend(sentences);
        }
    }
}

fn ietf(dice: &mut Dice, name: &str, sections: &mut Vec<Section>) -> String {
    let mut text = String::new();
    if dice.one_in(2) {
        text.push_str("Network Working Group                                          A. Author\n");
        text.push_str("Request for Comments: 9999                                  Example Inc.\n\n");
        text.push_str("                      The Title of the Thing\n\n");
    }
    if dice.one_in(2) {
        text.push_str("Abstract\n\n");
        let first = sentence(dice);
        text.push_str(&wrapped(dice, &[first], "   "));
        text.push('\n');
    }
    let count = 1 + dice.roll(5);
    if dice.one_in(2) {
        text.push_str("Table of Contents\n\n");
        for index in 1..=count {
            text.push_str(&format!(
                "   {index}.  Title {index} . . . . . . . . . . . . . . . . . . . . {index}\n"
            ));
        }
        text.push('\n');
    }
    for index in 1..=count {
        numbered(dice, &format!("{index}"), name, &mut text, sections);
        for sub in 1..=dice.roll(3) {
            numbered(dice, &format!("{index}.{sub}"), name, &mut text, sections);
        }
        if dice.one_in(6) {
            text.push_str(
                "\nAuthor                       Standards Track                    [Page 3]\n\u{c}\n",
            );
            text.push_str("RFC 9999                         The Thing                     May 2026\n\n\n");
        }
    }
    if dice.one_in(3) {
        text.push_str("Appendix A.  Extra\n\n");
        let said = vec![sentence(dice)];
        text.push_str(&wrapped(dice, &said, "   "));
        sections.push(Section {
            target: format!("{name}#appendix-A"),
            sentences: said,
        });
        text.push('\n');
    }
    if dice.one_in(3) {
        text.push_str("Acknowledgements\n\n   Thanks to all.  They MUST know.\n\n");
    }
    text
}

fn numbered(dice: &mut Dice, number: &str, name: &str, text: &mut String, sections: &mut Vec<Section>) {
    let title = *dice.pick(&[
        "Overview",
        "Wire Format",
        "Error Handling",
        "Notes on Use",
        "The \"quoted\" One",
    ]);
    let gap = *dice.pick(&[".  ", ".  ", ".  ", ". ", " - ", "  ", " "]);
    text.push_str(&format!("{number}{gap}{title}\n\n"));
    let mut said: Vec<String> = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let sentences: Vec<String> = (0..1 + dice.roll(3)).map(|_| sentence(dice)).collect();
        match dice.roll(8) {
            0 => {
                for item in &sentences {
                    let body = wrapped(dice, std::slice::from_ref(item), "      ");
                    text.push_str(&format!("   o  {}\n", body.trim_start()));
                }
                said.extend(sentences);
            }
            1 if !said.is_empty() => {
                let again = dice.pick(&said).clone();
                text.push_str(&wrapped(dice, &[again], "   "));
            }
            _ => {
                text.push_str(&wrapped(dice, &sentences, "   "));
                said.extend(sentences);
            }
        }
        blank(dice, text, 1);
    }
    sections.push(Section {
        target: format!("{name}#section-{number}"),
        sentences: said,
    });
}

fn source(dice: &mut Dice, style: &Style, sections: &[Section]) -> String {
    let mut text = String::from("first line\n");
    if sections.is_empty() {
        return text;
    }
    let (_, meta, content) = style;
    for _ in 0..1 + dice.roll(8) {
        let section = dice.pick(sections);
        let indent = " ".repeat(dice.roll(3) * 2);
        let mut line = |prefix: &str, rest: &str| text.push_str(&format!("{indent}{prefix} {rest}\n"));
        line(meta, &section.target);
        // A target without a quote would run into the next one, and points at the section as a whole.
        let is_bare = section.sentences.is_empty() || dice.one_in(12);
        if !is_bare && dice.one_in(3) {
            for part in kind(dice) {
                line(meta, part);
            }
        }
        if !is_bare {
            for part in quote(dice, &section.sentences).lines() {
                line(content, part);
            }
        }
        if is_bare || dice.one_in(2) {
            text.push_str("code();\n");
        }
    }
    text
}

/// Lines beside a target.
fn kind(dice: &mut Dice) -> &'static [&'static str] {
    const KINDS: &[&[&str]] = &[
        &["type=test"],
        &["type=TEST"],
        &["type=citation"],
        &["type=implementation"],
        &["type=implication"],
        &["type=implication", "reason=It follows."],
        &["type=exception", "reason=We do not,", "reason=and that is that."],
        &["type=todo"],
        &["type=todo", "tracking-issue=123", "feature=later"],
        &["type=spec", "level=SHOULD"],
        &["reason=because"],
        &["type=exception"],
        &["level=MAY"],
    ];
    KINDS[dice.roll(KINDS.len())]
}

/// A quote of a section: whole, a part, wrapped anew, with other blanks, or one edit off.
fn quote(dice: &mut Dice, sentences: &[String]) -> String {
    let first = dice.roll(sentences.len());
    let mut said = sentences[first].clone();
    if dice.one_in(5) && first + 1 < sentences.len() {
        said = format!("{said} {}", sentences[first + 1]);
    }
    let words: Vec<&str> = said.split(' ').collect();
    match dice.roll(12) {
        0 if words.len() > 3 => words[1..words.len() - 1].join(" "),
        1 => said.replacen("the", "teh", 1),
        2 if said.len() > 12 => said.replacen("e", "", 1),
        3 => wrapped(dice, &[said], " "),
        4 => said.replace(' ', "  "),
        5 if dice.one_in(4) => "This MUST not stand anywhere at all.".to_owned(),
        _ => wrapped(dice, &[said], ""),
    }
}

fn exceptions(dice: &mut Dice, sections: &[Section]) -> String {
    let section = dice.pick(sections);
    let mut text = format!("target = \"{}\"\n\n", section.target);
    for sentence in section.sentences.iter().take(2) {
        text.push_str(&format!(
            "[[exception]]\nquote = '''\n{sentence}\n'''\nreason = \"not here\"\n\n"
        ));
    }
    text
}

fn todos(dice: &mut Dice, sections: &[Section]) -> String {
    let section = dice.pick(sections);
    let array = *dice.pick(&["todo", "TODO"]);
    let mut text = String::new();
    for sentence in section.sentences.iter().take(2) {
        text.push_str(&format!(
            "[[{array}]]\ntarget = \"{}\"\nquote = '''{sentence}'''\nfeature = \"f\"\ntracking-issue = \"#7\"\ntags = [\"x\"]\n\n",
            section.target
        ));
    }
    text
}
