// holdall/table.hpp - tables: named columns of one length.
#ifndef HOLDALL_TABLE_HPP
#define HOLDALL_TABLE_HPP

#include "array.hpp"
#include "arrow.hpp"

namespace holdall {

// Name and dtype of a new column: {"price", dtype_of<double>()}. "T": text of any length, in a CTable.
struct column {
    std::string name, dtype;
};

namespace detail {

// Whether values of T have any length.
template <class T>
struct is_text : std::disjunction<std::is_same<T, std::string>, std::is_same<T, std::string_view>, std::is_same<T, const char *>> {};
template <class T> struct is_text<std::optional<T>> : is_text<T> {};
// The type of the values in a container.
template <class C> using value_type = std::remove_cv_t<element<C>>;

inline holdall_value value_of(bytes text) noexcept { return {some(text), text.size()}; }
template <class T> holdall_value value_of(const std::optional<T> &text) noexcept { return text ? value_of(*text) : holdall_value{}; }

// Returns the rows of a column in the form of the C functions: the bytes of items of fixed length,
// or a std::vector of values of any length.
template <class C> auto cells(const C &values)
{
    if constexpr (is_text<value_type<const C>>::value) {
        std::vector<holdall_value> out;
        out.reserve(std::size(values));
        for (const auto &value : values)
            out.push_back(value_of(value));
        return out;
    } else {
        return bytes(values);
    }
}

// Returns the dtype of a new column of values of T.
template <class T> std::string column_dtype()
{
    if constexpr (is_text<T>::value)
        return "T";
    else
        return dtype_of<T>();
}

} // namespace detail

// An open table. Rows and columns are numbered from 0.
class table : public detail::owner<holdall_table, holdall_table_close> {
public:
    explicit table(const location &at, mode how = mode::read, const options &options = {}) : owner(options.callback())
    {
        call(holdall_table_open, at.path(), static_cast<holdall_mode>(how), options.get(), put());
    }
    // Opens a node of a store (store.hpp). What it commits is in the next commit of the store.
    table(const store &in, const std::string &node, mode how = mode::read, const options &options = {});
    static table create(const location &at, mode how, format f, const std::vector<holdall::column> &columns, const options &options = {})
    {
        std::vector<const char *> names, dtypes;
        for (const auto &c : columns) {
            names.push_back(c.name.c_str());
            dtypes.push_back(c.dtype.c_str());
        }
        holdall_table_spec spec{};
        spec.struct_size = sizeof spec;
        spec.format = static_cast<holdall_format>(f);
        spec.column_count = static_cast<std::uint32_t>(columns.size());
        spec.names = names.data();
        spec.dtypes = dtypes.data();
        table out(options.callback());
        out.call(holdall_table_create, at.path(), static_cast<holdall_mode>(how), &spec, options.get(), out.put());
        return out;
    }
    // Creates a table with the columns and rows of a stream, which is read to its end and released,
    // and commits it.
    static table from_arrow(const location &at, mode how, format f, ArrowArrayStream *stream, const options &options = {})
    {
        table out(options.callback());
        out.call(holdall_table_from_arrow, at.path(), static_cast<holdall_mode>(how), static_cast<holdall_format>(f), stream, options.get(), out.put());
        return out;
    }
    static table from_arrow(const location &at, mode how, format f, arrow_stream stream, const options &options = {})
    {
        return from_arrow(at, how, f, stream.get(), options);
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::uint64_t row_count() const noexcept { return holdall_table_row_count(get()); }
    std::uint32_t column_count() const noexcept { return holdall_table_column_count(get()); }
    std::vector<std::string> column_names() const { return detail::names(get(), column_count(), holdall_table_column_name); }
    std::uint64_t column_row_count(std::uint32_t i) const noexcept { return holdall_table_column_row_count(get(), i); }
    holdall_table_info info() const { return detail::info<holdall_table_info>(holdall_table_get_info, get()); }
    std::uint64_t generation() const noexcept { return holdall_table_generation(get()); }
    // Moves to the newest commit. Views of columns become invalid.
    void refresh() { call(holdall_table_refresh, get()); }

    // Returns a view of a column, valid until the table is closed or refreshed, or a column is added or
    // removed.
    array_view column(std::uint32_t i) const
    {
        array_view out(holdall_table_column(get(), i));
        if (!out)
            throw error(HOLDALL_E_RANGE, "no column " + std::to_string(i) + ": the table has " + std::to_string(column_count()));
        return out;
    }
    array_view column(const std::string &name) const
    {
        array_view out = find_column(name);
        if (!out)
            throw error(HOLDALL_E_ARGUMENT, "no column \"" + name + "\" in the table");
        return out;
    }
    // Returns the column with a name as a view; one that is false if there is none.
    array_view find_column(const std::string &name) const noexcept { return array_view(holdall_table_find_column(get(), name.c_str())); }
    // Returns values of a column, of all rows or some: read<double>("price", {0, 100}).
    template <class T> std::vector<T> read(const std::string &name, slice rows = all, bool *intact = nullptr) const
    {
        return column(name).template read<T>({rows}, intact);
    }
    // Reads rows of the named columns into one container or span for each, in one call:
    // read_rows({0, 100}, {"km", "stops"}, km, stops). Returns false if corrupt data were skipped.
    template <class... C> bool read_rows(slice rows, const std::vector<std::string> &names, C &&...dsts) const
    {
        const detail::cut cut({rows}, rows_of{row_count()});
        const buffers to(*this, names, dsts...);
        return call(holdall_table_read_rows, get(), cut.start[0], cut.count[0], cut.step[0], to.count, to.names, to.dsts, to.sizes) == HOLDALL_OK;
    }
    // Reads single rows, in any order, as read_rows() does.
    template <class... C> bool read_points(dims rows, const std::vector<std::string> &names, C &&...dsts) const
    {
        const buffers to(*this, names, dsts...);
        return call(holdall_table_read_points, get(), rows.data(), rows.size(), to.count, to.names, to.dsts, to.sizes) == HOLDALL_OK;
    }
    // Returns the numbers of the rows for which a predicate is true: see holdall_table_where(). Sets
    // *intact, if given, to false if corrupt values were tested as zeros.
    std::vector<std::uint64_t> where(const std::string &predicate, bool *intact = nullptr) const
    {
        std::vector<std::uint64_t> out, part(1 << 12);
        bool all_intact = true;
        for (std::uint64_t start = 0, end = row_count();;) {
            std::size_t count = 0;
            all_intact &= call(holdall_table_where, get(), predicate.c_str(), &start, end, part.data(), part.size(), &count) == HOLDALL_OK;
            out.insert(out.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
            if (start == end)
                break;
        }
        detail::report(intact, all_intact);
        return out;
    }
    // Returns for each row of a column 1 if it is null, otherwise 0; empty if the column has no nulls.
    std::vector<std::uint8_t> nulls(const std::string &column, slice rows = all) const
    {
        const detail::cut cut({rows}, rows_of{row_count()});
        std::vector<std::uint8_t> out(static_cast<std::size_t>(cut.count[0]));
        if (cut.step[0] != 1)
            throw error(HOLDALL_E_ARGUMENT, "nulls: the rows have a step (expected adjacent rows)");
        const auto status = call(holdall_table_read_nulls, get(), column.c_str(), cut.start[0], out.size(), out.data());
        return status == HOLDALL_NOT_FOUND ? std::vector<std::uint8_t>() : out;
    }
    // Returns rows as a read-only table that shares the files, with all columns. While it is open,
    // the table cannot be changed.
    table slice(std::uint64_t start, std::uint64_t count, std::int64_t step = 1) const
    {
        table out(from());
        call(holdall_table_slice, get(), start, count, step, column_count(), nullptr, out.put());
        return out;
    }
    // Returns rows of some columns, in this order.
    table slice(const std::vector<std::string> &columns, std::uint64_t start, std::uint64_t count, std::int64_t step = 1) const
    {
        std::vector<const char *> names;
        for (const std::string &name : columns)
            names.push_back(name.c_str());
        names.push_back(nullptr); // data() of an empty vector may be null, which stands for all columns
        table out(from());
        call(holdall_table_slice, get(), start, count, step, static_cast<std::uint32_t>(columns.size()), names.data(), out.put());
        return out;
    }
    // Copies the table to a new one. Returns false if corrupt data were skipped, which are zeros in
    // the copy.
    bool copy(const location &at, mode how, format f, const options &options = {}) const
    {
        return detail::call_for(options.callback().get(), holdall_table_copy, get(), at.path(), static_cast<holdall_mode>(how),
                                static_cast<holdall_format>(f), options.get()) == HOLDALL_OK;
    }

    // Appends rows: a container or span of values of its type for each column. For a column of values
    // of any length (itemsize 0): of std::string, std::string_view, const char *, or std::optional of
    // one of them, in which std::nullopt is null.
    template <class... C> void append(const C &...values)
    {
        add_values([&](auto... rows) { call(holdall_table_append, get(), rows...); }, values...);
    }
    // Appends rows as bytes, without checks of their types; of values of any length, the bytes of a
    // std::vector<holdall_value>.
    void append_rows(std::uint64_t count, const std::vector<bytes> &values)
    {
        add_bytes([&](auto... rows) { call(holdall_table_append, get(), count, rows...); }, values);
    }
    // Inserts rows before row `start`, as append() appends them; the rows after it move.
    template <class... C> void insert(std::uint64_t start, const C &...values)
    {
        add_values([&](auto... rows) { call(holdall_table_insert, get(), start, rows...); }, values...);
    }
    // Inserts rows as bytes, as append_rows() appends them.
    void insert_rows(std::uint64_t start, std::uint64_t count, const std::vector<bytes> &values)
    {
        add_bytes([&](auto... rows) { call(holdall_table_insert, get(), start, count, rows...); }, values);
    }
    // Removes `count` rows from row `start` on; the rows after them move.
    void remove(std::uint64_t start, std::uint64_t count) { call(holdall_table_remove, get(), start, count); }
    // Overwrites rows of a column, from row `start` on.
    template <class C> void write(const std::string &name, std::uint64_t start, const C &values)
    {
        require<const C>(name);
        const auto cells = detail::cells(values);
        call(holdall_table_write, get(), name.c_str(), start, std::size(values) / row_items(column(name)), detail::some(cells),
            bytes(cells).size());
    }
    // Inserts a column before column `at`, with a value for each row. Texts have dtype "T".
    template <class C> void add_column(std::uint32_t at, const std::string &name, const C &values)
    {
        add_column(at, {name, detail::column_dtype<detail::value_type<const C>>()}, detail::cells(values));
    }
    void add_column(std::uint32_t at, const holdall::column &c, bytes values)
    {
        call(holdall_table_column_add, get(), at, c.name.c_str(), c.dtype.c_str(), detail::some(values), values.size());
    }
    void remove_column(const std::string &name) { call(holdall_table_column_remove, get(), name.c_str()); }
    // Adds indexes to columns of a CTable, to all that can have one or to these: see
    // holdall_table_index_build().
    void build_index() { call(holdall_table_index_build, get(), std::uint32_t{0}, static_cast<const char *const *>(nullptr)); }
    void build_index(const std::vector<std::string> &columns)
    {
        const auto names = names_of(columns);
        call(holdall_table_index_build, get(), static_cast<std::uint32_t>(columns.size()), names.data());
    }
    void truncate(std::uint64_t row_count) { call(holdall_table_truncate, get(), row_count); }
    void commit() { call(holdall_table_commit, get()); }

    // Divides the rows into ranges that begin at chunks: see holdall_table_splits().
    std::vector<split> splits(std::size_t most) const { return detail::splits(holdall_table_splits, get(), most); }
    // Returns the names of the further files in the folder meta of a table in the BLZ RFC layout.
    std::vector<std::string> meta_files() const
    {
        return detail::listed(detail::sized<std::string>(holdall_table_meta_file_names, get()));
    }
    // Returns the bytes of such a file, if it exists.
    std::optional<std::string> meta_file(const std::string &name) const
    {
        return detail::found(holdall_table_meta_file_read, get(), name);
    }
    void set_meta_file(const std::string &name, bytes value)
    {
        call(holdall_table_meta_file_write, get(), name.c_str(), detail::some(value), value.size());
    }
    void remove_meta_file(const std::string &name) { call(holdall_table_meta_file_write, get(), name.c_str(), nullptr, std::size_t{0}); }
    std::vector<std::string> attrs() const { return detail::names(get(), holdall_table_attr_count(get()), holdall_table_attr_name); }
    std::optional<std::string> attr(const std::string &name) const { return detail::named(holdall_table_attr_get, get(), name); }
    void set_attr(const std::string &name, bytes value) { call(holdall_table_attr_set, get(), name.c_str(), detail::some(value), value.size()); }
    void remove_attr(const std::string &name) { call(holdall_table_attr_set, get(), name.c_str(), nullptr, std::size_t{0}); }
    void set_column_attr(const std::string &column, const std::string &name, bytes value)
    {
        call(holdall_table_column_attr_set, get(), column.c_str(), name.c_str(), detail::some(value), value.size());
    }
    void remove_column_attr(const std::string &column, const std::string &name)
    {
        call(holdall_table_column_attr_set, get(), column.c_str(), name.c_str(), nullptr, std::size_t{0});
    }

    // Returns rows as an Arrow stream; batch 0: the library selects the rows per batch.
    arrow_stream to_arrow(std::uint64_t start, std::uint64_t count, std::uint64_t batch = 0) const
    {
        arrow_stream out;
        call(holdall_table_to_arrow, get(), start, count, batch, out.get());
        return out;
    }
    arrow_stream to_arrow() const { return to_arrow(0, row_count()); }
    // Returns rows of some columns, in this order; other columns are not read.
    arrow_stream to_arrow(const std::vector<std::string> &columns, std::uint64_t start, std::uint64_t count, std::uint64_t batch = 0) const
    {
        const auto names = names_of(columns);
        arrow_stream out;
        call(holdall_table_columns_to_arrow, get(), start, count, static_cast<std::uint32_t>(columns.size()), names.data(), batch, out.get());
        return out;
    }
    arrow_stream to_arrow(const std::vector<std::string> &columns) const { return to_arrow(columns, 0, row_count()); }
    // Returns some columns of the rows for which a predicate is true, at most limit, of all rows or
    // of count rows from start on: see holdall_table_scan().
    arrow_stream scan(const std::string &predicate, const std::vector<std::string> &columns, std::uint64_t limit = UINT64_MAX) const
    {
        return scan(predicate, columns, 0, row_count(), limit);
    }
    arrow_stream scan(const std::string &predicate, const std::vector<std::string> &columns, std::uint64_t start, std::uint64_t count,
                      std::uint64_t limit, std::uint64_t batch = 0) const
    {
        const auto names = names_of(columns);
        arrow_stream out;
        call(holdall_table_scan, get(), predicate.c_str(), start, count, limit, static_cast<std::uint32_t>(columns.size()), names.data(),
             batch, out.get());
        return out;
    }
    // Returns some columns of single rows, in any order and with repetitions.
    arrow_stream to_arrow(const std::vector<std::string> &columns, dims rows, std::uint64_t batch = 0) const
    {
        const auto names = names_of(columns);
        arrow_stream out;
        call(holdall_table_points_to_arrow, get(), rows.data(), rows.size(), static_cast<std::uint32_t>(columns.size()), names.data(),
             batch, out.get());
        return out;
    }
    // Appends the rows of a stream, which is read to its end and released.
    void append_arrow(arrow_stream stream) { append_arrow(stream.get()); }
    void append_arrow(ArrowArrayStream *stream) { call(holdall_table_append_arrow, get(), stream); }

private:
    static std::vector<const char *> names_of(const std::vector<std::string> &columns)
    {
        std::vector<const char *> names;
        for (const std::string &name : columns)
            names.push_back(name.c_str());
        names.push_back(nullptr); // data() of an empty vector may be null, which stands for all columns
        return names;
    }
    // Calls add(count, columns, sizes) with rows of typed values, after a check of their types.
    template <class F, class... C> void add_values(F add, const C &...values)
    {
        static_assert(sizeof...(C) > 0, "values for each column");
        require_columns(sizeof...(C));
        const std::size_t counts[] = {std::size(values)...};
        std::uint32_t i = 0;
        (require<const C>(holdall_table_column_name(get(), i++)), ...);
        add_bytes([&](auto... rows) { add(counts[0] / row_items(column(0)), rows...); }, {bytes(detail::cells(values))...});
    }
    // Calls add(columns, sizes) with rows as bytes.
    template <class F> void add_bytes(F add, const std::vector<bytes> &values)
    {
        require_columns(values.size());
        std::vector<const void *> data;
        std::vector<std::size_t> sizes;
        for (const bytes &b : values) {
            data.push_back(detail::some(b));
            sizes.push_back(b.size());
        }
        add(data.data(), sizes.data());
    }
    void require_columns(std::size_t n) const
    {
        if (n != column_count())
            throw error(HOLDALL_E_ARGUMENT, "values of " + std::to_string(n) + " columns (expected " + std::to_string(column_count()) + ")");
    }
    template <class T> static bool is_of(const array_view &of)
    {
        if constexpr (detail::is_text<T>::value)
            return of.itemsize() == 0;
        else
            return of.is<T>();
    }
    template <class C> void require(const std::string &name) const
    {
        const array_view of = column(name);
        if (!is_of<detail::value_type<C>>(of))
            throw error(HOLDALL_E_TYPE, "column \"" + name + "\" is of dtype " + std::string(of.dtype()) + ", which does not match the type of the values");
    }
    // Number of items per row, at least 1: the C function refuses values for rows without items.
    static std::uint64_t row_items(const array_view &of)
    {
        std::uint64_t n = 1;
        const dims shape = of.shape();
        for (std::size_t d = 1; d < shape.size(); d++)
            n *= shape[d];
        return n == 0 ? 1 : n;
    }
    // The rows of a table as detail::cut resolves them.
    struct rows_of {
        std::uint64_t count;

        std::uint32_t ndim() const noexcept { return 1; }
        dims shape() const noexcept { return {&count, 1}; }
    };
    // Buffers for named columns in the form of the C functions, after a check of their types.
    template <std::size_t N> struct buffers {
        static_assert(N > 0, "a buffer for each column");
        static constexpr std::uint32_t count = N;
        const char *names[N];
        void *dsts[N];
        std::size_t sizes[N];

        template <class... C>
        buffers(const table &of, const std::vector<std::string> &columns, C &...values)
            : dsts{static_cast<void *>(std::data(values))...}, sizes{std::size(values) * sizeof *std::data(values)...}
        {
            static_assert((!detail::is_text<detail::value_type<C>>::value && ...), "read_object() of a column reads text of any length");
            if (columns.size() != N)
                throw error(HOLDALL_E_ARGUMENT, "buffers for " + std::to_string(N) + " columns (expected " + std::to_string(columns.size()) + ")");
            for (std::size_t i = 0; i < N; i++)
                names[i] = columns[i].c_str();
            std::size_t i = 0;
            (of.require<C>(columns[i++]), ...);
        }
    };
    template <class... C> buffers(const table &, const std::vector<std::string> &, C &...) -> buffers<sizeof...(C)>;
};

} // namespace holdall

#endif
