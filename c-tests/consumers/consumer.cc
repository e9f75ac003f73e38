// A user's program in C++: writes a bag and reads it back; its handles are closed by their owners.
//
//   consumer BAG
#include <holdall.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct Close {
    void operator()(holdall_bag *bag) const { holdall_bag_close(bag); }
    void operator()(holdall_bag_writer *writer) const { holdall_bag_writer_close(writer); }
};

void check(holdall_status status, const holdall_error &err)
{
    if (status < 0)
        throw std::runtime_error(std::string(holdall_status_name(status)) + ": " + err.message);
}

void write(const char *path, const std::string *records, size_t n)
{
    holdall_error err;
    holdall_bag_writer *handle = nullptr;
    check(holdall_bag_writer_open(path, HOLDALL_CREATE, nullptr, &handle, &err), err);
    std::unique_ptr<holdall_bag_writer, Close> writer(handle);
    for (size_t i = 0; i < n; i++)
        check(holdall_bag_writer_append(writer.get(), records[i].data(), records[i].size(), &err),
              err);
    check(holdall_bag_writer_commit(writer.get(), &err), err);
}

std::string read(const holdall_bag *bag, uint64_t i)
{
    holdall_error err;
    size_t n = 0;
    check(holdall_bag_read(bag, i, nullptr, 0, &n, &err), err);
    std::string record(n, '\0');
    check(holdall_bag_read(bag, i, &record[0], n, &n, &err), err);
    return record;
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc != 2)
        return 2;
    const std::string records[] = {"one", "", std::string(10000, 'x')};
    write(argv[1], records, 3);

    holdall_error err;
    holdall_bag *handle = nullptr;
    check(holdall_bag_open(argv[1], nullptr, &handle, &err), err);
    std::unique_ptr<holdall_bag, Close> bag(handle);
    if (holdall_bag_record_count(bag.get()) != 3)
        throw std::runtime_error("the bag has lost records");
    for (size_t i = 0; i < 3; i++)
        if (read(bag.get(), i) != records[i])
            throw std::runtime_error("a record differs");

    try {
        read(bag.get(), 3);
        throw std::logic_error("a record after the last one was not refused");
    } catch (const std::runtime_error &) {
    }
    std::cout << "3 records, holdall " << holdall_version_text() << "\n";
    return 0;
} catch (const std::exception &e) {
    std::cerr << "consumer: " << e.what() << "\n";
    return 1;
}
