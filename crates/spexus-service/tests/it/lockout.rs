//! Failed logins: who is slowed down by whom, on one node or several, before and after a restart.

use crate::world::{ADMIN_PASSWORD, PASSWORD, Refused, World, both, fact};

both![
    failures_slow_the_next_attempt_down,
    nobody_waits_longer_than_a_quarter_of_an_hour,
    a_clock_set_back_makes_nobody_wait_longer,
    a_flood_of_guesses_is_slowed_down_like_a_trickle,
    six_wrong_passwords_elsewhere_lock_nobody_out,
    a_new_ipv6_address_for_every_guess_does_not_help,
    guesses_from_many_networks_slow_strangers_down_and_not_the_owner,
    one_password_on_many_names_slows_the_network_down,
    a_second_node_and_a_restart_remember_the_failures,
];

const HOME: &str = "198.51.100.1";

async fn fail(world: &World, from: &str, username: &str) {
    world
        .log_in(from, username, "wrong")
        .await
        .map(drop)
        .refused(1013);
}

/// How long somebody has to wait, in seconds.
async fn wait(world: &World, from: &str, username: &str, password: &str) -> u32 {
    let refusal = world
        .log_in(from, username, password)
        .await
        .map(drop)
        .refused(1056);
    fact(&refusal, "retry_after_seconds").parse().unwrap()
}

async fn enter(world: &World, from: &str, username: &str, password: &str) {
    world.log_in(from, username, password).await.map(drop).unwrap();
}

/// Fails so often that the next attempt has to wait two seconds.
async fn fail_six_times(world: &World, username: &str) {
    for _ in 0..6 {
        fail(world, HOME, username).await;
    }
}

//= specs/spexus-service.md#logging-in
//= type=test
//# After five failed logins of a name from a network, each further one MUST double the wait, up to 15 minutes.
async fn failures_slow_the_next_attempt_down(world: &World) {
    world.user("kim", "User").await;
    fail_six_times(world, "kim").await;
    for password in ["wrong", PASSWORD] {
        let waits = wait(world, HOME, "KIM", password).await;
        assert_eq!(waits, 2, "whatever the letter case and the password");
    }
    enter(world, HOME, "admin", ADMIN_PASSWORD).await;
    world.jump(3);
    fail(world, HOME, "kim").await;
    assert_eq!(wait(world, HOME, "kim", PASSWORD).await, 4);
    world.jump(5);
    enter(world, HOME, "kim", PASSWORD).await;
    fail(world, HOME, "kim").await;
    enter(world, HOME, "kim", PASSWORD).await;
}

async fn nobody_waits_longer_than_a_quarter_of_an_hour(world: &World) {
    world.user("kim", "User").await;
    fail_six_times(world, "kim").await;
    for _ in 0..70 {
        world.jump(1_000);
        fail(world, HOME, "kim").await;
    }
    assert_eq!(wait(world, HOME, "kim", PASSWORD).await, 900);
    world.jump(901);
    enter(world, HOME, "kim", PASSWORD).await;
}

// Found here: a clock set back kept a name out until the old time was reached again.
//= specs/spexus-service.md#logging-in
//= type=test
//# A clock that is set back MUST NOT make anyone wait longer.
async fn a_clock_set_back_makes_nobody_wait_longer(world: &World) {
    world.user("kim", "User").await;
    fail_six_times(world, "kim").await;
    world.jump(-36_000);
    assert_eq!(wait(world, HOME, "kim", PASSWORD).await, 2);
    world.jump(3);
    enter(world, HOME, "kim", PASSWORD).await;
}

// Found here: guesses sent at once all passed before the first of them was counted.
async fn a_flood_of_guesses_is_slowed_down_like_a_trickle(world: &World) {
    world.user("kim", "User").await;
    let guess = async || {
        world
            .log_in(HOME, "kim", "wrong")
            .await
            .map(drop)
            .unwrap_err()
            .code
    };
    let guesses = (0..60).map(|_| guess());
    let answers = futures_util::future::join_all(guesses).await;
    let numbers: Vec<u16> = answers.iter().map(|code| code.number()).collect();
    let tried = numbers.iter().filter(|number| **number == 1013).count();
    assert!((1..=10).contains(&tried), "{numbers:?}");
    assert!(
        numbers.iter().all(|number| [1013, 1056, 1060].contains(number)),
        "{numbers:?}"
    );
}

// Found by review (S-H8): behind a proxy six wrong passwords locked an account out for everybody.
async fn six_wrong_passwords_elsewhere_lock_nobody_out(world: &World) {
    world.user("kim", "User").await;
    fail_six_times(world, "kim").await;
    assert_eq!(wait(world, HOME, "kim", PASSWORD).await, 2);
    enter(world, "198.51.100.2", "kim", PASSWORD).await;
    enter(world, HOME, "admin", ADMIN_PASSWORD).await;
}

// Found by review (S-M3): every address of an IPv6 network had guesses of its own.
//= specs/spexus-service.md#logging-in
//= type=test
//# Addresses of one IPv6 network of 64 bits MUST be counted as one.
async fn a_new_ipv6_address_for_every_guess_does_not_help(world: &World) {
    world.user("kim", "User").await;
    for at in 1..=6 {
        fail(world, &format!("2001:db8:1:2::{at}"), "kim").await;
    }
    assert_eq!(wait(world, "2001:db8:1:2:ffff::7", "kim", PASSWORD).await, 2);
    enter(world, "2001:db8:1:3::1", "kim", PASSWORD).await;
}

// Found by review (S-M3): guesses from many networks were not counted together at all.
//= specs/spexus-service.md#logging-in
//= type=test
//# Failed logins of a name from anywhere MUST slow the name down by at most 30 seconds, and MUST NOT slow down a network from which it was logged in to in the last 30 days.
async fn guesses_from_many_networks_slow_strangers_down_and_not_the_owner(world: &World) {
    world.user("kim", "User").await;
    enter(world, "203.0.113.7", "kim", PASSWORD).await;
    for at in 1..=60 {
        let answer = world.log_in(&format!("198.51.100.{at}"), "kim", "wrong").await;
        let number = answer.map(drop).unwrap_err().code.number();
        assert!([1013, 1056].contains(&number), "{number}");
        world.jump(if number == 1056 { 31 } else { 0 });
    }
    world.jump(31);
    fail(world, "198.51.100.150", "kim").await;
    let longest = wait(world, "198.51.100.200", "kim", PASSWORD).await;
    assert!(
        (1..=30).contains(&longest),
        "slowed down, not locked out: {longest}"
    );
    enter(world, "203.0.113.7", "kim", PASSWORD).await;
    world.jump(31);
    enter(world, "198.51.100.200", "kim", PASSWORD).await;
}

//= specs/spexus-service.md#logging-in
//= type=test
//# Failed logins from a network MUST slow down all names from it that were not logged in to from there in the last 30 days.
async fn one_password_on_many_names_slows_the_network_down(world: &World) {
    world.user("kim", "User").await;
    enter(world, HOME, "kim", PASSWORD).await;
    let spray = async || {
        for at in 0..31 {
            fail(world, HOME, &format!("name {at}")).await;
        }
    };
    spray().await;
    assert_eq!(wait(world, HOME, "admin", ADMIN_PASSWORD).await, 2);
    enter(world, HOME, "kim", PASSWORD).await;
    enter(world, "198.51.100.2", "admin", ADMIN_PASSWORD).await;
    world.jump(31 * 86_400);
    spray().await;
    assert!(wait(world, HOME, "kim", PASSWORD).await > 0, "it is long ago");
}

// Found by review (S-M3): nodes and restarts forgot who had failed.
//= specs/spexus-service.md#logging-in
//= type=test
//# Failed logins MUST be counted by all nodes together, and a restart MUST NOT forget them.
async fn a_second_node_and_a_restart_remember_the_failures(world: &World) {
    world.user("kim", "User").await;
    for _ in 0..3 {
        fail(world, HOME, "kim").await;
    }
    let second = world.second_node().await;
    for _ in 0..3 {
        fail(&second, HOME, "kim").await;
    }
    assert!(wait(&second, HOME, "kim", PASSWORD).await > 0);
    second.end().await;
    let third = world.second_node().await;
    assert!(wait(&third, HOME, "kim", PASSWORD).await > 0);
    third.end().await;
}
