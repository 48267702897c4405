//! What a reader has to see first: the verdict, and what is dangerous.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap as HashMap;

use super::groups::Part;
use super::markup::Markup;
use super::{cards, changes};
use crate::analyze::model::Certainty;
use crate::analyze::{Action, ComponentChange, PermissionChange, Risk};
use crate::report::text::count;

/// Why something is dangerous. The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Lost,
    MayBeLost,
    Broader,
    Rejected,
    Other,
    /// It would be one of the others, but a rule says that somebody looked at it.
    Accepted,
}

impl Why {
    const ALL: [Self; 6] =
        [Self::Lost, Self::MayBeLost, Self::Broader, Self::Rejected, Self::Other, Self::Accepted];

    /// The name of the list, its title, and what is said of one and of several in the verdict.
    fn words(self) -> (&'static str, &'static str, [&'static str; 2]) {
        match self {
            Self::Lost => (
                "lost",
                "Data or identity is lost",
                ["loses data or identity", "lose data or identity"],
            ),
            Self::MayBeLost => (
                "may-be-lost",
                "Data or identity may be lost",
                ["may lose data or identity", "may lose data or identity"],
            ),
            Self::Broader => (
                "broader",
                "Permissions become broader",
                ["permission becomes broader", "permissions become broader"],
            ),
            Self::Rejected => ("rejected", "Rejected by a rule", ["rejected by a rule"; 2]),
            Self::Other => (
                "other",
                "High risk for other reasons",
                ["of high risk for another reason", "of high risk for other reasons"],
            ),
            Self::Accepted => {
                ("accepted", "Dangerous, but of low risk by a rule", ["accepted by a rule"; 2])
            }
        }
    }
}

/// Something dangerous: a change, a permission, or a permission that is written in a change.
pub(super) struct Entry<'r> {
    pub(super) part: &'r Part<'r>,
    pub(super) change: Option<(usize, &'r ComponentChange)>,
    pub(super) permission: Option<&'r PermissionChange>,
}

/// Everything dangerous.
pub(super) struct Dangers<'r>(Vec<(Why, Entry<'r>)>);

impl<'r> Dangers<'r> {
    /// Finds what is dangerous.
    pub(super) fn of(parts: &'r [Part<'r>]) -> Self {
        let mut all = Vec::new();
        for part in parts {
            let mut written: HashMap<(&str, &str), usize> = HashMap::default();
            for (at, change) in part.environment.changes.iter().enumerate() {
                for place in change.before.iter().chain(&change.after) {
                    written.insert((&place.stack, &place.logical_id), at);
                }
            }
            let mut explained: BTreeSet<usize> = BTreeSet::new();
            for permission in part.environment.permissions.iter().filter(|one| one.broadens) {
                let at = written.get(&(permission.stack.as_str(), permission.logical_id.as_str()));
                let change = at.map(|at| part.change(*at));
                explained.extend(at);
                let is_low = change.is_some_and(|(_, change)| change.risk == Risk::Low);
                let why = if is_low { Why::Accepted } else { Why::Broader };
                all.push((why, Entry { part, change, permission: Some(permission) }));
            }
            for at in 0..part.environment.changes.len() {
                let (number, change) = part.change(at);
                if let Some(why) = why(change, explained.contains(&at)) {
                    let change = Some((number, change));
                    all.push((why, Entry { part, change, permission: None }));
                }
            }
        }
        all.sort_by_key(|(why, _)| *why);
        Self(all)
    }

    fn list(&self, why: Why) -> Vec<&Entry<'r>> {
        self.0.iter().filter(|(other, _)| *other == why).map(|(_, entry)| entry).collect()
    }

    /// How many changes are dangerous; a permission that no change explains counts as one.
    fn number(&self) -> usize {
        let dangerous = self.0.iter().filter(|(why, _)| *why != Why::Accepted);
        let mut changes = BTreeSet::new();
        let mut others = 0;
        for (_, entry) in dangerous {
            match entry.change {
                Some((number, _)) => drop(changes.insert(number)),
                None => others += 1,
            }
        }
        changes.len() + others
    }
}

/// Why a change is dangerous. That its permissions become broader may be said already.
fn why(change: &ComponentChange, is_explained: bool) -> Option<Why> {
    let loses = change.danger.is_some();
    let is_rejected = change.action == Some(Action::Reject);
    let broadens = change.properties.iter().any(|one| one.broadens_permissions);
    match change.risk {
        Risk::Low => loses.then_some(Why::Accepted),
        _ if loses && change.certainty == Certainty::Certain => Some(Why::Lost),
        _ if loses => Some(Why::MayBeLost),
        _ if is_rejected => Some(Why::Rejected),
        Risk::High if is_explained => None,
        Risk::High if broadens => Some(Why::Broader),
        Risk::High => Some(Why::Other),
        Risk::Unknown => None,
    }
}

/// Writes how it stands, in as few words as possible.
pub(super) fn verdict(out: &mut Markup, parts: &[Part<'_>], dangers: &Dangers<'_>) {
    let number = dangers.number();
    let all: Vec<&ComponentChange> =
        parts.iter().flat_map(|part| &part.environment.changes).collect();
    let unknown = all.iter().filter(|change| change.risk == Risk::Unknown).count();
    out.raw("<section id=\"verdict\" aria-label=\"Verdict\" class=\"");
    let (class, sign) = match (number, unknown) {
        (0, 0) => ("calm", "✓"),
        (0, _) => ("open", "?"),
        _ => ("bad", "!"),
    };
    out.raw(class).raw("\"><p class=\"big\"><span class=\"sign\" aria-hidden=\"true\">");
    out.raw(sign).raw("</span> ");
    match (number, unknown) {
        (0, 0) if all.is_empty() => out.raw("Nothing changes"),
        (0, 0) => out.raw("Nothing dangerous: every change is of low risk"),
        (0, _) => {
            out.raw("No known danger, but ").text(&count(unknown, "change")).raw(" of unknown risk")
        }
        _ => out.text(&count(number, "dangerous change")),
    };
    out.raw("</p>");
    if !dangers.0.is_empty() {
        out.raw("<ul class=\"why-list\">");
        for why in Why::ALL {
            let number = dangers.list(why).len();
            let (id, _, words) = why.words();
            if number > 0 {
                out.raw("<li><a href=\"#").raw(id).raw("\"><b>").number(number).raw("</b> ");
                out.raw(words[usize::from(number > 1)]).raw("</a></li>");
            }
        }
        out.raw("</ul>");
    }
    if !all.is_empty() {
        out.raw("<p class=\"counts\">");
        out.text(&count(all.len(), "change")).raw(":");
        changes::counts(out, &all);
        let same: usize = parts.iter().map(|part| part.environment.unchanged.len()).sum();
        out.raw(" <span class=\"g\">= ").number(same).raw(" unchanged</span>");
        if unknown > 0 && number > 0 {
            out.raw("</p><p class=\"q\">No rule says how dangerous ").number(unknown);
            out.raw(if unknown == 1 { " of them is." } else { " of them are." });
        }
        out.raw("</p>");
    }
    out.raw("</section>");
}

/// Writes what is dangerous, each with what is lost and why; nothing, if nothing is.
pub(super) fn section(out: &mut Markup, parts: &[Part<'_>], dangers: &Dangers<'_>) {
    if dangers.0.is_empty() {
        return;
    }
    out.raw("<section id=\"danger\" aria-labelledby=\"danger-title\">");
    out.raw("<h2 id=\"danger-title\">What is dangerous</h2>");
    for why in Why::ALL {
        let list = dangers.list(why);
        if list.is_empty() {
            continue;
        }
        let (id, title, _) = why.words();
        out.raw("<section class=\"why-section ").raw(id).raw("\" aria-labelledby=\"").raw(id);
        out.raw("\"><h3 id=\"").raw(id).raw("\">").raw(title).raw(" <span class=\"q\">");
        out.number(list.len()).raw("</span></h3>");
        if why == Why::Accepted {
            out.raw("<details class=\"rest\"><summary>Show them</summary>");
        }
        cards::cards(out, &list, parts.len() > 1);
        if why == Why::Accepted {
            out.raw("</details>");
        }
        out.raw("</section>");
    }
    out.raw("</section>");
}
