//! What the server can do, as it stands now: the families it serves, those that come and go while it runs, and for whom.
//!
//! The object is made once for each version and audience and kept until something is declared or withdrawn, so that
//! greeting a client costs a look-up.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::settings::Settings;
use mcp_protocol::{TASKS_EXTENSION, Version};

/// How many combinations of version and audience are kept. One more makes it start anew.
const MAX_KEPT: usize = 1_024;
/// The family of prompts that clients add.
const PROMPT_CREATION: (&str, &str) = ("prompts/create", "1.0.0");

type DeclarationCache = HashMap<(Version, Option<String>), Arc<Value>>;

/// The families outside MCP that are declared now, and the objects made of them.
#[derive(Debug)]
pub(crate) struct Capabilities {
    state: Mutex<State>,
    made: AtomicU64,
}

#[derive(Debug)]
struct State {
    families: BTreeMap<String, String>,
    kept: DeclarationCache,
}

impl Capabilities {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut families: BTreeMap<String, String> = settings.experimental.iter().cloned().collect();
        if settings.offers.prompts && settings.offers.prompt_creation {
            families.insert(PROMPT_CREATION.0.to_owned(), PROMPT_CREATION.1.to_owned());
        }
        Self {
            state: Mutex::new(State {
                families,
                kept: DeclarationCache::new(),
            }),
            made: AtomicU64::new(0),
        }
    }

    /// Declares a family. False when it is declared in this version already.
    pub(crate) fn declare(&self, family: &str, version: &str) -> bool {
        let mut state = self.lock();
        let before = state.families.insert(family.to_owned(), version.to_owned());
        let changed = before.as_deref() != Some(version);
        if changed {
            state.kept.clear();
        }
        changed
    }

    /// Withdraws a family. False when it is not declared.
    pub(crate) fn withdraw(&self, family: &str) -> bool {
        let mut state = self.lock();
        let changed = state.families.remove(family).is_some();
        if changed {
            state.kept.clear();
        }
        changed
    }

    /// Whether any family that is declared now is such, by its name and version.
    pub(crate) fn any_family(&self, is_such: impl Fn(&str, &str) -> bool) -> bool {
        let state = self.lock();
        state
            .families
            .iter()
            .any(|(family, version)| is_such(family, version))
    }

    /// How often an object was made.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    // Fulfils 000 R4.4, 000 R4.5, 001 D2, 001 D7, 003 R3.7
    /// The object for a version and an audience; `shows` says which families outside MCP the audience sees.
    //= specs/mcp-server.md#lifecycle
    //# What the server declares MUST be what it serves to the client at that moment, and MUST be made once until it changes.
    pub(crate) fn of(
        &self,
        settings: &Settings,
        version: Version,
        audience: Option<String>,
        shows: impl Fn(&str) -> bool,
    ) -> Arc<Value> {
        let mut state = self.lock();
        let key = (version, audience);
        if let Some(kept) = state.kept.get(&key) {
            return kept.clone();
        }
        let seen = state.families.iter().filter(|(family, _)| shows(family));
        let made = Arc::new(make(settings, version, seen));
        self.made.fetch_add(1, Ordering::Relaxed);
        if state.kept.len() >= MAX_KEPT {
            state.kept.clear();
        }
        state.kept.insert(key, made.clone());
        made
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

// Fulfils 000 R1.4, 000 R1.5, 000 R4.1, 000 R4.2, 000 R4.3, 003 R3.1, 003 R3.2, 003 R3.3, 003 R3.4, 002 Req-Cap-002, 002 Req-Cap-003
//= specs/mcp-server.md#lifecycle
//# The server MUST declare exactly the families it serves, and every family outside MCP with a semantic version.
fn make<'a>(
    settings: &Settings,
    version: Version,
    families: impl Iterator<Item = (&'a String, &'a String)>,
) -> Value {
    let offers = &settings.offers;
    let mut all = json!({});
    if offers.tools {
        all["tools"] = json!({ "listChanged": true });
    }
    if offers.resources {
        all["resources"] = json!({ "subscribe": true, "listChanged": true });
    }
    if offers.prompts {
        all["prompts"] = json!({ "listChanged": true });
    }
    if offers.logging {
        all["logging"] = json!({});
    }
    if offers.completions {
        all["completions"] = json!({});
    }
    let mut extensions = settings.extensions.clone();
    if offers.tasks && version.has_core_tasks() {
        all["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    if offers.tasks && version.has_task_extension() {
        extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    }
    if !extensions.is_empty() {
        all["extensions"] = json!(extensions);
    }
    for (family, version) in families {
        all["experimental"][family] = json!({ "version": version });
    }
    all
}
