//! Quantities as people write them: `12MB`, `64KiB`, `40G`, `300m`, `20us`.
//!
//! `k`, `M` and `G` are powers of 1,000, `Ki`, `Mi` and `Gi` powers of 1,024, everywhere.

use dataplane::time::Speed;
use std::ops::RangeInclusive;

pub use fabric::Length;

/// A quantity that is not written as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {wrong}")]
pub struct UnitError {
    text: String,
    wrong: &'static str,
}

const SIZE: &str =
    "is not a size; write bytes as 9216, \"64KB\" (times 1000), \"64KiB\" (times 1024) or \"12MB\"";
const SPEED: &str = "is not a speed; write bits per second as \"200M\", \"2.5G\" or \"40G\"";
const LENGTH: &str = "is not a length; write \"10m\", \"0.5m\" or \"2km\"";
const DURATION: &str = "is not a time; write \"500ns\", \"20us\", \"5ms\", \"300s\" or \"5min\"";
const RATE: &str = "is not a rate; write bits per second as \"200M\" or \"1.5G\"";
const COUNT: &str = "is not a count; write 5000 or \"64K\" (times 1000)";
const RATE_RANGE: &str = "is out of range; a rate is 1 to 18E bits per second";
const COUNT_RANGE: &str = "is out of range; a count is at most 18E";
const SIZE_RANGE: &str = "is out of range; a size is at most 18 EB";
const SPEED_RANGE: &str = "is out of range; a speed is 1M to 1.6T";
const LENGTH_RANGE: &str = "is out of range; a length is at most 1000km";
const DURATION_RANGE: &str = "is out of range; a time is at most 8760h";

/// Bytes: `9216`, `64KB`, `64KiB`, `12MB`, `1GB`.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let unit = |suffix: &str| {
        Some(match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" => 1_000,
            "m" | "mb" => 1_000_000,
            "g" | "gb" => 1_000_000_000,
            "ki" | "kib" => 1 << 10,
            "mi" | "mib" => 1 << 20,
            "gi" | "gib" => 1 << 30,
            _ => return None,
        })
    };
    quantity(text, unit, 0..=u64::MAX - 1, [SIZE, SIZE_RANGE])
}

/// Bits per second: `200M`, `2.5G`, `40G`, `40Gb/s`; at least 1 Mb/s and at most 1.6 Tb/s.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_speed(text: &str) -> Result<Speed, UnitError> {
    let unit = |suffix: &str| {
        let lower = suffix.to_ascii_lowercase();
        let multiple = ["bit/s", "bps", "b/s", "bit"]
            .iter()
            .find_map(|word| lower.strip_suffix(word))
            .unwrap_or(lower.as_str());
        Some(match multiple {
            "m" => 1_000_000,
            "g" => 1_000_000_000,
            "t" => 1_000_000_000_000,
            _ => return None,
        })
    };
    quantity(text, unit, 1_000_000..=1_600_000_000_000, [SPEED, SPEED_RANGE]).map(Speed::from_bps)
}

/// A cable's length: `10m`, `0.5m`, `2km`; at most 1,000 km.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_length(text: &str) -> Result<Length, UnitError> {
    let unit = |suffix: &str| {
        Some(match suffix {
            "mm" => 1,
            "cm" => 10,
            "m" => 1_000,
            "km" => 1_000_000,
            _ => return None,
        })
    };
    quantity(text, unit, 0..=1_000_000_000, [LENGTH, LENGTH_RANGE]).map(Length::from_millimetres)
}

/// Nanoseconds: `500ns`, `20us`, `5ms`, `300s`, `5min`, `1h`; at most a year.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let unit = |suffix: &str| {
        Some(match suffix {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        })
    };
    quantity(text, unit, 0..=31_536_000_000_000_000, [DURATION, DURATION_RANGE])
}

/// Bits per second of traffic, with or without a unit: `9600`, `200M`, `1.5G`; at least 1.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_rate_bps(text: &str) -> Result<u64, UnitError> {
    quantity(text, decimal, 1..=u64::MAX - 1, [RATE, RATE_RANGE])
}

/// A count (of frames, bytes, frames a second): `5000`, `64K` (64,000), `1M`.
///
/// # Errors
/// [`UnitError`] if `text` is none of these.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    quantity(text, decimal, 0..=u64::MAX - 1, [COUNT, COUNT_RANGE])
}

fn decimal(suffix: &str) -> Option<u64> {
    Some(match suffix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    })
}

/// A quantity within `range`. What is not written as one, and what is out of range, is said so.
fn quantity(
    text: &str,
    unit: impl Fn(&str) -> Option<u64>,
    range: RangeInclusive<u64>,
    [form, out_of_range]: [&'static str; 2],
) -> Result<u64, UnitError> {
    let error = |wrong| UnitError { text: text.to_owned(), wrong };
    let value = scaled(text, unit).ok_or_else(|| error(form))?;
    if range.contains(&value) { Ok(value) } else { Err(error(out_of_range)) }
}

/// A decimal number times its unit, if that is a whole number; `u64::MAX` if it is greater.
fn scaled(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
    let (number, suffix) = text.split_at(digits.unwrap_or(text.len()));
    let unit = u128::from(unit(suffix.trim_start())?);
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((number.as_str(), ""));
    if whole.is_empty() || fraction.len() > 12 || (fraction.is_empty() && number.contains('.')) {
        return None;
    }
    let decimals = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    // Digits and dots are all there is, so what cannot be parsed has too many digits or a second
    // dot.
    let whole = match whole.parse::<u64>() {
        Ok(whole) => u128::from(whole),
        Err(_) if whole.bytes().all(|byte| byte.is_ascii_digit()) => return Some(u64::MAX),
        Err(_) => return None,
    };
    let Some(product) = (whole * decimals + fraction).checked_mul(unit) else {
        return Some(u64::MAX);
    };
    let is_whole = product % decimals == 0;
    is_whole.then(|| u64::try_from(product / decimals).unwrap_or(u64::MAX))
}

/// `bytes` for people: `12 MB`, `327,680 B`. Exact where it is short, to the byte otherwise.
pub fn show_size(bytes: u64) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    let digits = bytes.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + " B"
}

/// `bps` bits per second in the largest unit in which it is a whole number, as files have it:
/// `200M`, `1500M`, `6000008`.
pub fn show_rate(bps: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let unit = units.into_iter().find(|(unit, _)| bps >= *unit && bps.is_multiple_of(*unit));
    unit.map_or_else(|| bps.to_string(), |(unit, name)| format!("{}{name}", bps / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_decimal_unless_they_say_otherwise() {
        for (text, bytes) in [
            ("9216", 9_216),
            ("9_216", 9_216),
            ("64KB", 64_000),
            ("64kB", 64_000),
            ("64 KB", 64_000),
            ("64KiB", 65_536),
            ("12MB", 12_000_000),
            ("12MiB", 12_582_912),
            ("1.5M", 1_500_000),
            ("1GB", 1_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        let wrong =
            ["", "KB", "-1", "12XB", "1.5", "1.", ".5KB", "1e6", "1.2.3KB", "99999999999GB"];
        for text in wrong {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn speeds_lengths_and_times() {
        assert_eq!(parse_speed("40G"), Ok(Speed::from_gbps(40)));
        assert_eq!(parse_speed("200M"), Ok(Speed::from_bps(200_000_000)));
        assert_eq!(parse_speed("2.5Gb/s"), Ok(Speed::from_bps(2_500_000_000)));
        assert_eq!(parse_speed("1.6T"), Ok(Speed::from_bps(1_600_000_000_000)));
        for text in ["40", "0G", "2T", "40X", "G", "999k"] {
            assert!(parse_speed(text).is_err(), "{text}");
        }
        assert_eq!(parse_length("300m").unwrap().delay_ps(), 1_500_000);
        assert_eq!(parse_length("0.5m").unwrap().to_string(), "0.5m");
        assert_eq!(parse_length("2km").unwrap().to_string(), "2000m");
        assert_eq!(parse_length("120000m").unwrap().delay_ps(), 600_000_000);
        assert!(parse_length("300").is_err() && parse_length("1001km").is_err());
        assert_eq!(parse_duration_ns("20us"), Ok(20_000));
        assert_eq!(parse_duration_ns("5min"), Ok(300_000_000_000));
        assert!(parse_duration_ns("5").is_err() && parse_duration_ns("0.5ns").is_err());
    }

    #[test]
    fn rates_and_counts_are_decimal() {
        assert_eq!(parse_rate_bps("200M"), Ok(200_000_000));
        assert_eq!(parse_rate_bps("1.5G"), Ok(1_500_000_000));
        assert_eq!(parse_rate_bps("9600"), Ok(9_600));
        assert_eq!(parse_count("64k"), Ok(64_000));
        assert_eq!(parse_count("0"), Ok(0));
        assert!(parse_rate_bps("0").is_err());
        for text in ["", "M", "1.", ".5G", "-1", "1e9", "0.5", "99999999999999999999T", "\u{661}"] {
            assert!(parse_count(text).is_err() && parse_rate_bps(text).is_err(), "{text}");
        }
        for bps in [1, 999, 8_000, 200_000_000, 1_500_000_000, 6_000_008, 40_000_000_000] {
            assert_eq!(parse_rate_bps(&show_rate(bps)), Ok(bps));
        }
        assert_eq!(show_rate(1_500_000_000), "1500M");
        let message = parse_rate_bps("fast").unwrap_err().to_string();
        assert_eq!(message, "`fast` is not a rate; write bits per second as \"200M\" or \"1.5G\"");
        for text in ["10", "ms", "1.5ns"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
        assert_eq!(parse_duration_ns("0.25ms"), Ok(250_000));
    }

    #[test]
    fn an_error_says_what_would_be_right() {
        let message = parse_size("12XB").unwrap_err().to_string();
        assert!(message.starts_with("`12XB` is not a size; write bytes as 9216"), "{message}");
    }

    #[test]
    fn what_is_too_much_is_told_from_what_is_misspelled() {
        let nines = "9".repeat(30) + "m";
        let length = |text| parse_length(text).unwrap_err().to_string();
        assert_eq!(length("1200000m"), "`1200000m` is out of range; a length is at most 1000km");
        assert!(length(&nines).ends_with(LENGTH_RANGE));
        assert!(length("120000").starts_with("`120000` is not a length; write "));
        assert!(length("1.2.3m").contains("is not a length"));
        let said = |error: UnitError| error.wrong;
        assert_eq!(said(parse_size("99999999999GB").unwrap_err()), SIZE_RANGE);
        assert_eq!(said(parse_size("18446744073709551615").unwrap_err()), SIZE_RANGE);
        assert_eq!(parse_size("18446744073709551614"), Ok(u64::MAX - 1));
        assert_eq!(said(parse_speed("2T").unwrap_err()), SPEED_RANGE);
        assert_eq!(said(parse_speed("2Q").unwrap_err()), SPEED);
        assert_eq!(said(parse_duration_ns("8761h").unwrap_err()), DURATION_RANGE);
        assert_eq!(said(parse_duration_ns("0.5ns").unwrap_err()), DURATION);
    }

    #[test]
    fn sizes_are_shown_short_only_where_that_is_exact() {
        assert_eq!(show_size(12_000_000), "12 MB");
        assert_eq!(show_size(12_000), "12 KB");
        assert_eq!(show_size(25_680), "25,680 B");
        assert_eq!(show_size(1_234_567), "1,234,567 B");
        assert_eq!(show_size(0), "0 B");
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in ".{0,24}") {
            let _ = (parse_size(&text), parse_speed(&text), parse_length(&text), parse_duration_ns(&text));
            let _ = (parse_rate_bps(&text), parse_count(&text));
        }

        #[test]
        fn a_whole_count_is_read_back(count in 0..u64::MAX) {
            prop_assert_eq!(parse_count(&count.to_string()), Ok(count));
        }

        #[test]
        fn a_shown_size_is_read_back(bytes in 0u64..=1 << 50) {
            prop_assert_eq!(parse_size(&show_size(bytes).replace(',', "")), Ok(bytes));
        }
    }
}
