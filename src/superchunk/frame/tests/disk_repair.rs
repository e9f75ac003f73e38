//! Repairs of frames, corrupt or not, on the simulated disk.

use super::damage::{Files, made, names, repaired};
use super::recovery::parts;
use super::*;
use crate::io::sim::{self, Fault, RepairScenario, StateCounts, Tally};

const FORMS: &[Form] = &[
    PLAIN,
    Form {
        meta: 700,
        codec: Codec::Zstd,
        filter: Some(Filter::Delta),
        ..PLAIN
    },
    Form { sum: 0, ..PLAIN },
    Form {
        sparse: true,
        ..PLAIN
    },
    Form {
        sparse: true,
        sum: 0,
        ..PLAIN
    },
];

/// Returns frames with one corrupt part, or none, and the name of the part.
fn damaged(form: Form) -> Vec<(&'static str, Files)> {
    let whole = made(form).0;
    let hurt = |name: &OsStr, at: usize| {
        let mut files = whole.clone();
        files.get_mut(name).unwrap()[at] ^= 4;
        files
    };
    let mut all = vec![("nothing, but room is given back", whole.clone())];
    let f = reader(&SimDisk::with_files(&whole).folder()).unwrap();
    let [head, _] = names(form);
    let ranges = parts(&whole, form);
    for i in [1, 3] {
        let position = f.layout().entries[i].position().unwrap();
        let file = format!("x.b2frame/{position:08X}.chunk");
        // after the chunk header
        all.push((
            "a chunk",
            if form.sparse {
                hurt(OsStr::new(&file), 34)
            } else {
                hurt(&head, ranges[0].1.end + position as usize + 34)
            },
        ));
    }
    // without a seal a header cannot be corrected
    for (part, range) in ranges
        .into_iter()
        .filter(|(part, _)| form.sum == 2 || *part != "header")
    {
        all.push((part, hurt(&head, range.end - 5)));
        all.push((part, hurt(&head, range.start + range.len() / 2)));
    }
    all
}

/// Returns all content, or the content around the corruption.
fn seen(folder: &Arc<dyn Folder>) -> Result<Vec<Vec<u8>>> {
    let pieces = |s: State| {
        s.metas
            .into_iter()
            .map(|(n, v)| [n.into_bytes(), v].concat())
            .chain(s.chunks)
            .collect()
    };
    let Err(e) = reader(folder).and_then(|f| State::of(&f)) else {
        return State::of(&reader(folder)?).map(pieces);
    };
    let skips = Options::new().with(Opt::SkipDamaged, 1)?;
    let f = Frame::open_in(folder, OsStr::new(NAME), Mode::Read, &skips).map_err(|_| e)?;
    Ok(std::iter::once(b"damaged".to_vec())
        .chain(pieces(State::of(&f)?))
        .collect())
}

fn check(
    form: Form,
    what: &str,
    files: &Files,
    per_cut: usize,
    wrong: Option<Fault>,
) -> Option<Tally> {
    let disk = SimDisk::with_files(files);
    // a frame that cannot be repaired is not changed: see the tests of damage
    repaired(&disk.copy().folder()).ok()?;
    let name = format!("repair, {what}: {form:?}");
    let m = RepairScenario {
        name,
        disk,
        repair: &|folder| repaired(&folder).map(|_| ()),
        read: &|folder| seen(&folder),
    };
    Some(sim::check_repair(&m, per_cut, wrong))
}

#[test]
fn a_power_failure_leaves_repairs_complete_or_repeatable() {
    for (sparse, format) in [(false, "frame"), (true, "frame in a folder")] {
        let (mut state_counts, mut left_alone) = (StateCounts::of(format), 0);
        for form in FORMS.iter().filter(|f| f.sparse == sparse) {
            for (what, files) in damaged(*form) {
                match check(*form, what, &files, 25, None) {
                    Some(tally) => state_counts.add(&format!("repair: {what}"), tally),
                    None => left_alone += 1,
                }
            }
        }
        println!("{left_alone} frames could not be repaired");
        state_counts.assert_complete(200);
    }
}

#[test]
fn mutations_of_a_repair_are_detected() {
    for (form, format) in [(PLAIN, "frame"), (FORMS[3], "frame in a folder")] {
        let damage: Vec<_> = damaged(form)
            .into_iter()
            .filter(|(what, _)| ["a chunk", "index"].contains(what))
            .collect();
        let checks: Vec<_> = damage
            .iter()
            .map(|(what, files)| (*what, |wrong| check(form, what, files, 100, wrong).unwrap()))
            .collect();
        sim::mutations_of_repairs(format, 1, &checks);
    }
}
