// std::mdspan of a standard library that provides it: reads into it and writes from it, in each of
// its layouts.
#include "expect.hpp"

#include <mdspan>
#include <numeric>

using namespace holdall;
using Extents = std::dextents<std::size_t, 2>;

int main()
{
    array a = array::create<int>(std::string(std::getenv("HOLDALL_TMP")) + "/a.b2nd", mode::create,
                                 format::b2nd, {10, 12}, {}, {4, 5});
    std::vector<int> numbers(120);
    std::iota(numbers.begin(), numbers.end(), 0);
    a.write(std::mdspan(numbers.data(), 10, 12));
    a.commit();
    EXPECT(a.read<int>() == numbers);

    std::vector<int> part(12), wide(24, -1);
    const box where{{2, 5}, {0, 4}};
    std::mdspan right(part.data(), 3, 4);
    EXPECT(a.read_into(right, where) &&
           part == (std::vector<int>{24, 25, 26, 27, 36, 37, 38, 39, 48, 49, 50, 51}));
    std::mdspan<int, Extents, std::layout_left> left(part.data(), 3, 4);
    EXPECT(a.read_into(left, where) &&
           part == (std::vector<int>{24, 36, 48, 25, 37, 49, 26, 38, 50, 27, 39, 51}));
    std::layout_stride::mapping gaps(Extents(3, 4), std::array<std::size_t, 2>{8, 2});
    EXPECT(a.read_into(std::mdspan(wide.data(), gaps), where) && wide[0] == 24 && wide[1] == -1 &&
           wide[22] == 51 && wide[23] == -1);

    std::mdspan<const int, std::extents<std::size_t, 3, 4>> fixed(part.data());
    a.write(fixed, where);
    EXPECT(a.read<int>({2, {0, 4}}) == (std::vector<int>{24, 36, 48, 25}));
    failure(HOLDALL_E_ARGUMENT, [&] { a.read_into(std::mdspan(part.data(), 4, 3), where); });
    failure(HOLDALL_E_ARGUMENT, [&] { a.read_into(std::mdspan(part.data(), 12), where); });
}
