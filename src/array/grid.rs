//! The grid of an array: from indices to places in the content, and to [`Plan`]s for what is asked
//! for.
//!
//! Here every number of the caller's is checked: what leaves this module as a plan lies in the
//! content and in the buffer.
#![forbid(unsafe_code)]

use super::numpy_meta::{ArrayMeta, Order};
use super::selection::{Axis, MAX_NDIM, Plan};
use crate::alloc;
use crate::error::{Result, fail};

/// Positions along each dimension, or all.
pub type Positions<'a> = [Option<&'a [u64]>];

/// Shape, size of an item, order.
pub struct Grid<'a> {
    shape: &'a [u64],
    item: usize,
    order: Order,
}

impl<'m> Grid<'m> {
    /// That of an array, of at most [`MAX_NDIM`] dimensions and 2^64 bytes.
    pub fn of(meta: &'m ArrayMeta) -> Grid<'m> {
        Grid {
            shape: &meta.shape,
            item: meta.dtype.item.size,
            order: meta.order,
        }
    }

    /// That of items of this size, packed, in C order.
    pub fn packed(shape: &'m [u64], item: usize) -> Grid<'m> {
        Grid {
            shape,
            item,
            order: Order::C,
        }
    }

    /// Bytes of the content from one item to the next along each dimension.
    fn strides(&self) -> Vec<u64> {
        let mut strides = vec![0; self.shape.len()];
        let mut stride = self.item as u64;
        for (s, len) in self.fastest_first(strides.iter_mut().zip(self.shape)) {
            *s = stride;
            stride = stride.saturating_mul(*len);
        }
        strides
    }

    /// What belongs to the dimensions, from the one that runs fastest in the content to the
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

    /// The axes as a plan wants them: in bytes, the slowest first.
    fn plan(&self, wanted: Wanted) -> Plan {
        let (mut at, mut axes) = (0, Vec::with_capacity(wanted.lines.len()));
        for ((from, axis), stride) in wanted.lines.into_iter().zip(self.strides()) {
            at += from * stride;
            axes.push(axis.scaled(stride));
        }
        let mut axes: Vec<Axis> = self.fastest_first(axes.into_iter()).collect();
        axes.reverse();
        Plan::new(at, wanted.buf, self.item, axes)
    }

    /// The plan of a box; none where there is nothing in it. `len`: that of the buffer.
    pub fn boxed(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        strides: Option<&[i64]>,
        len: usize,
    ) -> Result<Option<Plan>> {
        Ok(
            Wanted::boxed(self.shape, self.item, (start, count, step), strides, len)?
                .map(|wanted| self.plan(wanted)),
        )
    }

    /// The plan of single items, packed, and which are wanted more than once.
    pub fn points(
        &self,
        coordinates: &[u64],
        n: usize,
        len: usize,
    ) -> Result<(Option<Plan>, Vec<Repeated>)> {
        let item = self.item;
        let mut places = alloc::with_room(n)?;
        let strides = self.strides();
        let place = |point: &[u64]| {
            point.iter().zip(&strides).fold(0u64, |at, (c, stride)| {
                at.wrapping_add(c.wrapping_mul(*stride))
            })
        };
        each_point(self.shape, item, coordinates, (n, len), |point| {
            places.push(place(point))
        })?;
        if n == 0 || item == 0 {
            return Ok((None, Vec::new()));
        }
        let (items, copies) = rising(&places, false)?;
        let plan = Plan::new(0, 0, item, vec![axis_of(items, item as i64)]);
        Ok((
            Some(plan),
            vec![Repeated {
                slab: item,
                count: n,
                times: 1,
                copies,
            }],
        ))
    }

    /// The plan of a product of positions, packed, and what is wanted more than once.
    pub fn product(
        &self,
        positions: &Positions,
        len: usize,
        last_counts: bool,
    ) -> Result<(Option<Plan>, Vec<Repeated>)> {
        let (wanted, repeated) =
            Wanted::product(self.shape, self.item, positions, len, last_counts)?;
        Ok((wanted.map(|wanted| self.plan(wanted)), repeated))
    }
}

/// What is wanted of an array, dimension by dimension.
#[derive(Debug)]
pub struct Wanted {
    /// Where in the buffer the item is with which all dimensions begin.
    pub buf: i64,
    /// A position, and the items from there on: where each is counted in positions, and where in
    /// the buffer. None is empty.
    pub lines: Vec<(u64, Axis)>,
}

impl Wanted {
    /// `count` items of each dimension from `start` on, with steps. None where that is nothing.
    /// `len`: that of the buffer.
    #[allow(clippy::type_complexity)]
    pub fn boxed(
        shape: &[u64],
        item: usize,
        (start, count, step): (&[u64], &[u64], Option<&[u64]>),
        strides: Option<&[i64]>,
        len: usize,
    ) -> Result<Option<Wanted>> {
        let ndim = shape.len();
        let ones = [1; MAX_NDIM];
        let step = step.unwrap_or(ones.get(..ndim).unwrap_or_default());
        if [
            start.len(),
            count.len(),
            step.len(),
            strides.map_or(ndim, <[i64]>::len),
        ] != [ndim; 4]
        {
            return Err(fail!(
                Argument,
                "start, count, step and strides must have {ndim} values each, one for each dimension"
            ));
        }
        for (d, (((from, n), by), have)) in start.iter().zip(count).zip(step).zip(shape).enumerate()
        {
            check_dimension(d, *from, *n, *by, *have)?;
        }
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
        let line = |(((from, n), by), buf): (((&u64, &u64), &u64), &i64)| {
            (
                *from,
                Axis::Steps {
                    count: *n,
                    at: if *n > 1 { *by } else { 0 },
                    buf: *buf,
                },
            )
        };
        Ok(Some(Wanted {
            buf,
            lines: start
                .iter()
                .zip(count)
                .zip(step)
                .zip(strides)
                .map(line)
                .collect(),
        }))
    }

    /// A product of positions, packed, and what is wanted more than once.
    pub fn product(
        shape: &[u64],
        item: usize,
        positions: &Positions,
        len: usize,
        last_counts: bool,
    ) -> Result<(Option<Wanted>, Vec<Repeated>)> {
        let ndim = shape.len();
        if positions.len() != ndim {
            return Err(fail!(
                Argument,
                "{} lists of positions: there are {ndim} dimensions",
                positions.len()
            ));
        }
        let count: Vec<u64> = positions
            .iter()
            .zip(shape)
            .map(|(p, have)| p.map_or(*have, |p| p.len() as u64))
            .collect();
        for (d, (list, have)) in positions.iter().zip(shape).enumerate() {
            if let Some(bad) = list.unwrap_or_default().iter().find(|p| *p >= have) {
                return Err(fail!(
                    Range,
                    "dimension {d}: position {bad}: there are {have}"
                ));
            }
        }
        if item == 0 || count.contains(&0) {
            return Ok((None, Vec::new()));
        }
        let strides = packed_strides(&count, item, len)?;
        let (mut lines, mut repeated, mut times) = (Vec::with_capacity(ndim), Vec::new(), 1usize);
        for ((list, n), buf) in positions.iter().zip(&count).zip(strides) {
            let axis = match list {
                None => Axis::Steps {
                    count: *n,
                    at: if *n > 1 { 1 } else { 0 },
                    buf,
                },
                Some(list) => {
                    let (items, copies) = rising(list, last_counts)?;
                    repeated.push(Repeated {
                        slab: buf as usize,
                        count: list.len(),
                        times,
                        copies,
                    });
                    axis_of(items, buf)
                }
            };
            times = times.saturating_mul(*n as usize);
            lines.push((0, axis));
        }
        Ok((Some(Wanted { buf: 0, lines }), repeated))
    }
}

/// Calls a function with the coordinates of each of `n` items, which are in the shape, and fit into
/// a buffer of `len` bytes.
pub fn each_point(
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
            "{} coordinates: {n} items have {ndim} each",
            coordinates.len()
        ));
    }
    fits(n.saturating_mul(item), len)?;
    for i in 0..n {
        let point = coordinates
            .get(i * ndim..)
            .and_then(|c| c.get(..ndim))
            .unwrap_or_default();
        if !point.iter().zip(shape).all(|(c, len)| c < len) {
            return Err(fail!(
                Range,
                "item {i}: {point:?} is outside of the shape {shape:?}"
            )
            .at(i as u64));
        }
        f(point);
    }
    Ok(())
}

/// Positions of a packed buffer that have the same content as others.
pub struct Repeated {
    /// Bytes of one position and all that is in it.
    slab: usize,
    /// Positions.
    count: usize,
    /// How often they stand one behind the other, for each position of the slower dimensions.
    times: usize,
    /// Which one is like which.
    copies: Vec<(usize, usize)>,
}

impl Repeated {
    /// Copies what was read once to where it is wanted again. One for each dimension, the slowest
    /// of the buffer first.
    pub fn copy_all(all: &[Repeated], buffer: &mut [u8]) {
        // the fastest dimension first, so that what is copied is whole
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

/// A list of positions in rising order, each once and with its place in the list; and the places of
/// those that were left out, with the ones that they are like.
#[allow(clippy::type_complexity)]
fn rising(list: &[u64], last_counts: bool) -> Result<(Vec<(u64, usize)>, Vec<(usize, usize)>)> {
    let mut all = alloc::with_room(list.len())?;
    all.extend(list.iter().copied().zip(0..));
    all.sort_unstable();
    let mut once: Vec<(u64, usize)> = alloc::with_room(all.len())?;
    let mut again = Vec::new();
    for (position, place) in all {
        match once.last_mut().filter(|(last, _)| *last == position) {
            Some((_, kept)) if last_counts => *kept = place,
            Some((_, kept)) => {
                alloc::reserve(&mut again, 1)?;
                again.push((place, *kept));
            }
            None => once.push((position, place)),
        }
    }
    Ok((once, again))
}

fn axis_of(items: Vec<(u64, usize)>, buf: i64) -> Axis {
    Axis::List(
        items
            .into_iter()
            .map(|(position, place)| (position, place as i64 * buf))
            .collect(),
    )
}

fn check_dimension(d: usize, from: u64, n: u64, by: u64, have: u64) -> Result<()> {
    if by == 0 {
        return Err(fail!(Argument, "dimension {d}: a step of 0"));
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
            "dimension {d}: {n} items from {from} on, with steps of {by}: there are {have}"
        ))
    }
}

/// Distances of a packed buffer in C order.
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
    fits(stride, len)?;
    Ok(strides)
}

fn fits(want: usize, have: usize) -> Result<()> {
    if want <= have {
        Ok(())
    } else {
        Err(fail!(
            Buffer,
            "{want} bytes are needed, the buffer has {have}"
        ))
    }
}

/// Where in the buffer the first item of a box is, so that the lowest of all is at its beginning.
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
            "{want} bytes are needed, with these strides, the buffer has {len}"
        )),
    }
}
