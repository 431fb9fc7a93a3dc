//! A power law through points: a straight line through their logarithms, by least squares.

/// `factor x size^exponent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerLaw {
    factor: f64,
    pub(crate) exponent: f64,
}

/// Shorter runs are mostly the cost of starting threads and of cold caches.
const SECONDS_MIN: f64 = 0.01;

impl PowerLaw {
    /// Through the points (size, seconds) that took [`SECONDS_MIN`]; `None` if they are fewer than
    /// three.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let long = points.iter().filter(|(_, seconds)| *seconds >= SECONDS_MIN);
        let logs: Vec<(f64, f64)> = long.map(|(size, took)| (size.ln(), took.ln())).collect();
        if logs.len() < 3 {
            return None;
        }
        let count = logs.len() as f64;
        let mean_x = logs.iter().map(|at| at.0).sum::<f64>() / count;
        let mean_y = logs.iter().map(|at| at.1).sum::<f64>() / count;
        let products: f64 = logs.iter().map(|at| (at.0 - mean_x) * (at.1 - mean_y)).sum();
        let squares: f64 = logs.iter().map(|at| (at.0 - mean_x).powi(2)).sum();
        let exponent = products / squares;
        Some(Self { factor: (mean_y - exponent * mean_x).exp(), exponent })
    }

    /// Seconds at `size`.
    pub(crate) fn at(&self, size: f64) -> f64 {
        self.factor * size.powf(self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_of_a_power_is_that_power() {
        let points = [100.0, 200.0, 500.0, 1_000.0].map(|size: f64| (size, 3e-4 * size.powf(2.5)));
        let law = PowerLaw::fit(&points).unwrap();
        assert!((law.exponent - 2.5).abs() < 1e-9, "{law:?}");
        assert!((law.at(10_000.0) / 3e6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn short_runs_and_few_points_give_no_law() {
        assert!(PowerLaw::fit(&[(1.0, 1.0), (2.0, 2.0)]).is_none());
        assert!(PowerLaw::fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 0.001)]).is_none());
    }
}
