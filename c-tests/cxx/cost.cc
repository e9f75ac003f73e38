// The loops of cost.h in C++.
#include "cost.h"

#include <holdall.hpp>

#include <array>

namespace {

holdall::options options() { return holdall::options().threads(1).io(holdall::io::map).verify(0); }

unsigned char first(holdall::bytes record) { return static_cast<unsigned char>(record[0]); }

} // namespace

uint64_t count_reads(const char *path)
{
    const holdall::bag bag(path, options());
    std::array<unsigned char, 100> record;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ROUNDS; i++)
        sum += bag.read_into(i % RECORDS, record) + record[0];
    return sum;
}

uint64_t count_stream(const char *path)
{
    const holdall::bag bag(path, options());
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS / RECORDS; round++)
        for (const auto &record : bag)
            sum += record.size() + first(record);
    return sum;
}

uint64_t count_batch(const char *path)
{
    const holdall::bag bag(path, options());
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS / RECORDS; round++)
        for (const auto record : bag.read_range(0, RECORDS))
            sum += record.size() + first(record);
    return sum;
}

uint64_t count_boxes(const char *path)
{
    const holdall::array array(path, holdall::mode::read, options());
    std::array<int32_t, 16> items;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ROUNDS / 4; i++) {
        const uint64_t at = i % (ITEMS - 16);
        array.read_into(items, {{at, at + 16}});
        sum += static_cast<uint64_t>(items[0]);
    }
    return sum;
}
