//! Aligned tables in text.

use crate::failure::Result;
use crate::output::Output;

/// Prints rows with two spaces between their columns. The first `left` columns are aligned to the
/// left, columns that are empty or "-" in all rows but the first are left out.
pub fn print(output: &mut Output, rows: &[Vec<String>], left: usize) -> Result {
    let columns = rows.first().map_or(0, Vec::len);
    let is_used = |i: &usize| {
        let cells = rows.iter().skip(1).filter_map(|row| row.get(*i));
        rows.len() == 1 || cells.into_iter().any(|cell| !matches!(cell.as_str(), "" | "-"))
    };
    let shown: Vec<usize> = (0..columns).filter(is_used).collect();
    let width =
        |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    for row in rows {
        let mut line = String::new();
        for i in &shown {
            let (cell, width) = (row.get(*i).map_or("", String::as_str), width(*i).unwrap_or(0));
            line +=
                &if *i < left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
        }
        output.line(line.trim_end())?;
    }
    Ok(())
}
