//! `hosted-zone`: the one hosted zone of a domain.

use aws_sdk_route53::types::{HostedZone, HostedZoneConfig};

use super::error::LookupProblem;
use super::object;
use super::query::Query;
use crate::aws::error::AwsError;
use crate::aws::session::Session;
use crate::model::Value;

pub(super) async fn look_up(session: &Session, query: &Query<'_>) -> Result<Value, LookupProblem> {
    let domain = query.text("domainName")?;
    let is_private = query.flag("privateZone")?.unwrap_or(false);
    let vpc = query.optional_text("vpcId")?;
    let mut zones = of_name(session, domain).await?;
    zones.retain(|zone| zone.config().is_some_and(HostedZoneConfig::private_zone) == is_private);
    if let Some(vpc) = vpc {
        let mut attached = Vec::new();
        for zone in zones {
            if is_in(session, &zone, vpc).await? {
                attached.push(zone);
            }
        }
        zones = attached;
    }
    let kind = if is_private { "private" } else { "public" };
    let of_vpc = vpc.map(|vpc| format!(" of the VPC {vpc}")).unwrap_or_default();
    let what = format!("{kind} hosted zone `{domain}`{of_vpc}");
    let environment = session.environment().clone();
    match &zones[..] {
        [zone] => Ok(object([("Id", Value::from(zone.id())), ("Name", Value::from(zone.name()))])),
        [] => Err(LookupProblem::NotFound { environment, what }),
        several => {
            let mut found: Vec<String> = several.iter().map(|zone| zone.id().to_owned()).collect();
            found.sort();
            Err(LookupProblem::Several { environment, what, found })
        }
    }
}

/// Lists the zones of a name. Zones are listed in the order of their names from this one on.
async fn of_name(session: &Session, domain: &str) -> Result<Vec<HostedZone>, AwsError> {
    let full = if domain.ends_with('.') { domain.to_owned() } else { format!("{domain}.") };
    let client = session.route53();
    let place = client.place().await;
    let (mut found, mut next) = (Vec::new(), (Some(domain.to_owned()), None));
    loop {
        let (name, id) = next;
        let answer = client.call_in(&place, "ListHostedZonesByName", None, |sdk| {
            sdk.list_hosted_zones_by_name().set_dns_name(name).set_hosted_zone_id(id).send()
        });
        let answer = answer.await?;
        let all = answer.hosted_zones.len();
        found.extend(
            answer.hosted_zones.into_iter().filter(|zone| zone.name.eq_ignore_ascii_case(&full)),
        );
        next = (answer.next_dns_name, answer.next_hosted_zone_id);
        let goes_on = next.0.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&full));
        if !answer.is_truncated || !goes_on || all == 0 {
            return Ok(found);
        }
    }
}

/// Whether a zone is attached to a VPC.
async fn is_in(session: &Session, zone: &HostedZone, vpc: &str) -> Result<bool, AwsError> {
    let id = zone.id();
    let answer =
        session.route53().call("GetHostedZone", None, |sdk| sdk.get_hosted_zone().id(id).send());
    Ok(answer.await?.vpcs().iter().any(|one| one.vpc_id() == Some(vpc)))
}
