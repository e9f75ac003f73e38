//! Any bytes as a bag of one file: no panic, no hang, no memory beyond the limit, and all ways of
//! reading agree. The first byte chooses how it is opened.
use holdall::bag::{Bag, ShardPath};
use holdall::io::memory::MemoryFolder;
use holdall::options::{Opt, Options};
use std::sync::Arc;

/// Panics if something is wrong.
pub fn run(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let mut o = Options::new();
    let _ = o.set(Opt::Codec, if how & 1 == 0 { 6 } else { 0 });
    let _ = o.set(Opt::BagLimitsCache, i64::from(how >> 1 & 1));
    let _ = o.set(Opt::Threads, 1);
    let _ = o.set(Opt::MemoryLimit, 1 << 20);
    if how & 4 != 0 {
        let _ = o.set_bytes(
            Opt::Dictionary,
            b"a dictionary of any content, a dictionary",
        );
    }
    let path = ShardPath::new(Arc::new(MemoryFolder::new(bytes.to_vec())), "");
    let Ok(bag) = Bag::open_in(&[path], &o) else {
        return;
    };
    if let Ok(splits) = bag.splits(5) {
        let end = splits.iter().fold(0, |end, split| {
            assert!(split.first == end && split.count > 0, "{splits:?}");
            end + split.count
        });
        assert_eq!(end, bag.size());
    }
    let n = bag.size().min(64);
    let each: Vec<_> = (0..n).map(|i| bag.read(i)).collect();
    match bag.read_range(0, n) {
        Ok(r) => r
            .iter()
            .zip(&each)
            .for_each(|(a, b)| assert_eq!(Ok(a), b.as_deref())),
        Err(_) => assert!(n > 1 || each.iter().any(Result::is_err)),
    }
    let backwards: Vec<u64> = (0..n).rev().collect();
    if let Ok(r) = bag.read_indices(&backwards) {
        r.iter()
            .zip(each.iter().rev())
            .for_each(|(a, b)| assert_eq!(Ok(a), b.as_deref()));
    }
}
