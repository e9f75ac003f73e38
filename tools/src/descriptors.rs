//! Standard descriptors that the parent has closed.
//!
//! The first file that is opened would get the number of one, and what is printed would go into it.
//! The runtime of Rust opens /dev/null for reading and writing instead, and output would be lost
//! without an error. This opens it in the other direction before the runtime starts, so that reads
//! and writes fail.

extern "C" fn hold() {
    for descriptor in 0..3 {
        let mode = if descriptor == 0 { libc::O_WRONLY } else { libc::O_RDONLY };
        // SAFETY: both calls take numbers and a valid string; open() returns the lowest free
        // descriptor.
        unsafe {
            if libc::fcntl(descriptor, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), mode);
            }
        }
    }
}

#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
static HOLD: extern "C" fn() = hold;
