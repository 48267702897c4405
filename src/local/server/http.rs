//! Requests in and answers out: the Host header, the length of bodies, faults of the wire.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::{HeaderMap, Method, Request, Response};

use super::auth::Caller;
use super::dispatch::{self, Routed};
use super::protocol::Reply;
use super::wire_faults::Stage;
use super::{Server, control, lock};

/// The longest body of all services but S3. [I] The exact number of the front end of AWS is not
/// documented.
const LONGEST: usize = 1_200_000;
/// The longest object.
const LONGEST_OBJECT: usize = 512 * 1024 * 1024;
/// How much of a body that is too long is read and thrown away, so that clients that send first
/// and read then see the answer.
const PATIENCE: usize = 64 * 1024 * 1024;

/// A request, read in full.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: Method,
    /// Still percent-encoded.
    pub(super) path: String,
    /// Still percent-encoded.
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    /// For a virtual host: the bucket that it names.
    pub(super) bucket: Option<String>,
    pub(super) body: Bytes,
}

impl Call {
    /// Returns a header that is text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns a parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }
}

/// The connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection was dropped")]
pub(super) struct Dropped;

/// Answers a request.
pub(super) async fn answer(
    server: Arc<Server>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let (head, mut body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    let host = head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let Some(name) = our_host(host, server.port) else {
        let text = "The Host header does not name the loopback interface.";
        return Ok(response(Reply::plain(403, text)));
    };
    let bucket = bucket_of(name).map(str::to_owned);
    let caller = Caller::read(&head.headers, &query, &server.account);
    let is_object = caller.as_ref().is_some_and(|caller| caller.service == "s3");
    let limit = if is_object { LONGEST_OBJECT } else { LONGEST };
    let body = match read(&mut body, &head.headers, limit).await? {
        Ok(bytes) => bytes,
        Err(TooLong) => {
            let text = format!("HTTP content length exceeded {limit} bytes.");
            return Ok(response(Reply::plain(413, &text)));
        }
    };
    let call = Call { method: head.method, path, query, headers: head.headers, bucket, body };
    if call.path.starts_with(control::PREFIX) {
        return blocking(move || control::answer(&server, &call)).await.map(response);
    }
    match dispatch::route(&server, &call, caller) {
        Ok(routed) => carry_out(server, call, routed).await.map(response),
        Err(reply) => Ok(response(reply)),
    }
}

/// Carries a request out, unless a fault of the wire is in its way.
async fn carry_out(server: Arc<Server>, call: Call, routed: Routed) -> Result<Reply, Dropped> {
    let (delay, sabotage) = lock(&server.wire).meet(&routed.action);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let record = routed.record();
    let request_id = server.cloud.ambient.uuid();
    let (before, after) = match sabotage {
        Some(sabotage) if sabotage.stage() == Stage::Before => (Some(sabotage), None),
        other => (None, other),
    };
    let reply = match before {
        Some(sabotage) => sabotage.before(routed.service.protocol(), &request_id),
        None => {
            let shared = Arc::clone(&server);
            let reply =
                blocking(move || dispatch::answer(&shared, &call, &routed, &request_id)).await?;
            match after {
                Some(sabotage) => sabotage.after(reply),
                None => Some(reply),
            }
        }
    };
    let status = reply.as_ref().map(|reply| reply.status);
    lock(&server.log).add(record, status);
    reply.ok_or(Dropped)
}

/// Runs what reads and writes files on a thread for that. A panic drops the connection.
async fn blocking(work: impl FnOnce() -> Reply + Send + 'static) -> Result<Reply, Dropped> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Dropped)
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    let failed = |_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    };
    response.body(Full::new(Bytes::from(reply.body))).unwrap_or_else(failed)
}

#[derive(Debug)]
struct TooLong;

/// Reads a body, up to a limit.
async fn read(
    body: &mut Incoming,
    headers: &HeaderMap,
    limit: usize,
) -> Result<Result<Bytes, TooLong>, Dropped> {
    let announced = headers
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok())
        .or_else(|| body.size_hint().exact().and_then(|length| length.try_into().ok()))
        .unwrap_or_default();
    let waits = headers.contains_key("expect");
    if announced > limit && (waits || announced > PATIENCE.max(limit)) {
        return Ok(Err(TooLong));
    }
    let mut bytes = Vec::with_capacity(announced.min(limit));
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Dropped)?.into_data() else { continue };
        length += data.len();
        if length <= limit {
            bytes.extend_from_slice(&data);
        } else if length > PATIENCE.max(limit) {
            break;
        } else {
            bytes = Vec::new();
        }
    }
    Ok(if length > limit { Err(TooLong) } else { Ok(Bytes::from(bytes)) })
}

/// The name in a Host header, if it is one of ours: a page of the web whose name was made to
/// lead here must not be able to read anything.
fn our_host(host: &str, port: u16) -> Option<&str> {
    let name = match host.rsplit_once(':') {
        Some((name, text)) if text.parse() == Ok(port) => name,
        // Clients leave the port out if it is the usual one.
        _ if port == 80 => host,
        _ => return None,
    };
    let loopback = ["127.0.0.1", "localhost", "[::1]"].contains(&name);
    (loopback || bucket_of(name).is_some()).then_some(name)
}

/// The bucket of `bucket.localhost`, `bucket.s3.localhost` or `bucket.s3.region.localhost`: names
/// below `localhost` lead nowhere else (RFC 6761).
fn bucket_of(name: &str) -> Option<&str> {
    let rest = name.strip_suffix(".localhost")?;
    let bucket = match rest.rsplit_once(".s3") {
        Some((bucket, after)) if after.is_empty() || after.starts_with('.') => bucket,
        _ => rest,
    };
    (!bucket.is_empty() && bucket != "s3").then_some(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_loopback_interface_are_ours() {
        for ours in ["127.0.0.1:4000", "localhost:4000", "[::1]:4000", "b.s3.localhost:4000"] {
            assert!(our_host(ours, 4000).is_some(), "{ours}");
        }
        for other in
            ["127.0.0.1:4001", "127.0.0.1", "evil.example:4000", "", "localhost.evil.example:4000"]
        {
            assert_eq!(our_host(other, 4000), None, "{other}");
        }
        assert_eq!(our_host("localhost", 80), Some("localhost"));
    }

    #[test]
    fn virtual_hosts_name_buckets() {
        assert_eq!(bucket_of("my.bucket.s3.us-east-1.localhost"), Some("my.bucket"));
        assert_eq!(bucket_of("bucket.s3.localhost"), Some("bucket"));
        assert_eq!(bucket_of("bucket.localhost"), Some("bucket"));
        assert_eq!(bucket_of("localhost"), None);
    }
}
