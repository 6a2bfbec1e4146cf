//! The table of contents: every page and every form stands here and nowhere else.

use crate::{
    answer, asset, board, graph, home, item, matrix, preferences, project, search, sign_in, table, tree,
};
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
        .route("/search", get(search::page::page))
        .route("/palette", get(search::palette::page))
        .route("/keys", get(search::keys::page))
        .route("/p/{key}", get(project::page))
        .route("/p/{key}/table", get(table::page::page))
        .route("/p/{key}/table/cell", get(table::form::cell))
        .route("/p/{key}/table/edit", post(table::edit::edit))
        .route("/p/{key}/table/undo", post(table::undo::undo))
        .route("/p/{key}/tree", get(tree::page::page))
        .route("/p/{key}/tree/move", post(tree::movement::movement))
        .route("/p/{key}/board", get(board::page::page))
        .route("/p/{key}/board/step", post(board::step::step))
        .route("/p/{key}/matrix", get(matrix::page::page))
        .route("/p/{key}/matrix.csv", get(matrix::csv::file))
        .route(
            "/p/{key}/matrix/cell",
            get(matrix::cell::page).post(matrix::cell::change),
        )
        .route("/p/{key}/graph", get(graph::page::page))
        .route("/p/{key}/{reference}", get(item::show::page))
        .layer(axum::middleware::from_fn(answer::around))
        .route("/assets/{name}", get(asset::file))
        .layer(CompressionLayer::new())
}
