//! `security-group`: a security group by its ID, or by its name and VPC.

use aws_sdk_ec2::types::{IpPermission, SecurityGroup};

use super::ami::to_sdk;
use super::error::LookupProblem;
use super::object;
use super::query::{Query, shown};
use crate::aws::session::Session;
use crate::model::Value;

pub(super) async fn look_up(session: &Session, query: &Query<'_>) -> Result<Value, LookupProblem> {
    let id = query.optional_text("securityGroupId")?;
    let name = query.optional_text("securityGroupName")?;
    let what = match (id, name) {
        (Some(_), Some(_)) => "and `securityGroupName` exclude each other",
        (None, None) => "or `securityGroupName` has to be there",
        _ => "",
    };
    if !what.is_empty() {
        return Err(LookupProblem::Query { property: "securityGroupId".to_owned(), what });
    }
    let mut filters = Vec::new();
    if let Some(vpc) = query.optional_text("vpcId")? {
        filters.push(("vpc-id".to_owned(), vec![vpc.to_owned()]));
    }
    if let Some(name) = name {
        filters.push(("group-name".to_owned(), vec![name.to_owned()]));
    }
    let groups = describe(session, id, &filters).await?;
    let mut asked: Vec<String> = id.map(str::to_owned).into_iter().collect();
    asked.extend((!filters.is_empty()).then(|| shown(&filters)));
    let what = format!("security group {}", asked.join(" with "));
    let environment = session.environment().clone();
    match &groups[..] {
        [group] => Ok(shape(group)),
        [] => Err(LookupProblem::NotFound { environment, what }),
        several => {
            let ids = several.iter().filter_map(SecurityGroup::group_id);
            let mut found: Vec<String> = ids.map(str::to_owned).collect();
            found.sort();
            Err(LookupProblem::Several { environment, what, found })
        }
    }
}

async fn describe(
    session: &Session,
    id: Option<&str>,
    filters: &[(String, Vec<String>)],
) -> Result<Vec<SecurityGroup>, LookupProblem> {
    let client = session.ec2();
    let place = client.place().await;
    let (mut groups, mut token) = (Vec::new(), None);
    loop {
        let answer = client.call_in(&place, "DescribeSecurityGroups", None, |sdk| {
            let request = sdk.describe_security_groups().set_next_token(token.take());
            let filters = (!filters.is_empty()).then(|| to_sdk(filters));
            let ids = id.map(|id| vec![id.to_owned()]);
            request.set_group_ids(ids).set_filters(filters).send()
        });
        let answer = match answer.await {
            Err(error) if error.code() == Some("InvalidGroup.NotFound") => return Ok(groups),
            answer => answer?,
        };
        groups.extend(answer.security_groups.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(groups);
        }
    }
}

fn shape(group: &SecurityGroup) -> Value {
    let id = group.group_id().unwrap_or_default();
    let is_open = lets_everything_out(group.ip_permissions_egress());
    object([("securityGroupId", Value::from(id)), ("allowAllOutbound", Value::Bool(is_open))])
}

/// Whether all traffic may leave, by IPv4 and by IPv6.
fn lets_everything_out(rules: &[IpPermission]) -> bool {
    let all = || rules.iter().filter(|rule| rule.ip_protocol() == Some("-1"));
    let by_4 = all().flat_map(IpPermission::ip_ranges);
    let by_6 = all().flat_map(IpPermission::ipv6_ranges);
    by_4.into_iter().any(|range| range.cidr_ip() == Some("0.0.0.0/0"))
        && by_6.into_iter().any(|range| range.cidr_ipv6() == Some("::/0"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::json;
    use aws_sdk_ec2::types::{IpRange, Ipv6Range};

    fn rule(protocol: &str, by_4: Option<&str>, by_6: Option<&str>) -> IpPermission {
        let by_4 = by_4.map(|cidr| vec![IpRange::builder().cidr_ip(cidr).build()]);
        let by_6 = by_6.map(|cidr| vec![Ipv6Range::builder().cidr_ipv6(cidr).build()]);
        let rule = IpPermission::builder().ip_protocol(protocol);
        rule.set_ip_ranges(by_4).set_ipv6_ranges(by_6).build()
    }

    #[test]
    fn a_group_is_open_only_if_all_traffic_may_leave_by_both_versions_of_ip() {
        let both = [rule("-1", Some("0.0.0.0/0"), None), rule("-1", None, Some("::/0"))];
        assert!(lets_everything_out(&both));
        assert!(lets_everything_out(&[rule("-1", Some("0.0.0.0/0"), Some("::/0"))]));
        assert!(!lets_everything_out(&both[..1]));
        assert!(!lets_everything_out(&[rule("tcp", Some("0.0.0.0/0"), Some("::/0"))]));
        assert!(!lets_everything_out(&[rule("-1", Some("10.0.0.0/8"), Some("::/0"))]));
        assert!(!lets_everything_out(&[]));
    }

    #[test]
    fn a_group_has_the_shape_that_the_construct_library_reads() {
        let group = SecurityGroup::builder().group_id("sg-1").build();
        let expected = r#"{"securityGroupId":"sg-1","allowAllOutbound":false}"#;
        assert_eq!(json::to_compact(&shape(&group)), expected);
    }
}
