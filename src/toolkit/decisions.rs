//! Which decision holds in which environment. A decision that holds nowhere is an error: whoever
//! wrote it counts on it.

use std::collections::HashSet;

use super::chains::{Book, Entry, Resolved, Status};
use super::detect::Sides;
use super::names::Names;
use crate::compare::{DecidedPair, Decisions, LeftEntry, Reference, SkipEntry};
use crate::model::{Environment, Location, Pattern, Stack};
use crate::settings::{Named, Said, Scope, Settings, Skip};

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
        /// What may have been meant.
        near: Option<String>,
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
        /// What may have been meant.
        near: Option<String>,
    },
    /// Other entries, or resources that are there as well, leave it open.
    #[error(
        "{origin}: nobody can say that `{source_name}` is `{destination}` now: other entries, or a \
         resource that is deployed there already, leave it open"
    )]
    Unclear {
        /// The deployed resource, as it was named.
        source_name: String,
        /// The present resource, as it was named.
        destination: String,
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
        /// What may have been meant.
        near: Option<String>,
    },
    /// A construct in place of a resource.
    #[error("{origin}: `{name}` is a construct and not a resource")]
    Construct {
        /// The name.
        name: String,
        /// Where it was said.
        origin: String,
    },
    /// A pattern without a resource on the other side.
    #[error(
        "{origin}: nothing of what `{source_name}` names has a counterpart of its type at \
         `{destination}`{place}"
    )]
    NoCounterpart {
        /// The pattern of the deployed resources.
        source_name: String,
        /// The pattern of the present ones.
        destination: String,
        /// Where it was looked for, if not everywhere.
        place: String,
        /// Where it was said.
        origin: String,
    },
    /// Two entries about one resource.
    #[error("two decisions about `{name}`: {first}, and {second}")]
    Conflict {
        /// The resource.
        name: String,
        /// The one, with where it was said.
        first: String,
        /// The other.
        second: String,
    },
    /// Names that lead back to the first.
    #[error("{origin}: these decisions go round in a circle: {names}")]
    Circle {
        /// The names.
        names: String,
        /// Where it was said.
        origin: String,
    },
    /// A chain that may end in several places.
    #[error(
        "{origin}: `{source_name}` may be {} now{}: these decisions do not tell",
        one_of(.candidates), if *.ends { ", or nothing" } else { "" }
    )]
    TwoWays {
        /// The deployed resource.
        source_name: String,
        /// What it may be.
        candidates: Vec<Location>,
        /// Whether it may be nothing.
        ends: bool,
        /// Where it was said.
        origin: String,
    },
    /// Something else is deployed at the destination.
    #[error(
        "{origin}: both `{source_name}` and `{destination}` are deployed, and the decisions do \
         not tell which of them is `{destination}` now"
    )]
    Occupied {
        /// The deployed resource.
        source_name: String,
        /// The place, deployed as well.
        destination: String,
        /// Where it was said.
        origin: String,
    },
}

fn one_of(candidates: &[Location]) -> String {
    let names: Vec<String> = candidates.iter().map(|one| format!("`{one}`")).collect();
    names.join(" or ")
}

impl DecisionError {
    /// What to do about it.
    pub(super) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotDeployed { near: Some(near), .. }
            | Self::NotLocal { near: Some(near), .. }
            | Self::NothingToSkip { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::Construct { name, .. } => {
                format!("`{name}/**` names all that is below it, on both sides")
            }
            Self::NoCounterpart { .. } => "what is below both has to have the same names; \
                                           `cdkr refactor --dry-run --paths --verbose` shows the \
                                           names of both sides"
                .to_owned(),
            Self::Conflict { .. } => "keep one of them".to_owned(),
            Self::Circle { .. } => "what was carried out would be carried out again with every \
                                    run: to exchange resources once, use --map"
                .to_owned(),
            Self::Unclear { source_name, destination, .. } => {
                format!("name it, if it is so: --map {source_name}:{destination}")
            }
            Self::TwoWays { source_name, candidates, .. } => {
                let flags = candidates.iter().map(|one| format!("--map {source_name}:{one}"));
                format!("name it: {}", flags.collect::<Vec<_>>().join(" or "))
            }
            Self::Occupied { source_name, destination, .. } => format!(
                "name it: --map {destination}:{destination} if it stays, or --map \
                 {source_name}:{destination} if the other takes its place"
            ),
            _ => return None,
        })
    }
}

/// What is known of the names in one environment.
struct Known<'a> {
    sides: &'a Sides,
    /// Names of both sides, if a decision is about resources.
    names: Option<(Names<'a>, Names<'a>)>,
    present: HashSet<&'a str>,
}

/// Distributes the decisions of the settings, and the marks of the app, over the environments.
///
/// # Errors
/// When a decision holds in none of them, or when decisions contradict each other.
pub(super) fn distribute(
    settings: &Settings,
    environments: &[(Environment, Sides)],
) -> Result<Vec<Decisions>, DecisionError> {
    let pairs = settings.pairs.iter().map(Entry::pair);
    let entries: Vec<Entry<'_>> = pairs.chain(settings.left.iter().map(Entry::left)).collect();
    let mut wanted: HashSet<&str> = settings.skip.iter().map(|skip| skip.what.as_str()).collect();
    wanted.extend(environments.iter().flat_map(|(_, sides)| &sides.marks).map(String::as_str));
    let known: Vec<Known<'_>> =
        environments.iter().map(|(_, sides)| Known::new(sides, &wanted, &entries)).collect();
    let mut all = Vec::new();
    let mut status = Vec::new();
    for ((environment, _), known) in environments.iter().zip(&known) {
        let mut decisions = known.exclusions(settings);
        if let Some((deployed, local)) = &known.names {
            // What a file kept was in force when the history was recorded; about older names it
            // says nothing.
            let history = known.sides.history.as_ref();
            let is_covered = history.is_some_and(|followed| followed.covers());
            let counts = |entry: &Entry<'_>| {
                entry.scope.contains(environment) && !(is_covered && entry.is_of_record)
            };
            let inside = (0..entries.len()).filter(|at| counts(&entries[*at]));
            let book = Book::new(&entries, inside.collect(), deployed, local);
            let skip = &decisions.skip;
            let resolved = book.resolve(&|location, kind, path| {
                skip.iter().any(|entry| entry.is_about(location, kind, path))
            })?;
            known.fill(&mut decisions, &entries, &resolved, &book);
            status.push(resolved.status);
        }
        all.push(decisions);
    }
    for (number, entry) in entries.iter().enumerate() {
        let inside: Vec<Status> = status.iter().filter_map(|one| one[number]).collect();
        if let Some(note) = check(entry, &inside, &known)? {
            let is_here = |one: &Vec<Option<Status>>| {
                one[number].is_some_and(|status| status.source_is_deployed)
            };
            let at = status.iter().position(is_here).unwrap_or_default();
            all[at].notes.push(note);
        }
    }
    for skip in &settings.skip {
        if !known.iter().any(|known| known.has(&skip.what)) {
            let Skip { what, origin } = skip.clone();
            let names = known.iter().flat_map(|known| [&known.sides.deployed, &known.sides.local]);
            let near = names.into_iter().find_map(|stacks| Names::new(stacks).closest(&what));
            return Err(DecisionError::NothingToSkip { what, origin, near });
        }
    }
    Ok(all)
}

impl<'a> Known<'a> {
    fn new(sides: &'a Sides, wanted: &HashSet<&'a str>, entries: &[Entry<'_>]) -> Self {
        let mut present_names = present(&sides.deployed, wanted);
        present_names.extend(present(&sides.local, wanted));
        let names = || (Names::new(&sides.deployed), Names::new(&sides.local));
        Self { sides, names: (!entries.is_empty()).then(names), present: present_names }
    }

    /// Whether there is anything of a name, or anything that a pattern matches.
    fn has(&self, name: &str) -> bool {
        if !matches!(Pattern::parse(name), Ok(Some(_))) {
            return self.present.contains(name);
        }
        let entry = SkipEntry { what: name.to_owned(), origin: String::new() };
        [&self.sides.deployed, &self.sides.local].into_iter().any(|stacks| {
            let names = Names::new(stacks);
            names.resources.iter().any(|one| entry.is_about(&one.text, one.kind, one.path))
        })
    }

    /// What is excluded, and what else the settings say.
    fn exclusions(&self, settings: &'a Settings) -> Decisions {
        let history = self.sides.history.as_ref();
        let listed = settings.skip.iter().filter(|skip| self.has(&skip.what));
        let listed =
            listed.map(|skip| SkipEntry { what: skip.what.clone(), origin: skip.origin.clone() });
        let marked = self.sides.marks.iter().filter(|what| self.has(what));
        let marked = marked
            .map(|what| SkipEntry { what: what.clone(), origin: "a mark of the app".to_owned() });
        Decisions {
            pairs: history.map(|followed| followed.pairs.clone()).unwrap_or_default(),
            settled: history.map(|followed| followed.settled.clone()).unwrap_or_default(),
            skip: listed.chain(marked).collect(),
            only: settings.only,
            strict: settings.strict,
            explain: settings.explain,
            ..Decisions::default()
        }
    }

    fn fill(
        &self,
        decisions: &mut Decisions,
        entries: &[Entry<'_>],
        resolved: &Resolved,
        book: &Book<'_, '_>,
    ) {
        let Some((deployed, local)) = &self.names else { return };
        let location = |names: &Names<'_>, at: usize| {
            Reference::Location(names.resources[at].location.clone())
        };
        for held in &resolved.pairs {
            let pair = match held.by.as_slice() {
                // As it was named.
                [one] if !entries[*one].is_pattern() => self.named(&entries[*one]),
                _ => None,
            };
            decisions.pairs.push(pair.unwrap_or_else(|| DecidedPair {
                source: location(deployed, held.source),
                destination: location(local, held.destination),
                origin: book.origins(&held.by),
            }));
        }
        for number in &resolved.vague {
            let entry = &entries[*number];
            decisions.pairs.extend(self.named(entry));
            if entry.destination.is_none() {
                let resource = reference(entry.source, &self.sides.deployed);
                decisions.left.push(LeftEntry { resource, origin: entry.origin.to_owned() });
            }
        }
        decisions.left.extend(resolved.left.iter().map(|(source, by)| LeftEntry {
            resource: location(deployed, *source),
            origin: entries[*by].origin.to_owned(),
        }));
        decisions.notes.clone_from(&resolved.notes);
    }

    fn named(&self, entry: &Entry<'_>) -> Option<DecidedPair> {
        let (destination, _) = entry.destination.as_ref()?;
        Some(DecidedPair {
            source: reference(entry.source, &self.sides.deployed),
            destination: reference(destination, &self.sides.local),
            origin: entry.origin.to_owned(),
        })
    }
}

/// Checks that an entry holds somewhere, or need not. Returns what the reader should know.
fn check(
    entry: &Entry<'_>,
    inside: &[Status],
    known: &[Known<'_>],
) -> Result<Option<String>, DecisionError> {
    let Some((_, destination)) = &entry.destination else { return Ok(None) };
    let (is_record, origin) = (entry.said == Said::Record, entry.origin.to_owned());
    let names = || (entry.text.clone(), destination.clone());
    if inside.iter().any(|status| status.is_fine) || (is_record && inside.is_empty()) {
        return Ok(None);
    }
    if inside.is_empty() {
        let (source_name, destination) = names();
        let scope = entry.scope.to_string();
        return Err(DecisionError::NoEnvironment { source_name, destination, scope, origin });
    }
    let place = place(entry.scope);
    let is_new = inside.iter().all(|status| !status.anything_is_deployed);
    if !inside.iter().any(|status| status.source_is_deployed) {
        if is_new && entry.said != Said::Now {
            return Ok(None);
        }
        let name = entry.text.clone();
        let mut sides = known.iter().filter_map(|known| Some(&known.names.as_ref()?.0));
        if !is_record && sides.clone().any(|deployed| deployed.is_construct(&name)) {
            return Err(DecisionError::Construct { name, origin });
        }
        let is_missed = |one: &Status| one.destination_is_local && one.stack_is_deployed;
        if is_record && !inside.iter().any(is_missed) {
            // What it was about is gone, or not there yet.
            return Ok(None);
        }
        let near = sides.find_map(|deployed| deployed.closest(&name));
        if is_record {
            return Ok(near.map(|near| {
                format!("{origin}: `{name}` is not deployed; `{near}` is: was that meant?")
            }));
        }
        return Err(DecisionError::NotDeployed { name, place, origin, near });
    }
    if entry.is_pattern() && is_record {
        return Ok(Some(format!(
            "{origin}: nothing of what `{}` names is at `{destination}` any more: the evidence \
             decides what it is now",
            entry.text
        )));
    }
    if entry.is_pattern() {
        let (source_name, destination) = names();
        return Err(DecisionError::NoCounterpart { source_name, destination, place, origin });
    }
    let mut sides = known.iter().filter_map(|known| known.names.as_ref());
    if !inside.iter().any(|status| status.destination_is_local) {
        let name = destination.clone();
        if sides.clone().any(|(_, local)| local.is_construct(&name)) {
            return Err(DecisionError::Construct { name, origin });
        }
        let near = sides.find_map(|(_, local)| local.closest(&name));
        if is_record && near.is_none() {
            return Ok(Some(format!(
                "{origin}: `{}` became `{name}`, which is not in the app any more: the evidence \
                 decides what it is now",
                entry.text
            )));
        }
        return Err(DecisionError::NotLocal { name, place, origin, near });
    }
    let (source_name, destination) = names();
    if inside.iter().any(|one| one.source_is_deployed && one.destination_is_local) {
        return Err(DecisionError::Unclear { source_name, destination, origin });
    }
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
        Named::Pattern(pattern) => Reference::Path(pattern.as_str().into()),
    }
}
