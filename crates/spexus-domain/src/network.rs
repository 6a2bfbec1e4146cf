//! The network an address belongs to: what rates and failed logins are counted by.

use std::net::{IpAddr, Ipv6Addr};

/// The network of an address: one IPv4 address, or the 64 bits of IPv6 that a provider gives to one customer, who can
/// use a new address for every request.
//= specs/spexus-service.md#logging-in
//# Addresses of one IPv6 network of 64 bits MUST be counted as one.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

/// The network of an address as it is written; what is no address stands for itself.
pub fn name(address: &str) -> String {
    match address.parse::<IpAddr>().map(network) {
        Ok(IpAddr::V6(v6)) => format!("{v6}/64"),
        Ok(v4) => v4.to_string(),
        Err(_) => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-service.md#logging-in
    //= type=test
    //# Addresses of one IPv6 network of 64 bits MUST be counted as one.
    #[test]
    fn a_network_is_an_ipv4_address_or_64_bits_of_ipv6() {
        let cases = [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
            ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
            ("", ""),
        ];
        for (address, expect) in cases {
            assert_eq!(name(address), expect, "{address}");
        }
    }
}
