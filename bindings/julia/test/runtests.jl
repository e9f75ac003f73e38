# Tests of the package. They need Julia and the library.
using Holdall, Tables, Test

mktempdir() do folder
    @testset "bags" begin
        path = joinpath(folder, "a.bagz")
        w = BagWriter(path)
        append!(w, ["one", "", "three"])
        push!(w, "four")
        commit(w)
        close(w)
        bag = Bag(path)
        @test length(bag) == 4
        @test String(bag[3]) == "three"
        @test String.(collect(bag)) == ["one", "", "three", "four"]
        @test String.(bag[[4, 1]]) == ["four", "one"]
        @test String(bag[4:-2:1][2]) == ""
        @test_throws BoundsError bag[5]
        @test findall("three", BagIndex(bag)) == [3]
        @test findfirst("none", BagIndex(bag)) === nothing
        @test verify(path).sound == 4
        close(bag)
        @test_throws ArgumentError bag[1]
        @test_throws HoldallError Bag(joinpath(folder, "none"))
    end
    @testset "arrays: $format" for format in (:b2nd, :bloscpack, :bcolz)
        path = joinpath(folder, "a.$format")
        items = reshape(collect(1.0:24.0), 4, 6)
        a = create_array(path, Float64, size(items); format)
        a[:, :] = items
        append!(a, items[:, 1:2])
        a[2, 3] = 100
        items[2, 3] = 100
        commit(a)
        close(a)
        a = ChunkedArray(path)
        @test size(a) == (4, 8)
        @test a[:, 1:6] == items
        @test a[1:2:4, 3] == items[1:2:4, 3]
        @test a[[4, 1], 2:3] == items[[4, 1], 2:3]
        @test a[2, 3] == 100
        @test sum(prod(length.(box)) for box in eachchunk(a)) == 32
    end
    @testset "tables" begin
        t = create_table(joinpath(folder, "t"), (key = Int32, value = Float64))
        append!(t, (key = [1, 2], value = [0.5, 1.5]))
        commit(t)
        @test Tables.istable(t)
        @test Tables.columntable(t) == (key = Int32[1, 2], value = [0.5, 1.5])
    end
    @testset "storage" begin
        path = joinpath(folder, "in.bagz")
        writer = BagWriter(path)
        append!(writer, ["a", "b"])
        commit(writer)
        close(writer)
        bytes = read(path)
        @test String(Bag(Storage(bytes); codec = :zstd)[2]) == "b"
        @test length(Bag([Storage(bytes), Storage(bytes)]; codec = :zstd)) == 4
        asked = Storage(name -> name == "" ? length(bytes) : nothing, (name, at, n) -> error("no cable"))
        @test_throws HoldallError Bag(asked)
    end
end
