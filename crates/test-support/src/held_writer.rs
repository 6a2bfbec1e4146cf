//! The one writer of a database, held.

use std::sync::Arc;

use spexus_domain::{Timestamp, Uuid};
use spexus_store::{Actor, Location, Store, StoreOptions};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The place of the one writer, held as another process would, until it is released.
pub struct HeldWriter {
    go_on: Arc<Notify>,
    holding: JoinHandle<spexus_store::Result<()>>,
}

impl HeldWriter {
    /// Returns once nobody else can write.
    pub async fn by_another_node(location: &Location) -> Self {
        // One that says nothing for longer than a transaction may take loses its place.
        let patient = StoreOptions {
            max_transaction_ms: 60_000,
            ..StoreOptions::default()
        };
        let opened = Store::open(location, &patient, Arc::new(|| Timestamp(0))).await;
        let (store, _) = opened.expect("the database opens");
        let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (signal, wait) = (entered.clone(), go_on.clone());
        let actor = Actor {
            user_id: Uuid::nil(),
            username: "another node".into(),
            token_id: None,
            client: String::new(),
        };
        let holding = tokio::spawn(async move {
            let held = store.write(actor, move |_| {
                Box::pin(async move {
                    signal.notify_one();
                    wait.notified().await;
                    Ok(())
                })
            });
            held.await
        });
        entered.notified().await;
        Self { go_on, holding }
    }

    /// Lets the others write.
    pub async fn release(self) {
        self.go_on.notify_one();
        let held = self.holding.await.expect("it does not panic");
        held.expect("nothing was written");
    }
}
