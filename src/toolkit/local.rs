//! The embedded CloudFormation as a tool: fill it, look into it, empty it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Error, context, files, sources};
use crate::assembly::{self, Assembly, AssemblyStack, FileAsset, LoadOptions};
use crate::deploy::{Circle, Order};
use crate::event::{Event, Host};
use crate::local::server::{self, Fault, FaultError, Running, ServeOptions};
use crate::local::{
    Ambient, Cloud, CreateStack, Options, ParameterInput, ServiceError, StackView, TemplateSource,
    UpdateStack,
};
use crate::model::Environment;
use crate::settings::Settings;

pub use super::meddle::{Change, ChangeError, drift};

/// The account of environment-agnostic stacks in the embedded CloudFormation.
pub const LOCAL_ACCOUNT: &str = "123456789012";
/// The region of environment-agnostic stacks if nobody says.
pub const LOCAL_REGION: &str = "us-east-1";

/// The file by which a state directory is known: nothing else is ever deleted.
const MARK: &str = "cdkr-local.json";

/// What became of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeded {
    /// It is new.
    Created,
    /// It was there, and is now as the assembly has it.
    Updated,
    /// It was there as the assembly has it.
    Unchanged,
}

/// Why the embedded CloudFormation does not do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Nothing was seeded there.
    #[error("there is no embedded CloudFormation in `{}`", .0.display())]
    NotThere(PathBuf),
    /// The directory belongs to somebody else.
    #[error(
        "`{}` is not the directory of an embedded CloudFormation: it has files, but no `{MARK}`",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// A file cannot be read or written.
    #[error("`{}`: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The port cannot be used.
    #[error("cannot listen on port {port} of the loopback interface: {error}")]
    Port {
        /// The port.
        port: u16,
        /// What the system says.
        error: std::io::Error,
    },
    /// What is to go wrong is not known.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// It refuses a request.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// It refuses a stack.
    #[error("{environment}: stack {stack}: {message}")]
    Stack {
        /// The account and region.
        environment: Environment,
        /// The stack.
        stack: String,
        /// What it says.
        message: String,
    },
    /// No stack of this name.
    #[error("there is no stack `{name}` in `{}`", .directory.display())]
    NoStack {
        /// The name.
        name: String,
        /// The state directory.
        directory: PathBuf,
    },
    /// A place without a resource.
    #[error("`{0}` is no resource of a stack: write it as `Stack.LogicalId`")]
    NoPlace(String),
    /// What is to be changed behind the back cannot be read.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Stacks wait for each other.
    #[error(transparent)]
    Circle(#[from] Circle),
}

/// Opens a state directory, making it if it is not there.
///
/// # Errors
/// When the directory holds something else, or cannot be made.
pub fn open(directory: &Path) -> Result<Cloud, LocalError> {
    open_with(directory, Options::default())
}

/// Opens a state directory as [`open`] does, with options.
///
/// # Errors
/// When the directory holds something else, or cannot be made.
pub fn open_with(directory: &Path, options: Options) -> Result<Cloud, LocalError> {
    let mark = directory.join(MARK);
    if !mark.exists() {
        let empty = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => return Err(LocalError::Io { path: directory.to_owned(), error }),
        };
        if !empty {
            return Err(LocalError::NotOurs(directory.to_owned()));
        }
    }
    let cloud = Cloud::open(directory, Ambient::system(), options)?;
    // It holds the values of all parameters, secret ones included.
    files::make_private(directory)
        .map_err(|error| LocalError::Io { path: directory.to_owned(), error })?;
    if !mark.exists() {
        fs::write(&mark, "{\"what\": \"state of the embedded CloudFormation of cdkr\"}\n")
            .map_err(|error| LocalError::Io { path: mark, error })?;
    }
    Ok(cloud)
}

/// Opens a state directory that somebody has filled before.
///
/// # Errors
/// When there is none.
pub fn open_existing(directory: &Path) -> Result<Cloud, LocalError> {
    if directory.join(MARK).exists() {
        open(directory)
    } else {
        Err(LocalError::NotThere(directory.to_owned()))
    }
}

/// Deploys the app as it is to the embedded CloudFormation: every stack, or those that the
/// patterns of the settings select, with what they depend on first.
///
/// # Errors
/// When the assembly cannot be read, or a stack cannot be deployed; stacks before it are.
pub fn seed(
    settings: &Settings,
    directory: &Path,
    host: &dyn Host,
) -> Result<Vec<(Environment, String, Seeded)>, Error> {
    let (account, region) = defaults(settings);
    let path = sources::app(settings, Some((&account, &region)), host)?;
    let options = LoadOptions { ignore_schema_version: settings.ignore_schema_version };
    let failed = |source| Error::Assembly { flag: sources::APP, source: Box::new(source) };
    let assembly = assembly::load(&path, &options).map_err(failed)?;
    let assets = assembly::file_assets(&path, &options).map_err(failed)?;
    if let Some(text) = context::lacking(sources::APP, &assembly) {
        host.tell(&Event::Note { text });
    }
    let selected = selected(&assembly, &settings.stacks)?;
    let cloud = open(directory)?;
    let default = Environment::new(&account, &region);
    stage(&cloud, &assets, &default)?;
    let mut done = Vec::new();
    for stack in ordered(&selected, &assembly.stacks)? {
        let environment = resolved(&stack.environment, &default);
        let outcome = deploy(&cloud, &environment, stack)?;
        done.push((environment, stack.stack.name.to_string(), outcome));
    }
    Ok(done)
}

/// Returns all stacks, by account, region and name.
///
/// # Errors
/// When nothing was seeded there, or the state cannot be read.
pub fn list(directory: &Path) -> Result<Vec<StackView>, LocalError> {
    Ok(open_existing(directory)?.stack_views()?)
}

/// Returns the stacks of one name, one for each environment that has it.
///
/// # Errors
/// When there is none.
pub fn show(directory: &Path, name: &str) -> Result<Vec<StackView>, LocalError> {
    let mut found = list(directory)?;
    found.retain(|stack| stack.info.name == name || stack.info.id == name);
    if found.is_empty() {
        let (name, directory) = (name.to_owned(), directory.to_owned());
        return Err(LocalError::NoStack { name, directory });
    }
    Ok(found)
}

/// Lets the next creation or change of a resource fail, in every environment that has the stack.
/// The resource need not be there yet.
///
/// # Errors
/// When the place is no `Stack.LogicalId`, or there is no such stack.
pub fn fail(directory: &Path, place: &str, reason: Option<&str>) -> Result<(), LocalError> {
    let text = match reason {
        Some(reason) => format!("fail-resource={place}:{reason}"),
        None => format!("fail-resource={place}"),
    };
    let Fault::Resource(fault) = Fault::parse(&text)? else { return Ok(()) };
    let stack = fault.stack.clone().unwrap_or_default();
    let cloud = open_existing(directory)?;
    for found in show(directory, &stack)? {
        let region = cloud.region(&found.environment);
        let mut faults = region.armed()?;
        faults.resources.push(fault.clone());
        region.arm(&faults)?;
    }
    Ok(())
}

/// Forgets everything. Returns whether there was something.
///
/// # Errors
/// When the directory is not one of ours, or cannot be deleted.
pub fn reset(directory: &Path) -> Result<bool, LocalError> {
    if !directory.exists() {
        return Ok(false);
    }
    open(directory)?;
    let io = |error| LocalError::Io { path: directory.to_owned(), error };
    fs::remove_dir_all(directory).map_err(io)?;
    Ok(true)
}

/// The account and region that stand for those that the app leaves open.
pub(super) fn defaults(settings: &Settings) -> (String, String) {
    let region = settings.account.region.as_ref().map(|region| region.value.clone());
    (LOCAL_ACCOUNT.to_owned(), region.unwrap_or_else(|| LOCAL_REGION.to_owned()))
}

/// The environment with what it leaves open filled in.
pub(super) fn resolved(environment: &Environment, default: &Environment) -> Environment {
    let account = match environment.account.as_str() {
        "unknown-account" => &default.account,
        _ => &environment.account,
    };
    let region = match environment.region.as_str() {
        "unknown-region" => &default.region,
        _ => &environment.region,
    };
    Environment::new(account, region)
}

fn selected<'a>(
    assembly: &'a Assembly,
    patterns: &[String],
) -> Result<Vec<&'a AssemblyStack>, Error> {
    if patterns.is_empty() {
        return Ok(assembly.stacks.iter().collect());
    }
    let chosen = assembly.select(patterns).map_err(Box::new)?;
    let mut wanted: BTreeSet<&str> =
        chosen.iter().map(|stack| stack.hierarchical_id.as_str()).collect();
    let mut pending: Vec<&str> = wanted.iter().copied().collect();
    while let Some(id) = pending.pop() {
        let stack = assembly.stacks.iter().find(|stack| stack.hierarchical_id == id);
        for need in stack.into_iter().flat_map(|stack| &stack.dependencies) {
            if wanted.insert(need) {
                pending.push(need);
            }
        }
    }
    Ok(assembly.stacks.iter().filter(|one| wanted.contains(&*one.hierarchical_id)).collect())
}

/// Sorts stacks so that each stands after those that it needs.
fn ordered<'a>(
    stacks: &[&'a AssemblyStack],
    all: &[AssemblyStack],
) -> Result<Vec<&'a AssemblyStack>, LocalError> {
    let sorted = Order::of(stacks, all)?.sorted();
    let find = |id: &String| stacks.iter().find(|stack| stack.hierarchical_id == *id).copied();
    Ok(sorted.iter().filter_map(find).collect())
}

/// Puts files where templates look for them. Archives are left out: nothing here opens them.
fn stage(cloud: &Cloud, assets: &[FileAsset], default: &Environment) -> Result<(), LocalError> {
    for asset in assets.iter().filter(|asset| !asset.is_zip) {
        let Some(source) = asset.source.as_ref().filter(|source| source.is_file()) else {
            continue;
        };
        let bytes =
            fs::read(source).map_err(|error| LocalError::Io { path: source.clone(), error })?;
        for to in &asset.destinations {
            let region = to.region.as_deref().unwrap_or(&default.region);
            let fill = |text: &str| fill(text, &default.account, region);
            cloud.put_object(&fill(&to.bucket_name), &fill(&to.object_key), &bytes)?;
        }
    }
    Ok(())
}

/// Replaces the placeholders of asset manifests.
fn fill(text: &str, account: &str, region: &str) -> String {
    text.replace("${AWS::AccountId}", account)
        .replace("${AWS::Region}", region)
        .replace("${AWS::Partition}", "aws")
}

fn deploy(
    cloud: &Cloud,
    environment: &Environment,
    stack: &AssemblyStack,
) -> Result<Seeded, LocalError> {
    let name = stack.stack.name.to_string();
    let refused = |message: String| LocalError::Stack {
        environment: environment.clone(),
        stack: name.clone(),
        message,
    };
    let file = &stack.properties.template_file;
    let text = fs::read(file).map_err(|error| LocalError::Io { path: file.clone(), error })?;
    let (bucket, key) = ("cdkr-seed", format!("{}/{name}", environment.region));
    cloud.put_object(bucket, &key, &text)?;
    let template = TemplateSource::url(&format!("https://{bucket}.s3.amazonaws.com/{key}"));
    let parameters = stack.properties.parameters.iter().map(|(key, value)| ParameterInput {
        key: key.clone(),
        value: Some(value.clone()),
        use_previous: false,
    });
    let parameters = parameters.collect();
    let region = cloud.region(environment);
    let exists = region.stack_exists(&name)?;
    let answer = if exists {
        region.update_stack(&UpdateStack {
            name: name.clone(),
            template,
            parameters,
            tags: Some(stack.tags.clone()),
            capabilities: capabilities(),
            notification_arns: stack.properties.notification_arns.clone(),
            ..UpdateStack::default()
        })
    } else {
        region.create_stack(&CreateStack {
            name: name.clone(),
            template,
            parameters,
            tags: stack.tags.clone(),
            capabilities: capabilities(),
            notification_arns: stack.properties.notification_arns.clone().unwrap_or_default(),
            termination_protection: stack.properties.termination_protection.unwrap_or_default(),
            ..CreateStack::default()
        })
    };
    cloud.delete_object(bucket, &key)?;
    match answer {
        Err(error) if error.message == "No updates are to be performed." => {
            return Ok(Seeded::Unchanged);
        }
        Err(error) => return Err(refused(error.message)),
        Ok(_) => {}
    }
    let described = region.describe_stacks(Some(&name), None)?;
    let status = described.items.first().map(|stack| stack.info.status.clone());
    match status.as_deref() {
        Some("UPDATE_COMPLETE") => Ok(Seeded::Updated),
        Some("CREATE_COMPLETE") => Ok(Seeded::Created),
        status => {
            let why = failures(cloud, environment, &name)?;
            Err(refused(format!("it is in {}: {why}", status.unwrap_or("no status"))))
        }
    }
}

fn capabilities() -> Vec<String> {
    vec!["CAPABILITY_NAMED_IAM".to_owned(), "CAPABILITY_AUTO_EXPAND".to_owned()]
}

/// What failed in the last operation of a stack, each resource with its reason.
fn failures(cloud: &Cloud, environment: &Environment, name: &str) -> Result<String, LocalError> {
    let events = cloud.region(environment).describe_stack_events(name, None)?.items;
    let failed = events.iter().filter(|event| event.status.ends_with("_FAILED"));
    let reasons: Vec<String> = failed
        .map(|event| {
            let reason = event.reason.as_deref().unwrap_or("no reason given");
            format!("{}: {reason}", event.logical_id)
        })
        .collect();
    Ok(reasons.join("; "))
}

/// The embedded CloudFormation, offered to other programs.
#[derive(Debug)]
pub struct Serving(Running);

impl Serving {
    /// Starts it on a port of the loopback interface, with what is to go wrong.
    ///
    /// # Errors
    /// When a fault is none, the directory holds something else, or the port is taken.
    pub fn start(directory: &Path, port: u16, faults: &[String]) -> Result<Self, LocalError> {
        let faults: Vec<Fault> =
            faults.iter().map(|fault| Fault::parse(fault)).collect::<Result<_, _>>()?;
        let running = serve(open(directory)?, port)?;
        running.arm(&faults);
        Ok(Self(running))
    }

    /// Returns the endpoint, such as `http://127.0.0.1:4599`.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// Waits for its end.
    pub fn wait(self) {
        self.0.wait();
    }
}

/// Offers a state directory on a port of the loopback interface; 0 lets the system choose.
pub(super) fn serve(cloud: Cloud, port: u16) -> Result<Running, LocalError> {
    let options =
        ServeOptions { port, account: LOCAL_ACCOUNT.to_owned(), ..ServeOptions::default() };
    server::start(cloud, &options).map_err(|error| LocalError::Port { port, error })
}
