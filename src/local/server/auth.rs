//! Who calls: account and region by the credentials of a request. Signatures are not verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::HeaderMap;

use crate::model::Environment;

/// What keys that name an account start with, those of users and those of assumed roles.
const USER_KEY: &str = "AKIACDKR";
const ROLE_KEY: &str = "ASIACDKR";

/// Returns an access key ID that the server takes for one of the given account (12 digits).
/// Secret and token can be anything.
pub fn access_key(account: &str) -> String {
    format!("{USER_KEY}{account}")
}

/// Returns the access key ID of an assumed role in an account.
pub(super) fn role_key(account: &str) -> String {
    format!("{ROLE_KEY}{account}")
}

/// Whether this is the number of an account.
pub(super) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The role behind temporary credentials. It travels in the session token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) role: String,
    pub(super) name: String,
}

impl Session {
    /// Returns the token in which this travels.
    pub(super) fn token(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}\n{}", self.role, self.name))
    }

    fn read(token: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let (role, name) = text.split_once('\n')?;
        Some(Self { role: role.to_owned(), name: name.to_owned() })
    }
}

/// Whoever sends a request, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) environment: Environment,
    /// The name of the service in the scope of the credentials.
    pub(super) service: String,
    pub(super) session: Option<Session>,
}

impl Caller {
    /// Reads the credentials in the header or, for presigned requests, in the query.
    pub(super) fn read(headers: &HeaderMap, query: &str, fallback: &str) -> Option<Self> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let parameter = |name: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        let credential = match header("authorization") {
            Some(text) => text.split_once("Credential=")?.1.split([',', ' ']).next()?.to_owned(),
            None => match parameter("X-Amz-Credential") {
                Some(credential) => credential,
                // The old form of presigned URLs, which the SDK for Python still makes.
                None => format!("{}/date/us-east-1/s3/aws4_request", parameter("AWSAccessKeyId")?),
            },
        };
        // The scope is the end: a key could contain slashes.
        let mut parts = credential.rsplitn(5, '/');
        if parts.next()? != "aws4_request" {
            return None;
        }
        let (service, region, _date, key) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_region = !region.is_empty()
            && region.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !is_region {
            return None;
        }
        let named = key.strip_prefix(USER_KEY).or_else(|| key.strip_prefix(ROLE_KEY));
        let account = named.or(Some(key)).filter(|text| is_account(text)).unwrap_or(fallback);
        let token = header("x-amz-security-token")
            .map(str::to_owned)
            .or_else(|| parameter("X-Amz-Security-Token"));
        let is_role = key.starts_with(ROLE_KEY);
        Some(Self {
            environment: Environment::new(account, region),
            service: service.to_owned(),
            session: token.filter(|_| is_role).and_then(|token| Session::read(&token)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(key: &str) -> Caller {
        let mut headers = HeaderMap::new();
        let text = format!(
            "AWS4-HMAC-SHA256 Credential={key}/20261121/eu-west-1/cloudformation/aws4_request, \
             SignedHeaders=host, Signature=0"
        );
        headers.insert("authorization", text.parse().unwrap());
        let session = Session { role: "r".to_owned(), name: "s".to_owned() };
        headers.insert("x-amz-security-token", session.token().parse().unwrap());
        Caller::read(&headers, "", "999999999999").unwrap()
    }

    #[test]
    fn keys_tell_the_account() {
        let account = |key: &str| caller(key).environment.account.to_string();
        assert_eq!(account(&access_key("111111111111")), "111111111111");
        assert_eq!(account("222222222222"), "222222222222");
        assert_eq!(account("AKIDEXAMPLE"), "999999999999");
        let role = caller(&role_key("333333333333"));
        assert_eq!(role.environment, Environment::new("333333333333", "eu-west-1"));
        assert_eq!(
            (role.service.as_str(), role.session.unwrap().role),
            ("cloudformation", "r".into())
        );
        assert_eq!(caller("222222222222").session, None);
    }

    #[test]
    fn presigned_requests_carry_their_credentials_in_the_query() {
        let query = "X-Amz-Credential=111111111111%2F20261121%2Fus-east-1%2Fs3%2Faws4_request";
        let caller = Caller::read(&HeaderMap::new(), query, "999999999999").unwrap();
        assert_eq!(caller.service, "s3");
        let old = Caller::read(&HeaderMap::new(), "AWSAccessKeyId=111111111111", "9").unwrap();
        assert_eq!(
            (old.service.as_str(), old.environment.account.as_str()),
            ("s3", "111111111111")
        );
        assert_eq!(Caller::read(&HeaderMap::new(), "x=y", "999999999999"), None);
        assert_eq!(Caller::read(&HeaderMap::new(), "X-Amz-Credential=a/b", "9"), None);
    }
}
