//! Route 53, as far as look-ups ask it: the hosted zones of the `lookups.json` of an account.

use hyper::Method;
use percent_encoding::percent_decode_str;

use super::http::Call;
use super::protocol::{Protocol, Reply};
use super::xml::Xml;
use crate::local::error::{Answer, ServiceError};
use crate::local::record::Json;
use crate::local::state::Region;

const NAMESPACE: &str = "https://route53.amazonaws.com/doc/2013-04-01/";
const BY_NAME: &str = "/2013-04-01/hostedzonesbyname";
const ZONE: &str = "/2013-04-01/hostedzone/";
const LIST: &str = "ListHostedZonesByName";
const GET: &str = "GetHostedZone";

/// How Route 53 speaks.
pub(super) const PROTOCOL: Protocol = Protocol::RestXml { namespace: NAMESPACE };

/// Returns the name of the operation that a request asks for; of those that are not here, the
/// path.
pub(super) fn action(call: &Call) -> &str {
    match (&call.method, call.path.trim_end_matches('/')) {
        (&Method::GET, BY_NAME) => LIST,
        (&Method::GET, path) if path.strip_prefix(ZONE).is_some_and(|id| !id.contains('/')) => GET,
        _ => &call.path,
    }
}

/// Carries out an operation.
pub(super) fn answer(
    region: &Region<'_>,
    action: &str,
    call: &Call,
    request_id: &str,
) -> Answer<Reply> {
    let zones = region.hosted_zones()?;
    let mut xml = Xml::default();
    match action {
        LIST => {
            let from = call.parameter("dnsname").unwrap_or_default();
            list(&mut xml, zones, &from);
        }
        GET => {
            let id = call.path.trim_end_matches('/').strip_prefix(ZONE).unwrap_or_default();
            get(&mut xml, &zones, &percent_decode_str(id).decode_utf8_lossy())?;
        }
        _ => return Err(ServiceError::no_operation(action, "2013-04-01")),
    }
    Ok(Reply::new(200, "text/xml", xml.finish()).with("x-amzn-requestid", request_id))
}

fn namespace() -> String {
    format!("xmlns=\"{NAMESPACE}\"")
}

fn name(zone: &Json) -> &str {
    zone["Name"].as_str().unwrap_or_default()
}

/// The labels of a domain, the last one first: zones are listed in this order.
fn labels(domain: &str) -> Vec<String> {
    domain.trim_end_matches('.').rsplit('.').map(str::to_ascii_lowercase).collect()
}

fn list(xml: &mut Xml, mut zones: Vec<Json>, from: &str) {
    zones.retain(|zone| from.is_empty() || labels(name(zone)) >= labels(from));
    zones.sort_by_cached_key(|zone| (labels(name(zone)), zone["Id"].to_string()));
    xml.with("ListHostedZonesByNameResponse", &namespace(), |xml| {
        xml.inside("HostedZones", |xml| zones.iter().for_each(|zone| write(xml, zone)));
        xml.flag("IsTruncated", false);
        xml.text("MaxItems", "100");
    });
}

fn get(xml: &mut Xml, zones: &[Json], id: &str) -> Answer<()> {
    let has_id = |zone: &&Json| {
        zone["Id"].as_str().is_some_and(|full| full.trim_start_matches("/hostedzone/") == id)
    };
    let zone = zones.iter().find(has_id).ok_or_else(|| {
        let text = format!("No hosted zone found with ID: {id}");
        ServiceError::new("NoSuchHostedZone", 404, text)
    })?;
    let vpcs = zone["VPCs"].as_array();
    xml.with("GetHostedZoneResponse", &namespace(), |xml| {
        write(xml, zone);
        let Some(vpcs) = vpcs else { return };
        xml.inside("VPCs", |xml| {
            for vpc in vpcs {
                xml.inside("VPC", |xml| {
                    xml.some("VPCRegion", vpc["VPCRegion"].as_str());
                    xml.some("VPCId", vpc["VPCId"].as_str());
                });
            }
        });
    });
    Ok(())
}

fn write(xml: &mut Xml, zone: &Json) {
    xml.inside("HostedZone", |xml| {
        xml.text("Id", zone["Id"].as_str().unwrap_or_default());
        xml.text("Name", name(zone));
        xml.text("CallerReference", zone["CallerReference"].as_str().unwrap_or("lookups.json"));
        xml.inside("Config", |xml| {
            xml.flag("PrivateZone", zone["Config"]["PrivateZone"] == Json::Bool(true));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn zones_are_listed_by_their_labels_from_the_last_one_on() {
        let zone = |id: &str, name: &str| json!({ "Id": id, "Name": name });
        let zones = vec![
            zone("/hostedzone/3", "b.example.com."),
            zone("/hostedzone/1", "example.com."),
            zone("/hostedzone/2", "a.net."),
            zone("/hostedzone/4", "z.org."),
        ];
        let mut xml = Xml::default();
        list(&mut xml, zones, "example.com");
        let text = xml.finish();
        let at = |id: &str| text.find(&format!("<Id>/hostedzone/{id}</Id>")).unwrap();
        assert!(at("1") < at("3") && at("3") < at("2") && at("2") < at("4"), "{text}");
    }
}
