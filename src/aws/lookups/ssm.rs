//! `ssm`: the value of a parameter of the parameter store.

use super::error::LookupProblem;
use super::query::Query;
use crate::aws::session::Session;
use crate::model::Value;

pub(super) async fn look_up(session: &Session, query: &Query<'_>) -> Result<Value, LookupProblem> {
    let name = query.text("parameterName")?;
    // Without decryption, as in the CDK CLI: the value is written to a file that is committed.
    let answer =
        session.ssm().call("GetParameter", None, |sdk| sdk.get_parameter().name(name).send());
    let value = match answer.await {
        Ok(answer) => answer.parameter.and_then(|parameter| parameter.value),
        Err(error) if error.code() == Some("ParameterNotFound") => None,
        Err(error) => return Err(error.into()),
    };
    value.map(|value| Value::from(value.as_str())).ok_or_else(|| LookupProblem::NotFound {
        environment: session.environment().clone(),
        what: format!("SSM parameter `{name}`"),
    })
}
