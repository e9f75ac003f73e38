//! Charts in SVG: axes with ticks, points with labels, bars. Readable on light and dark
//! backgrounds.

use std::fmt::Write as _;

const STYLE: &str = "svg{color:#1f2328}text{fill:currentColor;font:12px system-ui,sans-serif}\
.page{fill:#fff}.grid{stroke:currentColor;stroke-opacity:.15}.axis{stroke:currentColor;fill:none}\
.title{font-size:15px;font-weight:600}\
@media(prefers-color-scheme:dark){svg{color:#e6edf3}.page{fill:#0d1117}}";

/// Colors that people with color blindness distinguish, and that contrast with white and black.
pub const COLORS: [&str; 7] =
    ["#0a7cc4", "#d55e00", "#009e73", "#c05f95", "#b8860b", "#8a63d2", "#7f7f7f"];

/// An axis: values from `from` to `to` at `start` to `start + length` in the picture.
pub struct Axis {
    from: f64,
    to: f64,
    is_log: bool,
    start: f64,
    length: f64,
}

impl Axis {
    pub fn new((from, to): (f64, f64), is_log: bool, start: f64, length: f64) -> Axis {
        Axis { from, to: if to > from { to } else { from + 1.0 }, is_log, start, length }
    }

    pub fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.is_log { value.max(1e-9).ln() } else { value }
        };
        let part = (scale(value) - scale(self.from)) / (scale(self.to) - scale(self.from));
        self.start + self.length * part.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let exponents = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
            let is_wide = self.to / self.from > 300.0;
            let factors: &[f64] = if is_wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = exponents.flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
            return all.filter(|tick| (self.from..=self.to).contains(tick)).collect();
        }
        let rough = (self.to - self.from) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let nice = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = nice.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil();
        let ticks = (0..20).map(|i| (first + f64::from(i)) * step);
        ticks.take_while(|tick| *tick <= self.to + step / 1e6).collect()
    }
}

/// A picture that grows.
pub struct Chart {
    text: String,
    width: f64,
    height: f64,
    /// Rectangles that labels must not overlap: left, top, right, bottom.
    taken: Vec<[f64; 4]>,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Chart {
    pub fn new(width: f64, height: f64, title: &str) -> Chart {
        let mut chart = Chart { text: String::new(), width, height, taken: Vec::new() };
        chart.put(format_args!("<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>"));
        chart.text("title", 20.0, 26.0, "start", title);
        chart
    }

    fn put(&mut self, element: std::fmt::Arguments) {
        // writing to a string does not fail
        let _ = writeln!(self.text, "{element}");
    }

    pub fn text(&mut self, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escaped(text)
        ));
    }

    /// Draws both axes with grid, ticks and names.
    pub fn axes(&mut self, x: &Axis, y: &Axis, names: (&str, &str)) {
        let (left, right, bottom, top) = (x.start, x.start + x.length, y.start, y.start + y.length);
        for (tick, at) in x.ticks().into_iter().map(|tick| (tick, x.at(tick))) {
            self.put(format_args!("<path class=\"grid\" d=\"M{at:.1} {bottom}V{top}\"/>"));
            self.text("tick", at, bottom + 17.0, "middle", &short(tick));
        }
        for (tick, at) in y.ticks().into_iter().map(|tick| (tick, y.at(tick))) {
            self.put(format_args!("<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>"));
            self.text("tick", left - 7.0, at + 4.0, "end", &short(tick));
        }
        self.put(format_args!("<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>"));
        self.text("name", (left + right) / 2.0, bottom + 38.0, "middle", names.0);
        self.text("name", left - 40.0, top - 12.0, "start", names.1);
    }

    /// Draws a point; filled if it is marked.
    pub fn point(&mut self, x: f64, y: f64, color: &str, is_marked: bool, about: &str) {
        let (radius, opacity) = if is_marked { (5.0, 1.0) } else { (3.5, 0.45) };
        self.taken.push([x - radius, y - radius, x + radius, y + radius]);
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\" \
             fill-opacity=\"{opacity}\"><title>{}</title></circle>",
            escaped(about)
        ));
    }

    pub fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, about: &str) {
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" \
             fill=\"{}\"><title>{}</title></rect>",
            width.max(0.5),
            COLORS[0],
            escaped(about)
        ));
    }

    /// Writes a label beside a point where it overlaps nothing and stays between `left` and
    /// `right`; otherwise not at all.
    pub fn label(&mut self, x: f64, y: f64, text: &str, (left, right): (f64, f64)) {
        let width = text.chars().count() as f64 * 7.0;
        let sides = [8.0, -8.0 - width, -width / 2.0];
        let heights = [4.0, -9.0, 17.0, -22.0, 30.0];
        for (dy, dx) in heights.iter().flat_map(|dy| sides.iter().map(move |dx| (dy, dx))) {
            let area = [x + dx - 2.0, y + dy - 11.0, x + dx + width + 2.0, y + dy + 3.0];
            let overlaps = |other: &[f64; 4]| {
                area[0] < other[2] && other[0] < area[2] && area[1] < other[3] && other[1] < area[3]
            };
            if area[0] >= left && area[2] <= right && !self.taken.iter().any(overlaps) {
                self.taken.push(area);
                return self.text("label", x + dx, y + dy, "start", text);
            }
        }
    }

    pub fn finish(self) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n{}</svg>\n",
            self.text
        )
    }
}

/// A number of an axis.
pub fn short(value: f64) -> String {
    let rounded = format!("{value:.3e}").parse().unwrap_or(value);
    match value.abs() {
        1e7.. => format!("{rounded:e}"),
        _ => super::numbers::shortest(rounded, 8),
    }
}
