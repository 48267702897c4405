//! Trouble on the wire on demand: late, lost, broken and refused answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::protocol::{Protocol, Reply};
use crate::local::error::ServiceError;

/// What goes wrong on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireFaultKind {
    /// The request is answered with `Throttling`.
    Throttle,
    /// The connection is closed; the request is not carried out.
    DropBefore,
    /// The request is carried out, and the connection is closed without an answer.
    DropAfter,
    /// HTTP 500 `InternalFailure`; the request is not carried out.
    InternalError,
    /// HTTP 400 with a text that is no XML; the request is not carried out.
    NotXml,
    /// The request is carried out; the answer ends within its first tag, with HTTP 200.
    MalformedXml,
    /// The credentials are refused as expired.
    ExpiredToken,
    /// The caller is refused as not authorized.
    AccessDenied,
}

/// A fault that meets the next requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireFault {
    /// What happens.
    pub kind: WireFaultKind,
    /// Only to this operation, such as `GetTemplate`; to every one without.
    #[serde(default)]
    pub action: Option<String>,
    /// To how many requests.
    #[serde(default = "once")]
    pub times: u32,
}

/// Within the first tag of every answer.
const FIRST_TAG: usize = 8;

fn once() -> u32 {
    1
}

/// What is armed on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WireFaults {
    /// How much later every request is answered, in milliseconds.
    pub latency_ms: u64,
    /// What meets the next requests. A request meets the first that is for it, and no other.
    pub faults: Vec<WireFault>,
}

/// Whether a request is carried out although it meets a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is not.
    Before,
    /// It is.
    After,
}

/// A fault that a request has met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sabotage {
    kind: WireFaultKind,
    action: String,
}

impl WireFaults {
    /// What a request meets; counts down.
    pub(super) fn meet(&mut self, action: &str) -> (Duration, Option<Sabotage>) {
        let for_it = |fault: &WireFault| fault.action.as_ref().is_none_or(|other| other == action);
        self.faults.retain(|fault| fault.times > 0);
        let met = self.faults.iter_mut().find(|fault| for_it(fault)).map(|fault| {
            fault.times -= 1;
            Sabotage { kind: fault.kind, action: action.to_owned() }
        });
        (Duration::from_millis(self.latency_ms), met)
    }
}

impl Sabotage {
    /// Whether the request is carried out.
    pub(super) fn stage(&self) -> Stage {
        match self.kind {
            WireFaultKind::DropAfter | WireFaultKind::MalformedXml => Stage::After,
            _ => Stage::Before,
        }
    }

    /// What a request is answered that is not carried out; nothing if the connection is closed.
    pub(super) fn before(&self, protocol: Protocol, request_id: &str) -> Option<Reply> {
        let error = match self.kind {
            WireFaultKind::Throttle => ServiceError::throttling(),
            WireFaultKind::InternalError => {
                ServiceError::new("InternalFailure", 500, "An internal error occurred")
            }
            WireFaultKind::NotXml => {
                return Some(Reply::plain(400, "HTTP content could not be read."));
            }
            WireFaultKind::ExpiredToken => ServiceError::new(
                "ExpiredToken",
                403,
                "The security token included in the request is expired",
            ),
            WireFaultKind::AccessDenied => ServiceError::new(
                "AccessDenied",
                403,
                format!("User is not authorized to perform: {}", self.action),
            ),
            WireFaultKind::DropBefore | WireFaultKind::DropAfter | WireFaultKind::MalformedXml => {
                return None;
            }
        };
        Some(protocol.refuse(&error, request_id))
    }

    /// What becomes of an answer; nothing if the connection is closed.
    pub(super) fn after(&self, mut reply: Reply) -> Option<Reply> {
        if self.kind != WireFaultKind::MalformedXml {
            return None;
        }
        // Further on, the SDK for Rust takes what there is for the whole.
        reply.body.truncate(FIRST_TAG);
        reply.headers.retain(|(name, _)| *name != "content-length");
        Some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_meets_the_requests_that_it_is_for_as_often_as_it_says() {
        let mut faults: WireFaults = serde_json::from_str(
            r#"{"latency_ms":5,"faults":[{"kind":"drop-after","action":"A","times":2},{"kind":"not-xml"}]}"#,
        )
        .unwrap();
        let mut meet = |action: &str| faults.meet(action).1.map(|sabotage| sabotage.kind);
        assert_eq!(meet("B"), Some(WireFaultKind::NotXml));
        assert_eq!(meet("B"), None);
        assert_eq!(meet("A"), Some(WireFaultKind::DropAfter));
        assert_eq!(meet("A"), Some(WireFaultKind::DropAfter));
        assert_eq!(meet("A"), None);
        assert_eq!(faults.meet("A").0, Duration::from_millis(5));
    }
}
