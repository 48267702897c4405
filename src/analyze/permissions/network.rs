//! Rules of security groups, and which of two lets more through.

// Addresses are values: `core::net` has no sockets.
use core::net::IpAddr;

use super::resolve::text;
use crate::model::{Object, Value};

/// Which way the traffic goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    In,
    Out,
}

/// A rule of a security group. A description means nothing and is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rule {
    direction: Direction,
    /// The protocol in lower case, `-1` for all; of a rule that is computed the whole text.
    protocol: String,
    /// The first and the last port, or type and code of ICMP; `-1` for all.
    ports: (String, String),
    /// Networks, prefix lists or groups at the other end.
    peers: Vec<String>,
}

/// The properties that say who is at the other end.
const PEERS: [&str; 8] = [
    "CidrIp",
    "CidrIpv6",
    "DestinationPrefixListId",
    "DestinationSecurityGroupId",
    "SourcePrefixListId",
    "SourceSecurityGroupId",
    "SourceSecurityGroupName",
    "SourceSecurityGroupOwnerId",
];

/// What the CDK writes to keep CloudFormation from adding a rule that lets everything out: an
/// address that nobody has.
const NOBODY: &str = "255.255.255.255/32";

impl Rule {
    /// Reads a rule whose references are replaced; `holder` gives groups one name.
    pub(super) fn read(
        direction: Direction,
        value: &Value,
        holder: impl Fn(&str) -> String,
    ) -> Self {
        let Some(rule) = value.as_object().filter(|rule| rule.contains_key("IpProtocol")) else {
            let ports = (String::new(), String::new());
            return Self { direction, protocol: text(value), ports, peers: Vec::new() };
        };
        let get = |key: &str| rule.get(key).map(text);
        let protocol = get("IpProtocol").unwrap_or_default().to_ascii_lowercase();
        let protocol = match protocol.as_str() {
            "all" => "-1".to_owned(),
            "6" => "tcp".to_owned(),
            "17" => "udp".to_owned(),
            "1" => "icmp".to_owned(),
            "58" => "icmpv6".to_owned(),
            _ => protocol,
        };
        let port = |key: &str| {
            // Ports mean nothing where all protocols are meant.
            let port = get(key).filter(|_| protocol != "-1");
            port.unwrap_or_else(|| "-1".to_owned())
        };
        let ports = (port("FromPort"), port("ToPort"));
        let mut peers: Vec<String> =
            PEERS.iter().filter_map(|key| get(key)).map(|peer| holder(&peer)).collect();
        peers.sort();
        Self { direction, protocol, ports, peers }
    }

    /// The rule that a security group has when it names none for this direction: everything may
    /// go out (`AWS::EC2::SecurityGroup`, `SecurityGroupEgress`).
    pub(super) fn open() -> Self {
        Self {
            direction: Direction::Out,
            protocol: "-1".to_owned(),
            ports: ("-1".to_owned(), "-1".to_owned()),
            peers: vec!["0.0.0.0/0".to_owned()],
        }
    }

    /// Whether the rule lets anything through at all.
    pub(super) fn reaches_anybody(&self) -> bool {
        self.peers != [NOBODY]
    }

    /// Returns a text that is equal for equal rules only.
    pub(super) fn key(&self) -> String {
        format!("{self:?}")
    }

    /// Returns direction, protocol with ports, and peer, for a table.
    pub(super) fn cells(&self) -> Vec<String> {
        let direction = match self.direction {
            Direction::In => "In",
            Direction::Out => "Out",
        };
        let (from, to) = &self.ports;
        let protocol = match self.protocol.as_str() {
            "-1" => "all traffic".to_owned(),
            name if self.peers.is_empty() => name.to_owned(),
            name if from == "-1" => name.to_ascii_uppercase(),
            name if from == to => format!("{} {from}", name.to_ascii_uppercase()),
            name => format!("{} {from}-{to}", name.to_ascii_uppercase()),
        };
        vec![direction.to_owned(), protocol, self.peers.join("\n")]
    }

    /// Whether everything that the other rule lets through gets through here as well.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let peers = match (self.peers.as_slice(), other.peers.as_slice()) {
            ([ours], [theirs]) => ours == theirs || is_within(theirs, ours),
            (ours, theirs) => ours == theirs,
        };
        self.direction == other.direction && peers && !self.peers.is_empty() && self.passes(other)
    }

    /// Whether protocol and ports include those of another rule.
    fn passes(&self, other: &Self) -> bool {
        if self.protocol == "-1" {
            return true;
        }
        if self.protocol != other.protocol {
            return false;
        }
        let everything = |rule: &Self| rule.ports.0 == "-1";
        let range = |rule: &Self| {
            Some((rule.ports.0.parse::<u32>().ok()?, rule.ports.1.parse::<u32>().ok()?))
        };
        let is_range = matches!(self.protocol.as_str(), "tcp" | "udp");
        self.ports == other.ports
            || everything(self)
            || (is_range
                && range(self)
                    .zip(range(other))
                    .is_some_and(|((from, to), (first, last))| from <= first && last <= to))
    }
}

/// Returns the rules of a list that stands in a group.
pub(super) fn rules<'v>(properties: &'v Object, property: &str) -> Vec<&'v Value> {
    match properties.get(property) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(rules)) => rules.iter().collect(),
        Some(one) => vec![one],
    }
}

/// Whether a network lies in another one.
fn is_within(inner: &str, outer: &str) -> bool {
    let network = |text: &str| -> Option<(IpAddr, u32)> {
        let (address, length) = text.split_once('/')?;
        Some((address.parse().ok()?, length.parse().ok()?))
    };
    let (Some((inner, inner_length)), Some((outer, length))) = (network(inner), network(outer))
    else {
        return false;
    };
    let same = match (inner, outer) {
        (IpAddr::V4(inner), IpAddr::V4(outer)) => {
            length <= 32 && same_start(inner.to_bits().into(), outer.to_bits().into(), length + 96)
        }
        (IpAddr::V6(inner), IpAddr::V6(outer)) => {
            length <= 128 && same_start(inner.to_bits(), outer.to_bits(), length)
        }
        _ => false,
    };
    same && length <= inner_length
}

/// Whether the first bits of two addresses are equal; `length` is at most 128.
fn same_start(left: u128, right: u128, length: u32) -> bool {
    (left ^ right).checked_shr(128 - length).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json::parse;

    fn rule(protocol: &str, from: &str, to: &str, peer: &str) -> Rule {
        let text = format!(
            r#"{{"IpProtocol": "{protocol}", "FromPort": {from}, "ToPort": "{to}", "CidrIp": "{peer}"}}"#
        );
        Rule::read(Direction::In, &parse(&text).unwrap(), str::to_owned)
    }

    #[test]
    fn a_rule_covers_narrower_networks_and_fewer_ports() {
        let wide = rule("tcp", "80", "443", "10.0.0.0/8");
        assert!(wide.covers(&rule("6", "443", "443", "10.1.0.0/16")));
        assert!(!wide.covers(&rule("tcp", "443", "444", "10.1.0.0/16")));
        assert!(!wide.covers(&rule("tcp", "80", "80", "11.0.0.0/16")));
        assert!(!wide.covers(&rule("tcp", "80", "80", "0.0.0.0/0")));
        assert!(!wide.covers(&rule("udp", "80", "80", "10.1.0.0/16")));
        assert!(rule("-1", "-1", "-1", "0.0.0.0/0").covers(&wide));
        assert!(!wide.covers(&rule("-1", "-1", "-1", "10.1.0.0/16")));
    }

    #[test]
    fn networks_of_version_six_are_compared_too() {
        assert!(is_within("2001:db8::/48", "2001:db8::/32"));
        assert!(is_within("2001:db8::/48", "::/0"));
        assert!(!is_within("::/0", "2001:db8::/48"));
        assert!(!is_within("10.0.0.0/8", "::/0"));
        assert!(!is_within("10.0.0.0/8", "10.0.0.0/99"));
    }

    #[test]
    fn the_rule_that_reaches_nobody_is_known() {
        assert!(!rule("icmp", "252", "86", NOBODY).reaches_anybody());
        assert!(rule("icmp", "252", "86", "255.255.255.0/24").reaches_anybody());
    }
}
