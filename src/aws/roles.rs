//! The roles that an assembly names for an environment, and which of them are tried in what order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::model::Environment;

/// What calls are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Nothing is changed.
    Read,
    /// Stacks are changed.
    Write,
}

/// The roles that a stack names. ARNs may hold the placeholders `${AWS::Partition}`,
/// `${AWS::AccountId}` and `${AWS::Region}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Roles {
    /// The role to look things up with.
    pub lookup: Option<Role>,
    /// The role to deploy with.
    pub deploy: Option<Role>,
}

/// A role and what STS has to be told to get it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Role {
    /// Its ARN.
    pub arn: String,
    /// The external ID that its trust policy wants.
    pub external_id: Option<String>,
    /// Further parameters of the session.
    pub options: RoleOptions,
}

/// Further parameters of `AssumeRole` (`assumeRoleAdditionalOptions` of the cloud assembly).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleOptions {
    /// Session tags. They are passed on to roles that are assumed from this one (as the CDK does).
    pub tags: Vec<(String, String)>,
    /// How long the credentials are valid.
    pub duration_seconds: Option<i32>,
    /// A policy that narrows the session.
    pub policy: Option<String>,
    /// Managed policies that narrow the session.
    pub policy_arns: Vec<String>,
    /// Who stands behind the session.
    pub source_identity: Option<String>,
}

/// An option of a role cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`assumeRoleAdditionalOptions` has `{0}`, which is not supported or has another shape")]
pub struct RoleOptionsError(String);

impl RoleOptions {
    /// Reads `assumeRoleAdditionalOptions`.
    ///
    /// # Errors
    /// When an option is not known or has another shape: without it the session could have more
    /// rights than it is meant to have, so it is not left out.
    pub fn from_json(options: &BTreeMap<String, Json>) -> Result<Self, RoleOptionsError> {
        let mut read = Self::default();
        for (key, value) in options {
            let fits = match key.as_str() {
                "Tags" => tags(value).map(|tags| read.tags = tags),
                // Follows from the tags.
                "TransitiveTagKeys" => Some(()),
                "DurationSeconds" => value
                    .as_i64()
                    .and_then(|seconds| i32::try_from(seconds).ok())
                    .map(|seconds| read.duration_seconds = Some(seconds)),
                "Policy" => text(value).map(|policy| read.policy = Some(policy)),
                "PolicyArns" => policies(value).map(|arns| read.policy_arns = arns),
                "SourceIdentity" => text(value).map(|name| read.source_identity = Some(name)),
                _ => None,
            };
            fits.ok_or_else(|| RoleOptionsError(key.clone()))?;
        }
        Ok(read)
    }
}

fn text(value: &Json) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn tags(value: &Json) -> Option<Vec<(String, String)>> {
    let pair = |tag: &Json| Some((text(tag.get("Key")?)?, text(tag.get("Value")?)?));
    value.as_array()?.iter().map(pair).collect()
}

fn policies(value: &Json) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|policy| text(policy.get("arn")?)).collect()
}

impl Roles {
    /// Returns the roles to try, the first that can be assumed wins: for reading the lookup role
    /// and then the one to deploy with, for writing only the latter. `instead` takes the place of
    /// the role to deploy with.
    pub(super) fn chain(
        &self,
        purpose: Purpose,
        instead: Option<&str>,
        environment: &Environment,
    ) -> Vec<Role> {
        let given = instead.map(|arn| Role { arn: arn.to_owned(), ..Role::default() });
        let lookup = self.lookup.clone().filter(|_| purpose == Purpose::Read);
        let deploy = given.or_else(|| self.deploy.clone());
        let mut chain: Vec<Role> = Vec::new();
        for mut role in [lookup, deploy].into_iter().flatten() {
            role.arn = fill_in(&role.arn, environment);
            if let Some(id) = &role.external_id {
                role.external_id = Some(fill_in(id, environment));
            }
            if !chain.contains(&role) {
                chain.push(role);
            }
        }
        chain
    }
}

/// Returns a text with the placeholders filled in that synthesizers leave in ARNs, names and URLs:
/// `${AWS::Partition}`, `${AWS::AccountId}` and `${AWS::Region}`.
pub fn fill_in(text: &str, environment: &Environment) -> String {
    text.replace("${AWS::Partition}", partition(&environment.region))
        .replace("${AWS::AccountId}", &environment.account)
        .replace("${AWS::Region}", &environment.region)
}

/// Returns the partition of a region (the prefixes of the SDK's `partitions.json`).
pub(super) fn partition(region: &str) -> &'static str {
    const PREFIXES: [(&str, &str); 7] = [
        ("cn-", "aws-cn"),
        ("us-gov-", "aws-us-gov"),
        ("us-iso-", "aws-iso"),
        ("us-isob-", "aws-iso-b"),
        ("eu-isoe-", "aws-iso-e"),
        ("us-isof-", "aws-iso-f"),
        ("eusc-", "aws-eusc"),
    ];
    PREFIXES.iter().find(|(prefix, _)| region.starts_with(prefix)).map_or("aws", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOY: &str = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/deploy-${AWS::Region}";

    fn roles() -> Roles {
        let role = |arn: &str| Some(Role { arn: arn.to_owned(), ..Role::default() });
        Roles { lookup: role("lookup"), deploy: role("deploy") }
    }

    fn arns(roles: &Roles, purpose: Purpose, instead: Option<&str>) -> Vec<String> {
        let environment = Environment::new("111111111111", "eu-west-1");
        roles.chain(purpose, instead, &environment).into_iter().map(|role| role.arn).collect()
    }

    #[test]
    fn placeholders_are_filled_in_for_the_partition_of_the_region() {
        for (region, expected) in [
            ("eu-west-1", "arn:aws:iam::1:role/deploy-eu-west-1"),
            ("cn-north-1", "arn:aws-cn:iam::1:role/deploy-cn-north-1"),
            ("us-gov-west-1", "arn:aws-us-gov:iam::1:role/deploy-us-gov-west-1"),
            ("us-isob-east-1", "arn:aws-iso-b:iam::1:role/deploy-us-isob-east-1"),
        ] {
            assert_eq!(fill_in(DEPLOY, &Environment::new("1", region)), expected);
        }
    }

    #[test]
    fn reading_takes_the_lookup_role_first_and_writing_never_does() {
        let roles = roles();
        assert_eq!(arns(&roles, Purpose::Read, None), ["lookup", "deploy"]);
        assert_eq!(arns(&roles, Purpose::Write, None), ["deploy"]);
    }

    #[test]
    fn a_role_from_the_command_line_replaces_the_one_to_deploy_with() {
        let roles = roles();
        assert_eq!(arns(&roles, Purpose::Write, Some("mine")), ["mine"]);
        assert_eq!(arns(&roles, Purpose::Read, Some("mine")), ["lookup", "mine"]);
    }

    #[test]
    fn session_tags_are_read_and_an_option_that_nobody_knows_is_not_left_out() {
        let json = |text: &str| serde_json::from_str(text).unwrap();
        let options = RoleOptions::from_json(&json(
            r#"{"Tags":[{"Key":"Team","Value":"shop"}],"DurationSeconds":900}"#,
        ));
        let options = options.unwrap();
        assert_eq!(options.tags, [("Team".to_owned(), "shop".to_owned())]);
        assert_eq!(options.duration_seconds, Some(900));
        let error = RoleOptions::from_json(&json(r#"{"SerialNumber":"x"}"#)).unwrap_err();
        assert!(error.to_string().contains("`SerialNumber`"), "{error}");
    }
}
