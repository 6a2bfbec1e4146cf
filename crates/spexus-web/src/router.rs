//! The table of contents: every page and every form stands here and nowhere else.

use crate::{answer, asset, home, item, preferences, project, sign_in};
use axum::Router;
use axum::routing::{get, post};
use spexus_http::pages::App;
use tower_http::compression::CompressionLayer;

/// All pages, for `spexus_http::serve_with`.
pub fn pages() -> Router<App> {
    Router::new()
        .route("/", get(home::page))
        .route("/login", get(sign_in::page).post(sign_in::sign_in))
        .route("/logout", post(sign_in::sign_out))
        .route("/settings/look", post(preferences::keep))
        .route("/p/{key}", get(project::page))
        .route("/p/{key}/{reference}", get(item::show::page))
        .layer(axum::middleware::from_fn(answer::around))
        .route("/assets/{name}", get(asset::file))
        .layer(CompressionLayer::new())
}
