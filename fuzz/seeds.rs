//! Converts seeds between the bags of the tree (one input per record, so that git holds one file)
//! and the folders of fuzzers (one input per file, named by its content).
//!
//!     seeds unpack BAG FOLDER
//!     seeds pack FOLDER BAG
use holdall::bag::{Bag, Mode, Writer};
use holdall::checksum::Checksum;
use holdall::error::Result;
use holdall::options::{Opt, Options};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::{env, fs, process};

fn unpack(bag: &OsStr, folder: &OsStr) -> Result<u64> {
    let seeds = Bag::open(bag, &Options::new())?;
    fs::create_dir_all(folder).unwrap();
    for i in 0..seeds.size() {
        let seed = seeds.read(i)?;
        let name: String = Checksum::Sha1
            .of(&seed)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        fs::write(Path::new(folder).join(name), &seed).unwrap();
    }
    Ok(seeds.size())
}

/// The shortest first, so that differences to earlier seeds are small.
fn pack(folder: &OsStr, bag: &OsStr) -> Result<u64> {
    let seeds: BTreeSet<(usize, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .map(|seed| (seed.len(), seed))
        .collect();
    let mut writer = Writer::open(bag, Mode::Replace, &Options::new().with(Opt::Level, 19)?)?;
    for (_, seed) in &seeds {
        writer.append(seed)?;
    }
    writer.commit()?;
    Ok(seeds.len() as u64)
}

fn main() {
    let args: Vec<_> = env::args_os().skip(1).collect();
    let done = match args.iter().map(|a| a.as_os_str()).collect::<Vec<_>>()[..] {
        [what, bag, folder] if what == "unpack" => unpack(bag, folder),
        [what, folder, bag] if what == "pack" => pack(folder, bag),
        _ => {
            eprintln!("usage: seeds unpack BAG FOLDER | seeds pack FOLDER BAG");
            process::exit(2);
        }
    };
    match done {
        Ok(n) => println!("{n} seeds"),
        Err(e) => {
            eprintln!("{e}");
            process::exit(1);
        }
    }
}
