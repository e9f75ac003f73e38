// holdall/core.hpp - the basis of holdall.hpp: the error, views of memory, owning handles.
#ifndef HOLDALL_CORE_HPP
#define HOLDALL_CORE_HPP

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "holdall.hpp is for C++17 and later; holdall.h is for every C++"
#endif

#include <holdall.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <ranges>
#endif

namespace holdall {

// A failure; what() is its message.
class error : public std::runtime_error {
public:
    explicit error(const holdall_error &e)
        : std::runtime_error(e.message), status_(e.status), os_code_(e.os_code), position_(e.position) {}
    error(holdall_status status, const std::string &message) : std::runtime_error(message), status_(status) {}

    // One of HOLDALL_E_*.
    holdall_status status() const noexcept { return status_; }
    // Its name, such as "HOLDALL_E_IO".
    const char *status_name() const noexcept { return holdall_status_name(status_); }
    // errno, or 0.
    int os_code() const noexcept { return os_code_; }
    // The number of the record or chunk that failed, or -1.
    std::int64_t position() const noexcept { return position_; }

private:
    holdall_status status_;
    std::int32_t os_code_ = 0;
    std::int64_t position_ = -1;
};

// A range of records or rows with its stored size in bytes: see splits().
struct split {
    std::uint64_t first, count, bytes;
};

namespace detail {

// The element type of a contiguous container.
template <class C> using element = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;
template <class C, class = void> struct is_contiguous : std::false_type {};
template <class C> struct is_contiguous<C, std::void_t<element<C>, decltype(std::size(std::declval<C &>()))>> : std::true_type {};

} // namespace detail

// A read-only, non-owning view of bytes.
class bytes {
public:
    constexpr bytes() noexcept = default;
    constexpr bytes(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    // Text up to its NUL, excluding the NUL.
    bytes(const char *text) noexcept : data_(text), size_(std::char_traits<char>::length(text)) {}
    // The bytes of the values of a string, vector, array or span.
    template <class C, std::enable_if_t<detail::is_contiguous<const C>::value && !std::is_same_v<std::decay_t<const C>, const char *>, int> = 0>
    bytes(const C &values) noexcept : data_(std::data(values)), size_(std::size(values) * sizeof *std::data(values))
    {
        static_assert(std::is_trivially_copyable_v<detail::element<const C>>, "bytes: of plain values");
    }

    const std::byte *data() const noexcept { return static_cast<const std::byte *>(data_); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const std::byte *begin() const noexcept { return data(); }
    const std::byte *end() const noexcept { return data() + size_; }
    std::byte operator[](std::size_t i) const noexcept { return data()[i]; }
    // The bytes as characters.
    std::string_view text() const noexcept { return {static_cast<const char *>(data_), size_}; }
    explicit operator std::string() const { return std::string(text()); }

private:
    const void *data_ = nullptr;
    std::size_t size_ = 0;
};

// A non-owning view of contiguous values. It is not std::span, which C++17 does not have and which
// would change the signatures from C++20 on. The two convert to each other implicitly.
template <class T> class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, std::enable_if_t<std::is_convertible_v<detail::element<C> (*)[], T (*)[]>, int> = 0>
    constexpr span(C &&values) noexcept : data_(std::data(values)), size_(std::size(values)) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A list of numbers, such as a shape or coordinates: {20, 30}, or any container of std::uint64_t.
class dims : public span<const std::uint64_t> {
public:
    using span::span;
    dims(std::initializer_list<std::uint64_t> list) noexcept : span(list.begin(), list.size()) {}
    // The numbers, or NULL if there are none, for optional parameters of C functions.
    const std::uint64_t *get() const noexcept { return empty() ? nullptr : data(); }
};

namespace detail {

// Stores an exception from a caller's function while the C library is between it and its caller.
class callback {
public:
    callback() = default;
    callback(const callback &) = delete;
    callback &operator=(const callback &) = delete;
    virtual ~callback() = default;

    // Stores the current exception; call it in a catch block.
    void capture() noexcept
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!thrown_)
            thrown_ = std::current_exception();
    }
    void rethrow()
    {
        std::exception_ptr thrown;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            std::swap(thrown, thrown_);
        }
        if (thrown)
            std::rethrow_exception(thrown);
    }

private:
    std::mutex mutex_;
    std::exception_ptr thrown_;
};

// Not inlined, so that successful calls stay short.
#if defined(__GNUC__) || defined(__clang__)
[[gnu::cold, gnu::noinline]]
#endif
[[noreturn]] inline void fail(const holdall_error &e, callback *from)
{
    if (from != nullptr && (e.status == HOLDALL_E_CANCELLED || e.status == HOLDALL_E_CALLBACK))
        from->rethrow();
    throw error(e);
}

// Calls f(arguments..., &error) and returns its status, or throws if it fails. `from` may hold an
// exception of a callback.
template <class F, class... A> holdall_status call_for(callback *from, F *f, A... arguments)
{
    holdall_error e; // not initialized: the library fills it on failure
    const holdall_status status = f(arguments..., &e);
    if (status < 0)
        fail(e, from);
    return status;
}
template <class F, class... A> holdall_status call(F *f, A... arguments) { return call_for(nullptr, f, arguments...); }

// Returns the result of f(arguments..., dst, dst_size, &n, &error), whose size is queried first.
template <class C, class F, class... A> C sized_for(callback *from, F *f, A... arguments)
{
    std::size_t n = 0;
    call_for(from, f, arguments..., nullptr, std::size_t{0}, &n);
    C out(n, typename C::value_type());
    call_for(from, f, arguments..., out.data(), n, &n);
    out.resize(n);
    return out;
}
template <class C, class F, class... A> C sized(F *f, A... arguments) { return sized_for<C>(nullptr, f, arguments...); }

// Returns the ranges that f(handle, most, firsts, counts, bytes, &n, &error) stores.
template <class H, class F> std::vector<split> splits(F *f, const H *handle, std::size_t most)
{
    std::vector<std::uint64_t> firsts(most), counts(most), sizes(most);
    std::size_t n = 0;
    call(f, handle, most, firsts.data(), counts.data(), sizes.data(), &n);
    std::vector<split> out;
    for (std::size_t i = 0; i < n; i++)
        out.push_back({firsts[i], counts[i], sizes[i]});
    return out;
}

// Returns the names in a text in which a NUL follows each.
inline std::vector<std::string> listed(const std::string &text)
{
    std::vector<std::string> names;
    for (std::size_t at = 0; at < text.size(); at += names.back().size() + 1)
        names.emplace_back(text.c_str() + at);
    return names;
}
// Returns the bytes that f(handle, name, dst, n, &n, &error) copies, unless there are none of this name.
template <class H, class F> std::optional<std::string> found(F *f, const H *handle, const std::string &name)
{
    std::size_t n = 0;
    if (call(f, handle, name.c_str(), nullptr, std::size_t{0}, &n) == HOLDALL_NOT_FOUND)
        return std::nullopt;
    return sized<std::string>(f, handle, name.c_str());
}

inline void report(bool *intact, bool is) noexcept
{
    if (intact != nullptr)
        *intact = is;
}

// Returns a structure that f(handle, arguments..., &structure, &error) fills.
template <class I, class F, class... A> I info(F *f, A... arguments)
{
    I out{};
    out.struct_size = sizeof out;
    call(f, arguments..., &out);
    return out;
}

// Returns a copy of a value that the handle owns; nullopt if it does not exist, or is corrupt and
// was skipped.
template <class H, class F> std::optional<std::string> named(F *f, const H *handle, const std::string &name, bool *intact = nullptr)
{
    const void *value = nullptr;
    std::size_t n = 0;
    const holdall_status status = call(f, handle, name.c_str(), &value, &n);
    report(intact, status != HOLDALL_DAMAGED);
    if (status != HOLDALL_OK)
        return std::nullopt;
    return std::string(static_cast<const char *>(value), n);
}

// Returns the names from name(handle, i).
template <class H> std::vector<std::string> names(const H *handle, std::uint32_t n, const char *(*name)(const H *, std::uint32_t))
{
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < n; i++)
        out.emplace_back(name(handle, i));
    return out;
}

// Returns a pointer that is not NULL even for empty values, because NULL removes a value.
inline const void *some(bytes value) noexcept { return value.data() == nullptr ? "" : static_cast<const void *>(value.data()); }

// Owns a C handle, and the callbacks that it may call.
template <class T, void (*Close)(T *)> class owner {
public:
    owner() noexcept = default;
    explicit owner(T *handle) noexcept : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)), callback_(std::move(other.callback_)) {}
    owner &operator=(owner &&other) noexcept
    {
        owner taken(std::move(other)); // closes the previous handle
        std::swap(handle_, taken.handle_);
        callback_.swap(taken.callback_);
        return *this;
    }
    ~owner()
    {
        if (handle_ != nullptr)
            Close(handle_);
    }

    T *get() noexcept { return handle_; }
    const T *get() const noexcept { return handle_; }
    T *release() noexcept { return std::exchange(handle_, nullptr); }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    explicit owner(std::shared_ptr<callback> from) noexcept : callback_(std::move(from)) {}
    T **put() noexcept { return &handle_; }
    const std::shared_ptr<callback> &from() const noexcept { return callback_; }
    template <class F, class... A> holdall_status call(F *f, A... arguments) const
    {
        return call_for(callback_.get(), f, arguments...);
    }

private:
    T *handle_ = nullptr;
    std::shared_ptr<callback> callback_;
};

} // namespace detail

// Returns the version of the library and of its codecs, such as "0.2.0 zstd/1.5.7".
inline const char *version() noexcept { return holdall_version_text(); }

} // namespace holdall

#if __cplusplus >= 202002L
template <class T> inline constexpr bool std::ranges::enable_borrowed_range<holdall::span<T>> = true;
template <> inline constexpr bool std::ranges::enable_borrowed_range<holdall::bytes> = true;
#endif

#endif
