//! Further files in the folder `meta` of a table in the BLZ RFC layout. The columns of other tables
//! have folders of their own.
#![forbid(unsafe_code)]

use super::Table;
use super::blz_rfc::BlzRfcTable;
use crate::array::Array;
use crate::array::store::Store;
use crate::dataset::meta_files::MetaFiles;
use crate::error::{Result, fail};
use crate::format::Format;

impl<A: AsRef<Array>> Table<A> {
    /// Returns the names of the files, in order. A table in another format has none.
    pub fn meta_file_names(&self) -> Result<Vec<String>> {
        match (self.pending(), self.stored()) {
            (Some(table), _) => table.meta_files.names(),
            (None, Some(store)) => store.meta_file_names(),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// Returns the bytes of a file, or `None` if it does not exist.
    pub fn meta_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match (&self.writer, self.pending(), self.stored()) {
            (Some(writer), Some(table), _) => {
                table.meta_files.read(name, writer.options().memory_limit())
            }
            (_, _, Some(store)) => store.meta_file(name),
            _ => MetaFiles::default().read(name, 0),
        }
    }

    /// Returns the metadata of a table that is open for writing.
    fn pending(&self) -> Option<&BlzRfcTable> {
        self.writer.as_ref()?.dataset()?.rfc_table.as_ref()
    }

    /// Returns a column, which has the files of the table.
    fn stored(&self) -> Option<&dyn Store> {
        let first = self.columns.first()?.array.as_ref();
        (first.format() == Format::BlzRfc).then(|| first.store())
    }
}

impl<A: From<Array> + AsRef<Array> + AsMut<Array>> Table<A> {
    /// Sets the bytes of a file, or removes it. The commit writes it with all other changes.
    pub fn meta_file_set(&mut self, name: &str, bytes: Option<&[u8]>) -> Result<()> {
        let rfc_table = self
            .writer()?
            .dataset_mut()
            .and_then(|w| w.rfc_table.as_mut());
        match rfc_table {
            Some(table) => table.meta_files.set(name, bytes),
            None => Err(fail!(
                Unsupported,
                "{}: only tables in the BLZ RFC layout have files in meta; those of other tables belong to the columns",
                self.name
            )),
        }
    }

    /// Sets the bytes of a file of a column, or removes it.
    pub fn column_meta_file_set(
        &mut self,
        column: usize,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<()> {
        if self.pending().is_some() {
            return Err(fail!(
                Unsupported,
                "{}: columns in the BLZ RFC layout have no files in meta; those belong to the table",
                self.name
            ));
        }
        let column = self.columns.get_mut(column);
        let column = column.ok_or_else(|| fail!(Range, "no such column"))?;
        let store = column.array.as_mut().store_mut()?;
        store.meta_file_set(name, bytes)
    }
}
