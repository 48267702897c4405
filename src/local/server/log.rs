//! Which requests were answered, so that tests can count them. Bodies are not kept.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How many requests are remembered.
const MOST: usize = 10_000;

/// A request that was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Its number, from 1.
    pub number: u64,
    /// The service, such as `cloudformation`.
    pub service: String,
    /// The operation, such as `GetTemplate`.
    pub action: String,
    /// The account of the caller.
    pub account: String,
    /// The region.
    pub region: String,
    /// The HTTP status; nothing if the connection was dropped.
    pub status: Option<u16>,
}

/// The last requests.
#[derive(Debug, Default)]
pub(super) struct Log {
    count: u64,
    records: VecDeque<RequestRecord>,
}

impl Log {
    /// Adds a request.
    pub(super) fn add(&mut self, record: RequestRecord, status: Option<u16>) {
        self.count += 1;
        if self.records.len() == MOST {
            self.records.pop_front();
        }
        self.records.push_back(RequestRecord { number: self.count, status, ..record });
    }

    /// Returns them, oldest first.
    pub(super) fn records(&self) -> Vec<RequestRecord> {
        self.records.iter().cloned().collect()
    }

    /// Returns how many there were in all.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_requests_are_remembered() {
        let mut log = Log::default();
        for _ in 0..=MOST {
            log.add(RequestRecord::default(), Some(200));
        }
        assert_eq!((log.records().len(), log.records()[0].number), (MOST, 2));
        assert_eq!(log.count(), 10_001);
    }
}
