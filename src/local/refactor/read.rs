//! What can be read of refactors.

use super::{RefactorAction, RefactorInfo, all, get};
use crate::local::error::Answer;
use crate::local::stacks::{Page, page};
use crate::local::state::Region;

impl Region<'_> {
    /// Describes a refactor.
    ///
    /// # Errors
    /// `StackRefactorNotFoundException`.
    pub fn describe_stack_refactor(&self, id: &str) -> Answer<RefactorInfo> {
        self.read(|tx| Ok(get(tx, id)?.info))
    }

    /// Lists what a refactor does.
    ///
    /// # Errors
    /// `StackRefactorNotFoundException`; `ValidationError` for a token that is none.
    pub fn list_stack_refactor_actions(
        &self,
        id: &str,
        max_results: Option<usize>,
        token: Option<&str>,
    ) -> Answer<Page<RefactorAction>> {
        let size = self.refactor_page(max_results);
        self.read(|tx| page(get(tx, id)?.actions, size, token))
    }

    /// Lists refactors: those with one of these execution statuses, or, with an empty filter,
    /// all that are not obsolete [I].
    ///
    /// # Errors
    /// `ValidationError` for a token that is none.
    pub fn list_stack_refactors(
        &self,
        execution_statuses: &[String],
        max_results: Option<usize>,
        token: Option<&str>,
    ) -> Answer<Page<RefactorInfo>> {
        let size = self.refactor_page(max_results);
        self.read(|tx| {
            let wanted = |info: &RefactorInfo| match execution_statuses {
                [] => info.execution_status != "OBSOLETE",
                some => some.contains(&info.execution_status),
            };
            let found = all(tx)?.into_iter().map(|refactor| refactor.info).filter(wanted).collect();
            page(found, size, token)
        })
    }

    fn refactor_page(&self, max_results: Option<usize>) -> usize {
        let most = self.cloud.options.page_size;
        max_results.map_or(most, |wanted| wanted.clamp(1, 100).min(most))
    }
}
