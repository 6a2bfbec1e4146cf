//! spexus-service
