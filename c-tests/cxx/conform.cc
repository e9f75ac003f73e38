// conform LIST: writes what holdall.hpp reads from the containers of a list, for
// c-tests/conform.py, which compares it with the known content.
//
// Each line of the list has the kind, the output file, how to read, and the path, separated by
// tabs. Arrays of numbers are read as numbers. The output has items in C order, columns one after
// another, and each record after its length in 8 bytes.
#include <holdall.hpp>

#include <complex>
#include <fstream>
#include <iostream>

namespace {

void put(std::ofstream &out, holdall::bytes content)
{
    out.write(content.text().data(), static_cast<std::streamsize>(content.size()));
}

template <class T> bool put_if(std::ofstream &out, const holdall::array_view &a)
{
    if (!a.is<T>())
        return false;
    put(out, a.read<T>());
    return true;
}

// Items that are not numbers, or numbers in the other byte order.
void put_bytes(std::ofstream &out, const holdall::array_view &a)
{
    std::vector<std::byte> content(a.nbytes());
    holdall_error e;
    const holdall_status status = holdall_array_read(a.get(), nullptr, nullptr, nullptr,
                                                     content.data(), content.size(), nullptr, &e);
    if (status < 0)
        throw holdall::error(e);
    put(out, content);
}

template <class... T> void put_items(std::ofstream &out, const holdall::array_view &a)
{
    if (!(put_if<T>(out, a) || ...))
        put_bytes(out, a);
}

void put_array(std::ofstream &out, const holdall::array_view &a)
{
    put_items<double, float, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
              std::uint16_t, std::uint32_t, std::uint64_t, std::complex<double>,
              std::complex<float>>(out, a);
}

void put_bag(std::ofstream &out, const holdall::bag &b)
{
    for (const auto &record : b) {
        const std::uint64_t n = record.size();
        put(out, holdall::span<const std::uint64_t>(&n, 1));
        put(out, record);
    }
}

void put_one(const std::string &kind, std::ofstream &out, const std::string &how,
             const std::string &path)
{
    if (kind == "array") {
        put_array(out, holdall::array(path));
    } else if (kind == "table") {
        const holdall::table t(path);
        for (std::uint32_t i = 0; i < t.column_count(); i++)
            put_array(out, t.column(i));
    } else if (kind == "schunk") {
        const holdall::schunk s(path);
        put(out, s.read(0, s.nbytes()));
    } else {
        const bool turns = how.find("turns") != std::string::npos,
                   separate = how.find("separate") != std::string::npos;
        put_bag(out, holdall::bag(path, holdall::options()
                                            .bag_shards(turns ? holdall::shards::interleaved
                                                              : holdall::shards::concatenated)
                                            .bag_limits(separate ? holdall::limits::separate
                                                                 : holdall::limits::tail)));
    }
}

} // namespace

int main(int, char **argv)
{
    std::ifstream list(argv[1]);
    std::string kind, to, how, path;
    while (std::getline(list, kind, '\t') && std::getline(list, to, '\t') &&
           std::getline(list, how, '\t') && std::getline(list, path)) {
        std::ofstream out(to, std::ios::binary);
        try {
            put_one(kind, out, how, path);
        } catch (const holdall::error &e) {
            std::cerr << path << ": " << e.what() << "\n";
            return 1;
        }
    }
}
