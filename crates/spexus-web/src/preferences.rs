//! How somebody wants pages: the language and the theme, kept in a cookie of the browser, because they belong to where one sits.

use crate::answer::{Answer, own_path, see};
use crate::form::Form;
use crate::texts::{ENGLISH, RUSSIAN, Texts};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;

/// A year.
const KEPT_SECONDS: u32 = 31_536_000;

/// The language of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Russian,
}

impl Language {
    pub(crate) const ALL: [Language; 2] = [Language::English, Language::Russian];

    /// As HTML and cookies name it.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Russian => "ru",
        }
    }

    /// As its speakers call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Language::English => "English",
            Language::Russian => "Русский",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == text)
    }
}

/// Light, dark, or as the system has it (empty).
const THEMES: [&str; 3] = ["", "light", "dark"];

/// How somebody wants pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preferences {
    pub(crate) language: Language,
    /// Empty for the system's own.
    pub(crate) theme: &'static str,
}

impl Preferences {
    /// From the cookies, and for the language else from what the browser asks for.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let asked = headers
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        let asked = asked.and_then(|asked| asked.split([',', '-', ';']).next());
        let language = cookie(headers, "language").or(asked).and_then(Language::parse);
        let theme = cookie(headers, "theme").and_then(|kept| THEMES.into_iter().find(|theme| *theme == kept));
        Self {
            language: language.unwrap_or(Language::English),
            theme: theme.unwrap_or_default(),
        }
    }

    pub(crate) fn texts(&self) -> &'static Texts {
        match self.language {
            Language::English => &ENGLISH,
            Language::Russian => &RUSSIAN,
        }
    }
}

/// What the small form in the bar says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Look {
    language: Option<String>,
    theme: Option<String>,
    /// The page to go back to.
    #[serde(default)]
    next: String,
}

/// Keeps the language or the theme. It says nothing about anybody, so nobody has to be signed in.
pub(crate) async fn keep(Form(look): Form<Look>) -> Answer {
    let mut response: Response = see(own_path(&look.next));
    let language = look
        .language
        .as_deref()
        .and_then(Language::parse)
        .map(Language::code);
    let theme = look
        .theme
        .and_then(|wanted| THEMES.into_iter().find(|theme| *theme == wanted));
    for (name, value) in [("language", language), ("theme", theme)] {
        if let Some(value) = value {
            let cookie = format!("{name}={value}; Path=/; SameSite=Lax; Max-Age={KEPT_SECONDS}");
            if let Ok(cookie) = HeaderValue::try_from(cookie) {
                response.headers_mut().append(header::SET_COOKIE, cookie);
            }
        }
    }
    Ok(response)
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|all| all.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}
