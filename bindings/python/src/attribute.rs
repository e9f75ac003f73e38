//! Attributes as JSON.

use crate::container::format;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Returns a stored attribute of a container of a format as JSON.
#[pyfunction]
pub fn attribute_to_json(format_name: &Bound<'_, PyAny>, stored: &[u8]) -> PyResult<String> {
    Ok(format(format_name)?.attribute_to_json(stored))
}

/// Returns JSON as a format stores it.
#[pyfunction]
pub fn attribute_from_json<'py>(
    format_name: &Bound<'py, PyAny>,
    json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let stored = format(format_name)?.attribute_from_json(json);
    Ok(PyBytes::new(format_name.py(), &stored))
}
