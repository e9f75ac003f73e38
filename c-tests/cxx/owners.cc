// holdall.hpp: owners, failures, options, exceptions of callbacks, storage of the caller.
#include "expect.hpp"

#include <filesystem>
#include <fstream>
#include <map>

using namespace holdall;

namespace {

// A handle has one owner at a time; uncommitted changes are discarded with it.
void moves()
{
    static_assert(!std::is_copy_constructible_v<bag> && !std::is_copy_assignable_v<bag_writer> &&
                  !std::is_copy_constructible_v<array>);
    static_assert(std::is_nothrow_move_constructible_v<table> &&
                  std::is_nothrow_move_assignable_v<array>);
    const std::string path = scratch("moves.bagz");
    {
        bag_writer first(path);
        bag_writer second(std::move(first));
        second.append("one");
        second.commit();
        failure(HOLDALL_E_ARGUMENT, [&] { first.append("lost"); });
        failure(HOLDALL_E_BUSY, [&] { bag_writer third(path, mode::append); });
        second = bag_writer(scratch("other.bagz")); // closes the first
        bag_writer third(path, mode::append);
        third.append("two");
    }
    EXPECT(bag(path).size() == 1);
    EXPECT(!std::filesystem::exists(scratch("other.bagz")));

    array a = array::create<int>(scratch("moves.b2nd"), mode::create, format::b2nd, {3});
    array b = std::move(a);
    EXPECT(!a && a.ndim() == 0 && b.ndim() == 1);
    a = std::move(b);
    EXPECT(a.ndim() == 1 && !b);
    array c(a.release());
    EXPECT(!a && c.size() == 3);
}

// An exception has all fields of holdall_error.
void failures()
{
    const error e = failure(HOLDALL_E_MISSING, [] { bag b(scratch("nothing.bagz")); });
    EXPECT(std::string(e.what()).find("nothing.bagz") != std::string::npos);
    EXPECT(std::string(e.status_name()) == "HOLDALL_E_MISSING");
    const std::string path = scratch("one.bagz");
    bag_writer w(path);
    w.append("one");
    w.commit();
    const bag b{std::filesystem::path(path)};
    EXPECT(failure(HOLDALL_E_RANGE, [&] { b.read(7); }).position() == 7);
    EXPECT(bag(path, options().io(io::map).verify(2)).read(0) == "one");
    failure(HOLDALL_E_ARGUMENT, [&] { bag with_nul(path + std::string("\0x", 2)); });
    failure(HOLDALL_E_ARGUMENT, [&] { bag refused(path, options().sparse(true)); });
    failure(HOLDALL_E_TYPE, [&] { array other_kind(path); });
}

// Eight chunks, two of which have one changed byte.
std::string damaged(const std::string &name)
{
    const std::string path = scratch(name);
    schunk s = schunk::create(path, mode::create, format::bloscpack, 4,
                              options().chunk_bytes(4096).codec(codec::none));
    std::vector<std::uint32_t> numbers(8192);
    for (std::size_t i = 0; i < numbers.size(); i++)
        numbers[i] = static_cast<std::uint32_t>(i);
    s.append(numbers);
    s.commit();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (int back : {3000, 20000}) {
        file.seekp(-back, std::ios::end);
        file.put('\xee');
    }
    return path;
}

struct Mine {
    int number;
};
template <class F> int thrown(F f)
{
    try {
        f();
    } catch (const Mine &mine) {
        return mine.number;
    }
    return 0;
}

// The call rethrows an exception of a callback.
void callbacks()
{
    const std::string path = damaged("callbacks.blp");
    int faults = 0;
    const verify_result found = verify(path, [&](std::string_view part, const error &fault) {
        faults++;
        EXPECT(part.substr(0, 6) == "chunk " && fault.status() == HOLDALL_E_CHECKSUM);
        return true;
    });
    EXPECT(!found && faults == 2 && found.corrupt == 2 && found.intact == 6 &&
           found.fault->status() == HOLDALL_E_CHECKSUM);
    EXPECT(verify(path).corrupt == 2);
    EXPECT(!verify(path, [&](std::string_view, const error &) { return faults++, false; }) &&
           faults == 3);
    EXPECT(thrown([&] {
               verify(path, [](std::string_view, const error &) -> bool { throw Mine{1}; });
           }) == 1);

    std::uint64_t reported = 0;
    const options reports = options().progress(
        [&](std::uint64_t done, std::uint64_t) { return reported = done, true; });
    EXPECT(verify(path, reports).corrupt == 2 && reported > 0);
    const options throws =
        options().progress([](std::uint64_t, std::uint64_t) -> bool { throw Mine{2}; });
    EXPECT(thrown([&] { verify(path, throws); }) == 2);
    EXPECT(thrown([&] { repair(path, throws); }) == 2);
    // the function outlives the options, in the handle that was opened with them
    auto own = std::make_unique<options>(options().skip_damaged(true).progress(
        [](std::uint64_t, std::uint64_t) -> bool { throw Mine{3}; }));
    schunk s(path, mode::read, *own);
    own.reset();
    EXPECT(thrown([&] { s.checksum(holdall::checksum::crc32); }) == 3);
    EXPECT(thrown([&] { s.copy(scratch("copy.blp"), mode::create, format::bloscpack, throws); }) ==
           2);
    failure(HOLDALL_E_CANCELLED, [&] {
        verify(path, options().progress([](std::uint64_t, std::uint64_t) { return false; }));
    });

    // skipped corruption is reported
    EXPECT(thrown([&] { s.read(0, s.nbytes()); }) == 3);
    schunk skips(path, mode::read, options().skip_damaged(true));
    bool intact = true;
    EXPECT(skips.read(0, skips.nbytes(), &intact).size() == 32768 && !intact);
    std::vector<std::byte> head(100);
    EXPECT(skips.read_into(0, head));

    const holdall_repair_result did = repair(path);
    EXPECT(did.lost == 2 && did.retained == 6 && verify(path));

    // records, too
    const std::string records = scratch("callbacks.bagz");
    bag_writer w(records);
    for (int i = 0; i < 3; i++)
        w.append(std::string(40, static_cast<char>('a' + i)));
    w.commit();
    std::fstream(records, std::ios::in | std::ios::out | std::ios::binary).put('\xee');
    const bag damaged_bag(records, options().skip_damaged(true));
    EXPECT(damaged_bag.read(0, &intact).empty() && !intact &&
           damaged_bag.read(1, &intact).size() == 40 && intact);
    bag_stream stream = damaged_bag.stream();
    std::string seen;
    for (const auto &r : stream)
        seen += r.is_damaged() ? '-' : static_cast<char>(r[0]);
    EXPECT(seen == "-bc" && stream.damaged_count() == 1 &&
           damaged_bag.read_range(0, 3).damaged_positions().size() == 1);
    EXPECT(damaged_bag.stream().take(3)->damaged_positions()[0] == 0);
}

// Storage in a map; fails if it is broken.
struct Memory : storage_functions {
    std::map<std::string, std::string> files;
    bool broken = false;

    std::string &file(const char *name)
    {
        if (broken)
            throw Mine{4}; // no std::system_error
        const auto at = files.find(name);
        if (at == files.end())
            throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory));
        return at->second;
    }
    bool writable() const override { return true; }
    std::uint64_t size(const char *name) override { return file(name).size(); }
    std::size_t read_at(const char *name, std::uint64_t at, void *dst, std::size_t n) override
    {
        return file(name).copy(static_cast<char *>(dst), n, at);
    }
    void write_at(const char *name, std::uint64_t at, const void *src, std::size_t n) override
    {
        std::string &f = file(name);
        if (f.size() < at + n)
            f.resize(at + n);
        f.replace(at, n, static_cast<const char *>(src), n);
    }
    void truncate(const char *name, std::uint64_t size) override { files[name].resize(size); }
    void sync(const char *) override {}
    void rename(const char *from, const char *to) override
    {
        files[to] = std::move(file(from)), files.erase(from);
    }
    void remove(const char *name) override { file(name), files.erase(name); }
    void list(const char *folder, const std::function<bool(const char *)> &each) override
    {
        const std::string prefix = *folder == '\0' ? "" : std::string(folder) + "/";
        for (const auto &[name, content] : files)
            if (name.substr(0, prefix.size()) == prefix && !each(name.c_str() + prefix.size()))
                return;
    }
};

// The same, read by few calls.
struct Server : Memory {
    int calls = 0;

    bool reads_ranges() const override { return true; }
    void read_ranges(holdall_storage_range *ranges, std::size_t n) override
    {
        calls++;
        for (std::size_t i = 0; i < n; i++) {
            const auto at = files.find(ranges[i].name);
            if (broken)
                throw Mine{5};
            ranges[i].size = at == files.end() ? -ENOENT : static_cast<std::int64_t>(at->second.size());
            if (at == files.end() || ranges[i].n == 0)
                continue;
            const std::int64_t from = ranges[i].at < 0 ? ranges[i].at + ranges[i].size : ranges[i].at;
            at->second.copy(static_cast<char *>(ranges[i].dst), ranges[i].n, from < 0 ? 0 : static_cast<std::size_t>(from));
        }
    }
};

void storages()
{
    auto server = std::make_shared<Server>();
    const options on_server = options().storage(storage(server));
    {
        bag_writer w("", mode::create, on_server);
        for (int i = 0; i < 100; i++)
            w.append(std::to_string(i));
        w.commit();
    }
    server->calls = 0;
    EXPECT(bag("", on_server).read(42) == "42" && server->calls == 2);
    server->broken = true;
    failure(HOLDALL_E_CALLBACK, [&] { bag gone("", on_server); });

    auto memory = std::make_shared<Memory>();
    {
        bag_writer w("", mode::create, options().storage(storage(memory)));
        for (int i = 0; i < 100; i++)
            w.append(std::to_string(i));
        w.commit();
    }
    EXPECT(memory.use_count() == 1); // it was freed with the handle
    const options in_memory = options().storage(storage(memory));
    const bag b("", in_memory);
    EXPECT(b.size() == 100 && b.read(42) == "42");
    memory->broken = true;
    EXPECT(failure(HOLDALL_E_CALLBACK, [&] { b.read_range(0, 100); }).os_code() == EIO);
    memory->broken = false;
    memory->files.clear();
    failure(HOLDALL_E_MISSING, [&] { bag gone("", in_memory); });
    failure(HOLDALL_E_ARGUMENT, [&] { bag with_path("x.bagz", in_memory); });

    auto columns = std::make_shared<Memory>();
    {
        table t = table::create("", mode::create, format::bcolz, {{"n", dtype_of<std::int64_t>()}},
                                options().storage(storage(columns)));
        t.append(std::vector<std::int64_t>{5, 6, 7});
        t.commit();
    }
    EXPECT(table("", mode::read, options().storage(storage(columns))).read<std::int64_t>("n") ==
           (std::vector<std::int64_t>{5, 6, 7}));

    std::ifstream file(damaged("memory.blp"), std::ios::binary);
    const std::string copy((std::istreambuf_iterator<char>(file)), {});
    const schunk s("", mode::read, options().storage(storage::from_memory(copy)));
    EXPECT(s.read<std::uint32_t>(400, 2) == (std::vector<std::uint32_t>{100, 101}));

    // in memory: taken out and put in
    storage files = storage::new_memory();
    {
        schunk made = schunk::create("", mode::create, format::b2frame, 1, options().storage(files));
        made.append(std::string("abc"));
        made.commit();
    }
    EXPECT(files.files() == std::vector<std::string>{""});
    storage others = storage::new_memory();
    others.put_file("", files.file());
    EXPECT(schunk("", mode::read, options().storage(others)).nbytes() == 3);
    EXPECT(others.file().size() == files.file().size());
    failure(HOLDALL_E_MISSING, [&] { files.file("none"); });

    // several: the shards of a bag
    const std::string path = scratch("shard.bag");
    bag_writer w(path);
    w.append("one");
    w.commit();
    std::ifstream shard(path, std::ios::binary);
    const std::string records((std::istreambuf_iterator<char>(shard)), {});
    std::vector<storage> shards;
    for (int i = 0; i < 3; i++)
        shards.push_back(storage::from_memory(records));
    EXPECT(bag("", options().codec(codec::none).storage(shards)).size() == 3);
}

// Streams to a function, whose exception is thrown again.
void schunk_streams()
{
    const std::string content(100000, 'x');
    for (const auto length : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(100000)}) {
        std::string file;
        schunk_stream out([&](bytes part) { file += part.text(); }, 1, length);
        out.set_metadata("[1]");
        schunk_stream moved = std::move(out);
        moved.write(content);
        moved.finish();
        failure(HOLDALL_E_STATE, [&] { moved.write(content); });
        const schunk s("", mode::read, options().storage(storage::from_memory(file)));
        EXPECT(s.attr("") == "[1]" && s.read<char>(0, 100000) == std::vector<char>(100000, 'x'));
    }
    schunk_stream out([](bytes) { throw Mine{9}; });
    EXPECT(thrown([&] { out.write("x"); }) == 9);
    failure(HOLDALL_E_STATE, [&] { out.finish(); });
    failure(HOLDALL_E_ARGUMENT, [] { schunk_stream none(nullptr); });
    failure(HOLDALL_E_ARGUMENT, [] { schunk_stream empty([](bytes) {}, 0); });
}

// Passes a number of each kind of option to C and back.
void all_options()
{
    const std::string path = scratch("options.b2nd");
    const double nan_like = -1.5;
    options o;
    o.threads(2)
        .codec(codec::zstd)
        .level(3)
        .filters({filter::bitshuffle, filter::none})
        .checksum(holdall::checksum::none);
    o.fill_value(span<const double>(&nan_like, 1))
        .both_metalayers(true)
        .sparse(true)
        .durability(false)
        .lock(false);
    const array a =
        array::create<double>(path, mode::create, format::b2nd, {4, 4}, o, {2, 2}, {2, 1});
    EXPECT(a.read<double>() == std::vector<double>(16, -1.5));
    EXPECT(a.chunk_shape()[1] == 2 && a.block_shape()[1] == 1 &&
           codec{a.info().codec} == codec::zstd && a.info().level == 3);
    options given = std::move(o);
    EXPECT(given && o.get() == nullptr);
    failure(HOLDALL_E_ARGUMENT, [&] { given.level(77); });
    failure(HOLDALL_E_ARGUMENT, [&] { given.set(1000, std::int64_t{1}); });
    EXPECT(options().get() == nullptr);
}

void checksums()
{
    const checksum_bytes whole = checksum_compute(checksum::sha256, "abc");
    EXPECT(whole.size() == 32 && whole[0] == 0xba && whole[31] == 0xad);
    incremental_checksum pieces(checksum::sha256);
    EXPECT(pieces.update("a").update(std::string("bc")).finish() == whole);
    EXPECT(checksum_compute(checksum::crc32, bytes()).size() == 4);
}

} // namespace

int main()
{
    moves();
    failures();
    callbacks();
    storages();
    schunk_streams();
    all_options();
    checksums();
}
