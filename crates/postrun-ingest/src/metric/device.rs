//! Columns of device monitors that print tables: what each is called here, and in which unit it comes.

use super::exposition::RawSeries;
use super::series::SeriesTable;
use crate::error::IngestError;
use crate::server::recording::ServerSink;

const MEBIBYTE: f64 = 1_048_576.0;

/// What a column holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// Date and time in one.
    Stamp,
    /// Part of what tells a device from another.
    Label(&'static str),
    /// The device's model.
    Model,
    /// A figure: series, and the factor to its unit.
    Figure(String, f64),
    /// Of no use.
    Nothing,
}

/// Name in the source, canonical series, factor to its unit where the column names none.
const FIGURES: &[(&str, &str, f64)] = &[
    ("memory.used", "gpu_memory_used_bytes", MEBIBYTE),
    ("memory.total", "gpu_memory_total_bytes", MEBIBYTE),
    ("utilization.gpu", "gpu_utilization", 0.01),
    ("power.draw", "gpu_power_watts", 1.0),
    ("temperature.gpu", "gpu_temperature_celsius", 1.0),
    ("fb", "gpu_memory_used_bytes", MEBIBYTE),
    ("sm", "gpu_utilization", 0.01),
    ("pwr", "gpu_power_watts", 1.0),
    ("gtemp", "gpu_temperature_celsius", 1.0),
    ("FBUSD", "gpu_memory_used_bytes", MEBIBYTE),
    ("FBTTL", "gpu_memory_total_bytes", MEBIBYTE),
    ("GPUTL", "gpu_utilization", 0.01),
    ("POWER", "gpu_power_watts", 1.0),
    ("TMPTR", "gpu_temperature_celsius", 1.0),
];

impl Column {
    /// Reads the heading of a column, `memory.used [MiB]` or `FBUSD`.
    pub(crate) fn from_heading(heading: &str) -> Column {
        let (name, unit) = heading.split_once('[').unwrap_or((heading, ""));
        let (name, unit) = (name.trim(), unit.trim_end_matches([']', ' ']));
        match name {
            "timestamp" => Column::Stamp,
            "index" | "gpu" => Column::Label("gpu"),
            "uuid" | "gpu_uuid" => Column::Label("uuid"),
            "name" | "gpu_name" => Column::Model,
            "" | "pci.bus_id" | "gpu_bus_id" | "serial" | "count" | "driver_version" | "pstate" => Column::Nothing,
            _ => match FIGURES.iter().find(|(theirs, _, _)| *theirs == name) {
                Some((_, ours, factor)) => Column::Figure(ours.to_string(), factor_of(unit).unwrap_or(*factor)),
                None => Column::Figure(heading.trim().to_string(), 1.0),
            },
        }
    }

    /// True for a figure that postrun has a name for.
    pub(crate) fn is_known_figure(&self) -> bool {
        matches!(self, Column::Figure(name, _) if postrun_schema::find_series(name).is_some())
    }
}

fn factor_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "KiB" => 1024.0,
        "MiB" => MEBIBYTE,
        "GiB" => MEBIBYTE * 1024.0,
        "MB" => 1e6,
        "GB" => 1e9,
        "%" => 0.01,
        "W" | "C" => 1.0,
        "mW" => 1e-3,
        _ => return None,
    })
}

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Value(f64),
    /// The device has no such value.
    Absent,
    /// Neither a number nor a word for "none".
    Wrong,
}

/// Reads a cell of a column of this unit factor, with its own unit or without: `1024 MiB`, `45`, `[N/A]`, `-`.
pub(crate) fn cell(text: &str, factor: f64) -> Cell {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let factor = factor_of(unit.trim()).filter(|_| factor != 1.0 || unit == "mW").unwrap_or(factor);
    let is_number = number.bytes().next().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'+'));
    match number.parse::<f64>() {
        Ok(value) if is_number && value.is_finite() => Cell::Value(value * factor),
        _ if matches!(number, "" | "-") || text.contains("N/A") || text.trim_start().starts_with('[') => Cell::Absent,
        _ => Cell::Wrong,
    }
}

/// Stores one figure of a device.
pub(crate) fn write_figure(
    series: &mut SeriesTable,
    sink: &mut ServerSink,
    name: &str,
    device: &[(String, String)],
    at_ns: i64,
    value: f64,
    place: &dyn Fn() -> String,
) -> Result<(), IngestError> {
    let mut key = name.to_string();
    device.iter().for_each(|(k, v)| key.extend(["\0", k, "\0", v]));
    let describe = || Some(RawSeries { name: name.to_string(), labels: device.to_vec() });
    match series.entry(&key, sink, describe) {
        Some(id) => series.write(id, at_ns, value, sink, place),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_cells_in_their_units() {
        let used = |factor| Column::Figure("gpu_memory_used_bytes".to_string(), factor);
        assert_eq!(Column::from_heading("memory.used [MiB]"), used(MEBIBYTE));
        assert_eq!(Column::from_heading(" FBUSD"), used(MEBIBYTE));
        assert_eq!(Column::from_heading("clocks.sm [MHz]"), Column::Figure("clocks.sm [MHz]".to_string(), 1.0));
        assert_eq!(cell(" 2 MiB", MEBIBYTE), Cell::Value(2_097_152.0));
        assert_eq!(cell("2 GiB", MEBIBYTE), Cell::Value(2_147_483_648.0));
        assert_eq!(cell("1500 mW", 1.0), Cell::Value(1.5));
        assert_eq!(cell("50", 0.5), Cell::Value(25.0));
        for absent in ["", "-", "[N/A]", "N/A", "[Not Supported]"] {
            assert_eq!(cell(absent, 1.0), Cell::Absent, "{absent}");
        }
        for wrong in ["soon", "nan", "inf", "1e999"] {
            assert_eq!(cell(wrong, 1.0), Cell::Wrong, "{wrong}");
        }
    }
}
