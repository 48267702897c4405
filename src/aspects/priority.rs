//! When an aspect is invoked.

use std::cmp::Ordering;
use std::fmt;

/// The place of an aspect among the others of a construct: lower ones are invoked first.
///
/// Like the framework, this takes whatever finite number it is given; only overriding a priority
/// refuses negative ones. What people write into `cdk.json` has to be a whole number from 0 on.
#[derive(Clone, Copy, Debug)]
pub struct Priority(f64);

/// The number is not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a priority is a finite number")]
pub struct NotFinite;

impl Priority {
    /// That of aspects which change what later ones see.
    pub const MUTATING: Self = Self(200.0);
    /// That of aspects which say nothing of themselves.
    pub const DEFAULT: Self = Self(500.0);
    /// That of aspects which only look; it and all after it are invoked when all before it have
    /// settled.
    pub const READ_ONLY: Self = Self(1000.0);

    /// Whether aspects of this priority only look.
    pub fn is_read_only(self) -> bool {
        self >= Self::READ_ONLY
    }

    /// Whether it is below zero.
    pub fn is_negative(self) -> bool {
        self.0 < 0.0
    }
}

impl From<u32> for Priority {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl TryFrom<f64> for Priority {
    type Error = NotFinite;

    fn try_from(number: f64) -> Result<Self, NotFinite> {
        // Adding zero makes one of both zeros.
        if number.is_finite() { Ok(Self(number + 0.0)) } else { Err(NotFinite) }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Priority {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Priority {}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_written_like_numbers_and_ordered_like_them() {
        let half = Priority::try_from(1.5).unwrap();
        assert_eq!(half.to_string(), "1.5");
        assert_eq!(Priority::MUTATING.to_string(), "200");
        assert!(Priority::from(1) < half && half < Priority::from(2));
        assert_eq!(Priority::try_from(-0.0).unwrap(), Priority::from(0));
        assert_eq!(Priority::try_from(f64::NAN), Err(NotFinite));
    }

    #[test]
    fn looking_begins_at_a_thousand() {
        assert!(Priority::READ_ONLY.is_read_only());
        assert!(!Priority::from(999).is_read_only());
    }
}
