//! The control endpoint below `/_cdkr/`: health, faults, and the log of requests. It is no part of
//! AWS and needs no credentials.

use hyper::Method;
use serde_json::json;

use super::auth::is_account;
use super::http::Call;
use super::protocol::Reply;
use super::wire_faults::WireFaults;
use super::{Server, lock};
use crate::local::faults::Faults;
use crate::local::record::Json;
use crate::model::Environment;

/// Where the paths of this endpoint begin.
pub(super) const PREFIX: &str = "/_cdkr/";

/// Answers a request to this endpoint.
pub(super) fn answer(server: &Server, call: &Call) -> Reply {
    let path = call.path.strip_prefix(PREFIX).unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let (get, put, delete) =
        (call.method == Method::GET, call.method == Method::PUT, call.method == Method::DELETE);
    match parts.as_slice() {
        ["health"] if get => json_reply(&json!({ "status": "ok" })),
        ["requests"] if get => {
            let log = lock(&server.log);
            json_reply(&json!({ "count": log.count(), "requests": log.records() }))
        }
        ["requests"] if delete => {
            *lock(&server.log) = super::log::Log::default();
            Reply::empty(204)
        }
        ["wire"] => wire(server, call),
        ["faults", account, region] if is_account(account) && !region.is_empty() => {
            let environment = Environment::new(account, region);
            let region = server.cloud.region(&environment);
            let armed = if get {
                region.armed().map(|faults| json_reply(&json!(faults)))
            } else if put {
                match serde_json::from_slice::<Faults>(&call.body) {
                    Ok(faults) => region.arm(&faults).map(|()| Reply::empty(204)),
                    Err(error) => return wrong(&error),
                }
            } else if delete {
                region.arm(&Faults::default()).map(|()| Reply::empty(204))
            } else {
                return Reply::plain(405, "GET, PUT or DELETE");
            };
            armed.unwrap_or_else(|error| Reply::plain(error.http_status, &error.to_string()))
        }
        _ => Reply::plain(
            404,
            "GET /_cdkr/health, GET|DELETE /_cdkr/requests, GET|PUT|DELETE /_cdkr/wire, \
             GET|PUT|DELETE /_cdkr/faults/ACCOUNT/REGION",
        ),
    }
}

fn wire(server: &Server, call: &Call) -> Reply {
    match call.method {
        Method::GET => json_reply(&json!(*lock(&server.wire))),
        Method::PUT => match serde_json::from_slice::<WireFaults>(&call.body) {
            Ok(faults) => {
                *lock(&server.wire) = faults;
                Reply::empty(204)
            }
            Err(error) => wrong(&error),
        },
        Method::DELETE => {
            *lock(&server.wire) = WireFaults::default();
            Reply::empty(204)
        }
        _ => Reply::plain(405, "GET, PUT or DELETE"),
    }
}

fn wrong(error: &serde_json::Error) -> Reply {
    Reply::plain(400, &format!("not what is expected here: {error}"))
}

fn json_reply(body: &Json) -> Reply {
    Reply::new(200, "application/json", body.to_string())
}
