// holdall/table.hpp - tables: named columns of one length.
#ifndef HOLDALL_TABLE_HPP
#define HOLDALL_TABLE_HPP

#include "array.hpp"
#include "arrow.hpp"

namespace holdall {

// Name and dtype of a new column: {"price", dtype_of<double>()}.
struct column {
    std::string name, dtype;
};

class table : public detail::owner<holdall_table, holdall_table_close> {
public:
    explicit table(const location &at, mode how = mode::read, const options &options = {}) : owner(options.callback())
    {
        const auto m = static_cast<holdall_mode>(how);
        if (at.io() != nullptr)
            call(holdall_table_open_io, at.io(), m, options.get(), put());
        else
            call(holdall_table_open, at.path(), m, options.get(), put());
    }
    static table create(const location &at, mode how, format f, const std::vector<holdall::column> &columns, const options &options = {})
    {
        std::vector<const char *> names, dtypes;
        for (const auto &c : columns) {
            names.push_back(c.name.c_str());
            dtypes.push_back(c.dtype.c_str());
        }
        table out(options.callback());
        const auto m = static_cast<holdall_mode>(how);
        const auto form = static_cast<holdall_format>(f);
        const auto n = static_cast<std::uint32_t>(columns.size());
        if (at.io() != nullptr)
            out.call(holdall_table_create_io, at.io(), m, form, n, names.data(), dtypes.data(), options.get(), out.put());
        else
            out.call(holdall_table_create, at.path(), m, form, n, names.data(), dtypes.data(), options.get(), out.put());
        return out;
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::uint64_t rows() const noexcept { return holdall_table_rows(get()); }
    std::uint32_t columns() const noexcept { return holdall_table_columns(get()); }
    std::vector<std::string> names() const { return detail::names(get(), columns(), holdall_table_column_name); }
    std::uint64_t column_rows(std::uint32_t i) const noexcept { return holdall_table_column_rows(get(), i); }

    // Returns a view of a column, valid until the table is closed or a column is added or removed.
    array_view column(std::uint32_t i) const
    {
        array_view out(holdall_table_column(get(), i));
        if (!out)
            throw error(HOLDALL_E_RANGE, "no column " + std::to_string(i) + ": the table has " + std::to_string(columns()));
        return out;
    }
    array_view column(const std::string &name) const { return column(index(name)); }
    // Returns the number of the column with a name.
    std::uint32_t index(const std::string &name) const
    {
        for (std::uint32_t i = 0, n = columns(); i < n; i++)
            if (name == holdall_table_column_name(get(), i))
                return i;
        throw error(HOLDALL_E_ARGUMENT, "no column \"" + name + "\" in the table");
    }
    // Returns values of a column, of all rows or some: read<double>("price", {0, 100}).
    template <class T> std::vector<T> read(const std::string &name, slice rows = all, bool *intact = nullptr) const
    {
        return column(name).template read<T>({rows}, intact);
    }

    // Appends rows: a container or span of values of its type for each column.
    template <class... C> void append(const C &...values)
    {
        static_assert(sizeof...(C) > 0, "values for each column");
        if (sizeof...(C) != columns())
            throw error(HOLDALL_E_ARGUMENT, "values of " + std::to_string(sizeof...(C)) + " columns (expected " + std::to_string(columns()) + ")");
        const void *data[] = {detail::some(bytes(values))...};
        const std::size_t sizes[] = {bytes(values).size()...};
        const std::size_t counts[] = {std::size(values)...};
        std::uint32_t i = 0;
        (require<C>(i++), ...);
        call(holdall_table_append, get(), counts[0] / row_items(0), data, sizes);
    }
    // Appends rows as bytes, without checks of their types.
    void append_rows(std::uint64_t rows, const std::vector<bytes> &values)
    {
        if (values.size() != columns())
            throw error(HOLDALL_E_ARGUMENT, "values of " + std::to_string(values.size()) + " columns (expected " + std::to_string(columns()) + ")");
        std::vector<const void *> data;
        std::vector<std::size_t> sizes;
        for (const bytes &b : values) {
            data.push_back(detail::some(b));
            sizes.push_back(b.size());
        }
        call(holdall_table_append, get(), rows, data.data(), sizes.data());
    }
    // Overwrites rows of a column, from row `first` on.
    template <class C> void write(const std::string &name, std::uint64_t first, const C &values)
    {
        const std::uint32_t i = index(name);
        require<C>(i);
        call(holdall_table_write, get(), i, first, std::size(values) / row_items(i), detail::some(bytes(values)), bytes(values).size());
    }
    // Inserts a column before column `at`, with a value for each row.
    template <class C> void add_column(std::uint32_t at, const std::string &name, const C &values)
    {
        add_column(at, {name, dtype_of<std::remove_cv_t<detail::element<const C>>>()}, bytes(values));
    }
    void add_column(std::uint32_t at, const holdall::column &c, bytes values)
    {
        call(holdall_table_column_add, get(), at, c.name.c_str(), c.dtype.c_str(), detail::some(values), values.size());
    }
    void remove_column(const std::string &name) { call(holdall_table_column_remove, get(), name.c_str()); }
    void truncate(std::uint64_t rows) { call(holdall_table_truncate, get(), rows); }
    void commit() { call(holdall_table_commit, get()); }

    std::vector<std::string> attrs() const { return detail::names(get(), holdall_table_attrs(get()), holdall_table_attr_name); }
    std::optional<std::string> attr(const std::string &name) const { return detail::named(holdall_table_attr_get, get(), name); }
    void set_attr(const std::string &name, bytes value) { call(holdall_table_attr_set, get(), name.c_str(), detail::some(value), value.size()); }
    void remove_attr(const std::string &name) { call(holdall_table_attr_set, get(), name.c_str(), nullptr, std::size_t{0}); }
    void set_column_attr(std::uint32_t i, const std::string &name, bytes value)
    {
        call(holdall_table_column_attr_set, get(), i, name.c_str(), detail::some(value), value.size());
    }
    void remove_column_attr(std::uint32_t i, const std::string &name)
    {
        call(holdall_table_column_attr_set, get(), i, name.c_str(), nullptr, std::size_t{0});
    }

    // Returns rows as an Arrow stream; batch_rows 0: the library selects the size of batches.
    arrow_stream to_arrow(std::uint64_t first, std::uint64_t rows, std::uint64_t batch_rows = 0) const
    {
        arrow_stream out;
        call(holdall_table_to_arrow, get(), first, rows, batch_rows, out.get());
        return out;
    }
    arrow_stream to_arrow() const { return to_arrow(0, rows()); }
    // Appends the rows of a stream, which is read to its end and released.
    void append_arrow(arrow_stream stream) { append_arrow(stream.get()); }
    void append_arrow(ArrowArrayStream *stream) { call(holdall_table_append_arrow, get(), stream); }

private:
    template <class C> void require(std::uint32_t i) const
    {
        using T = std::remove_cv_t<detail::element<const C>>;
        const array_view is = column(i);
        if (!is.is<T>())
            throw error(HOLDALL_E_TYPE, std::string("column \"") + holdall_table_column_name(get(), i) + "\" is of dtype " + std::string(is.dtype()) +
                                            ", which does not match the type of the values");
    }
    // Number of items per row, at least 1: the C function refuses values for rows without items.
    std::uint64_t row_items(std::uint32_t i) const
    {
        std::uint64_t n = 1;
        const dims shape = column(i).shape();
        for (std::size_t d = 1; d < shape.size(); d++)
            n *= shape[d];
        return n == 0 ? 1 : n;
    }
};

} // namespace holdall

#endif
