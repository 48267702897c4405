//! Container images: built by Docker, or what takes its place, and pushed to a registry.
//!
//! What is called with which arguments is what the CDK's own tool does (`cdk-assets`), so that
//! the same images come out and its caches are used.

use std::env;
use std::ffi::{OsStr, OsString};

use super::assets::{AssetError, Place, Progress};
use super::command::{Command, CommandError};
use super::login::Login;
use super::options::DeployOptions;
use crate::assembly::{BuildOptions, CacheOption, ImageAsset, ImageDestination, ImageSource};
use crate::aws::{Aws, AwsError, Purpose, Session, fill_in};
use crate::event::{AssetKind, AssetStatus};

/// How `inspect` ends if there is no such image: Docker, Podman.
const NO_IMAGE: [i32; 2] = [1, 125];

/// An image and the places where it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Image {
    id: String,
    source: ImageSource,
    targets: Vec<Target>,
}

/// A place for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    place: Place,
    repository: String,
    tag: String,
}

/// A place where the image is not yet.
struct Missing<'a> {
    target: &'a Target,
    session: Session,
    /// The repository and the tag.
    address: String,
}

/// How images are built, and the registries that were logged in to. The logins are forgotten with
/// this value.
pub(super) struct Registries {
    program: OsString,
    /// Whether anything is built and pushed.
    pushes: bool,
    login: tokio::sync::Mutex<Login>,
}

impl Registries {
    pub(super) fn new(aws: &Aws, options: &DeployOptions) -> Self {
        let named = env::var_os("CDK_DOCKER").filter(|name| !name.is_empty());
        let given = options.docker.as_ref().map(OsString::from);
        Self {
            program: given.or(named).unwrap_or_else(|| "docker".into()),
            pushes: options.push_images.unwrap_or(aws.access().endpoint.is_none()),
            login: tokio::sync::Mutex::default(),
        }
    }
}

impl Image {
    pub(super) fn new(asset: &ImageAsset) -> Self {
        Self { id: asset.id.clone(), source: asset.source.clone(), targets: Vec::new() }
    }

    pub(super) fn add(&mut self, to: &ImageDestination, place: Place) {
        let target = Target {
            repository: fill_in(&to.repository_name, &place.environment),
            tag: fill_in(&to.image_tag, &place.environment),
            place,
        };
        let same = |known: &Target| {
            (&known.place.environment, &known.repository, &known.tag)
                == (&target.place.environment, &target.repository, &target.tag)
        };
        if !self.targets.iter().any(same) {
            self.targets.push(target);
        }
    }

    pub(super) fn goes_somewhere(&self) -> bool {
        !self.targets.is_empty()
    }

    pub(super) fn places(&self) -> usize {
        self.targets.len()
    }

    /// Builds the image and pushes it to where it is not yet; nothing is built if it is everywhere.
    ///
    /// # Errors
    /// When it cannot be built or pushed.
    pub(super) async fn publish(
        &self,
        aws: &Aws,
        registries: &Registries,
        progress: &Progress<'_>,
    ) -> Result<(), AssetError> {
        let mut missing = Vec::new();
        for target in &self.targets {
            match self.look(aws, target).await? {
                Some(found) => missing.push(found),
                None => self.tell(progress, target, AssetStatus::Exists),
            }
        }
        let Some(first) = missing.first() else { return Ok(()) };
        if !registries.pushes {
            return self.register(&missing, progress).await;
        }
        // Before the build, which may take layers from the same registry.
        for place in &missing {
            self.log_in(place, registries, progress).await?;
        }
        self.tell(progress, first.target, AssetStatus::Building);
        let config = registries.login.lock().await.directory();
        let docker = Docker { program: &registries.program, image: self, progress, config };
        let failed = |error| AssetError::Command { id: self.id.clone(), error };
        let local = docker.build().await.map_err(failed)?;
        for Missing { target, address, .. } in &missing {
            self.tell(progress, target, AssetStatus::Publishing { bytes: None });
            docker.push(&local, address).await.map_err(failed)?;
            self.tell(progress, target, AssetStatus::Published { bytes: None });
        }
        Ok(())
    }

    /// Looks whether the image is in a place; returns what is needed to push it if not.
    async fn look<'a>(
        &self,
        aws: &Aws,
        target: &'a Target,
    ) -> Result<Option<Missing<'a>>, AssetError> {
        let refused = |error| self.refused(target, error);
        let Place { environment, roles } = &target.place;
        let session = aws.session(environment, roles, Purpose::Write).await.map_err(refused)?;
        let address = session.repository(&target.repository).await.map_err(refused)?;
        let address = address.ok_or_else(|| AssetError::NoRepository {
            id: self.id.clone(),
            repository: target.repository.clone(),
            environment: environment.clone(),
        })?;
        if session.has_image(&target.repository, &target.tag).await.map_err(refused)? {
            return Ok(None);
        }
        let address = format!("{address}:{}", target.tag);
        Ok(Some(Missing { target, session, address }))
    }

    /// Tells the registries that the image is there.
    async fn register(
        &self,
        missing: &[Missing<'_>],
        progress: &Progress<'_>,
    ) -> Result<(), AssetError> {
        for Missing { target, session, .. } in missing {
            let manifest = serde_json::json!({ "asset": self.id }).to_string();
            let put = session.register_image(&target.repository, &target.tag, &manifest).await;
            put.map_err(|error| self.refused(target, error))?;
            self.tell(progress, target, AssetStatus::Published { bytes: None });
        }
        Ok(())
    }

    async fn log_in(
        &self,
        to: &Missing<'_>,
        registries: &Registries,
        progress: &Progress<'_>,
    ) -> Result<(), AssetError> {
        let registry = to.address.split('/').next().unwrap_or_default();
        let mut login = registries.login.lock().await;
        if login.has(registry) {
            return Ok(());
        }
        let asked = to.session.registry_login().await;
        let asked = asked.map_err(|error| self.refused(to.target, error))?;
        let failed = |error| AssetError::Command { id: self.id.clone(), error };
        let kept = |error| failed(Box::new(CommandError::Configuration(error)));
        let directory = login.prepare(&asked.registry).map_err(kept)?;
        Command::docker(&registries.program, "login", &self.id, progress.host)
            .args(["--username".to_owned(), asked.user])
            .args(["--password-stdin".to_owned(), asked.registry.clone()])
            .env("DOCKER_CONFIG", directory)
            .input(&asked.password)
            // What it says is of no use: that the password is not encrypted.
            .succeeds(&[])
            .await
            .map_err(failed)?;
        login.done(registry);
        login.done(&asked.registry);
        Ok(())
    }

    fn refused(&self, target: &Target, error: AwsError) -> AssetError {
        AssetError::Registry {
            id: self.id.clone(),
            repository: target.repository.clone(),
            environment: target.place.environment.clone(),
            error: Box::new(error),
        }
    }

    fn tell(&self, progress: &Progress<'_>, target: &Target, status: AssetStatus) {
        progress.tell(&target.place.environment, (&self.id, AssetKind::Image), status);
    }
}

/// Docker, for one image.
struct Docker<'a> {
    program: &'a OsStr,
    image: &'a Image,
    progress: &'a Progress<'a>,
    /// The configuration with the logins.
    config: Option<OsString>,
}

impl<'a> Docker<'a> {
    fn command(&self, verb: &str) -> Command<'a> {
        let command = Command::docker(self.program, verb, &self.image.id, self.progress.host);
        match &self.config {
            Some(directory) => command.env("DOCKER_CONFIG", directory),
            None => command,
        }
    }

    /// Builds the image unless it is there from before; returns its local name.
    async fn build(&self) -> Result<String, Box<CommandError>> {
        match &self.image.source {
            ImageSource::Command { command, directory } => {
                let command = Command::of(command, &self.image.id, self.progress.host);
                command.directory(directory).said().await
            }
            ImageSource::Build { directory, options } => {
                // The ID is the digest of everything that it is built from.
                let name = format!("cdkasset-{}", self.image.id.to_lowercase());
                if !self.command("inspect").args([name.clone()]).succeeds(&NO_IMAGE).await? {
                    self.command("build")
                        .args(build_arguments(options, &name))
                        .directory(directory)
                        // Attestations make another image of it each time.
                        .env("BUILDX_NO_DEFAULT_ATTESTATIONS", "1")
                        .run()
                        .await?;
                }
                Ok(name)
            }
        }
    }

    async fn push(&self, local: &str, address: &str) -> Result<(), Box<CommandError>> {
        self.command("tag").args([local.to_owned(), address.to_owned()]).run().await?;
        self.command("push").args([address.to_owned()]).run().await
    }
}

/// The arguments of `docker build`, after the verb.
fn build_arguments(options: &BuildOptions, name: &str) -> Vec<String> {
    let mut args = Vec::new();
    let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
    for (key, value) in &options.args {
        add("--build-arg", format!("{key}={value}"));
    }
    for (key, value) in &options.contexts {
        add("--build-context", format!("{key}={value}"));
    }
    for (key, value) in &options.secrets {
        add("--secret", format!("id={key},{value}"));
    }
    let flags = [
        ("--ssh", options.ssh.as_deref()),
        ("--tag", Some(name)),
        ("--target", options.target.as_deref()),
        ("--file", options.file.as_deref()),
        ("--network", options.network_mode.as_deref()),
        ("--platform", options.platform.as_deref()),
    ];
    for (flag, value) in flags {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            add(flag, value.to_owned());
        }
    }
    args.extend(options.outputs.iter().map(|output| format!("--output={output}")));
    for from in &options.cache_from {
        args.extend(["--cache-from".to_owned(), cache(from)]);
    }
    if let Some(to) = &options.cache_to {
        args.extend(["--cache-to".to_owned(), cache(to)]);
    }
    if options.cache_disabled {
        args.push("--no-cache".to_owned());
    }
    args.push(".".to_owned());
    args
}

fn cache(option: &CacheOption) -> String {
    let params = option.params.iter().map(|(key, value)| format!(",{key}={value}"));
    format!("type={}{}", option.kind, params.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_built_with_everything_that_the_app_says() {
        let pair = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
        let registry =
            |value| CacheOption { kind: "registry".to_owned(), params: pair("ref", value) };
        let options = BuildOptions {
            file: Some("Web.Dockerfile".to_owned()),
            target: Some("run".to_owned()),
            args: pair("A", "1"),
            contexts: pair("base", "../base"),
            secrets: pair("token", "src=./token"),
            ssh: Some("default".to_owned()),
            network_mode: Some("host".to_owned()),
            platform: Some("linux/arm64".to_owned()),
            outputs: vec!["type=docker".to_owned()],
            cache_from: vec![registry("a"), registry("b")],
            cache_to: Some(registry("c")),
            cache_disabled: true,
        };
        assert_eq!(
            build_arguments(&options, "cdkasset-x").join(" "),
            "--build-arg A=1 --build-context base=../base --secret id=token,src=./token \
             --ssh default --tag cdkasset-x --target run --file Web.Dockerfile --network host \
             --platform linux/arm64 --output=type=docker --cache-from type=registry,ref=a \
             --cache-from type=registry,ref=b --cache-to type=registry,ref=c --no-cache ."
        );
        let plain = build_arguments(&BuildOptions::default(), "cdkasset-x");
        assert_eq!(plain, ["--tag", "cdkasset-x", "."]);
    }
}
