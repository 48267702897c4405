//! Stack refactors.
use super::error::Answer;
use super::record::Stack;
use super::state::Tx;
pub(crate) fn obsolete(_tx: &mut Tx<'_>, _stack: &Stack) -> Answer<()> {
    Ok(())
}
pub(crate) fn step(_tx: &mut Tx<'_>, _id: &str) -> Answer<()> {
    Ok(())
}
