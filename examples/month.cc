// month.cc ARRAY: writes a month of maps to an array, day by day, and reads one position of all
// days
#include <holdall.hpp>

#include <iostream>
#include <numeric>

int main(int argc, char **argv)
try {
    if (argc != 2)
        return 2;
    using holdall::all;
    auto month = holdall::array::create<float>(
        argv[1], holdall::mode::replace, holdall::format::b2nd, {0, 90, 180},
        holdall::options().codec(holdall::codec::zstd).level(3));
    std::vector<float> map(90 * 180);
    for (int day = 0; day < 31; day++) {
        std::iota(map.begin(), map.end(), 1000.0f * static_cast<float>(day));
        month.append(map);
    }
    month.commit(); // makes all days visible together

    const holdall::array maps(argv[1]);
    std::cout << maps.dtype() << ", " << maps.shape()[0] << " days, " << maps.info().stored_bytes
              << " bytes\n";
    for (float value : maps.read<float>({{0, 31, 10}, 45, 100})) // every tenth day at one position
        std::cout << value << "\n";
    maps.read_into(map, {30}); // the last day, into an existing buffer
    std::cout << std::accumulate(map.begin(), map.end(), 0.0) / 16200 << "\n";
    std::cout << maps.read<float>({all, {0, 2}, {0, 3}}).size() << " values of a corner\n";
    return 0;
} catch (const holdall::error &e) {
    std::cerr << e.what() << " (" << e.status_name() << ")\n";
    return 1;
}
