//! Parameters of the SSM parameter store: what the bootstrap version needs.

use super::error::{Answer, ServiceError};
use super::state::{Region, Tx, file_name};

/// The bootstrap version that every environment has unless told otherwise. The embedded
/// CloudFormation is for trying things out: nobody should have to bootstrap it first.
pub const BOOTSTRAP_VERSION: &str = "32";

fn path(name: &str) -> String {
    format!("ssm/{}.json", file_name(name))
}

/// Returns the value of a parameter.
pub(crate) fn get(tx: &Tx<'_>, name: &str) -> Answer<Option<String>> {
    if let Some(value) = tx.get::<Option<String>>(&path(name))? {
        return Ok(value);
    }
    let bootstrap = name
        .strip_prefix("/cdk-bootstrap/")
        .and_then(|rest| rest.strip_suffix("/version"))
        .is_some_and(|qualifier| !qualifier.is_empty() && !qualifier.contains('/'));
    Ok(bootstrap.then(|| BOOTSTRAP_VERSION.to_owned()))
}

impl Region<'_> {
    /// Returns the value of a parameter of the parameter store.
    ///
    /// # Errors
    /// `ParameterNotFound`.
    pub fn get_parameter(&self, name: &str) -> Answer<String> {
        let value = self.read(|tx| get(tx, name))?;
        value.ok_or_else(|| ServiceError::new("ParameterNotFound", 400, ""))
    }

    /// Sets the value of a parameter; `None` takes it away, the bootstrap version too.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn put_parameter(&self, name: &str, value: Option<&str>) -> Answer<()> {
        self.unthrottled(|tx| tx.put(&path(name), &value))
    }
}
