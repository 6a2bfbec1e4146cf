//! Which test of a run a name in a source is. Runners name tests in many ways, so names are taken apart into parts and compared
//! from their ends: `my_crate::it` with `module::works` is `my_crate::it::module::works`, and so is `tests/it/module.rs` with
//! `fn works` in the package `my-crate`. A name that fits two tests is none: a guess would verify the wrong thing.

/// A name in parts, innermost last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TestName(Vec<String>);

impl TestName {
    /// The name of a result: its class, unless that says the same, and its name.
    pub fn of_result(class: &str, name: &str) -> Self {
        let mut parts = Vec::new();
        if class != name && !name.starts_with(&format!("{class}.")) {
            split(class, &mut parts);
        }
        split(without_parameters(name), &mut parts);
        if parts.len() > 1
            && parts
                .last()
                .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
        {
            // What gtest puts behind the name of a test that runs with several values.
            parts.pop();
        }
        Self(parts)
    }

    /// A name that is written with its parts apart, or as a runner shows it.
    pub fn parse(text: &str) -> Self {
        Self::of_result("", text)
    }

    /// The innermost part, by which names are looked up.
    pub fn leaf(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Whether one is the end of the other.
    pub fn fits(&self, other: &TestName) -> bool {
        let shared = self.0.len().min(other.0.len());
        shared > 0 && self.0[self.0.len() - shared..] == other.0[other.0.len() - shared..]
    }
}

/// The innermost part of a result's name without making all of it.
pub fn leaf_of(name: &str) -> &str {
    let name = without_parameters(name);
    let mut parts = name.rsplit(is_between).filter(|part| !part.trim().is_empty());
    let last = parts.next().unwrap_or_default();
    match last.bytes().all(|byte| byte.is_ascii_digit()) {
        true => parts.next().unwrap_or(last).trim(),
        false => last.trim(),
    }
}

fn is_between(c: char) -> bool {
    matches!(c, ':' | '.' | '/' | '\\' | '#' | '>' | '›' | '$')
}

fn split(text: &str, parts: &mut Vec<String>) {
    let found = text
        .split(is_between)
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.extend(found.map(|part| part.replace('-', "_")));
}

/// Without `[1-2]` and `(int)` behind a name.
fn without_parameters(name: &str) -> &str {
    let trimmed = name.trim_end();
    let open = match trimmed.chars().last() {
        Some(']') => '[',
        Some(')') => '(',
        _ => return trimmed,
    };
    match trimmed.find(open) {
        Some(at) if at > 0 && !trimmed[..at].ends_with(' ') => &trimmed[..at],
        _ => trimmed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runners_fit_names_of_sources() {
        let cases = [
            (
                "my-crate::it",
                "module::works",
                "my_crate::it::module::works",
                true,
            ),
            ("my_crate", "tests::works", "my_crate::tests::works", true),
            ("other_crate", "tests::works", "my_crate::tests::works", false),
            ("", "tests::works", "my_crate::tests::works", true),
            (
                "tests.test_a.TestA",
                "test_b[1-2]",
                "backend::tests::test_a::TestA::test_b",
                true,
            ),
            ("tests.test_a", "test_b", "tests::test_c::test_b", false),
            (
                "com.x.FooTest",
                "adds()",
                "src::test::java::com::x::FooTest::adds",
                true,
            ),
            ("github.com/me/mod/pkg/foo", "TestX", "pkg::foo::TestX", true),
            ("MyTestPattern/Helper", "Name/3", "Helper::Name", true),
            ("Suite.Name", "Suite.Name", "Suite::Name", true),
            ("Suite.Name", "Suite.Name", "Other::Name", false),
        ];
        for (class, name, source, fits) in cases {
            let (result, claim) = (TestName::of_result(class, name), TestName::parse(source));
            assert_eq!(result.fits(&claim), fits, "{class} {name} and {source}");
            assert_eq!(leaf_of(name).replace('-', "_"), result.leaf(), "{name}");
        }
    }
}
