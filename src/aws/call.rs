//! Errors of the SDK → our errors.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_cloudformation::config::http::HttpResponse;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};

use super::error::{Call, CallError, Cause};

/// How much of a message is kept.
const LONGEST: usize = 2000;

/// Translates an error of the SDK.
pub(super) fn translate<E>(call: Call, error: &SdkError<E, HttpResponse>) -> CallError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let status = error.raw_response().map(|response| response.status().as_u16());
    let code = error.code().map(str::to_owned);
    // A role that is assumed on the way has been translated already.
    if let Some(inner) = find::<CallError, _>(error) {
        return CallError { call, ..inner.clone() };
    }
    let (cause, message) = match (&code, error) {
        (Some(code), _) => (cause_of(code, status), error.message().unwrap_or_default().to_owned()),
        (None, SdkError::TimeoutError(_)) => (Cause::Timeout, chain(error)),
        (None, SdkError::DispatchFailure(failure)) if failure.is_timeout() => {
            (Cause::Timeout, chain(error))
        }
        (None, _) if let Some(found) = find::<CredentialsError, _>(error) => {
            let text = chain(found)
                .lines()
                .map(str::trim)
                .collect::<Vec<_>>()
                .join("; ")
                .replace(":;", ":");
            (credentials_cause(&text), text)
        }
        (None, SdkError::DispatchFailure(_)) => (Cause::Connection, chain(error)),
        (None, SdkError::ConstructionFailure(_)) => (Cause::Refused, chain(error)),
        (None, _) => {
            let body = error.raw_response().and_then(|response| response.body().bytes());
            (unreadable_cause(status), unreadable(status, body))
        }
    };
    CallError { call, cause, message: presentable(&message, code.as_deref()), code }
}

/// What the codes of the services mean that we call (common errors of AWS).
fn cause_of(code: &str, status: Option<u16>) -> Cause {
    match code {
        "ExpiredToken" | "ExpiredTokenException" | "RequestExpired" | "TokenRefreshRequired" => {
            Cause::Expired
        }
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "IncompleteSignature"
        | "InvalidAccessKeyId"
        | "MissingAuthenticationToken"
        | "AuthFailure"
        | "OptInRequired" => Cause::Invalid,
        "AccessDenied" | "AccessDeniedException" | "UnauthorizedOperation" | "Forbidden" => {
            Cause::Denied
        }
        "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "TooManyRequestsException"
        | "RequestLimitExceeded"
        | "SlowDown"
        | "PriorRequestNotComplete" => Cause::Throttled,
        "RequestEntityTooLarge" | "EntityTooLarge" => Cause::TooLarge,
        _ if status.is_some_and(|status| status >= 500) => Cause::Server,
        _ => Cause::Refused,
    }
}

fn credentials_cause(text: &str) -> Cause {
    let lower = text.to_ascii_lowercase();
    if lower.contains("expired") {
        Cause::Expired
    } else if lower.contains("dispatch failure") {
        // STS or the SSO portal, on the way to credentials.
        Cause::Connection
    } else {
        Cause::NoCredentials
    }
}

fn unreadable_cause(status: Option<u16>) -> Cause {
    match status {
        Some(413) => Cause::TooLarge,
        Some(429) => Cause::Throttled,
        Some(401 | 403) => Cause::Denied,
        Some(500..) => Cause::Server,
        _ => Cause::NotAnAnswer,
    }
}

/// The front end of CloudFormation answers some requests with plain text, proxies with HTML.
fn unreadable(status: Option<u16>, body: Option<&[u8]>) -> String {
    let text = String::from_utf8_lossy(body.unwrap_or_default());
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = text.chars().take(200).collect();
    let status = status.map_or_else(|| "no HTTP status".to_owned(), |code| format!("HTTP {code}"));
    if shown.is_empty() { status } else { format!("{status}, \"{shown}\"") }
}

/// The messages of an error and of everything under it, without repetitions.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        next = error.source();
    }
    text
}

/// Finds an error of a certain type under another.
fn find<'a, T: Error + 'static, E: Error + 'static>(error: &'a E) -> Option<&'a T> {
    let mut next: Option<&'a (dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Takes out what nobody may read, and cuts what nobody will read.
fn presentable(message: &str, code: Option<&str>) -> String {
    // Quotes the request with its security token.
    let message = match code {
        Some("SignatureDoesNotMatch" | "InvalidSignatureException") => {
            message.split(['\n', '.']).next().unwrap_or_default()
        }
        _ => message,
    };
    let mut shown: String = message.chars().take(LONGEST).collect();
    if shown.len() < message.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Environment;
    use aws_sdk_cloudformation::error::ErrorMetadata;
    use aws_sdk_cloudformation::operation::get_template::GetTemplateError;
    use aws_sdk_s3::primitives::SdkBody;

    fn call() -> Call {
        Call {
            operation: "GetTemplate",
            environment: Environment::new("111111111111", "eu-west-1"),
            stack: Some("Web".to_owned()),
        }
    }

    fn answered(status: u16, code: Option<&str>, text: &str) -> CallError {
        let mut metadata = ErrorMetadata::builder();
        if let Some(code) = code {
            metadata = metadata.code(code).message(text);
        }
        let error = GetTemplateError::generic(metadata.build());
        let response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(text));
        translate(call(), &SdkError::service_error(error, response))
    }

    #[test]
    fn an_expired_token_is_said_in_plain_words_with_what_to_do() {
        let error = answered(403, Some("ExpiredToken"), "The security token is expired");
        assert_eq!(error.cause, Cause::Expired);
        assert_eq!(
            error.to_string(),
            "stack `Web` in aws://111111111111/eu-west-1: the AWS credentials have expired \
             (GetTemplate): The security token is expired (ExpiredToken). Log in again \
             (`aws sso login`) or renew the credentials."
        );
    }

    #[test]
    fn an_answer_that_is_no_xml_is_shown_with_its_status() {
        let error = answered(413, None, "HTTP content length exceeded 1049600 bytes.");
        assert_eq!(error.cause, Cause::TooLarge);
        let text = error.to_string();
        assert!(text.contains("HTTP 413, \"HTTP content length exceeded"), "{text}");
        assert_eq!(answered(200, None, "<html>").cause, Cause::NotAnAnswer);
    }

    #[test]
    fn a_rejected_signature_does_not_show_the_security_token() {
        let error = answered(
            403,
            Some("SignatureDoesNotMatch"),
            "The signature does not match. The canonical string was\nx-amz-security-token:SECRET",
        );
        assert_eq!(error.cause, Cause::Invalid);
        assert!(!error.to_string().contains("SECRET"), "{error}");
    }

    #[test]
    fn a_refusal_keeps_the_words_and_the_code_of_the_service() {
        let error = answered(400, Some("ValidationError"), "Stack with id Web does not exist");
        assert!(error.is_missing_stack() && error.had_no_effect());
        assert_eq!(
            error.to_string(),
            "stack `Web` in aws://111111111111/eu-west-1: GetTemplate failed: Stack with id Web \
             does not exist (ValidationError)."
        );
    }

    #[test]
    fn after_a_failure_of_the_server_nobody_knows_whether_it_had_an_effect() {
        assert!(!answered(500, Some("InternalFailure"), "").had_no_effect());
        assert!(!answered(503, None, "busy").had_no_effect());
        assert!(answered(400, Some("Throttling"), "Rate exceeded").had_no_effect());
    }
}
