//! A figure of the page: lines over an axis, as SVG.

use std::fmt::Write as _;

/// Colors that stay apart for color-blind eyes (Okabe and Ito), one for each line.
const COLORS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"];

const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = WIDTH - 14.0;
const BOTTOM: f64 = HEIGHT - 34.0;

/// A line of a figure.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Along the axes.
    pub(crate) points: Vec<(f64, f64)>,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// What the horizontal axis counts, with its unit.
    pub(crate) x_label: String,
    /// Whether both axes are logarithmic; points at or below 0 are then left out.
    pub(crate) is_logarithmic: bool,
    pub(crate) lines: Vec<Line>,
}

impl Plot {
    /// The figure.
    pub(crate) fn svg(&self) -> String {
        let scale = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let shown = |&(x, y): &(f64, f64)| !self.is_logarithmic || (x > 0.0 && y > 0.0);
        let all = || self.lines.iter().flat_map(|line| line.points.iter().copied().filter(shown));
        let [x_axis, y_axis] = [Axis::of(all().map(|at| at.0)), Axis::of(all().map(|at| at.1))]
            .map(|axis| if self.is_logarithmic { axis } else { axis.with_zero() });
        let x = |value: f64| LEFT + x_axis.share(value, &scale) * (RIGHT - LEFT);
        let y = |value: f64| BOTTOM - y_axis.share(value, &scale) * (BOTTOM - TOP);
        let mut svg = format!(
            "<svg width={WIDTH} height={HEIGHT} role=img aria-label='{title}'>\
             <text x={LEFT} y=18>{title}</text>\
             <path d='M{LEFT} {TOP}V{BOTTOM}H{RIGHT}' fill=none stroke=currentColor opacity=.4 />\
             <text x={ends} y={} text-anchor=end>{}</text>\
             <text x={ends} y={BOTTOM} text-anchor=end>{}</text>\
             <text x={LEFT} y={under}>{}</text>\
             <text x={RIGHT} y={under} text-anchor=end>{} {}</text>",
            TOP + 6.0,
            number(y_axis.most),
            number(y_axis.least),
            number(x_axis.least),
            number(x_axis.most),
            self.x_label,
            title = self.title,
            ends = LEFT - 4.0,
            under = BOTTOM + 18.0,
        );
        for (index, line) in self.lines.iter().enumerate() {
            let color = COLORS[index % COLORS.len()];
            let points = line.points.iter().filter(|at| shown(at));
            let points: Vec<String> =
                points.map(|&(at, value)| format!("{:.1},{:.1}", x(at), y(value))).collect();
            let dash = if index < COLORS.len() { "none" } else { "4 3" };
            let row = TOP + 14.0 + 14.0 * index as f64;
            let _always_fits = write!(
                svg,
                "<polyline points='{}' fill=none stroke='{color}' stroke-width=2 \
                 stroke-dasharray='{dash}' /><text x={} y={row} style='fill:{color}'>{}</text>",
                points.join(" "),
                LEFT + 8.0,
                line.name
            );
        }
        svg.push_str("</svg>");
        svg
    }
}

/// From the least to the most value.
struct Axis {
    least: f64,
    most: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) =
            values.fold(ends, |(least, most), value| (value.min(least), value.max(most)));
        if least <= most { Self { least, most } } else { Self { least: 0.0, most: 1.0 } }
    }

    fn with_zero(self) -> Self {
        Self { least: self.least.min(0.0), most: self.most.max(0.0) }
    }

    /// Where `value` lies, 0 to 1.
    fn share(&self, value: f64, scale: &dyn Fn(f64) -> f64) -> f64 {
        let [least, most] = [self.least, self.most].map(scale);
        if most > least { (scale(value) - least) / (most - least) } else { 0.5 }
    }
}

/// A few digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        size if size >= 0.001 => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(is_logarithmic: bool) -> Plot {
        let points = vec![(0.0, 0.0), (1.0, 10.0), (100.0, 1_000.0)];
        let lines = vec![Line { name: "ours".into(), points }];
        Plot { title: "title".into(), x_label: "switches".into(), is_logarithmic, lines }
    }

    #[test]
    fn points_lie_between_the_ends_of_the_axes() {
        let corners = format!("{LEFT:.1},{BOTTOM:.1}");
        let linear = plot(false).svg();
        assert!(linear.contains(&format!("points='{corners} ")), "{linear}");
        assert!(linear.contains(&format!("{RIGHT:.1},{TOP:.1}'")), "{linear}");
        // Zero has no logarithm: the first point is (1, 10).
        let logarithmic = plot(true).svg();
        let two = format!("points='{corners} {RIGHT:.1},{TOP:.1}'");
        assert!(logarithmic.contains(&two), "{logarithmic}");
    }

    #[test]
    fn a_figure_without_points_is_drawn_empty() {
        let lines = vec![Line { name: "none".into(), points: Vec::new() }];
        assert!(!Plot { lines, ..plot(false) }.svg().contains("NaN"));
    }
}
