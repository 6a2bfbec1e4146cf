//! Bundles: good ones run, bad ones leave nothing behind.

use std::io::{Cursor, Write as _};

use mcp_apps::AppSource;
use refusal::Code;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::host::{Host, request_for, troublemaker};

type Bundle = ZipWriter<Cursor<Vec<u8>>>;

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3", "name": "packed", "version": "2.0.0", "description": "From a bundle.",
        "author": { "name": "Nobody" },
        "server": { "type": "binary", "entry_point": "server/run", "mcp_config": { "command": "${__dirname}/server/run", "args": [] } },
        "tools": [{ "name": "echo" }], "capabilities": ["tools", "prompts"],
    })
}

fn bundle(fill: impl FnOnce(&mut Bundle)) -> AppSource {
    let mut bundle = ZipWriter::new(Cursor::new(Vec::new()));
    bundle.start_file("manifest.json", options()).unwrap();
    bundle.write_all(manifest().to_string().as_bytes()).unwrap();
    fill(&mut bundle);
    AppSource::Packed(bundle.finish().unwrap().into_inner())
}

fn program(bundle: &mut Bundle) {
    bundle
        .start_file("server/run", options().unix_permissions(0o4755))
        .unwrap();
    bundle.write_all(&std::fs::read(troublemaker()).unwrap()).unwrap();
}

#[tokio::test]
async fn a_bundle_is_unpacked_started_and_removed() {
    let host = Host::new().await;
    let listed = host.apps.install(request_for(bundle(program))).await.unwrap();
    assert_eq!(
        (listed.name.as_str(), listed.record.location.name()),
        ("packed", "bundle")
    );
    let mut client = host.user().await;
    assert_eq!(
        client.text_of("packed_echo", json!({ "text": "unpacked" })).await,
        "unpacked"
    );
    let file = host.options.folder.join("packed/files/server/run");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700, "no bit but the owner's is taken over");
    }
    host.apps.uninstall("packed").await.unwrap();
    assert!(!file.exists() && host.shelf().is_empty());
}

//= specs/mcp-apps.md#bundles
//= type=test
//# A bundle MUST be checked whole before anything of it is written.
//= specs/mcp-apps.md#bundles
//= type=test
//# A bundle with a path that leads out of it MUST be refused with 1036, one with a symbolic link with 1038.
//= specs/mcp-apps.md#bundles
//= type=test
//# A bundle that unpacks to more than its limits allow MUST be refused with 1068.
#[tokio::test]
async fn bad_bundles_are_refused_and_leave_nothing_behind() {
    let host = Host::with(|options| {
        options.limits.max_bundle_bytes = 64 << 20;
        options.limits.max_unpacked_bytes = 96 << 20;
        options.limits.max_bundle_entries = 50;
    })
    .await;
    let outside = host.options.folder.parent().unwrap().join("escaped");
    let named = |name: &'static str| {
        bundle(move |bundle| {
            program(bundle);
            bundle.start_file(name, options()).unwrap();
            bundle.write_all(b"x").unwrap();
        })
    };
    let zeros = |mebibytes: usize| {
        bundle(move |bundle| {
            program(bundle);
            bundle.start_file("zeros", options()).unwrap();
            for _ in 0..mebibytes {
                bundle.write_all(&vec![0; 1 << 20]).unwrap();
            }
        })
    };
    let spread = bundle(|bundle| {
        for n in 0..40_u32 {
            bundle.start_file(format!("part-{n}"), options()).unwrap();
            // Packs to a hundredth: below the ratio, above the sum.
            let mut block = vec![0_u8; 3 << 20];
            for at in (0..block.len()).step_by(1 << 9) {
                block[at..at + 4].copy_from_slice(
                    &(n * 7_919 + u32::try_from(at).unwrap())
                        .wrapping_mul(2_654_435_761)
                        .to_le_bytes(),
                );
            }
            bundle.write_all(&block).unwrap();
        }
    });
    let linked = bundle(|bundle| {
        program(bundle);
        bundle.add_symlink("link", "/etc/passwd", options()).unwrap();
    });
    let many = bundle(|bundle| {
        for n in 0..60 {
            bundle.start_file(n.to_string(), options()).unwrap();
        }
    });
    let twice = bundle(|bundle| {
        program(bundle);
        for name in ["READ.me", "read.ME"] {
            bundle.start_file(name, options()).unwrap();
        }
    });
    let mut bare = ZipWriter::new(Cursor::new(Vec::new()));
    bare.start_file("x", options()).unwrap();
    let bare = AppSource::Packed(bare.finish().unwrap().into_inner());
    for (what, source, code) in [
        ("climbs", named("../../escaped"), Code::PathTraversalDetected),
        ("absolute", named("/tmp/escaped"), Code::PathTraversalDetected),
        (
            "backslash",
            named("a\\..\\..\\escaped"),
            Code::PathTraversalDetected,
        ),
        ("symlink", linked, Code::SymlinkTraversalDetected),
        ("bomb", zeros(64), Code::MessageTooLarge),
        ("too much in all", spread, Code::MessageTooLarge),
        ("too many files", many, Code::MessageTooLarge),
        ("the same name twice", twice, Code::InvalidParams),
        ("no program in it", bundle(|_| {}), Code::InvalidParams),
        ("no manifest", bare, Code::MissingRequiredField),
        (
            "no zip",
            AppSource::Packed(b"PK or not".to_vec()),
            Code::InvalidParams,
        ),
        (
            "too large",
            AppSource::Packed(vec![0; 65 << 20]),
            Code::MessageTooLarge,
        ),
    ] {
        let refusal = host.apps.install(request_for(source)).await.unwrap_err();
        assert_eq!(refusal.code, code, "{what}: {refusal}");
        assert!(host.shelf().is_empty() && !outside.exists(), "{what}");
        assert!(
            host.server.tool_names().is_empty() && host.apps.list().unwrap().is_empty(),
            "{what}"
        );
    }
}
