//! What exists in an environment: physical IDs, attributes, and who owns a name.
//!
//! Everything derives from the type, the physical ID, the properties and the environment, never
//! from the stack or the logical ID, so that a resource that moves keeps all its values.

use super::clock::Ambient;
use super::error::Answer;
use super::evaluate::{partition, text};
use super::record::{Json, Physical};
use super::state::{Region, Tx, file_name};
use crate::model::Environment;
use crate::registry::{TypeInfo, lookup};

/// What stands for a value that is only known when a change set is executed.
pub(crate) const UNKNOWN: &str = "{{changeSet:KNOWN_AFTER_APPLY}}";

/// Types whose identifier is assigned by the service, with the property that must be unique.
const UNIQUE_NAMES: &[(&str, &str)] = &[
    ("AWS::Batch::ComputeEnvironment", "ComputeEnvironmentName"),
    ("AWS::Batch::JobQueue", "JobQueueName"),
    ("AWS::ElasticLoadBalancingV2::LoadBalancer", "Name"),
    ("AWS::ElasticLoadBalancingV2::TargetGroup", "Name"),
    ("AWS::Events::Rule", "Name"),
    ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"),
    ("AWS::SNS::Topic", "TopicName"),
    ("AWS::SQS::Queue", "QueueName"),
    ("AWS::SecretsManager::Secret", "Name"),
    ("AWS::StepFunctions::StateMachine", "StateMachineName"),
];

/// Types whose IDs are a short prefix and hexadecimal digits.
const PREFIXES: &[(&str, &str)] = &[
    ("AWS::EC2::CustomerGateway", "cgw"),
    ("AWS::EC2::DHCPOptions", "dopt"),
    ("AWS::EC2::FlowLog", "fl"),
    ("AWS::EC2::Instance", "i"),
    ("AWS::EC2::InternetGateway", "igw"),
    ("AWS::EC2::LaunchTemplate", "lt"),
    ("AWS::EC2::NatGateway", "nat"),
    ("AWS::EC2::NetworkAcl", "acl"),
    ("AWS::EC2::NetworkInterface", "eni"),
    ("AWS::EC2::RouteTable", "rtb"),
    ("AWS::EC2::SecurityGroup", "sg"),
    ("AWS::EC2::SecurityGroupEgress", "sgr"),
    ("AWS::EC2::SecurityGroupIngress", "sgr"),
    ("AWS::EC2::Subnet", "subnet"),
    ("AWS::EC2::SubnetRouteTableAssociation", "rtbassoc"),
    ("AWS::EC2::TransitGateway", "tgw"),
    ("AWS::EC2::VPC", "vpc"),
    ("AWS::EC2::VPCEndpoint", "vpce"),
    ("AWS::EC2::VPNGateway", "vgw"),
    ("AWS::EC2::Volume", "vol"),
    ("AWS::EFS::FileSystem", "fs"),
];

/// A resource that is about to be created.
pub(crate) struct Creation<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) stack_name: &'a str,
    pub(crate) logical_id: &'a str,
    pub(crate) resource_type: &'a str,
    pub(crate) properties: &'a Json,
}

/// Returns the path of the document of a physical resource.
pub(crate) fn path(resource_type: &str, physical_id: &str) -> String {
    let kind = resource_type.replace("::", ".");
    format!("resources/{}/{}.json", file_name(&kind), file_name(physical_id))
}

impl Creation<'_> {
    fn property(&self, name: &str) -> Option<String> {
        let value = name.split('/').try_fold(self.properties, |value, key| value.get(key))?;
        Some(text(value)).filter(|text| !text.is_empty())
    }

    /// The name that the template gives, if it identifies the resource.
    fn explicit_name(&self) -> Option<String> {
        let listed = UNIQUE_NAMES.iter().find(|(name, _)| *name == self.resource_type);
        if let Some((_, property)) = listed {
            return self.property(property);
        }
        let identifier = lookup(self.resource_type)?.settable_identifier()?;
        let parts: Option<Vec<String>> =
            identifier.iter().map(|property| self.property(property)).collect();
        Some(parts?.join("|"))
    }

    /// `Stack-LogicalId-RANDOM`, as CloudFormation names what has no name.
    fn generated_name(&self, ambient: &Ambient) -> String {
        let cut = |text: &str| text.chars().take(24).collect::<String>();
        let (stack, id) = (cut(self.stack_name), cut(self.logical_id));
        let name = format!("{stack}-{id}-{}", ambient.token(12));
        // Buckets have lower-case names.
        if self.resource_type == "AWS::S3::Bucket" { name.to_lowercase() } else { name }
    }

    /// Returns the physical ID that the template determines, if it does: then nothing else may
    /// have it.
    pub(crate) fn explicit_id(&self) -> Option<String> {
        self.explicit_name().map(|name| self.id_of(&name))
    }

    /// Returns the physical ID of what is written over if it exists: an inline policy is the
    /// policy of that name of its roles, users and groups, whichever stack has it; queues and
    /// topics have one policy each.
    pub(crate) fn shared_id(&self) -> Option<String> {
        let policy = match self.resource_type {
            "AWS::IAM::Policy" => self.property("PolicyName")?,
            "AWS::SQS::QueuePolicy" => return self.property("Queues"),
            "AWS::SNS::TopicPolicy" => return self.property("Topics"),
            _ => return None,
        };
        let mut parts = vec![policy];
        parts.extend(["Roles", "Users", "Groups"].iter().filter_map(|key| self.property(key)));
        (parts.len() > 1).then(|| parts.join("|"))
    }

    /// Returns the physical ID of a new resource without a name.
    pub(crate) fn fresh_id(&self, ambient: &Ambient) -> String {
        let prefix = PREFIXES.iter().find(|(name, _)| *name == self.resource_type);
        if let Some((_, prefix)) = prefix {
            return format!("{prefix}-{}", ambient.hex(17));
        }
        match self.resource_type {
            "AWS::KMS::Key" => return ambient.uuid(),
            "AWS::Lambda::EventSourceMapping" => return ambient.uuid(),
            "AWS::EC2::EIP" => {
                let octet = || u8::from_str_radix(&ambient.hex(2), 16).unwrap_or(1);
                return format!("52.{}.{}.{}", octet(), octet(), octet());
            }
            "AWS::ApiGateway::Resource" => return ambient.token(6).to_lowercase(),
            "AWS::SNS::Subscription" => {
                return format!(
                    "{}:{}",
                    self.property("TopicArn").unwrap_or_default(),
                    ambient.uuid()
                );
            }
            _ => {}
        }
        let Some(info) = lookup(self.resource_type) else { return self.generated_name(ambient) };
        let identifier: Vec<&str> = info.primary_identifier().collect();
        match identifier.as_slice() {
            [only] if info.is_read_only(only) && only.ends_with("Id") && *only != "Id" => {
                ambient.token(10).to_lowercase()
            }
            [_] | [] => self.id_of(&self.generated_name(ambient)),
            parts if info.settable_identifier().is_some() => {
                let part = |part: &&str| {
                    self.property(part).unwrap_or_else(|| self.generated_name(ambient))
                };
                parts.iter().map(part).collect::<Vec<_>>().join("|")
            }
            _ => self.generated_name(ambient),
        }
    }

    /// Makes a physical ID of a name, for types whose ID contains the name.
    fn id_of(&self, name: &str) -> String {
        let Environment { account, region } = self.environment;
        let (_, suffix) = partition(region);
        if self.resource_type == "AWS::SQS::Queue" {
            return format!("https://sqs.{region}.{suffix}/{account}/{name}");
        }
        if self.resource_type == "AWS::Events::Rule" {
            return name.to_owned();
        }
        let identified_by_arn = lookup(self.resource_type).is_some_and(|info| {
            let identifier: Vec<&str> = info.primary_identifier().collect();
            matches!(identifier.as_slice(), [only] if only.ends_with("Arn") && info.is_read_only(only))
        });
        if identified_by_arn || self.resource_type == "AWS::SecretsManager::Secret" {
            return arn(self.environment, self.resource_type, name);
        }
        name.to_owned()
    }
}

/// Returns the name in a physical ID: the end of an ARN or of a URL.
fn name_in(physical_id: &str) -> &str {
    if physical_id.starts_with("https://") {
        return physical_id.rsplit('/').next().unwrap_or(physical_id);
    }
    physical_id
}

/// Makes an ARN of the usual form of a service.
fn arn(environment: &Environment, resource_type: &str, name: &str) -> String {
    if name.starts_with("arn:") {
        return name.to_owned();
    }
    let Environment { account, region } = environment;
    let (partition, _) = partition(region);
    let mut parts = resource_type.split("::").skip(1);
    let (service, kind) = (parts.next().unwrap_or("custom"), parts.next().unwrap_or("resource"));
    let kind = kind.to_lowercase();
    let (service, resource, regional) = match resource_type {
        "AWS::S3::Bucket" => return format!("arn:{partition}:s3:::{name}"),
        "AWS::SNS::Topic" | "AWS::SQS::Queue" => (service, name.to_owned(), true),
        "AWS::Lambda::Function" => (service, format!("function:{name}"), true),
        "AWS::Logs::LogGroup" => (service, format!("log-group:{name}:*"), true),
        "AWS::StepFunctions::StateMachine" => ("states", format!("stateMachine:{name}"), true),
        "AWS::SecretsManager::Secret" => (service, format!("secret:{name}"), true),
        "AWS::CloudWatch::Alarm" => (service, format!("alarm:{name}"), true),
        "AWS::IAM::ManagedPolicy" => (service, format!("policy/{name}"), false),
        "AWS::IAM::InstanceProfile" => (service, format!("instance-profile/{name}"), false),
        _ if service == "IAM" || service == "CloudFront" => {
            (service, format!("{kind}/{name}"), false)
        }
        _ => (service, format!("{kind}/{name}"), true),
    };
    let service = match service {
        "ElasticLoadBalancingV2" => "elasticloadbalancing".to_owned(),
        other => other.to_lowercase(),
    };
    let region = if regional { region.as_str() } else { "" };
    format!("arn:{partition}:{service}:{region}:{account}:{resource}")
}

/// Returns the value of `Ref` of a resource.
pub(crate) fn reference(resource_type: &str, physical_id: &str) -> Json {
    let id = match resource_type {
        // Its `Ref` is the name of the stage; the physical ID must differ from API to API.
        "AWS::ApiGateway::Stage" => physical_id.rsplit('|').next().unwrap_or(physical_id),
        _ => physical_id,
    };
    Json::from(id)
}

/// Attributes that are lists.
const LISTS: &[&str] = &[
    "CidrBlockAssociations",
    "DnsEntries",
    "Ipv6CidrBlocks",
    "NameServers",
    "NetworkInterfaceIds",
    "SecurityGroups",
];

/// Returns the value of an attribute of a resource, as plausible as may be, always the same.
pub(crate) fn attribute(
    environment: &Environment,
    resource_type: &str,
    physical_id: &str,
    properties: &Json,
    name: &str,
) -> Result<Json, String> {
    if physical_id == UNKNOWN {
        return Ok(UNKNOWN.into());
    }
    let Environment { region, .. } = environment;
    let (_, suffix) = partition(region);
    let own = name_in(physical_id);
    let special = match (resource_type, name) {
        ("AWS::SQS::Queue", "QueueName") => Some(own.to_owned()),
        ("AWS::SNS::Topic" | "AWS::StepFunctions::StateMachine", "TopicName" | "Name") => {
            own.rsplit(':').next().map(str::to_owned)
        }
        ("AWS::S3::Bucket", "DomainName") => Some(format!("{own}.s3.{suffix}")),
        ("AWS::S3::Bucket", "RegionalDomainName") => Some(format!("{own}.s3.{region}.{suffix}")),
        ("AWS::S3::Bucket", "WebsiteURL") => {
            Some(format!("http://{own}.s3-website-{region}.{suffix}"))
        }
        ("AWS::Lambda::Version", "Version") => Some("1".to_owned()),
        ("AWS::EC2::SecurityGroup", "GroupId") => Some(physical_id.to_owned()),
        (_, "Endpoint.Port" | "LatestVersionNumber" | "DefaultVersionNumber") => {
            Some("1".to_owned())
        }
        _ => None,
    };
    if let Some(value) = special {
        return Ok(value.into());
    }
    let keys = || name.split('.');
    if let Some(value) = keys().try_fold(properties, |value, key| value.get(key)) {
        return Ok(value.clone());
    }
    if let Some(info) = lookup(resource_type) {
        let schema = name.replace('.', "/");
        if !is_attribute(info, &schema) {
            return Err(format!(
                "Requested attribute {name} does not exist in schema for {resource_type}"
            ));
        }
        let mut identifier = info.primary_identifier();
        // The physical ID of a rule is its name, but it is identified by its ARN.
        let is_name = name.ends_with("Arn") && !physical_id.starts_with("arn:");
        if identifier.next() == Some(&schema) && identifier.next().is_none() && !is_name {
            return Ok(reference(resource_type, physical_id));
        }
    }
    if name == "Arn" || name.ends_with("Arn") && !resource_type.starts_with("Custom::") {
        return Ok(arn(environment, resource_type, own).into());
    }
    let value = format!("{own}.{name}");
    Ok(if LISTS.contains(&name) { Json::from(vec![value]) } else { value.into() })
}

/// Whether a type may have an attribute. Types outside of the registry's full model have
/// attributes that their schema does not mention.
fn is_attribute(info: TypeInfo, path: &str) -> bool {
    !info.fully_mutable()
        || info.read_only().next().is_none()
        || info.is_read_only(path)
        || info.read_only().any(|other| other.split('/').next() == path.split('/').next())
        || info.primary_identifier().any(|part| part == path)
        || matches!(path, "Arn" | "Id" | "Name" | "VpcId")
}

/// Returns what exists under a physical ID.
pub(crate) fn find(tx: &Tx<'_>, resource_type: &str, id: &str) -> Answer<Option<Physical>> {
    tx.get(&path(resource_type, id))
}

/// Records that something exists, or has changed.
pub(crate) fn save(tx: &mut Tx<'_>, physical: &Physical) -> Answer<()> {
    tx.put(&path(&physical.resource_type, &physical.physical_id), physical)
}

/// The number of the next thing that comes into being.
pub(crate) fn next_generation(tx: &mut Tx<'_>) -> Answer<u64> {
    const FILE: &str = "generation.json";
    let next = tx.get::<u64>(FILE)?.unwrap_or(0) + 1;
    tx.put(FILE, &next)?;
    Ok(next)
}

impl Region<'_> {
    /// Returns what exists under a physical ID, with its marker: the time of its creation and
    /// its generation never change, wherever it moves.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    pub fn physical_resource(&self, resource_type: &str, id: &str) -> Answer<Option<Physical>> {
        self.read(|tx| find(tx, resource_type, id))
    }

    /// Returns everything of a type that exists in this environment, in a stack or not.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    pub fn physical_resources(&self, resource_type: &str) -> Answer<Vec<Physical>> {
        self.read(|tx| {
            let kind = file_name(&resource_type.replace("::", "."));
            let mut found = Vec::new();
            for path in tx.list(&format!("resources/{kind}"))? {
                found.extend(tx.get(&path)?);
            }
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::clock::{CountingIds, ManualClock};
    use serde_json::json;
    use std::sync::Arc;

    fn creation<'a>(
        environment: &'a Environment,
        resource_type: &'a str,
        properties: &'a Json,
    ) -> Creation<'a> {
        Creation { environment, stack_name: "Shop", logical_id: "Thing", resource_type, properties }
    }

    #[test]
    fn explicit_names_make_ids() {
        let here = Environment::new("111111111111", "us-east-1");
        for (kind, properties, id) in [
            ("AWS::S3::Bucket", json!({"BucketName": "b"}), Some("b")),
            ("AWS::S3::Bucket", json!({}), None),
            (
                "AWS::SQS::Queue",
                json!({"QueueName": "q"}),
                Some("https://sqs.us-east-1.amazonaws.com/111111111111/q"),
            ),
            (
                "AWS::SNS::Topic",
                json!({"TopicName": "t"}),
                Some("arn:aws:sns:us-east-1:111111111111:t"),
            ),
            (
                "AWS::ApiGateway::Stage",
                json!({"RestApiId": "r", "StageName": "prod"}),
                Some("r|prod"),
            ),
            ("AWS::EC2::SecurityGroup", json!({"GroupName": "g"}), None),
            ("Custom::Thing", json!({"Name": "x"}), None),
        ] {
            let found = creation(&here, kind, &properties).explicit_id();
            assert_eq!(found.as_deref(), id, "{kind} {properties}");
        }
    }

    #[test]
    fn things_without_a_name_get_ids_of_the_usual_form() {
        let here = Environment::new("111111111111", "us-east-1");
        let ambient = Ambient::new(Arc::new(ManualClock::at(0)), Arc::new(CountingIds::default()));
        for (kind, start) in [
            ("AWS::S3::Bucket", "shop-thing-"),
            ("AWS::Lambda::Function", "Shop-Thing-"),
            ("AWS::EC2::VPC", "vpc-"),
            ("AWS::SNS::Topic", "arn:aws:sns:us-east-1:111111111111:Shop-Thing-"),
            ("Custom::Thing", "Shop-Thing-"),
            ("AWS::IAM::Policy", "Shop-Thing-"),
        ] {
            let id = creation(&here, kind, &json!({})).fresh_id(&ambient);
            assert!(id.starts_with(start), "{kind}: {id}");
        }
    }

    #[test]
    fn attributes_are_plausible() {
        let here = Environment::new("111111111111", "eu-west-1");
        for (kind, id, name, expected) in [
            ("AWS::S3::Bucket", "b", "Arn", "arn:aws:s3:::b"),
            ("AWS::SQS::Queue", "https://sqs/1/q", "Arn", "arn:aws:sqs:eu-west-1:111111111111:q"),
            ("AWS::SQS::Queue", "https://sqs/1/q", "QueueName", "q"),
            ("AWS::IAM::Role", "r", "Arn", "arn:aws:iam::111111111111:role/r"),
            ("AWS::EC2::SecurityGroup", "sg-1", "GroupId", "sg-1"),
            ("AWS::Events::Rule", "r", "Arn", "arn:aws:events:eu-west-1:111111111111:rule/r"),
            ("AWS::SNS::Topic", "arn:aws:sns:x:1:t", "TopicArn", "arn:aws:sns:x:1:t"),
            ("AWS::Lambda::Function", "f", "MemorySize", "128"),
        ] {
            let properties = json!({"MemorySize": "128"});
            let value = attribute(&here, kind, id, &properties, name).unwrap();
            assert_eq!(value, expected, "{kind} {name}");
        }
    }

    #[test]
    fn attributes_that_a_type_does_not_have_are_refused() {
        let here = Environment::new("111111111111", "eu-west-1");
        let error = attribute(&here, "AWS::S3::Bucket", "b", &json!({}), "Nope").unwrap_err();
        assert_eq!(error, "Requested attribute Nope does not exist in schema for AWS::S3::Bucket");
    }
}
