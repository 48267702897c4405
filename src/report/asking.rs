//! Questions about what the evidence does not decide, put into words for whoever answers.

use super::Style;
use super::moves::more;
use super::text::{self, count, map_options, name, plain};
use crate::compare::{Difference, Place, Similar};
use crate::event::Question;
use crate::model::{ConstructPath, Environment, Location, ResourceType};
use crate::registry::{Replacement, replacement};

/// What leaves everything as it is.
const STOP: &str = "Stop, change nothing";

/// How many of the resources in a construct are named.
const MOST_NAMED: usize = 3;

/// What is known of a resource besides its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its physical ID.
    pub physical_id: Option<String>,
    /// When CloudFormation changed it last, in UTC (RFC 3339).
    pub changed_at: Option<String>,
    /// Who refers to it.
    pub referrers: Vec<Location>,
}

/// One of those between which somebody decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it is called.
    name: String,
    /// What is known of it: a label and a text.
    facts: Vec<(&'static str, String)>,
}

impl Candidate {
    /// Returns a resource as a candidate.
    pub fn resource(place: &Place, known: &Known, style: Style) -> Self {
        let name = name(place, style);
        let mut facts = Vec::new();
        if let Some(path) = place.path.as_ref().map(|path| plain(path.as_str())) {
            let location = place.location.to_string();
            let other = if *path == name { plain(&location) } else { path };
            facts.push((if *other == *location { "place" } else { "path" }, other.into_owned()));
        }
        facts.extend(known.physical_id.as_ref().map(|id| ("physical ID", plain(id).into_owned())));
        facts.extend(known.changed_at.as_ref().map(|at| ("last changed", time(at))));
        facts.extend(used_by(&known.referrers));
        Self { name, facts }
    }

    /// Returns a construct as a candidate, with what is known of the resources in it that are in
    /// question.
    pub fn construct(path: &ConstructPath, inside: &[(&Place, Known)]) -> Self {
        let mut facts = Vec::new();
        let identified =
            inside.iter().filter_map(|(place, known)| Some((place, known.physical_id.as_ref()?)));
        for (place, id) in identified.take(MOST_NAMED) {
            let relative = place.path.as_ref().map(|inner| &inner.as_str()[path.as_str().len()..]);
            let relative = relative.unwrap_or_default().trim_start_matches('/');
            let relative = relative.strip_suffix("/Resource").unwrap_or(relative);
            facts.push(("physical ID", plain(&format!("{id} ({relative})")).into_owned()));
        }
        let changed = inside.iter().filter_map(|(_, known)| known.changed_at.as_ref()).max();
        facts.extend(changed.map(|at| ("last changed", time(at))));
        let own = |location: &Location| inside.iter().any(|(place, _)| place.location == *location);
        let mut referrers: Vec<Location> =
            inside.iter().flat_map(|(_, known)| known.referrers.clone()).collect();
        referrers.retain(|location| !own(location));
        referrers.sort();
        referrers.dedup();
        facts.extend(used_by(&referrers));
        let name = format!("{}/** ({})", plain(path.as_str()), count(inside.len(), "resource"));
        Self { name, facts }
    }

    /// The lines that tell it from others.
    fn lines(&self) -> Vec<String> {
        let width = self.facts.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
        let facts = self.facts.iter().map(|(label, text)| format!("    {label:width$}  {text}"));
        std::iter::once(format!("  {}", self.name)).chain(facts).collect()
    }
}

/// Which of several candidates a deployed resource or construct is.
#[derive(Clone, Debug)]
pub struct Which<'a> {
    /// The account and region.
    pub environment: &'a Environment,
    /// The type of the resource; `None` for constructs.
    pub resource_type: Option<&'a ResourceType>,
    /// What is deployed.
    pub source: Candidate,
    /// What it may be now.
    pub candidates: Vec<Candidate>,
    /// Whether names make the first candidate likely.
    pub proposed: bool,
    /// Two resources by which a flag decides for the first candidate.
    pub example: Option<(&'a Place, &'a Place)>,
    /// How many deployed ones are in question.
    pub sources: usize,
}

impl Which<'_> {
    /// Puts the question. The answers: the candidates in their order, then "none of them" for this
    /// one, then for all if there are several, then to stop.
    pub fn question(&self, style: Style) -> Question {
        let what = match self.resource_type {
            Some(kind) => plain(kind.as_str()).into_owned(),
            None => "Constructs of equal content".to_owned(),
        };
        let mut help = vec![format!("{what} in {}", plain(&self.environment.to_string()))];
        help.push("Deployed:".to_owned());
        help.extend(self.source.lines());
        help.push("Now one of these:".to_owned());
        let shown = self.candidates.iter().take(style.limit());
        help.extend(shown.flat_map(Candidate::lines));
        help.extend(more(self.candidates.len(), style));
        let mut choices: Vec<String> =
            self.candidates.iter().map(|candidate| candidate.name.clone()).collect();
        if let Some(first) = choices.first_mut().filter(|_| self.proposed) {
            first.push_str(" (likely, by its name)");
        }
        choices.push("None of these: leave it to be replaced".to_owned());
        if self.sources > 1 {
            choices.push(format!("Leave all {} to be replaced", self.sources));
        }
        choices.push(STOP.to_owned());
        // Nobody shall decide by pressing Enter where nothing speaks for an answer.
        let default = if self.proposed { 0 } else { choices.len() - 1 };
        Question {
            help,
            text: format!("Which one is {} now?", self.source.name),
            choices,
            default,
            flag: self.example.map_or_else(String::new, |pair| map_options(&[pair], style)),
        }
    }
}

/// Whether two resources that are alike are the same. The answers: yes, no, to be asked about no
/// such pair any more, stop.
pub fn same(
    environment: &Environment,
    pair: &Similar,
    (old, new): (&Candidate, &Candidate),
    style: Style,
) -> Question {
    let kind = &pair.resource_type;
    let mut help = vec![format!(
        "{} in {}: {} % alike",
        plain(kind.as_str()),
        plain(&environment.to_string()),
        pair.score
    )];
    help.push("Deployed:".to_owned());
    help.extend(old.lines());
    help.push("Now:".to_owned());
    help.extend(new.lines());
    if !pair.differences.is_empty() {
        help.push("What differs, and what the change does:".to_owned());
        for difference in pair.differences.iter().take(style.limit()) {
            let (was, is) = text::values(difference);
            let effect = words(effect(kind, difference));
            help.push(format!("  {} ({effect})", plain(&difference.property)));
            help.push(format!("    - {was}"));
            help.push(format!("    + {is}"));
        }
        help.extend(more(pair.differences.len(), style));
    }
    let worst = pair.differences.iter().map(|one| effect(kind, one)).max();
    let consequence = match worst {
        Some(Replacement::Always) => "the deployment replaces it all the same",
        Some(Replacement::Sometimes) => "the deployment may replace it all the same",
        Some(Replacement::Never) => "the deployment then changes it in place",
        None => "nothing of it changes",
    };
    Question {
        help,
        text: format!("Is {} the same as {}?", old.name, new.name),
        choices: vec![
            format!("Yes, move it; {consequence}"),
            format!("No: {} is left to be replaced", old.name),
            "Decide nothing about pairs that are merely alike".to_owned(),
            STOP.to_owned(),
        ],
        default: 0,
        flag: map_options(&[(&pair.source, &pair.destination)], style),
    }
}

fn effect(kind: &ResourceType, difference: &Difference) -> Replacement {
    if difference.replaces {
        return Replacement::Always;
    }
    match difference.property.strip_prefix("Properties.") {
        Some(path) => replacement(kind.as_str(), &path.replace('.', "/")),
        None => Replacement::Never,
    }
}

fn words(effect: Replacement) -> &'static str {
    match effect {
        Replacement::Never => "in place",
        Replacement::Sometimes => "may replace",
        Replacement::Always => "replaces",
    }
}

fn used_by(referrers: &[Location]) -> Option<(&'static str, String)> {
    let names: Vec<String> =
        referrers.iter().map(|one| plain(&one.to_string()).into_owned()).collect();
    (!names.is_empty()).then(|| ("used by", names.join(", ")))
}

/// `2026-11-21T08:47:39Z` as people read it.
fn time(text: &str) -> String {
    let text = plain(text);
    match text.strip_suffix('Z') {
        Some(local) => format!("{} UTC", local.replace('T', " ")),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(location: &str, path: &str) -> Place {
        Place { location: location.parse().unwrap(), path: Some(path.into()) }
    }

    fn known(id: &str, at: &str, referrers: &[&str]) -> Known {
        Known {
            physical_id: (!id.is_empty()).then(|| id.to_owned()),
            changed_at: (!at.is_empty()).then(|| at.to_owned()),
            referrers: referrers.iter().map(|name| name.parse().unwrap()).collect(),
        }
    }

    fn shown(question: &Question, width: usize) -> String {
        let help = question.help.iter().flat_map(|line| text::wrapped(line, width));
        let mark = |at| if at == question.default { '>' } else { ' ' };
        let choices = question.choices.iter().enumerate();
        let choices = choices.map(|(at, choice)| format!("{} {choice}", mark(at)));
        let asked = std::iter::once(format!("{} ({})", question.text, question.flag));
        help.chain(asked).chain(choices).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn physical_ids_dates_and_referrers_tell_candidates_apart() {
        let environment = Environment::new("111111111111", "eu-west-1");
        let (old, new) = (
            place("Shop.OrdersQueueC538DD4C", "Shop/Orders/Queue/Resource"),
            place("Shop.PurchasesQueue6580000E", "Shop/Purchases/Queue/Resource"),
        );
        let style = Style::default();
        let deployed = known(
            "https://sqs.eu-west-1.amazonaws.com/111111111111/orders\u{1b}[2J",
            "2026-11-21T08:47:39Z",
            &["Shop.OrdersConsumer", "Shop.OrdersPolicy", "Shop.OrdersAlarm"],
        );
        let which = Which {
            environment: &environment,
            resource_type: Some(&"AWS::SQS::Queue".into()),
            source: Candidate::resource(&old, &deployed, style),
            candidates: vec![Candidate::resource(
                &new,
                &known("", "", &["Shop.PurchasesConsumer"]),
                style,
            )],
            proposed: true,
            example: Some((&old, &new)),
            sources: 2,
        };
        insta::assert_snapshot!(shown(&which.question(style), 60));
    }

    #[test]
    fn a_construct_is_told_by_what_is_in_it_and_by_who_uses_it() {
        let inside = [
            place("Shop.OrdersTable", "Shop/Orders/Table/Resource"),
            place("Shop.OrdersQueue", "Shop/Orders/Queue/Resource"),
        ];
        let candidate = Candidate::construct(
            &"Shop/Orders".into(),
            &[
                (&inside[0], known("orders", "2026-11-20T10:00:00Z", &["Shop.OrdersQueue"])),
                (&inside[1], known("", "2026-11-21T08:47:39Z", &["Shop.Api"])),
            ],
        );
        insta::assert_snapshot!(candidate.lines().join("\n"), @r"
          Shop/Orders/** (2 resources)
            physical ID   orders (Table)
            last changed  2026-11-21 08:47:39 UTC
            used by       Shop.Api
        ");
    }

    #[test]
    fn what_a_change_would_do_is_said_of_every_property_and_of_the_whole() {
        let value = |text: &str| Some(crate::template::json::parse(text).unwrap());
        let difference = |property: &str, old, new| Difference {
            property: format!("Properties.{property}"),
            old: value(old),
            new: value(new),
            name_only: false,
            replaces: property == "FifoQueue",
        };
        let pair = Similar {
            resource_type: "AWS::SQS::Queue".into(),
            source: place("A.Old", "A/Old"),
            destination: place("B.New", "B/New"),
            score: 83,
            differences: vec![
                difference("DelaySeconds", "1", "2"),
                difference("FifoQueue", "true", "false"),
            ],
        };
        let style = Style { paths: true, ..Style::default() };
        let candidate = |place| Candidate::resource(place, &Known::default(), style);
        let ends = (candidate(&pair.source), candidate(&pair.destination));
        let environment = Environment::new("111111111111", "eu-west-1");
        let question = same(&environment, &pair, (&ends.0, &ends.1), style);
        insta::assert_snapshot!(shown(&question, 60));
    }
}
