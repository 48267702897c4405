//! What somebody may have meant.

/// Returns the name that is the least different from a text, unless all are very different.
pub fn closest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let small = text.to_lowercase();
    let most = 1.max(text.chars().count() / 3);
    let near = names.filter(|name| name.len().abs_diff(text.len()) <= most + text.len() / 2);
    let (distance, name) =
        near.map(|name| (edit_distance(&small, &name.to_lowercase()), name)).min()?;
    (distance <= most).then_some(name)
}

/// Counts the characters to insert, remove or replace to make one text of another (Levenshtein).
pub fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, from) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, to) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_single_edits() {
        for (from, to, distance) in
            [("", "", 0), ("a", "", 1), ("kitten", "sitting", 3), ("ab", "ba", 2)]
        {
            assert_eq!(edit_distance(from, to), distance);
        }
    }

    #[test]
    fn only_what_is_near_may_have_been_meant() {
        let names = || ["Web.Queue", "Web.Table"].into_iter();
        assert_eq!(closest("web.queu", names()), Some("Web.Queue"));
        assert_eq!(closest("Api.Function", names()), None);
    }
}
