// holdall/arrow.hpp - Arrow's C data and stream interfaces, and an owning stream.
#ifndef HOLDALL_ARROW_HPP
#define HOLDALL_ARROW_HPP

#include <cstdint>
#include <string>
#include <utility>

// The structures of https://arrow.apache.org/docs/format/CStreamInterface.html. The include guards
// are those of Arrow, so that definitions of other headers are used if they exist.
extern "C" {
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream *, ArrowSchema *out);
    int (*get_next)(ArrowArrayStream *, ArrowArray *out);
    const char *(*get_last_error)(ArrowArrayStream *);
    void (*release)(ArrowArrayStream *);
    void *private_data;
};
#endif
}

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
