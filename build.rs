//! Names the shared library for the dynamic linker (`libholdall.so.0.1`): cargo does not.
//! The ABI may change with the minor version as long as the major one is 0.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name| std::env::var(name).unwrap_or_default();
    let (major, minor) = (
        var("CARGO_PKG_VERSION_MAJOR"),
        var("CARGO_PKG_VERSION_MINOR"),
    );
    let abi = if major == "0" {
        format!("0.{minor}")
    } else {
        major
    };
    match var("CARGO_CFG_TARGET_OS").as_str() {
        "linux" | "android" | "freebsd" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libholdall.so.{abi}")
        }
        "macos" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libholdall.{abi}.dylib")
        }
        _ => {}
    }
}
