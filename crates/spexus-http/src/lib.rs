//! spexus-http
