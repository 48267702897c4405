//! The form for programs: a public contract with a version (`cdkr schema drift`).

use serde_json::{Value as Json, json};

use super::tally;
use crate::model::Value;
use crate::plan::drift::{
    Checked, Divergence, Drift, Standing, Unverified, Verification, VerifiedMove,
};
use crate::registry::{Pointer, Verdict};
use crate::report::json::escaped;
use crate::template::json::Written;

/// The version of the contract: raised when a field goes away or changes its meaning.
const VERSION: u32 = 1;

/// Renders how resources stand as a JSON document (`version` 1), always complete.
pub fn drift_json(environments: &[Drift]) -> String {
    let environments: Vec<Json> = environments.iter().map(environment_json).collect();
    let document = json!({"version": VERSION, "environments": environments});
    // A document of texts and numbers can always be written.
    escaped(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

fn environment_json(drift: &Drift) -> Json {
    let tally = tally(drift);
    let resources: Vec<Json> = drift.resources.iter().map(resource_json).collect();
    json!({
        "account": drift.environment.account.as_str(),
        "region": drift.environment.region.as_str(),
        "summary": {
            "resources": tally.all,
            "inSync": tally.in_sync,
            "drifted": tally.drifted,
            "deleted": tally.gone,
            "unverified": tally.unverified,
        },
        "resources": resources,
    })
}

fn resource_json(one: &Checked) -> Json {
    let subject = &one.subject;
    let texts =
        |paths: &[Pointer]| -> Vec<String> { paths.iter().map(Pointer::to_string).collect() };
    let mut document = json!({
        "stack": subject.location.stack.as_str(),
        "logicalId": subject.location.logical_id.as_str(),
        "type": subject.resource_type.as_str(),
        "physicalId": subject.physical_id.as_str(),
        "notCompared": {
            "unknown": texts(&one.left_out.unknown),
            "secret": texts(&one.left_out.secret),
            "unreadable": texts(&one.left_out.unreadable),
        },
    });
    add_standing(&mut document, &one.standing);
    document
}

fn add_standing(document: &mut Json, standing: &Standing) {
    let status = match standing {
        Standing::InSync => "inSync",
        Standing::Drifted(_) => "drifted",
        Standing::Gone => "deleted",
        Standing::Unverified(_) => "unverified",
    };
    document["status"] = status.into();
    match standing {
        Standing::InSync | Standing::Gone => {}
        Standing::Drifted(found) => {
            document["patch"] = found.iter().map(divergence_json).collect();
        }
        Standing::Unverified(why) => {
            document["reason"] = json!({"code": code(why), "text": why.to_string()});
        }
    }
}

fn code(why: &Unverified) -> &'static str {
    match why {
        Unverified::Custom => "custom",
        Unverified::Unsupported => "unsupported",
        Unverified::NoAddress(_) => "noIdentifier",
        Unverified::NotFoundPerhaps(_) => "notFound",
        Unverified::Macro => "macro",
        Unverified::Denied(_) => "denied",
        Unverified::Failed(_) => "failed",
        Unverified::NestedStack => "nestedStack",
        Unverified::GoneBefore => "goneBefore",
    }
}

/// An operation of a JSON patch, with what it finds and what it would mean.
fn divergence_json(one: &Divergence) -> Json {
    // Values are texts, numbers, lists and objects, which can always be written.
    let value = |value: &Value| serde_json::to_value(Written(value)).unwrap_or_default();
    let mut document = json!({"op": one.kind.as_str(), "path": one.path.to_string()});
    if one.is_hidden {
        document["hidden"] = true.into();
    }
    if let Some(declared) = &one.declared {
        document["value"] = value(declared);
    }
    if let Some(current) = &one.current {
        document["current"] = value(current);
    }
    document["verdict"] = match one.verdict {
        Verdict::InPlace => "inPlace",
        Verdict::CannotBeVerified => "cannotBeVerified",
        Verdict::MayReplace => "mayReplace",
        Verdict::Replaces => "replaces",
        Verdict::CannotBeSet => "cannotBeSet",
    }
    .into();
    document
}

/// Says what became of resources that were moved to a program, in one line: the member `event` is `verified`.
pub fn verified_json(verification: &Verification) -> String {
    let each = |one: &VerifiedMove| {
        let mut document = json!({
            "type": one.resource_type.as_str(),
            "source": one.source,
            "destination": one.destination,
        });
        add_standing(&mut document, &one.standing);
        document
    };
    let line = json!({
        "event": "verified",
        "account": verification.environment.account.as_str(),
        "region": verification.environment.region.as_str(),
        "moves": verification.moves.iter().map(each).collect::<Vec<_>>(),
    });
    escaped(&line.to_string())
}
