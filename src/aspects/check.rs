//! What aspects that only look say of a comparison and of the plan for it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::AspectError;
use super::attach::{Bound, attach};
use super::constructs;
use super::coverage::Coverage;
use super::declaration::{Declaration, Leaving, Level, Match, Rule, Work};
use super::invoke::Mode;
use super::pattern::matches_text;
use super::read::Declarations;
use super::tree::{Aspect, Visit};
use crate::compare::{Comparison, Evidence, Mapping};
use crate::model::{ConstructPath, Location, Stack, StackName, Text, TreeNode, Value};

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct CheckRequest<'a> {
    /// The aspects.
    pub aspects: &'a Declarations,
    /// The construct tree of the app as it is now.
    pub constructs: &'a [TreeNode],
    /// The stacks of an environment as they are deployed.
    pub deployed: &'a [Stack],
    /// The stacks as they are now.
    pub local: &'a [Stack],
    /// What moved and what changed, as it really is.
    pub comparison: &'a Comparison,
    /// What a forecast says of replacements; `None`: nobody knows more than the comparison tells.
    pub replacements: Option<&'a [Replacement]>,
}

/// A resource that a deployment replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// Where it is in the app as it is now.
    pub location: Location,
    /// Why, as a sentence without an end.
    pub reason: String,
}

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The aspect.
    pub aspect: Text,
    /// The construct, in the app as it is now.
    pub construct: ConstructPath,
    /// Its resource.
    pub location: Location,
    /// What is wrong, as a sentence without an end.
    pub reason: String,
    /// How bad that is.
    pub level: Level,
    /// It is about a replacement: a forecast may know better than a comparison.
    pub is_replacement: bool,
}

/// What aspects that only look found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The rules that do not hold: the worst first, then in the order of the constructs.
    pub violations: Vec<Violation>,
    /// What the aspects found at all.
    pub coverage: Coverage,
}

impl Checked {
    /// Whether something is so wrong that nothing may be done.
    pub fn forbids(&self) -> bool {
        self.violations.iter().any(|violation| violation.level == Level::Error)
    }
}

impl Declarations {
    /// Whether some aspect forbids replacements, so that a forecast is worth its while.
    pub fn forbid_replacements(&self) -> bool {
        self.iter().any(|one| match &one.work {
            Work::Look(rules, _) => rules.contains(&Rule::ForbidReplacement),
            Work::Change(_) => false,
        })
    }
}

/// Judges a comparison. Aspects that change things are not invoked: they are done.
///
/// # Errors
/// When the aspects cannot be invoked in their order, or without an end.
pub fn check(request: &CheckRequest<'_>) -> Result<Checked, AspectError> {
    let looking: Vec<Arc<Declaration>> =
        request.aspects.list.iter().filter(|one| !one.is_changing()).cloned().collect();
    if looking.is_empty() {
        return Ok(Checked::default());
    }
    let mut tree = constructs::of_app(request.constructs, request.local)?;
    let bound = Bound::new(looking.iter().cloned(), |one| Arc::new(Judge(one)));
    attach(&mut tree, &bound, &looking)?;
    let mut bench = Bench::new(request, Arc::new(bound));
    tree.invoke(&mut bench, Mode::LookLast)?;
    if let Some(error) = bench.failed {
        return Err(error);
    }
    bench.coverage.out_of_reach(&looking, &tree);
    let mut violations = bench.violations;
    violations.sort_by_key(|violation| Reverse(violation.level));
    Ok(Checked { violations, coverage: bench.coverage })
}

/// What aspects that only look work on.
struct Bench<'a> {
    stacks: (BTreeMap<&'a StackName, &'a Stack>, BTreeMap<&'a StackName, &'a Stack>),
    /// What moved, by where it is now.
    mappings: BTreeMap<&'a Location, &'a Mapping>,
    replaced: BTreeMap<Location, String>,
    /// How many moves each aspect with a limit has seen.
    moves: BTreeMap<Text, usize>,
    bound: Arc<Bound<Self>>,
    violations: Vec<Violation>,
    coverage: Coverage,
    failed: Option<AspectError>,
}

/// A declared aspect that only looks.
struct Judge(Arc<Declaration>);

impl<'a> Aspect<Bench<'a>> for Judge {
    fn name(&self) -> &str {
        &self.0.id
    }

    fn visit(&self, visit: &mut Visit<'_, Bench<'a>>) {
        let construct = visit.construct();
        let Some((location, _)) = construct.resource.clone() else { return };
        let path = construct.path.clone();
        let mapping = visit.state.mappings.get(&location).copied();
        // What left a place that the aspect is about is its matter, too.
        let before = mapping.and_then(|mapping| mapping.source.path.as_ref());
        let matched = self.0.matcher.matches_or_did(visit.around(), before);
        match matched {
            Match::Yes => {}
            Match::No => return,
            Match::Unknown => {
                visit.state.coverage.of(&self.0).unknown_class += 1;
                return;
            }
        }
        visit.state.coverage.of(&self.0).matched += 1;
        if let Work::Look(rules, level) = &self.0.work {
            for rule in rules {
                if let Some(reason) = visit.state.judge(&self.0, rule, &location) {
                    visit.state.violations.push(Violation {
                        aspect: self.0.id.clone(),
                        construct: path.clone(),
                        location: location.clone(),
                        reason,
                        level: *level,
                        is_replacement: *rule == Rule::ForbidReplacement,
                    });
                }
            }
        }
        let bound = Arc::clone(&visit.state.bound);
        for name in &self.0.applies {
            if let Err(error) = bound.apply(visit.tree(), name, path.as_str()) {
                visit.state.failed.get_or_insert(error.into());
            }
        }
    }
}

impl<'a> Bench<'a> {
    fn new(request: &CheckRequest<'a>, bound: Arc<Bound<Self>>) -> Self {
        let by_name = |stacks: &'a [Stack]| stacks.iter().map(|one| (&one.name, one)).collect();
        let comparison = request.comparison;
        let mappings = comparison.mappings.iter();
        Self {
            stacks: (by_name(request.deployed), by_name(request.local)),
            mappings: mappings.map(|one| (&one.destination.location, one)).collect(),
            replaced: match request.replacements {
                None => replaced(comparison),
                Some(all) => {
                    all.iter().map(|it| (it.location.clone(), it.reason.clone())).collect()
                }
            },
            moves: BTreeMap::new(),
            bound,
            violations: Vec::new(),
            coverage: Coverage::default(),
            failed: None,
        }
    }

    /// Returns what a resource does against a rule.
    fn judge(&mut self, aspect: &Declaration, rule: &Rule, location: &Location) -> Option<String> {
        if let Rule::ForbidReplacement = rule {
            return self.replaced.get(location).cloned();
        }
        // What cannot be moved is replaced: other rules are about that.
        let mapping = self.mappings.get(location).filter(|one| one.blocked.is_none())?;
        let from = &mapping.source.location;
        match rule {
            Rule::ForbidMove(leaving) => {
                let is_meant = match leaving {
                    Leaving::Place => true,
                    Leaving::Stack => from.stack != location.stack,
                    Leaving::Stacks(names) => {
                        from.stack != location.stack
                            && names.iter().any(|name| matches_text(name, from.stack.as_str()))
                    }
                };
                is_meant.then(|| format!("it would move from `{from}` to `{location}`"))
            }
            Rule::Limit(most) => {
                let count = self.moves.entry(aspect.id.clone()).or_default();
                *count += 1;
                // One violation is enough: it names the first resource too many.
                (*count == most + 1)
                    .then(|| format!("more than {most} resources would move; it is the next one"))
            }
            Rule::Require(attribute, values) => {
                let sides = [
                    (&self.stacks.0, from, "as it is deployed"),
                    (&self.stacks.1, location, "in the app as it is now"),
                ];
                sides.into_iter().find_map(|(stacks, place, side)| {
                    let body =
                        stacks.get(&place.stack)?.template.resource(place.logical_id.as_str())?;
                    let value = body.get(attribute).and_then(Value::as_str);
                    let holds = value.is_some_and(|value| values.iter().any(|one| one == value));
                    let has = value.map_or_else(|| "none".to_owned(), |it| format!("`{it}`"));
                    let wanted = values.join("` or `");
                    (!holds).then(|| {
                        format!(
                            "it would move, and its `{attribute}` {side} is {has}, not `{wanted}`"
                        )
                    })
                })
            }
            Rule::RequireDecision => match mapping.evidence {
                Evidence::Decision(_) => None,
                _ => Some(format!(
                    "it would move from `{from}` to `{location}`, and nobody has decided so: \
                     `--map` or a mapping file can"
                )),
            },
            Rule::ForbidReplacement => None,
        }
    }
}

/// What is replaced as far as a comparison tells, with the reason.
fn replaced(comparison: &Comparison) -> BTreeMap<Location, String> {
    let mut found: BTreeMap<Location, String> = BTreeMap::new();
    for mapping in &comparison.mappings {
        if let Some(blocked) = &mapping.blocked {
            let reason = format!("the deployment would recreate it: it {blocked}");
            found.entry(mapping.destination.location.clone()).or_insert(reason);
        }
    }
    let moved = comparison.mappings.iter().map(|one| (&one.destination.location, &one.changes));
    let changed = comparison.changed.iter().map(|one| (&one.place.location, &one.differences));
    for (location, differences) in moved.chain(changed) {
        if let Some(difference) = differences.iter().find(|difference| difference.replaces) {
            let reason =
                format!("the deployment would replace it, since `{}` changes", difference.property);
            found.entry(location.clone()).or_insert(reason);
        }
    }
    found
}
