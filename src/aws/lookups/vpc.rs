//! `vpc-provider`: a VPC with its subnets.

use aws_sdk_ec2::types::{Filter, RouteTable, Subnet, Vpc, VpnGateway};

use super::ami::to_sdk;
use super::error::LookupProblem;
use super::query::{Query, shown};
use super::subnets::{self, Classified, Groups};
use super::{list, object};
use crate::aws::client::Place;
use crate::aws::error::AwsError;
use crate::aws::session::Session;
use crate::model::{Text, Value};

/// What the app wants to know of its VPC.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes<'a> {
    asymmetric: bool,
    name_tag: Option<&'a str>,
}

/// What EC2 says of a VPC.
#[derive(Debug, Default)]
struct Described {
    subnets: Vec<Subnet>,
    tables: Vec<RouteTable>,
    gateways: Vec<VpnGateway>,
}

pub(super) async fn look_up(session: &Session, query: &Query<'_>) -> Result<Value, LookupProblem> {
    let wishes = Wishes {
        asymmetric: query.flag("returnAsymmetricSubnets")?.unwrap_or(false),
        name_tag: query.optional_text("subnetGroupNameTag")?.filter(|tag| !tag.is_empty()),
    };
    let wants_gateway = query.flag("returnVpnGateways")?.unwrap_or(true);
    let place = session.ec2().place().await;
    let vpc = find(session, &place, query).await?;
    let id = vpc.vpc_id().unwrap_or_default();
    let mut described = Described {
        subnets: all_subnets(session, &place, id).await?,
        tables: all_tables(session, &place, id).await?,
        gateways: Vec::new(),
    };
    if wants_gateway {
        described.gateways = gateways(session, &place, id).await?;
    }
    shape(&vpc, &described, wishes)
}

async fn find(
    session: &Session,
    place: &Place<'_>,
    query: &Query<'_>,
) -> Result<Vpc, LookupProblem> {
    let filters = query.filters("filter")?;
    let (mut found, mut token) = (Vec::new(), None);
    loop {
        let answer = session.ec2().call_in(place, "DescribeVpcs", None, |sdk| {
            let request = sdk.describe_vpcs().set_next_token(token.take());
            request.set_filters(Some(to_sdk(&filters))).send()
        });
        let answer = answer.await?;
        found.extend(answer.vpcs.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    let what = format!("VPC with {}", shown(&filters));
    let environment = session.environment().clone();
    if found.len() > 1 {
        let ids = found.iter().filter_map(Vpc::vpc_id);
        let mut found: Vec<String> = ids.map(str::to_owned).collect();
        found.sort();
        return Err(LookupProblem::Several { environment, what, found });
    }
    found.pop().ok_or(LookupProblem::NotFound { environment, what })
}

fn of_vpc(id: &str) -> Filter {
    Filter::builder().name("vpc-id").values(id).build()
}

async fn all_subnets(
    session: &Session,
    place: &Place<'_>,
    vpc: &str,
) -> Result<Vec<Subnet>, AwsError> {
    let (mut found, mut token) = (Vec::new(), None);
    loop {
        let answer = session.ec2().call_in(place, "DescribeSubnets", None, |sdk| {
            sdk.describe_subnets().set_next_token(token.take()).filters(of_vpc(vpc)).send()
        });
        let answer = answer.await?;
        found.extend(answer.subnets.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(found);
        }
    }
}

async fn all_tables(
    session: &Session,
    place: &Place<'_>,
    vpc: &str,
) -> Result<Vec<RouteTable>, AwsError> {
    let (mut found, mut token) = (Vec::new(), None);
    loop {
        let answer = session.ec2().call_in(place, "DescribeRouteTables", None, |sdk| {
            sdk.describe_route_tables().set_next_token(token.take()).filters(of_vpc(vpc)).send()
        });
        let answer = answer.await?;
        found.extend(answer.route_tables.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(found);
        }
    }
}

/// The VPN gateways that are attached and can be used. EC2 has no pages of them.
async fn gateways(
    session: &Session,
    place: &Place<'_>,
    vpc: &str,
) -> Result<Vec<VpnGateway>, AwsError> {
    let filter = |name: &str, value: &str| Filter::builder().name(name).values(value).build();
    let answer = session.ec2().call_in(place, "DescribeVpnGateways", None, |sdk| {
        sdk.describe_vpn_gateways()
            .filters(filter("attachment.vpc-id", vpc))
            .filters(filter("attachment.state", "attached"))
            .filters(filter("state", "available"))
            .send()
    });
    Ok(answer.await?.vpn_gateways.unwrap_or_default())
}

/// The shape that the construct library reads (`VpcContextResponse`). Members without a value are
/// left out, as JavaScript writes them.
fn shape(vpc: &Vpc, described: &Described, wishes: Wishes<'_>) -> Result<Value, LookupProblem> {
    let id = vpc.vpc_id().unwrap_or_default();
    let subnets = subnets::classify(&described.subnets, &described.tables, wishes.name_tag)?;
    let groups = Groups::of(subnets);
    let zones = if wishes.asymmetric { Vec::new() } else { groups.common_zones(id)? };
    let mut members = vec![
        ("vpcId", Some(Value::from(id))),
        ("vpcCidrBlock", vpc.cidr_block().map(Value::from)),
        ("ownerAccountId", vpc.owner_id().map(Value::from)),
        ("availabilityZones", Some(list(zones))),
    ];
    if !wishes.asymmetric {
        members.extend(by_kind(&groups));
    }
    let gateway = match &described.gateways[..] {
        [gateway] => gateway.vpn_gateway_id().map(Value::from),
        _ => None,
    };
    members.push(("vpnGatewayId", gateway));
    members.push(("subnetGroups", wishes.asymmetric.then(|| listed(&groups))));
    let members = members.into_iter().filter_map(|(name, value)| Some((Text::from(name), value?)));
    Ok(Value::Object(members.collect()))
}

/// IDs, names of groups and route tables, for each kind of subnets that there is.
fn by_kind(groups: &Groups) -> Vec<(&'static str, Option<Value>)> {
    const MEMBERS: [(&str, [&str; 3]); 3] = [
        ("Isolated", ["isolatedSubnetIds", "isolatedSubnetNames", "isolatedSubnetRouteTableIds"]),
        ("Private", ["privateSubnetIds", "privateSubnetNames", "privateSubnetRouteTableIds"]),
        ("Public", ["publicSubnetIds", "publicSubnetNames", "publicSubnetRouteTableIds"]),
    ];
    let some = |texts: Vec<&str>| (!texts.is_empty()).then(|| list(texts));
    let mut members = Vec::new();
    for (kind, [ids, names, tables]) in MEMBERS {
        let of_kind = || groups.0.iter().filter(move |group| group.kind == kind);
        let subnets = || of_kind().flat_map(|group| &group.subnets);
        members.push((ids, some(subnets().map(|subnet| subnet.id.as_str()).collect())));
        members.push((names, some(of_kind().map(|group| group.name.as_str()).collect())));
        members.push((tables, some(subnets().map(|subnet| subnet.table.as_str()).collect())));
    }
    members
}

fn listed(groups: &Groups) -> Value {
    let subnet = |subnet: &Classified| {
        object([
            ("subnetId", Value::from(subnet.id.as_str())),
            ("cidr", Value::from(subnet.cidr.as_str())),
            ("availabilityZone", Value::from(subnet.zone.as_str())),
            ("routeTableId", Value::from(subnet.table.as_str())),
        ])
    };
    let groups = groups.0.iter().map(|group| {
        object([
            ("name", Value::from(group.name.as_str())),
            ("type", Value::from(group.kind)),
            ("subnets", Value::Array(group.subnets.iter().map(subnet).collect())),
        ])
    });
    Value::Array(groups.collect())
}

#[cfg(test)]
mod tests {
    use super::super::subnets::tests::{main_table, subnet, table};
    use super::*;
    use crate::template::json;

    fn described() -> Described {
        Described {
            subnets: vec![
                subnet("s-2", "b", &[("aws-cdk:subnet-type", "Private")]),
                subnet("s-1", "a", &[("aws-cdk:subnet-type", "Private")]),
                subnet("s-4", "b", &[("aws-cdk:subnet-type", "Public")]),
                subnet("s-3", "a", &[("aws-cdk:subnet-type", "Public")]),
            ],
            tables: vec![main_table("rtb-main"), table("rtb-1", &["s-1"])],
            gateways: vec![VpnGateway::builder().vpn_gateway_id("vgw-1").build()],
        }
    }

    fn shaped(described: &Described, asymmetric: bool) -> String {
        let vpc = Vpc::builder().vpc_id("vpc-1").cidr_block("10.0.0.0/16").owner_id("1").build();
        let shaped = shape(&vpc, described, Wishes { asymmetric, name_tag: None });
        json::to_compact(&shaped.unwrap())
    }

    #[test]
    fn subnets_are_grouped_as_the_construct_library_reads_them() {
        insta::assert_snapshot!(
            shaped(&described(), true),
            @r#"{"vpcId":"vpc-1","vpcCidrBlock":"10.0.0.0/16","ownerAccountId":"1","availabilityZones":[],"vpnGatewayId":"vgw-1","subnetGroups":[{"name":"Private","type":"Private","subnets":[{"subnetId":"s-1","cidr":"10.0.1.0/24","availabilityZone":"eu-west-1a","routeTableId":"rtb-1"},{"subnetId":"s-2","cidr":"10.0.2.0/24","availabilityZone":"eu-west-1b","routeTableId":"rtb-main"}]},{"name":"Public","type":"Public","subnets":[{"subnetId":"s-3","cidr":"10.0.3.0/24","availabilityZone":"eu-west-1a","routeTableId":"rtb-main"},{"subnetId":"s-4","cidr":"10.0.4.0/24","availabilityZone":"eu-west-1b","routeTableId":"rtb-main"}]}]}"#
        );
    }

    #[test]
    fn old_construct_libraries_get_lists_by_kind_of_subnet() {
        insta::assert_snapshot!(
            shaped(&described(), false),
            @r#"{"vpcId":"vpc-1","vpcCidrBlock":"10.0.0.0/16","ownerAccountId":"1","availabilityZones":["eu-west-1a","eu-west-1b"],"privateSubnetIds":["s-1","s-2"],"privateSubnetNames":["Private"],"privateSubnetRouteTableIds":["rtb-1","rtb-main"],"publicSubnetIds":["s-3","s-4"],"publicSubnetNames":["Public"],"publicSubnetRouteTableIds":["rtb-main","rtb-main"],"vpnGatewayId":"vgw-1"}"#
        );
    }

    #[test]
    fn one_of_several_vpn_gateways_is_not_chosen() {
        let mut several = described();
        several.gateways.push(VpnGateway::builder().vpn_gateway_id("vgw-2").build());
        assert!(!shaped(&several, true).contains("vpnGatewayId"));
    }
}
