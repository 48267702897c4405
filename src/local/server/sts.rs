//! STS: who somebody is, and roles of other accounts.

use super::auth::{Caller, Session, is_account, role_key};
use super::form::Form;
use super::protocol::{Protocol, Reply, query_reply};
use super::xml::Xml;
use crate::local::clock::{Ambient, iso8601};
use crate::local::error::{Answer, ServiceError};
use crate::local::evaluate::partition;

const NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// How STS speaks.
pub(super) const PROTOCOL: Protocol =
    Protocol::Query { namespace: NAMESPACE, version: "2011-06-15" };

/// Carries out an operation.
pub(super) fn answer(
    ambient: &Ambient,
    caller: &Caller,
    action: &str,
    form: &Form,
    request_id: &str,
) -> Answer<Reply> {
    let mut result = Xml::default();
    match action {
        "GetCallerIdentity" => identity(caller, &mut result),
        "AssumeRole" => assume_role(ambient, form, &mut result)?,
        _ => return Err(ServiceError::no_operation(action, "2011-06-15")),
    }
    Ok(query_reply(NAMESPACE, action, Some(result), request_id))
}

/// What the unique ID of a user or a role looks like.
fn unique_id(prefix: &str, account: &str) -> String {
    format!("{prefix}LOCAL{account}")
}

fn identity(caller: &Caller, xml: &mut Xml) {
    let account = caller.environment.account.as_str();
    let (partition, _) = partition(&caller.environment.region);
    let (arn, id) = match &caller.session {
        Some(Session { role, name }) => (
            format!("arn:{partition}:sts::{account}:assumed-role/{role}/{name}"),
            format!("{}:{name}", unique_id("AROA", account)),
        ),
        None => (format!("arn:{partition}:iam::{account}:user/local"), unique_id("AIDA", account)),
    };
    xml.text("Arn", &arn);
    xml.text("UserId", &id);
    xml.text("Account", account);
}

/// Partition, account and name of the role that an ARN names.
fn role_of(arn: &str) -> Option<(&str, &str, &str)> {
    let mut parts = arn.splitn(6, ':');
    let (prefix, partition, service) = (parts.next()?, parts.next()?, parts.next()?);
    let (region, account, resource) = (parts.next()?, parts.next()?, parts.next()?);
    let role = resource.strip_prefix("role/")?.rsplit('/').next()?;
    let is_role = prefix == "arn" && service == "iam" && region.is_empty() && !role.is_empty();
    (is_role && is_account(account)).then_some((partition, account, role))
}

/// Every role exists and lets everybody in.
fn assume_role(ambient: &Ambient, form: &Form, xml: &mut Xml) -> Answer<()> {
    let arn = form.need("RoleArn")?;
    let name = form.need("RoleSessionName")?;
    let (partition, account, role) =
        role_of(arn).ok_or_else(|| ServiceError::validation(format!("{arn} is invalid")))?;
    let well_formed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    if !name.chars().all(well_formed) || !(2..=64).contains(&name.len()) {
        let rule = "Member must satisfy regular expression pattern: [\\w+=,.@-]*";
        return Err(ServiceError::constraint(name, "roleSessionName", rule));
    }
    let seconds = form.number("DurationSeconds", 900, 43_200)?.unwrap_or(3600);
    let seconds = u64::try_from(seconds).unwrap_or(3600);
    let session = Session { role: role.to_owned(), name: name.to_owned() };
    xml.inside("AssumedRoleUser", |xml| {
        xml.text("AssumedRoleId", &format!("{}:{name}", unique_id("AROA", account)));
        xml.text("Arn", &format!("arn:{partition}:sts::{account}:assumed-role/{role}/{name}"));
    });
    xml.inside("Credentials", |xml| {
        xml.text("AccessKeyId", &role_key(account));
        xml.text("SecretAccessKey", &ambient.hex(40));
        xml.text("SessionToken", &session.token());
        xml.text("Expiration", &iso8601(ambient.now_ms() + seconds * 1000));
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_role_is_read_from_its_arn() {
        assert_eq!(
            role_of("arn:aws:iam::111111111111:role/path/deploy"),
            Some(("aws", "111111111111", "deploy"))
        );
        for wrong in ["arn:aws:iam::1:role/x", "arn:aws:iam::111111111111:user/x", "x"] {
            assert_eq!(role_of(wrong), None, "{wrong}");
        }
    }
}
