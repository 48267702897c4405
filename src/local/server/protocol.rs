//! The wire protocols: what an answer and an error look like on each of them.

use serde_json::json;

use super::xml::Xml;
use crate::local::error::ServiceError;
use crate::local::record::Json;

/// An answer, ready to be sent.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// Returns an answer of a type.
    pub(super) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type", content_type.to_owned())];
        Self { status, headers, body: body.into() }
    }

    /// Returns an answer that is neither XML nor JSON.
    pub(super) fn plain(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain", text)
    }

    /// Returns an answer without a body.
    pub(super) fn empty(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// How a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Forms in, XML out.
    Query { namespace: &'static str, version: &'static str },
    /// JSON in, JSON out.
    Json { version: &'static str },
    /// EC2: forms in, XML out, errors in a form of their own.
    Ec2 { version: &'static str },
    /// S3.
    Rest,
    /// Route 53: paths in, XML out.
    RestXml { namespace: &'static str },
}

impl Protocol {
    /// Returns the version of JSON that the service speaks, if it does.
    pub(super) fn json_version(self) -> &'static str {
        match self {
            Self::Json { version } => version,
            Self::Query { .. } | Self::Ec2 { .. } | Self::Rest | Self::RestXml { .. } => "1.0",
        }
    }

    /// Writes an error.
    pub(super) fn refuse(self, error: &ServiceError, request_id: &str) -> Reply {
        let ServiceError { code, message, http_status } = error;
        match self {
            Self::Query { namespace, .. } | Self::RestXml { namespace } => {
                let mut xml = Xml::default();
                xml.with("ErrorResponse", &format!("xmlns=\"{namespace}\""), |xml| {
                    xml.inside("Error", |xml| {
                        xml.text("Type", if *http_status < 500 { "Sender" } else { "Receiver" });
                        xml.text("Code", code);
                        xml.text("Message", message);
                    });
                    xml.text("RequestId", request_id);
                });
                Reply::new(*http_status, "text/xml", xml.finish())
                    .with("x-amzn-requestid", request_id)
            }
            Self::Json { version } => {
                let body = if message.is_empty() {
                    json!({ "__type": code })
                } else {
                    json!({ "__type": code, "message": message })
                };
                json_reply(version, *http_status, &body).with("x-amzn-requestid", request_id)
            }
            Self::Ec2 { .. } => {
                let mut xml = Xml::default();
                xml.inside("Response", |xml| {
                    xml.inside("Errors", |xml| {
                        xml.inside("Error", |xml| {
                            xml.text("Code", code);
                            xml.text("Message", message);
                        });
                    });
                    xml.text("RequestID", request_id);
                });
                Reply::new(*http_status, "text/xml", xml.finish())
                    .with("x-amzn-requestid", request_id)
            }
            Self::Rest => {
                let mut xml = Xml::default();
                xml.inside("Error", |xml| {
                    xml.text("Code", code);
                    xml.text("Message", message);
                    xml.text("RequestId", request_id);
                });
                let text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", xml.finish());
                Reply::new(*http_status, "application/xml", text)
                    .with("x-amz-request-id", request_id)
            }
        }
    }
}

/// Writes the answer of an operation of the query protocol; `None` for one whose output has no
/// shape.
pub(super) fn query_reply(
    namespace: &str,
    action: &str,
    result: Option<Xml>,
    request_id: &str,
) -> Reply {
    let mut xml = Xml::default();
    xml.with(&format!("{action}Response"), &format!("xmlns=\"{namespace}\""), |xml| {
        if let Some(result) = result {
            xml.inside(&format!("{action}Result"), |xml| xml.append(&result));
        }
        xml.inside("ResponseMetadata", |xml| xml.text("RequestId", request_id));
    });
    Reply::new(200, "text/xml", xml.finish()).with("x-amzn-requestid", request_id)
}

/// Writes JSON.
pub(super) fn json_reply(version: &str, status: u16, body: &Json) -> Reply {
    Reply::new(status, &format!("application/x-amz-json-{version}"), body.to_string())
}
