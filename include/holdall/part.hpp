// holdall/part.hpp - parts: many processes write one container, with one commit.
#ifndef HOLDALL_PART_HPP
#define HOLDALL_PART_HPP

#include "checks.hpp"

namespace holdall {

// A part of a container, removed with the handle unless it was finished. Open path() with
// mode::append, write, commit and close it. Then finish() returns the token of the part for
// commit_parts(), which another process may call.
class part : public detail::owner<holdall_part, holdall_part_close> {
public:
    // A bag, which may not exist yet, or a new set. Options of a bag_writer.
    static part of_bag(const location &spec, const options &options = {})
    {
        return opened(options, holdall_part_of_bag, spec.path());
    }
    // Rows to append to an existing array. Options: for bcolz, BLZ and the BLZ RFC layout, those of
    // a new array of that format; otherwise, and of of_box(), those of a new array in a frame.
    static part of_array(const location &at, const options &options = {})
    {
        return opened(options, holdall_part_of_array, at.path(), std::uint32_t{0}, nullptr, nullptr);
    }
    // The box of an existing array from `start` on. The part is an array of this shape.
    static part of_box(const location &at, dims start, dims shape, const options &options = {})
    {
        if (start.size() != shape.size())
            throw error(HOLDALL_E_ARGUMENT, "start and shape have different numbers of dimensions");
        const std::uint64_t none = 0; // NULL stands for rows
        return opened(options, holdall_part_of_array, at.path(), static_cast<std::uint32_t>(start.size()),
                      start.empty() ? &none : start.data(), shape.empty() ? &none : shape.data());
    }
    // Rows to append to an existing table. Options of a new table.
    static part of_table(const location &at, const options &options = {})
    {
        return opened(options, holdall_part_of_table, at.path());
    }
    // Takes ownership of a C handle.
    using owner::owner;

    std::string path() const { return holdall_part_path(get()); }
    // Returns the token, HOLDALL_PART_TOKEN_SIZE bytes. The part must be committed and closed.
    std::string finish()
    {
        std::string token(HOLDALL_PART_TOKEN_SIZE, '\0');
        call(holdall_part_finish, get(), static_cast<void *>(token.data()));
        return token;
    }

private:
    template <class F, class... A> static part opened(const options &options, F *f, A... arguments)
    {
        part out(options.callback());
        out.call(f, arguments..., options.get(), out.put());
        return out;
    }
};

namespace detail {

// Returns the tokens end to end.
inline std::string end_to_end(const std::vector<std::string> &tokens)
{
    std::string all;
    for (const std::string &token : tokens) {
        if (token.size() != HOLDALL_PART_TOKEN_SIZE)
            throw error(HOLDALL_E_FORMAT, "a token of " + std::to_string(token.size()) + " bytes (expected " +
                                              std::to_string(HOLDALL_PART_TOKEN_SIZE) + ")");
        all += token;
    }
    return all;
}

} // namespace detail

// Commits parts of a container in the order of the tokens, all or none, and removes them. May be
// repeated after any failure.
inline void commit_parts(const location &at, const std::vector<std::string> &tokens, const options &options = {})
{
    const std::string all = detail::end_to_end(tokens);
    detail::call_for(options.callback().get(), holdall_parts_commit, at.path(), static_cast<const void *>(all.data()), tokens.size(),
                     options.get());
}
// Removes parts without committing them.
inline void discard_parts(const location &at, const std::vector<std::string> &tokens)
{
    const std::string all = detail::end_to_end(tokens);
    detail::call(holdall_parts_discard, at.path(), static_cast<const void *>(all.data()), tokens.size());
}
// Returns the names of the parts that are being written or not committed.
inline std::vector<std::string> list_parts(const location &at)
{
    return detail::listed(detail::sized<std::string>(holdall_parts_list, at.path()));
}

} // namespace holdall

#endif
