//! The functions that only combine their arguments.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::local::record::Json;

pub(super) fn malformed(function: &str) -> String {
    format!("Template error: {function} object has malformed arguments")
}

/// A scalar as the text that CloudFormation makes of it; a list as its elements with commas.
pub(crate) fn text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        Json::Object(_) => value.to_string(),
    }
}

/// Whether CloudFormation takes two values for the same: `30` and `"30"`, `true` and `"true"`.
pub(crate) fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|r| same(value, r)))
        }
        (Json::Array(_) | Json::Object(_), _) | (_, Json::Array(_) | Json::Object(_)) => false,
        (Json::Null, _) | (_, Json::Null) => left == right,
        _ => left == right || text(left) == text(right),
    }
}

/// Calls a function with evaluated arguments.
pub(super) fn call(function: &str, argument: &Json) -> Result<Json, String> {
    let items = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    match (function, items) {
        ("Fn::Join", [delimiter, list]) => join(delimiter, list),
        ("Fn::Split", [delimiter, list]) => {
            let (delimiter, list) = (text(delimiter), text(list));
            Ok(list.split(&delimiter).map(Json::from).collect())
        }
        ("Fn::Select", [index, list]) => select(index, list),
        ("Fn::Base64", _) if !argument.is_array() => Ok(base64(text(argument).as_bytes()).into()),
        ("Fn::Cidr", [block, count, rest @ ..]) => cidr(block, count, rest.first()),
        ("Fn::Length", _) => match argument {
            Json::Array(items) => Ok(Json::from(items.len())),
            _ => Err(malformed(function)),
        },
        ("Fn::ToJsonString", _) => Ok(argument.to_string().into()),
        (
            "Fn::Join" | "Fn::Split" | "Fn::Select" | "Fn::Base64" | "Fn::Cidr" | "Fn::If"
            | "Fn::FindInMap",
            _,
        ) => Err(malformed(function)),
        _ => Err(format!("Template error: Unsupported function: {function}")),
    }
}

fn join(delimiter: &Json, list: &Json) -> Result<Json, String> {
    let items = list.as_array().ok_or_else(|| {
        "Template error: every Fn::Join object requires two parameters, (1) a string delimiter \
         and (2) a list of strings to be joined or a function that returns a list of strings \
         (such as Fn::GetAZs) to be joined."
            .to_owned()
    })?;
    let parts: Vec<String> = items.iter().map(text).collect();
    Ok(parts.join(&text(delimiter)).into())
}

fn select(index: &Json, list: &Json) -> Result<Json, String> {
    let index = text(index);
    let items = list.as_array().ok_or_else(|| malformed("Fn::Select"))?;
    let at: Option<usize> = index.parse().ok();
    at.and_then(|at| items.get(at)).cloned().ok_or_else(|| {
        format!("Template error: Fn::Select cannot select nonexistent value at index {index}")
    })
}

/// The zones of a region: three everywhere.
pub(crate) fn zones(region: &str) -> Json {
    ["a", "b", "c"].iter().map(|zone| Json::from(format!("{region}{zone}"))).collect()
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            if at <= chunk.len() {
                // Masked to six bits, so below 64.
                let index = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or_default();
                out.push(char::from(LETTERS[index]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn cidr(block: &Json, count: &Json, bits: Option<&Json>) -> Result<Json, String> {
    let wrong = || malformed("Fn::Cidr");
    let block = text(block);
    let (address, prefix) = block.split_once('/').ok_or_else(wrong)?;
    let prefix: u32 = prefix.parse().map_err(|_| wrong())?;
    let count: u128 = text(count).parse().map_err(|_| wrong())?;
    let wide = address.contains(':');
    let width: u32 = if wide { 128 } else { 32 };
    let default = if wide { "64" } else { "8" };
    let bits: u32 = bits.map_or(default.to_owned(), text).parse().map_err(|_| wrong())?;
    let start = if wide {
        u128::from(address.parse::<Ipv6Addr>().map_err(|_| wrong())?)
    } else {
        u128::from(u32::from(address.parse::<Ipv4Addr>().map_err(|_| wrong())?))
    };
    let room = width.checked_sub(prefix).and_then(|host| host.checked_sub(bits));
    let fits = room.is_some_and(|room| room >= 32 || count <= 1 << room);
    if !fits || !(1..=256).contains(&count) || bits == 0 {
        return Err(format!(
            "Template error: Fn::Cidr cannot make {count} blocks of {bits} bits from {block}"
        ));
    }
    let range = |at: u128| {
        let first = start + (at << bits);
        let length = width - bits;
        if wide {
            format!("{}/{length}", Ipv6Addr::from(first))
        } else {
            // Below 2^32, since it lies in a block of IPv4 addresses.
            format!("{}/{length}", Ipv4Addr::from(u32::try_from(first).unwrap_or(u32::MAX)))
        }
    };
    Ok((0..count).map(|at| Json::from(range(at))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn base64_is_padded() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_block_is_cut_into_smaller_ones() {
        let cut =
            |block: &str, count: u32, bits: u32| call("Fn::Cidr", &json!([block, count, bits]));
        assert_eq!(
            cut("10.0.0.0/16", 3, 8).unwrap(),
            json!(["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"])
        );
        assert_eq!(
            cut("2001:db8::/56", 2, 64).unwrap(),
            json!(["2001:db8::/64", "2001:db8:0:1::/64"])
        );
        assert!(cut("10.0.0.0/24", 3, 8).is_err());
        assert!(cut("10.0.0.0/16", 1, 200).is_err());
    }

    #[test]
    fn scalars_are_the_same_as_their_texts() {
        assert!(same(&json!({"a": [30, true]}), &json!({"a": ["30", "true"]})));
        assert!(!same(&json!([1, 2]), &json!([2, 1])));
        assert!(!same(&json!(null), &json!("")));
    }

    #[test]
    fn what_cannot_be_selected_is_refused() {
        assert_eq!(call("Fn::Select", &json!(["1", ["a", "b"]])).unwrap(), "b");
        assert_eq!(
            call("Fn::Select", &json!([5, ["a"]])).unwrap_err(),
            "Template error: Fn::Select cannot select nonexistent value at index 5"
        );
        assert!(call("Fn::Nope", &json!([])).unwrap_err().contains("Unsupported function"));
    }
}
