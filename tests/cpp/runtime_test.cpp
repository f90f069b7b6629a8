#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/compiler.h"
#include "runtime/artifact_cache.h"
#include "runtime/function.h"

namespace treadle::runtime {
namespace {

namespace fs = std::filesystem;

class CacheTest : public ::testing::Test {
protected:
    CacheTest()
        : directory_(fs::temp_directory_path() / ("treadle-test-" + std::to_string(getpid()))),
          cache_((directory_ / "kernels").string()) {}
    ~CacheTest() override { fs::remove_all(directory_); }

    static Artifact artifact(const std::string& object) {
        Artifact result;
        result.object = object;
        result.packet = 16;
        result.param_slots = 3;
        result.compile_ms = 1.5;
        return result;
    }

    fs::path directory_;
    ArtifactCache cache_;
};

TEST_F(CacheTest, findsWhatItStored) {
    EXPECT_FALSE(cache_.find("key"));
    const std::string path = cache_.store("key", artifact("code"));
    EXPECT_EQ(path, cache_.path_of("key"));
    const auto found = cache_.find("key");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->object, "code");
    EXPECT_EQ(found->packet, 16);
    EXPECT_FALSE(cache_.find("another key"));
    struct stat facts{};
    stat(cache_.directory().c_str(), &facts);
    EXPECT_EQ(facts.st_mode & 0777U, 0700U);
}

TEST_F(CacheTest, ignoresDamagedFilesAndLinks) {
    const std::string path = cache_.store("key", artifact("some machine code"));
    for (const int at : {0, 8, 30, 60, 70}) {
        cache_.store("key", artifact("some machine code"));
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(at);
        file.put('\x7f');
        file.close();
        EXPECT_FALSE(cache_.find("key")) << at;
    }
    cache_.store("key", artifact("some machine code"));
    fs::resize_file(path, fs::file_size(path) - 1);
    EXPECT_FALSE(cache_.find("key"));
    cache_.store("key", artifact("x"));
    fs::rename(path, path + ".real");
    fs::create_symlink(path + ".real", path);
    EXPECT_FALSE(cache_.find("key"));
}

TEST_F(CacheTest, aReadOnlyCacheStillServes) {
    cache_.store("key", artifact("code"));
    ArtifactCache reader(cache_.directory(), false);
    EXPECT_TRUE(reader.find("key"));
    EXPECT_EQ(reader.store("other", artifact("code")), "");
}

TEST_F(CacheTest, trimsTheLongestUnused) {
    for (int i = 0; i < 5; ++i) {
        const std::string path = cache_.store("key" + std::to_string(i), artifact(std::string(1000, 'x')));
        const timespec times[] = {{100 + i, 0}, {100 + i, 0}};
        utimensat(AT_FDCWD, path.c_str(), times, 0);
    }
    EXPECT_EQ(cache_.list().size(), 5U);
    cache_.trim(2500);
    EXPECT_EQ(cache_.list().size(), 2U);
    EXPECT_TRUE(cache_.find("key4"));
    EXPECT_EQ(cache_.clear(), 2U);
    EXPECT_TRUE(cache_.list().empty());
}

TEST(CacheKey, dependsOnEverythingButSpans) {
    CompileRequest request;
    request.program = "(fn f (x) (set @1:2:3 y \"at @ sign\"))";
    request.args = {{ArgType::Kind::Array, DType::Float32, 1, Layout::Dense, {}}};
    const std::string key = cache_key(request, "here");
    CompileRequest moved = request;
    moved.program = "(fn f (x) (set @7:0:9 y \"at @ sign\"))";
    EXPECT_EQ(cache_key(moved, "here"), key);
    moved.options.bounds = Bounds::Raise;
    EXPECT_NE(cache_key(moved, "here").find("@7:0:9"), std::string::npos) << "lines are part of what reports faults";
    CompileRequest other = request;
    other.args[0].layout = Layout::Any;
    EXPECT_NE(cache_key(other, "here"), key);
    other = request;
    other.options.fastmath = true;
    EXPECT_NE(cache_key(other, "here"), key);
    other = request;
    other.options.disabled_passes = "fold_constants";
    EXPECT_NE(cache_key(other, "here"), key);
    other = request;
    other.options.optimize = false;
    EXPECT_NE(cache_key(other, "here"), key);
    other = request;
    other.sources = {{"a.py", 1, ""}};
    EXPECT_EQ(cache_key(other, "here"), key);
    other.options.debug = DebugLevel::Lines;
    const std::string lines = cache_key(other, "here");
    EXPECT_NE(lines.find("@1:2:3"), std::string::npos);
    other.sources[0].first_line = 2;
    EXPECT_NE(cache_key(other, "here"), lines) << "debug information names the file and its lines";
    other.options.debug = DebugLevel::Full;
    EXPECT_NE(cache_key(other, "here"), lines);
}

TEST(LaunchShape, isHeldToTheDevicesLimits) {
    const device::Attributes limits;
    LaunchShape shape;
    shape.block[0] = 2048;
    const auto message = [&]() -> std::string {
        try {
            check_shape(shape, limits, "k");
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Device);
            return error.what();
        }
        return "";
    };
    EXPECT_NE(message().find("CUDA_ERROR_INVALID_VALUE: [launch of k] block: expected 1 to 1024"), std::string::npos);
    shape = {{1, 1, 1}, {64, 32, 1}};
    EXPECT_NE(message().find("at most 1024 threads, got 2048"), std::string::npos);
    shape = {{1, 1, 1}, {1, 1, 65}};
    EXPECT_NE(message().find("1 to 64"), std::string::npos);
    shape = {{1, 70000, 1}, {1, 1, 1}};
    EXPECT_NE(message().find("grid"), std::string::npos);
    shape = {{0, 1, 1}, {1, 1, 1}};
    EXPECT_EQ(message(), "") << "an empty grid is legal";
}

TEST(Arguments, signatureTellsTypes) {
    Arguments arguments;
    const std::int64_t dims[] = {3, 4};
    arguments.add_array(DType::Int8, 2, Layout::Dense, nullptr, dims, dims, nullptr);
    arguments.begin_tuple(2);
    arguments.add_scalar(DType::Float32, 1);
    arguments.add_scalar(DType::Bool, 1);
    const auto types = Arguments::types_of(arguments.signature());
    ASSERT_EQ(types.size(), 2U);
    EXPECT_EQ(types[0].rank, 2);
    EXPECT_EQ(types[1].items[1].dtype, DType::Bool);
    EXPECT_NE(arguments.words()[0], 0U) << "an array without memory points to something readable";
    EXPECT_EQ(arguments.bytes(), 12U);
}

TEST(Compiler, givesAnArtifactAndEveryStage) {
    CompileRequest request;
    request.program = "(fn f (x) (set i (call (builtin grid) 1)) (set (item x i) (bin * (item x i) 2)))";
    request.args = {{ArgType::Kind::Array, DType::Int32, 1, Layout::Dense, {}}};
    compiler::Compiler service;
    const Artifact artifact = service.compile(request);
    EXPECT_EQ(artifact.param_slots, 3);
    EXPECT_GT(artifact.packet, 0);
    for (const char* stage : {"ir", "passes", "llvm-before", "llvm", "asm"})
        EXPECT_FALSE(service.dump(request, stage).empty()) << stage;
    EXPECT_THROW(service.dump(request, "nonsense"), Error);
}

}  // namespace
}  // namespace treadle::runtime
