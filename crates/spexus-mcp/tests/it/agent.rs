//! An agent: a connection to the server that belongs to one caller.

use crate::world::World;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use mcp_server::lines;
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_mcp::Visit;
use spexus_service::Origin;
use spexus_service::account::token;
use std::ops::Deref;
use test_support::mcp::{LineAgent, McpClient};

/// Bytes on their way between the two sides.
const PIPE_BYTES: usize = 1 << 20;

/// A client that has said hello.
pub(crate) struct Agent(LineAgent);

impl Deref for Agent {
    type Target = LineAgent;

    fn deref(&self) -> &LineAgent {
        &self.0
    }
}

impl Agent {
    /// An agent of the administrator, on the version most hosts speak.
    pub(crate) async fn connect(world: &World) -> Self {
        Self::with(world, &world.token, "2025-06-18", &[]).await
    }

    /// An agent of a token, that asks for its part of the product as headers do.
    pub(crate) async fn with(
        world: &World,
        token: &str,
        version: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        Self::able(world, token, version, headers, json!({})).await
    }

    /// The same with capabilities of the client.
    pub(crate) async fn able(
        world: &World,
        token: &str,
        version: &str,
        headers: &[(&'static str, &str)],
        capabilities: Value,
    ) -> Self {
        let client = silent(world, token, headers).await.unwrap();
        Self(LineAgent::greet(client, version, capabilities).await)
    }
}

/// A client of a token that has said nothing yet.
pub(crate) async fn silent(world: &World, token: &str, headers: &[(&'static str, &str)]) -> Ruled<McpClient> {
    let extensions = extensions(world, token, headers).await?;
    let (client, theirs) = McpClient::in_memory(PIPE_BYTES);
    let (reader, writer) = tokio::io::split(theirs);
    let server = world.mcp.server().clone();
    tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
    Ok(client)
}

/// What a transport says of a request with these headers.
pub(crate) async fn extensions(
    world: &World,
    token: &str,
    headers: &[(&'static str, &str)],
) -> Ruled<Extensions> {
    let caller = token::authenticate(&world.service, token, &Origin::default()).await?;
    let mut asked = HeaderMap::new();
    for (name, value) in headers {
        asked.insert(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let mut extensions = Extensions::new();
    Visit::asked(caller, world.mcp.options(), &asked)?.attach(&mut extensions);
    Ok(extensions)
}
