//! Where stack refactoring is offered.

/// Regions that did not offer stack refactoring when this was written: the CDK leaves them out of
/// its tests of it.
const WITHOUT_REFACTORING: [&str; 3] = ["ap-southeast-5", "ap-southeast-7", "mx-central-1"];

/// Whether stack refactoring was not offered in a region when this was written.
pub fn lacks_refactoring(region: &str) -> bool {
    WITHOUT_REFACTORING.contains(&region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_regions_lack_it() {
        assert!(lacks_refactoring("mx-central-1"));
        assert!(!lacks_refactoring("eu-central-1"));
    }
}
