// holdall/items.hpp - C++ types of array items, and boxes of items.
#ifndef HOLDALL_ITEMS_HPP
#define HOLDALL_ITEMS_HPP

#include "core.hpp"

#include <algorithm>
#include <complex>

namespace holdall {

namespace detail {

#if defined(__BYTE_ORDER__) && defined(__ORDER_BIG_ENDIAN__)
inline constexpr bool big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
#else
inline constexpr bool big_endian = false;
#endif

// A dtype that is not a structure: NumPy's letter, bytes per item (0: not given), and whether its
// byte order is not native.
struct spelled {
    char kind = 0;
    std::size_t size = 0;
    bool swapped = false;
};

// Parses a dtype. Files have three spellings: "<f8", "float64", and either in quotes.
inline spelled spell(std::string_view text)
{
    constexpr struct { std::string_view name; char kind; std::size_t bits; } names[] = {
        {"bool", 'b', 0}, {"uint", 'u', 1}, {"int", 'i', 1}, {"float", 'f', 1}, {"complex", 'c', 1}, {"datetime64", 'M', 0}, {"timedelta64", 'm', 0},
    };
    spelled out;
    if (text.size() > 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
        text = text.substr(1, text.size() - 2);
    const std::string_view name = text;
    if (!text.empty() && std::string_view("<>|=").find(text[0]) != text.npos) {
        out.swapped = text[0] == (big_endian ? '<' : '>');
        text.remove_prefix(1);
    }
    std::size_t digits = 0;
    for (auto &entry : names)
        if (name.substr(0, entry.name.size()) == entry.name) {
            out.kind = entry.kind, out.size = entry.kind == 'b' ? 1 : entry.bits == 0 ? 8 : 0, digits = entry.name.size();
            break;
        }
    if (out.kind != 0 && out.size != 0)
        return out;
    const bool in_bits = out.kind != 0;
    if (!in_bits) {
        if (text == "?")
            return {'b', 1, false};
        if (text.empty() || std::string_view("biufcSUVMm").find(text[0]) == text.npos)
            return {};
        out.kind = text[0], digits = 1;
    }
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; digits++)
        out.size = out.size * 10 + static_cast<std::size_t>(text[digits] - '0');
    if (in_bits)
        out.size /= 8;
    if (out.size == 1)
        out.swapped = false;
    return digits == text.size() || text[digits] == '[' ? out : spelled{};
}

// The letter of a C++ type; 'V': bytes whose meaning the caller defines.
template <class T> struct letter { static constexpr char value = 'V'; };
template <> struct letter<bool> { static constexpr char value = 'b'; };
template <class F> struct letter<std::complex<F>> { static constexpr char value = 'c'; };
template <class T> constexpr char letter_of()
{
    if constexpr (std::is_floating_point_v<T>)
        return 'f';
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
                       !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>)
        return std::is_signed_v<T> ? 'i' : 'u';
    else
        return letter<T>::value;
}

} // namespace detail

// Returns the NumPy dtype of a numeric type: dtype_of<double>() is "<f8".
template <class T> std::string dtype_of()
{
    constexpr char kind = detail::letter_of<T>();
    static_assert(kind != 'V', "not a numeric type: pass its dtype");
    return std::string(1, sizeof(T) == 1 ? '|' : detail::big_endian ? '>' : '<') + kind + std::to_string(sizeof(T));
}

namespace detail {

template <class T> constexpr bool is_value(const spelled &dtype, std::size_t itemsize) noexcept
{
    static_assert(std::is_trivially_copyable_v<T>, "items are plain values");
    constexpr char kind = letter_of<T>();
    if (kind == 'V')
        return itemsize == sizeof(T);
    const bool same = dtype.kind == kind || dtype.kind == 'V' || (kind == 'i' && sizeof(T) == 8 && (dtype.kind == 'M' || dtype.kind == 'm'));
    return same && itemsize == sizeof(T) && !dtype.swapped;
}

} // namespace detail

// Returns whether items of this dtype are values of T. Items of dtype V match any T of their size.
// datetime64 and timedelta64 match std::int64_t.
template <class T> bool is_dtype(std::string_view dtype, std::size_t itemsize) { return detail::is_value<T>(detail::spell(dtype), itemsize); }

// The positions of a dimension from start up to, excluding, stop, in steps of `step`. A number is
// one position; `all` is all positions.
struct slice {
    static constexpr std::uint64_t end = UINT64_MAX;
    std::uint64_t start = 0, stop = end, step = 1;

    constexpr slice() noexcept = default;
    template <class I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
    constexpr slice(I at) noexcept : start(static_cast<std::uint64_t>(at)), stop(start + 1) {}
    template <class I, class J, std::enable_if_t<std::is_integral_v<I> && std::is_integral_v<J>, int> = 0>
    constexpr slice(I from, J to, std::uint64_t each = 1) noexcept
        : start(static_cast<std::uint64_t>(from)), stop(static_cast<std::uint64_t>(to)), step(each) {}
};
inline constexpr slice all{};

// A slice for each dimension, {{10, 20}, all, 5}. Omitted trailing dimensions are complete, as in
// NumPy.
class box {
public:
    box() noexcept {}
    box(std::initializer_list<slice> slices) : box(slices.begin(), slices.size()) {}
    box(const std::vector<slice> &slices) : box(slices.data(), slices.size()) {}

    std::size_t size() const noexcept { return n_; }
    slice operator[](std::size_t d) const noexcept { return {start_[d], stop_[d], step_[d]}; }

private:
    box(const slice *slices, std::size_t n) : n_(n)
    {
        if (n > HOLDALL_MAX_NDIM)
            throw error(HOLDALL_E_ARGUMENT, "a box of " + std::to_string(n) + " dimensions (expected at most 16)");
        for (std::size_t d = 0; d < n; d++)
            start_[d] = slices[d].start, stop_[d] = slices[d].stop, step_[d] = slices[d].step;
    }

    std::size_t n_ = 0;
    std::uint64_t start_[HOLDALL_MAX_NDIM], stop_[HOLDALL_MAX_NDIM], step_[HOLDALL_MAX_NDIM]; // elements from n_ on are not set
};

namespace detail {

// A box in the form of the C functions.
struct cut {
    std::uint64_t start[HOLDALL_MAX_NDIM], count[HOLDALL_MAX_NDIM], step[HOLDALL_MAX_NDIM];
    std::size_t items = 1; // saturates
    bool stepped = false;

    // NULL, which means 1 for each dimension, is faster.
    const std::uint64_t *steps() const noexcept { return stepped ? step : nullptr; }

    // Queries shape() only if a slice has no end.
    template <class A> cut(const box &b, const A &of)
    {
        const std::uint32_t ndim = of.ndim();
        const std::uint64_t *shape = nullptr;
        if (b.size() > ndim)
            throw error(HOLDALL_E_ARGUMENT, "a box of " + std::to_string(b.size()) + " dimensions (expected at most " + std::to_string(ndim) + ")");
        for (std::uint32_t d = 0; d < ndim; d++) {
            const slice s = d < b.size() ? b[d] : slice();
            if (s.stop == slice::end && shape == nullptr)
                shape = of.shape().data();
            const std::uint64_t stop = s.stop == slice::end ? std::max(shape[d], s.start) : s.stop;
            if (stop < s.start || s.step == 0)
                throw error(HOLDALL_E_ARGUMENT, "dimension " + std::to_string(d) + ": invalid slice from " + std::to_string(s.start) + " to " +
                                                    std::to_string(stop) + " by " + std::to_string(s.step));
            start[d] = s.start;
            step[d] = s.step;
            stepped = stepped || s.step != 1;
            count[d] = s.step == 1 ? stop - s.start : (stop - s.start) / s.step + ((stop - s.start) % s.step != 0);
            items = count[d] == 0 ? 0 : items > SIZE_MAX / count[d] ? SIZE_MAX : items * static_cast<std::size_t>(count[d]);
        }
    }
};

// Detects std::mdspan, or a class with the same members (that of Kokkos), without its header.
template <class M, class = void> struct is_mdspan : std::false_type {};
template <class M>
struct is_mdspan<M, std::void_t<typename M::element_type, decltype(std::declval<const M &>().data_handle()),
    decltype(std::declval<const M &>().stride(0)),
                                decltype(std::declval<const M &>().extent(0)), decltype(M::rank())>> : std::true_type {};

} // namespace detail

} // namespace holdall

#endif
