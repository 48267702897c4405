//! A server in a temporary directory, and apps for it.

use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use cdkr::assembly::{LoadOptions, file_assets, image_assets, load};
use cdkr::aws::{Access, Aws, Endpoint, Identity};
use cdkr::deploy::{
    DeployError, DeployOptions, DeployRequest, Deployed, Stage, check_bootstrap, deploy_stacks,
    publish_assets,
};
use cdkr::event::{Event, Host, Question, Unanswered};
use cdkr::local::server::{Running, ServeOptions, start};
use cdkr::local::{Ambient, Cloud, Delays, Options, Region};
use cdkr::model::Environment;
use serde_json::{Value as Json, json};
use tokio::sync::watch;

const ACCOUNT: &str = "111111111111";
const REGION: &str = "us-east-1";

/// What an app synthesizes.
#[derive(Clone)]
pub(crate) struct App {
    artifacts: Json,
    templates: Vec<(String, Json)>,
    files: Json,
    images: Json,
}

pub(crate) fn queue(properties: &Json) -> Json {
    json!({"Type": "AWS::SQS::Queue", "Properties": properties})
}

/// A queue with a delay, and its URL.
pub(crate) fn template(delay: u32) -> Json {
    json!({"Resources": {"Queue": queue(&json!({"DelaySeconds": delay}))},
        "Outputs": {"Url": {"Value": {"Ref": "Queue"}}}})
}

impl App {
    pub(crate) fn new() -> Self {
        Self { artifacts: json!({}), templates: Vec::new(), files: json!({}), images: json!({}) }
    }

    pub(crate) fn stack(mut self, name: &str, template: &Json) -> Self {
        let file = format!("{name}.template.json");
        self.artifacts[name] = json!({"type": "aws:cloudformation:stack",
            "environment": format!("aws://{ACCOUNT}/{REGION}"),
            "dependencies": ["app.assets"],
            "properties": {"templateFile": file}});
        self.templates.push((file, template.clone()));
        self
    }

    pub(crate) fn property(mut self, stack: &str, key: &str, value: impl Into<Json>) -> Self {
        self.artifacts[stack]["properties"][key] = value.into();
        self
    }

    pub(crate) fn needs(mut self, stack: &str, other: &str) -> Self {
        self.artifacts[stack]["dependencies"].as_array_mut().unwrap().push(other.into());
        self
    }

    fn file(&mut self, id: &str, path: &str, packaging: &str, key: &str) {
        self.files[id] = json!({"source": {"path": path, "packaging": packaging},
            "destinations": {"current": {
                "bucketName": "cdk-assets-${AWS::AccountId}-${AWS::Region}", "objectKey": key,
                "assumeRoleArn": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/publishing"}}});
    }

    /// The template goes through the bucket.
    pub(crate) fn published(mut self, stack: &str) -> Self {
        let key = format!("{stack}.json");
        self.file(stack, &format!("{stack}.template.json"), "file", &key);
        let bucket = "cdk-assets-${AWS::AccountId}-${AWS::Region}";
        self.property(stack, "stackTemplateAssetObjectUrl", format!("s3://{bucket}/{key}"))
    }

    pub(crate) fn directory_asset(mut self, _: &str) -> Self {
        self.file("code", "asset.code", "zip", "code.zip");
        self
    }

    /// A template that a resource of another stack names.
    pub(crate) fn nested(mut self, name: &str, template: &Json) -> Self {
        let file = format!("{name}.nested.template.json");
        self.file(name, &file, "file", &format!("{name}.json"));
        self.templates.push((file, template.clone()));
        self
    }

    pub(crate) fn asset(mut self, id: &str, asset: Json) -> Self {
        self.files[id] = asset;
        self
    }

    pub(crate) fn image(mut self, id: &str, image: Json) -> Self {
        self.images[id] = image;
        self
    }

    fn write(&self) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let mut artifacts = self.artifacts.clone();
        artifacts["app.assets"] =
            json!({"type": "cdk:asset-manifest", "properties": {"file": "assets.json"}});
        let write = |name: &str, json: &Json| {
            fs::write(directory.path().join(name), json.to_string()).unwrap();
        };
        write("manifest.json", &json!({"version": "36.0.0", "artifacts": artifacts}));
        write(
            "assets.json",
            &json!({"version": "36.0.0", "files": self.files, "dockerImages": self.images}),
        );
        for (name, template) in &self.templates {
            write(name, template);
        }
        fs::create_dir(directory.path().join("asset.code")).unwrap();
        write("asset.code/index.json", &json!({}));
        directory
    }
}

pub(crate) struct World {
    pub(crate) running: Running,
    directory: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    listener: Listener,
}

/// What is waited for, and whom to ask to stop.
type Stop = (fn(&Event) -> bool, watch::Sender<bool>);

/// Takes note of what happens, and asks to stop when a certain thing does.
#[derive(Default)]
struct Listener {
    told: Mutex<Vec<Event>>,
    stop: Mutex<Option<Stop>>,
}

impl Host for Listener {
    fn tell(&self, event: &Event) {
        self.told.lock().unwrap().push(event.clone());
        if let Some((is_it, sender)) = &*self.stop.lock().unwrap()
            && is_it(event)
        {
            sender.send(true).unwrap();
        }
    }

    fn ask(&self, question: &Question) -> Result<usize, Unanswered> {
        Err(Unanswered { question: question.text.clone(), flag: question.flag.clone() })
    }
}

/// A world in which everything takes a moment.
pub(crate) fn world() -> World {
    world_with(Delays { stack: 20, cleanup: 10, ..Delays::default() })
}

/// A world in which what was begun does not end while anybody looks.
pub(crate) fn slow_world() -> World {
    world_with(Delays { stack: 60_000, change_set: 60_000, ..Delays::default() })
}

pub(crate) fn world_with(delays: Delays) -> World {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { delays, ..Options::default() };
    let cloud = Cloud::open(directory.path(), Ambient::system(), options).unwrap();
    let running = start(cloud, &ServeOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    World { running, directory, runtime, listener: Listener::default() }
}

pub(crate) fn options() -> DeployOptions {
    DeployOptions { interval: Duration::from_millis(5), ..DeployOptions::default() }
}

impl World {
    pub(crate) fn region(&self) -> Region<'_> {
        self.running.cloud().region(&Environment::new(ACCOUNT, REGION))
    }

    pub(crate) fn status(&self, name: &str) -> String {
        match self.region().describe_stacks(Some(name), None) {
            Ok(page) => page.items[0].info.status.clone(),
            Err(_) => "-".to_owned(),
        }
    }

    /// Gives a stack another status, without anything having happened to it.
    pub(crate) fn set_status(&self, stack: &str, status: &str) {
        let file = self.directory.path().join(format!("{ACCOUNT}/{REGION}/stacks/{stack}.json"));
        let text = fs::read_to_string(&file).unwrap();
        let mut document: Json = serde_json::from_str(&text).unwrap();
        document["info"]["status"] = status.into();
        fs::write(&file, document.to_string()).unwrap();
    }

    pub(crate) fn count(&self, action: &str) -> usize {
        self.running.requests().iter().filter(|request| request.action == action).count()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.listener.told.lock().unwrap().clone()
    }

    /// Forgets what was told.
    pub(crate) fn forget(&self) {
        self.listener.told.lock().unwrap().clear();
    }

    pub(crate) fn deploy(
        &self,
        app: &App,
        options: DeployOptions,
    ) -> Result<Deployed, DeployError> {
        self.deploy_as(app, options, |_| ())
    }

    /// Deploys an app with the wish to stop there from the beginning.
    pub(crate) fn deploy_cancelled(&self, app: &App) -> Result<Deployed, DeployError> {
        let (_sender, receiver) = watch::channel(true);
        let work = async |aws: &Aws, request: &DeployRequest<'_>| {
            deploy_stacks(aws, request, &self.listener, Some(&receiver)).await
        };
        self.with(app, options(), |_| (), work)
    }

    /// Publishes what an app needs with the wish to stop there from the beginning.
    pub(crate) fn publish_cancelled(&self, app: &App) -> Result<(), DeployError> {
        let (_sender, receiver) = watch::channel(true);
        let work = async |aws: &Aws, request: &DeployRequest<'_>| {
            publish_assets(aws, request, &self.listener, Some(&receiver)).await
        };
        self.with(app, options(), |_| (), work)
    }

    /// Deploys an app and asks to stop as soon as something happens.
    pub(crate) fn deploy_until(
        &self,
        app: &App,
        stop: fn(&Event) -> bool,
    ) -> Result<Deployed, DeployError> {
        let (sender, receiver) = watch::channel(false);
        *self.listener.stop.lock().unwrap() = Some((stop, sender));
        let work = async |aws: &Aws, request: &DeployRequest<'_>| {
            deploy_stacks(aws, request, &self.listener, Some(&receiver)).await
        };
        self.with(app, options(), |_| (), work)
    }

    /// Publishes and deploys what a request says after a change.
    pub(crate) fn deploy_as(
        &self,
        app: &App,
        options: DeployOptions,
        change: impl FnOnce(&mut DeployRequest<'_>),
    ) -> Result<Deployed, DeployError> {
        self.with(app, options, change, async |aws, request| {
            publish_assets(aws, request, &self.listener, None).await?;
            deploy_stacks(aws, request, &self.listener, None).await
        })
    }

    pub(crate) fn check_bootstrap(&self, app: &App) -> Result<(), DeployError> {
        self.with(
            app,
            options(),
            |_| (),
            async |aws, request| check_bootstrap(aws, request, "CDKToolkit", &self.listener).await,
        )
    }

    fn with<T>(
        &self,
        app: &App,
        options: DeployOptions,
        change: impl FnOnce(&mut DeployRequest<'_>),
        work: impl AsyncFnOnce(&Aws, &DeployRequest<'_>) -> Result<T, DeployError>,
    ) -> Result<T, DeployError> {
        let directory = app.write();
        let assembly = load(directory.path(), &LoadOptions::default()).unwrap();
        let files = file_assets(directory.path(), &LoadOptions::default()).unwrap();
        let images = image_assets(directory.path(), &LoadOptions::default()).unwrap();
        let stacks: Vec<_> = assembly.stacks.iter().collect();
        let mut request = DeployRequest {
            stages: Stage::of(&stacks, &assembly)?,
            assembly: &assembly,
            files: &files,
            images: &images,
            options,
            judge: None,
        };
        change(&mut request);
        let identity = Identity::Account(ACCOUNT.to_owned());
        let endpoint = Some(Endpoint { url: self.running.url().to_owned(), identity });
        self.runtime.block_on(async {
            let aws = Aws::connect(Access { endpoint, ..Access::default() }).await;
            work(&aws, &request).await
        })
    }
}
