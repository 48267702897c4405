//! The reference CLI beside a server and two cloud assemblies.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use crate::program::{Place, app, text};

/// The account of the fixtures; an access key of this form belongs to it.
const ACCOUNT: &str = "111111111111";

/// The requests that a server refuses because there is nothing of that name: a stack that is not
/// created yet, a change set that was not left behind, a bucket without encryption.
const REFUSED: [(&str, u64); 3] =
    [("DescribeStacks", 400), ("DescribeChangeSet", 404), ("GetBucketEncryption", 404)];

/// `cdk`, with a server of its own.
pub(crate) struct Reference {
    program: PathBuf,
    place: Place,
    server: Child,
    address: String,
}

/// The program, unless nobody installed it or there is nothing that runs it.
fn installed() -> Option<PathBuf> {
    let named = std::env::var_os("CDKR_REFERENCE").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = named.unwrap_or_else(|| root.join("target/reference"));
    let program = directory.join("node_modules/aws-cdk/bin/cdk");
    let node = Command::new("node").arg("--version").output();
    let missing = if !node.is_ok_and(|output| output.status.success()) {
        "no Node.js".to_owned()
    } else if !program.exists() {
        format!(
            "no aws-cdk in `{}`. To install it: mkdir -p target/reference && \
             cp tests/reference/package*.json target/reference/ && \
             npm ci --ignore-scripts --prefix target/reference",
            directory.display()
        )
    } else {
        return Some(program);
    };
    eprintln!("skipped: {missing}");
    None
}

/// Copies an assembly: the reference writes into the one that it is given.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Reference {
    /// Starts a server, and lays the two versions of a fixture beside it, as `before` and `after`.
    /// Nothing, with a printed reason, where there is no reference.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let program = installed()?;
        let place = Place::new();
        for side in ["before", "after"] {
            copy(Path::new(&app(name, side)), &place.path().join(side));
        }
        let mut server = place
            .command(&["local", "serve", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().last().and_then(|url| url.strip_prefix("http://"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Some(Self { program, place, server, address })
    }

    /// Runs the reference; returns its exit code and everything that it said.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = Command::new("node")
            .arg(&self.program)
            .args(arguments)
            .arg("--no-notices")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.place.path())
            .env("AWS_ENDPOINT_URL", format!("http://{}", self.address))
            .env("AWS_ACCESS_KEY_ID", ACCOUNT)
            .env("AWS_SECRET_ACCESS_KEY", "any")
            .env("AWS_REGION", "us-east-1")
            .env("CDK_DISABLE_CLI_TELEMETRY", "true")
            .env("CI", "true")
            .env("NO_COLOR", "1")
            .current_dir(self.place.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    /// What the reference says in a run that succeeds.
    pub(crate) fn says(&self, arguments: &[&str]) -> String {
        let (code, told) = self.run(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {told}");
        told
    }

    /// Deploys all stacks of a version.
    pub(crate) fn deploys(&self, side: &str) -> String {
        self.says(&["deploy", "--app", side, "--all", "--require-approval", "never"])
    }

    /// Everything that exists, as `cdkr` sees it: by stack and logical ID, its type, its physical
    /// ID and the number of its creation.
    pub(crate) fn things(&self) -> BTreeMap<String, (String, String, u64)> {
        let mut found = BTreeMap::new();
        let names = self.place.json(&["local", "ls", "--output", "json"]);
        for name in names["stacks"].as_array().unwrap() {
            let name = name["name"].as_str().unwrap();
            let shown = self.place.json(&["local", "show", name, "--output", "json"]);
            for resource in shown["stacks"][0]["resources"].as_array().unwrap() {
                let member = |name: &str| resource[name].as_str().unwrap().to_owned();
                let generation = resource["generation"].as_u64().unwrap();
                let thing = (member("type"), member("physicalId"), generation);
                found.insert(format!("{name}.{}", member("logicalId")), thing);
            }
        }
        found
    }

    /// Whether `cdkr` finds the stacks as a version of the app says.
    pub(crate) fn nothing_is_left_to_do(&self, side: &str) {
        let told = self.place.out(&["diff", "--local", "--app", side]);
        for line in told.lines().filter(|line| !line.is_empty()) {
            assert!(line.contains(": nothing changes; "), "{told}");
        }
        assert!(!told.is_empty());
        self.got_what_it_asked_for();
    }

    /// Whether the server had an answer to everything that the reference asked.
    pub(crate) fn got_what_it_asked_for(&self) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "GET /_cdkr/requests HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let log: Json = serde_json::from_str(body).unwrap();
        for request in log["requests"].as_array().unwrap() {
            let (action, status) = (request["action"].as_str(), request["status"].as_u64());
            let expected = (action.unwrap(), status.unwrap());
            assert!(expected.1 == 200 || REFUSED.contains(&expected), "{request}");
        }
        assert_ne!(log["count"], 0);
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
