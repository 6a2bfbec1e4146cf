//! Members of projects, and groups of users.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Ids, Input, PageParams, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::member::{Group, Member, NewGroup, NewMember};
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::{group, member};

/// List the members of a project: people by name, then groups.
#[utoipa::path(
    get, path = "/api/v1/projects/{key}/members", tag = "projects",
    params(PageParams, ("key" = String, Path, description = "The key of the project.")),
    responses((status = 200, body = Page<Member>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_members(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(key): Id,
    Params(params): Params<PageParams>,
) -> Answer<Json<Page<Member>>> {
    let page = params.page()?;
    let found = member::list(&app.service, &caller, Some(&key)).await?;
    Ok(Json(found.part(&page)))
}

/// Make somebody a member of a project, or change what they are in it.
#[utoipa::path(
    put, path = "/api/v1/projects/{key}/members/{member}", tag = "projects", request_body = NewMember,
    params(("key" = String, Path, description = "The key of the project."),
        ("member" = String, Path, description = "The name or id of a user, or `group:` and the name of a group.")),
    responses((status = 200, body = Member), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn put_member(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(key, wanted): Ids,
    Input(input): Input<NewMember>,
) -> Answer<Json<Member>> {
    Ok(Json(
        member::put(&app.service, &caller, Some(&key), &wanted, input).await?,
    ))
}

/// Take somebody's place in a project away; everybody may take their own.
#[utoipa::path(
    delete, path = "/api/v1/projects/{key}/members/{member}", tag = "projects",
    params(("key" = String, Path, description = "The key of the project."),
        ("member" = String, Path, description = "The name or id of a user, `me`, or `group:` and the name of a group.")),
    responses((status = 204), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn remove_member(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(key, wanted): Ids,
) -> Answer<StatusCode> {
    member::remove(&app.service, &caller, Some(&key), &wanted).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the groups of users.
#[utoipa::path(
    get, path = "/api/v1/groups", tag = "accounts", params(PageParams),
    responses((status = 200, body = Page<Group>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_groups(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageParams>,
) -> Answer<Json<Page<Group>>> {
    let page = params.page()?;
    Ok(Json(group::list(&app.service, &caller).await?.part(&page)))
}

/// Make a group, with nobody in it.
#[utoipa::path(
    post, path = "/api/v1/groups", tag = "accounts", request_body = NewGroup,
    responses((status = 201, body = Group), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_group(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewGroup>,
) -> Answer<impl IntoResponse> {
    let made = group::create(&app.service, &caller, input).await?;
    Ok(Tagged::created(
        made.rev,
        format!("/api/v1/groups/{}", made.name),
        made,
    ))
}

/// Remove a group, and with it what it was in projects.
#[utoipa::path(
    delete, path = "/api/v1/groups/{name}", tag = "accounts",
    params(("name" = String, Path, description = "The name of the group.")),
    responses((status = 200, body = Group), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_group(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
) -> Answer<Json<Group>> {
    Ok(Json(group::delete(&app.service, &caller, &name).await?))
}

/// Take a user into a group.
#[utoipa::path(
    put, path = "/api/v1/groups/{name}/users/{user}", tag = "accounts",
    params(("name" = String, Path, description = "The name of the group."),
        ("user" = String, Path, description = "The name or id of the user.")),
    responses((status = 200, body = Group), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn add_to_group(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(name, user): Ids,
) -> Answer<Json<Group>> {
    Ok(Json(group::add(&app.service, &caller, &name, &user).await?))
}

/// Take a user out of a group.
#[utoipa::path(
    delete, path = "/api/v1/groups/{name}/users/{user}", tag = "accounts",
    params(("name" = String, Path, description = "The name of the group."),
        ("user" = String, Path, description = "The name or id of the user.")),
    responses((status = 200, body = Group), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn remove_from_group(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(name, user): Ids,
) -> Answer<Json<Group>> {
    Ok(Json(group::remove(&app.service, &caller, &name, &user).await?))
}
