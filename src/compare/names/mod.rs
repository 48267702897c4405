//! Names of constructs inside property values, found and compared.
//!
//! Hashed names (unique ids, unique resource names, addresses) are found by their eight
//! hexadecimal digits: a look-up for each place where eight of them stand, and only on a hit is
//! the name generated and compared. Paths, stack names and bare ids are whole words and looked
//! up as such. One finder serves both sides, so that the same text is read alike on both.

mod finder;
mod generate;
mod words;

pub(super) use finder::{Finder, Form, KnownConstruct, Token};
pub(crate) use generate::unique_id;
