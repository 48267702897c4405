//! From a request to the operation of a service.

use super::auth::Caller;
use super::form::Form;
use super::http::Call;
use super::log::RequestRecord;
use super::protocol::{Protocol, Reply, json_reply};
use super::{Server, cloud_control, cloudformation, ec2, ecr, route53, s3, ssm, sts};
use crate::local::error::{Answer, ServiceError};
use crate::local::record::Json;
use crate::local::state::Region;

/// The services that are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    CloudFormation,
    CloudControl,
    Ec2,
    Ecr,
    Route53,
    S3,
    Ssm,
    Sts,
}

impl Service {
    /// Finds a service by its name in the scope of credentials.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "cloudformation" => Self::CloudFormation,
            "cloudcontrolapi" => Self::CloudControl,
            "ec2" => Self::Ec2,
            "ecr" => Self::Ecr,
            "route53" => Self::Route53,
            "s3" => Self::S3,
            "ssm" => Self::Ssm,
            "sts" => Self::Sts,
            _ => return None,
        })
    }

    /// Returns how the service speaks.
    pub(super) fn protocol(self) -> Protocol {
        match self {
            Self::CloudFormation => cloudformation::PROTOCOL,
            Self::CloudControl => Protocol::Json { version: "1.0" },
            Self::Ecr | Self::Ssm => Protocol::Json { version: "1.1" },
            Self::Ec2 => ec2::PROTOCOL,
            Self::Route53 => route53::PROTOCOL,
            Self::S3 => Protocol::Rest,
            Self::Sts => sts::PROTOCOL,
        }
    }
}

/// A request for which there is a service.
#[derive(Debug)]
pub(super) struct Routed {
    pub(super) service: Service,
    pub(super) caller: Caller,
    pub(super) action: String,
    /// The members of a request of the query protocol.
    form: Form,
}

impl Routed {
    /// What the log remembers of it.
    pub(super) fn record(&self) -> RequestRecord {
        RequestRecord {
            service: self.caller.service.clone(),
            action: self.action.clone(),
            account: self.caller.environment.account.to_string(),
            region: self.caller.environment.region.to_string(),
            ..RequestRecord::default()
        }
    }
}

/// Finds the service and the operation, or answers that there is none.
pub(super) fn route(server: &Server, call: &Call, caller: Option<Caller>) -> Result<Routed, Reply> {
    let request_id = server.cloud.ambient.uuid();
    let Some(caller) = caller else {
        let text = "Request is missing Authentication Token";
        let error = ServiceError::new("MissingAuthenticationToken", 403, text);
        return Err(cloudformation::PROTOCOL.refuse(&error, &request_id));
    };
    let Some(service) = Service::of(&caller.service) else {
        let text = format!("The embedded CloudFormation has no service {}", caller.service);
        let error = ServiceError::new("UnknownService", 404, text);
        let json = call.headers.contains_key("x-amz-target");
        let protocol =
            if json { Protocol::Json { version: "1.1" } } else { cloudformation::PROTOCOL };
        return Err(protocol.refuse(&error, &request_id));
    };
    let refuse = |error| service.protocol().refuse(&error, &request_id);
    let mut form = Form::default();
    let action = match service.protocol() {
        Protocol::Query { version, .. } | Protocol::Ec2 { version } => {
            let text = if call.body.is_empty() { call.query.as_bytes() } else { &call.body };
            form = Form::parse(text).map_err(refuse)?;
            let Some(action) = form.owned("Action") else {
                let text = "Missing Action";
                return Err(refuse(ServiceError::new("MissingAction", 400, text)));
            };
            if form.text("Version").is_none_or(|given| given != version) {
                let given = form.text("Version").unwrap_or("NO_VERSION_SPECIFIED");
                return Err(refuse(ServiceError::no_operation(&action, given)));
            }
            action
        }
        Protocol::Json { .. } => {
            let target = call.header("x-amz-target").unwrap_or_default();
            target.rsplit('.').next().unwrap_or_default().to_owned()
        }
        Protocol::Rest => s3::action(call).to_owned(),
        Protocol::RestXml { .. } => route53::action(call).to_owned(),
    };
    Ok(Routed { service, caller, action, form })
}

/// Carries a request out and writes the answer.
pub(super) fn answer(server: &Server, call: &Call, routed: &Routed, request_id: &str) -> Reply {
    carry_out(server, call, routed, request_id)
        .unwrap_or_else(|error| routed.service.protocol().refuse(&error, request_id))
}

fn carry_out(server: &Server, call: &Call, routed: &Routed, request_id: &str) -> Answer<Reply> {
    let Routed { caller, action, form, .. } = routed;
    let region = server.region(&caller.environment)?;
    let json = |operation: fn(&Region<'_>, &str, &Json) -> Answer<Json>| -> Answer<Reply> {
        let body = operation(&region, action, &json_body(call)?)?;
        let version = routed.service.protocol().json_version();
        Ok(json_reply(version, 200, &body).with("x-amzn-requestid", request_id))
    };
    match routed.service {
        Service::CloudFormation => cloudformation::answer(&region, action, form, request_id),
        Service::CloudControl => json(cloud_control::answer),
        Service::Ec2 => ec2::answer(&region, action, form, request_id),
        Service::Ecr => json(ecr::answer),
        Service::Route53 => route53::answer(&region, action, call, request_id),
        Service::Ssm => json(ssm::answer),
        Service::Sts => sts::answer(&server.cloud.ambient, caller, action, form, request_id),
        Service::S3 => s3::answer(&server.cloud, &caller.environment.region, action, call)
            .map(|reply| reply.with("x-amz-request-id", request_id)),
    }
}

fn json_body(call: &Call) -> Answer<Json> {
    if call.body.is_empty() {
        return Ok(Json::Object(serde_json::Map::new()));
    }
    let refused = |error| ServiceError::new("SerializationException", 400, format!("{error}"));
    serde_json::from_slice(&call.body).map_err(refused)
}
