//! A read-only view of a box of an array: its shape, and the positions that it selects.
//!
//! A view has no items of its own: every read becomes one read of the array, so chunks are decoded
//! as far as needed, and content is verified, as there. A view of a view refers to the array.
#![forbid(unsafe_code)]

use super::any::Body;
use super::boxes::Along;
use super::grid::{Grid, Positions, Selection, check_box, for_each_point, packed_strides};
use super::selection::MAX_NDIM;
use super::store::Texts;
use crate::alloc;
use crate::error::{Error, Result, fail};
use crate::slice::SliceExt;
use std::sync::Arc;

/// A view of an array.
pub struct View {
    /// The array, which is no view.
    base: Arc<Body>,
    shape: Vec<u64>,
    chunkshape: Vec<u64>,
    blockshape: Vec<u64>,
    /// For each dimension of the view, that of the array; `None`: one that the array does not have.
    axes: Vec<Option<usize>>,
    /// For each dimension of the array, the position of index 0 of the view, and the distance of
    /// its positions. A dimension that the view does not have is at this position.
    dims: Vec<Dim>,
    fill: Result<Option<Vec<u8>>>,
}

#[derive(Clone, Copy)]
struct Dim {
    origin: u64,
    step: i64,
}

impl Dim {
    /// Returns the position of an index that the view has.
    fn at(&self, index: u64) -> u64 {
        self.origin
            .wrapping_add_signed((index as i64).wrapping_mul(self.step))
    }
}

impl View {
    /// Returns the view of a complete array.
    pub fn of(base: Arc<Body>) -> View {
        let shape = base.shape().to_vec();
        View {
            chunkshape: base.chunkshape().to_vec(),
            blockshape: base.blockshape().to_vec(),
            axes: (0..shape.len()).map(Some).collect(),
            dims: vec![Dim { origin: 0, step: 1 }; shape.len()],
            fill: base.fill().map(|fill| fill.map(<[u8]>::to_vec)),
            shape,
            base,
        }
    }

    fn with(&self, shape: Vec<u64>, axes: Vec<Option<usize>>, dims: Vec<Dim>) -> View {
        let mut view = View {
            base: Arc::clone(&self.base),
            chunkshape: Vec::new(),
            blockshape: Vec::new(),
            fill: Ok(None),
            shape,
            axes,
            dims,
        };
        view.chunkshape = view.unit(self.base.chunkshape());
        view.blockshape = view.unit(self.base.blockshape());
        view.fill = view.fill_of_base();
        view
    }

    /// Returns the position of the first item if the view is a box of the array: the same
    /// dimensions, all steps 1.
    pub fn box_origin(&self) -> Option<Vec<u64>> {
        let is_same = |(i, axis): (usize, &Option<usize>)| *axis == Some(i);
        let is_box = self.axes.len() == self.dims.len()
            && self.axes.iter().enumerate().all(is_same)
            && self.dims.iter().all(|dim| dim.step == 1);
        is_box.then(|| self.dims.iter().map(|dim| dim.origin).collect())
    }

    /// Returns the dimension of the array that dimension `d` of the view is, if it has it.
    pub fn axis(&self, d: usize) -> Option<usize> {
        self.axes.get(d).copied().flatten()
    }

    /// Returns where the indices of dimension `d` are in the array.
    pub fn along(&self, d: usize) -> Along {
        let axis = self.axis(d);
        let of = |axis: usize| Some((axis, *self.dims.get(axis)?));
        let Some((axis, dim)) = axis.and_then(of) else {
            return Along {
                origin: 0,
                step: 1,
                units: [1; 2],
            };
        };
        let length = |shape: &[u64]| shape.get(axis).copied().unwrap_or(1);
        Along {
            origin: dim.origin,
            step: dim.step,
            units: [self.base.chunkshape(), self.base.blockshape()].map(length),
        }
    }

    /// Returns the lengths of a chunk or block of the array along the dimensions of the view, as a
    /// copy has them: at most the shape.
    pub fn lengths_in_copy(&self, of_base: &[u64]) -> Vec<u64> {
        let length = |(axis, n): (&Option<usize>, &u64)| {
            let unit = axis.and_then(|d| of_base.get(d)).copied().unwrap_or(1);
            if *n > 0 { unit.min(*n) } else { unit }
        };
        self.axes.iter().zip(&self.shape).map(length).collect()
    }

    /// Returns the shape of a chunk or block in indices of the view.
    fn unit(&self, of_base: &[u64]) -> Vec<u64> {
        let length = |(axis, n): (&Option<usize>, &u64)| {
            let dim = axis.and_then(|d| Some((self.dims.get(d)?, *of_base.get(d)?)));
            dim.map_or(1, |(dim, unit)| {
                (unit / dim.step.unsigned_abs().max(1)).clamp(1, (*n).max(1))
            })
        };
        self.axes.iter().zip(&self.shape).map(length).collect()
    }

    /// Returns the fill value of the view. That of an array is one item, or one row, of which the
    /// view can have a part.
    fn fill_of_base(&self) -> Result<Option<Vec<u8>>> {
        let Some(fill) = self.base.fill()? else {
            return Ok(None);
        };
        let item = self.base.dtype().item.size.max(1);
        if fill.len() == item {
            return Ok(Some(fill.to_vec()));
        }
        if self.axes.first() != Some(&Some(0)) {
            return Err(fail!(
                Unsupported,
                "{}: the fill value is a row, and the slice has no rows of the array",
                self.base.store().name()
            ));
        }
        let (_, count) = self.shape.split_first().unwrap_or((&0, &[]));
        let len = count.iter().product::<u64>() as usize * item;
        let mut part = alloc::zeroed(len)?;
        let strides = packed_strides(&self.shape, item, usize::MAX)?;
        let of = self.base_box(&vec![0; self.shape.len()], &self.shape, None, &strides);
        let (Some(row), [start, count, step]) = (
            self.base.shape().get(1..),
            [&of.start, &of.count, &of.step].map(|values| values.get(1..).unwrap_or_default()),
        ) else {
            return Ok(None);
        };
        let strides = of.strides.get(1..);
        let plan = Grid::packed(row, item).boxed(start, count, Some(step), strides, len)?;
        for segment in plan
            .iter()
            .flat_map(|plan| plan.segments(0..fill.len() as u64))
        {
            segment.to_buffer((fill, 0), (&mut part, 0));
        }
        Ok(Some(part))
    }

    /// Returns the view of `count` indices of each dimension, from `start` on, `step` apart. Steps
    /// can be negative.
    pub fn slice(&self, start: &[u64], count: &[u64], step: Option<&[i64]>) -> Result<View> {
        let ones = [1; MAX_NDIM];
        let step = step.unwrap_or(ones.get(..self.shape.len()).unwrap_or_default());
        let lowest = |((from, n), by): ((&u64, &u64), &i64)| {
            let reach = n.saturating_sub(1).saturating_mul(by.unsigned_abs());
            if *by < 0 && *n > 0 {
                from.checked_sub(reach).unwrap_or(u64::MAX)
            } else {
                *from
            }
        };
        let low: Vec<u64> = start.iter().zip(count).zip(step).map(lowest).collect();
        let absolute: Vec<u64> = step.iter().map(|by| by.unsigned_abs()).collect();
        check_box(&self.shape, &low, count, Some(&absolute), None)?;
        let mut dims = self.dims.clone();
        for ((axis, from), (n, by)) in self.axes.iter().zip(start).zip(count.iter().zip(step)) {
            let Some(dim) = axis.and_then(|d| dims.get_mut(d)) else {
                continue;
            };
            // a single index has no step, and an empty dimension no position
            let step = if *n > 1 {
                dim.step.checked_mul(*by)
            } else {
                Some(1)
            };
            *dim = Dim {
                origin: if *n > 0 { dim.at(*from) } else { 0 },
                step: step.ok_or_else(|| {
                    fail!(
                        Range,
                        "the steps of these slices, multiplied, are too large"
                    )
                })?,
            };
        }
        Ok(self.with(count.to_vec(), self.axes.clone(), dims))
    }

    /// Returns the view without dimension `axis`, whose length must be 1.
    pub fn squeeze(&self, axis: usize) -> Result<View> {
        let (mut shape, mut axes) = (self.shape.clone(), self.axes.clone());
        match shape.get(axis) {
            Some(1) => {}
            Some(n) => {
                return Err(fail!(
                    Argument,
                    "dimension {axis}: its length must be 1 to remove it (found {n})"
                ));
            }
            None => return Err(no_axis(axis, shape.len())),
        }
        shape.remove(axis);
        axes.remove(axis);
        Ok(self.with(shape, axes, self.dims.clone()))
    }

    /// Returns the view with a new dimension `axis` of length 1.
    pub fn expand_dims(&self, axis: usize) -> Result<View> {
        let (mut shape, mut axes) = (self.shape.clone(), self.axes.clone());
        if axis > shape.len() {
            return Err(no_axis(axis, shape.len() + 1));
        }
        if shape.len() >= MAX_NDIM {
            return Err(fail!(
                Argument,
                "too many dimensions (expected at most {MAX_NDIM}, found {})",
                shape.len() + 1
            ));
        }
        shape.insert(axis, 1);
        axes.insert(axis, None);
        Ok(self.with(shape, axes, self.dims.clone()))
    }

    // ---- properties

    /// Returns the array.
    pub fn base(&self) -> &Body {
        &self.base
    }

    /// Returns the length along each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the part of a chunk along each dimension.
    pub fn chunkshape(&self) -> &[u64] {
        &self.chunkshape
    }

    /// Returns the part of a block along each dimension.
    pub fn blockshape(&self) -> &[u64] {
        &self.blockshape
    }

    /// Returns the size of all items in bytes.
    pub fn nbytes(&self) -> u64 {
        let item = self.base.dtype().item.size as u64;
        self.shape.iter().fold(item, |n, d| n.saturating_mul(*d))
    }

    /// Returns the fill value, one item or one row; `None` means zeros.
    pub fn fill(&self) -> Result<Option<&[u8]>> {
        match &self.fill {
            Ok(fill) => Ok(fill.as_deref()),
            Err(e) => Err(e.clone()),
        }
    }

    /// Returns the error of a call that changes the array.
    pub fn read_only(&self) -> Error {
        fail!(
            State,
            "{}: a slice is read-only; change the array",
            self.base.store().name()
        )
    }

    // ---- reading

    /// Returns texts, as [`Array::texts`](super::Array::texts).
    pub fn texts(&self, first: u64, n: u64) -> Result<Texts> {
        let store = self.base.store();
        let ([Some(0)], [dim]) = (self.axes.as_slice(), self.dims.as_slice()) else {
            return Err(fail!(
                Unsupported,
                "{}: texts are read from one dimension",
                store.name()
            ));
        };
        if dim.step == 1 {
            return store.texts(dim.at(first), n);
        }
        let mut all = Texts::new(self.base.memory_limit());
        for i in first..first.saturating_add(n) {
            let one = store.texts(dim.at(i), 1)?;
            all.push(&one.bytes, one.nulls.contains(&true))?;
        }
        Ok(all)
    }

    /// Reads object `i` of an array of Python objects.
    pub fn object(&self, i: u64) -> Result<Vec<u8>> {
        let store = self.base.store();
        let n = self.shape.first().copied().unwrap_or(0);
        match (self.axes.as_slice(), self.dims.as_slice()) {
            ([Some(0)], [dim]) if i < n => store.object(dim.at(i)),
            ([Some(0)], _) => Err(fail!(
                Range,
                "{}: item {i} is out of range; the length is {n}",
                store.name()
            )),
            _ => Err(fail!(
                Unsupported,
                "{}: objects are read from one dimension",
                store.name()
            )),
        }
    }

    /// Reads a box. See [`Array::read`](super::Array::read).
    pub fn read(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        dst: &mut [u8],
        strides: Option<&[i64]>,
    ) -> Result<bool> {
        check_box(&self.shape, start, count, step, strides)?;
        if count.contains(&0) {
            return Ok(false);
        }
        let item = self.base.dtype().item.size;
        let packed = match strides {
            None => packed_strides(count, item, dst.len())?,
            Some(strides) => strides.to_vec(),
        };
        let of = self.base_box(start, count, step, &packed);
        self.base
            .read(&of.start, &of.count, Some(&of.step), dst, Some(&of.strides))
    }

    /// Returns the box of the array that a box of the view selects.
    fn base_box(
        &self,
        start: &[u64],
        count: &[u64],
        step: Option<&[u64]>,
        strides: &[i64],
    ) -> BaseBox {
        let n = self.dims.len();
        let mut of = BaseBox {
            start: self.dims.iter().map(|dim| dim.origin).collect(),
            count: vec![1; n],
            step: vec![1; n],
            strides: vec![0; n],
        };
        let boxes = start.iter().zip(count).zip(strides);
        for (i, (axis, ((from, n), stride))) in self.axes.iter().zip(boxes).enumerate() {
            let by = step.and_then(|step| step.get(i)).copied().unwrap_or(1);
            if let Some((d, dim)) = axis.and_then(|d| Some((d, *self.dims.get(d)?))) {
                of.set(d, dim, (*from, *n, by), *stride);
            }
        }
        of
    }

    /// Reads from byte `at` of the packed items in C order until `dst` is full.
    pub fn read_packed(&self, at: u64, dst: &mut [u8]) -> Result<bool> {
        let item = self.base.dtype().item.size.max(1) as u64;
        let end = at + dst.len() as u64;
        if !at.is_multiple_of(item) || !end.is_multiple_of(item) {
            // a chunk of a file can end within an item
            let (first, last) = (at / item * item, end.div_ceil(item) * item);
            let mut items = alloc::zeroed((last - first) as usize)?;
            let damaged = self.read_packed(first, &mut items)?;
            let from = (at - first) as usize;
            dst.copy_from_slice(items.at(from..from + dst.len())?);
            return Ok(damaged);
        }
        let (mut at, mut rest, mut damaged) = (at / item, dst, false);
        while !rest.is_empty() {
            let (start, count) = self.largest_box(at, rest.len() as u64 / item);
            let n: u64 = count.iter().product();
            let (part, after) = rest
                .split_at_mut_checked((n * item) as usize)
                .ok_or_else(|| fail!(State, "a box exceeds its buffer"))?;
            damaged |= self.read(&start, &count, None, part, None)?;
            (at, rest) = (at + n, after);
        }
        Ok(damaged)
    }

    /// Returns the largest box whose items in C order are consecutive from item `at` on, at most
    /// `most` of them.
    fn largest_box(&self, at: u64, most: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut start, mut count) = (self.shape.clone(), vec![1; self.shape.len()]);
        let (mut rest, mut stride, mut is_first) = (at, 1u64, true);
        for (d, len) in self.shape.iter().enumerate().rev() {
            let index = rest % len;
            rest /= len;
            let n = (most / stride).min(len - index);
            if let (Some(from), Some(to)) = (start.get_mut(d), count.get_mut(d)) {
                *from = index;
                if is_first && n > 0 {
                    *to = n;
                }
            }
            // a slower dimension can have more than one index if this one is complete
            is_first &= n == *len;
            stride = stride.saturating_mul(*len);
        }
        (start, count)
    }

    /// Reads single items. See [`Array::read_points`](super::Array::read_points).
    pub fn read_points(&self, coordinates: &[u64], n: usize, dst: &mut [u8]) -> Result<bool> {
        let item = self.base.dtype().item.size;
        if item == 0 {
            return for_each_point(&self.shape, 0, coordinates, (n, 0), |_| {}).map(|()| false);
        }
        let mut of_base = alloc::with_capacity(n.saturating_mul(self.dims.len()))?;
        for_each_point(&self.shape, item, coordinates, (n, dst.len()), |point| {
            let first = of_base.len();
            of_base.extend(self.dims.iter().map(|dim| dim.origin));
            for (axis, index) in self.axes.iter().zip(point) {
                if let Some((d, dim)) = axis.and_then(|d| Some((d, self.dims.get(d)?)))
                    && let Some(position) = of_base.get_mut(first + d)
                {
                    *position = dim.at(*index);
                }
            }
        })?;
        self.base.read_points(&of_base, n, dst)
    }

    /// Reads all combinations of positions. See
    /// [`Array::read_orthogonal`](super::Array::read_orthogonal).
    pub fn read_orthogonal(&self, positions: &Positions, dst: &mut [u8]) -> Result<bool> {
        let item = self.base.dtype().item.size;
        if Selection::product(&self.shape, item, positions, dst.len(), false)?
            .0
            .is_none()
        {
            return Ok(false);
        }
        let mut lists: Vec<Option<Vec<u64>>> =
            self.dims.iter().map(|dim| Some(vec![dim.origin])).collect();
        // of dimensions that the array does not have, one index is read and repeated
        let (mut counts, mut repeats) = (Vec::new(), Vec::new());
        for ((axis, n), list) in self.axes.iter().zip(&self.shape).zip(positions) {
            let count = list.map_or(*n, |list| list.len() as u64);
            let Some(d) = *axis else {
                repeats.push((counts.len(), count as usize));
                counts.push(1);
                continue;
            };
            counts.push(count);
            if let Some((to, dim)) = lists.get_mut(d).zip(self.dims.get(d)) {
                *to = self.positions(d, *dim, *n, *list)?;
            }
        }
        let lists: Vec<Option<&[u64]>> = lists.iter().map(Option::as_deref).collect();
        let damaged = self.base.read_orthogonal(&lists, dst)?;
        for (d, times) in repeats {
            repeat_along(&mut counts, d, times, item, dst);
        }
        Ok(damaged)
    }

    /// Returns the positions of dimension `d` of the array that a list of indices, or all of `n`,
    /// selects; `None` if these are all positions.
    fn positions(
        &self,
        d: usize,
        dim: Dim,
        n: u64,
        list: Option<&[u64]>,
    ) -> Result<Option<Vec<u64>>> {
        let is_whole = dim.origin == 0 && dim.step == 1 && self.base.shape().get(d) == Some(&n);
        if list.is_none() && is_whole {
            return Ok(None);
        }
        let mut to = alloc::with_capacity(list.map_or(n as usize, <[u64]>::len))?;
        match list {
            Some(list) => to.extend(list.iter().map(|index| dim.at(*index))),
            None => to.extend((0..n).map(|index| dim.at(index))),
        }
        Ok(Some(to))
    }
}

fn no_axis(axis: usize, ndim: usize) -> Error {
    fail!(
        Argument,
        "axis {axis} is out of range (expected less than {ndim})"
    )
}

/// A box of the array that a view reads.
struct BaseBox {
    start: Vec<u64>,
    count: Vec<u64>,
    step: Vec<u64>,
    strides: Vec<i64>,
}

impl BaseBox {
    /// Sets dimension `d` to `n` indices of the view, from `from` on, `by` apart. A negative step
    /// of the view becomes a negative stride.
    fn set(&mut self, d: usize, dim: Dim, (from, n, by): (u64, u64, u64), stride: i64) {
        let last = from.wrapping_add(n.saturating_sub(1).wrapping_mul(by));
        let is_backward = dim.step < 0;
        let values = (
            dim.at(if is_backward { last } else { from }),
            if n > 1 {
                by.saturating_mul(dim.step.unsigned_abs())
            } else {
                1
            },
            if is_backward {
                stride.wrapping_neg()
            } else {
                stride
            },
        );
        let to = (self.start.get_mut(d).zip(self.count.get_mut(d)))
            .zip(self.step.get_mut(d).zip(self.strides.get_mut(d)));
        if let Some(((to_start, to_count), (to_step, to_stride))) = to {
            (*to_start, *to_step, *to_stride) = values;
            *to_count = n;
        }
    }
}

/// Repeats the items of dimension `d`, which has one index, `times` times. `counts` are the lengths
/// of all dimensions in the packed buffer.
fn repeat_along(counts: &mut [u64], d: usize, times: usize, item: usize, dst: &mut [u8]) {
    let product = |counts: &[u64]| counts.iter().product::<u64>() as usize;
    let outer = product(counts.get(..d).unwrap_or_default());
    let size = product(counts.get(d + 1..).unwrap_or_default()) * item;
    if let Some(n) = counts.get_mut(d) {
        *n = times as u64;
    }
    // from the end, so that what is not copied yet is not overwritten
    for i in (0..outer).rev() {
        for copy in (0..times).rev() {
            dst.copy_within(i * size..(i + 1) * size, (i * times + copy) * size);
        }
    }
}
