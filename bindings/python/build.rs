//! Flags for the linker: an extension module leaves the symbols of the interpreter undefined.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
