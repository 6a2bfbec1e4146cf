//! Stylesheets, modules and icons: in the binary, under addresses that hold their hashes, so that browsers keep them for ever
//! and a new version is a new address.

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The files, in the order in which stylesheets are joined.
const FILES: &[(&str, &str)] = &[
    (
        "style.css",
        concat!(
            include_str!("../assets/tokens.css"),
            include_str!("../assets/base.css"),
            include_str!("../assets/app.css"),
            include_str!("../assets/views.css")
        ),
    ),
    ("icons.svg", include_str!("../assets/icons.svg")),
    // A module stands behind those it names.
    ("morph.js", include_str!("../assets/morph.js")),
    ("navigate.js", include_str!("../assets/navigate.js")),
    ("draft.js", include_str!("../assets/draft.js")),
    ("keys.js", include_str!("../assets/keys.js")),
    ("live.js", include_str!("../assets/live.js")),
    ("table.js", include_str!("../assets/table.js")),
    ("tree.js", include_str!("../assets/tree.js")),
    ("board.js", include_str!("../assets/board.js")),
    ("matrix.js", include_str!("../assets/matrix.js")),
    ("search.js", include_str!("../assets/search.js")),
    ("palette.js", include_str!("../assets/palette.js")),
    ("live-worker.js", include_str!("../assets/live-worker.js")),
    ("main.js", include_str!("../assets/main.js")),
];

struct Asset {
    /// `/assets/main.0123456789abcdef.js`
    address: String,
    kind: &'static str,
    text: String,
}

static ASSETS: LazyLock<Vec<(&'static str, Asset)>> = LazyLock::new(|| {
    let mut assets: Vec<(&'static str, Asset)> = Vec::new();
    // Modules name each other: those that are named have their addresses first.
    let mut files: Vec<_> = FILES.to_vec();
    while let Some(at) = files.iter().position(|file| is_ready(file.1, &files)) {
        let (name, text) = files.remove(at);
        let mut text = text.to_owned();
        for (known, asset) in &assets {
            text = text.replace(&format!("\"./{known}\""), &format!("\"{}\"", asset.address));
        }
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let hash = &blake3::hash(text.as_bytes()).to_hex()[..16];
        let asset = Asset {
            address: format!("/assets/{stem}.{hash}.{ending}"),
            kind: kind(ending),
            text,
        };
        assets.push((name, asset));
    }
    assets
});

/// Whether a file names none that has no address yet.
fn is_ready(text: &str, waiting: &[(&str, &str)]) -> bool {
    !waiting
        .iter()
        .any(|(name, _)| text.contains(&format!("\"./{name}\"")))
}

static BY_ADDRESS: LazyLock<HashMap<&'static str, &'static Asset>> = LazyLock::new(|| {
    ASSETS
        .iter()
        .map(|(_, asset)| (asset.address.as_str(), asset))
        .collect()
});

/// Where a file is.
pub(crate) fn address(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|(known, _)| *known == name);
    found.map_or("", |(_, asset)| asset.address.as_str())
}

/// A file.
pub(crate) async fn file(Path(name): Path<String>) -> Response {
    let Some(asset) = BY_ADDRESS.get(format!("/assets/{name}").as_str()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(asset.kind)),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, max-age=31536000, immutable"),
        ),
    ];
    (headers, asset.text.as_str()).into_response()
}

fn kind(ending: &str) -> &'static str {
    match ending {
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "js" => "text/javascript; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_an_address_and_names_only_what_is_there() {
        assert_eq!(ASSETS.len(), FILES.len());
        for (name, asset) in ASSETS.iter() {
            assert!(!asset.text.contains("\"./"), "{name}");
        }
    }
}
