//! A server in a temporary directory, stacks in it, and plans for them.

#![allow(unreachable_pub, reason = "every file of this test uses its part of this")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cdkr::aws::{Access, Aws, Endpoint, Identity, Roles};
use cdkr::event::{Event, Host, Question, Unanswered};
use cdkr::local::server::{Running, ServeOptions, start};
use cdkr::local::{
    Ambient, Cloud, CreateStack, Delays, Options, Region, TemplateSource, TemplateStage,
};
use cdkr::model::Environment;
use cdkr::plan::{Action, Batch, BatchStack, Change, Move, Plan, Purpose, Step, body_digest};
use cdkr::run::{Done, RunError, RunOptions, Runner};
use serde_json::{Value as Json, json};

pub const ACCOUNT: &str = "111111111111";
pub const REGION: &str = "us-east-1";

pub struct World {
    pub running: Running,
    pub directory: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    delays: Delays,
}

/// Remembers what it is told.
#[derive(Default)]
pub struct Listener(pub Mutex<Vec<Event>>);

impl Host for Listener {
    fn tell(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        Err(Unanswered { question: question.text.clone(), flag: question.flag.clone() })
    }
}

pub fn world_with(delays: Delays) -> World {
    open(tempfile::tempdir().unwrap(), delays)
}

fn open(directory: tempfile::TempDir, delays: Delays) -> World {
    let options = Options { delays, ..Options::default() };
    let cloud = Cloud::open(&directory.path().join("aws"), Ambient::system(), options).unwrap();
    let running = start(cloud, &ServeOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    World { running, directory, runtime, delays }
}

/// A world in which stacks are busy for a moment after a refactor says that it is done.
pub fn world() -> World {
    world_with(Delays { refactor_settle: 20, ..Delays::default() })
}

pub fn options() -> RunOptions {
    RunOptions { interval: Duration::from_millis(5), ..RunOptions::default() }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

impl World {
    /// Returns another world in which everything is as it is in this one.
    pub fn copy(&self) -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy(self.directory.path(), directory.path());
        open(directory, self.delays)
    }

    pub fn region(&self) -> Region<'_> {
        self.running.cloud().region(&Environment::new(ACCOUNT, REGION))
    }

    pub fn journals(&self) -> PathBuf {
        self.directory.path().join("project/.cdkr/runs")
    }

    /// Creates a stack.
    pub fn deploy(&self, name: &str, template: &Json) -> String {
        let id = self.region().create_stack(&CreateStack {
            name: name.to_owned(),
            template: TemplateSource::body(&template.to_string()),
            capabilities: vec!["CAPABILITY_IAM".to_owned()],
            ..CreateStack::default()
        });
        let id = id.unwrap();
        assert_eq!(self.status(name), "CREATE_COMPLETE");
        id
    }

    pub fn status(&self, name: &str) -> String {
        match self.region().describe_stacks(Some(name), None) {
            Ok(page) => page.items[0].info.status.clone(),
            Err(_) => "-".to_owned(),
        }
    }

    pub fn template(&self, name: &str) -> String {
        self.region().get_template(Some(name), None, TemplateStage::Original).unwrap()
    }

    /// Runs something with a runner of its own, as a new process would.
    pub fn with<T>(
        &self,
        options: RunOptions,
        host: &dyn Host,
        work: impl AsyncFnOnce(&Runner<'_>) -> T,
    ) -> T {
        self.runtime.block_on(async {
            let endpoint = Endpoint {
                url: self.running.url().to_owned(),
                identity: Identity::Anyone(ACCOUNT.to_owned()),
            };
            let access = Access { endpoint: Some(endpoint), ..Access::default() };
            let aws = Aws::connect(access).await;
            let runner = Runner::new(&aws, Roles::default(), host, options);
            work(&runner).await
        })
    }

    pub fn run(&self, plan: &Plan) -> Result<Done, RunError> {
        self.run_with(plan, options())
    }

    pub fn run_with(&self, plan: &Plan, options: RunOptions) -> Result<Done, RunError> {
        let journals = self.journals();
        self.with(options, &Listener::default(), async |runner| runner.run(plan, &journals).await)
    }

    pub fn resume(&self, journal: &Path) -> Result<Done, RunError> {
        self.with(options(), &Listener::default(), async |runner| runner.resume(journal).await)
    }

    pub fn revert(&self, journal: &Path) -> Result<Done, RunError> {
        self.with(options(), &Listener::default(), async |runner| runner.revert(journal).await)
    }

    /// The journal that was begun last.
    pub fn last_journal(&self) -> PathBuf {
        cdkr::run::runs(&self.journals()).unwrap().pop().unwrap().path
    }

    /// Everything that a user can lose: stacks with their templates; things with their IDs,
    /// markers and places.
    pub fn snapshot(&self) -> Snapshot {
        let region = self.region();
        let mut snapshot = Snapshot::default();
        let mut names = BTreeMap::new();
        for stack in region.describe_stacks(None, None).unwrap().items {
            names.insert(stack.info.id.clone(), stack.info.name.clone());
            let stable = stack.info.status.ends_with("_COMPLETE");
            let body = self.template(&stack.info.id);
            snapshot.stacks.insert(stack.info.name, (stable, body));
        }
        for kind in ["AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::S3::Bucket"] {
            for thing in region.physical_resources(kind).unwrap() {
                let stack = thing.stack_id.and_then(|id| names.get(&id).cloned());
                let place = format!(
                    "{}.{}",
                    stack.unwrap_or_default(),
                    thing.logical_id.unwrap_or_default()
                );
                let marker = (thing.generation, thing.created_ms, thing.updates);
                snapshot.things.insert(thing.physical_id, (marker, place));
            }
        }
        snapshot
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether it is stable, and the template, by name.
    pub stacks: BTreeMap<String, (bool, String)>,
    /// The marker and the place, by physical ID.
    pub things: BTreeMap<String, ((u64, u64, u64), String)>,
}

impl Snapshot {
    /// The things and where they are.
    pub fn places(&self) -> BTreeMap<String, String> {
        self.things.iter().map(|(id, (_, place))| (id.clone(), place.clone())).collect()
    }

    /// The things with their markers, wherever they are.
    pub fn markers(&self) -> BTreeMap<String, (u64, u64, u64)> {
        self.things.iter().map(|(id, (marker, _))| (id.clone(), *marker)).collect()
    }
}

/// A plan that is being written.
pub struct Script {
    /// ARN and template of each stack, as they are by then.
    stacks: BTreeMap<String, (Option<String>, String)>,
    steps: Vec<Step>,
}

impl Script {
    /// Begins with what is deployed.
    pub fn new(world: &World) -> Self {
        let stacks = world.region().describe_stacks(None, None).unwrap().items.into_iter();
        let stacks = stacks.map(|stack| {
            let body = world.template(&stack.info.name);
            (stack.info.name, (Some(stack.info.id), body))
        });
        Self { stacks: stacks.collect(), steps: Vec::new() }
    }

    fn add(&mut self, action: Action) {
        let after = (0..self.steps.len()).collect();
        self.steps.push(Step { after, action });
    }

    fn before(&self, name: &str) -> (Option<String>, Option<String>) {
        match self.stacks.get(name) {
            Some((id, body)) => (id.clone(), Some(body_digest(body))),
            None => (None, None),
        }
    }

    fn becomes(&mut self, name: &str, template: &str) {
        let id = self.stacks.get(name).and_then(|(id, _)| id.clone());
        self.stacks.insert(name.to_owned(), (id, template.to_owned()));
    }

    /// Adds a refactor: stacks with their new templates, and moves from place to place.
    pub fn refactor(mut self, templates: &[(&str, Json)], moves: &[(&str, &str)]) -> Self {
        let kind = |place: &str| {
            let (stack, id) = place.split_once('.').unwrap();
            let body: Json = serde_json::from_str(&self.stacks[stack].1).unwrap();
            body["Resources"][id]["Type"].as_str().unwrap().to_owned()
        };
        let moves = moves.iter().map(|(source, destination)| Move {
            resource_type: kind(source),
            physical_id: None,
            source: (*source).to_owned(),
            destination: (*destination).to_owned(),
        });
        let moves = moves.collect();
        let mut stacks = Vec::new();
        for (name, template) in templates {
            let ((id, before), template) = (self.before(name), template.to_string());
            self.becomes(name, &template);
            stacks.push(BatchStack { name: (*name).to_owned(), id, before, template });
        }
        self.add(Action::Refactor(Batch { stacks, moves }));
        self
    }

    /// Adds a change.
    pub fn change(mut self, stack: &str, purpose: Purpose, template: &Json) -> Self {
        let ((id, before), template) = (self.before(stack), template.to_string());
        self.becomes(stack, &template);
        let stack = stack.to_owned();
        let (parameters, capabilities) = (Vec::new(), vec!["CAPABILITY_IAM".to_owned()]);
        let retained = Vec::new();
        let change =
            Change { stack, id, purpose, before, template, parameters, capabilities, retained };
        self.add(Action::Change(change));
        self
    }

    /// Adds a change that retains resources.
    pub fn retain(self, stack: &str, ids: &[&str], template: &Json) -> Self {
        let mut script = self.change(stack, Purpose::Retain, template);
        if let Some(Step { action: Action::Change(change), .. }) = script.steps.last_mut() {
            change.retained = ids.iter().map(|id| (*id).to_owned()).collect();
        }
        script
    }

    pub fn plan(self) -> Plan {
        Plan {
            account: ACCOUNT.to_owned(),
            region: REGION.to_owned(),
            steps: self.steps,
            staying: Vec::new(),
            findings: Vec::new(),
        }
    }
}

/// A template of resources: logical ID and type.
pub fn template(resources: &[(&str, &str)]) -> Json {
    let body = |kind: &str| match kind {
        "queue" => json!({ "Type": "AWS::SQS::Queue" }),
        "topic" => json!({ "Type": "AWS::SNS::Topic" }),
        "bucket" => json!({ "Type": "AWS::S3::Bucket" }),
        "filler" => json!({ "Type": "AWS::CloudFormation::WaitConditionHandle" }),
        other => json!({ "Type": other }),
    };
    let resources: serde_json::Map<_, _> =
        resources.iter().map(|(id, kind)| ((*id).to_owned(), body(kind))).collect();
    json!({ "Resources": resources })
}

/// A rename in one stack and a move to another.
pub fn two_stacks(world: &World) -> Plan {
    world.deploy("A", &template(&[("One", "queue"), ("Two", "topic"), ("Stay", "bucket")]));
    world.deploy("B", &template(&[("Here", "queue")]));
    two_stacks_plan(world)
}

pub fn two_stacks_plan(world: &World) -> Plan {
    Script::new(world)
        .refactor(
            &[
                ("A", template(&[("Renamed", "queue"), ("Stay", "bucket")])),
                ("B", template(&[("Here", "queue"), ("Arrived", "topic")])),
            ],
            &[("A.One", "A.Renamed"), ("A.Two", "B.Arrived")],
        )
        .plan()
}

/// A stack that is new, and one that becomes empty but for its filler.
pub fn new_and_emptied(world: &World) -> Plan {
    world.deploy("Old", &template(&[("One", "queue"), ("Two", "topic")]));
    let plan = Script::new(world)
        .change(
            "Old",
            Purpose::Fill,
            &template(&[("One", "queue"), ("Two", "topic"), ("Filler", "filler")]),
        )
        .refactor(
            &[
                ("New", template(&[("A", "queue"), ("B", "topic")])),
                ("Old", template(&[("Filler", "filler")])),
            ],
            &[("Old.One", "New.A"), ("Old.Two", "New.B")],
        );
    plan.plan()
}

/// A stack that is created by a change set, because it has conditions.
pub fn created(world: &World) -> Plan {
    world.deploy("Old", &template(&[("One", "queue"), ("Two", "topic")]));
    let with = |resources: &[(&str, &str)]| {
        let mut template = template(resources);
        template["Conditions"] = json!({"Yes": {"Fn::Equals": ["a", "a"]}});
        template["Parameters"] = json!({"P": {"Type": "String", "Default": "x"}});
        template
    };
    Script::new(world)
        .change("New", Purpose::Create, &with(&[("Filler", "filler")]))
        .refactor(
            &[
                ("New", with(&[("Filler", "filler"), ("A", "queue")])),
                ("Old", template(&[("Two", "topic")])),
            ],
            &[("Old.One", "New.A")],
        )
        .change("New", Purpose::RemoveFiller, &with(&[("A", "queue")]))
        .plan()
}

/// Stops as if the process had been killed, at the moment with this number.
pub fn killed_at(moment: usize) -> (RunOptions, Arc<Mutex<Vec<String>>>) {
    let count = Arc::new(Mutex::new(Vec::new()));
    let counted = Arc::clone(&count);
    let hook = move |at: cdkr::run::Moment, operation: &'static str| {
        let mut counted = counted.lock().unwrap();
        counted.push(format!("{at:?} {operation}"));
        counted.len() < moment
    };
    (RunOptions { on_call: Some(Arc::new(hook)), ..options() }, count)
}
