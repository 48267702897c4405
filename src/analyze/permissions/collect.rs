//! Everything that a state permits, as a list of grants with their holders.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap as HashMap;

use super::documents::{documents, may_hold_document};
use super::exposure::{self, Setting};
use super::network::{Direction, Rule, rules};
use super::resolve::{Resolver, text};
use super::statement::Statement;
use crate::compare::Scope;
use crate::model::{Object, Stack, Value};

/// Where a grant is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) stack: String,
    pub(super) logical_id: String,
    pub(super) resource_type: String,
}

/// What is granted.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// A statement of a policy.
    Statement(Statement),
    /// A managed policy, by its holder name or its ARN, is attached.
    Attached(String),
    /// A managed policy bounds what others can grant.
    Boundary(String),
    /// A rule of a security group.
    Rule(Rule),
    /// A user is in this group.
    Member(String),
    /// A permission set is assigned: to whom, and where.
    Assigned(String, String),
}

/// Something that is permitted (or denied).
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) place: Place,
    /// Whom or what it is about: `${Stack.LogicalId}` of a resource of the stacks, else a text.
    pub(super) holder: String,
    /// Which of the holder's policies: a statement counts only among those of one scope.
    pub(super) scope: String,
    /// Definitions of the conditions under which the resource exists.
    pub(super) when: BTreeSet<String>,
    pub(super) fact: Fact,
    /// It holds because the template says nothing.
    pub(super) implied: bool,
}

/// Policies that say what a principal may do, wherever they are written.
pub(super) const IDENTITY: &str = "identity";

/// What is known of a resource.
pub(super) struct Resource {
    /// It stays in the account when it leaves its template.
    pub(super) is_retained: bool,
}

/// A state of the stacks.
#[derive(Default)]
pub(super) struct State {
    pub(super) grants: Vec<Grant>,
    /// The resources, by `${Stack.LogicalId}`.
    pub(super) resources: HashMap<String, Resource>,
    /// Settings that can make something public, by place and name.
    pub(super) settings: BTreeMap<(Place, String), Setting>,
}

/// Properties that name the resources for which a policy is, of types that only hold a policy.
const TARGETS: &[(&str, &str)] = &[
    ("AWS::ECR::RegistryPolicy", ""),
    ("AWS::Kinesis::ResourcePolicy", "ResourceArn"),
    ("AWS::Lambda::LayerVersionPermission", "LayerVersionArn"),
    ("AWS::Lambda::Permission", "FunctionName"),
    ("AWS::Logs::ResourcePolicy", ""),
    ("AWS::S3::AccessPointPolicy", "AccessPoint"),
    ("AWS::S3::BucketPolicy", "Bucket"),
    ("AWS::S3Express::BucketPolicy", "Bucket"),
    ("AWS::S3ObjectLambda::AccessPointPolicy", "ObjectLambdaAccessPoint"),
    ("AWS::S3Outposts::BucketPolicy", "Bucket"),
    ("AWS::S3Tables::TableBucketPolicy", "TableBucketARN"),
    ("AWS::SNS::TopicInlinePolicy", "TopicArn"),
    ("AWS::SNS::TopicPolicy", "Topics"),
    ("AWS::SQS::QueueInlinePolicy", "Queue"),
    ("AWS::SQS::QueuePolicy", "Queues"),
    ("AWS::SecretsManager::ResourcePolicy", "SecretId"),
    ("Custom::CloudwatchLogResourcePolicy", ""),
];

/// Properties that name the principals to whom a policy belongs.
const PRINCIPALS: [&str; 6] = ["Groups", "GroupName", "RoleName", "Roles", "UserName", "Users"];

/// Types whose resources are open to everybody as long as they have no policy ("Endpoint
/// policies", "Default EFS file system policy").
const OPEN_WITHOUT_POLICY: [(&str, &str); 2] =
    [("AWS::EC2::VPCEndpoint", "PolicyDocument"), ("AWS::EFS::FileSystem", "FileSystemPolicy")];

/// Reads everything that a state permits.
pub(super) fn collect(scope: &Scope<'_>, state: &'static str, folds: bool) -> State {
    let mut found = State::default();
    for at in 0..scope.stacks.len() {
        let stack = scope.stacks[at].stack;
        for (logical_id, body) in stack.template.resources() {
            found.resources.insert(
                format!("${{{}.{logical_id}}}", stack.name),
                Resource { is_retained: is_retained(body) },
            );
        }
    }
    let mut resolver = Resolver::new(scope, state, folds);
    for at in 0..scope.stacks.len() {
        let stack = scope.stacks[at].stack;
        let conditions = inherited(scope, stack, &mut resolver);
        found.grants.extend(loops(stack, &mut resolver, at));
        for (logical_id, body) in stack.template.resources() {
            let kind = body.get("Type").and_then(Value::as_str).unwrap_or_default();
            let Some(properties) = interesting(kind, body) else { continue };
            let properties = resolver.resolve(at, &properties);
            let mut when = conditions.clone();
            if let Some(name) = body.get("Condition").and_then(Value::as_str) {
                when.insert(resolver.condition(at, name));
            }
            let place = Place {
                stack: stack.name.to_string(),
                logical_id: logical_id.to_string(),
                resource_type: kind.to_owned(),
            };
            let Value::Object(properties) = properties else { continue };
            let mut reader = Reader { found: &mut found, place, when, properties: &properties };
            reader.read();
        }
    }
    // What is found of equal grants in several places must not depend on the order of texts.
    found.grants.sort_by(|left, right| left.place.cmp(&right.place));
    found
}

/// Loops over resources that may grant something. What they grant is not read, so that every
/// change of one counts as broader.
fn loops(stack: &Stack, resolver: &mut Resolver<'_, '_>, at: usize) -> Vec<Grant> {
    const SUSPECT: [&str; 6] =
        ["AWS::IAM::", "Permission", "Policy", "Public", "SecurityGroup", "Statement"];
    let entries = stack.template.section("Resources").into_iter().flat_map(Object::iter);
    let loops = entries.filter(|(key, _)| key.starts_with("Fn::")).filter_map(|(key, value)| {
        let value = resolver.resolve(at, value);
        let written = text(&value);
        let place = Place {
            stack: stack.name.to_string(),
            logical_id: key.to_string(),
            resource_type: String::new(),
        };
        SUSPECT.iter().any(|word| written.contains(word)).then(|| Grant {
            place,
            holder: stack.name.to_string(),
            scope: "loop".to_owned(),
            when: BTreeSet::new(),
            fact: Fact::Statement(Statement::unknown(&value)),
            implied: false,
        })
    });
    loops.collect()
}

/// The properties of a resource that can grant something; `None` if there are none.
fn interesting(kind: &str, body: &Object) -> Option<Value> {
    let whole = kind.starts_with("AWS::IAM::")
        || kind.starts_with("AWS::SSO::")
        || kind.starts_with("AWS::EC2::SecurityGroup")
        || kind == "AWS::Events::EventBusPolicy"
        || TARGETS.iter().any(|(target, _)| *target == kind)
        || OPEN_WITHOUT_POLICY.iter().any(|(open, _)| *open == kind)
        || exposure::has_settings(kind);
    let empty = Object::new();
    let properties = body.get("Properties").and_then(Value::as_object).unwrap_or(&empty);
    if whole {
        return Some(Value::Object(properties.clone()));
    }
    let holding: Object = properties
        .iter()
        .filter(|(name, value)| may_hold_document(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (!holding.is_empty()).then_some(Value::Object(holding))
}

/// The conditions of the resources that make a nested stack.
fn inherited(
    scope: &Scope<'_>,
    stack: &Stack,
    resolver: &mut Resolver<'_, '_>,
) -> BTreeSet<String> {
    let mut conditions = BTreeSet::new();
    let mut parent = stack.parent.as_ref();
    // No stack is nested deeper than there are stacks.
    for _ in 0..scope.stacks.len() {
        let Some(location) = parent else { break };
        let found = scope.stacks.iter().position(|one| one.stack.name == location.stack);
        let Some(at) = found else { break };
        let body = scope.stacks[at].stack.template.resource(location.logical_id.as_str());
        if let Some(name) = body.and_then(|body| body.get("Condition")?.as_str()) {
            conditions.insert(resolver.condition(at, name));
        }
        parent = scope.stacks[at].stack.parent.as_ref();
    }
    conditions
}

fn is_retained(body: &Object) -> bool {
    let policy = body.get("DeletionPolicy").and_then(Value::as_str);
    matches!(policy, Some("Retain" | "RetainExceptOnCreate"))
}

/// Reads one resource.
struct Reader<'r> {
    found: &'r mut State,
    place: Place,
    when: BTreeSet<String>,
    /// The properties without references.
    properties: &'r Object,
}

impl Reader<'_> {
    fn read(&mut self) {
        let kind = self.place.resource_type.clone();
        match kind.as_str() {
            "AWS::Lambda::Permission" | "AWS::Lambda::LayerVersionPermission" => {
                let statement = super::documents::permission(self.properties);
                self.statements(&[Statement::read(&statement)], "resource");
            }
            "AWS::Events::EventBusPolicy" => {
                let statement = super::documents::event_bus(self.properties);
                let bus = self.properties.get("EventBusName").map(text);
                let bus = self.canonical(bus.as_deref().unwrap_or("default"));
                self.push(&bus, "resource", Fact::Statement(Statement::read(&statement)));
            }
            "AWS::EC2::SecurityGroup" => self.group(),
            "AWS::EC2::SecurityGroupIngress" | "AWS::EC2::SecurityGroupEgress" => self.rule(),
            "AWS::IAM::UserToGroupAddition" => self.members(),
            "AWS::SSO::Assignment" => self.assignment(),
            _ => self.policies(),
        }
        exposure::read(&self.place, self.properties, &mut self.found.settings);
    }

    /// `${Stack.LogicalId}` of the resource itself.
    fn own(&self) -> String {
        format!("${{{}.{}}}", self.place.stack, self.place.logical_id)
    }

    /// The name of a holder that a text refers to: the resource, whichever of its attributes is
    /// used, else the text.
    fn canonical(&self, name: &str) -> String {
        canonical(&self.found.resources, name)
    }

    fn push(&mut self, holder: &str, scope: &str, fact: Fact) {
        self.found.grants.push(Grant {
            place: self.place.clone(),
            holder: holder.to_owned(),
            scope: scope.to_owned(),
            when: self.when.clone(),
            fact,
            implied: false,
        });
    }

    fn imply(&mut self, scope: &str, fact: Fact) {
        let own = self.own();
        self.push(&own, scope, fact);
        if let Some(grant) = self.found.grants.last_mut() {
            grant.implied = true;
        }
    }

    /// The texts of a property that is a list or a single value.
    fn texts(&self, property: &str) -> Vec<String> {
        match self.properties.get(property) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(text).collect(),
            Some(one) => vec![text(one)],
        }
    }

    /// Whom or what the policies in the resource are about.
    fn holders(&self) -> Vec<String> {
        let kind = self.place.resource_type.as_str();
        let properties: &[&str] = match TARGETS.iter().find(|(target, _)| *target == kind) {
            // One policy of these counts for everything in the environment.
            Some((_, "")) => return vec![kind.to_owned()],
            Some((_, property)) => &[property],
            None if attaches(kind) => &PRINCIPALS,
            None => return vec![self.own()],
        };
        let named = properties.iter().flat_map(|property| self.texts(property));
        let mut holders: Vec<String> = named.map(|name| self.canonical(&name)).collect();
        if holders.is_empty() {
            holders.push(self.own());
        }
        holders
    }

    fn statements(&mut self, statements: &[Statement], scope: &str) {
        for holder in self.holders() {
            for statement in statements {
                self.push(&holder, scope, Fact::Statement(statement.clone()));
            }
        }
    }

    /// Policies of every kind in the properties, and what is attached.
    fn policies(&mut self) {
        let kind = self.place.resource_type.clone();
        let is_identity = kind.starts_with("AWS::IAM::") || kind == "AWS::SSO::PermissionSet";
        for (path, statements) in documents(self.properties) {
            let scope = match path.as_str() {
                _ if TARGETS.iter().any(|(target, _)| *target == kind) => "resource".to_owned(),
                "AssumeRolePolicyDocument" => "trust".to_owned(),
                _ if is_identity => IDENTITY.to_owned(),
                path => format!("resource {path}"),
            };
            self.statements(&statements, &scope);
        }
        if let Some((_, property)) = OPEN_WITHOUT_POLICY.iter().find(|(open, _)| *open == kind)
            && !self.properties.contains_key(property)
        {
            self.imply(&format!("resource {property}"), Fact::Statement(Statement::open()));
        }
        self.attachments(&kind);
    }

    fn attachments(&mut self, kind: &str) {
        let own = self.own();
        if kind == "AWS::IAM::ManagedPolicy" {
            let named = PRINCIPALS.iter().flat_map(|property| self.texts(property));
            for principal in named.collect::<Vec<_>>() {
                let principal = self.canonical(&principal);
                self.push(&principal, IDENTITY, Fact::Attached(own.clone()));
            }
        }
        for property in ["ManagedPolicyArns", "ManagedPolicies", "CustomerManagedPolicyReferences"]
        {
            for policy in self.texts(property) {
                let policy = self.canonical(&policy);
                self.push(&own, IDENTITY, Fact::Attached(policy));
            }
        }
        for boundary in self.texts("PermissionsBoundary") {
            let boundary = self.canonical(&boundary);
            self.push(&own, IDENTITY, Fact::Boundary(boundary));
        }
        if kind == "AWS::IAM::User" {
            for group in self.texts("Groups") {
                let group = self.canonical(&group);
                self.push(&own, IDENTITY, Fact::Member(group));
            }
        }
    }

    fn members(&mut self) {
        for group in self.texts("GroupName") {
            let group = self.canonical(&group);
            for user in self.texts("Users") {
                let user = self.canonical(&user);
                self.push(&user, IDENTITY, Fact::Member(group.clone()));
            }
        }
    }

    fn assignment(&mut self) {
        let get = |property: &str| self.properties.get(property).map(text).unwrap_or_default();
        let set = self.canonical(&get("PermissionSetArn"));
        let principal = format!("{} {}", get("PrincipalType"), get("PrincipalId"));
        let target = format!("{} {}", get("TargetType"), get("TargetId"));
        let instance = get("InstanceArn");
        self.push(&set, &instance, Fact::Assigned(principal, target));
    }

    fn group(&mut self) {
        let own = self.own();
        for (property, direction) in
            [("SecurityGroupIngress", Direction::In), ("SecurityGroupEgress", Direction::Out)]
        {
            let listed = rules(self.properties, property);
            for value in &listed {
                let rule = Rule::read(direction, value, |name| self.canonical(name));
                self.push(&own, "rules", Fact::Rule(rule));
            }
            if listed.is_empty() && direction == Direction::Out {
                self.imply("rules", Fact::Rule(Rule::open()));
            }
        }
    }

    fn rule(&mut self) {
        let direction = match self.place.resource_type.as_str() {
            "AWS::EC2::SecurityGroupIngress" => Direction::In,
            _ => Direction::Out,
        };
        let value = Value::Object(self.properties.clone());
        let rule = Rule::read(direction, &value, |name| self.canonical(name));
        let group = self.properties.get("GroupId").or_else(|| self.properties.get("GroupName"));
        let group = self.canonical(&group.map(text).unwrap_or_default());
        self.push(&group, "rules", Fact::Rule(rule));
    }
}

/// Whether policies of a type belong to the principals that it names. What a managed policy says
/// is its own; whom it is attached to is another matter.
fn attaches(kind: &str) -> bool {
    matches!(
        kind,
        "AWS::IAM::Policy"
            | "AWS::IAM::GroupPolicy"
            | "AWS::IAM::RolePolicy"
            | "AWS::IAM::UserPolicy"
    )
}

/// `${Stack.LogicalId}` of the resource to which a text refers, whichever of its attributes it
/// uses; a text that does not refer to one as it is.
pub(super) fn canonical(resources: &HashMap<String, Resource>, name: &str) -> String {
    let inner = name.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let mut parts = inner.unwrap_or_default().splitn(3, '.');
    if let (Some(stack), Some(logical_id)) = (parts.next(), parts.next()) {
        let own = format!("${{{stack}.{logical_id}}}");
        if resources.contains_key(&own) {
            return own;
        }
    }
    name.to_owned()
}
