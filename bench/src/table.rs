//! What the benches without criterion share: rounds and medians on a terminal, and the same figures
//! as JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Nanoseconds that one of `count` things took, of the fastest half of `rounds` calls of `run`, at
/// the median of those: a machine that is shared only ever makes things slower.
pub fn nanoseconds_each(rounds: usize, count: u64, mut run: impl FnMut()) -> f64 {
    fast_median((0..rounds).map(|_| nanoseconds(count, &mut run)).collect())
}

/// Nanoseconds that each of `count` things took in one call of `run`.
pub fn nanoseconds(count: u64, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / count as f64
}

/// The median of `of`; 0 if there is nothing in it.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or(0.0)
}

/// The median of the fastest half of `took`.
///
/// # Panics
/// If there is nothing in it.
pub fn fast_median(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took[took.len() / 4]
}

/// The value below which `per_mille` of `sorted` lie.
///
/// # Panics
/// If there are none.
pub fn quantile<T: Copy>(sorted: &[T], per_mille: usize) -> T {
    sorted[(sorted.len() - 1) * per_mille / 1_000]
}

/// Writes `pairs` as one JSON object to `target/bench/NAME.json`.
///
/// # Panics
/// If the file cannot be written.
pub fn save(name: &str, pairs: &[(String, f64)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    fs::create_dir_all(&folder).expect("target/bench can be made");
    let mut text = String::from("{\n");
    for (number, (key, value)) in pairs.iter().enumerate() {
        let comma = if number + 1 < pairs.len() { "," } else { "" };
        let _always_fits = writeln!(text, "  {key:?}: {value:.4}{comma}");
    }
    text.push_str("}\n");
    fs::write(folder.join(format!("{name}.json")), text).expect("target/bench can be written");
}
