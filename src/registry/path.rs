//! Paths of properties, as schemas give them and as templates have them.

/// Whether the schema path is the given path or one of its ancestors: what is said of a
/// container holds for all that is in it. `*` in the schema stands for any index or key. Schemas
/// do not always write the `*` of a list, so an index in the given path may have no counterpart.
pub(super) fn covers(schema: &str, path: &str) -> bool {
    covers_tokens(schema.split('/'), path.split('/'))
}

/// As [`covers`], for paths that are split already: keys may contain a slash.
pub(super) fn covers_tokens<'a>(
    schema: impl Iterator<Item = &'a str>,
    mut path: impl Iterator<Item = &'a str>,
) -> bool {
    for wanted in schema {
        loop {
            match path.next() {
                None => return false,
                Some(segment) if wanted == "*" || wanted == segment => break,
                Some(segment) if is_index(segment) => {}
                Some(_) => return false,
            }
        }
    }
    true
}

fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_covers_what_is_in_it_but_not_the_other_way_round() {
        assert!(covers("Code", "Code"));
        assert!(covers("Code", "Code/S3Key"));
        assert!(covers("Code", "Code/Fn::If/1/S3Key"));
        assert!(!covers("Code/S3Key", "Code"));
        assert!(!covers("Code", "CodeSha256"));
    }

    #[test]
    fn a_star_stands_for_any_index_or_key() {
        assert!(covers("Rules/*/Prefix", "Rules/3/Prefix"));
        assert!(covers("Map/*", "Map/key/deep"));
        assert!(!covers("Rules/*/Prefix", "Rules/3/Suffix"));
        assert!(!covers("Rules/*", "Rules"));
    }

    #[test]
    fn an_index_that_the_schema_does_not_mention_is_passed_over() {
        assert!(covers("LoadBalancers/Name", "LoadBalancers/0/Name"));
        assert!(!covers("LoadBalancers/Name", "LoadBalancers/0/Port"));
    }
}
