//! Index files. A new index is written under a temporary name, and renamed when it is complete and
//! durable. Opening does not change the file.
#![forbid(unsafe_code)]

use super::build::{Output, build};
use super::header::Header;
use super::partition::Spill;
use super::{CREATE_OPTIONS, Index, OPEN_OPTIONS};
use crate::bag::{Bag, Mode};
use crate::error::{Result, Status, fail};
use crate::io::journal::{self, Container};
use crate::io::{self, Access, Folder, beside};
use crate::options::{BAG_OPTIONS, Opt, Options};
use std::ffi::OsStr;
use std::sync::Arc;

/// Suffix of the temporary file for fingerprints.
const SPILL_SUFFIX: &str = ".holdall-part";

fn access(options: &Options) -> Access {
    if options.get(Opt::Io, 0) == 1 {
        Access::Map
    } else {
        Access::Read
    }
}

impl Index {
    /// Builds the index of a bag in a file of its own, and opens it.
    pub fn create(path: &OsStr, mode: Mode, bag: &Bag, options: &Options) -> Result<Index> {
        let located = io::locate::locate_for_change(path)?;
        Index::create_in(&located.folder, &located.name, mode, bag, options)
    }

    /// Like [`Index::create`], for a file in any folder.
    pub fn create_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        mode: Mode,
        bag: &Bag,
        options: &Options,
    ) -> Result<Index> {
        let options =
            &options.applying("creating the index of a bag", CREATE_OPTIONS, BAG_OPTIONS)?;
        folder.writable()?;
        if mode == Mode::Append {
            return Err(fail!(
                Argument,
                "{}: an index cannot be appended to; replace it (HOLDALL_REPLACE)",
                folder.show(name)
            ));
        }
        let durable = options.get(Opt::Durability, 1) == 1;
        if folder.is_store() {
            return Err(fail!(
                Unsupported,
                "{}: an index cannot be created in an object store; create a local file and copy it",
                folder.show(name)
            ));
        }
        let c = Container::new(folder, name, &[""]);
        let _lock = c.lock(options.get(Opt::Lock, 1) == 1)?;
        let check_target = || match folder.open(name, Access::Read) {
            Err(e) if e.status == Status::Missing => Ok(()),
            Err(e) => Err(e),
            Ok(_) if mode == Mode::New => {
                Err(fail!(Exists, "{}: it is there already", folder.show(name)))
            }
            Ok(file) if Header::is_in(&*file)? => Ok(()),
            Ok(_) => Err(fail!(
                Exists,
                "{}: the existing file is not a bag index and is not replaced",
                folder.show(name)
            )),
        };
        check_target()?;
        let _cleanup = RemoveTemporaries(&c);
        let file = c.create(&c.new_name(""))?;
        let spill = Spill::new(folder, beside("", name, SPILL_SUFFIX));
        build(bag, options, &mut Output::File(file.clone(), Some(spill)))?;
        if durable {
            file.sync()?;
        }
        check_target()?;
        journal::swap(&c, durable, &[name.to_owned()], &[]).into_result()?;
        let mut opened = options.clone();
        [Opt::Durability, Opt::Lock]
            .iter()
            .for_each(|&o| _ = opened.take(o));
        Index::open_in(folder, name, bag, &opened)
    }

    /// Opens the index of a bag.
    pub fn open(path: &OsStr, bag: &Bag, options: &Options) -> Result<Index> {
        let located = io::locate::locate(path)?;
        Index::open_in(&located.folder, &located.name, bag, options)
    }

    /// Like [`Index::open`], for a file in any folder.
    pub fn open_in(
        folder: &Arc<dyn Folder>,
        name: &OsStr,
        bag: &Bag,
        options: &Options,
    ) -> Result<Index> {
        let options = &options.applying("opening the index of a bag", OPEN_OPTIONS, BAG_OPTIONS)?;
        Index::over(folder.open(name, access(options))?, bag, options)
    }
}

/// Removes the temporary files of a build when dropped.
struct RemoveTemporaries<'a>(&'a Container);

impl Drop for RemoveTemporaries<'_> {
    fn drop(&mut self) {
        for name in [self.0.new_name(""), beside("", &self.0.main, SPILL_SUFFIX)] {
            let _ = self.0.folder.remove_if_there(&name);
        }
    }
}
