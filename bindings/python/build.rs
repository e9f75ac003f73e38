//! Flags for the linker, as an extension module leaves the symbols of the interpreter undefined, and
//! conditions for builds without a GIL.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    pyo3_build_config::add_extension_module_link_args();
}
