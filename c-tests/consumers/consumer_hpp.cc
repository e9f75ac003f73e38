// consumer.c by way of holdall.hpp: writes a bag, opens it again and compares every record.
//
//   consumer BAG
#include <holdall.hpp>

#include <cstdio>
#include <iostream>

// Record i: i % 100 letters, so that some are empty.
static std::string make(std::size_t i) { return std::string(i % 100, static_cast<char>('a' + i % 26)); }

int main(int argc, char **argv)
try {
    constexpr std::size_t records = 1000;
    if (argc != 2)
        return 2;
    holdall::bag_writer writer(argv[1]);
    for (std::size_t i = 0; i < records; i++)
        writer.append(make(i));
    writer.commit();

    const holdall::bag bag(argv[1]);
    std::size_t n = 0;
    for (const auto &record : bag)
        if (record.text() != make(n++))
            throw std::logic_error("record " + std::to_string(record.number()) + " differs");
    if (n != records || bag.size() != records)
        throw std::logic_error("the bag has lost records");
    try {
        bag.read(records);
        throw std::logic_error("a record behind the last was not refused");
    } catch (const holdall::error &e) {
        if (e.status() != HOLDALL_E_RANGE)
            throw;
    }
    std::printf("%zu records, holdall %s\n", records, holdall::version());
    return 0;
} catch (const std::exception &e) {
    std::cerr << "consumer: " << e.what() << "\n";
    return 1;
}
