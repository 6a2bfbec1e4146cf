//! spexus-store
