// holdall/stream.hpp - streams of records with read-ahead, in any order, and shuffled epochs.
#ifndef HOLDALL_STREAM_HPP
#define HOLDALL_STREAM_HPP

#include "bag.hpp"

namespace holdall {

// The share of one rank of the shuffled numbers below n: for bag.stream(epoch), or as a range of
// numbers.
class epoch : public detail::owner<holdall_epoch, holdall_epoch_free> {
public:
    epoch(std::uint64_t n, std::uint64_t seed, std::uint64_t number = 0, std::uint32_t rank = 0, std::uint32_t world = 1)
    {
        detail::call(holdall_epoch_new, n, seed, number, rank, world, put());
    }
    std::uint64_t size() const noexcept { return holdall_epoch_count(get()); }
    void seek(std::uint64_t number, std::uint64_t position) { detail::call(holdall_epoch_seek, get(), number, position); }
    std::optional<std::uint64_t> next() noexcept
    {
        std::uint64_t i = 0;
        return holdall_epoch_next(get(), &i) == HOLDALL_OK ? std::optional<std::uint64_t>(i) : std::nullopt;
    }
};

// A record of a stream, valid until the next one is taken.
class record : public bytes {
public:
    record() noexcept = default;
    record(const void *data, std::size_t size, const holdall_bag_stream *of, bool is_damaged) noexcept
        : bytes(data, size), of_(of), is_damaged_(is_damaged) {}
    // Its number in the bag, valid until the next record is taken.
    std::uint64_t number() const noexcept { return holdall_bag_stream_number(of_); }
    // Whether it is corrupt and therefore empty; false without options::skip_damaged().
    bool is_damaged() const noexcept { return is_damaged_; }

private:
    const holdall_bag_stream *of_ = nullptr;
    bool is_damaged_ = false;
};

// A stream of records: iterate once with for (auto record : stream), or call next(). Many threads
// may take() from one.
class bag_stream : public detail::owner<holdall_bag_stream, holdall_bag_stream_close> {
public:
    // Takes ownership of a C handle.
    using owner::owner;

    // Returns the next record; nullopt at the end. A failure is reported at its record, and the
    // next call continues after that record.
    std::optional<record> next()
    {
        const void *data = nullptr;
        std::size_t n = 0;
        const holdall_status status = call(holdall_bag_stream_next, get(), &data, &n);
        if (status == HOLDALL_END)
            return std::nullopt;
        return record(data, n, get(), status == HOLDALL_DAMAGED);
    }
    // Returns the next n records, or fewer, as an independent batch; n = 0: as many as were read
    // together. nullopt at the end.
    std::optional<records> take(std::size_t n = 0) const
    {
        holdall_records *out = nullptr;
        if (call(holdall_bag_stream_take, get(), n, &out) == HOLDALL_END)
            return std::nullopt;
        return records(out);
    }
    // Number of corrupt records so far, which were returned as empty records.
    std::uint64_t damaged_count() const noexcept { return holdall_bag_stream_damaged_count(get()); }

    inline record_iterator begin();
    inline record_iterator end() const noexcept;

private:
    friend class bag;
};

// An input iterator over records, for range-based for and algorithms; it is at the end if it has no
// record.
class record_iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = record;
    using difference_type = std::ptrdiff_t;
    using pointer = const record *;
    using reference = const record &;

    record_iterator() noexcept = default;
    explicit record_iterator(bag_stream &of) : of_(&of) { ++*this; }
    // Owns its stream.
    explicit record_iterator(bag_stream &&own) : own_(std::make_shared<bag_stream>(std::move(own))), of_(own_.get()) { ++*this; }

    const record &operator*() const noexcept { return *now_; }
    const record *operator->() const noexcept { return &*now_; }
    record_iterator &operator++() { return now_ = of_->next(), *this; }
    void operator++(int) { ++*this; }
    friend bool operator==(const record_iterator &a, const record_iterator &b) noexcept { return a.now_.has_value() == b.now_.has_value(); }
    friend bool operator!=(const record_iterator &a, const record_iterator &b) noexcept { return !(a == b); }

private:
    std::shared_ptr<bag_stream> own_;
    bag_stream *of_ = nullptr;
    std::optional<record> now_;
};

namespace detail {

// A caller's function that returns the number of the next requested record.
template <class F> struct next_index : callback {
    F f;

    explicit next_index(F next) : f(std::move(next)) {}
    static int next(void *ctx, std::uint64_t *index) noexcept
    {
        auto *self = static_cast<next_index *>(ctx);
        try {
            const std::optional<std::uint64_t> i = self->f();
            if (i)
                *index = *i;
            return i ? HOLDALL_OK : HOLDALL_END;
        } catch (...) {
            self->capture();
            return HOLDALL_E_CALLBACK;
        }
    }
};

} // namespace detail

inline record_iterator bag_stream::begin() { return record_iterator(*this); }
inline record_iterator bag_stream::end() const noexcept { return {}; }

inline bag_stream bag::stream(const options &options) const
{
    bag_stream out{std::shared_ptr<detail::callback>()};
    out.call(holdall_bag_stream_open, get(), nullptr, nullptr, options.get(), out.put());
    return out;
}
template <class F, std::enable_if_t<std::is_invocable_r_v<std::optional<std::uint64_t>, F &>, int>>
bag_stream bag::stream(F next, const options &options) const
{
    auto callback = std::make_shared<detail::next_index<F>>(std::move(next));
    bag_stream out{std::shared_ptr<detail::callback>(callback)};
    out.call(holdall_bag_stream_open, get(), detail::next_index<F>::next, static_cast<void *>(callback.get()), options.get(), out.put());
    return out;
}
inline bag_stream bag::stream(epoch &numbers, const options &options) const
{
    bag_stream out{std::shared_ptr<detail::callback>()};
    out.call(holdall_bag_stream_open, get(), holdall_epoch_next, static_cast<void *>(numbers.get()), options.get(), out.put());
    return out;
}
inline record_iterator bag::begin() const { return record_iterator(stream()); }
inline record_iterator bag::end() const noexcept { return {}; }

} // namespace holdall

#endif
