//! The table itself. Numbers and names are fixed: scripts and other programs rely on them. Codes 1053–1055 and 1071
//! fill free numbers with cases the published list has no row for.

/// The family a refusal belongs to; metrics and exit codes go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A queue or buffer is full.
    Queue,
    /// Who you are, or what you may do.
    Auth,
    /// The input does not have the right form.
    Validation,
    /// A path or URI that is not allowed.
    Path,
    /// The thing asked for is missing, double, changed or protected by a rule.
    Entity,
    /// Too much, too fast.
    Rate,
    /// The message or its transport.
    Protocol,
    /// The state of the server itself.
    Server,
    /// Protection of the parts of a running system.
    Breaker,
}

macro_rules! table {
    ($($number:literal $variant:ident $name:literal $class:ident $http:literal $rpc:literal $hint:literal)*) => {
        /// A row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Code {
            $(#[doc = $hint] $variant = $number,)*
        }

        impl Code {
            /// All rows, by number.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The stable name, in capitals.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The family.
            pub const fn class(self) -> Class {
                match self { $(Code::$variant => Class::$class,)* }
            }

            /// The HTTP status it is rendered with.
            pub const fn http_status(self) -> u16 {
                match self { $(Code::$variant => $http,)* }
            }

            /// `error.code` in JSON-RPC: the standard number where JSON-RPC or MCP names the case, else the refusal.
            pub const fn json_rpc(self) -> i32 {
                match self { $(Code::$variant => $rpc,)* }
            }

            /// What to do next, in general.
            pub const fn hint(self) -> &'static str {
                match self { $(Code::$variant => $hint,)* }
            }
        }
    };
}

impl Code {
    /// The number, 1001 to 1089.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether it is a special case of invalid parameters, which JSON-RPC has one number for.
    pub const fn is_invalid_params(self) -> bool {
        self.json_rpc() == -32602
    }

    /// The row with this number.
    pub fn from_number(number: u16) -> Option<Code> {
        Self::ALL
            .binary_search_by_key(&number, |c| c.number())
            .ok()
            .map(|at| Self::ALL[at])
    }
}

#[rustfmt::skip]
table! {
    1001 QueueCapExceeded "QUEUE_CAP_EXCEEDED" Queue 429 1001 "Wait for answers to earlier requests, then send this one again."
    1002 QueueByteCapExceeded "QUEUE_BYTE_CAP_EXCEEDED" Queue 429 1002 "Wait for answers to earlier requests or send smaller ones."
    1003 QueueTenantCapExceeded "QUEUE_TENANT_CAP_EXCEEDED" Queue 429 1003 "Another client of the same account fills the queue; wait and try again."
    1004 BufferOverflow "BUFFER_OVERFLOW" Queue 503 1004 "Read answers faster or ask for less at once, then try again."
    1005 BackpressureActive "BACKPRESSURE_ACTIVE" Queue 503 1005 "The server is catching up; try again in a moment."
    1011 AuthFailed "AUTH_FAILED" Auth 401 1011 "Send a valid token as `Authorization: Bearer …`."
    1012 AuthExpired "AUTH_EXPIRED" Auth 401 1012 "Log in again, or use a new token."
    1013 AuthInvalidCredentials "AUTH_INVALID_CREDENTIALS" Auth 401 1013 "Check the user name and the password; an administrator can reset it."
    1014 AuthzForbidden "AUTHZ_FORBIDDEN" Auth 403 1014 "Ask an administrator for the right, or use a token that has it."
    1015 AuthMissing "AUTH_MISSING" Auth 401 1015 "Send a token as `Authorization: Bearer …`."
    1016 SessionInvalid "SESSION_INVALID" Auth 404 1016 "The session is gone; open a new one."
    1021 InvalidParams "INVALID_PARAMS" Validation 400 -32602 "Correct the fields named in the details and try again."
    1022 InvalidJsonSchema "INVALID_JSON_SCHEMA" Validation 400 -32602 "Correct the schema; it must be valid JSON Schema 2020-12."
    1023 InvalidUri "INVALID_URI" Validation 400 -32602 "Correct the URI."
    1024 InvalidContentType "INVALID_CONTENT_TYPE" Validation 415 1024 "Send the body as `Content-Type: application/json`."
    1025 InvalidHeader "INVALID_HEADER" Validation 400 1025 "Correct or remove the header."
    1026 InvalidSessionId "INVALID_SESSION_ID" Validation 400 1026 "Use the session id the server gave you, unchanged."
    1027 InvalidProtocolVersion "INVALID_PROTOCOL_VERSION" Validation 400 -32602 "Ask for one of the supported versions."
    1028 MissingRequiredField "MISSING_REQUIRED_FIELD" Validation 400 -32602 "Add the missing field and try again."
    1029 FieldTypeMismatch "FIELD_TYPE_MISMATCH" Validation 400 -32602 "Send the field with the type the details name."
    1036 PathTraversalDetected "PATH_TRAVERSAL_DETECTED" Path 400 1036 "Use a path without `..`, backslashes or encoded separators."
    1037 PathInvalid "PATH_INVALID" Path 400 1037 "Correct the path."
    1038 SymlinkTraversalDetected "SYMLINK_TRAVERSAL_DETECTED" Path 400 1038 "The path leads out of the allowed folders through a link; name a file inside them."
    1039 UriOutOfBounds "URI_OUT_OF_BOUNDS" Path 400 1039 "Name something inside the allowed roots."
    1040 CanonicalPathViolation "CANONICAL_PATH_VIOLATION" Path 400 1040 "Use the canonical form of the path."
    1046 ResourceNotFound "RESOURCE_NOT_FOUND" Entity 404 -32002 "Check the id; search for it if you are unsure."
    1047 ResourceDuplicate "RESOURCE_DUPLICATE" Entity 409 1047 "A resource with this name exists; choose another or change the existing one."
    1048 ToolNotFound "TOOL_NOT_FOUND" Entity 404 -32602 "List the tools and use one of their names."
    1049 ToolDuplicate "TOOL_DUPLICATE" Entity 409 1049 "A tool with this name exists; choose another."
    1050 PromptNotFound "PROMPT_NOT_FOUND" Entity 404 -32602 "List the prompts and use one of their names."
    1051 PromptDuplicate "PROMPT_DUPLICATE" Entity 409 1051 "A prompt with this name exists; choose another or change the existing one."
    1052 EntityDuplicate "ENTITY_DUPLICATE" Entity 409 1052 "It exists already; use the existing one or choose another name."
    1053 StaleRevision "STALE_REVISION" Entity 412 1053 "Read it again, look at what changed, and send your change with the current revision."
    1054 RuleViolated "RULE_VIOLATED" Entity 409 1054 "Change what the rule asks for, then try again."
    1055 DeletionBlocked "DELETION_BLOCKED" Entity 409 1055 "Look at the deletion preview; repeat with `force` to delete what falls with it."
    1056 RateLimitExceeded "RATE_LIMIT_EXCEEDED" Rate 429 1056 "Wait as long as `retry_after_seconds` says."
    1057 RateLimitPerSecond "RATE_LIMIT_PER_SECOND" Rate 429 1057 "Wait a second and send fewer requests."
    1058 RateLimitPerMinute "RATE_LIMIT_PER_MINUTE" Rate 429 1058 "Wait a minute and send fewer requests."
    1059 QuotaExceeded "QUOTA_EXCEEDED" Rate 429 1059 "Remove something or ask an administrator for a larger quota."
    1060 ConcurrentLimitExceeded "CONCURRENT_LIMIT_EXCEEDED" Rate 429 1060 "Wait for a running request to finish."
    1066 ProtocolError "PROTOCOL_ERROR" Protocol 400 -32600 "Correct the message."
    1067 TransportError "TRANSPORT_ERROR" Protocol 503 1067 "Check the connection and try again."
    1068 MessageTooLarge "MESSAGE_TOO_LARGE" Protocol 413 1068 "Send less at once."
    1069 Timeout "TIMEOUT" Protocol 504 1069 "Try again, ask for less, or raise the time limit."
    1070 UnsupportedEncoding "UNSUPPORTED_ENCODING" Protocol 415 1070 "Send UTF-8 without compression."
    1071 MethodNotAllowed "METHOD_NOT_ALLOWED" Protocol 405 1071 "Use one of the methods the `Allow` header lists."
    1076 ServerUninitialized "SERVER_UNINITIALIZED" Server 503 1076 "Send `initialize` first."
    1077 ServerShuttingDown "SERVER_SHUTTING_DOWN" Server 503 1077 "The server is stopping; try again when it is back."
    1078 ServiceUnavailable "SERVICE_UNAVAILABLE" Server 503 1078 "Try again in a moment."
    1079 InternalError "INTERNAL_ERROR" Server 500 -32603 "This is a fault of the server; its log has the details under the request id."
    1080 DependencyUnavailable "DEPENDENCY_UNAVAILABLE" Server 503 1080 "What the server depends on does not answer; try again in a moment."
    1086 CircuitBreakerOpen "CIRCUIT_BREAKER_OPEN" Breaker 503 1086 "Too many failures in a row; the server tries again by itself in a few seconds."
    1087 HealthCheckFailed "HEALTH_CHECK_FAILED" Breaker 503 1087 "See the health report for the part that failed."
    1088 DegradedService "DEGRADED_SERVICE" Breaker 503 1088 "A part of the service is down; try again later."
    1089 ResourceExhausted "RESOURCE_EXHAUSTED" Breaker 503 1089 "The server ran out of a resource; try again in a moment."
}
