//! What Cloud Control calls a resource: the values of its primary identifier, joined by `|`.
//!
//! That is not always the physical ID, which for older types is what `Ref` gives: the name of a
//! stage without its API, the name of a rule without its ARN. (Cloud Control API user guide,
//! "Identifying resources"; the identifiers are those of the registry schemas.)

use super::table::lookup;
use crate::model::Environment;

/// What Cloud Control calls a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The identifier.
    pub identifier: String,
    /// Whether it is certainly that: if not, a resource that is not found may exist under another
    /// one.
    pub is_certain: bool,
}

/// Why nobody knows what Cloud Control calls a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// Nothing is known of the type.
    #[error("the type is not in the embedded table")]
    UnknownType,
    /// It has no identifier at all.
    #[error("the type has no identifier")]
    NoIdentifier,
    /// Values of properties that identify it are not known.
    #[error("it is identified by {}, and neither the template nor its physical ID tells it", .0.join(", "))]
    Open(Vec<&'static str>),
}

/// Returns what Cloud Control calls a resource with a physical ID. `value_of` gives the value of a
/// property (a path, segments separated by `/`), if it is known as a text.
///
/// # Errors
/// When the identifier cannot be put together without guessing.
pub fn address(
    environment: &Environment,
    resource_type: &str,
    physical_id: &str,
    value_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Address, NoAddress> {
    let info = lookup(resource_type).ok_or(NoAddress::UnknownType)?;
    let parts: Vec<&'static str> = info.primary_identifier().collect();
    let of = |identifier: String, is_certain| Ok(Address { identifier, is_certain });
    if resource_type == "AWS::Events::Rule"
        && let Some(arn) = rule(environment, physical_id)
    {
        return of(arn, false);
    }
    match parts.as_slice() {
        [] => Err(NoAddress::NoIdentifier),
        [part] => match value_of(part) {
            // Services may write a name in their own way.
            Some(value) if value.eq_ignore_ascii_case(physical_id) => {
                of(physical_id.to_owned(), true)
            }
            Some(value) => of(value, false),
            None if !fits(part, physical_id) => Err(NoAddress::Open(parts)),
            None => of(physical_id.to_owned(), !physical_id.contains('|')),
        },
        parts => several(parts, physical_id, value_of),
    }
}

fn several(
    parts: &[&'static str],
    physical_id: &str,
    value_of: &dyn Fn(&str) -> Option<String>,
) -> Result<Address, NoAddress> {
    let known: Vec<Option<String>> = parts.iter().map(|part| value_of(part)).collect();
    let pieces: Vec<&str> = physical_id.split('|').collect();
    let agrees = |(known, piece): (&Option<String>, &&str)| {
        known.as_ref().is_none_or(|known| known == piece)
    };
    if pieces.len() == parts.len() && known.iter().zip(&pieces).all(agrees) {
        return Ok(Address { identifier: physical_id.to_owned(), is_certain: true });
    }
    let open: Vec<&'static str> = parts
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(part, _)| *part)
        .collect();
    let is_one_of_them = known.iter().flatten().any(|known| known == physical_id);
    // What is left is what the physical ID stands for.
    let stands_for = |part: &str| {
        pieces.len() == 1 && !is_one_of_them && !physical_id.is_empty() && fits(part, physical_id)
    };
    match open.as_slice() {
        [] => {}
        [part] if stands_for(part) => {}
        _ => return Err(NoAddress::Open(open)),
    }
    let text = |known: &Option<String>| known.clone().unwrap_or_else(|| physical_id.to_owned());
    let identifier = known.iter().map(text).collect::<Vec<_>>().join("|");
    // Templates may give an ARN where the identifier has a name.
    let fits = |(part, known): (&&str, &Option<String>)| {
        known.as_ref().is_none_or(|known| fits(part, known))
    };
    let are_fitting = parts.iter().zip(&known).all(fits);
    Ok(Address { identifier, is_certain: are_fitting && (is_one_of_them || open.len() == 1) })
}

/// Whether a value can be that of a property: an ARN stands where one is meant, and nowhere else.
/// An `Id` may be anything.
fn fits(part: &str, value: &str) -> bool {
    let last = part.rsplit('/').next().unwrap_or(part);
    let is_arn = value.starts_with("arn:");
    if last.ends_with("Arn") { is_arn } else { !is_arn || last == "Id" }
}

/// The ARN of a rule, whose physical ID is its name or `bus|name` (service authorization
/// reference, "Actions, resources, and condition keys for Amazon `EventBridge`").
fn rule(environment: &Environment, physical_id: &str) -> Option<String> {
    let Environment { account, region } = environment;
    let partition = if region.starts_with("cn-") {
        "aws-cn"
    } else if region.starts_with("us-gov-") {
        "aws-us-gov"
    } else {
        "aws"
    };
    let name = match physical_id.split_once('|') {
        _ if physical_id.starts_with("arn:") => return None,
        Some((bus, _)) if bus.starts_with("arn:") => return None,
        Some((bus, name)) => format!("{bus}/{name}"),
        None => physical_id.to_owned(),
    };
    Some(format!("arn:{partition}:events:{region}:{account}:rule/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        kind: &str,
        physical: &str,
        known: &[(&str, &str)],
    ) -> Result<(String, bool), &'static str> {
        let here = Environment::new("111111111111", "eu-west-1");
        let value = |path: &str| {
            let found = known.iter().find(|(name, _)| *name == path);
            found.map(|(_, value)| (*value).to_owned())
        };
        match address(&here, kind, physical, &value) {
            Ok(address) => Ok((address.identifier, address.is_certain)),
            Err(NoAddress::UnknownType) => Err("unknown"),
            Err(NoAddress::NoIdentifier) => Err("none"),
            Err(NoAddress::Open(parts)) => Err(parts[0]),
        }
    }

    fn certain(text: &str) -> (String, bool) {
        (text.to_owned(), true)
    }

    fn perhaps(text: &str) -> (String, bool) {
        (text.to_owned(), false)
    }

    #[test]
    fn a_physical_id_that_is_the_identifier_is_taken() {
        let queue = "https://sqs.eu-west-1.amazonaws.com/111111111111/q";
        assert_eq!(of("AWS::SQS::Queue", queue, &[]), Ok(certain(queue)));
        let topic = "arn:aws:sns:eu-west-1:111111111111:t";
        assert_eq!(of("AWS::SNS::Topic", topic, &[]), Ok(certain(topic)));
        assert_eq!(of("AWS::S3::Bucket", "b", &[]), Ok(certain("b")));
        assert_eq!(of("AWS::S3::Bucket", "b", &[("BucketName", "b")]), Ok(certain("b")));
        let secret = "arn:aws:secretsmanager:eu-west-1:111111111111:secret:s-AbCdEf";
        assert_eq!(of("AWS::SecretsManager::Secret", secret, &[]), Ok(certain(secret)));
        // RDS writes names in lower case.
        let known = [("DBInstanceIdentifier", "Orders")];
        assert_eq!(of("AWS::RDS::DBInstance", "orders", &known), Ok(certain("orders")));
    }

    #[test]
    fn a_physical_id_that_is_a_part_is_completed_by_the_template() {
        let known = [("RestApiId", "a1b2"), ("StageName", "prod")];
        assert_eq!(of("AWS::ApiGateway::Stage", "prod", &known), Ok(certain("a1b2|prod")));
        assert_eq!(
            of("AWS::ApiGateway::Stage", "a1b2|prod", &known[..1]),
            Ok(certain("a1b2|prod"))
        );
        assert_eq!(of("AWS::ApiGateway::Stage", "prod", &known[..1]), Ok(certain("a1b2|prod")));
        let service = "arn:aws:ecs:eu-west-1:111111111111:service/c/s";
        assert_eq!(
            of("AWS::ECS::Service", service, &[("Cluster", "c")]),
            Ok(certain(&format!("{service}|c")))
        );
    }

    #[test]
    fn what_cannot_be_known_is_not_guessed() {
        let service = "arn:aws:ecs:eu-west-1:111111111111:service/c/s";
        assert_eq!(of("AWS::ECS::Service", service, &[]), Err("ServiceArn"));
        // The physical ID says what is known already.
        assert_eq!(
            of("AWS::ApiGateway::Stage", "a1b2", &[("RestApiId", "a1b2")]),
            Err("StageName")
        );
        assert_eq!(of("AWS::SNS::Topic", "t", &[]), Err("TopicArn"));
        assert_eq!(of("Custom::Thing", "x", &[]), Err("unknown"));
        assert_eq!(of("Third::Party::Type", "x", &[]), Err("unknown"));
    }

    #[test]
    fn what_is_put_together_is_not_certain() {
        let arn = |name: &str| format!("arn:aws:events:eu-west-1:111111111111:rule/{name}");
        assert_eq!(of("AWS::Events::Rule", "nightly", &[]), Ok(perhaps(&arn("nightly"))));
        assert_eq!(of("AWS::Events::Rule", "bus|nightly", &[]), Ok(perhaps(&arn("bus/nightly"))));
        assert_eq!(of("AWS::S3::Bucket", "other", &[("BucketName", "b")]), Ok(perhaps("b")));
        let function = "arn:aws:lambda:eu-west-1:111111111111:function:f";
        assert_eq!(
            of("AWS::Lambda::Permission", "p", &[("FunctionName", function)]),
            Ok(perhaps(&format!("{function}|p")))
        );
    }
}
