//! A key store in miniature, as `audit.key_command` talks to one: the key is in the file that is named first, `public` answers its
//! public half, and `sign` signs the digest on standard input. A real one keeps the key where no program can read it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command answers on its standard output"
)]

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use std::io::Read as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (file, wish) = (
        arguments.next().unwrap_or_default(),
        arguments.next().unwrap_or_default(),
    );
    match answer(&file, &wish) {
        Some(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("key_store FILE public|sign");
            ExitCode::FAILURE
        }
    }
}

fn answer(file: &str, wish: &str) -> Option<String> {
    let seed = hex::decode(std::fs::read_to_string(file).ok()?.trim()).ok()?;
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
    match wish {
        "public" => Some(hex::encode(pair.public_key().as_ref())),
        "sign" => {
            let mut digest = String::new();
            std::io::stdin().read_to_string(&mut digest).ok()?;
            let digest = hex::decode(digest.trim()).ok()?;
            Some(hex::encode(pair.sign(&digest).as_ref()))
        }
        _ => None,
    }
}
