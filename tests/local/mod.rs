//! An AWS in a temporary directory with a clock that stands still.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses its part of this, and fails by a panic"
)]

use std::sync::Arc;

use cdkr::local::{
    Ambient, Answer, Cloud, CountingIds, CreateStack, CreateStackRefactor, Delays, ManualClock,
    Options, Physical, RefactorInfo, Region, ResourceLocation, ResourceMapping, ServiceError,
    StackDefinition, StackDetail, TemplateSource, UpdateStack,
};
use cdkr::model::Environment;

pub struct World {
    pub cloud: Cloud,
    pub clock: Arc<ManualClock>,
    _directory: tempfile::TempDir,
}

/// Capabilities that CDK always acknowledges.
pub fn capabilities() -> Vec<String> {
    ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"].map(str::to_owned).to_vec()
}

pub fn world_with(options: Options) -> World {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1_795_250_859_000));
    let ambient = Ambient::new(clock.clone(), Arc::new(CountingIds::default()));
    let cloud = Cloud::open(directory.path(), ambient, options).unwrap();
    World { cloud, clock, _directory: directory }
}

pub fn world() -> World {
    world_with(Options::default())
}

/// A world in which everything takes a second.
pub fn slow_world() -> World {
    let delays = Delays {
        stack: 1000,
        cleanup: 1000,
        change_set: 1000,
        refactor_create: 1000,
        refactor_execute: 1000,
        refactor_settle: 1000,
    };
    world_with(Options { delays, ..Options::default() })
}

impl World {
    pub fn region(&self) -> Region<'_> {
        self.cloud.region(&Environment::new("111111111111", "us-east-1"))
    }

    pub fn create(&self, name: &str, template: &str) -> Answer<String> {
        self.region().create_stack(&CreateStack {
            name: name.to_owned(),
            template: TemplateSource::body(template),
            capabilities: capabilities(),
            ..CreateStack::default()
        })
    }

    pub fn update(&self, name: &str, template: &str) -> Answer<String> {
        self.region().update_stack(&UpdateStack {
            name: name.to_owned(),
            template: TemplateSource::body(template),
            capabilities: capabilities(),
            ..UpdateStack::default()
        })
    }

    /// Deploys and expects success.
    pub fn deploy(&self, name: &str, template: &str) {
        if self.region().stack_exists(name).unwrap() {
            self.update(name, template).unwrap();
            assert_eq!(self.status(name), "UPDATE_COMPLETE", "{name}: {:?}", self.reason(name));
        } else {
            self.create(name, template).unwrap();
            assert_eq!(self.status(name), "CREATE_COMPLETE", "{name}: {:?}", self.reason(name));
        }
    }

    pub fn stack(&self, name: &str) -> StackDetail {
        self.region().describe_stacks(Some(name), None).unwrap().items.remove(0)
    }

    pub fn status(&self, name: &str) -> String {
        self.stack(name).info.status
    }

    pub fn reason(&self, name: &str) -> String {
        self.stack(name).info.status_reason.unwrap_or_default()
    }

    pub fn output(&self, name: &str, key: &str) -> String {
        let outputs = self.stack(name).info.outputs;
        outputs.into_iter().find(|output| output.key == key).unwrap().value
    }

    pub fn id(&self, stack: &str, logical_id: &str) -> String {
        let found = self.region().describe_stack_resource(stack, logical_id).unwrap();
        found.resource.physical_id
    }

    /// The thing behind a resource.
    pub fn thing(&self, stack: &str, logical_id: &str) -> Physical {
        let found = self.region().describe_stack_resource(stack, logical_id).unwrap().resource;
        self.region()
            .physical_resource(&found.resource_type, &found.physical_id)
            .unwrap()
            .unwrap_or_else(|| panic!("{stack}.{logical_id} does not exist"))
    }

    /// Statuses of a logical ID (or of the stack by its name), oldest first.
    pub fn history(&self, stack: &str, logical_id: &str) -> Vec<String> {
        let mut events = self.region().describe_stack_events(stack, None).unwrap().items;
        events.reverse();
        events
            .into_iter()
            .filter(|event| event.logical_id == logical_id)
            .map(|event| event.status)
            .collect()
    }
}

pub fn message<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    let ServiceError { message, .. } = answer.unwrap_err();
    message
}

/// A template with these resources and, after a `|`, these outputs, both as JSON members.
pub fn template(resources: &str) -> String {
    format!(r#"{{"Resources":{{{resources}}}}}"#)
}

pub fn with_outputs(resources: &str, outputs: &str) -> String {
    format!(r#"{{"Resources":{{{resources}}},"Outputs":{{{outputs}}}}}"#)
}

pub const QUEUE: &str = r#""Queue":{"Type":"AWS::SQS::Queue"}"#;
pub const TOPIC: &str = r#""Topic":{"Type":"AWS::SNS::Topic"}"#;

/// A request to refactor: definitions as name and template, mappings as `A.X>B.Y`.
pub fn refactor(definitions: &[(&str, &str)], mappings: &[&str]) -> CreateStackRefactor {
    let location = |text: &str| {
        let (stack, id) = text.rsplit_once('.').unwrap();
        ResourceLocation { stack: stack.to_owned(), logical_id: id.to_owned() }
    };
    CreateStackRefactor {
        definitions: definitions
            .iter()
            .map(|(name, text)| StackDefinition {
                stack: Some((*name).to_owned()),
                template: TemplateSource::body(text),
            })
            .collect(),
        mappings: mappings
            .iter()
            .map(|mapping| {
                let (source, destination) = mapping.split_once('>').unwrap();
                ResourceMapping { source: location(source), destination: location(destination) }
            })
            .collect(),
        ..CreateStackRefactor::default()
    }
}

impl World {
    /// Creates a refactor and returns what becomes of it.
    pub fn preview(&self, request: &CreateStackRefactor) -> RefactorInfo {
        let id = self.region().create_stack_refactor(request).unwrap();
        self.region().describe_stack_refactor(&id).unwrap()
    }

    /// Creates a refactor that is refused, and returns why, without the stack that it names.
    pub fn refusal(&self, request: &CreateStackRefactor) -> String {
        let info = self.preview(request);
        assert_eq!(
            (info.status.as_str(), info.execution_status.as_str()),
            ("CREATE_FAILED", "UNAVAILABLE")
        );
        let reason = info.status_reason.unwrap();
        match reason.split_once(": ") {
            Some((stack, rest)) if stack.starts_with("arn:") => rest.to_owned(),
            _ => reason,
        }
    }

    /// Carries a refactor out, up to stable stacks; returns its ID.
    pub fn carry_out(&self, request: &CreateStackRefactor) -> String {
        let info = self.preview(request);
        assert_eq!(info.status, "CREATE_COMPLETE", "{:?}", info.status_reason);
        self.region().execute_stack_refactor(&info.id).unwrap();
        let info = self.region().describe_stack_refactor(&info.id).unwrap();
        assert_eq!(info.execution_status, "EXECUTE_COMPLETE", "{:?}", info.execution_status_reason);
        self.clock.advance(10_000);
        info.id
    }
}
