//! Images in repositories of the container registry: that they are there, not what is in them.

use std::collections::BTreeMap;

use super::error::Answer;
use super::state::{Region, file_name};

fn path(repository: &str) -> String {
    format!("ecr/{}.json", file_name(repository))
}

impl Region<'_> {
    /// Returns the images of a repository: their digests by tag. Every repository exists.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    pub fn images(&self, repository: &str) -> Answer<BTreeMap<String, String>> {
        self.read(|tx| Ok(tx.get(&path(repository))?.unwrap_or_default()))
    }

    /// Puts an image into a repository; returns whether it was not there yet.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn put_image(&self, repository: &str, tag: &str, digest: &str) -> Answer<bool> {
        self.unthrottled(|tx| {
            let mut images: BTreeMap<String, String> =
                tx.get(&path(repository))?.unwrap_or_default();
            let before = images.insert(tag.to_owned(), digest.to_owned());
            tx.put(&path(repository), &images)?;
            Ok(before.is_none_or(|before| before != digest))
        })
    }
}
