// holdall.hpp: content is read back as written, with its types: records, ranges, boxes, tables,
// Arrow.
#include "expect.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <filesystem>
#include <numeric>
#if __cplusplus >= 202002L
#include <ranges>
#include <span>
static_assert(std::ranges::random_access_range<holdall::records>);
static_assert(std::ranges::input_range<holdall::bag_stream> &&
              std::ranges::common_range<const holdall::bag>);
static_assert(std::ranges::borrowed_range<holdall::bytes> &&
              std::ranges::contiguous_range<holdall::span<double>>);
static_assert(std::is_convertible_v<holdall::dims, std::span<const std::uint64_t>>);
static_assert(std::is_convertible_v<std::span<int>, holdall::span<const int>>);
#endif

using namespace holdall;

namespace {

std::string text(std::size_t i) { return std::string(i % 7, static_cast<char>('a' + i % 26)); }

void bags()
{
    const std::string path = scratch("records.bagz");
    const std::size_t n = 1000;
    bag_writer w(path);
    for (std::size_t i = 0; i < 500; i++)
        w.append(text(i));
    std::string data;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t i = 500; i < n; i++) {
        data += text(i);
        offsets.push_back(data.size());
    }
    w.append_many(data, offsets);
    w.commit();
    EXPECT(w.size() == n);

    const bag b(path);
    EXPECT(b.size() == n && b.shard_count() == 1 && b.shard_record_count(0) == n);
    const holdall_bag_info about = b.info();
    EXPECT(codec{about.codec} == codec::zstd &&
           holdall::checksum{about.checksum} == holdall::checksum::zstd &&
           limits{about.limits} == limits::tail);
    EXPECT(about.record_count == n && about.stored_bytes > n &&
           format{about.format} == format::bagz && about.generation == 0);
    EXPECT(bag_files(path) == std::vector<std::string>{path} &&
           b.shard_name(0).find("records.bagz") != std::string_view::npos);
    std::size_t i = 0;
    for (const auto &r : b) {
        EXPECT(r.text() == text(i) && r.number() == i);
        i++;
    }
    EXPECT(i == n &&
           std::count_if(b.begin(), b.end(), [](const record &r) { return r.empty(); }) == 143);
    std::string one = "something longer than any of them";
    for (i = 0; i < n; i += 97)
        EXPECT(b.read(i, one) && one == text(i) && b.read(i) == text(i) &&
               b.size_of(i) == one.size());
    std::array<char, 10> room{};
    EXPECT(b.read_into(6, room) == 6 && std::string_view(room.data(), 6) == text(6));

    const records some = b.read_range(10, 20);
    EXPECT(some.size() == 20 && some[3].text() == text(13) && some.damaged_positions().empty() &&
           some.numbers().empty());
    EXPECT(std::count_if(some.begin(), some.end(), [](bytes r) { return r.empty(); }) == 3);
    EXPECT(some.end() - some.begin() == 20 && (*(some.begin() + 2)).size() == some[2].size());
    EXPECT(b.read_indices({7, 7, 1})[2].text() == text(1));
    EXPECT(b.slice(n - 1, 10, -2).read(1) == text(n - 3));

    // memory of the caller
    std::vector<char> memory;
    std::vector<std::uint64_t> at(4);
    EXPECT(b.read_range_to(
        4, [&](std::size_t size) { return memory.resize(size), memory.data(); }, at));
    EXPECT(memory.size() == at[3] &&
           std::string_view(memory.data() + at[1], at[2] - at[1]) == text(5));
    bool mine = false;
    try {
        b.read_indices_to({1, 2, 3}, [](std::size_t) -> void * { throw std::string("mine"); }, at);
    } catch (const std::string &) {
        mine = true;
    }
    EXPECT(mine);
    failure(HOLDALL_E_BUFFER, [&] {
        b.read_indices_to({1, 2, 3, 4}, [&](std::size_t) { return memory.data(); }, at);
    });

    const bag_index index = bag_index::create(scratch("records.index"), mode::create, b);
    EXPECT(index.find(text(3)).size() == bag_index::build(b).find(text(3)).size() &&
           index.key_count() > 100 && index.find_first("zz") && *index.find_first("zz") == 51);
    EXPECT(!index.find_first("zzzzzzzzzz") && index.find("none").empty());
    EXPECT(bag_index(scratch("records.index"), b).find_many("zznone", {0, 2, 6})[1] ==
           HOLDALL_NO_RECORD);
    EXPECT(b.checksum(holdall::checksum::crc32).size() == 4);
}

void dictionaries()
{
    std::string data;
    std::vector<std::uint64_t> offsets{0};
    for (std::size_t i = 0; i < 5000; i++) {
        data += "user " + std::to_string(i) + " of the city of Osaka";
        offsets.push_back(data.size());
    }
    const auto trained = train_dictionary(data, offsets, 4096);
    EXPECT(trained.size() > 256 && trained.size() <= 4096);
    const std::string path = scratch("dictionary.bagz");
    for (const stored_dictionary how :
         {stored_dictionary::stored, stored_dictionary::automatic, stored_dictionary::separate}) {
        options o;
        o.bag_dictionary(how);
        if (how == stored_dictionary::stored)
            o.dictionary(trained);
        bag_writer w(path, mode::replace, o);
        w.append_many(data, offsets);
        w.commit();
        const bag b(path);
        EXPECT(b.dictionary().empty() == (how == stored_dictionary::separate));
        EXPECT(how != stored_dictionary::stored || b.dictionary() == trained);
    }
    failure(HOLDALL_E_ARGUMENT, [&] { train_dictionary(data, dims{}); });
}

void streams()
{
    const bag b(scratch("records.bagz"));
    epoch shuffled(b.size(), 7);
    std::vector<std::uint64_t> seen;
    bag_stream first = b.stream(shuffled, options().threads(2));
    for (const auto &r : first) {
        EXPECT(r.text() == text(r.number()) && !r.is_damaged());
        seen.push_back(r.number());
    }
    EXPECT(seen.size() == b.size() && !std::is_sorted(seen.begin(), seen.end()) && !first.next());
    std::sort(seen.begin(), seen.end());
    EXPECT(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    shuffled.seek(1, b.size() - 1);
    EXPECT(shuffled.next() && !shuffled.next());

    // an exception of the function is thrown at its record, and the function is called again
    int asked = 0;
    bag_stream s = b.stream([&]() -> std::optional<std::uint64_t> {
        if (++asked == 3)
            throw std::out_of_range("mine");
        return asked < 6 ? std::optional<std::uint64_t>(asked) : std::nullopt;
    });
    bag_stream moved = std::move(s);
    std::string got;
    for (int i = 0; i < 5; i++) {
        try {
            const auto r = moved.next();
            got += r ? std::to_string(r->number()) : "end";
        } catch (const std::out_of_range &e) {
            got += e.what();
        }
    }
    EXPECT(got == "12mine45");
    const auto batch = b.stream().take(100);
    EXPECT(batch && batch->numbers()[99] == 99 && (*batch)[99].text() == text(99));
}

// As std::mdspan with std::layout_stride.
template <class T, std::size_t Rank> struct Strided {
    using element_type = T;
    T *data;
    std::array<std::size_t, Rank> lengths, strides;

    static constexpr std::size_t rank() { return Rank; }
    T *data_handle() const { return data; }
    std::size_t extent(std::size_t d) const { return lengths[d]; }
    std::size_t stride(std::size_t d) const { return strides[d]; }
};

void arrays()
{
    const std::string path = scratch("numbers.b2nd");
    array a = array::create<std::int32_t>(path, mode::create, format::b2nd, {10, 12},
                                          options().codec(codec::zstd), {4, 5});
    std::vector<std::int32_t> numbers(120);
    std::iota(numbers.begin(), numbers.end(), 0);
    a.write(numbers);
    a.commit();
    EXPECT(a.read<std::int32_t>() == numbers && a.size() == 120 && a.dtype() == "<i4" &&
           a.is<int>() && !a.is<float>());
    const holdall_array_info about = a.info();
    EXPECT(codec{about.codec} == codec::zstd && order{about.order} == order::c &&
           about.itemsize == 4 && about.nbytes == 480 && about.generation == 1);
    EXPECT(about.filter_count == 1 && filter{about.filters[0]} == filter::shuffle &&
           a.chunk_shape()[1] == 5 && about.shape[1] == 12);
    EXPECT(constant_name(codec{about.codec}) == std::string("zstd") &&
           constant_name(format::blz_rfc) != nullptr);
    EXPECT(a.read<std::int32_t>({{8, 10}, 3}) == (std::vector<std::int32_t>{99, 111}));
    EXPECT(a.read<std::int32_t>({0, {1, 12, 4}}) == (std::vector<std::int32_t>{1, 5, 9}));
    EXPECT(a.read<std::int32_t>({all, {11, slice::end}}).size() == 10 &&
           a.read<std::int32_t>({{5, 5}}).empty());
    EXPECT(a.read_points<std::int32_t>({9, 11, 0, 1}) == (std::vector<std::int32_t>{119, 1}));
    EXPECT(a.read_orthogonal<std::int32_t>({{3, 1}, {0, 2}}) ==
           (std::vector<std::int32_t>{36, 38, 12, 14}));
    EXPECT(a.read_orthogonal<std::int32_t>({{3, 1}, {}}).empty());
    EXPECT(a.read<std::array<char, 4>>({0, 1})[0][0] == 1); // bytes, as stored
    failure(HOLDALL_E_TYPE, [&] { a.read<std::uint32_t>(); });
    failure(HOLDALL_E_TYPE, [&] { a.write(std::vector<float>(120)); });
    failure(HOLDALL_E_RANGE, [&] { a.read<std::int32_t>({{0, 11}}); });
    failure(HOLDALL_E_ARGUMENT, [&] { a.read<std::int32_t>({{3, 2}}); });
    failure(HOLDALL_E_ARGUMENT, [&] { a.read<std::int32_t>({1, 1, 1}); });
    failure(HOLDALL_E_ARGUMENT, [&] { a.write(numbers, {{0, 9}}); });
    failure(HOLDALL_E_BUFFER, [&] { a.read_into(span<int>(numbers.data(), 100)); });
    failure(HOLDALL_E_ARGUMENT, [&] { a.resize({1}); });

    // column-major, and then every second position of a larger buffer
    std::vector<int> turned(12, -1), wide(24, -1);
    EXPECT(a.read_into(Strided<int, 2>{turned.data(), {3, 4}, {1, 3}}, {{2, 5}, {0, 4}}));
    EXPECT(turned == (std::vector<int>{24, 36, 48, 25, 37, 49, 26, 38, 50, 27, 39, 51}));
    a.read_into(Strided<int, 2>{wide.data(), {3, 4}, {8, 2}}, {{2, 5}, {0, 4}});
    EXPECT(wide[0] == 24 && wide[1] == -1 && wide[22] == 51 && wide[23] == -1);
    failure(HOLDALL_E_ARGUMENT,
            [&] { a.read_into(Strided<int, 2>{turned.data(), {4, 3}, {3, 1}}, {{2, 5}, {0, 4}}); });

    a.write(Strided<const int, 2>{turned.data(), {4, 3}, {3, 1}}, {{0, 4}, {0, 3}});
    EXPECT(a.read<int>({3, {0, 3}}) == (std::vector<int>{27, 39, 51}));
    a.fill(-7, {all, 11});
    a.append(std::vector<int>(24, 5));
    a.insert(0, std::vector<int>(12, 6), 1);
    a.remove(3, 2, 1);
    a.write_orthogonal({{11}, {0, 5}}, std::vector<int>{1, 2});
    failure(HOLDALL_E_UNSUPPORTED, [&] { a.set_meta_file("x", "x"); });
    EXPECT(a.meta_files().empty() && !a.meta_file("x"));
    a.set_attr("note", "\x93\x01\x02\x03");
    a.commit();
    const array again(path);
    EXPECT(again.shape()[0] == 12 && again.shape()[1] == 11 &&
           again.read<int>({11, {0, 6}}) == (std::vector<int>{1, 5, 5, 5, 5, 2}));
    EXPECT(again.attrs() == std::vector<std::string>{"note"} && again.attr("note")->size() == 4 &&
           !again.attr("none"));
    EXPECT(again.copy(scratch("copy.blp"), mode::create, format::bloscpack));
    EXPECT(array(scratch("copy.blp")).read<int>() == again.read<int>() &&
           identify(scratch("copy.blp")).format == format::bloscpack);
}

template <class T> void type(T value, const char *dtype)
{
    EXPECT(dtype_of<T>() == dtype && is_dtype<T>(dtype, sizeof(T)));
    array a = array::create<T>(scratch("type.bcolz"), mode::replace, format::bcolz, {3});
    a.set_meta_file("b", "\"K\"");
    a.set_meta_file("a", "");
    EXPECT(a.meta_files() == (std::vector<std::string>{"a", "b"}) && a.meta_file("b") == "\"K\"" && a.meta_file("a") == "");
    a.remove_meta_file("a");
    failure(HOLDALL_E_ARGUMENT, [&] { a.set_meta_file("../b", "x"); });
    EXPECT(a.meta_files().size() == 1 && !a.meta_file("a"));
    a.fill(value, {1});
    a.commit();
    std::array<T, 3> back{};
    EXPECT(a.read_into(back) && back[1] == value && back[2] == T());
}

void types()
{
    type(true, "|b1"), type<std::int8_t>(-3, "|i1"), type<std::uint8_t>(200, "|u1"),
        type<short>(-300, "<i2"), type<std::uint16_t>(60000, "<u2");
    type(-70000, "<i4"), type(4000000000u, "<u4"), type(-5000000000L, "<i8"),
        type(-5000000000LL, "<i8"), type(UINT64_MAX, "<u8");
    type(1.5f, "<f4"), type(1e300, "<f8"), type(std::complex<float>(1, 2), "<c8"),
        type(std::complex<double>(1, -2), "<c16");
    EXPECT(is_dtype<double>("float64", 8) && is_dtype<double>("'<f8'", 8) &&
           is_dtype<double>("f8", 8) && is_dtype<bool>("bool", 1));
    EXPECT(is_dtype<std::int64_t>("<M8[ns]", 8) && is_dtype<std::int64_t>("datetime64[ns]", 8) &&
           is_dtype<std::uint8_t>("uint8", 1));
    EXPECT(is_dtype<double>("|V8", 8) && is_dtype<std::complex<double>>("complex128", 16) &&
           is_dtype<std::int8_t>(">i1", 1));
    EXPECT(!is_dtype<double>(">f8", 8) && !is_dtype<double>("<i8", 8) &&
           !is_dtype<float>("[('a', '<f4')]", 4) && !is_dtype<int>("<U1", 4));
    EXPECT(!is_dtype<std::int64_t>("uint64", 8) && !is_dtype<std::uint64_t>("<M8[ns]", 8) &&
           !is_dtype<double>("", 8) && !is_dtype<double>("f8x", 8));
    struct pair {
        std::int32_t a;
        float b;
    };
    array a = array::create(scratch("pairs.blp"), mode::create, format::bloscpack,
                            "[('a','<i4'),('b','<f4')]", {2});
    a.write(std::vector<pair>{{1, 2.5f}, {3, 4.5f}});
    EXPECT(a.read<pair>()[1].b == 4.5f);
}

void schunks()
{
    schunk s = schunk::create(scratch("run.b2frame"), mode::create, format::b2frame, 8,
                              options().chunk_bytes(800));
    std::vector<double> values(1000);
    std::iota(values.begin(), values.end(), 0);
    s.append(values);
    s.write(80, span<const double>(values.data() + 500, 2));
    s.set_attr("mine", "abc");
    s.commit();
    EXPECT(s.nbytes() == 8000 && s.chunk_count() == 10 && s.info().typesize == 8 &&
           s.info().chunk_size == 800 &&
           s.read<double>(72, 4) == (std::vector<double>{9, 500, 501, 12}));
    EXPECT(s.attr("mine") == "abc" && !s.attr("other") &&
           s.attrs() == std::vector<std::string>{"mine"} && s.chunk_info(9).nbytes == 800 &&
           s.read_chunk(9).size() == 800 && !s.read_raw(9).empty());
    s.remove(0);
    s.insert(0, std::vector<double>(100, 3));
    s.remove_attr("mine");
    s.truncate(7200);
    EXPECT(s.chunk_count() == 9 && s.read<double>(0, 1)[0] == 3 && !s.attr("mine"));

    schunk blocks = schunk::create(scratch("blocks.b2frame"), mode::create, format::b2frame, 1);
    blocks.insert_blocks(0, {bytes("one"), bytes("another")});
    blocks.commit();
    EXPECT(blocks.block_offsets(0) == (std::vector<std::uint64_t>{0, 3, 10}) &&
           blocks.read_block(0, 1).size() == 7 && blocks.read_block(0, 0).front() == std::byte{'o'});
    failure(HOLDALL_E_RANGE, [&] { (void)blocks.read_block(0, 2); });
    failure(HOLDALL_E_ARGUMENT, [&] { blocks.insert_blocks(0, {}); });
}

void tables()
{
    const std::string path = scratch("stars.bcolz");
    table t = table::create(
        path, mode::create, format::bcolz,
        {{"id", dtype_of<std::int64_t>()}, {"position", "('<f8', (2,))"}, {"name", "|S4"}});
    using name = std::array<char, 4>;
    t.append(std::vector<std::int64_t>{1, 2}, std::vector<double>{0.5, 1.5, 2.5, 3.5},
             std::vector<name>{{'a'}, {'b', 'c'}});
    t.append_rows(1, {span<const std::int64_t>(std::vector<std::int64_t>{3}),
                      bytes(std::vector<double>{4.5, 5.5}), bytes("dddd")});
    failure(HOLDALL_E_TYPE, [&] {
        t.append(std::vector<double>{1}, std::vector<double>{1, 2}, std::vector<name>{{}});
    });
    failure(HOLDALL_E_ARGUMENT, [&] { t.append(std::vector<std::int64_t>{1}); });
    failure(HOLDALL_E_ARGUMENT, [&] {
        t.append(std::vector<std::int64_t>{1}, std::vector<double>{1, 2, 3}, std::vector<name>{{}});
    });
    t.insert(1, std::vector<std::int64_t>{9, 9}, std::vector<double>(4), std::vector<name>(2));
    t.insert_rows(0, 1, {bytes(std::vector<std::int64_t>{8}), bytes(std::vector<double>(2)),
                         bytes("eeee")});
    EXPECT(t.read<std::int64_t>("id") == (std::vector<std::int64_t>{8, 1, 9, 9, 2, 3}));
    failure(HOLDALL_E_RANGE, [&] {
        t.insert(7, std::vector<std::int64_t>{9}, std::vector<double>(2), std::vector<name>(1));
    });
    failure(HOLDALL_E_RANGE, [&] { t.remove(5, 2); });
    t.remove(2, 2);
    t.remove(0, 1);
    t.write("position", 1, std::array<double, 2>{7, 8});
    t.add_column(1, "flag", std::array<bool, 3>{true, false, true});
    t.set_attr("from", "\"nowhere\"");
    t.set_column_attr("id", "unit", "1");
    t.commit();

    const table back(path);
    EXPECT(back.row_count() == 3 &&
           back.column_names() == (std::vector<std::string>{"id", "flag", "position", "name"}) &&
           back.attr("from") == "\"nowhere\"");
    EXPECT(back.read<std::int64_t>("id", {1, 3}) == (std::vector<std::int64_t>{2, 3}) &&
           back.column("id").attr("unit") == "1");
    EXPECT(back.read<double>("position") == (std::vector<double>{0.5, 1.5, 7, 8, 4.5, 5.5}) &&
           back.read<name>("name")[1][1] == 'c');
    EXPECT(back.info().column_count == 4 && back.find_column("id") && !back.find_column("none"));
    std::array<std::int64_t, 2> ids{};
    std::vector<double> positions(4);
    EXPECT(back.read_rows({0, 3, 2}, {"position", "id"}, positions, ids) && ids[1] == 3 &&
           positions == (std::vector<double>{0.5, 1.5, 4.5, 5.5}));
    EXPECT(back.read_points({2, 0}, {"id", "position"}, ids, span<double>(positions)) &&
           ids[0] == 3 && positions[3] == 1.5);
    failure(HOLDALL_E_TYPE, [&] { back.read_rows(all, {"position", "id"}, ids, positions); });
    failure(HOLDALL_E_ARGUMENT, [&] { back.read_rows(all, {"position"}, positions, ids); });
    failure(HOLDALL_E_BUFFER, [&] { back.read_rows(all, {"position"}, positions); });
    failure(HOLDALL_E_RANGE, [&] { back.read_points({3}, {"id"}, ids); });
    EXPECT(back.where("id is null").empty() &&
           back.where("id is not null").size() == back.row_count());
    failure(HOLDALL_E_ARGUMENT, [&] { (void)back.where("id >"); });
    EXPECT(back.copy(scratch("stars.blz"), mode::create, format::blz,
                     options().codec(codec::blosclz)));
    const table same(scratch("stars.blz"));
    EXPECT(same.read<name>("name") == back.read<name>("name") &&
           same.attr("from") == back.attr("from") && same.column("id").attr("unit") == "1");
    const std::vector<split> splits = back.splits(2);
    EXPECT(splits.size() == 1 && splits[0].first == 0 && splits[0].count == 3);
    EXPECT(back.column("id").splits(4)[0].count == 3);
    failure(HOLDALL_E_ARGUMENT, [&] { (void)back.splits(0); });
    table rfc = table::create(scratch("meta.blz"), mode::create, format::blz_rfc, {{"id", "<i8"}});
    rfc.set_meta_file("b", "\"K\"");
    rfc.set_meta_file("a", "");
    EXPECT(rfc.meta_files() == (std::vector<std::string>{"a", "b"}) && rfc.meta_file("b") == "\"K\"");
    rfc.remove_meta_file("a");
    EXPECT(rfc.meta_files().size() == 1 && !rfc.meta_file("a") && back.meta_files().empty());
    failure(HOLDALL_E_ARGUMENT, [&] { back.column("none"); });
    failure(HOLDALL_E_RANGE, [&] { back.column(9); });

    arrow_stream rows = back.to_arrow();
    EXPECT(rows.schema()->n_children == 4);
    arrow_batch batch = rows.next();
    EXPECT(batch && batch->length == 3 &&
           static_cast<const std::int64_t *>(batch->children[0]->buffers[1])[2] == 3);
    EXPECT(!rows.next());
    batch = back.to_arrow({"id", "position"}, 1, 2).next();
    EXPECT(batch && batch->length == 2 && batch->n_children == 2 &&
           static_cast<const std::int64_t *>(batch->children[0]->buffers[1])[1] == 3);
    EXPECT(back.to_arrow(std::vector<std::string>{}).schema()->n_children == 0);
    failure(HOLDALL_E_ARGUMENT, [&] { back.to_arrow({"none"}, 0, 1); });
    EXPECT(back.scan("id >= 2", {"id"}).next()->length == 2 && !back.scan("id > 3", {"id"}).next());
    EXPECT(back.scan("id >= 2", {"id", "name"}, 1).next()->n_children == 2);
    EXPECT(back.scan("id <> 2", {"id"}, 1, 2, UINT64_MAX, 5).next()->length == 1);
    failure(HOLDALL_E_ARGUMENT, [&] { back.scan("id >", {"id"}); });
    batch = back.to_arrow({"id"}, dims{2, 0, 2}).next();
    EXPECT(batch && static_cast<const std::int64_t *>(batch->children[0]->buffers[1])[1] == 1);
    failure(HOLDALL_E_RANGE, [&] { back.to_arrow({"id"}, dims{3}); });
    table copy = table::create(
        scratch("copy.bcolz"), mode::create, format::bcolz,
        {{"name", "|S4"}, {"position", "('<f8', (2,))"}, {"id", "<i8"}, {"flag", "|b1"}});
    copy.append_arrow(back.to_arrow());
    EXPECT(copy.row_count() == 3 && copy.read<double>("position") == back.read<double>("position"));
    {
        table made = table::from_arrow(scratch("made.b2d"), mode::create, format::ctable, back.to_arrow());
        made.build_index({"id"});
        made.build_index();
        made.commit();
        failure(HOLDALL_E_ARGUMENT, [&] { made.build_index({"none"}); });
        EXPECT(table(scratch("made.b2d")).where("id > 2").size() == 1);
        EXPECT(made.row_count() == 3 && made.read<double>("position") == back.read<double>("position"));
    }
    failure(HOLDALL_E_EXISTS, [&] { table::from_arrow(scratch("made.b2d"), mode::create, format::ctable, back.to_arrow()); });
    copy.remove_column("flag");
    copy.truncate(1);
    copy.commit();
    failure(HOLDALL_E_TYPE, [&] { copy.append_arrow(back.to_arrow()); });
    EXPECT(bag(scratch("records.bagz")).to_arrow().next()->n_children == 1);

    // a failure of a stream has the message of the stream
    ArrowArrayStream broken{};
    broken.get_next = [](ArrowArrayStream *, ArrowArray *) { return 5; };
    broken.get_schema = [](ArrowArrayStream *, ArrowSchema *) { return 5; };
    broken.get_last_error = [](ArrowArrayStream *) { return "it is broken"; };
    broken.release = [](ArrowArrayStream *s) { s->release = nullptr; };
    arrow_stream fails;
    *fails.get() = broken;
    EXPECT(std::string(failure(HOLDALL_E_CALLBACK, [&] { fails.next(); }).what()) ==
           "it is broken");
    EXPECT(std::string(
               failure(HOLDALL_E_CALLBACK, [&] { copy.append_arrow(std::move(fails)); }).what())
               .find("it is broken") != std::string::npos);
}

// Returns the values of a column of texts; "-" for a null.
std::vector<std::string> texts_of(const table &t, const std::string &name)
{
    const array_view column = t.column(name);
    const std::vector<std::uint8_t> nulls = t.nulls(name);
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < t.row_count(); i++)
        out.push_back(nulls.at(i) ? "-" : column.read_object(i));
    std::vector<std::string> together;
    for (const std::optional<std::string> &text : column.read_values(0, t.row_count()))
        together.push_back(text.value_or("-"));
    EXPECT(together == out);
    return out;
}

// Columns of texts of any length, with nulls.
void texts()
{
    using numbers = std::vector<std::int64_t>;
    using strings = std::vector<std::string>;
    using some_strings = std::vector<std::optional<std::string>>;
    const std::string path = scratch("texts.b2d"), longer(3000, 'x');
    table t = table::create(path, mode::create, format::ctable,
                            {{"t", "T"}, {"n", dtype_of<std::int64_t>()}});
    t.append(some_strings{"Osaka", std::nullopt, "", longer}, numbers{1, 2, 3, 4});
    t.append(std::vector<std::string_view>{std::string_view(), "\u5927\u962a"}, numbers{5, 6});
    t.append(strings{}, numbers{});
    t.add_column(2, "u", some_strings{"a", "b", std::nullopt, "c", "", "d"});
    const char *const city[] = {"Kobe"};
    const strings one{"one"};
    t.insert(1, city, numbers{7}, span<const std::string>(one));
    t.write("t", 0, std::array<std::optional<std::string_view>, 2>{"Nara", std::nullopt});
    t.write("u", 6, one);
    const numbers eight{8};
    const std::vector<holdall_value> value{{"abc", 2}}, null{{nullptr, 0}};
    t.append_rows(1, {value, eight, null});
    t.insert_rows(8, 1, {null, eight, value});
    failure(HOLDALL_E_TYPE, [&] { t.append(numbers{1}, numbers{1}, one); });
    failure(HOLDALL_E_TYPE, [&] { t.append(one, strings{"1"}, one); });
    failure(HOLDALL_E_TYPE, [&] { t.insert(0, std::vector<double>{1}, numbers{1}, one); });
    failure(HOLDALL_E_TYPE, [&] { t.write("n", 0, some_strings{std::nullopt}); });
    failure(HOLDALL_E_TYPE, [&] { t.write("t", 0, std::string("text")); });
    failure(HOLDALL_E_TYPE, [&] { t.write("t", 0, strings{"\xff"}); });
    failure(HOLDALL_E_ARGUMENT, [&] { t.append(one, numbers{1, 2}, one); });
    failure(HOLDALL_E_ARGUMENT, [&] { t.append_rows(1, {"12345", eight, value}); });
    failure(HOLDALL_E_RANGE, [&] { t.write("t", 9, one); });
    t.commit();
    failure(HOLDALL_E_ARGUMENT, [&] { t.add_column(0, "v", one); });

    const table back(path);
    EXPECT(back.column("t").dtype() == "T" && back.column("u").itemsize() == 0);
    EXPECT(back.read<std::int64_t>("n") == (numbers{1, 7, 2, 3, 4, 5, 6, 8, 8}));
    EXPECT(texts_of(back, "t") ==
           (strings{"Nara", "-", "-", "", longer, "", "\u5927\u962a", "ab", "-"}));
    EXPECT(texts_of(back, "u") == (strings{"a", "one", "b", "-", "c", "", "one", "-", "ab"}));
    failure(HOLDALL_E_UNSUPPORTED, [&] {
        table::create(scratch("texts.bcolz"), mode::create, format::bcolz, {{"t", "T"}});
    });
}

} // namespace

void followers()
{
    const std::string path = scratch("followed.bagz");
    bag_writer w(path);
    w.append("one");
    w.commit();
    bag b(path);
    const records before = b.read_range(0, 1);
    w.append("two");
    w.commit();
    b.refresh();
    EXPECT(b.generation() == 1 && b.size() == 2 && b.read(1) == "two" && before[0].text() == "one");
    failure(HOLDALL_E_STATE, [&] { b.slice(0, 1).refresh(); });

    const std::string frame = scratch("followed.b2nd");
    array::create<std::int32_t>(frame, mode::create, format::b2nd, {2}).commit();
    array a(frame);
    array::create<double>(frame, mode::replace, format::b2nd, {3, 4}).commit();
    failure(HOLDALL_E_TYPE, [&] { a.refresh(); });
    EXPECT(a.generation() == 0 && a.ndim() == 1 && a.is<std::int32_t>());
    array writer(frame, mode::append);
    failure(HOLDALL_E_STATE, [&] { writer.refresh(); });
    EXPECT(writer.generation() == 0 && writer.is<double>());

    const std::string folder = scratch("followed.bcolz");
    table to = table::create(folder, mode::create, format::bcolz, {{"id", dtype_of<std::int32_t>()}});
    to.commit();
    table t(folder);
    to.append(std::vector<std::int32_t>{7, 8});
    to.commit();
    t.refresh();
    EXPECT(t.generation() == 1 && t.row_count() == 2 && t.read<std::int32_t>("id")[1] == 8);

    const std::string file = scratch("followed.blp");
    schunk target = schunk::create(file, mode::create, format::bloscpack, 1);
    target.append("abc");
    target.commit();
    schunk s(file);
    target.append("d");
    target.commit();
    s.refresh();
    EXPECT(s.generation() == 1 && s.nbytes() == 4 && s.read<char>(3, 1)[0] == 'd');
}

void slices()
{
    array a = array::create<std::int32_t>(scratch("slices.b2nd"), mode::create, format::b2nd, {4, 5});
    std::vector<std::int32_t> items(20);
    std::iota(items.begin(), items.end(), 0);
    a.write(items);
    a.commit();
    const array middle = a.slice({{1, 3}, {0, slice::end, 2}});
    failure(HOLDALL_E_STATE, [&] { a.commit(); });
    EXPECT((middle.read<std::int32_t>() == std::vector<std::int32_t>{5, 7, 9, 10, 12, 14}));
    EXPECT(middle.slice({{1, 2}}).squeeze(0).expand_dims(1).shape()[0] == 3);
    middle.copy(scratch("slices.blp"), mode::create, format::bloscpack);
    EXPECT(array(scratch("slices.blp")).checksum(checksum::sha256) == middle.checksum(checksum::sha256));

    table t = table::create(scratch("slices"), mode::create, format::bcolz, {{"id", dtype_of<std::int32_t>()}, {"km", dtype_of<double>()}});
    t.append(std::vector<std::int32_t>{7, 8, 9}, std::vector<double>{1, 2, 3});
    t.commit();
    EXPECT(t.slice(1, 2).column_names().size() == 2);
    t.slice({"km"}, 2, 2, -1).copy(scratch("slices.blz"), mode::create, format::blz);
    EXPECT((table(scratch("slices.blz")).read<double>("km") == std::vector<double>{3, 2}));

    bag_writer w(scratch("slices.bagz"));
    w.append("a");
    w.append("b");
    w.commit();
    const bag b(scratch("slices.bagz"));
    b.copy(scratch("copies.bag"));
    b.copy(std::vector<std::uint64_t>{1, 0}, scratch("copies.bag"), mode::append);
    b.copy(std::vector<std::uint64_t>{}, scratch("copies.bag"), mode::append);
    EXPECT(bag(scratch("copies.bag")).size() == 4 && bag(scratch("copies.bag")).read(2) == "b");
}

// Parts of a bag, a set, an array and a table.
static void parts()
{
    const auto records = [](const std::string &spec, const std::string &record) {
        part p = part::of_bag(spec);
        {
            bag_writer w(p.path(), mode::append);
            w.append(record);
            w.commit();
        }
        return p.finish();
    };
    const std::string path = scratch("parts.bagz");
    const std::string one = records(path, "one"), two = records(path, "two");
    EXPECT(one.size() == HOLDALL_PART_TOKEN_SIZE && list_parts(path).size() == 2);
    commit_parts(path, {two, one});
    EXPECT(bag(path).read(0) == "two" && bag(path).size() == 2 && list_parts(path).empty());
    discard_parts(path, {records(path, "three")});
    EXPECT(list_parts(path).empty());
    const std::string three = records(path, "three");
    const holdall_repair_result did = repair(path);
    EXPECT(did.parts_removed == 1);
    failure(HOLDALL_E_MISSING, [&] { commit_parts(path, {three}); });
    failure(HOLDALL_E_FORMAT, [&] { commit_parts(path, {one.substr(1)}); });
    commit_parts(path, {});
    const std::string set = scratch("shards@*.bagz");
    commit_parts(set, {records(set, "a"), records(set, "b")});
    EXPECT(bag(set).shard_count() == 2 && bag(set).read(1) == "b");

    const std::string at = scratch("parts.b2nd");
    array::create(at, mode::create, format::b2nd, dtype_of<std::int32_t>(), {2, 2}).commit();
    part box = part::of_box(at, {1, 0}, {1, 2}), rows = part::of_array(at);
    for (const part *p : {&box, &rows}) {
        array into(p->path(), mode::append);
        if (p == &rows)
            into.resize({1, 2});
        into.write(std::vector<std::int32_t>{7, 8});
        into.commit();
    }
    commit_parts(at, {box.finish()});
    commit_parts(at, {rows.finish()});
    EXPECT((array(at).read<std::int32_t>() == std::vector<std::int32_t>{0, 0, 7, 8, 7, 8}));
    failure(HOLDALL_E_RANGE, [&] { part::of_box(at, {3, 0}, {1, 2}); });
    failure(HOLDALL_E_ARGUMENT, [&] { part::of_box(at, {0}, {1, 2}); });
    failure(HOLDALL_E_STATE, [&] { (void)box.finish(); });

    table::create(scratch("parts"), mode::create, format::bcolz, {{"id", "<i8"}}).commit();
    part of_table = part::of_table(scratch("parts"));
    {
        table into(of_table.path(), mode::append);
        into.append(std::vector<std::int64_t>{1, 2});
        into.commit();
    }
    commit_parts(scratch("parts"), {of_table.finish()});
    EXPECT(table(scratch("parts")).row_count() == 2);
    (void)part::of_table(scratch("parts")); // removed at once
    EXPECT(list_parts(scratch("parts")).empty());
}

// A store of python-blosc2 in a folder: frames, and embed.b2e.
void stores()
{
    const std::string path = scratch("nodes.b2d");
    std::filesystem::create_directories(path + "/group");
    schunk::create(path + "/embed.b2e", mode::create, format::b2frame, 1).commit();
    array numbers = array::create<std::int32_t>(path + "/group/a.b2nd", mode::create, format::b2nd, {3});
    numbers.write(std::vector<std::int32_t>{4, 5, 6});
    numbers.commit();
    schunk content = schunk::create(path + "/s.b2f", mode::create, format::b2frame, 1);
    content.append("content");
    content.commit();
    const store nodes(path);
    EXPECT((nodes.nodes() == std::vector<std::string>{"/group/a", "/s"}));
    EXPECT(nodes.identify("/s").kind == kind::schunk && identify(path).kind == kind::store &&
           nodes.identify("/group/a").format == format::b2nd);
    EXPECT((array(nodes, "/group/a").read<std::int32_t>() == std::vector<std::int32_t>{4, 5, 6}));
    EXPECT(schunk(nodes, "/s").nbytes() == 7 && array(path + "/group/a").shape()[0] == 3);
    failure(HOLDALL_E_MISSING, [&] { array(nodes, "/none"); });
    failure(HOLDALL_E_TYPE, [&] { schunk(nodes, "/group"); });
    failure(HOLDALL_E_STATE, [&] { array(nodes, "/group/a", mode::append); });
    failure(HOLDALL_E_STATE, [&] { (void)nodes.node_storage("/b", kind::array); });
}

// Stores are created and changed, with one commit for all nodes.
void changed_stores()
{
    const auto numbers = [](const array &a) { return a.read<std::int32_t>(); };
    const auto at = [](const store &s, const std::string &node, kind k) {
        return options().storage(s.node_storage(node, k));
    };
    const auto create = [&](const store &s, const std::string &node) {
        return array::create<std::int32_t>("", mode::create, format::b2nd, {2},
                                           at(s, node, kind::array));
    };
    for (const char *end : {"b2d", "b2z", "b2e"}) {
        const std::string path = scratch(std::string("changed.") + end);
        store s = store::create(path, mode::create);
        array a = create(s, "/a");
        a.write(std::vector<std::int32_t>{1, 2});
        a.commit();
        a.copy("", mode::create, format::b2nd, at(s, "/group/b", kind::array));
        {
            schunk content =
                schunk::create("", mode::create, format::b2frame, 1, at(s, "/s", kind::schunk));
            content.append("content");
            content.commit();
            failure(HOLDALL_E_BUSY, [&] { s.remove("/s"); });
        }
        failure(end[2] == 'd' ? HOLDALL_E_FORMAT : HOLDALL_E_MISSING, [&] { store{path}; });
        s.commit();
        EXPECT((s.nodes() == std::vector<std::string>{"/a", "/group/b", "/s"}));
        {
            array b(s, "/group/b", mode::append);
            b.append(std::vector<std::int32_t>{3});
            b.commit();
            a.append(std::vector<std::int32_t>{4});
            a.commit();
            s.remove("/s");
            EXPECT(numbers(array(path + "/a")).size() == 2 && schunk(path + "/s").nbytes() == 7);
            s.commit();
            EXPECT((numbers(array(path + "/a")) == std::vector<std::int32_t>{1, 2, 4}));
            EXPECT((numbers(array(path + "/group/b")) == std::vector<std::int32_t>{1, 2, 3}));
        }
        failure(HOLDALL_E_BUSY, [&] { store(path, mode::append); });
        failure(HOLDALL_E_MISSING, [&] { s.remove("/s"); });
        failure(HOLDALL_E_ARGUMENT, [&] { (void)s.node_storage("/../x", kind::array); });
        if (end[2] == 'e') {
            failure(HOLDALL_E_UNSUPPORTED, [&] { (void)s.node_storage("/t", kind::table); });
            continue;
        }
        {
            table t = table::create("", mode::create, format::ctable, {{"id", "<i8"}},
                                    at(s, "/t", kind::table));
            t.append(std::vector<std::int64_t>{5, 6});
            t.commit();
        }
        s.commit();
        table again(s, "/t", mode::append);
        again.remove(0, 1);
        again.commit();
        s.commit();
        EXPECT(table(path + "/t").read<std::int64_t>("id") == std::vector<std::int64_t>{6});
    }
    const storage memory = storage::new_memory();
    store s = store::create("", mode::create, format::b2z, options().storage(memory));
    create(s, "/a").commit();
    s.commit();
    const store again("", mode::read, options().storage(memory));
    EXPECT(again.nodes() == std::vector<std::string>{"/a"});
    failure(HOLDALL_E_ARGUMENT,
            [&] { store::create(scratch("x.b2z"), mode::create, format::b2d); });
    failure(HOLDALL_E_EXISTS, [&] { store::create(scratch("changed.b2d"), mode::create); });
    const std::string copied = scratch("copied.b2d");
    again.copy(copied, mode::create);
    EXPECT(store(copied).nodes() == again.nodes());
    failure(HOLDALL_E_EXISTS, [&] { again.copy(copied, mode::create, format::b2d); });
}

int main()
{
    stores();
    changed_stores();
    slices();
    parts();
    bags();
    dictionaries();
    streams();
    arrays();
    types();
    schunks();
    tables();
    texts();
    followers();
}
