//! Faults as people write them: `throttle=5`, `fail-resource=Shop.Queue`.

use super::wire_faults::{WireFault, WireFaultKind, WireFaults};
use crate::local::faults::{Faults, RefactorFault, ResourceFault};

/// A fault, of the wire or of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// How much later every request is answered, in milliseconds.
    Latency(u64),
    /// A fault of the wire.
    Wire(WireFault),
    /// What happens to the next stack refactor.
    Refactor(RefactorFault),
    /// A resource that fails in the next operation that creates or updates it.
    Resource(ResourceFault),
}

/// The text is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a fault: {problem}. Faults are: {KNOWN}")]
pub struct FaultError {
    text: String,
    problem: String,
}

/// What a fault can be, as errors and help say it.
const KNOWN: &str = "latency=50ms, throttle=5, drop-before=ACTION, drop-after=ACTION, \
                     internal-error=ACTION, not-xml=ACTION, malformed-xml=ACTION, \
                     expired-token=ACTION, access-denied=ACTION (each also N, N:ACTION or without \
                     a value), create-failed=REASON, execute-failed=REASON, \
                     rollback-complete=REASON, rollback-failed=REASON, obsolete, \
                     alter-moved=PROPERTY=VALUE, \
                     fail-resource=STACK.LOGICAL-ID or STACK.LOGICAL-ID:REASON";

impl Fault {
    /// What can be written, for help texts.
    pub const KNOWN: &'static str = KNOWN;

    /// Reads a fault.
    ///
    /// # Errors
    /// When the name is not known or the value is not what the name needs; the message lists
    /// what is known.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let wrong =
            |problem: &str| FaultError { text: text.to_owned(), problem: problem.to_owned() };
        let reason = || value.unwrap_or("Injected by a fault").to_owned();
        if let Some(kind) = wire_kind(name) {
            return wire(kind, value).map(Self::Wire).map_err(|problem| wrong(&problem));
        }
        Ok(match name {
            "latency" => {
                let digits = value.unwrap_or_default();
                let digits = digits.strip_suffix("ms").unwrap_or(digits);
                Self::Latency(digits.parse().map_err(|_| wrong("it needs milliseconds"))?)
            }
            "create-failed" => Self::Refactor(RefactorFault::CreateFailed(reason())),
            "execute-failed" => Self::Refactor(RefactorFault::ExecuteFailed(reason())),
            "rollback-complete" => Self::Refactor(RefactorFault::RollbackComplete(reason())),
            "rollback-failed" => Self::Refactor(RefactorFault::RollbackFailed(reason())),
            "obsolete" if value.is_some() => return Err(wrong("it takes no value")),
            "obsolete" => Self::Refactor(RefactorFault::Obsolete),
            "alter-moved" => Self::Refactor(
                alteration(value.unwrap_or_default())
                    .ok_or_else(|| wrong("it needs a property, a `=` and a value"))?,
            ),
            "fail-resource" => Self::Resource(
                resource(value.unwrap_or_default())
                    .ok_or_else(|| wrong("it needs a stack, a dot and a logical ID"))?,
            ),
            _ => return Err(wrong("there is none of this name")),
        })
    }

    /// Adds this to what is armed.
    pub(super) fn add_to(&self, wire: &mut WireFaults, engine: &mut Faults) {
        match self {
            Self::Latency(ms) => wire.latency_ms = *ms,
            Self::Wire(fault) => wire.faults.push(fault.clone()),
            Self::Refactor(fault) => engine.refactors.push(fault.clone()),
            Self::Resource(fault) => engine.resources.push(fault.clone()),
        }
    }
}

fn wire_kind(name: &str) -> Option<WireFaultKind> {
    Some(match name {
        "throttle" => WireFaultKind::Throttle,
        "drop-before" => WireFaultKind::DropBefore,
        "drop-after" => WireFaultKind::DropAfter,
        "internal-error" => WireFaultKind::InternalError,
        "not-xml" => WireFaultKind::NotXml,
        "malformed-xml" => WireFaultKind::MalformedXml,
        "expired-token" => WireFaultKind::ExpiredToken,
        "access-denied" => WireFaultKind::AccessDenied,
        _ => return None,
    })
}

/// `N`, `ACTION`, `N:ACTION` or nothing.
fn wire(kind: WireFaultKind, value: Option<&str>) -> Result<WireFault, String> {
    let value = value.unwrap_or("1");
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let (times, action) = match value.split_once(':') {
        Some((times, action)) => (times, Some(action)),
        None if is_number(value) => (value, None),
        None => ("1", Some(value)),
    };
    let times = times.parse().map_err(|_| format!("`{times}` is not a number of requests"))?;
    if action.is_some_and(|action| !action.starts_with(|c: char| c.is_ascii_uppercase())) {
        return Err("actions are named like GetTemplate".to_owned());
    }
    Ok(WireFault { kind, action: action.map(str::to_owned), times })
}

/// `PROPERTY=VALUE`, the value as JSON or a text.
fn alteration(value: &str) -> Option<RefactorFault> {
    let (property, value) = value.split_once('=').filter(|(property, _)| !property.is_empty())?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Some(RefactorFault::Alters { property: property.to_owned(), value })
}

/// `STACK.LOGICAL-ID` or `STACK.LOGICAL-ID:REASON`.
fn resource(value: &str) -> Option<ResourceFault> {
    let (place, reason) = value.split_once(':').unwrap_or((value, "Injected by a fault"));
    let (stack, logical_id) = place.split_once('.')?;
    if stack.is_empty() || logical_id.is_empty() {
        return None;
    }
    Some(ResourceFault {
        stack: Some(stack.to_owned()),
        logical_id: Some(logical_id.to_owned()),
        resource_type: None,
        message: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_the_wire(kind: WireFaultKind, action: Option<&str>, times: u32) -> Fault {
        Fault::Wire(WireFault { kind, action: action.map(str::to_owned), times })
    }

    #[test]
    fn faults_are_read() {
        let parse = |text: &str| Fault::parse(text).unwrap();
        assert_eq!(parse("throttle=5"), on_the_wire(WireFaultKind::Throttle, None, 5));
        assert_eq!(parse("latency=50ms"), Fault::Latency(50));
        assert_eq!(
            parse("drop-after=3:CreateStackRefactor"),
            on_the_wire(WireFaultKind::DropAfter, Some("CreateStackRefactor"), 3)
        );
        assert_eq!(
            parse("access-denied=AssumeRole"),
            on_the_wire(WireFaultKind::AccessDenied, Some("AssumeRole"), 1)
        );
        assert_eq!(parse("not-xml"), on_the_wire(WireFaultKind::NotXml, None, 1));
        assert_eq!(parse("obsolete"), Fault::Refactor(RefactorFault::Obsolete));
        assert_eq!(
            parse("create-failed=no=way"),
            Fault::Refactor(RefactorFault::CreateFailed("no=way".to_owned()))
        );
        assert_eq!(
            parse("alter-moved=DelaySeconds=5"),
            Fault::Refactor(RefactorFault::Alters {
                property: "DelaySeconds".to_owned(),
                value: 5.into()
            })
        );
        let Fault::Resource(fault) = parse("fail-resource=Shop.Queue:full") else { panic!() };
        assert_eq!((fault.stack.as_deref(), fault.message.as_str()), (Some("Shop"), "full"));
    }

    #[test]
    fn what_is_no_fault_is_told_what_is() {
        for text in [
            "trottle=5",
            "latency=fast",
            "alter-moved=x",
            "drop-before=x",
            "fail-resource=Queue",
            "obsolete=1",
        ] {
            let error = Fault::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` is not a fault: ")), "{error}");
            assert!(error.contains("rollback-failed=REASON"), "{error}");
        }
    }
}
