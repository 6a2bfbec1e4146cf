//! Logging in and out, users, tokens.

use crate::app::App;
use crate::auth::{Anonymous, Authenticated, RequestOrigin, Secret, session_cookie};
use crate::extract::{Id, Input, PageParams, Params, uuid};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::account::{NewToken, NewUser, Token, User, UserPatch};
use spexus_domain::query::{Page, PageRequest};
use spexus_service::account::login::{self, LoggedIn};
use spexus_service::account::token::{self, CreatedToken};
use spexus_service::account::user::{self, Profile, Tokens};
use spexus_service::account::whoami::{WhoAmI, whoami};
use spexus_service::envelope::ErrorEnvelope;
use utoipa::{IntoParams, ToSchema};

/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginInput {
    /// The user name.
    username: String,
    /// The password.
    password: String,
}

/// Log in: opens a web session, as a token and as a cookie.
#[utoipa::path(
    post, path = "/api/v1/auth/login", tag = "accounts", request_body = LoginInput, security(()),
    responses((status = 200, body = LoggedIn), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn log_in(
    State(app): State<App>,
    _: Anonymous,
    RequestOrigin(origin): RequestOrigin,
    Input(input): Input<LoginInput>,
) -> Answer<impl IntoResponse> {
    let session = login::login(&app.service, &input.username, &input.password, &origin).await?;
    let cookie = session_cookie(&app, &session.token, "");
    Ok(([(header::SET_COOKIE, cookie)], Json(session)))
}

/// Log out: closes the web session the request was made with.
#[utoipa::path(
    post, path = "/api/v1/auth/logout", tag = "accounts",
    responses((status = 204), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn log_out(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    RequestOrigin(origin): RequestOrigin,
    headers: HeaderMap,
) -> Answer<impl IntoResponse> {
    if let Some(secret) = Secret::of(&headers) {
        login::logout(&app.service, &caller, secret.text(), &origin).await?;
    }
    let cookie = session_cookie(&app, "", "; Max-Age=0");
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]))
}

/// Tell who the request is made by.
#[utoipa::path(
    get, path = "/api/v1/auth/profile", tag = "accounts",
    responses((status = 200, body = User), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_profile(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<User>> {
    Ok(Json(user::get(&app.service, &caller, "me").await?))
}

/// Tell who the request is made by, with which rights and in which projects.
#[utoipa::path(
    get, path = "/api/v1/auth/whoami", tag = "accounts",
    responses((status = 200, body = WhoAmI), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn who_am_i(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<WhoAmI>> {
    Ok(Json(whoami(&app.service, &caller).await?))
}

/// The old password and the new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PasswordInput {
    /// The password now.
    current_password: String,
    /// The password from now on.
    new_password: String,
    /// Whether the tokens of the account are revoked too.
    #[serde(default)]
    revoke_tokens: bool,
}

fn tokens(revoke: bool) -> Tokens {
    match revoke {
        true => Tokens::Revoke,
        false => Tokens::Keep,
    }
}

/// Change one's own password; all sessions end, tokens only when asked for.
#[utoipa::path(
    post, path = "/api/v1/auth/password", tag = "accounts", request_body = PasswordInput,
    responses((status = 204), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn change_password(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    RequestOrigin(origin): RequestOrigin,
    Input(input): Input<PasswordInput>,
) -> Answer<StatusCode> {
    user::change_password(
        &app.service,
        &caller,
        &input.current_password,
        &input.new_password,
        tokens(input.revoke_tokens),
        &origin,
    )
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the users by name.
#[utoipa::path(
    get, path = "/api/v1/users", tag = "accounts", params(PageParams),
    responses((status = 200, body = Page<Profile>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_users(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageParams>,
) -> Answer<Json<Page<Profile>>> {
    let page = params.page()?;
    Ok(Json(user::names(&app.service, &caller).await?.part(&page)))
}

/// Make an account.
#[utoipa::path(
    post, path = "/api/v1/users", tag = "accounts", request_body = NewUser,
    responses((status = 201, body = User), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_user(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewUser>,
) -> Answer<impl IntoResponse> {
    let user = user::create(&app.service, &caller, input).await?;
    Ok(Tagged::created(
        user.rev,
        format!("/api/v1/users/{}", user.id),
        user,
    ))
}

/// Read an account: one's own, or for administrators anyone's.
#[utoipa::path(
    get, path = "/api/v1/users/{user}", tag = "accounts", params(("user" = String, Path, description = "A name, an id or `me`.")),
    responses((status = 200, body = User), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_user(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
) -> Answer<impl IntoResponse> {
    let user = user::get(&app.service, &caller, &name).await?;
    Ok(Tagged::ok(user.rev, user))
}

/// Change an account; role and access bite at once.
#[utoipa::path(
    patch, path = "/api/v1/users/{user}", tag = "accounts", request_body = UserPatch,
    params(("user" = String, Path, description = "A name or an id."),
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = User), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_user(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
    headers: HeaderMap,
    Input(mut patch): Input<UserPatch>,
) -> Answer<impl IntoResponse> {
    patch.expect_rev = one_rev(&headers, patch.expect_rev)?;
    let user = user::update(&app.service, &caller, &name, patch).await?;
    Ok(Tagged::ok(user.rev, user))
}

/// Disable an account: its tokens and sessions go, its name stays in the history.
#[utoipa::path(
    delete, path = "/api/v1/users/{user}", tag = "accounts", params(("user" = String, Path, description = "A name or an id.")),
    responses((status = 200, body = User), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn disable_user(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
) -> Answer<Json<User>> {
    Ok(Json(user::disable(&app.service, &caller, &name).await?))
}

/// A new password for someone.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResetInput {
    /// The password from now on.
    password: String,
    /// Whether the tokens of the account are revoked too.
    #[serde(default)]
    revoke_tokens: bool,
}

/// Set someone's password; all of that person's sessions end, tokens only when asked for.
#[utoipa::path(
    put, path = "/api/v1/users/{user}/password", tag = "accounts", request_body = ResetInput,
    params(("user" = String, Path, description = "A name or an id.")),
    responses((status = 204), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn reset_password(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
    Input(input): Input<ResetInput>,
) -> Answer<StatusCode> {
    let tokens = tokens(input.revoke_tokens);
    user::reset_password(&app.service, &caller, &name, &input.password, tokens).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whose tokens are meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TokenParams {
    /// The owner; oneself when left out.
    user: Option<String>,
}

/// Whose tokens are meant, and which page of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TokenPage {
    /// The owner; oneself when left out.
    user: Option<String>,
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List tokens, without their secrets.
#[utoipa::path(
    get, path = "/api/v1/tokens", tag = "accounts", params(TokenPage),
    responses((status = 200, body = Page<Token>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_tokens(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<TokenPage>,
) -> Answer<Json<Page<Token>>> {
    let page = PageRequest::new(params.limit, params.cursor)?;
    let found = token::list(&app.service, &caller, params.user.as_deref()).await?;
    Ok(Json(found.part(&page)))
}

/// Make a token; its secret is shown this once.
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "accounts", request_body = NewToken, params(TokenParams),
    responses((status = 201, body = CreatedToken), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_token(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<TokenParams>,
    Input(input): Input<NewToken>,
) -> Answer<impl IntoResponse> {
    let created = token::create(&app.service, &caller, params.user.as_deref(), input).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revoke a token; it opens nothing from now on.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{id}", tag = "accounts", params(("id" = String, Path, description = "The id of the token.")),
    responses((status = 200, body = Token), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn revoke_token(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<Json<Token>> {
    Ok(Json(token::revoke(&app.service, &caller, uuid(&id)?).await?))
}
