//! Conversion of array indices to content offsets, and of index arguments to [`Plan`]s.
//!
//! This module checks every index, count and stride that a caller passes. A plan that it returns
//! lies within the content and within the buffer.
#![forbid(unsafe_code)]

use super::selection::{Axis, MAX_NDIM, Plan};
use crate::alloc;
use crate::dtype::numpy_meta::{ArrayMeta, Order};
use crate::error::{Result, fail};
use crate::slice::SliceExt;

/// Positions along each dimension; `None` selects all.
pub type Positions<'a> = [Option<&'a [u64]>];

/// The shape, item size and order of an array.
pub struct Grid<'a> {
    shape: &'a [u64],
    item: usize,
    order: Order,
}

impl<'m> Grid<'m> {
    /// Returns the grid of an array of at most [`MAX_NDIM`] dimensions and 2^64 bytes.
    pub fn of(meta: &'m ArrayMeta) -> Grid<'m> {
        Grid {
            shape: &meta.shape,
            item: meta.dtype.item.size,
            order: meta.order,
        }
    }

    /// Returns the grid of packed items of this size in C order.
    pub fn packed(shape: &'m [u64], item: usize) -> Grid<'m> {
        Grid {
            shape,
            item,
            order: Order::C,
        }
    }

    /// Returns the distances in content bytes of consecutive items along each dimension.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = self.item as u64;
        for (s, len) in self.fastest_first(strides.iter_mut().zip(self.shape)) {
            *s = stride;
            stride = stride.saturating_mul(*len);
        }
        strides
    }

    /// Orders one value per dimension from the dimension that varies fastest in the content to the
    /// slowest.
    fn fastest_first<'a, T>(
        &self,
        dimensions: impl DoubleEndedIterator<Item = T> + 'a,
    ) -> Box<dyn Iterator<Item = T> + 'a> {
        match self.order {
            Order::C => Box::new(dimensions.rev()),
            Order::Fortran => Box::new(dimensions),
        }
    }

    /// Converts a selection to a plan: in bytes, slowest dimension first.
    fn plan(&self, selection: Selection) -> Plan {
        let (mut at, mut axes) = (0, Vec::with_capacity(selection.axes.len()));
        for ((from, axis), stride) in selection.axes.into_iter().zip(self.strides()) {
            at += from * stride;
            axes.push(axis.scaled(stride));
        }
        let mut axes: Vec<Axis> = self.fastest_first(axes.into_iter()).collect();
        axes.reverse();
        Plan::new(at, selection.buf, self.item, axes)
    }

    /// Returns the plan of a box; `None` if the box is empty. `len` is the length of the buffer.
    pub fn boxed(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        strides: Option<&[i64]>,
        len: usize,
    ) -> Result<Option<Plan>> {
        Ok(
            Selection::boxed(self.shape, self.item, (start, count, step), strides, len)?
                .map(|selection| self.plan(selection)),
        )
    }

    /// Returns the plan of single items, packed, and the duplicates among them.
    pub fn points(
        &self,
        coordinates: &[u64],
        n: usize,
        len: usize,
    ) -> Result<(Option<Plan>, Vec<Duplicates>)> {
        let item = self.item;
        let mut offsets = alloc::with_capacity(n)?;
        let strides = self.strides();
        let offset_of = |point: &[u64]| {
            point.iter().zip(&strides).fold(0u64, |at, (c, stride)| {
                at.wrapping_add(c.wrapping_mul(*stride))
            })
        };
        for_each_point(self.shape, item, coordinates, (n, len), |point| {
            offsets.push(offset_of(point))
        })?;
        if n == 0 || item == 0 {
            return Ok((None, Vec::new()));
        }
        let (items, copies) = sort_unique(&offsets, false)?;
        let plan = Plan::new(0, 0, item, vec![axis_of(items, item as i64)]);
        Ok((
            Some(plan),
            vec![Duplicates {
                slab: item,
                count: n,
                times: 1,
                copies,
            }],
        ))
    }

    /// Returns the plan of a product of positions, packed, and the duplicates.
    pub fn product(
        &self,
        positions: &Positions,
        len: usize,
        last_wins: bool,
    ) -> Result<(Option<Plan>, Vec<Duplicates>)> {
        let (selection, duplicates) =
            Selection::product(self.shape, self.item, positions, len, last_wins)?;
        Ok((selection.map(|selection| self.plan(selection)), duplicates))
    }
}

/// A selection of array items, as one axis per dimension.
#[derive(Debug)]
pub struct Selection {
    /// Offset in the buffer of the item at the start of all axes.
    pub buf: i64,
    /// One pair per dimension: a start position, and an axis relative to it. The axis counts
    /// positions, not content bytes. No axis is empty.
    pub axes: Vec<(u64, Axis)>,
}

impl Selection {
    /// Returns the selection of `count` items of each dimension from `start` on, with steps.
    /// Returns `None` if it is empty. `len` is the length of the buffer.
    #[allow(clippy::type_complexity)]
    pub fn boxed(
        shape: &[u64],
        item: usize,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        strides: Option<&[i64]>,
        len: usize,
    ) -> Result<Option<Selection>> {
        check_box(shape, start, count, step, strides)?;
        let ones = [1; MAX_NDIM];
        let step = step.unwrap_or(ones.at(..shape.len())?);
        if item == 0 || count.contains(&0) {
            return Ok(None);
        }
        let packed;
        let strides = match strides {
            Some(s) => s,
            None => {
                packed = packed_strides(count, item, len)?;
                &packed
            }
        };
        let buf = first_in_buffer(count, strides, item, len)?;
        let start_axis = |(((from, n), by), buf): (((&u64, &u64), &u64), &i64)| {
            (
                *from,
                Axis::Steps {
                    count: *n,
                    at: if *n > 1 { *by } else { 0 },
                    buf: *buf,
                },
            )
        };
        Ok(Some(Selection {
            buf,
            axes: start
                .iter()
                .zip(count)
                .zip(step)
                .zip(strides)
                .map(start_axis)
                .collect(),
        }))
    }

    /// Returns the selection of a product of positions, packed, and the duplicates.
    pub fn product(
        shape: &[u64],
        item: usize,
        positions: &Positions,
        len: usize,
        last_wins: bool,
    ) -> Result<(Option<Selection>, Vec<Duplicates>)> {
        let ndim = shape.len();
        if positions.len() != ndim {
            return Err(fail!(
                Argument,
                "positions: wrong number of lists (expected {ndim}, found {})",
                positions.len()
            ));
        }
        let count: Vec<u64> = positions
            .iter()
            .zip(shape)
            .map(|(p, have)| p.map_or(*have, |p| p.len() as u64))
            .collect();
        for (d, (list, have)) in positions.iter().zip(shape).enumerate() {
            if let Some(position) = list.unwrap_or_default().iter().find(|p| *p >= have) {
                return Err(fail!(
                    Range,
                    "dimension {d}: position {position} is out of range; the length is {have}"
                ));
            }
        }
        if item == 0 || count.contains(&0) {
            return Ok((None, Vec::new()));
        }
        let strides = packed_strides(&count, item, len)?;
        let (mut axes, mut duplicates, mut times) = (Vec::with_capacity(ndim), Vec::new(), 1usize);
        for ((list, n), buf) in positions.iter().zip(&count).zip(strides) {
            let axis = match list {
                None => Axis::Steps {
                    count: *n,
                    at: if *n > 1 { 1 } else { 0 },
                    buf,
                },
                Some(list) => {
                    let (items, copies) = sort_unique(list, last_wins)?;
                    duplicates.push(Duplicates {
                        slab: buf as usize,
                        count: list.len(),
                        times,
                        copies,
                    });
                    axis_of(items, buf)
                }
            };
            times = times.saturating_mul(*n as usize);
            axes.push((0, axis));
        }
        Ok((Some(Selection { buf: 0, axes }), duplicates))
    }
}

/// Calls `f` with the coordinates of each of `n` items. Checks that the coordinates lie within the
/// shape and that the items fit into a buffer of `len` bytes.
pub fn for_each_point(
    shape: &[u64],
    item: usize,
    coordinates: &[u64],
    (n, len): (usize, usize),
    mut f: impl FnMut(&[u64]),
) -> Result<()> {
    let ndim = shape.len();
    if coordinates.len() != n.saturating_mul(ndim) {
        return Err(fail!(
            Argument,
            "coordinates: wrong number of values (expected {ndim} for each of {n} items, found {})",
            coordinates.len()
        ));
    }
    check_buffer(n.saturating_mul(item), len)?;
    for i in 0..n {
        let point = coordinates.at(i * ndim..(i + 1) * ndim)?;
        if !point.iter().zip(shape).all(|(c, len)| c < len) {
            return Err(
                fail!(Range, "item {i}: {point:?} is outside the shape {shape:?}").at(i as u64),
            );
        }
        f(point);
    }
    Ok(())
}

/// Slots of a packed buffer that have the same content as other slots.
pub struct Duplicates {
    /// Size in bytes of one slot with everything in it.
    slab: usize,
    /// Number of slots.
    count: usize,
    /// Number of consecutive repetitions, one per position of the slower dimensions.
    times: usize,
    /// Pairs of a slot and the slot that it duplicates.
    copies: Vec<(usize, usize)>,
}

impl Duplicates {
    /// Copies items that were read once to their other slots. `all` has one element per dimension,
    /// slowest dimension of the buffer first.
    pub fn copy_all(all: &[Duplicates], buffer: &mut [u8]) {
        // Fastest dimension first, so that the copied slabs are complete.
        all.iter().rev().for_each(|r| r.copy(buffer));
    }

    fn copy(&self, buffer: &mut [u8]) {
        if self.copies.is_empty() {
            return;
        }
        for part in buffer
            .chunks_exact_mut(self.slab.saturating_mul(self.count).max(1))
            .take(self.times)
        {
            for (to, from) in &self.copies {
                part.copy_within(from * self.slab..(from + 1) * self.slab, to * self.slab);
            }
        }
    }
}

/// Sorts a list of positions and removes duplicates. Returns each position with its slot in the
/// list, and the slots of the duplicates with the slots that they duplicate.
#[allow(clippy::type_complexity)]
fn sort_unique(list: &[u64], last_wins: bool) -> Result<(Vec<(u64, usize)>, Vec<(usize, usize)>)> {
    let mut all = alloc::with_capacity(list.len())?;
    all.extend(list.iter().copied().zip(0..));
    all.sort_unstable();
    let mut unique: Vec<(u64, usize)> = alloc::with_capacity(all.len())?;
    let mut copies = Vec::new();
    for (position, slot) in all {
        match unique.last_mut().filter(|(last, _)| *last == position) {
            Some((_, first_slot)) if last_wins => *first_slot = slot,
            Some((_, first_slot)) => {
                alloc::reserve(&mut copies, 1)?;
                copies.push((slot, *first_slot));
            }
            None => unique.push((position, slot)),
        }
    }
    Ok((unique, copies))
}

fn axis_of(items: Vec<(u64, usize)>, buf: i64) -> Axis {
    Axis::List(
        items
            .into_iter()
            .map(|(position, slot)| (position, slot as i64 * buf))
            .collect(),
    )
}

/// Returns an error if a box has another number of dimensions than the shape, or exceeds it.
pub fn check_box(
    shape: &[u64],
    start: &[u64],
    count: &[u64],
    step: Option<&[u64]>,
    strides: Option<&[i64]>,
) -> Result<()> {
    let ndim = shape.len();
    let lengths = [
        start.len(),
        count.len(),
        step.map_or(ndim, <[u64]>::len),
        strides.map_or(ndim, <[i64]>::len),
    ];
    if lengths != [ndim; 4] {
        return Err(fail!(
            Argument,
            "start, count, step and strides must have {ndim} values each, one for each dimension"
        ));
    }
    for (d, ((from, n), have)) in start.iter().zip(count).zip(shape).enumerate() {
        let by = step.and_then(|step| step.get(d)).copied().unwrap_or(1);
        check_dimension(d, *from, *n, by, *have)?;
    }
    Ok(())
}

fn check_dimension(d: usize, from: u64, n: u64, by: u64, have: u64) -> Result<()> {
    if by == 0 {
        return Err(fail!(Argument, "dimension {d}: the step must not be 0"));
    }
    let fits = match n.checked_sub(1) {
        None => from <= have,
        Some(steps) => steps
            .checked_mul(by)
            .and_then(|n| n.checked_add(from))
            .is_some_and(|last| last < have),
    };
    if fits {
        Ok(())
    } else {
        Err(fail!(
            Range,
            "dimension {d}: {n} items from {from} with step {by} exceed the length {have}"
        ))
    }
}

/// Returns the strides of a packed buffer in C order.
pub fn packed_strides(count: &[u64], item: usize, len: usize) -> Result<Vec<i64>> {
    let mut strides = vec![0; count.len()];
    let mut stride = item;
    for (s, n) in strides.iter_mut().zip(count).rev() {
        *s = stride as i64;
        stride = usize::try_from(*n)
            .ok()
            .and_then(|n| stride.checked_mul(n))
            .unwrap_or(usize::MAX);
    }
    check_buffer(stride, len)?;
    Ok(strides)
}

fn check_buffer(want: usize, have: usize) -> Result<()> {
    if want <= have {
        Ok(())
    } else {
        Err(fail!(
            Buffer,
            "the buffer is too small (expected {want} bytes, found {have})"
        ))
    }
}

/// Returns the buffer offset of the first item of a box, such that the lowest item is at offset 0.
fn first_in_buffer(count: &[u64], strides: &[i64], item: usize, len: usize) -> Result<i64> {
    let (mut below, mut above) = (0i128, item as i128);
    for (n, stride) in count.iter().zip(strides) {
        let reach = i128::from(*n - 1).saturating_mul(i128::from(*stride));
        if reach < 0 {
            below -= reach
        } else {
            above = above.saturating_add(reach)
        }
    }
    match below.saturating_add(above) {
        want if want <= len as i128 => Ok(below as i64),
        want => Err(fail!(
            Buffer,
            "the buffer is too small for these strides (expected {want} bytes, found {len})"
        )),
    }
}
