//! Which subnets of a VPC are public, private and isolated, and which belong together.

use aws_sdk_ec2::types::{Route, RouteTable, Subnet, Tag};

use super::error::LookupProblem;

/// The tags with which the construct library marks its subnets.
const KIND_TAG: &str = "aws-cdk:subnet-type";
const NAME_TAG: &str = "aws-cdk:subnet-name";
const KINDS: [&str; 3] = ["Public", "Private", "Isolated"];
const EVERYWHERE: &str = "0.0.0.0/0";

/// A subnet, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Classified {
    pub(super) id: String,
    pub(super) cidr: String,
    pub(super) zone: String,
    /// The ID of its route table.
    pub(super) table: String,
    /// `Public`, `Private` or `Isolated`.
    kind: &'static str,
    /// The name of its group.
    name: String,
}

/// Subnets of one kind and one name, in the order of their zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) subnets: Vec<Classified>,
}

/// The groups of a VPC, in the order in which EC2 named their first subnets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups(pub(super) Vec<Group>);

/// Says of each subnet where it belongs: by its tags, else by where its routes lead.
///
/// # Errors
/// When a tag says something impossible or is missing, or a subnet has no route table.
pub(super) fn classify(
    subnets: &[Subnet],
    tables: &[RouteTable],
    name_tag: Option<&str>,
) -> Result<Vec<Classified>, LookupProblem> {
    subnets.iter().map(|subnet| classify_one(subnet, tables, name_tag)).collect()
}

fn classify_one(
    subnet: &Subnet,
    tables: &[RouteTable],
    name_tag: Option<&str>,
) -> Result<Classified, LookupProblem> {
    let id = subnet.subnet_id().unwrap_or_default();
    let unfit = |what: String| LookupProblem::Unfit(format!("the subnet {id} {what}"));
    let table = table_of(id, tables);
    let kind = match tag(KIND_TAG, subnet.tags()) {
        Some(said) => KINDS.into_iter().find(|kind| *kind == said).ok_or_else(|| {
            unfit(format!(
                "has the tag `{KIND_TAG}` = `{said}`, which is neither Public nor Private nor \
                 Isolated"
            ))
        })?,
        None => kind_by_routes(subnet, table),
    };
    if let Some(wanted) = name_tag
        && tag(wanted, subnet.tags()).is_none_or(str::is_empty)
    {
        return Err(unfit(format!("has no tag `{wanted}`, which is to name its group")));
    }
    let name = tag(name_tag.unwrap_or(NAME_TAG), subnet.tags());
    let table_id = table
        .and_then(RouteTable::route_table_id)
        .ok_or_else(|| unfit("has no route table, and its VPC has no main one".to_owned()))?;
    Ok(Classified {
        id: id.to_owned(),
        cidr: subnet.cidr_block().unwrap_or_default().to_owned(),
        zone: subnet.availability_zone().unwrap_or_default().to_owned(),
        table: table_id.to_owned(),
        kind,
        name: name.filter(|name| !name.is_empty()).unwrap_or(kind).to_owned(),
    })
}

fn tag<'a>(name: &str, tags: &'a [Tag]) -> Option<&'a str> {
    tags.iter().find(|tag| tag.key() == Some(name))?.value()
}

/// The route table of a subnet: its own one, else the main one of the VPC.
fn table_of<'a>(subnet: &str, tables: &'a [RouteTable]) -> Option<&'a RouteTable> {
    let own = |table: &&RouteTable| {
        table.associations().iter().any(|link| link.subnet_id() == Some(subnet))
    };
    let main =
        |table: &&RouteTable| table.associations().iter().any(|link| link.main() == Some(true));
    tables.iter().find(own).or_else(|| tables.iter().find(main))
}

fn kind_by_routes(subnet: &Subnet, table: Option<&RouteTable>) -> &'static str {
    let routes = table.map(RouteTable::routes).unwrap_or_default();
    let leads_out = |route: &Route| route.gateway_id().is_some_and(|id| id.starts_with("igw-"));
    let leads_on = |route: &Route| {
        let has_way = route.nat_gateway_id().is_some() || route.transit_gateway_id().is_some();
        has_way && route.destination_cidr_block() == Some(EVERYWHERE)
    };
    if subnet.map_public_ip_on_launch() == Some(true) || routes.iter().any(leads_out) {
        "Public"
    } else if routes.iter().any(leads_on) {
        "Private"
    } else {
        "Isolated"
    }
}

impl Groups {
    /// Puts subnets of one kind and one name together.
    pub(super) fn of(subnets: Vec<Classified>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for subnet in subnets {
            let same = |group: &&mut Group| group.kind == subnet.kind && group.name == subnet.name;
            match groups.iter_mut().find(same) {
                Some(group) => group.subnets.push(subnet),
                None => groups.push(Group {
                    kind: subnet.kind,
                    name: subnet.name.clone(),
                    subnets: vec![subnet],
                }),
            }
        }
        for group in &mut groups {
            group.subnets.sort_by(|one, other| one.zone.cmp(&other.zone));
        }
        Self(groups)
    }

    /// Returns the zones of the subnets of every group.
    ///
    /// # Errors
    /// When groups have other zones than others: the lists that old construct libraries read
    /// cannot say so.
    pub(super) fn common_zones(&self, vpc: &str) -> Result<Vec<&str>, LookupProblem> {
        let zones = |group: &'_ Group| -> Vec<String> {
            group.subnets.iter().map(|subnet| subnet.zone.clone()).collect()
        };
        let Some(first) = self.0.first() else { return Ok(Vec::new()) };
        match self.0.iter().find(|group| zones(group) != zones(first)) {
            Some(other) => Err(LookupProblem::Unfit(format!(
                "not all subnets of {vpc} are in the same availability zones: {} ({}), but {} ({})",
                zones(first).join(", "),
                first.name,
                zones(other).join(", "),
                other.name
            ))),
            None => Ok(first.subnets.iter().map(|subnet| subnet.zone.as_str()).collect()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use aws_sdk_ec2::types::RouteTableAssociation;

    pub(in super::super) fn subnet(id: &str, zone: &str, tags: &[(&str, &str)]) -> Subnet {
        let tag = |(key, value): &(&str, &str)| Tag::builder().key(*key).value(*value).build();
        Subnet::builder()
            .subnet_id(id)
            .availability_zone(format!("eu-west-1{zone}"))
            .cidr_block(format!("10.0.{}.0/24", id.trim_start_matches("s-")))
            .set_tags(Some(tags.iter().map(tag).collect()))
            .build()
    }

    pub(in super::super) fn table(id: &str, subnets: &[&str]) -> RouteTable {
        let link = |subnet: &&str| RouteTableAssociation::builder().subnet_id(*subnet).build();
        let links = subnets.iter().map(link).collect();
        RouteTable::builder().route_table_id(id).set_associations(Some(links)).build()
    }

    pub(in super::super) fn main_table(id: &str) -> RouteTable {
        let link = RouteTableAssociation::builder().main(true).build();
        RouteTable::builder().route_table_id(id).associations(link).build()
    }

    fn kind(subnet: &Subnet, routes: &[Route]) -> &'static str {
        let mut main = main_table("rtb");
        main.routes = Some(routes.to_vec());
        classify(std::slice::from_ref(subnet), &[main], None).unwrap()[0].kind
    }

    #[test]
    fn a_subnet_without_a_tag_is_what_its_routes_make_of_it() {
        let plain = subnet("s-1", "a", &[]);
        let nat = Route::builder().nat_gateway_id("nat-1");
        let transit = Route::builder().transit_gateway_id("tgw-1");
        let internet = Route::builder().gateway_id("igw-1").build();
        assert_eq!(kind(&plain, &[]), "Isolated");
        assert_eq!(kind(&plain, &[Route::builder().gateway_id("local").build()]), "Isolated");
        assert_eq!(kind(&plain, &[nat.clone().build()]), "Isolated");
        let nat = nat.destination_cidr_block("0.0.0.0/0").build();
        assert_eq!(kind(&plain, std::slice::from_ref(&nat)), "Private");
        let transit = transit.destination_cidr_block("0.0.0.0/0").build();
        assert_eq!(kind(&plain, &[transit]), "Private");
        assert_eq!(kind(&plain, &[nat.clone(), internet]), "Public");
        let mut open = plain;
        open.map_public_ip_on_launch = Some(true);
        assert_eq!(kind(&open, &[nat]), "Public");
    }

    #[test]
    fn the_tag_of_the_construct_library_counts_more_than_routes() {
        let tagged = subnet("s-1", "a", &[(KIND_TAG, "Private")]);
        assert_eq!(kind(&tagged, &[Route::builder().gateway_id("igw-1").build()]), "Private");
    }

    fn problem(subnet: Subnet, tables: &[RouteTable], name_tag: Option<&str>) -> String {
        classify(&[subnet], tables, name_tag).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_subnet() {
        let main = [main_table("rtb")];
        assert_eq!(
            problem(subnet("s-1", "a", &[(KIND_TAG, "Secret")]), &main, None),
            "the subnet s-1 has the tag `aws-cdk:subnet-type` = `Secret`, which is neither Public \
             nor Private nor Isolated"
        );
        assert_eq!(
            problem(subnet("s-1", "a", &[]), &main, Some("Network")),
            "the subnet s-1 has no tag `Network`, which is to name its group"
        );
        assert_eq!(
            problem(subnet("s-1", "a", &[]), &[table("rtb", &["s-2"])], None),
            "the subnet s-1 has no route table, and its VPC has no main one"
        );
    }

    #[test]
    fn a_tag_of_the_choice_of_the_app_names_the_groups() {
        let subnets = [
            subnet("s-1", "b", &[("Network", "dmz")]),
            subnet("s-2", "a", &[("Network", "core")]),
            subnet("s-3", "a", &[("Network", "dmz")]),
        ];
        let classified = classify(&subnets, &[main_table("rtb")], Some("Network")).unwrap();
        let groups = Groups::of(classified).0;
        let ids = |at: usize| -> Vec<&str> {
            groups[at].subnets.iter().map(|subnet| subnet.id.as_str()).collect()
        };
        assert_eq!((groups[0].name.as_str(), ids(0)), ("dmz", vec!["s-3", "s-1"]));
        assert_eq!((groups[1].name.as_str(), ids(1)), ("core", vec!["s-2"]));
    }

    #[test]
    fn groups_in_different_zones_have_no_zones_in_common() {
        let subnets =
            [subnet("s-1", "a", &[(NAME_TAG, "x")]), subnet("s-2", "b", &[(NAME_TAG, "y")])];
        let groups = Groups::of(classify(&subnets, &[main_table("rtb")], None).unwrap());
        assert_eq!(
            groups.common_zones("vpc-1").unwrap_err().to_string(),
            "not all subnets of vpc-1 are in the same availability zones: eu-west-1a (x), but \
             eu-west-1b (y)"
        );
    }
}
