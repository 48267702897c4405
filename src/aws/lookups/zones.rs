//! `availability-zones`: the names of the zones of a region that can be used.

use aws_sdk_ec2::types::{AvailabilityZone, AvailabilityZoneState};

use super::error::LookupProblem;
use super::list;
use crate::aws::session::Session;
use crate::model::Value;

pub(super) async fn look_up(session: &Session) -> Result<Value, LookupProblem> {
    let answer = session
        .ec2()
        .call("DescribeAvailabilityZones", None, |sdk| sdk.describe_availability_zones().send());
    Ok(names(answer.await?.availability_zones()))
}

/// The zones that are available, in the order of the answer (as the CDK CLI keeps them).
fn names(zones: &[AvailabilityZone]) -> Value {
    let is_available =
        |zone: &&AvailabilityZone| zone.state() == Some(&AvailabilityZoneState::Available);
    list(zones.iter().filter(is_available).filter_map(AvailabilityZone::zone_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;

    #[test]
    fn zones_that_cannot_be_used_are_left_out() {
        let zone = |name: &str, state| AvailabilityZone::builder().zone_name(name).state(state);
        let zones = [
            zone("eu-west-1b", AvailabilityZoneState::Available).build(),
            zone("eu-west-1c", AvailabilityZoneState::Impaired).build(),
            zone("eu-west-1a", AvailabilityZoneState::Available).build(),
        ];
        assert_eq!(json::to_compact(&names(&zones)), r#"["eu-west-1b","eu-west-1a"]"#);
    }
}
