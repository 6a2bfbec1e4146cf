//! The published numbers, written out: a row that changes its number, its name or what it means to HTTP and JSON-RPC
//! breaks programs that were written against it, so it must not change by editing one table.

use refusal::{Class, Code};

/// Number, name, class, HTTP status, `error.code`.
#[rustfmt::skip]
const PUBLISHED: [(u16, &str, Class, u16, i32); 51] = [
    (1001, "QUEUE_CAP_EXCEEDED", Class::Queue, 429, 1001),
    (1002, "QUEUE_BYTE_CAP_EXCEEDED", Class::Queue, 429, 1002),
    (1003, "QUEUE_TENANT_CAP_EXCEEDED", Class::Queue, 429, 1003),
    (1004, "BUFFER_OVERFLOW", Class::Queue, 503, 1004),
    (1005, "BACKPRESSURE_ACTIVE", Class::Queue, 503, 1005),
    (1011, "AUTH_FAILED", Class::Auth, 401, 1011),
    (1012, "AUTH_EXPIRED", Class::Auth, 401, 1012),
    (1013, "AUTH_INVALID_CREDENTIALS", Class::Auth, 401, 1013),
    (1014, "AUTHZ_FORBIDDEN", Class::Auth, 403, 1014),
    (1015, "AUTH_MISSING", Class::Auth, 401, 1015),
    (1016, "SESSION_INVALID", Class::Auth, 404, 1016),
    (1021, "INVALID_PARAMS", Class::Validation, 400, -32602),
    (1022, "INVALID_JSON_SCHEMA", Class::Validation, 400, -32602),
    (1023, "INVALID_URI", Class::Validation, 400, -32602),
    (1024, "INVALID_CONTENT_TYPE", Class::Validation, 415, 1024),
    (1025, "INVALID_HEADER", Class::Validation, 400, 1025),
    (1026, "INVALID_SESSION_ID", Class::Validation, 400, 1026),
    (1027, "INVALID_PROTOCOL_VERSION", Class::Validation, 400, -32602),
    (1028, "MISSING_REQUIRED_FIELD", Class::Validation, 400, -32602),
    (1029, "FIELD_TYPE_MISMATCH", Class::Validation, 400, -32602),
    (1036, "PATH_TRAVERSAL_DETECTED", Class::Path, 400, 1036),
    (1037, "PATH_INVALID", Class::Path, 400, 1037),
    (1038, "SYMLINK_TRAVERSAL_DETECTED", Class::Path, 400, 1038),
    (1039, "URI_OUT_OF_BOUNDS", Class::Path, 400, 1039),
    (1040, "CANONICAL_PATH_VIOLATION", Class::Path, 400, 1040),
    (1046, "RESOURCE_NOT_FOUND", Class::Entity, 404, -32002),
    (1047, "RESOURCE_DUPLICATE", Class::Entity, 409, 1047),
    (1048, "TOOL_NOT_FOUND", Class::Entity, 404, -32602),
    (1049, "TOOL_DUPLICATE", Class::Entity, 409, 1049),
    (1050, "PROMPT_NOT_FOUND", Class::Entity, 404, -32602),
    (1051, "PROMPT_DUPLICATE", Class::Entity, 409, 1051),
    (1052, "ENTITY_DUPLICATE", Class::Entity, 409, 1052),
    (1056, "RATE_LIMIT_EXCEEDED", Class::Rate, 429, 1056),
    (1057, "RATE_LIMIT_PER_SECOND", Class::Rate, 429, 1057),
    (1058, "RATE_LIMIT_PER_MINUTE", Class::Rate, 429, 1058),
    (1059, "QUOTA_EXCEEDED", Class::Rate, 429, 1059),
    (1060, "CONCURRENT_LIMIT_EXCEEDED", Class::Rate, 429, 1060),
    (1066, "PROTOCOL_ERROR", Class::Protocol, 400, -32600),
    (1067, "TRANSPORT_ERROR", Class::Protocol, 503, 1067),
    (1068, "MESSAGE_TOO_LARGE", Class::Protocol, 413, 1068),
    (1069, "TIMEOUT", Class::Protocol, 504, 1069),
    (1070, "UNSUPPORTED_ENCODING", Class::Protocol, 415, 1070),
    (1076, "SERVER_UNINITIALIZED", Class::Server, 503, 1076),
    (1077, "SERVER_SHUTTING_DOWN", Class::Server, 503, 1077),
    (1078, "SERVICE_UNAVAILABLE", Class::Server, 503, 1078),
    (1079, "INTERNAL_ERROR", Class::Server, 500, -32603),
    (1080, "DEPENDENCY_UNAVAILABLE", Class::Server, 503, 1080),
    (1086, "CIRCUIT_BREAKER_OPEN", Class::Breaker, 503, 1086),
    (1087, "HEALTH_CHECK_FAILED", Class::Breaker, 503, 1087),
    (1088, "DEGRADED_SERVICE", Class::Breaker, 503, 1088),
    (1089, "RESOURCE_EXHAUSTED", Class::Breaker, 503, 1089),
];

/// Rows of our own, in numbers the published list leaves free.
#[rustfmt::skip]
const OWN: [(u16, &str, Class, u16, i32); 4] = [
    (1053, "STALE_REVISION", Class::Entity, 412, 1053),
    (1054, "RULE_VIOLATED", Class::Entity, 409, 1054),
    (1055, "DELETION_BLOCKED", Class::Entity, 409, 1055),
    (1071, "METHOD_NOT_ALLOWED", Class::Protocol, 405, 1071),
];

// proves 002 Req-Proto-006
#[test]
fn every_number_name_status_and_json_rpc_code_is_the_published_one() {
    let mut expected: Vec<_> = PUBLISHED.into_iter().chain(OWN).collect();
    expected.sort_by_key(|row| row.0);
    let table: Vec<_> = Code::ALL
        .iter()
        .map(|code| {
            (
                code.number(),
                code.name(),
                code.class(),
                code.http_status(),
                code.json_rpc(),
            )
        })
        .collect();
    assert_eq!(table, expected);
    assert!(table.iter().all(|row| (1001..=1089).contains(&row.0)));
}

/// What says of itself that parameters were at fault, by its JSON-RPC number.
#[test]
fn these_and_no_others_are_invalid_parameters() {
    let of_parameters: Vec<u16> = Code::ALL
        .iter()
        .filter(|code| code.is_invalid_params())
        .map(|code| code.number())
        .collect();
    assert_eq!(of_parameters, [1021, 1022, 1023, 1027, 1028, 1029, 1048, 1050]);
}
