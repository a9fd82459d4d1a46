//! One record of a client's file: small values as trees, the one long list of times apart.

use super::value::{ERROR_BYTES, Judge, seconds};
use crate::json::{JsonReader, Result, Seconds, Tree};
use postrun_schema::IssueCode;
use std::io::Read;

/// Members of one record that are kept.
const MOST_MEMBERS: usize = 512;

/// A record as it stands.
#[derive(Debug, Default)]
pub(crate) struct Object {
    members: Vec<(String, Tree)>,
    /// The list called as asked for, read as if its numbers were seconds; `None` where there is none.
    pub gaps: Option<Vec<Seconds>>,
    /// A key stood twice; the last one counts.
    duplicate_key: Option<String>,
}

impl Object {
    /// Reads the next object. `gaps` names the list of times to read apart.
    pub(crate) fn read<R: Read>(reader: &mut JsonReader<R>, gaps: Option<&str>) -> Result<Object> {
        let mut object = Object::default();
        reader.object(|reader, key| {
            if gaps == Some(key) {
                let is_null = reader.peek()? == Some(b'n');
                let list = seconds(reader)?;
                // What is there and no list is a list that cannot be read.
                object.gaps = list.or((!is_null).then(|| vec![Seconds::NotANumber]));
                return Ok(());
            }
            let value = reader.tree(ERROR_BYTES)?;
            if let Some(at) = object.members.iter().position(|(name, _)| name == key) {
                object.duplicate_key.get_or_insert_with(|| key.to_string());
                object.members.remove(at);
            }
            if object.members.len() < MOST_MEMBERS {
                object.members.push((key.to_string(), value));
            }
            Ok(())
        })?;
        Ok(object)
    }

    /// Counts a key that stands twice.
    pub(crate) fn judge_keys(&self, judge: &mut Judge<'_>) {
        if let Some(key) = &self.duplicate_key {
            judge.bad(IssueCode::DuplicateKey, key, "the last one counts".to_string());
        }
    }

    /// The member called `key`; null where there is none.
    pub(crate) fn get(&self, key: &str) -> &Tree {
        static NOTHING: Tree = Tree::Null;
        self.members.iter().find(|(name, _)| name == key).map_or(&NOTHING, |(_, value)| value)
    }

    /// True where `key` is there, null or not.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.members.iter().any(|(name, _)| name == key)
    }

    pub(crate) fn members(&self) -> &[(String, Tree)] {
        &self.members
    }
}
