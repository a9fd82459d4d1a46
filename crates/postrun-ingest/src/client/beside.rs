//! Numbers of requests that a coarser file has and the finer one of the same run lacks.

use arrow_array::{Array, StringArray, UInt32Array};
use postrun_schema::{PendingRun, SchemaError, Table, column};
use std::collections::HashMap;

/// A request as two files of one run name it.
type Name = (String, Option<u32>);

/// Gives the numbers of the `extras` table of `other` to the requests of `run` that are the same by id and turn. A name
/// that stands twice in one of them is nobody's.
pub(super) fn take_extras(run: &mut PendingRun, other: &PendingRun) -> Result<(), SchemaError> {
    let has = |run: &PendingRun| run.manifest.tables.contains_key(Table::Extras.name());
    if has(run) || !has(other) {
        return Ok(());
    }
    let ours = by_name(run)?;
    let mut to_ours: HashMap<u32, u32> = HashMap::new();
    for (name, theirs) in by_name(other)? {
        if let (Some(theirs), Some(Some(ours))) = (theirs, ours.get(&name)) {
            to_ours.insert(theirs, *ours);
        }
    }
    run.take_extras(other, |request| to_ours.get(&request).copied())
}

/// The requests by their names; `None`: several have this one.
fn by_name(run: &PendingRun) -> Result<HashMap<Name, Option<u32>>, SchemaError> {
    let mut out: HashMap<Name, Option<u32>> = HashMap::new();
    run.read(Table::Requests, &["request", "request_id", "turn"], |batch| {
        let keys = column::<UInt32Array>(&batch, "request");
        let (ids, turns) = (column::<StringArray>(&batch, "request_id"), column::<UInt32Array>(&batch, "turn"));
        let (Some(keys), Some(ids)) = (keys, ids) else { return Ok(()) };
        for i in (0..batch.num_rows()).filter(|i| ids.is_valid(*i)) {
            let turn = turns.filter(|turns| turns.is_valid(i)).map(|turns| turns.value(i));
            let key = Some(keys.value(i));
            out.entry((ids.value(i).to_string(), turn)).and_modify(|known| *known = None).or_insert(key);
        }
        Ok(())
    })?;
    Ok(out)
}
