//! An embedded CloudFormation, and `cdkr` reading from it.

#![allow(unreachable_pub, reason = "each test uses its part of this")]

use std::fs;
use std::sync::Mutex;

use cdkr::aws::{
    Access, Aws, AwsError, Depth, Endpoint, Identity, Read, ReadRequest, Role, Roles, Wanted,
};
use cdkr::event::{Event, Host, Question, Unanswered};
use cdkr::local::server::{Running, ServeOptions, WireFault, WireFaultKind, WireFaults, start};
use cdkr::local::{Ambient, Cloud, CreateStack, Options, Region, TemplateSource};
use cdkr::model::{DeployedStack, Environment};

pub const ACCOUNT: &str = "111111111111";
pub const QUEUE: &str = r#"{"Resources":{"Queue":{"Type":"AWS::SQS::Queue"}}}"#;

pub struct World {
    pub running: Running,
    directory: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
}

/// Remembers what happens.
#[derive(Default)]
pub struct Witness(pub Mutex<Vec<Event>>);

impl Host for Witness {
    fn tell(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        Err(Unanswered { question: question.text.clone(), flag: question.flag.clone() })
    }
}

pub fn environment() -> Environment {
    Environment::new(ACCOUNT, "eu-west-1")
}

pub fn world_with(page_size: usize) -> World {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { page_size, ..Options::default() };
    let cloud = Cloud::open(directory.path(), Ambient::system(), options).unwrap();
    let running = start(cloud, &ServeOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    World { running, directory, runtime }
}

pub fn world() -> World {
    world_with(100)
}

/// Stacks without roles.
pub fn request(stacks: &[&str]) -> ReadRequest {
    let wanted = |name: &&str| Wanted { name: (*name).to_owned(), roles: Roles::default() };
    ReadRequest {
        environment: environment(),
        stacks: stacks.iter().map(wanted).collect(),
        additional: Vec::new(),
        depth: Depth::Complete,
        wait: None,
        accepts_failed: false,
    }
}

pub fn role(arn: &str) -> Role {
    Role { arn: arn.to_owned(), ..Role::default() }
}

pub fn names(read: &Read) -> Vec<&str> {
    read.deployed.stacks.iter().map(|stack| stack.stack.name.as_str()).collect()
}

pub fn stack<'a>(read: &'a Read, name: &str) -> &'a DeployedStack {
    read.deployed.stacks.iter().find(|stack| stack.stack.name.as_str() == name).unwrap()
}

pub fn create_in(region: &Region<'_>, name: &str, template: TemplateSource) {
    let capabilities = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"].map(str::to_owned).to_vec();
    let name = name.to_owned();
    let stack = CreateStack { name, template, capabilities, ..CreateStack::default() };
    region.create_stack(&stack).unwrap();
    // What takes no time happens with the next request.
    region.describe_stacks(Some(&stack.name), None).unwrap();
}

impl World {
    pub fn region(&self) -> Region<'_> {
        self.running.cloud().region(&environment())
    }

    pub fn create(&self, name: &str, template: &str) {
        create_in(&self.region(), name, TemplateSource::body(template));
    }

    /// Gives a stack another status, without anything having happened to it.
    pub fn set_status(&self, stack: &str, status: &str) {
        let file = self.directory.path().join(format!("{ACCOUNT}/eu-west-1/stacks/{stack}.json"));
        let text = fs::read_to_string(&file).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["info"]["status"] = status.into();
        fs::write(&file, document.to_string()).unwrap();
    }

    pub fn access(&self, identity: Identity) -> Access {
        let url = self.running.url().to_owned();
        let endpoint = Some(Endpoint { url, identity });
        Access { region: Some("eu-west-1".to_owned()), endpoint, ..Access::default() }
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub fn aws(&self, identity: Identity) -> Aws {
        self.run(Aws::connect(self.access(identity)))
    }

    pub fn anyone(&self) -> Aws {
        self.aws(Identity::Anyone(ACCOUNT.to_owned()))
    }

    pub fn read_with(&self, request: &ReadRequest, host: &dyn Host) -> Result<Read, AwsError> {
        let aws = self.anyone();
        self.run(aws.read(request, host))
    }

    pub fn read(&self, request: &ReadRequest) -> Result<Read, AwsError> {
        self.read_with(request, &cdkr::event::Silent)
    }

    pub fn refused(&self, request: &ReadRequest) -> AwsError {
        self.read(request).unwrap_err()
    }

    pub fn arm(&self, kind: WireFaultKind, action: Option<&str>, times: u32) {
        let action = action.map(str::to_owned);
        let faults = vec![WireFault { kind, action, times }];
        self.running.arm_wire(WireFaults { latency_ms: 0, faults });
    }

    /// How often an operation was asked for.
    pub fn count(&self, action: &str) -> usize {
        self.running.requests().iter().filter(|request| request.action == action).count()
    }
}
