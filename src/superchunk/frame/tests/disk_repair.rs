//! Repairs of frames, damaged or not, on the simulated disk.

use super::damage::{Files, made, names, parts, repaired};
use super::*;
use crate::io::sim::{self, Mending, Proof, Tally, Wrong};

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

/// Frames of which something is damaged, or nothing is, and what.
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
        let place = f.entries[i].place().unwrap();
        let file = format!("x.b2frame/{place:08X}.chunk");
        // behind its header
        all.push((
            "a chunk",
            if form.sparse {
                hurt(OsStr::new(&file), 34)
            } else {
                hurt(&head, ranges[0].1.end + place as usize + 34)
            },
        ));
    }
    // what others wrote has nothing by which a header is put right
    for (part, range) in ranges
        .into_iter()
        .filter(|(part, _)| form.sum == 2 || *part != "header")
    {
        all.push((part, hurt(&head, range.end - 5)));
        all.push((part, hurt(&head, range.start + range.len() / 2)));
    }
    all
}

/// All, or what is read around the damage.
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
    wrong: Option<Wrong>,
) -> Option<Tally> {
    let disk = SimDisk::with_files(files);
    // what cannot be repaired is left as it is: see the tests of damage
    repaired(&disk.copy().folder()).ok()?;
    let name = format!("repair, {what}: {form:?}");
    let m = Mending {
        name,
        disk,
        repair: &|folder| repaired(&folder).map(|_| ()),
        read: &|folder| seen(&folder),
    };
    Some(sim::check_repair(&m, per_cut, wrong))
}

#[test]
fn a_failing_power_supply_leaves_repairs_whole_or_to_be_done_again() {
    for (sparse, format) in [(false, "frame"), (true, "frame in a folder")] {
        let (mut proof, mut left_alone) = (Proof::of(format), 0);
        for form in FORMS.iter().filter(|f| f.sparse == sparse) {
            for (what, files) in damaged(*form) {
                match check(*form, what, &files, 25, None) {
                    Some(tally) => proof.add(&format!("repair: {what}"), tally),
                    None => left_alone += 1,
                }
            }
        }
        println!("{left_alone} frames could not be repaired");
        proof.stands(200);
    }
}

#[test]
fn mutations_of_a_repair_are_noticed() {
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
