//! Which apps an installation has.

use crate::world::{World, both};
use spexus_domain::app::InstalledApp;
use spexus_domain::change::Action;
use spexus_domain::{Code, Refusal, Timestamp};
use spexus_service::{app, changes};
use std::cell::Cell;

both![
    an_app_is_recorded_for_every_node_and_chained,
    an_app_that_cannot_be_recorded_is_not_installed,
    an_app_of_another_machine_can_be_removed,
];

fn linter(version: &str) -> InstalledApp {
    InstalledApp {
        name: "linter".to_owned(),
        installation: format!("id of {version}"),
        version: version.to_owned(),
        source: "bundle".to_owned(),
        installed_at: Timestamp(1),
    }
}

//= specs/mcp-apps.md#installing
//= type=test
//# Which apps an installation has MUST stand in its database, and in its history when one comes or goes.
async fn an_app_is_recorded_for_every_node_and_chained(world: &World) {
    let (service, admin) = (&world.service, &world.admin.caller);
    let before = world.chain_head().await;
    let install = |version: &'static str| {
        app::install(
            service,
            admin,
            async move { Ok(version) },
            |made| linter(made),
            |_| (),
        )
    };
    assert_eq!(install("1.0.0").await.unwrap(), "1.0.0");
    install("2.0.0").await.unwrap();
    let other = world.second_node().await;
    assert_eq!(app::recorded(&other.service).await.unwrap(), [linter("2.0.0")]);
    assert!(app::forget(&other.service, admin, "linter").await.unwrap());
    assert!(!app::forget(service, admin, "linter").await.unwrap());
    assert!(app::recorded(service).await.unwrap().is_empty());
    let chained = changes::news(service, before, 10, false).await.unwrap();
    let actions: Vec<_> = chained
        .iter()
        .map(|news| (news.change.label.as_str(), news.change.action))
        .collect();
    assert_eq!(
        actions,
        [
            ("app", Action::Created),
            ("app", Action::Created),
            ("app", Action::Deleted)
        ]
    );
    other.end().await;
}

async fn an_app_that_cannot_be_recorded_is_not_installed(world: &World) {
    let secret = world.user("ursula", "User").await;
    let ursula = world.client(&secret).await.unwrap();
    let (started, undone) = (Cell::new(false), Cell::new(false));
    let install = async {
        started.set(true);
        Ok(())
    };
    let refused = app::install(
        &world.service,
        &ursula.caller,
        install,
        |()| linter("1.0.0"),
        |()| (),
    )
    .await;
    assert_eq!(refused.unwrap_err().code, Code::AuthzForbidden);
    assert!(!started.get(), "the right is asked for first");
    // Without a database to record it in, what was unpacked goes again.
    let node = world.second_node().await;
    node.service.clone().close().await;
    let lost = app::install(
        &node.service,
        &node.admin.caller,
        async { Ok(()) },
        |()| linter("1.0.0"),
        |()| undone.set(true),
    )
    .await;
    assert!(lost.is_err() && undone.get());
}

async fn an_app_of_another_machine_can_be_removed(world: &World) {
    let (service, admin) = (&world.service, &world.admin.caller);
    let not_here = || Err::<Option<()>, _>(Refusal::new(Code::ResourceNotFound, "there is no app"));
    app::record(service, admin, linter("1.0.0")).await.unwrap();
    assert_eq!(app::remove(service, admin, "linter", not_here).await, Ok(None));
    let refused = app::remove(service, admin, "linter", not_here).await;
    assert_eq!(refused.unwrap_err().code, Code::ResourceNotFound);
}
