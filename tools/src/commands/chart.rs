//! Charts in SVG.

use super::numbers::short;
use crate::failure;
use crate::failure::Result;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Axes<'c, 'a, X> = ChartContext<'c, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>;
pub type Drawn<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Draws panels beside each other. Returns the picture.
pub fn draw(title: &str, panels: usize, draw: impl FnOnce(&[Area]) -> Drawn) -> Result<String> {
    let mut svg = String::new();
    let drawn = || -> Drawn {
        let root = SVGBackend::with_string(&mut svg, (980, 520)).into_drawing_area();
        root.fill(&WHITE)?;
        let root = root.titled(title, ("sans-serif", 18))?;
        draw(&root.split_evenly((1, panels)))?;
        Ok(root.present()?)
    };
    drawn().map_err(|error| failure!("chart: {error}"))?;
    Ok(svg)
}

/// Draws both axes with grid, ticks and names.
pub fn axes<'c, 'a, X>(
    area: &Area<'a>,
    x: X,
    y: Range<f64>,
    (x_name, y_name): (&str, &str),
) -> Drawn<Axes<'c, 'a, X::CoordDescType>>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let mut builder = ChartBuilder::on(area);
    builder.margin(12).x_label_area_size(44).y_label_area_size(60);
    let mut axes = builder.build_cartesian_2d(x, y)?;
    axes.configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .draw()?;
    Ok(axes)
}
