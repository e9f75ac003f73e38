//! Any bytes as a store in a zip archive or in a frame. Members are inside of the archive and do not
//! overlap. Each node is opened and read twice, with the same result, and verified. What a node
//! holds does not depend on how it is opened. A store that is a table is also read as one.
use holdall::array;
use holdall::arrow::packed;
use holdall::identify::{identify_in, identify_node};
use holdall::io::Folder;
use holdall::io::memory::MemoryFolder;
use holdall::options::{Opt, Options};
use holdall::store::{NodeLocation, Store};
use holdall::superchunk::any::Superchunk;
use holdall::superchunk::bloscpack::Mode;
use holdall::table::Table;
use std::ffi::OsStr;
use std::sync::Arc;

#[path = "archive.rs"]
mod archive;
#[path = "refused.rs"]
mod refused;
use refused::refused;

/// More content would only be slower.
const MOST: u64 = 1 << 14;

fn options() -> Options {
    let threads = Options::new().with(Opt::Threads, 1).unwrap();
    threads.with(Opt::MemoryLimit, 1 << 18).unwrap()
}

/// The content of a node, if it is short and intact.
fn content(folder: &Arc<dyn Folder>) -> Option<Vec<u8>> {
    let open = Superchunk::open_in(folder, OsStr::new(""), Mode::Read, &options());
    let schunk = open.inspect_err(refused).ok()?;
    let n = usize::try_from(schunk.nbytes())
        .ok()
        .filter(|n| *n as u64 <= MOST)?;
    let mut content = vec![0; n];
    schunk.read(0, &mut content).inspect_err(refused).ok()?;
    Some(content)
}

/// A table that the store is: its rows are those of its mask, and each is null or not.
fn table(folder: &Arc<dyn Folder>) {
    let Ok(table) = Table::open_in(folder, Mode::Read, &options()).inspect_err(refused) else {
        return;
    };
    let rows = table.rows().min(50);
    for (i, column) in table.columns().iter().enumerate() {
        if column.array.store().has_objects() {
            let texts = column.array.texts(0, rows).inspect_err(refused);
            if let Ok(texts) = texts {
                if let Some(of) = column.array.store().packed()
                    && let Ok(data) = packed::export(&texts, of).inspect_err(refused)
                {
                    assert_eq!(data.len as u64, rows);
                }
                assert_eq!(
                    (texts.ends.len(), texts.nulls.len()),
                    (rows as usize, rows as usize)
                );
            }
            let _ = column.array.object(0).inspect_err(refused);
            continue;
        }
        let row = column.array.nbytes() / table.rows().max(1);
        if row > MOST / 50 {
            continue;
        }
        let mut items = vec![0; (row * rows) as usize];
        let read = table
            .read_rows(i, (0, rows, 1), &mut items)
            .inspect_err(refused);
        let nulls = table.nulls(i, 0, rows).inspect_err(refused);
        if let (Ok(_), Ok(Some(nulls))) = (read, nulls) {
            assert_eq!(nulls.len() as u64, rows);
        }
    }
}

pub fn run(bytes: &[u8]) {
    let bytes: Arc<[u8]> = bytes.into();
    let folder: Arc<dyn Folder> = Arc::new(MemoryFolder::new(bytes.clone()));
    archive::members(&folder, &bytes);
    let _ = identify_in(&folder).inspect_err(refused);
    table(&folder);
    let Ok(store) = Store::open_in(&folder, OsStr::new(""), &options()).inspect_err(refused) else {
        return;
    };
    let nodes: Vec<_> = store.nodes().map(|(path, _)| path.to_owned()).collect();
    for path in nodes.iter().take(20) {
        let _ = identify_node(&store, path).inspect_err(refused);
        let Ok(NodeLocation::Folder(node)) = store.locate(path).inspect_err(refused) else {
            continue;
        };
        let first = content(&node);
        assert_eq!(first, content(&node), "{path}");
        let mut faults = 0;
        let verified = array::verify_in(&node, OsStr::new(""), &options(), |e| {
            refused(e);
            faults += 1;
            true
        });
        if let (Ok(verified), true) = (verified, faults == 0) {
            assert_eq!(verified.corrupt, 0, "{path}");
        }
    }
}
