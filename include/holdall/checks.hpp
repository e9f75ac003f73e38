// holdall/checks.hpp - identify, verify and repair containers; checksums.
#ifndef HOLDALL_CHECKS_HPP
#define HOLDALL_CHECKS_HPP

#include "options.hpp"
#include "storage.hpp"

namespace holdall {

// Format and kind of a container.
struct identity {
    holdall::format format;
    holdall::kind kind;
};
inline identity identify(const location &at)
{
    holdall_format f = 0;
    holdall_kind k = 0;
    detail::call(holdall_identify, at.path(), &f, &k);
    return {static_cast<format>(f), static_cast<kind>(k)};
}

// Result of verify(): numbers of intact, corrupt and unchecked records or chunks.
struct verdict {
    std::uint64_t sound = 0, bad = 0, unchecked = 0;
    // The first fault; empty if there is none.
    std::optional<error> fault;
    explicit operator bool() const noexcept { return !fault; }
};

namespace detail {

template <class F> struct faults : callback {
    F *each;

    static int call(void *ctx, const char *part, const holdall_error *fault) noexcept
    {
        auto *self = static_cast<faults *>(ctx);
        try {
            return (*self->each)(std::string_view(part), error(*fault)) ? 0 : 1;
        } catch (...) {
            self->capture();
            return 1;
        }
    }
};

} // namespace detail

// Reads and verifies everything. Corruption is not an exception, but part of the verdict. Calls
// each(std::string_view part, const error &fault) for each fault. If it returns false, verification
// stops, and the verdict is for what was read so far.
template <class F, std::enable_if_t<std::is_invocable_r_v<bool, F &, std::string_view, const error &>, int> = 0>
verdict verify(const location &at, F &&each, const options &options = {})
{
    detail::faults<std::remove_reference_t<F>> faults;
    faults.each = &each;
    verdict out;
    holdall_error e;
    const holdall_status status =
        holdall_verify(at.path(), options.get(), decltype(faults)::call, &faults, &out.sound, &out.bad, &out.unchecked, &e);
    if (status < 0) {
        faults.rethrow();
        if (status == HOLDALL_E_CANCELLED || status == HOLDALL_E_ARGUMENT || status == HOLDALL_E_MEMORY || status == HOLDALL_E_PANIC)
            detail::fail(e, options.callback().get());
        out.fault.emplace(e);
    }
    return out;
}
inline verdict verify(const location &at, const options &options = {})
{
    return verify(at, [](std::string_view, const error &) { return true; }, options);
}

// Result of repair(): numbers of retained and dropped records or chunks.
struct repaired {
    std::uint64_t kept = 0, dropped = 0;
};
inline repaired repair(const location &at, const options &options = {})
{
    repaired out;
    detail::call_for(options.callback().get(), holdall_repair, at.path(), options.get(), &out.kept, &out.dropped);
    return out;
}

// A checksum as bytes.
using digest_bytes = std::vector<std::uint8_t>;
inline digest_bytes checksum(sum of, bytes content)
{
    return detail::sized<digest_bytes>(holdall_checksum, static_cast<std::int32_t>(of), detail::some(content), content.size());
}

// Computes a checksum of bytes that are added piece by piece.
class digest : public detail::owner<holdall_digest, holdall_digest_free> {
public:
    explicit digest(sum of) { detail::call(holdall_digest_new, static_cast<std::int32_t>(of), put()); }
    digest &update(bytes more)
    {
        detail::call(holdall_digest_update, get(), detail::some(more), more.size());
        return *this;
    }
    digest_bytes finish() { return detail::sized<digest_bytes>(holdall_digest_finish, get()); }
};

} // namespace holdall

#endif
