//! A safe interface to what the tests use of c-blosc2. Errors are its negative return values.

use blosc2_sys as sys;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Once;

pub type Result<T> = std::result::Result<T, c_int>;

/// Bytes that a chunk can be larger than its content.
const OVERHEAD: usize = sys::BLOSC2_MAX_OVERHEAD as usize;
/// What a failed constructor returns.
const NO_OBJECT: c_int = -1;

/// Encoding parameters.
#[derive(Clone, Debug)]
pub struct Params {
    pub codec: u8,
    pub level: u8,
    pub typesize: usize,
    /// 0: chosen by c-blosc2.
    pub blocksize: usize,
    /// 1 always, 2 never, 3 chosen by c-blosc2, 4 as c-blosc 1.
    pub split: u8,
    pub filters: [u8; 6],
    pub filters_meta: [u8; 6],
}

fn init() {
    static ONCE: Once = Once::new();
    // SAFETY: no arguments, called once.
    ONCE.call_once(|| unsafe { sys::blosc2_init() });
}

impl Params {
    fn get(&self) -> sys::blosc2_cparams {
        init();
        // SAFETY: it returns a structure by value.
        let mut params = unsafe { sys::blosc2_get_blosc2_cparams_defaults() };
        params.compcode = self.codec;
        params.clevel = self.level;
        params.typesize = self.typesize as i32;
        params.blocksize = self.blocksize as i32;
        params.splitmode = i32::from(self.split);
        params.filters = self.filters;
        params.filters_meta = self.filters_meta;
        params.nthreads = 1;
        params
    }
}

fn decoding() -> sys::blosc2_dparams {
    init();
    // SAFETY: it returns a structure by value.
    let mut params = unsafe { sys::blosc2_get_blosc2_dparams_defaults() };
    params.nthreads = 1;
    params
}

fn length(n: c_int) -> Result<usize> {
    usize::try_from(n).map_err(|_| n)
}

/// A context of c-blosc2.
struct Context(NonNull<sys::blosc2_context>);

impl Context {
    fn encoder(params: &Params) -> Result<Context> {
        // SAFETY: the parameters are complete and have no pointers.
        let context = unsafe { sys::blosc2_create_cctx(params.get()) };
        NonNull::new(context).map(Context).ok_or(NO_OBJECT)
    }

    fn decoder() -> Result<Context> {
        // SAFETY: the parameters are complete and have no pointers.
        let context = unsafe { sys::blosc2_create_dctx(decoding()) };
        NonNull::new(context).map(Context).ok_or(NO_OBJECT)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is live, and freed once.
        unsafe { sys::blosc2_free_ctx(self.0.as_ptr()) }
    }
}

/// Encodes a chunk.
pub fn encode(params: &Params, content: &[u8]) -> Result<Vec<u8>> {
    let context = Context::encoder(params)?;
    let mut chunk = vec![0; content.len() + OVERHEAD];
    // SAFETY: both buffers have the lengths that are passed.
    let n = unsafe {
        sys::blosc2_compress_ctx(
            context.0.as_ptr(),
            content.as_ptr().cast(),
            content.len() as i32,
            chunk.as_mut_ptr().cast(),
            chunk.len() as i32,
        )
    };
    chunk.truncate(length(n)?);
    Ok(chunk)
}

/// A chunk to decode.
pub struct Chunk<'c> {
    context: Context,
    bytes: &'c [u8],
}

impl<'c> Chunk<'c> {
    pub fn new(bytes: &'c [u8]) -> Result<Chunk<'c>> {
        Ok(Chunk {
            context: Context::decoder()?,
            bytes,
        })
    }

    /// Decodes `n` bytes: all content.
    pub fn decode(&self, n: usize) -> Result<Vec<u8>> {
        let mut content = vec![0x55; n];
        // SAFETY: both buffers have the lengths that are passed.
        let n = unsafe {
            sys::blosc2_decompress_ctx(
                self.context.0.as_ptr(),
                self.bytes.as_ptr().cast(),
                self.bytes.len() as i32,
                content.as_mut_ptr().cast(),
                n as i32,
            )
        };
        content.truncate(length(n)?);
        Ok(content)
    }

    /// Decodes `n` items of `typesize` bytes from item `start` on.
    pub fn items(&self, start: usize, n: usize, typesize: usize) -> Result<Vec<u8>> {
        let mut content = vec![0x55; n * typesize];
        // SAFETY: both buffers have the lengths that are passed.
        let got = unsafe {
            sys::blosc2_getitem_ctx(
                self.context.0.as_ptr(),
                self.bytes.as_ptr().cast(),
                self.bytes.len() as i32,
                start as i32,
                n as i32,
                content.as_mut_ptr().cast(),
                content.len() as i32,
            )
        };
        content.truncate(length(got)?);
        Ok(content)
    }
}

/// A superchunk.
pub struct Schunk<'f>(NonNull<sys::blosc2_schunk>, PhantomData<&'f [u8]>);

impl<'f> Schunk<'f> {
    pub fn new(params: &Params) -> Result<Schunk<'f>> {
        let (mut cparams, mut dparams) = (params.get(), decoding());
        // SAFETY: it returns a structure by value.
        let mut storage = unsafe { sys::blosc2_get_blosc2_storage_defaults() };
        storage.contiguous = true;
        storage.cparams = &raw mut cparams;
        storage.dparams = &raw mut dparams;
        // SAFETY: it copies the storage and both kinds of parameters.
        let schunk = unsafe { sys::blosc2_schunk_new(&raw mut storage) };
        Schunk::wrap(schunk)
    }

    /// Opens a frame. With a copy of it, c-blosc2 frees what it did not allocate if a chunk of one
    /// value comes before another one.
    pub fn from_frame(frame: &'f [u8]) -> Result<Schunk<'f>> {
        init();
        let bytes = frame.as_ptr().cast_mut();
        // SAFETY: it reads so many bytes, which outlive the superchunk and are not freed with it; what
        // would change them needs `&mut`, and is not called.
        let schunk = unsafe {
            let schunk = sys::blosc2_schunk_from_buffer(bytes, frame.len() as i64, false);
            if !schunk.is_null() {
                sys::blosc2_schunk_avoid_cframe_free(schunk, true);
            }
            schunk
        };
        Schunk::wrap(schunk)
    }

    /// Opens a frame in a file, of which blocks are then read one by one.
    pub fn open(file: &Path) -> Result<Schunk<'static>> {
        init();
        let name = CString::new(file.as_os_str().as_encoded_bytes()).map_err(|_| NO_OBJECT)?;
        // SAFETY: it copies the name.
        let schunk = unsafe { sys::blosc2_schunk_open(name.as_ptr()) };
        Schunk::wrap(schunk)
    }

    fn wrap(schunk: *mut sys::blosc2_schunk) -> Result<Schunk<'f>> {
        let schunk = NonNull::new(schunk).ok_or(NO_OBJECT)?;
        Ok(Schunk(schunk, PhantomData))
    }

    pub fn append(&mut self, content: &[u8]) -> Result<()> {
        // SAFETY: it reads so many bytes.
        let n = unsafe {
            let n = content.len() as i32;
            sys::blosc2_schunk_append_buffer(self.0.as_ptr(), content.as_ptr().cast(), n)
        };
        if n < 0 { Err(n as c_int) } else { Ok(()) }
    }

    /// Returns the number of chunks, and of bytes of content.
    pub fn size(&self) -> (u64, u64) {
        // SAFETY: the superchunk is live.
        let schunk = unsafe { self.0.as_ref() };
        (schunk.nchunks as u64, schunk.nbytes as u64)
    }

    /// Decodes chunk `i`, of at most `n` bytes.
    pub fn chunk(&self, i: u64, n: usize) -> Result<Vec<u8>> {
        let mut content = vec![0x55; n];
        // SAFETY: the buffer has the length that is passed.
        let n = unsafe {
            let to = content.as_mut_ptr().cast();
            sys::blosc2_schunk_decompress_chunk(self.0.as_ptr(), i as i64, to, n as i32)
        };
        content.truncate(length(n)?);
        Ok(content)
    }

    pub fn set_meta(&mut self, name: &str, value: &[u8]) -> Result<()> {
        let name = CString::new(name).map_err(|_| NO_OBJECT)?;
        let bytes = value.as_ptr().cast_mut();
        // SAFETY: it copies name and value.
        let i = unsafe {
            sys::blosc2_meta_add(self.0.as_ptr(), name.as_ptr(), bytes, value.len() as i32)
        };
        length(i).map(drop)
    }

    pub fn set_vlmeta(&mut self, name: &str, value: &[u8]) -> Result<()> {
        let name = CString::new(name).map_err(|_| NO_OBJECT)?;
        let (bytes, n) = (value.as_ptr().cast_mut(), value.len() as i32);
        // SAFETY: it copies name and value; without parameters it takes its defaults.
        let i = unsafe {
            let schunk = self.0.as_ptr();
            sys::blosc2_vlmeta_add(schunk, name.as_ptr(), bytes, n, ptr::null_mut())
        };
        length(i).map(drop)
    }

    pub fn vlmeta(&self, name: &str) -> Result<Vec<u8>> {
        let name = CString::new(name).map_err(|_| NO_OBJECT)?;
        let (mut bytes, mut n) = (ptr::null_mut(), 0);
        // SAFETY: it allocates the value and returns its address and length.
        let i = unsafe {
            sys::blosc2_vlmeta_get(self.0.as_ptr(), name.as_ptr(), &raw mut bytes, &raw mut n)
        };
        length(i)?;
        Ok(take(bytes, n as usize))
    }

    /// Returns the metalayers of the header.
    pub fn metas(&self) -> Vec<(String, Vec<u8>)> {
        // SAFETY: the superchunk is live.
        let schunk = unsafe { self.0.as_ref() };
        let used = &schunk.metalayers[..usize::from(schunk.nmetalayers)];
        used.iter()
            .map(|meta| {
                // SAFETY: the first `nmetalayers` pointers are to live metalayers, with a name that
                // ends in a zero byte and content of this length.
                unsafe {
                    let name = CStr::from_ptr((**meta).name);
                    let n = (**meta).content_len as usize;
                    let value = std::slice::from_raw_parts((**meta).content, n);
                    (name.to_string_lossy().into_owned(), value.to_vec())
                }
            })
            .collect()
    }

    /// Returns the bytes of the frame.
    pub fn frame(&self) -> Result<Vec<u8>> {
        let (mut bytes, mut is_copy) = (ptr::null_mut(), false);
        // SAFETY: it returns the address of the frame, and whether it allocated it for the caller.
        let n = unsafe {
            sys::blosc2_schunk_to_buffer(self.0.as_ptr(), &raw mut bytes, &raw mut is_copy)
        };
        let n = length(n as c_int)?;
        if is_copy {
            return Ok(take(bytes, n));
        }
        // SAFETY: the frame has so many bytes; they are copied while the superchunk lives.
        Ok(unsafe { std::slice::from_raw_parts(bytes, n) }.to_vec())
    }
}

/// Copies and frees what c-blosc2 allocated.
fn take(bytes: *mut u8, n: usize) -> Vec<u8> {
    if bytes.is_null() {
        return Vec::new();
    }
    // SAFETY: c-blosc2 allocated so many bytes with malloc for the caller.
    unsafe {
        let copy = std::slice::from_raw_parts(bytes, n).to_vec();
        sys::libc::free(bytes.cast());
        copy
    }
}

impl Drop for Schunk<'_> {
    fn drop(&mut self) {
        // SAFETY: the superchunk is live, and freed once.
        unsafe { sys::blosc2_schunk_free(self.0.as_ptr()) };
    }
}
