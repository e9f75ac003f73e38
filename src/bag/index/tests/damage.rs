//! Tests with damaged indexes, damaged bags, and bags that have changed.

use super::*;
use crate::bag::index::verified_set::VerifiedSet;
use crate::error::Error;

/// Looks up all keys in an index with changed bytes. Every answer must be correct, or an error that
/// names the file. Returns the number of errors.
fn look_up_all(keys: &[Vec<u8>], index: Result<Index>) -> std::result::Result<usize, String> {
    let index = match index {
        Ok(index) => index,
        Err(e) if e.message.contains(INDEX) => return Ok(1),
        Err(e) => return Err(e.to_string()),
    };
    let mut errors = 0;
    let mut count_error = |e: Error| match e.message.contains(INDEX)
        && matches!(e.status, Status::Format | Status::Checksum)
    {
        true => errors += 1,
        false => panic!("{e}"),
    };
    for key in keys {
        let rows: Vec<u64> = (0..keys.len())
            .filter(|&i| keys[i] == *key)
            .map(|i| i as u64)
            .collect();
        match index.find(key) {
            Ok(got) if got == rows => {}
            Ok(got) => return Err(format!("{got:?} instead of {rows:?}")),
            Err(e) => count_error(e),
        }
        match index.first(key) {
            Ok(got) if got == rows.first().copied() => {}
            Ok(got) => return Err(format!("{got:?} instead of the first of {rows:?}")),
            Err(e) => count_error(e),
        }
    }
    match index.find(b"an absent key") {
        Ok(rows) if rows.is_empty() => {}
        Ok(rows) => return Err(format!("{rows:?} for an absent key")),
        Err(e) => count_error(e),
    }
    Ok(errors)
}

#[test]
fn no_flip_of_a_byte_is_silent() {
    let keys = some_keys(90, 23);
    let (folder, bag) = bag_of(&keys);
    drop(create(&folder, &bag, &[]).unwrap());
    let file = folder.open(OsStr::new(INDEX), Access::Write).unwrap();
    let mut bytes = vec![0; file.size().unwrap() as usize];
    file.read_exact_at(0, &mut bytes).unwrap();
    let (mut flips, mut detected) = (0, 0);
    for (at, x) in
        (0..bytes.len()).flat_map(|at| (0..8).map(move |b| (at, 1u8 << b)).chain([(at, 0xff)]))
    {
        file.write_at(at as u64, &[bytes[at] ^ x]).unwrap();
        detected += look_up_all(&keys, open(&folder, &bag, &[]))
            .unwrap_or_else(|how| panic!("byte {at} ^ {x:#x}: {how}"))
            .min(1);
        file.write_at(at as u64, &bytes[at..=at]).unwrap();
        flips += 1;
    }
    for n in 0..bytes.len() as u64 {
        file.set_size(n).unwrap();
        let e = open(&folder, &bag, &[]).err().unwrap();
        assert!(
            matches!(e.status, Status::Format | Status::Checksum),
            "{n}: {e}"
        );
        file.write_at(n, &bytes[n as usize..]).unwrap();
    }
    println!("{flips} flips, {detected} detected, 0 silent");
    // the padding after the last row of a list has no meaning
    assert!(detected * 10 > flips * 9, "{detected} of {flips}");
}

/// Without checksums, changed bytes may hide rows, but never lead to a wrong row.
#[test]
fn flips_without_checksums_never_give_a_wrong_row() {
    let keys = some_keys(90, 29);
    let (folder, bag) = bag_of(&keys);
    let index = create(&folder, &bag, &[]).unwrap();
    let file = folder.open(OsStr::new(INDEX), Access::Write).unwrap();
    let size = file.size().unwrap();
    let mut rng = Rng(31);
    let mut found = 0;
    for at in HEADER_BYTES..size {
        let mut was = [0; 1];
        file.read_exact_at(at, &mut was).unwrap();
        file.write_at(at, &[rng.draw() as u8]).unwrap();
        let index = Index {
            file: file.clone(),
            bag: bag.clone(),
            header: index.header.clone(),
            checked: false,
            verified: VerifiedSet::default(),
            skip_damaged: false,
            threads: Threads::ONE,
        };
        for key in &keys {
            let Ok(rows) = index.find(key) else { continue };
            assert!(rows.iter().all(|&r| keys[r as usize] == *key));
            found += rows.len();
        }
        file.write_at(at, &was).unwrap();
    }
    assert!(found as u64 > size * 20, "{found}");
}

fn flip(folder: &Arc<dyn Folder>, name: &str, at: u64) {
    let file = folder.open(OsStr::new(name), Access::Write).unwrap();
    let mut b = [0; 1];
    file.read_exact_at(at, &mut b).unwrap();
    file.write_at(at, &[b[0] ^ 1]).unwrap();
}

#[test]
fn damaged_records_are_reported_or_skipped() {
    let mut keys: Vec<Vec<u8>> = (0..20_000u32)
        .map(|i| format!("{:08}", i % 19_000).into_bytes())
        .collect();
    let (folder, _) = bag_of(&keys);
    for record in [19_500, 12_345, 12_346] {
        flip(&folder, BAG, record * 8 + 7);
    }
    let bag = open_bag(&folder);
    for threads in [1, 2] {
        let e = create(&folder, &bag, &[(Opt::Threads, threads)])
            .err()
            .unwrap();
        assert_eq!((e.status, e.position), (Status::Checksum, 12_345), "{e}");
        assert!(!folder.exists(OsStr::new(INDEX)).unwrap());
    }
    let index = create(&folder, &bag, &[(Opt::SkipDamaged, 1)]).unwrap();
    assert_eq!((index.damaged(), index.keys()), (3, 18_998));
    assert_eq!(
        (
            index.find(b"00000500").unwrap(),
            index.find(&keys[12_345]).unwrap()
        ),
        (vec![500], vec![])
    );
    assert_eq!(index.first(b"").unwrap(), None);
    open(&folder, &bag, &[(Opt::Verify, 2), (Opt::SkipDamaged, 1)]).unwrap();
    // the option of the bag has the same effect
    let skipping = Bag::open_in(
        &[ShardPath::new(folder.clone(), BAG)],
        &options(&[(Opt::SkipDamaged, 1)]),
    )
    .unwrap();
    assert_eq!(create(&folder, &skipping, &[]).unwrap().damaged(), 3);
    // damage that occurs after the index was built
    keys[19_500] = b"00000500".to_vec();
    put(&folder, BAG, &keys);
    drop(create(&folder, &open_bag(&folder), &[]).unwrap());
    flip(&folder, BAG, 19_500 * 8);
    let bag = open_bag(&folder);
    let e = open(&folder, &bag, &[])
        .unwrap()
        .find(b"00000500")
        .unwrap_err();
    assert_eq!((e.status, e.position), (Status::Checksum, 19_500), "{e}");
    assert_eq!(
        open(&folder, &bag, &[(Opt::SkipDamaged, 1)])
            .unwrap()
            .find(b"00000500")
            .unwrap(),
        [500]
    );
}

#[test]
fn a_changed_bag_is_detected() {
    let keys: Vec<Vec<u8>> = (0..500u32)
        .map(|i| format!("{i:08}").into_bytes())
        .collect();
    let (folder, bag) = bag_of(&keys);
    drop(create(&folder, &bag, &[]).unwrap());
    let stale = |what: &str, keys: &[Vec<u8>]| {
        put(&folder, BAG, keys);
        let e = open(&folder, &open_bag(&folder), &[])
            .err()
            .unwrap_or_else(|| panic!("{what}"));
        assert!(
            e.status == Status::State
                && e.message.contains(INDEX)
                && e.message.contains("rebuild the index"),
            "{what}: {e}"
        );
    };
    stale("one more", &[&keys[..], &[b"x".to_vec()]].concat());
    stale("one less", &keys[..499]);
    stale("nothing", &[]);
    stale(
        "another first",
        &[&[b"00000xxx".to_vec()], &keys[1..]].concat(),
    );
    stale(
        "another last",
        &[&keys[..499], &[b"00000xxx".to_vec()]].concat(),
    );
    stale(
        "another order",
        &keys.iter().rev().cloned().collect::<Vec<_>>(),
    );
    let mut one = keys.clone();
    one[7] = b"0000007x".to_vec();
    put(&folder, BAG, &one);
    // a record that is not a sample is replaced by one of the same length: the old key is not
    // found, and no other row is returned for it
    let bag = open_bag(&folder);
    let index = open(&folder, &bag, &[]).unwrap();
    assert_eq!(
        (
            index.find(&keys[7]).unwrap(),
            index.find(&one[7]).unwrap(),
            index.find(&keys[8]).unwrap()
        ),
        (vec![], vec![], vec![8])
    );
    let e = open(&folder, &bag, &[(Opt::Verify, 2)]).err().unwrap();
    assert_eq!(e.status, Status::State, "{e}");
    put(&folder, BAG, &keys);
    open(&folder, &open_bag(&folder), &[(Opt::Verify, 2)]).unwrap();
    // the same records in two files
    put(&folder, "a.bag", &keys[..250]);
    put(&folder, "b.bag", &keys[250..]);
    let paths = ["a.bag", "b.bag"].map(|n| ShardPath::new(folder.clone(), n));
    let two = Bag::open_in(&paths, &Options::new()).unwrap();
    assert_eq!(
        open(&folder, &two, &[]).err().unwrap().status,
        Status::State
    );
    check(&create(&folder, &two, &[]).unwrap(), &keys);
}
