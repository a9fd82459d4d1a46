//! One record of a client's file: small values as trees, the one long list of times straight as nanoseconds.

use super::values::MAX_DURATION_NS;
use crate::json::{JsonReader, Result, Seconds, Tree};
use std::io::Read;

/// Members of one record that are kept.
const MOST_MEMBERS: usize = 512;
/// Most entries kept of one list of gaps.
const MOST_GAPS: usize = 1 << 22;
const KEPT_TEXT_BYTES: usize = 1024;

/// A record as it stands.
#[derive(Debug, Default)]
pub(crate) struct Object {
    members: Vec<(String, Tree)>,
    /// The list called as asked for, each in nanoseconds; empty where there is none.
    pub gaps: Vec<i64>,
    /// The list is there and holds something that cannot be a gap.
    pub bad_gaps: bool,
    /// A key stood twice; the last one counts.
    pub duplicate_key: Option<String>,
}

impl Object {
    /// Reads the next object into `self`, which forgets what it held. `gaps` names the list of seconds to read apart.
    pub(crate) fn read<R: Read>(&mut self, reader: &mut JsonReader<R>, gaps: &str) -> Result<()> {
        self.members.clear();
        self.gaps.clear();
        self.bad_gaps = false;
        self.duplicate_key = None;
        reader.object(|reader, key| {
            if !gaps.is_empty() && key == gaps {
                return self.read_gaps(reader);
            }
            let value = reader.tree(KEPT_TEXT_BYTES)?;
            if let Some(at) = self.members.iter().position(|(name, _)| name == key) {
                self.duplicate_key.get_or_insert_with(|| key.to_string());
                self.members.remove(at);
            }
            if self.members.len() < MOST_MEMBERS {
                self.members.push((key.to_string(), value));
            }
            Ok(())
        })
    }

    fn read_gaps<R: Read>(&mut self, reader: &mut JsonReader<R>) -> Result<()> {
        self.gaps.clear();
        let Object { gaps, bad_gaps, .. } = self;
        let is_null = reader.peek()? == Some(b'n');
        let is_list = reader.array(|reader| {
            match reader.seconds()? {
                Seconds::Ns(ns) if (0..=MAX_DURATION_NS).contains(&ns) && gaps.len() < MOST_GAPS => gaps.push(ns),
                _ => *bad_gaps = true,
            }
            Ok(())
        })?;
        *bad_gaps |= !is_list && !is_null;
        Ok(())
    }

    /// The member called `key`; null where there is none.
    pub(crate) fn get(&self, key: &str) -> &Tree {
        const NOTHING: &Tree = &Tree::Null;
        self.members.iter().find(|(name, _)| name == key).map_or(NOTHING, |(_, value)| value)
    }

    /// True where `key` is there, null or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    pub(crate) fn members(&self) -> &[(String, Tree)] {
        &self.members
    }
}
