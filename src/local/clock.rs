//! Time and fresh ids: the only two things that the embedded CloudFormation takes from outside
//! besides its directory. Tests bring their own.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
}

/// Gives numbers of which ids are made.
pub trait IdSource: Send + Sync {
    /// Returns 64 bits that were not returned before.
    fn next(&self) -> u64;
}

/// The clock and the source of ids.
#[derive(Clone)]
pub struct Ambient {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

struct RandomIds;

impl IdSource for RandomIds {
    /// Every `RandomState` has keys of its own, so that the hash of nothing is a random number.
    fn next(&self) -> u64 {
        RandomState::new().build_hasher().finish()
    }
}

/// A clock that stands still until it is moved on: for tests and rehearsals.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Returns a clock that shows the given time.
    pub fn at(now_ms: u64) -> Self {
        Self(AtomicU64::new(now_ms))
    }

    /// Moves the clock on.
    pub fn advance(&self, by_ms: u64) {
        self.0.fetch_add(by_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Ids that are the same in every run.
#[derive(Debug, Default)]
pub struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn next(&self) -> u64 {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        // The finalizer of SplitMix64: consecutive numbers give ids that do not look alike.
        let mut mixed = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Ambient {
    /// Returns the clock of the system and random ids.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), ids: Arc::new(RandomIds) }
    }

    /// Returns the given clock and source of ids.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self { clock, ids }
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Returns a fresh UUID.
    pub fn uuid(&self) -> String {
        let (high, low) = (self.ids.next(), self.ids.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// Returns fresh hexadecimal digits.
    pub(crate) fn hex(&self, length: usize) -> String {
        let mut digits = String::new();
        while digits.len() < length {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{:016x}", self.ids.next());
        }
        digits.truncate(length);
        digits
    }

    /// Returns a fresh text of capital letters and digits, as in names that are generated.
    pub(crate) fn token(&self, length: usize) -> String {
        const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let mut bits = 0;
        let letter = |at: usize| {
            if at.is_multiple_of(12) {
                bits = self.ids.next();
            }
            // Masked to five bits, so below 32.
            let index = usize::try_from(bits & 31).unwrap_or_default();
            bits >>= 5;
            char::from(LETTERS[index])
        };
        (0..length).map(letter).collect()
    }
}

impl std::fmt::Debug for Ambient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ambient")
    }
}

/// Writes a time the way that AWS does: `2026-11-21T08:47:39.123Z`.
pub fn iso8601(ms: u64) -> String {
    let (seconds, millis) = (ms / 1000, ms % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's `civil_from_days`, for days since 1970.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_aws_writes_them() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(iso8601(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso8601(1_795_250_859_123), "2026-11-21T08:47:39.123Z");
    }

    #[test]
    fn ids_are_fresh_and_of_their_shape() {
        let ambient = Ambient::new(Arc::new(ManualClock::at(5)), Arc::new(CountingIds::default()));
        let (one, other) = (ambient.uuid(), ambient.uuid());
        assert_ne!(one, other);
        assert_eq!(one.len(), 36);
        assert_eq!(ambient.token(13).len(), 13);
        assert_eq!(ambient.hex(17).len(), 17);
        assert_ne!(Ambient::system().uuid(), Ambient::system().uuid());
    }
}
