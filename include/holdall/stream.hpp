// holdall/stream.hpp - records read ahead, in any order, and shuffled epochs.
#ifndef HOLDALL_STREAM_HPP
#define HOLDALL_STREAM_HPP

#include "bag.hpp"

namespace holdall {

// The numbers below n, shuffled, that fall to one rank: bag.stream(epoch), or a range of numbers.
class epoch : public detail::owner<holdall_epoch, holdall_epoch_close> {
public:
    epoch(std::uint64_t n, std::uint64_t seed, std::uint64_t number = 0, std::uint32_t rank = 0, std::uint32_t world = 1)
    {
        detail::call(holdall_epoch_open, n, seed, number, rank, world, put());
    }
    std::uint64_t size() const noexcept { return holdall_epoch_size(get()); }
    void seek(std::uint64_t number, std::uint64_t position) { detail::call(holdall_epoch_seek, get(), number, position); }
    std::optional<std::uint64_t> next() noexcept
    {
        std::uint64_t i = 0;
        return holdall_epoch_next(get(), &i) == 0 ? std::optional<std::uint64_t>(i) : std::nullopt;
    }
};

// A record of a stream, borrowed until the next one is taken.
class record : public bytes {
public:
    record() noexcept = default;
    record(const void *data, std::size_t size, const holdall_bag_stream *of) noexcept : bytes(data, size), of_(of) {}
    // Its number in the bag, until the next one is taken.
    std::uint64_t number() const noexcept { return holdall_bag_stream_number(of_); }

private:
    const holdall_bag_stream *of_ = nullptr;
};

// for (auto record : stream), once; or next(). Many threads may take() from one.
class bag_stream : public detail::owner<holdall_bag_stream, holdall_bag_stream_close> {
public:
    // Takes over a handle of C's.
    using owner::owner;

    // The next record; none: the end. A failure is told at the record that it belongs to, and the call after it goes on behind that one.
    std::optional<record> next()
    {
        const void *data = nullptr;
        std::size_t n = 0;
        if (call(holdall_bag_stream_next, get(), &data, &n) == HOLDALL_NOT_FOUND)
            return std::nullopt;
        return record(data, n, get());
    }
    // The next n records, or fewer, as a batch of one's own; 0: as many as were read together. None: the end.
    std::optional<records> take(std::size_t n = 0) const
    {
        holdall_records *out = nullptr;
        if (call(holdall_bag_stream_take, get(), n, &out) == HOLDALL_NOT_FOUND)
            return std::nullopt;
        return records(out);
    }
    // Records so far that were damaged and given as empty ones.
    std::uint64_t damaged() const noexcept { return holdall_bag_stream_damaged(get()); }

    inline record_iterator begin();
    inline record_iterator end() const noexcept;

private:
    friend class bag;
};

// What for and algorithms take records by: an input iterator, which is at the end where it has none.
class record_iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = record;
    using difference_type = std::ptrdiff_t;
    using pointer = const record *;
    using reference = const record &;

    record_iterator() noexcept = default;
    explicit record_iterator(bag_stream &of) : of_(&of) { ++*this; }
    // With a stream of its own.
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

// A function of the caller's that says which record is wanted.
template <class F> struct wanted : callback {
    F f;

    explicit wanted(F next) : f(std::move(next)) {}
    static int next(void *ctx, std::uint64_t *index) noexcept
    {
        auto *self = static_cast<wanted *>(ctx);
        try {
            const std::optional<std::uint64_t> i = self->f();
            if (i)
                *index = *i;
            return i ? 0 : 1;
        } catch (...) {
            self->keep();
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
    auto kept = std::make_shared<detail::wanted<F>>(std::move(next));
    bag_stream out{std::shared_ptr<detail::callback>(kept)};
    out.call(holdall_bag_stream_open, get(), detail::wanted<F>::next, static_cast<void *>(kept.get()), options.get(), out.put());
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
