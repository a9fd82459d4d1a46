//! Local times: the zone of a clock that does not say its own.

use super::align::SECOND;
use crate::text::stamp::{CivilStamp, days_from_civil};
use postrun_schema::Load;

/// Zones of the world lie a multiple of this apart.
pub(super) const ZONE_NS: i64 = 900 * SECOND;
/// The zones furthest from UTC, in multiples of [`ZONE_NS`].
const FURTHEST: i64 = 14 * 4;
/// Share of the run that a recording must cover for its zone to be told by that.
const COVERED: f64 = 0.5;

/// What is left of `ns` when whole multiples of `step` are taken off, from -step/2 on.
pub(super) fn centred(ns: i64, step: i64) -> i64 {
    (ns.saturating_add(step / 2)).rem_euclid(step) - step / 2
}

/// When the client saved its file, as if its local time were UTC, where that is what its date is of.
pub(super) fn saved_local_ns(load: &Load) -> Option<i64> {
    load.date.as_deref().filter(|_| !load.date_is_start).and_then(local_ns)
}

/// When the client began, in Unix time, where its date is of that and names its zone.
pub(super) fn started_unix_ns(load: &Load) -> Option<i64> {
    let (stamp, _) = CivilStamp::parse(load.date.as_deref().filter(|_| load.date_is_start)?)?;
    stamp.zone_ns.and(stamp.year).map(|year| stamp.at_ns(year))
}

/// `20261130-074000` as if it were UTC.
fn local_ns(date: &str) -> Option<i64> {
    let (day, time) = date.split_once('-')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    if day.len() != 8 || time.len() != 6 {
        return None;
    }
    let days = days_from_civil(part(day, 0, 4)?, part(day, 4, 6)?, part(day, 6, 8)?);
    let seconds = part(time, 0, 2)? * 3600 + part(time, 2, 4)? * 60 + part(time, 4, 6)?;
    days.checked_mul(86_400)?.checked_add(seconds)?.checked_mul(SECOND)
}

/// The origin on a clock of local time whose own alignment is `own`, give or take `own_uncertainty`, where the same
/// moment is `unix` in Unix time: they differ by a zone (and, where a log has no year, by whole days).
pub(super) fn by_alignment(own: i64, own_uncertainty: i64, unix: i64) -> Option<i64> {
    let apart = own.saturating_sub(unix);
    let rest = centred(apart, ZONE_NS);
    (rest.abs() <= own_uncertainty.saturating_add(3 * SECOND)).then(|| unix.saturating_add(apart.saturating_sub(rest)))
}

/// The same for a recording that nothing aligns, such as one of devices: its span tells the zone, where only one zone
/// lets it cover the run from `unix` on. `known` is the zone of another local clock of the run, which it may share.
pub(super) fn by_span(span: (i64, i64), unix: i64, run_ns: i64, known: Option<i64>) -> Option<i64> {
    let covers = |zone: i64| {
        let (from, to) = (unix.saturating_add(zone), unix.saturating_add(zone).saturating_add(run_ns));
        let covered = span.1.min(to).saturating_sub(span.0.max(from));
        covered as f64 >= run_ns as f64 * COVERED
    };
    if let Some(zone) = known.filter(|zone| covers(*zone)) {
        return Some(unix.saturating_add(zone));
    }
    let mut fitting = (-FURTHEST..=FURTHEST).map(|n| n * ZONE_NS).filter(|zone| covers(*zone));
    let only = fitting.next().filter(|_| fitting.next().is_none())?;
    Some(unix.saturating_add(only))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_of_the_start_or_of_the_saving() {
        let load = |date: &str, date_is_start| Load { date: Some(date.to_string()), date_is_start, ..Load::default() };
        let started = 1_796_023_788 * SECOND;
        assert_eq!(started_unix_ns(&load("2026-11-30T07:29:48+0000", true)), Some(started));
        assert_eq!(started_unix_ns(&load("2026-11-30T08:29:48+01:00", true)), Some(started));
        assert_eq!(started_unix_ns(&load("2026-11-30T07:29:48", true)), None, "of no zone");
        assert_eq!(started_unix_ns(&load("2026-11-30T07:29:48Z", false)), None, "when the file was saved");
        assert_eq!(saved_local_ns(&load("20261130-072948", false)), Some(started));
        assert_eq!(saved_local_ns(&load("20261130-072948", true)), None);
    }

    #[test]
    fn the_zone_of_a_device_is_told_by_the_only_one_that_covers_the_run() {
        let (hour, run) = (3600 * SECOND, 60 * SECOND);
        let beside = |zone: i64, late: i64| (zone + late - 30 * SECOND, zone + late + run + 30 * SECOND);
        assert_eq!(by_span(beside(0, 0), 0, run, None), Some(0));
        assert_eq!(by_span(beside(-8 * hour, 0), 0, run, None), Some(-8 * hour));
        // Seven minutes or three days later it is not of this run.
        assert_eq!(by_span(beside(0, 420 * SECOND), 0, run, None), None);
        assert_eq!(by_span(beside(0, 72 * hour), 0, run, None), None);
        // A day of samples could be of many zones; a log beside it tells which.
        let day = (-12 * hour, 12 * hour);
        assert_eq!((by_span(day, 0, run, None), by_span(day, 0, run, Some(2 * hour))), (None, Some(2 * hour)));
    }

    #[test]
    fn a_log_is_placed_by_the_multiple_of_a_quarter_hour() {
        assert_eq!(by_alignment(2 * ZONE_NS + SECOND, 0, 5), Some(2 * ZONE_NS + 5));
        assert_eq!(by_alignment(2 * ZONE_NS + 60 * SECOND, SECOND, 0), None);
        assert_eq!(by_alignment(i64::MAX, SECOND, i64::MIN), None);
    }
}
