//! The account as the deployed side.

use super::Error;
use crate::assembly::Assembly;
use crate::event::Host;
use crate::model::DeployedEnvironment;
use crate::settings::Settings;

pub(super) struct Connection;

impl Connection {
    pub(super) async fn default_environment(&self) -> Option<(String, String)> {
        None
    }
}

pub(super) async fn connect(_: &Settings, _: &dyn Host) -> Result<Connection, Error> {
    Ok(Connection)
}

pub(super) async fn read(
    _: &Connection,
    _: &Settings,
    _: &mut Assembly,
    _: &dyn Host,
) -> Result<(Vec<DeployedEnvironment>, Vec<String>), Error> {
    Ok((Vec::new(), Vec::new()))
}
