//! The table of contents: every route of the surface stands here and nowhere else.

use crate::app::{App, OfKind};
use crate::extract::Anyone;
use crate::{
    account, audit, baseline, batch, changes, comment, health, item, link, mcp, middleware, openapi, project,
    prompt, report, search, settings,
};
use axum::Router;
use axum::routing::{any, delete, get, patch, post, put};
use spexus_domain::{Code, Kind, Refusal};

/// All routes, behind the middleware.
//= specs/spexus-http.md#description
//# Every operation of the OpenAPI document MUST be answered by the server.
pub(crate) fn router(app: App) -> Router {
    let mut api = Router::new()
        .route("/items/{id}", get(item::get_any_item))
        .route("/hierarchy/{id}", get(item::get_hierarchy))
        .route("/hierarchy/{id}/path", get(item::get_path))
        .route("/epics/{id}/steering-documents", get(item::list_steering))
        .route(
            "/epics/{id}/steering-documents/{document}",
            post(item::add_steering).delete(item::remove_steering),
        )
        .route("/links", post(link::create_link))
        .route("/links/{id}", delete(link::delete_link))
        .route("/links/{id}/confirm", post(link::confirm_link))
        .route(
            "/comments/{id}",
            get(comment::get_comment)
                .patch(comment::update_comment)
                .delete(comment::delete_comment),
        )
        .route("/search", get(search::search))
        .route("/batch", post(batch::run_batch))
        .route("/changes", get(changes::list_changes))
        .route("/changes/stream", get(changes::stream_changes))
        .route(
            "/baselines",
            get(baseline::list_baselines).post(baseline::create_baseline),
        )
        .route("/baselines/diff", get(baseline::diff_baselines))
        .route("/reports/status", get(report::report_status))
        .route("/reports/gaps", get(report::report_gaps))
        .route("/requirement-types", get(settings::list_requirement_types))
        .route(
            "/requirement-types/{name}",
            put(settings::put_requirement_type).delete(settings::delete_requirement_type),
        )
        .route("/link-types", get(settings::list_link_types))
        .route(
            "/link-types/{name}",
            put(settings::put_link_type).delete(settings::delete_link_type),
        )
        .route("/workflows", get(settings::list_workflows))
        .route(
            "/workflows/{kind_name}",
            get(settings::get_workflow).put(settings::put_workflow),
        )
        .route("/prompts", get(prompt::list_prompts).post(prompt::create_prompt))
        .route("/prompts/active", get(prompt::get_active_prompt))
        .route(
            "/prompts/{id}",
            get(prompt::get_prompt)
                .patch(prompt::update_prompt)
                .delete(prompt::delete_prompt),
        )
        .route("/prompts/{id}/activate", post(prompt::activate_prompt))
        .route(
            "/projects",
            get(project::list_projects).post(project::create_project),
        )
        .route(
            "/projects/{key}",
            get(project::get_project).patch(project::update_project),
        )
        .route("/auth/login", post(account::log_in))
        .route("/auth/logout", post(account::log_out))
        .route("/auth/profile", get(account::get_profile))
        .route("/auth/password", post(account::change_password))
        .route("/users", get(account::list_users).post(account::create_user))
        .route(
            "/users/{user}",
            get(account::get_user)
                .patch(account::update_user)
                .delete(account::disable_user),
        )
        .route("/users/{user}/password", put(account::reset_password))
        .route("/tokens", get(account::list_tokens).post(account::create_token))
        .route("/tokens/{id}", delete(account::revoke_token))
        .route("/audit/events", get(audit::list_events))
        .route("/audit/verify", get(audit::verify))
        .route("/mcp", any(mcp::endpoint))
        .with_state(app.clone());
    for kind in Kind::ALL {
        api = api.merge(routes_of_kind(&app, kind));
    }
    let outer = Router::new()
        .route("/", get(openapi::front_page))
        .route("/docs", get(openapi::docs_page))
        .route("/openapi.json", get(openapi::document))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/mcp", any(mcp::endpoint))
        .with_state(app.clone());
    Router::new()
        .nest("/api/v1", api)
        .merge(outer)
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .with_state(app.clone())
        .layer(axum::middleware::from_fn_with_state(app, middleware::around))
}

/// The routes every kind of item has.
fn routes_of_kind(app: &App, kind: Kind) -> Router<App> {
    let base = kind.rules().path;
    let at = |tail: &str| format!("/{base}{tail}");
    let mut routes = Router::new()
        .route(&at(""), get(item::list_items).post(item::create_item))
        .route(
            &at("/{id}"),
            get(item::get_item)
                .patch(item::update_item)
                .delete(item::delete_item),
        )
        .route(&at("/{id}/deletion-preview"), get(item::preview_deletion))
        .route(&at("/{id}/restore"), post(item::restore_item))
        .route(&at("/{id}/status"), patch(item::set_status))
        .route(&at("/{id}/assign"), patch(item::assign))
        .route(&at("/{id}/move"), post(item::move_item))
        .route(&at("/{id}/children"), get(item::list_children))
        .route(&at("/{id}/links"), get(item::list_links))
        .route(
            &at("/{id}/comments"),
            get(item::list_comments).post(item::create_comment),
        )
        .route(&at("/{id}/history"), get(item::get_history))
        .with_state(OfKind {
            app: app.clone(),
            kind,
        });
    for child in kind.children() {
        let nested = Router::new()
            .route(
                &at(&format!("/{{id}}/{}", child.rules().path)),
                get(item::list_children_of_kind).post(item::create_child),
            )
            .with_state(OfKind {
                app: app.clone(),
                kind: child,
            });
        routes = routes.merge(nested);
    }
    routes
}

async fn no_such_route(_: Anyone, uri: axum::http::Uri) -> crate::respond::Refused {
    let path = spexus_domain::text::excerpt(uri.path(), 100);
    Refusal::new(Code::ResourceNotFound, format!("there is nothing at {path}"))
        .hint("See /docs for what there is.")
        .into()
}

async fn no_such_method(
    _: Anyone,
    method: axum::http::Method,
    uri: axum::http::Uri,
) -> crate::respond::Refused {
    let path = spexus_domain::text::excerpt(uri.path(), 100);
    Refusal::new(
        Code::MethodNotAllowed,
        format!("{method} does not work at {path}"),
    )
    .into()
}
