//! The names that the CDK generates from the place of a construct (read from aws-cdk-lib
//! 2.274–2.276): unique ids, unique resource names, addresses.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use sha1::Sha1;

/// Left out of unique ids and addresses altogether.
const HIDDEN: &str = "Default";

/// Left out of the readable part of unique ids.
const HIDDEN_FROM_HUMANS: &str = "Resource";

/// The readable part of a unique id ends here.
const LONGEST_HUMAN_PART: usize = 240;

/// Digits of the hash at the end of a unique id.
pub(in crate::compare) const HASH_DIGITS: usize = 8;

/// Returns the components that count for unique ids.
pub(in crate::compare) fn visible<'a>(
    components: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = &'a str> {
    components.filter(|component| *component != HIDDEN)
}

/// Returns the first four bytes of the MD5 of the path, of which the hash of a unique id is the
/// hexadecimal form in upper case. `components` come without `Default`.
pub(in crate::compare) fn path_hash(components: &[&str]) -> u32 {
    let mut hasher = Md5::new();
    for (at, component) in components.iter().enumerate() {
        if at > 0 {
            hasher.update(b"/");
        }
        hasher.update(component.as_bytes());
    }
    first_four(&hasher.finalize())
}

/// Returns the last four bytes of the address of a construct: its last eight digits.
pub(in crate::compare) fn short_address(path: &str) -> u32 {
    let digest = address_digest(path);
    u32::from_be_bytes([digest[16], digest[17], digest[18], digest[19]])
}

/// Returns a construct's address (`node.addr`).
pub(in crate::compare) fn address(path: &str) -> String {
    let mut text = String::from("c8");
    for byte in address_digest(path) {
        // Writing to a string cannot fail.
        let _infallible = write!(text, "{byte:02x}");
    }
    text
}

/// SHA-1 over every id from the root, each with a line feed; the root's own id is empty.
fn address_digest(path: &str) -> [u8; 20] {
    let mut hasher = Sha1::new();
    hasher.update(b"\n");
    for component in visible(path.split('/')) {
        hasher.update(component.as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().into()
}

fn first_four(digest: &[u8]) -> u32 {
    digest.iter().take(4).fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

/// Returns the readable part of a unique name: components joined by `separator`, each without
/// the characters outside letters, digits and `kept`. `components` come without `Default`.
pub(in crate::compare) fn human_part(components: &[&str], separator: &str, kept: &str) -> String {
    let mut distinct: Vec<&str> = Vec::new();
    for component in components {
        if distinct.last().is_none_or(|previous| !previous.ends_with(component)) {
            distinct.push(component);
        }
    }
    let mut human = String::new();
    for component in distinct.into_iter().filter(|component| *component != HIDDEN_FROM_HUMANS) {
        let before = human.len();
        if !human.is_empty() {
            human.push_str(separator);
        }
        let start = human.len();
        human.extend(component.chars().filter(|c| c.is_ascii_alphanumeric() || kept.contains(*c)));
        if human.len() == start {
            human.truncate(before);
        }
    }
    human
}

/// Returns the unique id of some components (`Names.uniqueId`; for a logical ID the components
/// below the stack).
pub(crate) fn unique_id(components: &[&str]) -> String {
    let components: Vec<&str> = visible(components.iter().copied()).collect();
    let mut human = human_part(&components, "", "");
    if components.len() == 1 && human.len() <= 255 {
        return human;
    }
    human.truncate(LONGEST_HUMAN_PART);
    format!("{human}{:08X}", path_hash(&components))
}

/// Returns a readable part cut to a length: its first and last halves.
pub(in crate::compare) fn split_in_middle(human: &str, length: usize) -> Option<String> {
    let half = length / 2;
    (human.len() > length).then(|| format!("{}{}", &human[..half], &human[human.len() - half..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_ids_are_those_of_the_framework() {
        assert_eq!(unique_id(&["Data", "Resource"]), "Data666C94C7");
        assert_eq!(unique_id(&["Group", "Dlq", "Resource"]), "GroupDlq46A8E21A");
        assert_eq!(
            unique_id(&["Inner.NestedStack", "Inner.NestedStackResource"]),
            "InnerNestedStackInnerNestedStackResource745E041B"
        );
        assert_eq!(unique_id(&["BootstrapVersion"]), "BootstrapVersion");
    }

    #[test]
    fn a_component_that_repeats_the_end_of_the_previous_one_is_left_out() {
        assert_eq!(human_part(&["Topic", "MyQueue", "Queue", "Resource"], "", ""), "TopicMyQueue");
    }

    #[test]
    fn separators_stand_between_components_only() {
        assert_eq!(human_part(&["My-App", "--", "Web"], "-", "-"), "My-App----Web");
        assert_eq!(human_part(&["My-App", "!!", "Web"], "-", ""), "MyApp-Web");
    }
}
