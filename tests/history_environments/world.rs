//! An app with a history, written in few words, and environments in which it is deployed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cdkr::assembly::{LoadOptions, load};
use cdkr::history::{Decided, EventHash, Log, Move, Refactor};
use cdkr::settings::Scope;
use cdkr::toolkit::history::snapshot_of;
use serde_json::{Value as Json, json};

use crate::program::{Place, text};

const HISTORY: &str = "cdkr.history.jsonl";

/// A repository with versions of an app.
pub(crate) struct Story {
    pub(crate) place: Place,
    pub(crate) log: Log,
    versions: Vec<(String, EventHash)>,
}

impl Story {
    /// Versions one after the other: stacks with resources (`Web.A:Queue`, `Web.A:Queue=30` with
    /// a property) and the moves (`Web.A>Web.B`) that lead there.
    pub(crate) fn new(versions: &[(&str, &str)]) -> Self {
        let mut story = Self { place: Place::new(), log: Log::default(), versions: Vec::new() };
        for (stacks, moves) in versions {
            story.commit(stacks, moves);
        }
        story
    }

    /// Adds a version after the last one.
    pub(crate) fn commit(&mut self, stacks: &str, moves: &str) {
        self.write_app(stacks);
        let app = load(&self.place.path().join("app"), &LoadOptions::default()).unwrap();
        let moves: Vec<Move> = moves
            .split_whitespace()
            .map(|text| {
                let (source, destination) = text.split_once('>').unwrap();
                Move {
                    source: source.parse().unwrap(),
                    destination: destination.parse().unwrap(),
                    decided: Decided::Stated("a test".to_owned()),
                }
            })
            .collect();
        let refactor = Refactor { scope: Scope::default(), parent: None, moves };
        let refactors = if refactor.moves.is_empty() { Vec::new() } else { vec![refactor] };
        let at = format!("version {}", self.versions.len());
        let hash = self.log.record(&at, &snapshot_of(&app.stacks), refactors).unwrap().unwrap();
        self.versions.push((stacks.to_owned(), hash));
    }

    /// Goes back to a version and on from there on a branch: later ones are forgotten.
    pub(crate) fn branch(&mut self, at: usize) {
        self.log = self.log.up_to(self.hash(at)).unwrap();
        self.versions.truncate(at + 1);
    }

    pub(crate) fn hash(&self, at: usize) -> EventHash {
        self.versions[at].1
    }

    /// Checks out a version: its app and its log.
    pub(crate) fn checkout(&self, at: usize) {
        self.write_app(&self.versions[at].0);
        let log = self.log.up_to(self.hash(at)).unwrap();
        fs::write(self.place.path().join(HISTORY), log.render()).unwrap();
    }

    /// Writes an app without recording it.
    pub(crate) fn write_app(&self, stacks: &str) {
        let directory = self.place.path().join("app");
        drop(fs::remove_dir_all(&directory));
        fs::create_dir_all(&directory).unwrap();
        let mut templates: BTreeMap<&str, serde_json::Map<String, Json>> = BTreeMap::new();
        for word in stacks.split_whitespace() {
            let (location, kind) = word.split_once(':').unwrap();
            let (stack, id) = location.split_once('.').unwrap();
            let (kind, value) = kind.split_once('=').unwrap_or((kind, ""));
            let body = match kind {
                "Queue" if value.is_empty() => json!({"Type": "AWS::SQS::Queue"}),
                "Queue" => json!({"Type": "AWS::SQS::Queue", "Properties":
                    {"VisibilityTimeout": value.parse::<u32>().unwrap()}}),
                "Topic" => json!({"Type": "AWS::SNS::Topic"}),
                "Bucket" => json!({"Type": "AWS::S3::Bucket"}),
                other => panic!("{other}"),
            };
            templates.entry(stack).or_default().insert(id.to_owned(), body);
        }
        let bucket = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}";
        let mut artifacts = serde_json::Map::new();
        for (stack, resources) in templates {
            let file = format!("{stack}.template.json");
            let text = json!({"Resources": resources}).to_string();
            fs::write(directory.join(&file), &text).unwrap();
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            let key = format!("{stack}-{:016x}.json", hasher.finish());
            let role = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-hnb659fds-file-\
                        publishing-role-${AWS::AccountId}-${AWS::Region}";
            let assets = json!({"version": "55.0.0", "dockerImages": {}, "files": {&key: {
                "source": {"path": file, "packaging": "file"},
                "destinations": {"here": {
                    "bucketName": bucket, "objectKey": key, "assumeRoleArn": role}}}}});
            let assets_file = format!("{stack}.assets.json");
            fs::write(directory.join(&assets_file), assets.to_string()).unwrap();
            artifacts.insert(
                format!("{stack}.assets"),
                json!({"type": "cdk:asset-manifest", "properties": {"file": assets_file}}),
            );
            artifacts.insert(
                stack.to_owned(),
                json!({"type": "aws:cloudformation:stack",
                    "environment": "aws://unknown-account/unknown-region",
                    "dependencies": [format!("{stack}.assets")],
                    "properties": {"templateFile": file,
                        "stackTemplateAssetObjectUrl": format!("s3://{bucket}/{key}")}}),
            );
        }
        let manifest = json!({"version": "55.0.0", "artifacts": artifacts});
        fs::write(directory.join("manifest.json"), manifest.to_string()).unwrap();
    }

    /// Deploys the version that is checked out.
    pub(crate) fn deploy(&self, more: &[&str]) -> String {
        let output = self.place.run(&deploy(more));
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        text(&output.stdout)
    }

    /// The standard error stream of a deployment that fails.
    pub(crate) fn refused(&self, more: &[&str], code: i32) -> String {
        self.place.err(&deploy(more), code)
    }

    /// Checks out a version and deploys it.
    pub(crate) fn deploy_version(&self, at: usize, more: &[&str]) -> String {
        self.checkout(at);
        self.deploy(more)
    }

    /// The log of an environment; `None` if there is none.
    pub(crate) fn stored(&self, region: &str) -> Option<Log> {
        let buckets = self.place.path().join(".cdkr/local/buckets");
        let bucket = buckets.join(format!("cdk-hnb659fds-assets-123456789012-{region}"));
        let name = format!("cdkr%2Fhistory%2F{}.jsonl", self.hash(0));
        let text = fs::read(bucket.join(name)).ok()?;
        Some(Log::parse(&text).unwrap())
    }

    /// Where a resource is: the number of its creation.
    pub(crate) fn number(&self, place: &str) -> Option<u64> {
        self.place.resources().get(place).copied()
    }
}

/// The arguments of a deployment.
pub(crate) fn deploy<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let all = if more.iter().any(|one| one.starts_with("Stack")) { "--ci" } else { "--all" };
    let fixed = ["deploy", all, "--local", "--require-approval", "never", "--app", "app"];
    [&fixed[..], more].concat()
}
