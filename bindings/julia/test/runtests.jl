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
        @test verify(path).intact == 4
        @test repair(path) == (retained = 4, lost = 0, parts_removed = 0)
        lines = ["user $i of the city of Osaka" for i in 1:5000]
        small = joinpath(folder, "small.bagz")
        w = BagWriter(small; bag_dictionary = :auto)
        append!(w, lines)
        commit(w)
        close(w)
        @test String(Bag(small)[5000]) == lines[5000]
        @test !isempty(dictionary(Bag(small))) && isempty(dictionary(bag))
        @test 256 < length(train_dictionary(lines, 4096)) <= 4096
        @test identify(path) == (format = :bagz, kind = :bag)
        @test info(bag).codec == :zstd
        close(bag)
        @test_throws ArgumentError bag[1]
        @test_throws HoldallError Bag(joinpath(folder, "none"))
    end
    @testset "arrays: $format" for format in (:b2nd, :bloscpack, :bcolz)
        path = joinpath(folder, "a.$format")
        items = reshape(collect(1.0:24.0), 4, 6)
        a = create_array(path, Float64, size(items); format, codec = :blosclz)
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
        @test info(a).shape == (4, 8)
        @test (info(a).format, info(a).codec, info(a).checksum) == (format, :blosclz, :crc32)
        copy_to(a, path * ".copy"; format = :b2nd, chunk_shape = (2, 3))
        @test info(ChunkedArray(path * ".copy")).chunk_shape == (2, 3)
    end
    @testset "stores" begin
        path = joinpath(folder, "nodes.b2d")
        mkpath(joinpath(path, "group"))
        close(create_schunk(joinpath(path, "embed.b2e"); format = :b2frame) |> s -> (commit(s); s))
        a = create_array(joinpath(path, "group", "a.b2nd"), Int32, (3,); format = :b2nd)
        a[:] = Int32[4, 5, 6]
        commit(a)
        close(a)
        store = Store(path)
        @test keys(store) == ["/group/a"] && haskey(store, "/group/a") && length(store) == 1
        @test store["/group/a"][:] == [4, 5, 6]
        @test identify(store, "/group/a") == (format = :b2nd, kind = :array)
        @test ChunkedArray(joinpath(path, "group", "a"))[2] == 5
        @test_throws HoldallError store["/none"]
        @test_throws HoldallError store["/group/a", :a]
        @test_throws HoldallError commit(store)
        close(store)
    end
    @testset "changed stores: $format" for format in (:b2d, :b2z, :b2e)
        path = joinpath(folder, "changed.$format")
        store = create_store(path)
        a = create_array(new_node(store, "/a", :array), Int32, (2,))
        a[:] = Int32[1, 2]
        commit(a)
        copy_to(a, new_node(store, "/group/b", :array))
        s = create_schunk(new_node(store, "/s", :schunk); format = :b2frame)
        append!(s, b"content")
        commit(s)
        close(s)
        @test_throws HoldallError Store(path)
        commit(store)
        @test keys(store) == ["/a", "/group/b", "/s"]
        copy_to(store, path * "copy.b2d")
        @test keys(Store(path * "copy.b2d")) == keys(store)
        @test_throws HoldallError copy_to(store, path * "copy.b2d")
        @test identify(path) == (format = format, kind = :store)
        b = store["/group/b", :a]
        append!(b, Int32[3])
        commit(b)
        append!(a, Int32[4])
        commit(a)
        delete!(store, "/s")
        @test ChunkedArray(joinpath(path, "a"))[:] == [1, 2]
        commit(store)
        @test ChunkedArray(joinpath(path, "a"))[:] == [1, 2, 4]
        @test ChunkedArray(joinpath(path, "group", "b"))[:] == [1, 2, 3]
        @test keys(store) == ["/a", "/group/b"]
        @test_throws HoldallError Store(path, :a)
        @test_throws HoldallError delete!(store, "/s")
        @test_throws HoldallError create_schunk(new_node(store, "/../x", :schunk); format = :b2frame)
        if format != :b2e
            t = create_table(new_node(store, "/t", :table), (n = Int64,); format = :ctable)
            append!(t, (n = [5, 6],))
            commit(t)
            close(t)
            commit(store)
            t = store["/t", :a]
            deleteat!(t, 1:1)
            commit(t)
            close(t)
            commit(store)
            @test Table(joinpath(path, "t"))[:n][:] == [6]
        end
        close(store)
        @test_throws ArgumentError commit(store)
        @test a[:] == [1, 2, 4]
        close(a)
        close(b)
        @test_throws HoldallError create_store(path)
        files = MemoryFiles()
        @test_throws HoldallError create_store(files)
        store = create_store(files; format)
        commit(store)
        close(store)
        @test isempty(keys(Store(files)))
    end
    @testset "tables" begin
        t = create_table(joinpath(folder, "t"), (key = Int32, value = Float64))
        append!(t, (key = [1, 2], value = [0.5, 1.5]))
        commit(t)
        @test Tables.istable(t)
        @test Tables.columntable(t) == (key = Int32[1, 2], value = [0.5, 1.5])
        @test read_rows(t, 1:2) == (key = Int32[1, 2], value = [0.5, 1.5])
        @test rows_where(t, "value > 1 and key in (1, 2)") == [2]
        @test_throws HoldallError rows_where(t, "value >")
        @test_throws HoldallError build_index!(t)
        copy_to(t, joinpath(folder, "indexed.b2d"); format = :ctable)
        indexed = Table(joinpath(folder, "indexed.b2d"), :a)
        build_index!(indexed, [:key])
        commit(build_index!(indexed))
        close(indexed)
        @test rows_where(Table(joinpath(folder, "indexed.b2d")), "key > 1") == [2]
        @test read_rows(t, [2, 1, 2]; columns = [:value]) == (value = [1.5, 0.5, 1.5],)
        @test_throws KeyError t[:none]
        copy_to(t, joinpath(folder, "copy"); format = :blz_rfc)
        @test info(Table(joinpath(folder, "copy"))).row_count == 2
    end
    @testset "tables with texts" begin
        path = joinpath(folder, "texts.b2d")
        t = create_table(path, (t = "T", n = Int64); format = :ctable)
        append!(t, (t = String[], n = Int64[]))
        append!(t, (t = ["a", missing, ""], n = [1, 2, 3]))
        insert!(t, 2, (t = Any[SubString("été", 1), nothing], n = [4, 5]))
        @test_throws ArgumentError append!(t, (t = [UInt8[1]], n = [1]))
        @test_throws DimensionMismatch append!(t, (t = ["a", "b"], n = [1]))
        @test_throws HoldallError append!(t, (t = [String(UInt8[0xff])], n = [1]))
        commit(t)
        close(t)
        t = Table(path)
        @test isequal(texts(t, :t), ["a", "été", missing, missing, ""])
        @test texts(t, "t") isa Vector{Union{Missing,String}}
        @test nulls(t, :t) == [false, false, true, true, false]
        @test t[:n][:] == [1, 4, 5, 2, 3]
        @test read_rows(t, 1:2; columns = [:n]) == (n = [1, 4],)
        @test_throws ArgumentError texts(t, :n)
        @test_throws KeyError texts(t, :none)
        @test_throws HoldallError t[:t][1]
        @test isequal(Tables.columntable(t).t, texts(t, :t))
        @test Tables.schema(t).types == (Union{Missing,String}, Int64)
    end
    @testset "slices" begin
        items = reshape(collect(1.0:24.0), 4, 6)
        a = create_array(joinpath(folder, "whole.b2nd"), Float64, size(items))
        a[:, :] = items
        commit(a)
        part = slice(a, 4:-2:1, 2:6)
        @test Array(part) == items[4:-2:1, 2:6]
        @test Array(slice(a, 3, :)) == items[3, :]
        copy_to(part, joinpath(folder, "part.blp"); format = :bloscpack)
        @test checksum(ChunkedArray(joinpath(folder, "part.blp"))) == checksum(part)
        @test_throws HoldallError commit(a)
        t = create_table(joinpath(folder, "whole"), (a = Int32, b = Float64))
        append!(t, (a = [1, 2, 3], b = [1.5, 2.5, 3.5]))
        commit(t)
        copy_to(slice(t, 3:-2:1, [:b]), joinpath(folder, "part"))
        @test Array(Table(joinpath(folder, "part"))[:b]) == [3.5, 1.5]
        bag = Bag(joinpath(folder, "a.bagz"))
        copy_to(bag, joinpath(folder, "part.bag"), [4, 1])
        @test String.(collect(Bag(joinpath(folder, "part.bag")))) == ["four", "one"]
    end
    @testset "superchunks" begin
        s = create_schunk(joinpath(folder, "s"), 8)
        append!(s, UInt8.(1:100))
        set_attr!(s, "", "{}")
        commit(s)
        @test s[2:3] == UInt8[2, 3]
        @test String(attr(s)) == "{}"
        @test info(s).checksum == :crc32
        @test eachchunk(s) == [1:100]
        s = create_schunk(joinpath(folder, "blocks.b2frame"); format = :b2frame)
        insert_blocks!(s, 1, ["one", UInt8[1, 2]])
        commit(s)
        @test eachblock(s, 1) == [1:3, 4:5]
        @test [String(read_block(s, 1, 1)), read_block(s, 1, 2)] == ["one", UInt8[1, 2]]
        @test_throws HoldallError read_block(s, 1, 3)
        @test_throws HoldallError insert_blocks!(s, 1, [""])
    end
    @testset "readers follow a writer" begin
        path = joinpath(folder, "followed.bagz")
        writer = BagWriter(path)
        push!(writer, "one")
        commit(writer)
        bag = Bag(path)
        for n in 1:3
            push!(writer, "more")
            commit(writer)
            @test refresh!(bag) === bag
            @test (length(bag), generation(bag), String(bag[end])) == (n + 1, n, "more")
        end
        @test_throws HoldallError refresh!(bag[1:1])

        path = joinpath(folder, "followed.b2nd")
        writer = create_array(path, Int32, (2,))
        commit(writer)
        a = ChunkedArray(path)
        append!(writer, Int32[7])
        commit(writer)
        @test (size(refresh!(a)), a[3], generation(a)) == ((3,), 7, 1)
        @test_throws HoldallError refresh!(writer)
        close(writer)
        commit(create_array(path, Float64, (2, 2); mode = :w))
        @test_throws ArgumentError refresh!(a) # the Julia type is that of vectors of Int32
        @test_throws ArgumentError a[1]

        path = joinpath(folder, "meta.bcolz")
        a = create_array(path, Int32, (3,); format = :bcolz)
        set_meta_file!(a, "units", "K")
        set_meta_file!(a, "gone", "1")
        set_meta_file!(a, "gone", nothing)
        @test_throws HoldallError set_meta_file!(a, "../x", "1")
        commit(a)
        @test meta_files(a) == ["units"]
        @test (String(meta_file(a, "units")), meta_file(a, "none")) == ("K", nothing)

        t = create_table(joinpath(folder, "meta.blz"), (key = Int32,); format = :blz_rfc)
        set_meta_file!(t, "units", "K")
        set_meta_file!(t, "gone", "1")
        set_meta_file!(t, "gone", nothing)
        @test_throws HoldallError set_meta_file!(t, "../x", "1")
        commit(t)
        @test meta_files(t) == ["units"]
        @test (String(meta_file(t, "units")), meta_file(t, "none")) == ("K", nothing)

        t = create_table(joinpath(folder, "splits.bcolz"), (key = Int32,); chunk_bytes = 4000)
        append!(t, (key = zeros(Int32, 3000),))
        commit(t)
        @test [(s.first, s.count) for s in splits(t, 9)] == [(1, 1000), (1001, 1000), (2001, 1000)]
        @test [s.first for s in splits(t[:key], 3)] == [1, 1001, 2001]
        @test_throws HoldallError splits(t, 0)

        path = joinpath(folder, "followed.bcolz")
        writer = create_table(path, (key = Int32,))
        commit(writer)
        t = Table(path)
        key = t[:key]
        append!(writer, (key = [1, 2],))
        set_attr!(writer, "who", "1")
        commit(writer)
        @test (length(refresh!(t)), generation(t), key[2], String(attr(t, "who"))) == (2, 1, 2, "1")
        @test generation(key) == 1
        @test_throws ArgumentError refresh!(key)

        path = joinpath(folder, "followed.blp")
        writer = create_schunk(path)
        commit(writer)
        s = Schunk(path)
        append!(writer, UInt8[1, 2])
        commit(writer)
        @test (length(refresh!(s)), s[2], generation(s)) == (2, 2, 1)
    end
    @testset "parts" begin
        path = joinpath(folder, "parts.bagz")
        record(text) = write_part(path, :bag) do part
            writer = BagWriter(part, :a)
            push!(writer, text)
            commit(writer)
            close(writer)
        end
        tokens = [record("one"), record("two")]
        @test length(list_parts(path)) == 2
        commit_parts(path, tokens)
        @test String.(collect(Bag(path))) == ["one", "two"]
        discard_parts(path, [record("three")])
        commit_parts(path, [])
        @test list_parts(path) == []
        @test_throws ErrorException write_part(part -> error("no"), path, :bag)
        gone = record("four")
        @test repair(path).parts_removed == 1
        @test_throws HoldallError commit_parts(path, [gone])
        @test_throws ArgumentError commit_parts(path, [gone[2:end]])

        path = joinpath(folder, "parts.b2nd")
        a = create_array(path, Int32, (2, 2))
        commit(a)
        close(a)
        token = write_part(path, (1, 2), (2, 1)) do part
            box = ChunkedArray(part, :a)
            box[:, 1] = Int32[7, 8]
            commit(box)
            close(box)
        end
        commit_parts(path, [token])
        @test ChunkedArray(path)[:, :] == Int32[0 7; 0 8]
        @test_throws HoldallError write_part(identity, path, (1, 3), (2, 1))

        path = joinpath(folder, "parts.bcolz")
        t = create_table(path, (key = Int32,))
        commit(t)
        close(t)
        token = write_part(path, :table) do part
            rows = Table(part, :a)
            append!(rows, (key = [1, 2],))
            commit(rows)
            close(rows)
        end
        commit_parts(path, [token])
        @test Table(path)[:key][:] == [1, 2]
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
        calls = Ref(0)
        function ranges(all)
            calls[] += 1
            return map(all) do (name, at, n)
                name == "" || return nothing
                start = at < 0 ? max(at + length(bytes), 0) : at
                return (length(bytes), bytes[start+1:min(start + n, length(bytes))])
            end
        end
        server = Storage(asked.size, asked.read_at; read_ranges = ranges)
        @test String(Bag(server; codec = :zstd)[2]) == "b"
        @test calls[] == 2
        server = Storage(asked.size, asked.read_at; read_ranges = all -> [])
        @test_throws HoldallError Bag(server)
    end
    @testset "streams of chunks" begin
        content = repeat(UInt8[1, 2, 3], 50_000)
        for length in (nothing, 150_000)
            io = IOBuffer()
            s = SchunkStream(io; length, metadata = "[1]")
            @test write(s, content) == 150_000
            finish(s)
            @test_throws HoldallError finish(s)
            back = Schunk(Storage(take!(io)))
            @test back[:] == content
            @test String(attr(back)) == "[1]"
        end
        closed = IOBuffer(; write = true)
        close(closed)
        s = SchunkStream(closed)
        @test_throws Exception write(s, content)
        @test_throws HoldallError finish(s)
    end
end
