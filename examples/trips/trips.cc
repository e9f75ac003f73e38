// trips FOLDER: the program trips.c, with holdall.hpp.
//   c++ -std=c++17 trips.cc -o trips $(pkg-config --cflags --libs holdall)
#include <holdall.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

static constexpr int trips = 1000, days = 200, hours = 100;

static std::int32_t stops(int trip) { return trip * trip % 97; }
static double km(int trip) { return 2.25 * stops(trip) + 0.5; }

static void bag(const std::string &path)
{
    holdall::bag_writer writer(path);
    for (int i = 0; i < trips; i++)
        writer.append("trip " + std::to_string(i) + ": " + std::to_string(stops(i)) + " stops");
    writer.commit();

    const holdall::bag all(path);
    std::printf("bag: %llu records\n", static_cast<unsigned long long>(all.size()));
    for (const auto &record : all.slice(trips - 1, 4, -333))
        std::printf("%s\n", std::string(record.text()).c_str());
    try {
        all.read(trips);
    } catch (const holdall::error &e) {
        std::printf("one more: %s\n", e.status_name());
    }
}

static void array(const std::string &path)
{
    std::vector<double> field;
    for (int day = 0; day < days; day++)
        for (int hour = 0; hour < hours; hour++)
            field.push_back(day + hour / 4.0);
    auto made = holdall::array::create<double>(path, holdall::mode::create, holdall::format::b2nd,
                                               {days, hours});
    made.write(field);
    made.commit();

    const holdall::array a(path);
    std::printf("array: %d x %d of %s\n", static_cast<int>(a.shape()[0]),
                static_cast<int>(a.shape()[1]), std::string(a.dtype()).c_str());
    const auto box = a.read<double>({{10, 61, 50}, {4, 9, 2}});
    for (std::size_t i = 0; i < box.size(); i += 3)
        std::printf("%.2f %.2f %.2f\n", box[i], box[i + 1], box[i + 2]);
}

static void table(const std::string &path)
{
    std::vector<std::int32_t> all_stops;
    std::vector<double> all_km;
    for (int i = 0; i < trips; i++) {
        all_stops.push_back(stops(i));
        all_km.push_back(km(i));
    }
    auto made = holdall::table::create(
        path, holdall::mode::create, holdall::format::bcolz,
        {{"stops", holdall::dtype_of<std::int32_t>()}, {"km", holdall::dtype_of<double>()}});
    made.append(all_stops, all_km);
    made.set_attr("city", "\"Turin\"");
    made.set_attr("year", "2013");
    made.commit();

    const holdall::table t(path);
    std::printf("table: %llu rows\n", static_cast<unsigned long long>(t.row_count()));
    for (const auto &name : t.attrs())
        std::printf("%s: %s\n", name.c_str(), t.attr(name).value().c_str());
    std::array<std::int32_t, 3> last_stops;
    std::array<double, 3> last_km;
    t.read_rows({trips - 3, trips}, {"stops", "km"}, last_stops, last_km);
    for (std::size_t i = 0; i < 3; i++)
        std::printf("%d stops, %.2f km\n", last_stops[i], last_km[i]);
}

int main(int argc, char **argv)
try {
    if (argc != 2)
        return 2;
    const std::string folder = argv[1] + std::string("/");
    std::printf("holdall %s\n", holdall::version());
    bag(folder + "trips.bagz");
    array(folder + "field.b2nd");
    table(folder + "trips.bcolz");
    for (const char *name : {"trips.bagz", "field.b2nd", "trips.bcolz"}) {
        const auto found = holdall::verify(folder + name);
        std::printf("%s: %d intact, %d corrupt\n", name, static_cast<int>(found.intact),
                    static_cast<int>(found.corrupt));
    }
    return 0;
} catch (const holdall::error &e) {
    std::fprintf(stderr, "trips: %s (%s)\n", e.what(), e.status_name());
    return 1;
}
