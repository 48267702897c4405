//! What a refactor says that it will do.

use super::judge::Verdict;
use super::matching::Move;
use super::{Refactor, RefactorAction, ResourceLocation, ResourceMapping};
use crate::local::behind::{SYSTEM_TAGS, is_tagged};

const UNCHANGED: &str = "No configuration changes detected.";
const VALIDATED: &str =
    "Resource configuration changes will be validated during refactor execution.";

/// Returns the actions of an accepted refactor: moves, then stacks that are created.
pub(super) fn of(verdict: &Verdict, refactor: &Refactor) -> Vec<RefactorAction> {
    let moves = verdict.moves.iter().map(|each| action(verdict, each));
    let created = refactor.definitions.iter().filter(|each| each.created);
    let created = created.map(|definition| RefactorAction {
        action: "CREATE".to_owned(),
        entity: "STACK".to_owned(),
        description: format!("Stack {} created.", definition.stack_id),
        detection: "MANUAL".to_owned(),
        ..RefactorAction::default()
    });
    moves.chain(created).collect()
}

fn action(verdict: &Verdict, each: &Move) -> RefactorAction {
    let (source, destination) = (&verdict.parties[each.from], &verdict.parties[each.to]);
    let resource = source.stack.resources.get(&each.from_id).cloned().unwrap_or_default();
    let location = |stack: &str, id: &str| ResourceLocation {
        stack: stack.to_owned(),
        logical_id: id.to_owned(),
    };
    let (mut tag, mut untag) = (Vec::new(), Vec::new());
    let tagged = is_tagged(&resource.resource_type);
    if tagged {
        let info = &destination.stack.info;
        let values = [info.name.as_str(), &each.to_id, &info.id];
        tag =
            SYSTEM_TAGS.iter().zip(values).map(|(k, v)| ((*k).to_owned(), v.to_owned())).collect();
        untag = SYSTEM_TAGS.iter().map(|key| (*key).to_owned()).collect();
        if each.from != each.to {
            tag.extend(destination.stack.input.tags.clone());
            untag.extend(source.stack.input.tags.keys().cloned());
        }
    }
    RefactorAction {
        action: "MOVE".to_owned(),
        entity: "RESOURCE".to_owned(),
        physical_id: Some(resource.physical_id.clone()),
        identifier: Some(resource.physical_id),
        description: if tagged { VALIDATED } else { UNCHANGED }.to_owned(),
        detection: if each.explicit { "MANUAL" } else { "AUTO" }.to_owned(),
        detection_reason: None,
        tag_resources: tag,
        untag_resources: untag,
        mapping: Some(ResourceMapping {
            source: location(&source.stack.info.id, &each.from_id),
            destination: location(&destination.stack.info.id, &each.to_id),
        }),
    }
}
