//! Where stacks live: an account and a region.

use std::fmt;
use std::str::FromStr;

use super::Text;

/// An account and a region. Every comparison happens inside one environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Environment {
    /// Account number, or `unknown-account` for an environment-agnostic stack.
    pub account: Text,
    /// Region name, or `unknown-region` for an environment-agnostic stack.
    pub region: Text,
}

/// The text is not of the form `aws://account/region`.
#[derive(Debug, thiserror::Error)]
#[error("Unable to parse environment specification \"{0}\". Expected format: aws://account/region")]
pub struct EnvironmentError(String);

impl Environment {
    /// Returns an environment of the given account and region.
    pub fn new(account: &str, region: &str) -> Self {
        Self { account: account.into(), region: region.into() }
    }

    /// Whether account or region are left open until deployment.
    pub fn is_agnostic(&self) -> bool {
        self.account == "unknown-account" || self.region == "unknown-region"
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aws://{}/{}", self.account, self.region)
    }
}

impl FromStr for Environment {
    type Err = EnvironmentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.strip_prefix("aws://").and_then(|rest| rest.split_once('/'));
        let account_ok = |c: char| c.is_ascii_alphanumeric() || "@._-".contains(c);
        let region_ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match parsed {
            Some((account, region))
                if !account.is_empty()
                    && !region.is_empty()
                    && account.chars().all(account_ok)
                    && region.chars().all(region_ok) =>
            {
                Ok(Self::new(account, region))
            }
            _ => Err(EnvironmentError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_reads_back_as_it_is_written() {
        let environment: Environment = "aws://111111111111/eu-west-1".parse().unwrap();
        assert_eq!(environment.to_string(), "aws://111111111111/eu-west-1");
    }

    #[test]
    fn a_malformed_environment_is_refused_with_its_text() {
        let error = "111111111111/eu-west-1".parse::<Environment>().unwrap_err();
        assert!(error.to_string().contains("111111111111/eu-west-1"));
    }
}
