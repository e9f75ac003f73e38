// holdall/array.hpp - arrays: items of one type in a grid.
#ifndef HOLDALL_ARRAY_HPP
#define HOLDALL_ARRAY_HPP

#include "checks.hpp"
#include "items.hpp"
#include "options.hpp"

namespace holdall {

class array;

// A read-only, non-owning view of an array: of a column of a table, or of an array.
class array_view {
public:
    array_view() noexcept = default;
    explicit array_view(const holdall_array *handle) noexcept
        : handle_(handle), dtype_(holdall_array_dtype(handle)), itemsize_(holdall_array_itemsize(handle)), ndim_(holdall_array_ndim(handle)),
          type_(detail::spell(dtype())) {}
    const holdall_array *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

    std::uint32_t ndim() const noexcept { return ndim_; }
    dims shape() const noexcept { return of(holdall_array_shape(get())); }
    dims chunk_shape() const { return of(info().chunk_shape); }
    dims block_shape() const { return of(info().block_shape); }
    // The dtype as it was given when the array was created.
    std::string_view dtype() const noexcept { return dtype_ == nullptr ? std::string_view() : std::string_view(dtype_); }
    std::size_t itemsize() const noexcept { return itemsize_; }
    std::uint64_t nbytes() const noexcept { return holdall_array_nbytes(get()); }
    // Its pointers are valid until the array is closed, changed or refreshed.
    holdall_array_info info() const { return detail::info<holdall_array_info>(holdall_array_get_info, get()); }
    std::uint64_t generation() const noexcept { return holdall_array_generation(get()); }
    // Number of items.
    std::uint64_t size() const noexcept
    {
        std::uint64_t n = 1;
        for (const std::uint64_t length : shape())
            n *= length;
        return n;
    }
    // Whether the items are values of T.
    template <class T> bool is() const noexcept { return detail::is_value<T>(type_, itemsize_); }

    // Returns a box, packed, in C order. Sets *intact, if given, to false if corrupt data were
    // skipped.
    template <class T> std::vector<T> read(const box &where = {}, bool *intact = nullptr) const
    {
        static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: read_into() an array of bool, or read std::byte");
        require<T>();
        const detail::cut cut(where, *this);
        std::vector<T> out(cut.items);
        detail::report(intact, read_cut(cut, out.data(), nullptr, out.size() * sizeof(T)));
        return out;
    }
    // Reads a box into the first items of a container, array or span, or into a std::mdspan of the
    // same lengths and any layout. Returns false if corrupt data were skipped.
    template <class C> bool read_into(C &&dst, const box &where = {}) const
    {
        using D = std::remove_reference_t<C>;
        if constexpr (detail::is_mdspan<D>::value) {
            require<typename D::element_type>();
            const detail::cut cut(where, *this);
            const strided s(dst, cut, ndim());
            return read_cut(cut, dst.data_handle(), s.strides, s.bytes);
        } else {
            require<detail::element<D>>();
            const detail::cut cut(where, *this);
            return read_cut(cut, std::data(dst), nullptr, std::size(dst) * sizeof *std::data(dst));
        }
    }
    // Returns single items; `coordinates` has ndim() numbers for each.
    template <class T> std::vector<T> read_points(dims coordinates, bool *intact = nullptr) const
    {
        require<T>();
        std::vector<T> out(coordinates.size() / std::max<std::size_t>(ndim(), 1));
        const std::size_t n = out.size();
        detail::report(intact, detail::call(holdall_array_read_points, get(), coordinates.data(), n, static_cast<void *>(out.data()),
            n * sizeof(T)) == HOLDALL_OK);
        return out;
    }
    // Returns the items at all combinations of the positions in each dimension, as numpy.ix_ does.
    template <class T> std::vector<T> read_orthogonal(const std::vector<std::vector<std::uint64_t>> &positions, bool *intact = nullptr) const
    {
        require<T>();
        const positions_list p(*this, positions);
        std::vector<T> out(p.items);
        detail::report(intact, detail::call(holdall_array_read_orthogonal, get(), p.at, p.counts, static_cast<void *>(out.data()),
            out.size() * sizeof(T)) == HOLDALL_OK);
        return out;
    }
    // Returns an item of an array of Python objects, as Python pickled it, or a value of a column of
    // values of any length.
    std::string read_object(std::uint64_t i) const { return detail::sized<std::string>(holdall_array_read_object, get(), i); }

    // Returns count items from start on, each as read_object() does; std::nullopt for a null.
    std::vector<std::optional<std::string>> read_values(std::uint64_t start, std::uint64_t count) const
    {
        holdall_values *made = nullptr;
        detail::call(holdall_array_read_values, get(), start, count, &made);
        const std::unique_ptr<holdall_values, void (*)(holdall_values *)> values(made, holdall_values_free);
        const holdall_value *items = holdall_values_items(made);
        std::vector<std::optional<std::string>> out(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < out.size(); i++)
            if (items[i].data)
                out[i].emplace(static_cast<const char *>(items[i].data), items[i].size);
        return out;
    }

    // Returns the fill value: the bytes of items that were never written. Empty: zeros.
    bytes fill_value() const
    {
        const void *value = nullptr;
        std::size_t n = 0;
        detail::call(holdall_array_fill_value_get, get(), &value, &n);
        return {value, n};
    }
    // Divides the rows into ranges that begin at chunks: see holdall_array_splits().
    std::vector<split> splits(std::size_t most) const { return detail::splits(holdall_array_splits, get(), most); }
    // Returns the names of the further files in the folder meta of a dataset.
    std::vector<std::string> meta_files() const
    {
        return detail::listed(detail::sized<std::string>(holdall_array_meta_file_names, get()));
    }
    // Returns the bytes of such a file, if it exists.
    std::optional<std::string> meta_file(const std::string &name) const
    {
        return detail::found(holdall_array_meta_file_read, get(), name);
    }
    std::vector<std::string> attrs() const { return detail::names(get(), holdall_array_attr_count(get()), holdall_array_attr_name); }
    std::optional<std::string> attr(const std::string &name) const { return detail::named(holdall_array_attr_get, get(), name); }

    // Returns a checksum of dtype, shape and items, however they are stored.
    checksum_bytes checksum(holdall::checksum kind) const
    {
        return detail::sized<checksum_bytes>(holdall_array_checksum, get(), static_cast<std::int32_t>(kind));
    }
    // Returns a box as a read-only array that shares the files. While it is open, the array cannot
    // be changed.
    array slice(const box &where) const;
    // Returns the array without dimension axis, whose length must be 1, as slice() does.
    array squeeze(std::uint32_t axis) const;
    // Returns the array with a new dimension axis of length 1, as slice() does.
    array expand_dims(std::uint32_t axis) const;

    // Copies the array to a new container; chunk_shape and block_shape as for array::create().
    // Returns false if corrupt data were skipped, which are zeros in the copy.
    bool copy(const location &at, mode how, format f, const options &options = {}, dims chunk_shape = {}, dims block_shape = {}) const
    {
        const auto spec = spec_of(f, ndim(), chunk_shape, block_shape);
        return detail::call_for(options.callback().get(), holdall_array_copy, get(), at.path(), static_cast<holdall_mode>(how), &spec,
                                options.get()) == HOLDALL_OK;
    }

protected:
    // A spec without dtype and shape, after a check of the number of dimensions.
    static holdall_array_spec spec_of(format f, std::size_t ndim, dims chunk_shape, dims block_shape)
    {
        for (const dims &given : {chunk_shape, block_shape})
            if (!given.empty())
                same_ndim(given, ndim);
        holdall_array_spec spec{};
        spec.struct_size = sizeof spec;
        spec.format = static_cast<holdall_format>(f);
        spec.ndim = static_cast<std::uint32_t>(ndim);
        spec.chunk_shape = chunk_shape.get();
        spec.block_shape = block_shape.get();
        return spec;
    }
    // The layout of an mdspan: bytes between the items of each dimension.
    struct strided {
        std::int64_t strides[HOLDALL_MAX_NDIM];
        std::size_t bytes;

        template <class M> strided(const M &m, const detail::cut &cut, std::uint32_t ndim)
        {
            std::size_t last = 0;
            if (M::rank() != ndim)
                throw error(HOLDALL_E_ARGUMENT, "an mdspan of " + std::to_string(M::rank()) + " dimensions (expected " + std::to_string(ndim) + ")");
            for (std::size_t d = 0; d < ndim; d++) {
                const auto length = static_cast<std::uint64_t>(m.extent(d));
                if (length != cut.count[d])
                    throw error(HOLDALL_E_ARGUMENT, "dimension " + std::to_string(d) + ": an mdspan of length " + std::to_string(length) +
                        " (expected " + std::to_string(cut.count[d]) + ")");
                const auto stride = static_cast<std::size_t>(m.stride(d));
                strides[d] = static_cast<std::int64_t>(stride * sizeof(typename M::element_type));
                last += length == 0 ? 0 : (static_cast<std::size_t>(length) - 1) * stride;
            }
            bytes = cut.items == 0 ? 0 : (last + 1) * sizeof(typename M::element_type);
        }
    };
    // Lists of positions in the form of the C functions.
    struct positions_list {
        const std::uint64_t *at[HOLDALL_MAX_NDIM];
        std::uint64_t counts[HOLDALL_MAX_NDIM];
        std::size_t items = 1;

        positions_list(const array_view &a, const std::vector<std::vector<std::uint64_t>> &positions)
        {
            if (positions.size() != a.ndim())
                throw error(HOLDALL_E_ARGUMENT, "positions of " + std::to_string(positions.size()) +
                    " dimensions (expected " + std::to_string(a.ndim()) + ")");
            for (std::size_t d = 0; d < positions.size(); d++) {
                static const std::uint64_t none = 0; // NULL would select all positions
                at[d] = positions[d].empty() ? &none : positions[d].data();
                counts[d] = positions[d].size();
                items *= positions[d].size();
            }
        }
    };

    template <class T> void require() const
    {
        if (!is<T>())
            refuse(detail::letter_of<T>() == 'V' ? std::string() : type_name<T>(), sizeof(T));
    }
    [[noreturn]] void refuse(const std::string &type, std::size_t size) const
    {
        throw error(HOLDALL_E_TYPE, "items of dtype " + std::string(dtype()) + ", " + std::to_string(itemsize()) +
            " bytes each, do not match the requested type, " +
                                        (type.empty() ? std::to_string(size) + " bytes" : type));
    }
    static void same_ndim(dims given, std::size_t ndim)
    {
        if (given.size() != ndim)
            throw error(HOLDALL_E_ARGUMENT, std::to_string(given.size()) + " lengths (expected " + std::to_string(ndim) + ")");
    }

private:
    // Constant properties are queried once, so that a read is one call.
    const holdall_array *handle_ = nullptr;
    const char *dtype_ = nullptr;
    std::size_t itemsize_ = 0;
    std::uint32_t ndim_ = 0;
    detail::spelled type_;

    dims of(const std::uint64_t *lengths) const noexcept { return {lengths, lengths == nullptr ? 0 : ndim()}; }
    template <class T> static std::string type_name()
    {
        if constexpr (detail::letter_of<T>() == 'V')
            return {};
        else
            return dtype_of<T>();
    }
    bool read_cut(const detail::cut &cut, void *dst, const std::int64_t *strides, std::size_t bytes) const
    {
        return detail::call(holdall_array_read, get(), cut.start, cut.count, cut.steps(), dst, bytes, strides) == HOLDALL_OK;
    }
};

// An open array, closed at the end of its scope.
class array : public array_view {
public:
    explicit array(const location &at, mode how = mode::read, const options &options = {}) : callback_(options.callback())
    {
        call(holdall_array_open, at.path(), static_cast<holdall_mode>(how), options.get(), put());
        update_view();
    }
    // Opens a node of a store (store.hpp). What it commits is in the next commit of the store.
    array(const store &in, const std::string &node, mode how = mode::read, const options &options = {});
    // Creates an array of zeros of a dtype. If chunk_shape or block_shape is omitted, the library
    // selects it.
    static array create(const location &at, mode how, format f, const std::string &dtype, dims shape, const options &options = {},
        dims chunk_shape = {}, dims block_shape = {})
    {
        auto spec = spec_of(f, shape.size(), chunk_shape, block_shape);
        spec.dtype = dtype.c_str();
        spec.shape = shape.data();
        array out(options.callback());
        out.call(holdall_array_create, at.path(), static_cast<holdall_mode>(how), &spec, options.get(), out.put());
        out.update_view();
        return out;
    }
    // Creates an array of a C++ type: array::create<double>("x.b2nd", mode::create, format::b2nd,
    // {100, 200}).
    template <class T> static array create(const location &at, mode how, format f, dims shape, const options &options = {},
        dims chunk_shape = {}, dims block_shape = {})
    {
        return create(at, how, f, dtype_of<T>(), shape, options, chunk_shape, block_shape);
    }
    // Takes ownership of a C handle.
    explicit array(holdall_array *handle) noexcept : array_view(handle), own_(handle) {}
    array(array &&other) noexcept
        : array_view(std::exchange(other.view(), array_view())), own_(std::exchange(other.own_, nullptr)), callback_(std::move(other.callback_)) {}
    array &operator=(array &&other) noexcept
    {
        array taken(std::move(other)); // closes the previous handle
        std::swap(view(), taken.view());
        std::swap(own_, taken.own_);
        callback_.swap(taken.callback_);
        return *this;
    }
    ~array() { holdall_array_close(own_); }

    using array_view::get;
    holdall_array *get() noexcept { return own_; }
    holdall_array *release() noexcept
    {
        view() = array_view();
        return std::exchange(own_, nullptr);
    }

    // Writes a box: all items of a container or span, in C order, or a std::mdspan of its lengths.
    template <class C> void write(const C &src, const box &where = {})
    {
        const detail::cut cut(where, *this);
        if constexpr (detail::is_mdspan<C>::value) {
            require<std::remove_cv_t<typename C::element_type>>();
            const strided s(src, cut, ndim());
            write_cut(cut, src.data_handle(), s.strides, s.bytes);
        } else {
            using T = std::remove_cv_t<detail::element<const C>>;
            require<T>();
            if (std::size(src) != cut.items) // the C function would use only the first items
                throw error(HOLDALL_E_ARGUMENT, std::to_string(std::size(src)) + " items (expected " + std::to_string(cut.items) + ", as in the box)");
            write_cut(cut, std::data(src), nullptr, std::size(src) * sizeof(T));
        }
    }
    // Fills a box with one value.
    template <class T> void fill(const T &value, const box &where = {})
    {
        static constexpr std::int64_t none[HOLDALL_MAX_NDIM] = {};
        require<T>();
        write_cut(detail::cut(where, *this), &value, none, sizeof value);
    }
    template <class C> void write_orthogonal(const std::vector<std::vector<std::uint64_t>> &positions, const C &src)
    {
        using T = std::remove_cv_t<detail::element<const C>>;
        require<T>();
        const positions_list p(*this, positions);
        call(holdall_array_write_orthogonal, get(), p.at, p.counts, static_cast<const void *>(std::data(src)), std::size(src) * sizeof(T));
    }
    // Grows the array along a dimension by as many positions as src has items for.
    template <class C> void append(const C &src, std::uint32_t axis = 0)
    {
        const std::uint64_t count = append_count<C>(src, axis);
        call(holdall_array_append, get(), axis, count, detail::some(bytes(src)), bytes(src).size());
    }
    template <class C> void insert(std::uint64_t start, const C &src, std::uint32_t axis = 0)
    {
        const std::uint64_t count = append_count<C>(src, axis);
        call(holdall_array_insert, get(), axis, start, count, detail::some(bytes(src)), bytes(src).size());
    }
    void remove(std::uint64_t start, std::uint64_t count, std::uint32_t axis = 0) { call(holdall_array_remove, get(), axis, start, count); }
    void resize(dims shape)
    {
        same_ndim(shape, ndim());
        call(holdall_array_resize, get(), shape.data());
    }
    // Sets the fill value for later growth. Empty: zeros.
    void set_fill_value(bytes item) { call(holdall_array_fill_value_set, get(), detail::some(item), item.size()); }
    void set_attr(const std::string &name, bytes value) { call(holdall_array_attr_set, get(), name.c_str(), detail::some(value), value.size()); }
    // In the header of a frame.
    void set_fixed_attr(const std::string &name, bytes value) { call(holdall_array_attr_set_fixed, get(), name.c_str(), detail::some(value), value.size()); }
    void remove_attr(const std::string &name) { call(holdall_array_attr_set, get(), name.c_str(), nullptr, std::size_t{0}); }
    // Sets the bytes of a further file in the folder meta of a dataset.
    void set_meta_file(const std::string &name, bytes value)
    {
        call(holdall_array_meta_file_write, get(), name.c_str(), detail::some(value), value.size());
    }
    void remove_meta_file(const std::string &name) { call(holdall_array_meta_file_write, get(), name.c_str(), nullptr, std::size_t{0}); }
    void commit() { call(holdall_array_commit, get()); }
    // Moves to the newest commit, which may have another dtype and shape. Views, shape(), dtype() and
    // info() from before become invalid.
    void refresh()
    {
        call(holdall_array_refresh, get());
        update_view();
    }

private:
    explicit array(std::shared_ptr<detail::callback> from) noexcept : callback_(std::move(from)) {}
    holdall_array **put() noexcept { return &own_; }
    array_view &view() noexcept { return *this; }
    void update_view() noexcept { view() = array_view(own_); }
    template <class F, class... A> holdall_status call(F *f, A... arguments) const { return detail::call_for(callback_.get(), f, arguments...); }
    // Number of positions along a dimension for which src has items. The C function reports
    // left-over items.
    template <class C> std::uint64_t append_count(const C &src, std::uint32_t axis) const
    {
        require<std::remove_cv_t<detail::element<const C>>>();
        std::uint64_t items = 1;
        const dims lengths = shape();
        for (std::size_t d = 0; d < lengths.size(); d++)
            items *= d == axis ? 1 : lengths[d];
        return items == 0 ? 0 : std::size(src) / items;
    }
    void write_cut(const detail::cut &cut, const void *src, const std::int64_t *strides, std::size_t bytes)
    {
        call(holdall_array_write, get(), cut.start, cut.count, cut.steps(), src, bytes, strides);
    }

    holdall_array *own_ = nullptr;
    std::shared_ptr<detail::callback> callback_;
};

inline array array_view::slice(const box &where) const
{
    const detail::cut cut(where, *this);
    std::int64_t step[HOLDALL_MAX_NDIM];
    for (std::uint32_t d = 0; d < ndim(); d++)
        step[d] = static_cast<std::int64_t>(std::min(cut.step[d], static_cast<std::uint64_t>(INT64_MAX)));
    holdall_array *out = nullptr;
    detail::call(holdall_array_slice, get(), cut.start, cut.count, step, &out);
    return array(out);
}

inline array array_view::squeeze(std::uint32_t axis) const
{
    holdall_array *out = nullptr;
    detail::call(holdall_array_squeeze, get(), axis, &out);
    return array(out);
}

inline array array_view::expand_dims(std::uint32_t axis) const
{
    holdall_array *out = nullptr;
    detail::call(holdall_array_expand_dims, get(), axis, &out);
    return array(out);
}

} // namespace holdall

#endif
