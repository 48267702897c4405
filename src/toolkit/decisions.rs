//! Which decision holds in which environment. A decision that holds nowhere is an error: whoever
//! wrote it counts on it.

use std::collections::HashSet;

use super::detect::Sides;
use crate::compare::{DecidedPair, Decisions, LeftEntry, Reference, SkipEntry};
use crate::model::{Environment, Location, Stack};
use crate::settings::{Named, Pair, Scope, Settings, Skip};

/// Why a decision holds nowhere.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// No stack is in the environment that the decision is for.
    #[error(
        "{origin}: `{source_name}` → `{destination}` is for {scope}, where there are no stacks"
    )]
    NoEnvironment {
        /// The deployed resource, as it was named.
        source_name: String,
        /// The present resource, as it was named.
        destination: String,
        /// The account and region that the decision names.
        scope: String,
        /// Where it was said.
        origin: String,
    },
    /// The first name is no deployed resource.
    #[error("{origin}: `{name}` is not deployed{place}")]
    NotDeployed {
        /// The name.
        name: String,
        /// Where it was looked for, if not everywhere.
        place: String,
        /// Where it was said.
        origin: String,
    },
    /// The second name is no present resource.
    #[error("{origin}: `{name}` is not in the app as it is now{place}")]
    NotLocal {
        /// The name.
        name: String,
        /// Where it was looked for, if not everywhere.
        place: String,
        /// Where it was said.
        origin: String,
    },
    /// Resources do not move between environments.
    #[error("{origin}: `{source_name}` and `{destination}` are in different environments")]
    DifferentEnvironments {
        /// The deployed resource, as it was named.
        source_name: String,
        /// The present resource, as it was named.
        destination: String,
        /// Where it was said.
        origin: String,
    },
    /// What is to be skipped is not there.
    #[error("{origin}: there is no `{what}`, neither deployed nor in the app as it is now")]
    NothingToSkip {
        /// The entry.
        what: String,
        /// Where it was said.
        origin: String,
    },
}

/// What is known of the names in one environment.
struct Known<'a> {
    sides: &'a Sides,
    deployed: HashSet<&'a str>,
    local: HashSet<&'a str>,
}

/// Distributes the decisions of the settings, and the marks of the app, over the environments.
///
/// # Errors
/// When a decision holds in none of them.
pub(super) fn distribute(
    settings: &Settings,
    environments: &[(Environment, Sides)],
) -> Result<Vec<Decisions>, DecisionError> {
    let texts: Vec<(String, String)> = settings
        .pairs
        .iter()
        .map(|pair| (pair.source.to_string(), pair.destination.to_string()))
        .collect();
    let mut wanted: HashSet<&str> =
        texts.iter().flat_map(|(source, destination)| [&**source, &**destination]).collect();
    wanted.extend(settings.skip.iter().map(|skip| skip.what.as_str()));
    wanted.extend(environments.iter().flat_map(|(_, sides)| &sides.marks).map(String::as_str));
    let known: Vec<Known<'_>> = environments
        .iter()
        .map(|(_, sides)| Known {
            sides,
            deployed: present(&sides.deployed, &wanted),
            local: present(&sides.local, &wanted),
        })
        .collect();
    for (pair, (source, destination)) in settings.pairs.iter().zip(&texts) {
        check_pair(pair, source, destination, environments, &known)?;
    }
    for skip in &settings.skip {
        if !known.iter().any(|known| known.has(&skip.what)) {
            let Skip { what, origin } = skip.clone();
            return Err(DecisionError::NothingToSkip { what, origin });
        }
    }
    let each = environments.iter().zip(&known);
    Ok(each.map(|((environment, _), known)| known.decisions(environment, settings)).collect())
}

impl<'a> Known<'a> {
    fn has(&self, name: &str) -> bool {
        self.deployed.contains(name) || self.local.contains(name)
    }

    fn holds(&self, pair: &Pair) -> bool {
        self.deployed.contains(&*pair.source.to_string())
            && self.local.contains(&*pair.destination.to_string())
    }

    fn decisions(&self, environment: &Environment, settings: &'a Settings) -> Decisions {
        let pairs = settings
            .pairs
            .iter()
            .filter(|pair| pair.scope.contains(environment) && self.holds(pair))
            .map(|pair| DecidedPair {
                source: reference(&pair.source, &self.sides.deployed),
                destination: reference(&pair.destination, &self.sides.local),
                origin: pair.origin.clone(),
            });
        let listed = settings.skip.iter().filter(|skip| self.has(&skip.what));
        let listed =
            listed.map(|skip| SkipEntry { what: skip.what.clone(), origin: skip.origin.clone() });
        let marked = self.sides.marks.iter().filter(|what| self.has(what));
        let marked = marked
            .map(|what| SkipEntry { what: what.clone(), origin: "a mark of the app".to_owned() });
        let left = settings.left.iter().filter(|left| left.scope.contains(environment));
        let left = left.map(|left| LeftEntry {
            resource: reference(&left.source, &self.sides.deployed),
            origin: left.origin.clone(),
        });
        Decisions {
            pairs: pairs.collect(),
            skip: listed.chain(marked).collect(),
            left: left.collect(),
            strict: settings.strict,
            explain: settings.explain,
        }
    }
}

fn check_pair(
    pair: &Pair,
    source: &str,
    destination: &str,
    environments: &[(Environment, Sides)],
    known: &[Known<'_>],
) -> Result<(), DecisionError> {
    let inside: Vec<_> = environments
        .iter()
        .zip(known)
        .filter(|((environment, _), _)| pair.scope.contains(environment))
        .map(|(_, known)| known)
        .collect();
    if inside.iter().any(|known| known.holds(pair)) {
        return Ok(());
    }
    let origin = pair.origin.clone();
    let names = || (source.to_owned(), destination.to_owned());
    if inside.is_empty() {
        let (source_name, destination) = names();
        let scope = pair.scope.to_string();
        return Err(DecisionError::NoEnvironment { source_name, destination, scope, origin });
    }
    // A file of decisions stays in the repository after it was carried out.
    let is_done = |known: &&Known<'_>| {
        known.deployed.contains(destination) && known.local.contains(destination)
    };
    if !inside.iter().any(|known| known.deployed.contains(source)) && inside.iter().any(is_done) {
        return Ok(());
    }
    let place = place(&pair.scope);
    if !inside.iter().any(|known| known.deployed.contains(source)) {
        return Err(DecisionError::NotDeployed { name: source.to_owned(), place, origin });
    }
    if !inside.iter().any(|known| known.local.contains(destination)) {
        return Err(DecisionError::NotLocal { name: destination.to_owned(), place, origin });
    }
    let (source_name, destination) = names();
    Err(DecisionError::DifferentEnvironments { source_name, destination, origin })
}

fn place(scope: &Scope) -> String {
    if scope.is_everywhere() { String::new() } else { format!(" in {scope}") }
}

/// Which of the wanted names are there: locations, resource types, and paths of constructs that
/// are or contain a resource.
fn present<'a>(stacks: &[Stack], wanted: &HashSet<&'a str>) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    if wanted.is_empty() {
        return found;
    }
    let mut look = |name: &str| {
        if let Some(name) = wanted.get(name) {
            found.insert(*name);
        }
    };
    let mut location = String::new();
    for stack in stacks {
        for (id, body) in stack.template.resources() {
            location.clear();
            location.extend([stack.name.as_str(), ".", id.as_str()]);
            look(&location);
            if let Some(kind) = body.get("Type").and_then(|kind| kind.as_str()) {
                look(kind);
            }
            let path = body.get("Metadata").and_then(|metadata| metadata.get("aws:cdk:path"));
            if let Some(path) = path.and_then(|path| path.as_str()) {
                look(path);
                path.match_indices('/').for_each(|(at, _)| look(&path[..at]));
            }
        }
    }
    found
}

/// A name as the comparison takes it. The location of a resource in a nested stack without a name
/// of its own contains a slash, as a path does.
fn reference(named: &Named, stacks: &[Stack]) -> Reference {
    match named {
        Named::Location(location) => Reference::Location(location.clone()),
        Named::Path(path) => match path.as_str().parse::<Location>() {
            Ok(location) if stacks.iter().any(|stack| stack.name == location.stack) => {
                Reference::Location(location)
            }
            _ => Reference::Path(path.clone()),
        },
    }
}
