//! Objects of buckets on disk: what the staging bucket needs. Names of buckets are global.

use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use super::error::{Answer, ServiceError};
use super::state::{Cloud, Held, acquire, entries, file_name};
use super::templates::URL_MAX;

/// The directory of a bucket and the files in it. A file is written under a temporary name
/// first, so that no reader sees half of an object.
impl Cloud {
    fn bucket(&self, bucket: &str) -> PathBuf {
        self.root().join("buckets").join(file_name(bucket))
    }

    /// Stores an object. Every bucket exists.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put_object(&self, bucket: &str, key: &str, bytes: &[u8]) -> Answer<()> {
        let directory = self.bucket(bucket);
        std::fs::create_dir_all(&directory).map_err(ServiceError::io(&directory))?;
        let temporary = directory.join(format!("%tmp-{}", self.ambient.uuid()));
        std::fs::write(&temporary, bytes).map_err(ServiceError::io(&temporary))?;
        let file = directory.join(object_name(key));
        std::fs::rename(&temporary, &file).map_err(ServiceError::io(&file))
    }

    /// Keeps others that hold the bucket waiting, in other processes too, until what is returned
    /// is dropped.
    ///
    /// # Errors
    /// When the directory cannot be written, or somebody holds it for too long.
    pub(crate) fn hold_bucket(&self, bucket: &str) -> Answer<Held> {
        // No key has such a name.
        let directory = self.bucket(bucket).join("%tmp-lock");
        std::fs::create_dir_all(&directory).map_err(ServiceError::io(&directory))?;
        acquire(&directory, self.ambient.now_ms())
    }

    /// Returns the content of an object, or `None` if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get_object(&self, bucket: &str, key: &str) -> Answer<Option<Vec<u8>>> {
        let file = self.bucket(bucket).join(object_name(key));
        match std::fs::read(&file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ServiceError::state(&file, error)),
        }
    }

    /// Returns the content of an object and when it was written, in milliseconds since 1970.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn object(&self, bucket: &str, key: &str) -> Answer<Option<(Vec<u8>, u64)>> {
        let Some(bytes) = self.get_object(bucket, key)? else { return Ok(None) };
        let file = self.bucket(bucket).join(object_name(key));
        let modified = std::fs::metadata(&file).and_then(|found| found.modified());
        let since = modified.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let ms = since.and_then(|since| u64::try_from(since.as_millis()).ok());
        Ok(Some((bytes, ms.unwrap_or_default())))
    }

    /// Returns the size of an object in bytes, or `None` if there is none.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn object_size(&self, bucket: &str, key: &str) -> Answer<Option<u64>> {
        let file = self.bucket(bucket).join(object_name(key));
        match std::fs::metadata(&file) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ServiceError::state(&file, error)),
        }
    }

    fn part(&self, bucket: &str, upload: &str, number: usize) -> PathBuf {
        self.bucket(bucket).join(format!("%tmp-part-{}-{number}", file_name(upload)))
    }

    /// Stores a part of an object that is to be put together later.
    pub(crate) fn put_part(
        &self,
        bucket: &str,
        upload: &str,
        number: usize,
        bytes: &[u8],
    ) -> Answer<()> {
        let directory = self.bucket(bucket);
        std::fs::create_dir_all(&directory).map_err(ServiceError::io(&directory))?;
        let file = self.part(bucket, upload, number);
        std::fs::write(&file, bytes).map_err(ServiceError::io(&file))
    }

    /// Returns a part of an object.
    pub(crate) fn get_part(
        &self,
        bucket: &str,
        upload: &str,
        number: usize,
    ) -> Answer<Option<Vec<u8>>> {
        let file = self.part(bucket, upload, number);
        match std::fs::read(&file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ServiceError::state(&file, error)),
        }
    }

    /// Takes away all parts of an object.
    pub(crate) fn delete_parts(&self, bucket: &str, upload: &str) -> Answer<()> {
        let directory = self.bucket(bucket);
        let start = format!("%tmp-part-{}-", file_name(upload));
        for name in entries(&directory)?.into_iter().filter(|name| name.starts_with(&start)) {
            let file = directory.join(name);
            std::fs::remove_file(&file).map_err(ServiceError::io(&file))?;
        }
        Ok(())
    }

    /// Takes an object away; it need not be there.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn delete_object(&self, bucket: &str, key: &str) -> Answer<()> {
        let file = self.bucket(bucket).join(object_name(key));
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ServiceError::state(&file, error))
            }
            _ => Ok(()),
        }
    }

    /// Returns the keys of a bucket that start with a prefix, sorted.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list_objects(&self, bucket: &str, prefix: &str) -> Answer<Vec<String>> {
        let directory = self.bucket(bucket);
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(ServiceError::state(&directory, error)),
        };
        let mut keys = Vec::new();
        for entry in entries {
            let entry = entry.map_err(ServiceError::io(&directory))?;
            let key = entry.file_name().into_string().ok().and_then(|name| key_of(&name));
            keys.extend(key.filter(|key| key.starts_with(prefix)));
        }
        keys.sort();
        Ok(keys)
    }

    /// Reads a template from where a `TemplateURL` points.
    pub(crate) fn template_at(&self, url: &str) -> Answer<String> {
        let unsupported = || ServiceError::validation("TemplateURL must be a supported URL.");
        let (bucket, key) = locate(url).ok_or_else(unsupported)?;
        let bytes = self.get_object(&bucket, &key)?.ok_or_else(|| {
            ServiceError::validation(
                "S3 error: The specified key does not exist.\nFor more information check \
                 http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html",
            )
        })?;
        if bytes.len() > URL_MAX {
            return Err(ServiceError::validation(format!(
                "Template may not exceed {URL_MAX} bytes in size."
            )));
        }
        String::from_utf8(bytes)
            .map_err(|_| ServiceError::validation("Template format error: unsupported structure."))
    }
}

/// Keys keep their slashes out of the file system. Long ones are not cut, since they must be
/// listed again.
fn object_name(key: &str) -> String {
    if key == "." {
        return "%2E".to_owned();
    }
    key.replace('%', "%25").replace('/', "%2F").replace("..", "%2E%2E")
}

fn key_of(name: &str) -> Option<String> {
    if name.starts_with("%tmp-") {
        return None;
    }
    Some(name.replace("%2E", ".").replace("%2F", "/").replace("%25", "%"))
}

/// Bucket and key of the URL of an object: the host names the bucket, or the path does.
fn locate(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let (host, path) = rest.split_once('/')?;
    let path = path.split(['?', '#']).next()?;
    let virtual_host = host
        .split_once(".s3.")
        .or_else(|| host.split_once(".s3-"))
        .filter(|(_, rest)| rest.contains("amazonaws.com"));
    let (bucket, key) = match virtual_host {
        Some((bucket, _)) => (bucket, path),
        None => path.split_once('/')?,
    };
    if bucket.is_empty() || key.is_empty() {
        return None;
    }
    Some((bucket.to_owned(), unescape(key)?))
}

/// Undoes the percent encoding of a URL.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::clock::Ambient;

    #[test]
    fn the_forms_of_object_urls_are_understood() {
        for url in [
            "https://s3.us-east-1.amazonaws.com/b/k/x.json",
            "https://s3.amazonaws.com/b/k/x.json",
            "https://s3-us-west-2.amazonaws.com/b/k/x.json",
            "https://b.s3.us-east-1.amazonaws.com/k/x.json",
            "https://b.s3.amazonaws.com/k/x.json",
            "https://b.s3-us-west-2.amazonaws.com/k%2Fx.json?versionId=1",
            "http://127.0.0.1:4000/b/k/x.json",
        ] {
            assert_eq!(locate(url), Some(("b".to_owned(), "k/x.json".to_owned())), "{url}");
        }
        for url in ["s3://b/k", "https://host", "https://host/b", "x"] {
            assert_eq!(locate(url), None, "{url}");
        }
    }

    #[test]
    fn objects_are_stored_listed_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let cloud =
            Cloud::open(directory.path(), Ambient::system(), crate::local::Options::default())
                .unwrap();
        for key in ["a/b.json", "a/../c%2F", "d", "."] {
            cloud.put_object("bucket", key, key.as_bytes()).unwrap();
            assert_eq!(cloud.get_object("bucket", key).unwrap().unwrap(), key.as_bytes());
        }
        assert_eq!(cloud.list_objects("bucket", "a/").unwrap(), ["a/../c%2F", "a/b.json"]);
        cloud.delete_object("bucket", "d").unwrap();
        assert_eq!(cloud.get_object("bucket", "d").unwrap(), None);
        assert_eq!(cloud.list_objects("other", "").unwrap(), Vec::<String>::new());
    }
}
