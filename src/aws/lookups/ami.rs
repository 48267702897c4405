//! `ami`: the newest machine image that matches.

use aws_sdk_ec2::primitives::{DateTime, DateTimeFormat};
use aws_sdk_ec2::types::{Filter, Image};

use super::error::LookupProblem;
use super::query::{Query, shown};
use crate::aws::session::Session;
use crate::model::Value;

pub(super) async fn look_up(session: &Session, query: &Query<'_>) -> Result<Value, LookupProblem> {
    let (owners, filters) = (query.texts("owners")?, query.filters("filters")?);
    let client = session.ec2();
    let place = client.place().await;
    let (mut images, mut token) = (Vec::new(), None);
    loop {
        let answer = client.call_in(&place, "DescribeImages", None, |sdk| {
            let request = sdk.describe_images().set_next_token(token.take());
            let owners = (!owners.is_empty()).then(|| owners.clone());
            request.set_owners(owners).set_filters(Some(to_sdk(&filters))).send()
        });
        let answer = answer.await?;
        images.extend(answer.images.unwrap_or_default());
        token = answer.next_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    newest(&images).map(Value::from).ok_or_else(|| LookupProblem::NotFound {
        environment: session.environment().clone(),
        what: format!("machine image with {}", shown(&filters)),
    })
}

/// Filters as EC2 takes them.
pub(super) fn to_sdk(filters: &[(String, Vec<String>)]) -> Vec<Filter> {
    let one = |(name, values): &(String, Vec<String>)| {
        Filter::builder().name(name).set_values(Some(values.clone())).build()
    };
    filters.iter().map(one).collect()
}

/// Returns the ID of the image that was made last; of several the first of the answer.
fn newest(images: &[Image]) -> Option<&str> {
    let made = |image: &&Image| {
        let date = image.creation_date()?;
        let date = DateTime::from_str(date, DateTimeFormat::DateTimeWithOffset).ok()?;
        Some(date.as_nanos())
    };
    let known = images.iter().filter(|image| image.image_id().is_some());
    known.rev().max_by_key(made)?.image_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_image_is_taken_and_one_without_a_date_is_the_oldest() {
        let image = |id: &str, date: Option<&str>| {
            Image::builder().image_id(id).set_creation_date(date.map(str::to_owned)).build()
        };
        let images = [
            image("ami-unknown", None),
            image("ami-old", Some("2024-12-31T23:59:59.000Z")),
            image("ami-new", Some("2025-01-01T00:00:00.000Z")),
            image("ami-twin", Some("2025-01-01T00:00:00.000Z")),
        ];
        assert_eq!(newest(&images), Some("ami-new"));
        assert_eq!(newest(&images[..1]), Some("ami-unknown"));
        assert_eq!(newest(&[]), None);
    }
}
