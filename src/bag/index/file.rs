//! Index files: made under another name and renamed when they are whole and durable, opened as they
//! are.
#![forbid(unsafe_code)]

use super::build::{Out, build};
use super::header::Header;
use super::partition::Spill;
use super::{CREATE_OPTIONS, Index, OPEN_OPTIONS};
use crate::bag::{Bag, Mode};
use crate::error::{Result, Status, fail};
use crate::io::journal::{self, Container, Swapped};
use crate::io::{self, Access, Folder, beside};
use crate::options::{Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

/// What has fingerprints while an index is made.
const PART: &str = ".holdall-part";

fn access(options: &Options) -> Access {
    if options.get(Opt::Io, 0) == 1 {
        Access::Map
    } else {
        Access::Read
    }
}

impl Index {
    /// Makes the index of a bag in a file of its own, and opens it.
    pub fn create(path: &OsStr, mode: Mode, bag: &Bag, options: &Options) -> Result<Index> {
        let l = io::locate::locate_for_change(path)?;
        Index::create_in(&l.folder, &l.name, mode, bag, options)
    }

    /// As [`Index::create`], wherever the file is to be.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        bag: &Bag,
        options: &Options,
    ) -> Result<Index> {
        options.only("making the index of a bag", CREATE_OPTIONS)?;
        folder.writable()?;
        if mode == Mode::Append {
            return Err(fail!(
                Argument,
                "{}: an index is made anew, nothing is appended to it",
                folder.show(name)
            ));
        }
        let durable = options.get(Opt::Durability, 1) == 1;
        if folder.is_store() {
            return Err(fail!(
                Unsupported,
                "{}: an index is made in a local file, from where it can be copied to an object store",
                folder.show(name)
            ));
        }
        let c = Container::new(folder, name, &[""]);
        let _lock = c.lock(options.get(Opt::Lock, 1) == 1)?;
        let may_go = || match folder.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => Ok(()),
            Err(e) => Err(e),
            Ok(_) if mode == Mode::New => {
                Err(fail!(Exists, "{}: it is there already", folder.show(name)))
            }
            Ok(file) if Header::is_at(&*file)? => Ok(()),
            Ok(_) => Err(fail!(
                Exists,
                "{}: what is there is no index of a bag, and is not replaced by one",
                folder.show(name)
            )),
        };
        may_go()?;
        let _gone = Gone(&c);
        let file = c.create(&c.new_name(""))?;
        let spill = Spill::new(folder, beside("", name, PART));
        build(bag, options, &mut Out::File(file.clone(), Some(spill)))?;
        if durable {
            file.sync()?;
        }
        may_go()?;
        match journal::swap(&c, durable, &[""], &[]) {
            Swapped::Nothing(e) | Swapped::Unsure(e) => return Err(e),
            Swapped::Done | Swapped::Counts => {}
        }
        let mut opened = options.clone();
        [Opt::Durability, Opt::Lock]
            .iter()
            .for_each(|&o| _ = opened.take(o));
        Index::open_in(folder, name, bag, &opened)
    }

    /// Opens the index of a bag.
    pub fn open(path: &OsStr, bag: &Bag, options: &Options) -> Result<Index> {
        let l = io::locate::locate(path)?;
        Index::open_in(&l.folder, &l.name, bag, options)
    }

    /// As [`Index::open`], wherever the file is.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        bag: &Bag,
        options: &Options,
    ) -> Result<Index> {
        options.only("opening the index of a bag", OPEN_OPTIONS)?;
        Index::over(folder.open(name, access(options))?, bag, options)
    }
}

/// Removes what is only there while an index is made.
struct Gone<'a>(&'a Container);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        for name in [self.0.new_name(""), beside("", &self.0.main, PART)] {
            let _ = self.0.folder.remove_if_there(&name);
        }
    }
}
