//! What makes two definitions mean one thing in the account, and what happens when both exist for
//! a while: the old one in its stack until that is deployed, the new one as soon as its own is.
//!
//! Sources: the API references of the services ("adds or updates", "replaces" for what writes
//! over; the errors `…AlreadyExists`, `Conflict…`, `Duplicate…` for what refuses), the
//! descriptions of the resource types in the CloudFormation template reference, and for all
//! types of the registry the contract of the create handler: it must refuse what exists already
//! (CloudFormation CLI user guide, "Resource type handler contract").

use super::table::lookup;

/// What becomes of a thing when a second definition of it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// It is written over, without a word; and the deletion of either definition removes it.
    Overwrites,
    /// The creation fails as long as it exists.
    Excludes,
}

/// What identifies a thing in the account and region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What happens when two meet.
    pub clash: Clash,
    /// By which properties they are one.
    pub by: Key,
}

/// The properties that identify a thing: paths below `Properties`, segments separated by `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// These. Without any there is only one such thing in an account and region.
    Properties {
        /// Properties with a value each: all have to be equal.
        values: Vec<Part>,
        /// Properties that are lists: they meet in any member that they share. Without any of
        /// them the values alone decide.
        members: Vec<&'static str>,
    },
    /// Nobody knows which, so all of them: the provider of a custom resource decides.
    All,
}

/// A property with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The path.
    pub path: &'static str,
    /// Whether it says something to leave it out. A name that is left out is made up, so that
    /// the thing is like no other.
    pub optional: bool,
}

use Clash::{Excludes, Overwrites};

/// A type, what happens, its values (`?` at the end: may be left out) and its lists.
type Row = (&'static str, Clash, &'static [&'static str], &'static [&'static str]);

/// Types with a `Put…`, `Set…`, `Associate…`, `Attach…` or `Grant…` behind them that makes no
/// difference between the first and the second time, and whose deletion takes away what is there.
#[rustfmt::skip]
const OVERWRITING: &[Row] = &[
    // ImportCertificateAuthorityCertificate; the deletion disables the authority.
    ("AWS::ACMPCA::CertificateAuthorityActivation", Overwrites, &["CertificateAuthorityArn"], &[]),
    ("AWS::AmazonMQ::ConfigurationAssociation", Overwrites, &["Broker"], &[]),
    // UpdateAccount, PutGatewayResponse.
    ("AWS::ApiGateway::Account", Overwrites, &[], &[]),
    ("AWS::ApiGateway::GatewayResponse", Overwrites, &["RestApiId", "ResponseType"], &[]),
    // StartSchemaCreation replaces the schema of the API.
    ("AWS::AppSync::GraphQLSchema", Overwrites, &["ApiId"], &[]),
    // PutAnomalyDetector.
    ("AWS::CloudWatch::AnomalyDetector", Overwrites, &["Namespace?", "MetricName?", "Stat?", "Dimensions?", "SingleMetricAnomalyDetector?", "MetricMathAnomalyDetector?"], &[]),
    // SetRiskConfiguration, SetUICustomization, AdminAddUserToGroup.
    ("AWS::Cognito::UserPoolRiskConfigurationAttachment", Overwrites, &["UserPoolId", "ClientId"], &[]),
    ("AWS::Cognito::UserPoolUICustomizationAttachment", Overwrites, &["UserPoolId", "ClientId"], &[]),
    ("AWS::Cognito::UserPoolUserToGroupAttachment", Overwrites, &["UserPoolId", "GroupName", "Username"], &[]),
    // ReplaceNetworkAclAssociation; the deletion gives the subnet the default list.
    ("AWS::EC2::SubnetNetworkAclAssociation", Overwrites, &["SubnetId"], &[]),
    // AssociateDhcpOptions; the deletion gives the VPC the default options.
    ("AWS::EC2::VPCDHCPOptionsAssociation", Overwrites, &["VpcId"], &[]),
    // EnableVgwRoutePropagation.
    ("AWS::EC2::VPNGatewayRoutePropagation", Overwrites, &["VpnGatewayId"], &["RouteTableIds"]),
    // PutClusterCapacityProviders.
    ("AWS::ECS::ClusterCapacityProviderAssociations", Overwrites, &["Cluster"], &[]),
    // AddListenerCertificates; the deletion removes the certificates.
    ("AWS::ElasticLoadBalancingV2::ListenerCertificate", Overwrites, &["ListenerArn"], &["Certificates"]),
    // PutGroupPolicy, PutRolePolicy, PutUserPolicy "add or update" an inline policy of a name.
    ("AWS::IAM::GroupPolicy", Overwrites, &["GroupName", "PolicyName"], &[]),
    ("AWS::IAM::Policy", Overwrites, &["PolicyName"], &["Groups", "Roles", "Users"]),
    ("AWS::IAM::RolePolicy", Overwrites, &["PolicyName", "RoleName"], &[]),
    ("AWS::IAM::UserPolicy", Overwrites, &["PolicyName", "UserName"], &[]),
    // AddUserToGroup.
    ("AWS::IAM::UserToGroupAddition", Overwrites, &["GroupName"], &["Users"]),
    // AttachPolicy, AttachThingPrincipal.
    ("AWS::IoT::PolicyPrincipalAttachment", Overwrites, &["PolicyName", "Principal"], &[]),
    ("AWS::IoT::ThingPrincipalAttachment", Overwrites, &["ThingName", "Principal"], &[]),
    // PutDataLakeSettings, GrantPermissions, AddLFTagsToResource.
    ("AWS::LakeFormation::DataLakeSettings", Overwrites, &[], &[]),
    ("AWS::LakeFormation::Permissions", Overwrites, &["DataLakePrincipal", "Resource"], &[]),
    ("AWS::LakeFormation::PrincipalPermissions", Overwrites, &["Catalog?", "Principal", "Resource"], &[]),
    ("AWS::LakeFormation::TagAssociation", Overwrites, &["Resource", "LFTags"], &[]),
    // Update…Channel, UpdateApplicationSettings, PutEventStream: one for each application.
    ("AWS::Pinpoint::ADMChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::APNSChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::APNSSandboxChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::APNSVoipChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::APNSVoipSandboxChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::ApplicationSettings", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::BaiduChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::EmailChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::EventStream", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::GCMChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::SMSChannel", Overwrites, &["ApplicationId"], &[]),
    ("AWS::Pinpoint::VoiceChannel", Overwrites, &["ApplicationId"], &[]),
    // SetTopicAttributes, SetQueueAttributes: one policy for each topic or queue; the deletion
    // resets it to the default, or to none.
    ("AWS::SNS::TopicInlinePolicy", Overwrites, &["TopicArn"], &[]),
    ("AWS::SNS::TopicPolicy", Overwrites, &[], &["Topics"]),
    ("AWS::SQS::QueueInlinePolicy", Overwrites, &["Queue"], &[]),
    ("AWS::SQS::QueuePolicy", Overwrites, &[], &["Queues"]),
    // PutResourcePolicy, RotateSecret, PutSecretValue: one for each secret.
    ("AWS::SecretsManager::ResourcePolicy", Overwrites, &["SecretId"], &[]),
    ("AWS::SecretsManager::RotationSchedule", Overwrites, &["SecretId"], &[]),
    ("AWS::SecretsManager::SecretTargetAttachment", Overwrites, &["SecretId"], &[]),
    // AssociateWebACL: one list for each resource.
    ("AWS::WAFRegional::WebACLAssociation", Overwrites, &["ResourceArn"], &[]),
    ("AWS::WAFv2::WebACLAssociation", Overwrites, &["ResourceArn"], &[]),
];

/// Types that refuse a second one of an identity which is not, or not only, their primary
/// identifier: that is assigned by the service, or parts of it may be left out.
#[rustfmt::skip]
const EXCLUSIVE: &[Row] = &[
    ("AWS::ApiGateway::Resource", Excludes, &["RestApiId", "ParentId", "PathPart"], &[]),
    ("AWS::ApiGateway::UsagePlanKey", Excludes, &["KeyId", "UsagePlanId"], &[]),
    ("AWS::AppMesh::GatewayRoute", Excludes, &["MeshName", "VirtualGatewayName", "GatewayRouteName"], &[]),
    ("AWS::AppMesh::Mesh", Excludes, &["MeshName"], &[]),
    ("AWS::AppMesh::Route", Excludes, &["MeshName", "VirtualRouterName", "RouteName"], &[]),
    ("AWS::AppMesh::VirtualGateway", Excludes, &["MeshName", "VirtualGatewayName"], &[]),
    ("AWS::AppMesh::VirtualNode", Excludes, &["MeshName", "VirtualNodeName"], &[]),
    ("AWS::AppMesh::VirtualRouter", Excludes, &["MeshName", "VirtualRouterName"], &[]),
    ("AWS::AppMesh::VirtualService", Excludes, &["MeshName", "VirtualServiceName"], &[]),
    ("AWS::Backup::BackupSelection", Excludes, &["BackupPlanId", "BackupSelection/SelectionName"], &[]),
    ("AWS::Batch::ComputeEnvironment", Excludes, &["ComputeEnvironmentName"], &[]),
    ("AWS::Batch::JobQueue", Excludes, &["JobQueueName"], &[]),
    ("AWS::CloudFormation::Macro", Excludes, &["Name"], &[]),
    ("AWS::CodeBuild::Project", Excludes, &["Name"], &[]),
    // One of each in an account and region.
    ("AWS::Config::ConfigurationRecorder", Excludes, &[], &[]),
    ("AWS::Config::DeliveryChannel", Excludes, &[], &[]),
    ("AWS::DAX::Cluster", Excludes, &["ClusterName"], &[]),
    ("AWS::DMS::ReplicationInstance", Excludes, &["ReplicationInstanceIdentifier"], &[]),
    ("AWS::DocDB::DBCluster", Excludes, &["DBClusterIdentifier"], &[]),
    ("AWS::DocDB::DBInstance", Excludes, &["DBInstanceIdentifier"], &[]),
    ("AWS::EC2::ClientVpnAuthorizationRule", Excludes, &["ClientVpnEndpointId", "TargetNetworkCidr", "AccessGroupId?"], &[]),
    ("AWS::EC2::ClientVpnRoute", Excludes, &["ClientVpnEndpointId", "DestinationCidrBlock", "TargetVpcSubnetId"], &[]),
    ("AWS::EC2::ClientVpnTargetNetworkAssociation", Excludes, &["ClientVpnEndpointId", "SubnetId"], &[]),
    ("AWS::EC2::EIPAssociation", Excludes, &["AllocationId?", "EIP?"], &[]),
    ("AWS::EC2::LaunchTemplate", Excludes, &["LaunchTemplateName"], &[]),
    ("AWS::EC2::NetworkAclEntry", Excludes, &["NetworkAclId", "RuleNumber", "Egress?"], &[]),
    ("AWS::EC2::Route", Excludes, &["RouteTableId", "DestinationCidrBlock?", "DestinationIpv6CidrBlock?", "DestinationPrefixListId?"], &[]),
    ("AWS::EC2::SecurityGroup", Excludes, &["GroupName", "VpcId?"], &[]),
    ("AWS::EC2::SecurityGroupEgress", Excludes, &["GroupId", "IpProtocol", "FromPort?", "ToPort?", "CidrIp?", "CidrIpv6?", "DestinationPrefixListId?", "DestinationSecurityGroupId?"], &[]),
    ("AWS::EC2::SecurityGroupIngress", Excludes, &["GroupId?", "GroupName?", "IpProtocol", "FromPort?", "ToPort?", "CidrIp?", "CidrIpv6?", "SourcePrefixListId?", "SourceSecurityGroupId?", "SourceSecurityGroupName?"], &[]),
    ("AWS::EC2::SubnetCidrBlock", Excludes, &["SubnetId", "Ipv6CidrBlock?"], &[]),
    ("AWS::EC2::SubnetRouteTableAssociation", Excludes, &["SubnetId"], &[]),
    ("AWS::EC2::VPCCidrBlock", Excludes, &["VpcId", "CidrBlock?", "Ipv6CidrBlock?"], &[]),
    ("AWS::EC2::VPCGatewayAttachment", Excludes, &["VpcId", "InternetGatewayId?", "VpnGatewayId?"], &[]),
    ("AWS::ElasticLoadBalancingV2::LoadBalancer", Excludes, &["Name"], &[]),
    ("AWS::ElasticLoadBalancingV2::TargetGroup", Excludes, &["Name"], &[]),
    ("AWS::Elasticsearch::Domain", Excludes, &["DomainName"], &[]),
    ("AWS::Events::Rule", Excludes, &["Name", "EventBusName?"], &[]),
    ("AWS::Glue::Schema", Excludes, &["Name", "Registry?"], &[]),
    ("AWS::IAM::ManagedPolicy", Excludes, &["ManagedPolicyName", "Path?"], &[]),
    ("AWS::LakeFormation::Resource", Excludes, &["ResourceArn"], &[]),
    ("AWS::Lambda::Alias", Excludes, &["FunctionName", "Name"], &[]),
    ("AWS::Lambda::EventSourceMapping", Excludes, &["EventSourceArn", "FunctionName"], &[]),
    ("AWS::MSK::Configuration", Excludes, &["Name"], &[]),
    ("AWS::MSK::ServerlessCluster", Excludes, &["ClusterName"], &[]),
    ("AWS::QLDB::Ledger", Excludes, &["Name"], &[]),
    ("AWS::Route53::RecordSet", Excludes, &["Name", "Type", "SetIdentifier?", "HostedZoneId?", "HostedZoneName?"], &[]),
    // Its record sets are compared by their zone only: they are matched as the same already.
    ("AWS::Route53::RecordSetGroup", Excludes, &["HostedZoneId?", "HostedZoneName?"], &[]),
    ("AWS::SNS::Topic", Excludes, &["TopicName"], &[]),
    ("AWS::SQS::Queue", Excludes, &["QueueName"], &[]),
    ("AWS::SecretsManager::Secret", Excludes, &["Name"], &[]),
    ("AWS::ServiceCatalogAppRegistry::AttributeGroupAssociation", Excludes, &["Application", "AttributeGroup"], &[]),
    ("AWS::ServiceCatalogAppRegistry::ResourceAssociation", Excludes, &["Application", "Resource", "ResourceType"], &[]),
    ("AWS::StepFunctions::StateMachine", Excludes, &["StateMachineName"], &[]),
    ("AWS::WAFv2::IPSet", Excludes, &["Name", "Scope"], &[]),
    ("AWS::WAFv2::RegexPatternSet", Excludes, &["Name", "Scope"], &[]),
    ("AWS::WAFv2::RuleGroup", Excludes, &["Name", "Scope"], &[]),
    ("AWS::WAFv2::WebACL", Excludes, &["Name", "Scope"], &[]),
    ("AWS::WorkSpaces::Workspace", Excludes, &["DirectoryId", "UserName"], &[]),
];

/// Returns what identifies a thing of this type; `None` if the service assigns that, so that no
/// two are one, and for types of which nothing is known.
///
/// What a custom resource deletes is known to its provider only. Many go by a property: the one
/// of the CDK that empties a bucket empties it when *its* copy is deleted, whoever else has one.
pub fn identity(resource_type: &str) -> Option<Identity> {
    if resource_type.starts_with("Custom::")
        || resource_type == "AWS::CloudFormation::CustomResource"
    {
        return Some(Identity { clash: Overwrites, by: Key::All });
    }
    let row = |rows: &'static [Row]| {
        rows.binary_search_by(|row| row.0.cmp(resource_type)).ok().map(|at| &rows[at])
    };
    if let Some((_, clash, values, members)) = row(OVERWRITING).or_else(|| row(EXCLUSIVE)) {
        let values = values.iter().map(|written| part(written)).collect();
        let by = Key::Properties { values, members: members.to_vec() };
        return Some(Identity { clash: *clash, by });
    }
    let identifier = lookup(resource_type)?.settable_identifier()?;
    let values = identifier.into_iter().map(|path| Part { path, optional: false }).collect();
    Some(Identity { clash: Excludes, by: Key::Properties { values, members: Vec::new() } })
}

fn part(written: &'static str) -> Part {
    match written.strip_suffix('?') {
        Some(path) => Part { path, optional: true },
        None => Part { path: written, optional: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_tables_exists_and_stands_there_once() {
        for rows in [OVERWRITING, EXCLUSIVE] {
            assert!(rows.windows(2).all(|two| two[0].0 < two[1].0), "the rows are searched");
            for (name, ..) in rows {
                assert!(lookup(name).is_some(), "{name}");
            }
        }
        assert!(!OVERWRITING.iter().any(|row| EXCLUSIVE.iter().any(|other| other.0 == row.0)));
    }

    #[test]
    fn identifying_properties_can_be_set() {
        for (name, _, values, members) in OVERWRITING.iter().chain(EXCLUSIVE) {
            let info = lookup(name).unwrap();
            for path in values.iter().map(|written| part(written).path).chain(members.to_vec()) {
                assert!(!info.is_read_only(path), "{name}: {path}");
            }
        }
    }

    #[test]
    fn an_inline_policy_is_written_over_and_a_record_set_refused() {
        let policy = identity("AWS::IAM::Policy").unwrap();
        assert_eq!(policy.clash, Overwrites);
        assert_eq!(identity("AWS::Route53::RecordSet").unwrap().clash, Excludes);
        assert_eq!(identity("Custom::S3AutoDeleteObjects").unwrap().by, Key::All);
    }

    #[test]
    fn a_name_that_a_template_may_set_identifies() {
        let bucket = identity("AWS::S3::Bucket").unwrap();
        assert_eq!(bucket.clash, Excludes);
        let name = Part { path: "BucketName", optional: false };
        assert_eq!(bucket.by, Key::Properties { values: vec![name], members: Vec::new() });
    }

    #[test]
    fn what_the_service_numbers_is_never_another_thing() {
        for name in
            ["AWS::Lambda::Permission", "AWS::IAM::AccessKey", "AWS::EC2::VPC", "Acme::X::Y"]
        {
            assert_eq!(identity(name), None, "{name}");
        }
    }
}
