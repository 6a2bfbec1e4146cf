//! The table of contents: every route of the surface stands here and nowhere else. Its method and path are written once, at
//! the handler; the server and the OpenAPI document are both made from this table.

use crate::app::{App, OfKind};
use crate::auth::Anonymous;
use crate::{
    account, audit, baseline, batch, changes, comment, health, item, link, mcp, member, middleware, openapi,
    plan, project, prompt, report, review, saved_view, search, settings, trace, work,
};
use axum::Router;
use axum::routing::{any, get};
use spexus_domain::{Code, Kind, Refusal};
use utoipa::openapi::path::{PathItem, Paths};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

/// All routes, behind the middleware.
//= specs/spexus-http.md#description
//# Every operation of the OpenAPI document MUST be answered by the server.
pub(crate) fn router(app: App, pages: Router<App>) -> Router {
    let mut routes = Router::from(routes().with_state::<App>(app.clone()));
    for (kind, of_kind) in routes_of_kinds() {
        let state = OfKind {
            app: app.clone(),
            kind,
        };
        routes = routes.merge(Router::from(of_kind.with_state(state)));
    }
    routes
        .route("/docs", get(openapi::docs_page))
        .route("/openapi.json", get(openapi::document))
        .route("/api/v1/mcp", any(mcp::endpoint))
        .route("/mcp", any(mcp::endpoint))
        .merge(pages.with_state(app.clone()))
        .fallback(no_such_route)
        .method_not_allowed_fallback(no_such_method)
        .with_state(app.clone())
        .layer(axum::middleware::from_fn_with_state(app, middleware::around))
}

/// The routes that exist once.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(item::get_any_item))
        .routes(routes!(item::get_context))
        .routes(routes!(work::next_work))
        .routes(routes!(work::list_leases))
        .routes(routes!(work::claim_item, work::release_item))
        .routes(routes!(item::get_hierarchy))
        .routes(routes!(item::get_path))
        .routes(routes!(item::list_steering))
        .routes(routes!(item::add_steering, item::remove_steering))
        .routes(routes!(link::create_link))
        .routes(routes!(link::delete_link))
        .routes(routes!(link::confirm_link))
        .routes(routes!(
            comment::get_comment,
            comment::update_comment,
            comment::delete_comment
        ))
        .routes(routes!(search::search))
        .routes(routes!(batch::run_batch))
        .routes(routes!(plan::import_plan))
        .routes(routes!(changes::list_changes))
        .routes(routes!(changes::list_all_changes))
        .routes(routes!(changes::stream_changes))
        .routes(routes!(baseline::list_baselines, baseline::create_baseline))
        .routes(routes!(baseline::diff_baselines))
        .routes(routes!(saved_view::list_views, saved_view::create_view))
        .routes(routes!(
            saved_view::get_view,
            saved_view::update_view,
            saved_view::delete_view
        ))
        .routes(routes!(review::list_reviews, review::create_review))
        .routes(routes!(review::get_review, review::update_review))
        .routes(routes!(review::decide_review))
        .routes(routes!(report::report_status))
        .routes(routes!(report::report_gaps))
        .routes(routes!(trace::push_evidence))
        .routes(routes!(trace::list_gaps))
        .routes(routes!(trace::check_trace))
        .routes(routes!(settings::list_requirement_types))
        .routes(routes!(
            settings::put_requirement_type,
            settings::delete_requirement_type
        ))
        .routes(routes!(settings::list_link_types))
        .routes(routes!(settings::put_link_type, settings::delete_link_type))
        .routes(routes!(settings::list_workflows))
        .routes(routes!(settings::get_workflow, settings::put_workflow))
        .routes(routes!(prompt::list_prompts, prompt::create_prompt))
        .routes(routes!(prompt::get_active_prompt))
        .routes(routes!(
            prompt::get_prompt,
            prompt::update_prompt,
            prompt::delete_prompt
        ))
        .routes(routes!(prompt::activate_prompt))
        .routes(routes!(project::list_projects, project::create_project))
        .routes(routes!(project::get_project, project::update_project))
        .routes(routes!(member::list_members))
        .routes(routes!(member::put_member, member::remove_member))
        .routes(routes!(member::list_groups, member::create_group))
        .routes(routes!(member::delete_group))
        .routes(routes!(member::add_to_group, member::remove_from_group))
        .routes(routes!(account::log_in))
        .routes(routes!(account::log_out))
        .routes(routes!(account::get_profile))
        .routes(routes!(account::who_am_i))
        .routes(routes!(account::change_password))
        .routes(routes!(account::list_users, account::create_user))
        .routes(routes!(
            account::get_user,
            account::update_user,
            account::disable_user
        ))
        .routes(routes!(account::reset_password))
        .routes(routes!(account::list_tokens, account::create_token))
        .routes(routes!(account::revoke_token))
        .routes(routes!(audit::list_events))
        .routes(routes!(audit::verify))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
}

/// The routes that exist once for each kind of item, with the kind their handlers work on.
pub(crate) fn routes_of_kinds() -> impl Iterator<Item = (Kind, OpenApiRouter<OfKind>)> {
    Kind::ALL.into_iter().flat_map(|kind| {
        let children = kind.children();
        let nested = children.map(move |child| (child, routes_of_children(kind, child)));
        std::iter::once((kind, routes_of_kind(kind))).chain(nested)
    })
}

/// The routes every kind of item has.
fn routes_of_kind(kind: Kind) -> OpenApiRouter<OfKind> {
    let of = |routes| expand(routes, kind, None);
    OpenApiRouter::new()
        .routes(of(routes!(item::list_items, item::create_item)))
        .routes(of(routes!(item::get_item, item::update_item, item::delete_item)))
        .routes(of(routes!(item::preview_deletion)))
        .routes(of(routes!(item::restore_item)))
        .routes(of(routes!(item::set_status)))
        .routes(of(routes!(item::assign)))
        .routes(of(routes!(item::move_item)))
        .routes(of(routes!(item::list_children)))
        .routes(of(routes!(item::list_links)))
        .routes(of(routes!(item::list_comments, item::create_comment)))
        .routes(of(routes!(item::get_history)))
        .routes(of(routes!(trace::get_trace)))
        .routes(of(routes!(trace::review_evidence)))
}

/// The routes of the children of one kind in items of another.
fn routes_of_children(kind: Kind, child: Kind) -> OpenApiRouter<OfKind> {
    let routes = routes!(item::list_children_of_kind, item::create_child);
    OpenApiRouter::new().routes(expand(routes, kind, Some(child)))
}

/// Routes written for `{kind}` and `{child}`, under the paths and names of one kind.
fn expand(
    (schemas, written, handlers): UtoipaMethodRouter<OfKind>,
    kind: Kind,
    child: Option<Kind>,
) -> UtoipaMethodRouter<OfKind> {
    let name = match child {
        None => kind.name().to_owned(),
        Some(child) => format!("{}_{}", kind.name(), child.name()),
    };
    let mut paths = Paths::new();
    for (path, operations) in written.paths {
        let path = path.replace("{kind}", kind.rules().path);
        let path = path.replace("{child}", child.map_or("{child}", |child| child.rules().path));
        paths
            .paths
            .insert(path, named(operations, kind.rules().path, &name));
    }
    (schemas, paths, handlers)
}

/// The operations of a path under a kind's own name.
fn named(mut operations: PathItem, tag: &str, name: &str) -> PathItem {
    let all = [
        &mut operations.get,
        &mut operations.post,
        &mut operations.patch,
        &mut operations.delete,
        &mut operations.put,
    ];
    for operation in all.into_iter().flatten() {
        operation.tags = Some(vec![tag.to_owned()]);
        operation.operation_id = operation.operation_id.take().map(|id| format!("{id}_{name}"));
    }
    operations
}

async fn no_such_route(_: Anonymous, uri: axum::http::Uri) -> crate::respond::Refused {
    let path = spexus_domain::text::excerpt(uri.path(), 100);
    Refusal::new(Code::ResourceNotFound, format!("there is nothing at {path}"))
        .hint("See /docs for what there is.")
        .into()
}

async fn no_such_method(
    _: Anonymous,
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
