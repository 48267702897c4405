//! Names, each kind a type of its own.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use super::Text;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Text);

        impl $name {
            /// Returns the name as it is written in templates and manifests.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<Text> for $name {
            fn from(text: Text) -> Self {
                Self(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name!(
    /// The name under which CloudFormation knows a stack. A nested stack that is not deployed
    /// yet has no name of its own: here it is called `Parent/LogicalId`.
    StackName
);
name!(
    /// The key of a resource in its template.
    LogicalId
);
name!(
    /// The type of a resource, such as `AWS::S3::Bucket`.
    ResourceType
);
name!(
    /// The path of a construct in the tree of the app, its components joined by `/`, without
    /// the root: `Stack/Construct/Resource`.
    ConstructPath
);

impl ConstructPath {
    /// Returns the components from the outermost to the innermost.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Whether `self` is `ancestor` or lies below it.
    pub fn is_within(&self, ancestor: &str) -> bool {
        self.0.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Where a resource is: a stack and a logical ID in it, written `Stack.LogicalId`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The stack.
    pub stack: StackName,
    /// The key of the resource in the template of the stack.
    pub logical_id: LogicalId,
}

/// The text is not of the form `Stack.LogicalId`.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a location: write it as `Stack.LogicalId`")]
pub struct LocationError(String);

impl Location {
    /// Returns the location of a logical ID in a stack.
    pub fn new(stack: &str, logical_id: &str) -> Self {
        Self { stack: stack.into(), logical_id: logical_id.into() }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.stack, self.logical_id)
    }
}

impl FromStr for Location {
    type Err = LocationError;

    /// Neither stack names nor logical IDs contain a dot.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('.') {
            Some((stack, id)) if !stack.is_empty() && !id.is_empty() && !id.contains('.') => {
                Ok(Self::new(stack, id))
            }
            _ => Err(LocationError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_reads_back_as_it_is_written() {
        let location: Location = "Web.Bucket843D52FF".parse().unwrap();
        assert_eq!(location, Location::new("Web", "Bucket843D52FF"));
        assert_eq!(location.to_string(), "Web.Bucket843D52FF");
    }

    #[test]
    fn a_malformed_location_is_refused_with_its_text() {
        for text in ["Web", ".X", "Web.", "a.b.c", ""] {
            let error = text.parse::<Location>().unwrap_err();
            assert!(error.to_string().contains(&format!("`{text}`")));
        }
    }

    #[test]
    fn a_path_is_within_itself_and_its_ancestors_but_not_within_a_longer_name() {
        let path = ConstructPath::from("App/Shop/Queue");
        assert!(path.is_within("App/Shop/Queue"));
        assert!(path.is_within("App"));
        assert!(!path.is_within("App/Sho"));
    }
}
