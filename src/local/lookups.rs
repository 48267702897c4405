//! What look-ups find: whatever somebody has written into `lookups.json` of an environment.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;

use super::error::Answer;
use super::evaluate::zones;
use super::record::Json;
use super::state::Region;

const FILE: &str = "lookups.json";

/// The things of an environment that no stack here makes, each as the AWS CLI shows it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Lookups {
    pub(crate) availability_zones: Option<Vec<Json>>,
    pub(crate) images: Vec<Json>,
    pub(crate) vpcs: Vec<Json>,
    pub(crate) subnets: Vec<Json>,
    pub(crate) route_tables: Vec<Json>,
    pub(crate) vpn_gateways: Vec<Json>,
    pub(crate) security_groups: Vec<Json>,
    pub(crate) hosted_zones: Vec<Json>,
}

impl Region<'_> {
    /// Returns what look-ups find in this environment.
    ///
    /// # Errors
    /// When the file is not of this form.
    pub(crate) fn lookups(&self) -> Answer<Lookups> {
        Ok(self.read(|tx| tx.get::<Lookups>(FILE))?.unwrap_or_default())
    }

    /// Returns the zones of the region: those of the file, else the three of `Fn::GetAZs`.
    ///
    /// # Errors
    /// When the file is not of this form.
    pub(crate) fn zones(&self) -> Answer<Vec<Json>> {
        if let Some(zones) = self.lookups()?.availability_zones {
            return Ok(zones);
        }
        let region = self.environment.region.as_str();
        let names = zones(region);
        let zone = |name| json!({ "State": "available", "RegionName": region, "ZoneName": name });
        Ok(names.as_array().into_iter().flatten().map(zone).collect())
    }

    /// Returns the hosted zones of the account: Route 53 has no regions.
    ///
    /// # Errors
    /// When a file is not of this form.
    pub(crate) fn hosted_zones(&self) -> Answer<Vec<Json>> {
        let (mut found, mut known) = (Vec::new(), BTreeSet::new());
        let environments = self.cloud.environments()?.into_iter();
        for environment in environments.filter(|one| one.account == self.environment.account) {
            let lookups = self
                .read(|tx| tx.get_elsewhere::<Lookups>(&environment, FILE))?
                .unwrap_or_default();
            for zone in lookups.hosted_zones {
                if known.insert(zone["Id"].to_string()) {
                    found.push(zone);
                }
            }
        }
        Ok(found)
    }
}
