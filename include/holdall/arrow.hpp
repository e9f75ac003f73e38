// holdall/arrow.hpp - owners of the structures of Arrow's C data and stream interfaces.
#ifndef HOLDALL_ARROW_HPP
#define HOLDALL_ARROW_HPP

#include <string>
#include <utility>

#include "core.hpp"

namespace holdall {

// A schema or a batch, released at the end of its scope unless a consumer has taken it: Arrow
// consumers clear `release`.
template <class T> class arrow_owner {
public:
    arrow_owner() noexcept = default;
    arrow_owner(arrow_owner &&other) noexcept : held_(std::exchange(other.held_, T{})) {}
    arrow_owner &operator=(arrow_owner &&other) noexcept
    {
        arrow_owner taken(std::move(other));
        std::swap(held_, taken.held_);
        return *this;
    }
    ~arrow_owner()
    {
        if (held_.release != nullptr)
            held_.release(&held_);
    }
    T *get() noexcept { return &held_; }
    const T *get() const noexcept { return &held_; }
    T *operator->() noexcept { return &held_; }
    const T *operator->() const noexcept { return &held_; }
    explicit operator bool() const noexcept { return held_.release != nullptr; }
    // Transfers ownership: the caller must release the result.
    T release() noexcept { return std::exchange(held_, T{}); }

private:
    T held_{};
};
using arrow_schema = arrow_owner<ArrowSchema>;
using arrow_batch = arrow_owner<ArrowArray>;

// A stream of batches, from to_arrow() or another producer. Other libraries import it through
// get().
class arrow_stream : public arrow_owner<ArrowArrayStream> {
public:
    arrow_schema schema()
    {
        arrow_schema out;
        check(get()->get_schema(get(), out.get()));
        return out;
    }
    // Returns the next batch, which is false at the end.
    arrow_batch next()
    {
        arrow_batch out;
        check(get()->get_next(get(), out.get()));
        return out;
    }

private:
    void check(int code)
    {
        if (code == 0)
            return;
        const char *message = get()->get_last_error(get());
        holdall_error e{};
        e.status = HOLDALL_E_CALLBACK, e.os_code = code, e.position = -1;
        const std::string text = message == nullptr ? "an Arrow stream failed without a message" : message;
        text.copy(e.message, sizeof e.message - 1);
        throw error(e);
    }
};

} // namespace holdall

#endif
