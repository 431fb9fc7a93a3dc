//! What several seeds gave: the mean of a figure, or the share of runs, and how sure it is.
//!
//! No run depends on these numbers, so they alone need not be whole.
#![allow(clippy::float_arithmetic)]

use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use std::fmt;

/// A random experiment has at least so many seeds.
pub const SEEDS_MIN: usize = 20;

/// The mean of a sample and its 95 % confidence interval, by Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean of the sample.
    pub mean: f64,
    /// The interval reaches so far to each side of the mean.
    pub half_width: f64,
    /// Values in the sample: one for each seed.
    pub seeds: usize,
}

impl Interval {
    /// Of one value a seed; `None` of fewer than [`SEEDS_MIN`].
    pub fn of(values: &[f64]) -> Option<Self> {
        (values.len() >= SEEDS_MIN).then(|| Self::of_few(values)).flatten()
    }

    /// Of at least two values, where an experiment is too long for [`SEEDS_MIN`] of them.
    pub fn of_few(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
        let half_width = student.inverse_cdf(0.975) * standard_error;
        Some(Self { mean, half_width, seeds: values.len() })
    }

    /// The least value of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The greatest value of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }

    /// The figures of a share of runs: `part` of `whole` had a property.
    ///
    /// The interval is Wilson's, "Probable Inference, the Law of Succession, and Statistical
    /// Inference", JASA 22, 1927. It lies within 0 to 1 and has a width even where no run or every
    /// run had the property. Its middle is not the share, so both ends are returned.
    pub fn of_share(part: usize, whole: usize) -> Option<(f64, [f64; 2])> {
        let normal = Normal::standard();
        if whole == 0 {
            return None;
        }
        let (count, share) = (whole as f64, part as f64 / whole as f64);
        let z = normal.inverse_cdf(0.975);
        let scale = 1.0 + z * z / count;
        let middle = (share + z * z / (2.0 * count)) / scale;
        let spread = (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
        let half = z / scale * spread;
        // Rounding must not leave the share itself outside.
        let low = (middle - half).clamp(0.0, share);
        Some((share, [low, (middle + half).clamp(share, 1.0)]))
    }

    /// The figures.
    pub fn json(&self) -> Value {
        json!({ "mean": self.mean, "low": self.low(), "high": self.high(), "seeds": self.seeds })
    }
}

impl fmt::Display for Interval {
    /// `15.90 to 16.12`: with as many decimals as `{:.2}` asks for, otherwise with four digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.mean.abs().max(self.half_width);
        let decimals = (0..12).find(|&decimals| size * 10_f64.powi(decimals) >= 1_000.0);
        let digits =
            f.precision().unwrap_or_else(|| decimals.map_or(0, |d| d.unsigned_abs() as usize));
        write!(f, "{:.digits$} to {:.digits$}", self.low(), self.high())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a standard table: t at 97.5 % with 19 and with 4 degrees of freedom.
    const T_19: f64 = 2.093_024;
    const T_4: f64 = 2.776_445;

    #[test]
    fn the_interval_is_that_of_a_table_of_students_t() {
        // 1 to 20: mean 10.5, variance 35, standard error sqrt(35 / 20).
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = Interval::of(&values).unwrap();
        assert!((interval.mean - 10.5).abs() < 1e-12);
        assert!((interval.half_width - T_19 * (35.0_f64 / 20.0).sqrt()).abs() < 1e-5);
        assert!((interval.low() - 7.731_24).abs() < 1e-4, "{interval:?}");
        assert!((interval.high() - 13.268_76).abs() < 1e-4);
        assert_eq!(interval.seeds, 20);
        // 2, 4, 4, 5, 10: mean 5, variance 9, standard error sqrt(9 / 5).
        let few = Interval::of_few(&[2.0, 4.0, 4.0, 5.0, 10.0]).unwrap();
        assert!((few.half_width - T_4 * 1.8_f64.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn a_share_has_the_interval_of_wilson() {
        // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in
        // Medicine 17, 1998, Table I, method 3.
        let table = [
            (81, 263, [0.2553, 0.3662]),
            (15, 148, [0.0624, 0.1605]),
            (0, 20, [0.0, 0.1611]),
            (1, 29, [0.0061, 0.1718]),
        ];
        for (part, whole, [low, high]) in table {
            let (share, ends) = Interval::of_share(part, whole).unwrap();
            assert!((share - part as f64 / whole as f64).abs() < 1e-12);
            assert!((ends[0] - low).abs() < 5e-5 && (ends[1] - high).abs() < 5e-5, "{ends:?}");
        }
        let (share, ends) = Interval::of_share(20, 20).unwrap();
        assert_eq!((share, ends[1]), (1.0, 1.0));
        assert!((ends[0] - (1.0 - 0.1611)).abs() < 5e-5);
        assert_eq!(Interval::of_share(0, 0), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let interval = Interval::of(&[3.0; 20]).unwrap();
        assert_eq!((interval.low(), interval.high()), (3.0, 3.0));
    }

    #[test]
    fn fewer_seeds_than_the_least_have_no_interval() {
        assert_eq!(Interval::of(&[1.0; 19]), None);
        assert_eq!(Interval::of_few(&[1.0]), None);
    }

    #[test]
    fn it_is_written_with_four_digits_or_as_many_as_wanted() {
        let interval = Interval { mean: 16.0, half_width: 0.123_45, seeds: 20 };
        assert_eq!(interval.to_string(), "15.88 to 16.12");
        assert_eq!(format!("{interval:.1}"), "15.9 to 16.1");
        let small = Interval { mean: 2e-6, half_width: 1e-6, seeds: 20 };
        assert_eq!(small.to_string(), "0.000001000 to 0.000003000");
    }
}
