//! Numbers with units as a person types them: `200M`, `1.5G`, `64K`, `10ms`.

use thiserror::Error;

/// A number with a unit that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not {wanted}")]
pub struct NotAQuantity {
    text: String,
    wanted: &'static str,
}

/// Bits per second, with decimal suffixes: `200M` is 200,000,000.
///
/// # Errors
/// Anything but a positive number with an optional `K`, `M`, `G` or `T`.
pub fn bits_per_second(text: &str) -> Result<u64, NotAQuantity> {
    scaled(text, &DECIMAL)
        .filter(|&bps| bps > 0)
        .ok_or_else(|| wrong(text, "a rate: bits per second, as in 200M or 1.5G"))
}

/// A count (of frames, bytes, frames a second), with decimal suffixes: `10K` is 10,000.
///
/// # Errors
/// Anything but a whole number after its optional `K`, `M`, `G` or `T` is applied.
pub fn count(text: &str) -> Result<u64, NotAQuantity> {
    scaled(text, &DECIMAL).ok_or_else(|| wrong(text, "a count, as in 5000 or 64K"))
}

/// A time in nanoseconds; the unit must be given: `2s`, `10ms`, `50us`, `800ns`.
///
/// # Errors
/// Anything but a number and one of the four units.
pub fn nanoseconds(text: &str) -> Result<u64, NotAQuantity> {
    scaled(text, &TIMES)
        .ok_or_else(|| wrong(text, "a time with its unit, as in 2s, 10ms, 50us, 800ns"))
}

/// Suffixes and what they multiply by; the first that the text ends in counts.
type Suffixes = [(&'static str, u64)];

const DECIMAL: [(&str, u64); 6] = [
    ("K", 1_000),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("", 1),
];
const TIMES: [(&str, u64); 4] = [("ms", 1_000_000), ("us", 1_000), ("ns", 1), ("s", 1_000_000_000)];

fn wrong(text: &str, wanted: &'static str) -> NotAQuantity {
    NotAQuantity { text: text.to_owned(), wanted }
}

/// `digits[.digits]suffix` as a whole number; `None` for anything else, a fraction of one or more
/// than 64 bits.
fn scaled(text: &str, suffixes: &Suffixes) -> Option<u64> {
    let (number, unit) =
        suffixes.iter().find_map(|&(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = whole.parse::<u128>().ok()?.checked_mul(u128::from(unit))?;
    let fraction_unit = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = fraction.parse::<u128>().ok()?.checked_mul(u128::from(unit))?;
    if fraction % fraction_unit != 0 {
        return None;
    }
    u64::try_from(whole.checked_add(fraction / fraction_unit)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_multiply() {
        assert_eq!(bits_per_second("200M"), Ok(200_000_000));
        assert_eq!(bits_per_second("1.5G"), Ok(1_500_000_000));
        assert_eq!(bits_per_second("9600"), Ok(9_600));
        assert_eq!(count("64k"), Ok(64_000));
        assert_eq!(count("0"), Ok(0));
        assert_eq!(nanoseconds("2s"), Ok(2_000_000_000));
        assert_eq!(nanoseconds("0.25ms"), Ok(250_000));
        assert_eq!(nanoseconds("50us"), Ok(50_000));
        assert_eq!(nanoseconds("800ns"), Ok(800));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_its_text() {
        for text in ["", "M", "1.", ".5G", "-1", "1e9", "1 M", "0.5", "99999999999999999999T", "١"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        for text in ["10", "ms", "1.5ns", "10 ms", "1h"] {
            assert!(nanoseconds(text).is_err(), "{text}");
        }
        assert!(bits_per_second("0").is_err());
        let message = bits_per_second("fast").expect_err("not a rate").to_string();
        assert_eq!(message, "`fast` is not a rate: bits per second, as in 200M or 1.5G");
    }

    proptest! {
        #[test]
        fn any_text_is_answered_without_a_panic(text in ".{0,40}") {
            let _ = (bits_per_second(&text), count(&text), nanoseconds(&text));
        }

        #[test]
        fn whole_numbers_come_back(number in 0..=u64::MAX / 1_000_000_000) {
            prop_assert_eq!(count(&number.to_string()), Ok(number));
            prop_assert_eq!(nanoseconds(&format!("{number}s")), Ok(number * 1_000_000_000));
        }
    }
}
