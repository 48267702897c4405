//! EC2, as far as look-ups ask it: what somebody has written into `lookups.json`, filtered.

use super::form::Form;
use super::protocol::{Protocol, Reply};
use super::xml::Xml;
use crate::local::error::{Answer, ServiceError};
use crate::local::lookups::Lookups;
use crate::local::record::Json;
use crate::local::state::Region;

const NAMESPACE: &str = "xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"";
const VERSION: &str = "2016-11-15";

/// How EC2 speaks.
pub(super) const PROTOCOL: Protocol = Protocol::Ec2 { version: VERSION };

/// A kind of things that can be described.
struct Kind {
    action: &'static str,
    /// The element of the answer that holds them.
    set: &'static str,
    /// The member by which a request names single ones.
    id: &'static str,
    /// The code of the error if such a one is not there.
    missing: &'static str,
    /// Members that are called otherwise on the wire.
    renamed: &'static [(&'static str, &'static str)],
    all: fn(Lookups) -> Vec<Json>,
}

const KINDS: &[Kind] = &[
    Kind {
        action: "DescribeAvailabilityZones",
        set: "availabilityZoneInfo",
        id: "ZoneName",
        missing: "InvalidParameterValue",
        renamed: &[("State", "zoneState"), ("Messages", "messageSet")],
        all: |lookups| lookups.availability_zones.unwrap_or_default(),
    },
    Kind {
        action: "DescribeImages",
        set: "imagesSet",
        id: "ImageId",
        missing: "InvalidAMIID.NotFound",
        renamed: &[
            ("BlockDeviceMappings", "blockDeviceMapping"),
            ("OwnerId", "imageOwnerId"),
            ("Public", "isPublic"),
            ("State", "imageState"),
        ],
        all: |lookups| lookups.images,
    },
    Kind {
        action: "DescribeRouteTables",
        set: "routeTableSet",
        id: "RouteTableId",
        missing: "InvalidRouteTableID.NotFound",
        renamed: &[("PropagatingVgws", "propagatingVgwSet")],
        all: |lookups| lookups.route_tables,
    },
    Kind {
        action: "DescribeSecurityGroups",
        set: "securityGroupInfo",
        id: "GroupId",
        missing: "InvalidGroup.NotFound",
        renamed: &[("Description", "groupDescription")],
        all: |lookups| lookups.security_groups,
    },
    Kind {
        action: "DescribeSubnets",
        set: "subnetSet",
        id: "SubnetId",
        missing: "InvalidSubnetID.NotFound",
        renamed: &[],
        all: |lookups| lookups.subnets,
    },
    Kind {
        action: "DescribeVpcs",
        set: "vpcSet",
        id: "VpcId",
        missing: "InvalidVpcID.NotFound",
        renamed: &[],
        all: |lookups| lookups.vpcs,
    },
    Kind {
        action: "DescribeVpnGateways",
        set: "vpnGatewaySet",
        id: "VpnGatewayId",
        missing: "InvalidVpnGatewayID.NotFound",
        renamed: &[],
        all: |lookups| lookups.vpn_gateways,
    },
];

/// Carries out an operation.
pub(super) fn answer(
    region: &Region<'_>,
    action: &str,
    form: &Form,
    request_id: &str,
) -> Answer<Reply> {
    let kind = KINDS.iter().find(|kind| kind.action == action);
    let kind = kind.ok_or_else(|| ServiceError::no_operation(action, VERSION))?;
    let all = if action == "DescribeAvailabilityZones" {
        region.zones()?
    } else {
        (kind.all)(region.lookups()?)
    };
    let found = selected(kind, all, form, &region.environment().account)?;
    let mut xml = Xml::default();
    xml.with(&format!("{action}Response"), NAMESPACE, |xml| {
        xml.text("requestId", request_id);
        xml.inside(kind.set, |xml| {
            for item in &found {
                xml.inside("item", |xml| write_members(xml, item, kind.renamed));
            }
        });
    });
    Ok(Reply::new(200, "text/xml", xml.finish()).with("x-amzn-requestid", request_id))
}

/// What a request asks for: by IDs, by owners, by filters.
fn selected(kind: &Kind, all: Vec<Json>, form: &Form, account: &str) -> Answer<Vec<Json>> {
    let ids = form.numbered_texts(kind.id);
    if let Some(id) = ids.iter().find(|id| !all.iter().any(|one| one[kind.id] == id.as_str())) {
        let text = format!("The {} '{id}' does not exist", kind.id);
        return Err(ServiceError::new(kind.missing, 400, text));
    }
    let owners = form.numbered_texts("Owner");
    let filters: Vec<(String, Vec<String>)> = form
        .numbered("Filter")
        .into_iter()
        .map(|filter| (filter.owned("Name").unwrap_or_default(), filter.numbered_texts("Value")))
        .collect();
    let is_wanted = |one: &Json| {
        let id = one[kind.id].as_str().unwrap_or_default();
        (ids.is_empty() || ids.iter().any(|wanted| wanted == id))
            && (owners.is_empty() || owners.iter().any(|owner| is_of(one, owner, account)))
            && filters.iter().all(|(name, values)| passes(one, name, values))
    };
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn is_of(image: &Json, owner: &str, account: &str) -> bool {
    let owner_id = if owner == "self" { account } else { owner };
    image["OwnerId"] == owner_id || image["ImageOwnerAlias"] == owner
}

/// Whether a thing passes a filter; a filter for what it does not have is not passed.
fn passes(thing: &Json, name: &str, values: &[String]) -> bool {
    let tags = || thing["Tags"].as_array().into_iter().flatten();
    let texts: Vec<String> = if let Some(key) = name.strip_prefix("tag:") {
        let with_key = tags().filter(|tag| tag["Key"] == key);
        with_key.filter_map(|tag| text(&tag["Value"])).collect()
    } else if name == "tag-key" {
        tags().filter_map(|tag| text(&tag["Key"])).collect()
    } else {
        let path: Vec<String> = name.split('.').map(member).collect();
        let mut texts = Vec::new();
        collect(thing, &path, &mut texts);
        texts
    };
    texts.iter().any(|text| values.iter().any(|value| is_like(value.as_bytes(), text.as_bytes())))
}

/// `vpc-id` and `vpcId` are `VpcId`; some members are called otherwise in filters.
fn member(part: &str) -> String {
    let words = part.split('-').flat_map(|word| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(chars)
    });
    let name: String = words.collect();
    match name.as_str() {
        "Association" => "Associations".to_owned(),
        "Attachment" => "VpcAttachments".to_owned(),
        "Cidr" => "CidrBlock".to_owned(),
        "IsPublic" => "Public".to_owned(),
        "OwnerAlias" => "ImageOwnerAlias".to_owned(),
        "Route" => "Routes".to_owned(),
        _ => name,
    }
}

fn collect(value: &Json, path: &[String], texts: &mut Vec<String>) {
    match (value, path) {
        (Json::Array(items), _) => items.iter().for_each(|item| collect(item, path, texts)),
        (_, [first, rest @ ..]) => collect(&value[first.as_str()], rest, texts),
        (_, []) => texts.extend(text(value)),
    }
}

fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Whether a text is like a pattern with `*` and `?`, which EC2 allows in values of filters.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    // Where to go on if what follows the last `*` does not fit: a bit later in the text.
    let (mut at, mut from, mut again) = (0, 0, None);
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                again = Some((at + 1, from));
                at += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match again {
                Some((after, start)) => {
                    again = Some((after, start + 1));
                    at = after;
                    from = start + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

fn write_members(xml: &mut Xml, thing: &Json, renamed: &[(&str, &str)]) {
    for (name, value) in thing.as_object().into_iter().flatten() {
        let special = renamed.iter().find(|(from, _)| from == name).map(|(_, to)| (*to).to_owned());
        let element = special.unwrap_or_else(|| match name.as_str() {
            "Associations" => "associationSet".to_owned(),
            "Routes" => "routeSet".to_owned(),
            "Tags" => "tagSet".to_owned(),
            "UserIdGroupPairs" => "groups".to_owned(),
            "VpcAttachments" => "attachments".to_owned(),
            name => super::form::camel(name),
        });
        match value {
            Json::Array(items) => xml.inside(&element, |xml| {
                for item in items {
                    match text(item) {
                        Some(text) => xml.text("item", &text),
                        None => xml.inside("item", |xml| write_members(xml, item, &[])),
                    }
                }
            }),
            Json::Object(_) => xml.inside(&element, |xml| write_members(xml, value, &[])),
            value => xml.some(&element, text(value).as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn filters_look_at_members_at_tags_and_into_lists() {
        let gateway = json!({
            "VpnGatewayId": "vgw-1", "State": "available", "IsDefault": true,
            "VpcAttachments": [{ "VpcId": "vpc-1", "State": "attached" }],
            "Tags": [{ "Key": "Name", "Value": "shop" }],
        });
        let is_passed = |name: &str, value: &str| passes(&gateway, name, &[value.to_owned()]);
        assert!(is_passed("attachment.vpc-id", "vpc-1"));
        assert!(!is_passed("attachment.vpc-id", "vpc-2"));
        assert!(is_passed("state", "available"));
        assert!(is_passed("isDefault", "true"));
        assert!(is_passed("tag:Name", "sh*"));
        assert!(!is_passed("tag:Owner", "*"));
        assert!(is_passed("tag-key", "Name"));
        assert!(!is_passed("colour", "*"));
    }

    #[test]
    fn stars_and_question_marks_stand_for_anything() {
        let is_like = |pattern: &str, text: &str| is_like(pattern.as_bytes(), text.as_bytes());
        assert!(is_like("al2023-ami-*-x86_64", "al2023-ami-2023.1.0-kernel-x86_64"));
        assert!(is_like("*a?c*", "xxabcabd"));
        assert!(is_like("*", ""));
        assert!(!is_like("?", ""));
        assert!(!is_like("*-arm64", "al2023-x86_64"));
    }
}
