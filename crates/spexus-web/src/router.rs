//! The table of contents: every page and every form stands here and nowhere else.

use crate::{
    admin, answer, asset, baselines, board, connect, document, graph, home, item, matrix, preferences,
    project, review, saved_view, search, settings, sign_in, table, trace, tree,
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
        .route("/p/{key}/trace", get(trace::page))
        .route("/settings", get(settings::show))
        .route("/settings/password", post(settings::change_password))
        .route("/settings/tokens", post(settings::make_token))
        .route("/settings/tokens/{id}/revoke", post(settings::revoke_token))
        .route("/settings/sessions/{id}/end", post(settings::end_session))
        .route("/connect", get(connect::form).post(connect::make))
        .route("/admin", get(admin::page))
        .route("/admin/users", get(admin::users::list).post(admin::users::create))
        .route("/admin/users/{name}", post(admin::users::update))
        .route(
            "/admin/projects",
            get(admin::projects::list).post(admin::projects::create),
        )
        .route("/admin/workflows", get(admin::workflows::list))
        .route("/admin/workflows/{kind}", post(admin::workflows::save))
        .route(
            "/admin/types",
            get(admin::workflows::types).post(admin::workflows::put_type),
        )
        .route("/admin/audit", get(admin::audit::page))
        .route(
            "/p/{key}/members",
            get(admin::projects::members).post(admin::projects::put_member),
        )
        .route("/p/{key}/members/remove", post(admin::projects::remove_member))
        .route("/p/{key}/baselines", get(baselines::list).post(baselines::create))
        .route("/p/{key}/baselines/compare", get(baselines::compare))
        .route(
            "/p/{key}/reviews",
            get(review::list::page).post(review::ask::create),
        )
        .route("/p/{key}/reviews/new", get(review::ask::form))
        .route(
            "/p/{key}/reviews/{number}",
            get(review::show::page).post(review::decide::manage),
        )
        .route("/p/{key}/reviews/{number}/verdict", post(review::decide::decide))
        .route("/p/{key}/views", get(saved_view::list).post(saved_view::create))
        .route(
            "/p/{key}/views/{id}",
            get(saved_view::open).post(saved_view::update),
        )
        .route("/p/{key}/views/{id}/remove", post(saved_view::remove))
        .route("/p/{key}/example", post(project::fill_example))
        .route("/p/{key}/document", get(document::page))
        .route("/p/{key}/document/export", get(document::export::file))
        .route("/p/{key}/new", get(item::create::form).post(item::create::create))
        .route("/p/{key}/{reference}", get(item::show::page))
        .route(
            "/p/{key}/{reference}/edit",
            get(item::edit::form).post(item::edit::save),
        )
        .route("/p/{key}/{reference}/history", get(item::history::page))
        .route(
            "/p/{key}/{reference}/delete",
            get(item::delete::preview).post(item::delete::delete),
        )
        .route(
            "/p/{key}/{reference}/links",
            get(item::links::form).post(item::links::create),
        )
        .route(
            "/p/{key}/{reference}/links/{id}/confirm",
            post(item::links::confirm),
        )
        .route("/p/{key}/{reference}/links/{id}/end", post(item::links::end))
        .route("/p/{key}/{reference}/comments", post(item::comments::create))
        .route(
            "/p/{key}/{reference}/comments/{id}/edit",
            post(item::comments::edit),
        )
        .route(
            "/p/{key}/{reference}/comments/{id}/settle",
            post(item::comments::settle),
        )
        .route(
            "/p/{key}/{reference}/comments/{id}/remove",
            post(item::comments::remove),
        )
        .layer(axum::middleware::from_fn(answer::around))
        .route("/assets/{name}", get(asset::file))
        .layer(CompressionLayer::new())
}
