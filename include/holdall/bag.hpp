// holdall/bag.hpp - bags: records of any length; batches of them; their writer.
#ifndef HOLDALL_BAG_HPP
#define HOLDALL_BAG_HPP

#include "arrow.hpp"
#include "checks.hpp"

namespace holdall {

class bag_stream;
class epoch;
class record_iterator;

// A batch of records: batch[i] is bytes, which are valid as long as the batch.
class records : public detail::owner<holdall_records, holdall_records_free> {
public:
    explicit records(holdall_records *handle) noexcept
        : owner(handle), data_(holdall_records_data(handle)), offsets_(holdall_records_offsets(handle)), size_(holdall_records_count(handle)) {}

    class iterator {
    public:
        using iterator_category = std::random_access_iterator_tag;
        using value_type = bytes;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = bytes;

        iterator() noexcept = default;
        iterator(const std::uint8_t *data, const std::uint64_t *at) noexcept : data_(data), at_(at) {}
        bytes operator*() const noexcept { return (*this)[0]; }
        bytes operator[](difference_type i) const noexcept { return {data_ + at_[i], static_cast<std::size_t>(at_[i + 1] - at_[i])}; }
        iterator &operator++() noexcept { return ++at_, *this; }
        iterator &operator--() noexcept { return --at_, *this; }
        iterator operator++(int) noexcept { return {data_, at_++}; }
        iterator operator--(int) noexcept { return {data_, at_--}; }
        iterator &operator+=(difference_type n) noexcept { return at_ += n, *this; }
        iterator &operator-=(difference_type n) noexcept { return at_ -= n, *this; }
        friend iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
        friend iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
        friend iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
        friend difference_type operator-(iterator a, iterator b) noexcept { return a.at_ - b.at_; }
        friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
        friend bool operator!=(iterator a, iterator b) noexcept { return a.at_ != b.at_; }
        friend bool operator<(iterator a, iterator b) noexcept { return a.at_ < b.at_; }
        friend bool operator>(iterator a, iterator b) noexcept { return b < a; }
        friend bool operator<=(iterator a, iterator b) noexcept { return !(b < a); }
        friend bool operator>=(iterator a, iterator b) noexcept { return !(a < b); }

    private:
        const std::uint8_t *data_ = nullptr;
        const std::uint64_t *at_ = nullptr;
    };

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    bytes operator[](std::size_t i) const noexcept { return {data_ + offsets_[i], static_cast<std::size_t>(offsets_[i + 1] - offsets_[i])}; }
    iterator begin() const noexcept { return {data_, offsets_}; }
    iterator end() const noexcept { return {data_, offsets_ + size_}; }
    // All records, concatenated, and their offsets, including the end of the last record.
    bytes data() const noexcept { return {data_, size_ == 0 ? 0 : static_cast<std::size_t>(offsets_[size_])}; }
    dims offsets() const noexcept { return {offsets_, size_ + 1}; }
    // Positions in the batch of corrupt records, which are empty. Without options::skip_damaged()
    // there are none.
    dims damaged_positions() const noexcept { return {holdall_records_damaged_positions(get()), holdall_records_damaged_count(get())}; }
    // Record numbers in the bag, for a batch from a stream.
    dims numbers() const noexcept
    {
        const std::uint64_t *n = holdall_records_numbers(get());
        return {n, n == nullptr ? 0 : size_};
    }

private:
    // Queried once, so that access to a record needs no call.
    const std::uint8_t *data_;
    const std::uint64_t *offsets_;
    std::size_t size_;
};

// An open bag or slice of one: records of any length, numbered from 0.
class bag : public detail::owner<holdall_bag, holdall_bag_close> {
public:
    // Opens a path, or a spec for several files ("train@*.bagz").
    explicit bag(const location &spec, const options &options = {}) : owner(options.callback())
    {
        call(holdall_bag_open, spec.path(), options.get(), put());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::uint64_t size() const noexcept { return holdall_bag_record_count(get()); }
    bool empty() const noexcept { return size() == 0; }
    holdall_bag_info info() const { return detail::info<holdall_bag_info>(holdall_bag_get_info, get()); }
    std::uint64_t generation() const noexcept { return holdall_bag_generation(get()); }
    // Moves to the newest commit. Names of shards become invalid; batches, slices, streams and
    // indexes stay at the earlier commit.
    void refresh() { call(holdall_bag_refresh, get()); }
    // Divides the records into at most `most` ranges of similar stored size, for programs that
    // distribute work: see holdall_bag_splits().
    std::vector<split> splits(std::size_t most) const { return detail::splits(holdall_bag_splits, get(), most); }
    std::uint32_t shard_count() const noexcept { return holdall_bag_shard_count(get()); }
    std::string_view shard_name(std::uint32_t i) const noexcept
    {
        const char *name = holdall_bag_shard_name(get(), i);
        return name == nullptr ? std::string_view() : std::string_view(name);
    }
    std::uint64_t shard_record_count(std::uint32_t i) const noexcept { return holdall_bag_shard_record_count(get(), i); }

    // Returns the `count` records start, start + step, ... as a bag.
    bag slice(std::uint64_t start, std::uint64_t count, std::int64_t step = 1) const
    {
        bag out(from());
        call(holdall_bag_slice, get(), start, count, step, out.put());
        return out;
    }

    // Copies all records to another bag, with one commit. Returns false if corrupt records were
    // skipped, which are empty in the copy.
    bool copy(const location &at, mode how = mode::create, const options &options = {}) const
    {
        return detail::call_for(options.callback().get(), holdall_bag_copy, get(), nullptr, std::size_t{0}, at.path(),
                                static_cast<holdall_mode>(how), options.get()) == HOLDALL_OK;
    }
    // Copies records, in any order, as copy() does.
    bool copy(dims indices, const location &at, mode how = mode::create, const options &options = {}) const
    {
        static const std::uint64_t none = 0; // NULL stands for all records
        return detail::call_for(options.callback().get(), holdall_bag_copy, get(), indices.empty() ? &none : indices.data(), indices.size(),
                                at.path(), static_cast<holdall_mode>(how), options.get()) == HOLDALL_OK;
    }

    // Returns record i. Sets *intact, if given, to false if the record is corrupt and was skipped;
    // the result is then empty.
    std::string read(std::uint64_t i, bool *intact = nullptr) const
    {
        std::string out;
        detail::report(intact, read(i, out));
        return out;
    }
    // Reads record i into a string or vector of bytes and resizes it to the record. Does not
    // reallocate if it is long enough. Returns false if the record is corrupt and was skipped.
    template <class C> bool read(std::uint64_t i, C &out) const
    {
        static_assert(sizeof(typename C::value_type) == 1, "into bytes");
        std::size_t n = 0;
        holdall_error e;
        const bool asks = out.size() == 0;
        holdall_status status = holdall_bag_read(get(), i, asks ? nullptr : out.data(), out.size(), &n, &e);
        if (status == HOLDALL_E_BUFFER || (asks && status == HOLDALL_OK && n != 0)) {
            out.resize(n);
            status = holdall_bag_read(get(), i, out.data(), n, &n, &e);
        }
        if (status < 0)
            detail::fail(e, nullptr);
        out.resize(n);
        return status == HOLDALL_OK;
    }
    // Reads record i into a buffer that is large enough, and returns the size of the record.
    // *intact as with read().
    template <class C> std::size_t read_into(std::uint64_t i, C &&dst, bool *intact = nullptr) const
    {
        std::size_t n = 0;
        const holdall_status status = call(holdall_bag_read, get(), i, static_cast<void *>(std::data(dst)),
            std::size(dst) * sizeof *std::data(dst), &n);
        detail::report(intact, status == HOLDALL_OK);
        return n;
    }
    std::size_t size_of(std::uint64_t i) const
    {
        std::size_t n = 0;
        call(holdall_bag_read, get(), i, nullptr, std::size_t{0}, &n);
        return n;
    }
    records read_range(std::uint64_t start, std::uint64_t count) const
    {
        holdall_records *out = nullptr;
        call(holdall_bag_read_range, get(), start, count, &out);
        return records(out);
    }
    records read_indices(dims numbers) const
    {
        holdall_records *out = nullptr;
        call(holdall_bag_read_indices, get(), numbers.data(), numbers.size(), &out);
        return records(out);
    }
    // Like read_range() and read_indices(), into memory that allocate(std::size_t) returns; it is
    // called once. `offsets` must have one element more than there are records. Returns false if
    // some records are corrupt, which are then empty.
    template <class F> bool read_range_to(std::uint64_t start, F &&allocate, span<std::uint64_t> offsets) const
    {
        allocator<F> a(allocate, offsets);
        return detail::call_for(&a, holdall_bag_read_range_to, get(), start, offsets.size() - 1, a.call, static_cast<void *>(&a),
            offsets.data()) == HOLDALL_OK;
    }
    template <class F> bool read_indices_to(dims numbers, F &&allocate, span<std::uint64_t> offsets) const
    {
        allocator<F> a(allocate, offsets);
        if (offsets.size() <= numbers.size())
            throw error(HOLDALL_E_BUFFER, "space for " + std::to_string(offsets.size()) + " offsets (expected one more than the number of records)");
        return detail::call_for(&a, holdall_bag_read_indices_to, get(), numbers.data(), numbers.size(), a.call, static_cast<void *>(&a),
            offsets.data()) == HOLDALL_OK;
    }
    checksum_bytes checksum(holdall::checksum kind) const
    {
        return detail::sized_for<checksum_bytes>(from().get(), holdall_bag_checksum, get(), static_cast<std::int32_t>(kind));
    }
    // The zstd dictionary that the files store, or that was given; empty if there is none.
    std::vector<std::uint8_t> dictionary() const
    {
        return detail::sized_for<std::vector<std::uint8_t>>(from().get(), holdall_bag_read_dictionary, get());
    }
    arrow_stream to_arrow(std::uint64_t start, std::uint64_t count, std::uint64_t batch = 0) const
    {
        arrow_stream out;
        call(holdall_bag_to_arrow, get(), start, count, batch, out.get());
        return out;
    }
    arrow_stream to_arrow() const { return to_arrow(0, size()); }

    // Streams of records, with parallel read-ahead: all records in order; the records whose numbers
    // `next` returns (a std::optional<std::uint64_t>, empty at the end); or those of an epoch,
    // which must outlive the stream. See stream.hpp.
    inline bag_stream stream(const options &options = {}) const;
    template <class F, std::enable_if_t<std::is_invocable_r_v<std::optional<std::uint64_t>, F &>, int> = 0>
    bag_stream stream(F next, const options &options = {}) const;
    inline bag_stream stream(epoch &numbers, const options &options = {}) const;
    // for (auto record : bag): all records in order.
    inline record_iterator begin() const;
    inline record_iterator end() const noexcept;

private:
    friend class bag_index;

    template <class F> struct allocator : detail::callback {
        std::remove_reference_t<F> &f;

        allocator(std::remove_reference_t<F> &allocate, span<std::uint64_t> offsets) : f(allocate)
        {
            if (offsets.empty())
                throw error(HOLDALL_E_BUFFER, "no space for offsets (expected one more than the number of records)");
        }
        static void *call(void *ctx, std::size_t n) noexcept
        {
            auto *self = static_cast<allocator *>(ctx);
            try {
                return static_cast<void *>(self->f(n));
            } catch (...) {
                self->capture();
                return nullptr;
            }
        }
    };
};

// Returns the files of a spec.
inline std::vector<std::string> bag_files(const std::string &spec)
{
    const auto ends = detail::sized<std::string>(holdall_bag_files, spec.c_str());
    std::vector<std::string> out;
    for (std::size_t at = 0; at < ends.size(); at += out.back().size() + 1)
        out.emplace_back(ends.c_str() + at);
    return out;
}

// Trains a zstd dictionary for records, where record i is data[offsets[i]] to data[offsets[i + 1]].
inline std::vector<std::uint8_t> train_dictionary(bytes data, dims offsets, std::size_t size = 112640)
{
    if (offsets.empty())
        throw error(HOLDALL_E_ARGUMENT, "no offsets (expected one more than the number of records)");
    std::vector<std::uint8_t> out(size);
    std::size_t n = 0;
    detail::call(holdall_dictionary_train, detail::some(data), offsets.data(), offsets.size() - 1,
        static_cast<void *>(out.data()), out.size(), &n);
    out.resize(n);
    return out;
}

// A writer of a bag or a set of bags. Records become visible and durable with commit().
class bag_writer : public detail::owner<holdall_bag_writer, holdall_bag_writer_close> {
public:
    explicit bag_writer(const location &at, mode how = mode::create, const options &options = {}) : owner(options.callback())
    {
        call(holdall_bag_writer_open, at.path(), static_cast<holdall_mode>(how), options.get(), put());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    // Number of records: those of the last commit and those appended since.
    std::uint64_t size() const noexcept { return holdall_bag_writer_record_count(get()); }
    void append(bytes record) { call(holdall_bag_writer_append, get(), static_cast<const void *>(record.data()), record.size()); }
    // Appends many records: record i is data[offsets[i]] to data[offsets[i + 1]].
    void append_many(bytes data, dims offsets)
    {
        if (offsets.empty())
            throw error(HOLDALL_E_ARGUMENT, "no offsets (expected one more than the number of records)");
        call(holdall_bag_writer_append_many, get(), detail::some(data), offsets.data(), offsets.size() - 1);
    }
    // Makes all appended records durable and visible.
    void commit() { call(holdall_bag_writer_commit, get()); }
};

} // namespace holdall

#endif
