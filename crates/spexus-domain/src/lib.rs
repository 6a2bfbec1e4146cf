//! spexus-domain
