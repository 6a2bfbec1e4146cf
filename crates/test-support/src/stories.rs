//! Stories that are told on both engines.

/// Every story is told on both engines, as two tests. Where it stands, `crate::World` has `on_sqlite`, `on_postgres`
/// (`None` where there is no such server) and `end`, and a story takes one by reference.
#[allow(
    clippy::crate_in_macro_def,
    reason = "the world is that of the tests that tell the stories"
)]
#[macro_export]
macro_rules! both {
    ($($story:ident),* $(,)?) => {
        $(
            mod $story {
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    let mut world = crate::World::on_sqlite().await;
                    super::$story(&mut world).await;
                    world.end().await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    if let Some(mut world) = crate::World::on_postgres().await {
                        super::$story(&mut world).await;
                        world.end().await;
                    }
                }
            }
        )*
    };
}
