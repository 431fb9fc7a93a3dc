//! Congestion control on the command line: which, and its parameters as KEY=VALUE,...

use config::units::{parse_count, parse_duration_ns, parse_rate_bps};
use roce::congestion::{Algorithm, DcqcnParameters, HpccParameters};
use roce::time::PS_PER_US;
use std::str::FromStr;

/// DCQCN's parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct DcqcnKeys(pub(super) DcqcnParameters);

/// HPCC's parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct HpccKeys(pub(super) HpccParameters);

/// An algorithm with the parameters of its paper.
pub(super) fn algorithm(text: &str) -> Result<Algorithm, String> {
    Algorithm::from_name(text)
        .ok_or_else(|| format!("`{text}` is none of none, dcqcn, timely, hpcc and swift"))
}

impl FromStr for DcqcnKeys {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys = DcqcnParameters::default();
        each_pair(text, "ai, hai, min, timer, alpha-timer, bytes and g", |key, value| {
            let rate = || parse_rate_bps(value).map_err(|error| format!("{key}: {error}"));
            let time = || parse_duration_ns(value).map_err(|error| format!("{key}: {error}"));
            match key {
                "ai" => keys.additive_bps = rate()?,
                "hai" => keys.hyper_bps = rate()?,
                "min" => keys.minimum_bps = rate()?,
                "timer" => keys.increase_interval_ps = time()?.max(1) * (PS_PER_US / 1_000),
                "alpha-timer" => keys.alpha_interval_ps = time()?.max(1) * (PS_PER_US / 1_000),
                "bytes" => keys.increase_bytes = count(key, value)?,
                "g" => keys.g_millionths = share(key, value)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(Self(keys))
    }
}

impl FromStr for HpccKeys {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys = HpccParameters::default();
        each_pair(text, "eta, stages and ai", |key, value| {
            match key {
                "eta" => keys.eta_millionths = share(key, value)?.max(1),
                "stages" => {
                    keys.stages_max = u32::try_from(count(key, value)?)
                        .map_err(|_| format!("{key}: `{value}` is too much"))?;
                }
                "ai" => keys.additive_bytes = count(key, value)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(Self(keys))
    }
}

/// Calls `set` for each pair of `text`, which returns false if there is no such key; `known` names
/// those that there are.
fn each_pair(
    text: &str,
    known: &str,
    mut set: impl FnMut(&str, &str) -> Result<bool, String>,
) -> Result<(), String> {
    for pair in text.split(',') {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("`{pair}` is not KEY=VALUE"))?;
        if !set(key, value)? {
            return Err(format!("no key `{key}`; there are {known}"));
        }
    }
    Ok(())
}

/// A whole number, 1 at the least.
fn count(key: &str, text: &str) -> Result<u64, String> {
    parse_count(text).map(|count| count.max(1)).map_err(|error| format!("{key}: {error}"))
}

/// A share in millionths.
fn share(key: &str, text: &str) -> Result<u32, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or_else(|| format!("{key}: `{text}` is not a number from 0 to 1"))?;
    format!("{:.0}", share * 1e6).parse().map_err(|error| format!("{key}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_dcqcn_are_read_by_key() {
        let DcqcnKeys(keys) = "ai=5M,hai=50M,timer=300us,g=0.00390625,bytes=1M".parse().unwrap();
        assert_eq!((keys.additive_bps, keys.hyper_bps), (5_000_000, 50_000_000));
        assert_eq!(keys.increase_interval_ps, 300 * PS_PER_US);
        assert_eq!((keys.g_millionths, keys.increase_bytes), (3_906, 1_000_000));
        for wrong in ["", "ai", "ai=x", "bi=1M", "g=2", "timer=5"] {
            assert!(wrong.parse::<DcqcnKeys>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters_of_hpcc_are_read_by_key() {
        let HpccKeys(keys) = "eta=0.9,stages=3,ai=500".parse().unwrap();
        let wanted = HpccParameters { eta_millionths: 900_000, stages_max: 3, additive_bytes: 500 };
        assert_eq!(keys, wanted);
        for wrong in ["eta=1.5", "stages=x", "g=0.5", "ai"] {
            assert!(wrong.parse::<HpccKeys>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_unknown_is_refused() {
        assert!(algorithm("dcqcn").is_ok() && algorithm("hpcc").is_ok());
        assert!(algorithm("reno").is_err());
    }
}
