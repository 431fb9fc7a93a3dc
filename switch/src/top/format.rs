//! Numbers with three digits and a unit, in few characters, so that columns stay narrow.

/// Decimal units above 1.
const UNITS: [&str; 6] = ["k", "M", "G", "T", "P", "E"];

/// A count in at most five characters: `0`, `9999`, `12.3k`, `1.23M`.
pub(super) fn number(value: u64) -> String {
    if value < 10_000 { value.to_string() } else { scaled(value as f64) }
}

/// A rate, a second, in at most five characters: `0`, `0.4`, `12.3`, `999`, `1.23k`.
pub(super) fn rate(per_second: f64) -> String {
    match positive(per_second) {
        0.0 => "0".to_owned(),
        value if value < 0.05 => "<0.1".to_owned(),
        value if value < 99.95 => format!("{value:.1}"),
        value => scaled(value),
    }
}

/// A share of a second in milliseconds, at most four characters: `0`, `0.4`, `1000`.
pub(super) fn ms_per_second(share: f64) -> String {
    match positive(share * 1_000.0) {
        0.0 => "0".to_owned(),
        value if value < 0.05 => "<0.1".to_owned(),
        value if value < 9.95 => format!("{value:.1}"),
        value => format!("{:.0}", value.min(1_000.0)),
    }
}

/// A share as a percentage, at most four characters. It is 100 % only if it is all, and 0 % only if
/// it is nothing.
pub(super) fn percent(part: f64, whole: f64) -> String {
    match positive(part / whole * 100.0) {
        0.0 => "0%".to_owned(),
        value if value < 1.0 => "<1%".to_owned(),
        value => format!("{:.0}%", value.floor().min(999.0)),
    }
}

/// A time in at most six characters: `340ns`, `12.3us`, `45.3s`, `2m03s`, `3d04h`.
pub(super) fn time(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..999_500 => format!("{}us", three_digits(ns as f64 / 1e3)),
        999_500..999_500_000 => format!("{}ms", three_digits(ns as f64 / 1e6)),
        999_500_000..99_950_000_000 => format!("{}s", three_digits(ns as f64 / 1e9)),
        _ if hours == 0 => format!("{minutes}m{:02}s", seconds % 60),
        _ if hours < 24 => format!("{hours}h{:02}m", minutes % 60),
        _ if hours < 100 * 24 => format!("{}d{:02}h", hours / 24, hours % 24),
        _ => format!("{}d", hours / 24),
    }
}

/// The value, if it is above 0: nothing that is shown can be below, or no number at all.
fn positive(value: f64) -> f64 {
    if value > 0.0 { value } else { 0.0 }
}

/// 100 and above, with a decimal unit if it takes one.
fn scaled(value: f64) -> String {
    let mut value = value;
    if value < 999.5 {
        return three_digits(value);
    }
    for unit in UNITS {
        value /= 1_000.0;
        if value < 999.5 {
            return format!("{}{unit}", three_digits(value));
        }
    }
    ">999E".to_owned()
}

/// Three digits of a value below 999.5.
fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_keep_three_digits() {
        for (value, text) in [
            (0, "0"),
            (9_999, "9999"),
            (10_000, "10.0k"),
            (99_949, "99.9k"),
            (99_950, "100k"),
            (999_499, "999k"),
            (999_500, "1.00M"),
            (11_835_024, "11.8M"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn rates_show_that_there_is_something() {
        for (value, text) in [
            (0.0, "0"),
            (-1.0, "0"),
            (f64::NAN, "0"),
            (0.01, "<0.1"),
            (0.9997, "1.0"),
            (99.94, "99.9"),
            (99.95, "100"),
            (999.5, "1.00k"),
            (1.234e9, "1.23G"),
            (f64::INFINITY, ">999E"),
        ] {
            assert_eq!(rate(value), text);
        }
    }

    #[test]
    fn shares_are_all_or_nothing_only_if_they_are() {
        let shares = [(0.0, "0"), (1e-6, "<0.1"), (0.0042, "4.2"), (0.2345, "234"), (1.0, "1000")];
        for (share, text) in shares {
            assert_eq!(ms_per_second(share), text);
        }
        for (part, whole, text) in [
            (0.0, 5.0, "0%"),
            (0.0, 0.0, "0%"),
            (1.0, 1_000.0, "<1%"),
            (999.0, 1_000.0, "99%"),
            (5.0, 5.0, "100%"),
            (9.0, 5.0, "180%"),
        ] {
            assert_eq!(percent(part, whole), text, "{part} of {whole}");
        }
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        for (ns, text) in [
            (0, "0ns"),
            (999, "999ns"),
            (3_140, "3.14us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (45_300_000_000, "45.3s"),
            (99_949_999_999, "99.9s"),
            (123_000_000_000, "2m03s"),
            (3_599_999_999_999, "59m59s"),
            (3_600_000_000_000, "1h00m"),
            (86_400_000_000_000 * 3 + 14_400_000_000_000, "3d04h"),
            (86_400_000_000_000 * 123, "123d"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    proptest! {
        #[test]
        fn columns_can_rely_on_the_width(value: u64, rated: f64, share in 0.0..2.0) {
            prop_assert!(number(value).len() <= 5);
            prop_assert!(rate(rated).len() <= 5);
            prop_assert!(ms_per_second(share).len() <= 4);
            prop_assert!(percent(rated, 1.0).len() <= 4);
            prop_assert!(time(value).len() <= 7);
        }

        #[test]
        fn what_is_read_is_within_one_percent(value in 10_000_u64..) {
            let text = number(value);
            let (digits, unit) = text.split_at(text.len() - 1);
            let power = UNITS.iter().position(|&known| known == unit).unwrap() + 1;
            let read = digits.parse::<f64>().unwrap() * 1e3_f64.powi(i32::try_from(power).unwrap());
            prop_assert!((read / value as f64 - 1.0).abs() < 0.01, "{} read as {}", value, read);
        }
    }
}
