//! An account in which an app is deployed as it was, and the program that deploys it as it is.

#![allow(unreachable_pub, reason = "every file of this test uses its part of this")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use cdkr::local::server::{Running, ServeOptions, start};
use cdkr::local::{Ambient, Cloud, Delays, Faults, Options, Region, ResourceFault, TemplateStage};
use cdkr::model::Environment;

use crate::program::{app, text};
use crate::wire::{Trap, Wire};

const ACCOUNT: &str = "111111111111";
const REGION: &str = "us-east-1";
/// The app of all these tests: three stacks, each needs the one before.
const APP: &str = "chain";

/// Short, so that busy stacks are met without waiting long.
pub const DELAYS: Delays = Delays {
    stack: 0,
    cleanup: 20,
    change_set: 0,
    refactor_create: 0,
    refactor_execute: 0,
    refactor_settle: 20,
};

pub struct World {
    directory: tempfile::TempDir,
    running: Running,
    pub wire: Wire,
}

/// Everything that somebody can lose, and everything that must not be left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Status and template, by stack.
    pub stacks: BTreeMap<String, (String, String)>,
    /// The number of the creation, by place.
    pub things: BTreeMap<String, u64>,
    /// Change sets that nobody has executed.
    pub change_sets: Vec<String>,
}

impl State {
    /// The same without the numbers of what was not there before: in which order it was created
    /// does not matter.
    pub fn since(
        &self,
        before: &Self,
    ) -> (BTreeMap<String, String>, BTreeMap<String, Option<u64>>) {
        let stacks = self.stacks.iter().map(|(name, (_, body))| (name.clone(), body.clone()));
        let known = |number: &u64| before.things.values().any(|other| other == number);
        let things = self.things.iter();
        let things = things.map(|(place, number)| (place.clone(), Some(*number).filter(known)));
        (stacks.collect(), things.collect())
    }

    /// Asserts that whatever was there before is there, wherever.
    pub fn assert_keeps(&self, before: &Self, what: &str) {
        for (place, number) in &before.things {
            assert!(self.things.values().any(|other| other == number), "{what}: {place} is lost");
        }
    }

    /// Asserts that nothing goes on, nothing has failed and nothing waits.
    pub fn assert_settled(&self, what: &str) {
        for (name, (status, _)) in &self.stacks {
            assert!(status.ends_with("_COMPLETE"), "{what}: {name} is in {status}");
        }
        assert_eq!(self.change_sets, Vec::<String>::new(), "{what}: change sets are left");
    }
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

/// The arguments that deploy a side of the app.
pub fn deploy(side: &str) -> Vec<String> {
    let app = app(APP, side);
    let deploy = ["deploy", "--all", "--require-approval", "never", "--app", &app];
    deploy.map(str::to_owned).to_vec()
}

impl World {
    /// An account in which the app is deployed as it was.
    pub fn new() -> Self {
        let world = Self::empty();
        let output = world.run(&deploy("before"), None);
        assert!(output.status.success(), "{}", text(&output.stderr));
        world
    }

    /// An account in which nothing is deployed.
    pub fn empty() -> Self {
        Self::open(tempfile::tempdir().unwrap(), DELAYS)
    }

    fn open(directory: tempfile::TempDir, delays: Delays) -> Self {
        let options = Options { delays, ..Options::default() };
        let cloud = Cloud::open(&directory.path().join("aws"), Ambient::system(), options).unwrap();
        let running = start(cloud, &ServeOptions::default()).unwrap();
        let wire = Wire::to(running.url());
        Self { directory, running, wire }
    }

    /// Another world in which everything is as it is in this one.
    pub fn copy(&self) -> Self {
        self.copy_with(DELAYS)
    }

    pub fn copy_with(&self, delays: Delays) -> Self {
        let directory = tempfile::tempdir().unwrap();
        copy(self.directory.path(), directory.path());
        Self::open(directory, delays)
    }

    fn region(&self) -> Region<'_> {
        self.running.cloud().region(&Environment::new(ACCOUNT, REGION))
    }

    /// Runs the program, with what is to happen to it.
    pub fn run<S: AsRef<str>>(&self, arguments: &[S], trap: Option<Trap>) -> Output {
        let project = self.directory.path().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdkr"));
        command.args(arguments.iter().map(AsRef::as_ref)).args(["--poll-interval", "0.02"]);
        command.env_clear().env("HOME", &project).current_dir(&project).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in [
            ("AWS_ENDPOINT_URL", &*self.wire.url()),
            ("AWS_ACCESS_KEY_ID", ACCOUNT),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", REGION),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ] {
            command.env(name, value);
        }
        self.wire.set(trap);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.wire.watch(child.id());
        child.wait_with_output().unwrap()
    }

    /// Runs what has to succeed; returns what it says to whoever watches.
    pub fn must<S: AsRef<str>>(&self, arguments: &[S], what: &str) -> String {
        let output = self.run(arguments, None);
        let said = text(&output.stderr);
        let line: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        assert!(output.status.success(), "{what}: {line:?}: {said}");
        said
    }

    /// Lets the next creation or change of a resource fail.
    pub fn fail(&self, stack: &str, logical_id: &str) {
        let fault = ResourceFault {
            stack: Some(stack.to_owned()),
            logical_id: Some(logical_id.to_owned()),
            message: "Out of luck".to_owned(),
            ..ResourceFault::default()
        };
        self.region().arm(&Faults { resources: vec![fault], ..Faults::default() }).unwrap();
    }

    /// How everything is.
    pub fn state(&self) -> State {
        let region = self.region();
        let (mut stacks, mut things) = (BTreeMap::new(), BTreeMap::new());
        let mut change_sets = Vec::new();
        for view in self.running.cloud().stack_views().unwrap() {
            let name = view.info.name.clone();
            let body = region.get_template(Some(&name), None, TemplateStage::Original).unwrap();
            for (resource, thing) in view.resources {
                if let Some(thing) = thing {
                    things.insert(format!("{name}.{}", resource.logical_id), thing.generation);
                }
            }
            let sets = region.list_change_sets(&name, None).unwrap().items;
            let left = sets.into_iter().filter(|set| !set.execution_status.starts_with("EXECUTE_"));
            change_sets.extend(
                left.map(|set| format!("{} of {name}: {}", set.name, set.execution_status)),
            );
            stacks.insert(name, (view.info.status, body));
        }
        State { stacks, things, change_sets }
    }

    /// Waits until nothing goes on by itself any more.
    pub fn settled(&self) -> State {
        loop {
            let state = self.state();
            if !state.stacks.values().any(|(status, _)| status.ends_with("_IN_PROGRESS")) {
                return state;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
