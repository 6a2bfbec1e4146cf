//! A server with pages, and browsers without scripts.

use reqwest::{Client, Method, redirect};
use spexus_domain::account::Caller;
use spexus_domain::item::{Item, NewItem};
use spexus_domain::{Kind, Timestamp};
use spexus_http::{HttpOptions, McpOptions};
use spexus_service::account::login;
use spexus_service::{Service, ServiceOptions, account, item};
use spexus_store::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) use test_support::both;

pub(crate) const ADMIN_PASSWORD: &str = "correct horse battery";

/// What every other account of the tests has.
pub(crate) const PASSWORD: &str = "long enough";

/// A running server.
pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) service: Service,
    /// The administrator, for preparing what a story is about.
    pub(crate) admin: Caller,
    stop: Option<oneshot::Sender<()>>,
    done: JoinHandle<std::io::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("spexus.db"));
        Self::start(location, Some(folder)).await
    }

    pub(crate) async fn on_postgres() -> Option<Self> {
        let url = tokio::task::spawn_blocking(test_support::fresh_database)
            .await
            .unwrap()?;
        Some(Self::start(Location::parse(&url).unwrap(), None).await)
    }

    async fn start(location: Location, folder: Option<tempfile::TempDir>) -> Self {
        let clock = AtomicI64::new(1_790_000_000_000_000);
        let now = Arc::new(move || Timestamp(clock.fetch_add(1, Ordering::Relaxed)));
        let opened = Service::open(&location, ServiceOptions::for_testing(), now).await;
        let (service, _) = opened.unwrap();
        let admin = login::local(&service, None, "test").await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let options = HttpOptions {
            max_anonymous_requests_per_minute: 10_000,
            ..HttpOptions::default()
        };
        let mcp = spexus_http::mcp(&service, &options, McpOptions::default()).unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let pages = spexus_web::pages();
        let serving = spexus_http::serve_with(listener, service.clone(), mcp, options, pages, stopped);
        Self {
            url,
            service,
            admin,
            stop: Some(stop),
            done: tokio::spawn(serving),
            _folder: folder,
        }
    }

    /// The end of a story.
    pub(crate) async fn end(mut self) {
        drop(self.stop.take());
        (&mut self.done).await.unwrap().unwrap();
    }

    /// A browser nobody is signed in at.
    pub(crate) fn browser(&self) -> Browser {
        Browser {
            url: self.url.clone(),
            client: Client::builder()
                .redirect(redirect::Policy::none())
                .build()
                .unwrap(),
            cookies: Vec::new(),
        }
    }

    /// A browser the administrator is signed in at.
    pub(crate) async fn signed_in(&self) -> Browser {
        self.signed_in_as("admin", ADMIN_PASSWORD).await
    }

    pub(crate) async fn signed_in_as(&self, username: &str, password: &str) -> Browser {
        let mut browser = self.browser();
        let fields = [("username", username), ("password", password)];
        assert_eq!(browser.post("/login", &fields).await.status, 303);
        browser
    }

    /// A new account, signed in.
    pub(crate) async fn person(&self, username: &str, role: &str) -> Browser {
        let input = serde_json::json!({"username": username, "password": PASSWORD, "role": role});
        let input = serde_json::from_value(input).unwrap();
        account::user::create(&self.service, &self.admin, input)
            .await
            .unwrap();
        self.signed_in_as(username, PASSWORD).await
    }

    /// A new item of the project `default`.
    pub(crate) async fn item(&self, kind: Kind, parent: Option<&str>, title: &str, text: &str) -> Item {
        self.item_in("default", kind, parent, title, text).await
    }

    pub(crate) async fn item_in(
        &self,
        project: &str,
        kind: Kind,
        parent: Option<&str>,
        title: &str,
        text: &str,
    ) -> Item {
        let input = NewItem {
            project: Some(project.into()),
            title: title.into(),
            description: text.into(),
            parent: parent.map(str::to_owned),
            ..NewItem::default()
        };
        item::create(&self.service, &self.admin, kind, input, None)
            .await
            .unwrap()
    }

    /// An epic with a story, a criterion and a requirement: `EP-001`, `US-001`, `AC-001`, `REQ-001`.
    pub(crate) async fn seed(&self) {
        self.item(Kind::Epic, None, "Sign in", "People **sign in**.")
            .await;
        self.item(
            Kind::UserStory,
            Some("EP-001"),
            "With a passkey",
            "As a customer …",
        )
        .await;
        let text = "The passkey prompt opens within a second.";
        self.item(Kind::AcceptanceCriterion, Some("US-001"), "", text)
            .await;
        let text = "The service **shall** accept passkeys.";
        self.item(Kind::Requirement, Some("US-001"), "Passkeys work", text)
            .await;
    }
}

/// A browser without scripts: it keeps cookies and says where its forms come from.
pub(crate) struct Browser {
    pub(crate) url: String,
    client: Client,
    pub(crate) cookies: Vec<(String, String)>,
}

impl Browser {
    pub(crate) async fn get(&mut self, path: &str) -> Page {
        self.send(Method::GET, path, &[], &[]).await
    }

    /// A page that has to be there.
    pub(crate) async fn see(&mut self, path: &str) -> Page {
        let page = self.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        page
    }

    /// Sends a form of a page of the server.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let origin = self.url.clone();
        self.send(Method::POST, path, fields, &[("Origin", &origin)])
            .await
    }

    /// Sends a form that has to be taken, and follows to the page it leads to.
    pub(crate) async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.post(path, fields).await;
        assert_eq!(page.status, 303, "{path}: {}", page.text);
        let location = page.header("location").to_owned();
        self.see(&location).await
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Page {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url));
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            request = request.header("Cookie", cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if method == Method::POST {
            let body: String = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(fields)
                .finish();
            let kind = "application/x-www-form-urlencoded";
            request = request.header("Content-Type", kind).body(body);
        }
        let response = request.send().await.unwrap();
        let page = Page {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        };
        for cookie in page.headers.get_all("set-cookie") {
            self.keep(cookie.to_str().unwrap());
        }
        page
    }

    fn keep(&mut self, cookie: &str) {
        let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        self.cookies.retain(|(known, _)| known != name);
        if !cookie.contains("Max-Age=0") {
            self.cookies.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Whether the page has this piece of markup.
    #[track_caller]
    pub(crate) fn shows(&self, piece: &str) -> &Self {
        assert!(self.text.contains(piece), "{piece:?} is not in {}", self.text);
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&self, piece: &str) -> &Self {
        assert!(!self.text.contains(piece), "{piece:?} is in {}", self.text);
        self
    }
}

impl Page {
    /// The value of a hidden field of the first form that has it.
    #[track_caller]
    pub(crate) fn hidden(&self, name: &str) -> &str {
        let field = format!("name=\"{name}\" value=\"");
        let found = self.text.split(&field).nth(1).expect("a hidden field");
        found.split('"').next().unwrap()
    }
}
