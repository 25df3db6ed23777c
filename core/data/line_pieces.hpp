// A file of lines, read piece by piece into memory that is used again. A piece is whole lines, however the file is cut.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

#include "data/line_reader.hpp"
#include "memory_pool.hpp"

namespace confidently {

inline constexpr std::size_t kPadding =
    64;  // readable bytes behind every piece, so that registers can be loaded as a whole

// Lines, each with its end. The first has the number line in the file, of which bytes_read bytes were read.
struct LinePiece {
    Buffer<char> memory;
    std::size_t size = 0;
    std::int64_t line = 1, bytes_read = 0;

    std::string_view text() const { return {memory.get(), size}; }
};

class LinePieces {
  public:
    // Of an open file, from its present position on, so many bytes at a time.
    LinePieces(int file, std::size_t piece_bytes)
        : file_(own(file)), piece_bytes_(std::max<std::size_t>(piece_bytes, 1)) {
        if (file_ < 0) throw_error();
    }
    LinePieces(const LinePieces&) = delete;
    ~LinePieces() {
#ifdef _WIN32
        ::_close(file_);
#else
        ::close(file_);
#endif
    }

    // Reads the next lines; false at the end. The last line may lack its end, which is added.
    bool next(LinePiece& piece) {
        const std::size_t begun = begun_.size();
        piece.memory = Buffer<char>(pool_, begun + piece_bytes_ + 1 + kPadding);
        std::memcpy(piece.memory.get(), begun_.data(), begun);
        std::size_t size = begun, last = 0;  // behind the last line end
        while (last == 0) {
            if (size + piece_bytes_ + 1 + kPadding > piece.memory.capacity()) grow(piece, size);
            const std::size_t n = read_some(piece.memory.get() + size);
            const std::string_view fresh(piece.memory.get() + size, n);
            const std::size_t first = std::min(fresh.find('\n'), n);
            if (size + first > kMaxLine)
                throw std::invalid_argument("line " + std::to_string(line_) +
                                            " is longer than 64 MiB; is this text with one row per line?");
            if (n == 0) {
                if (size == 0) return false;
                piece.memory[size++] = '\n';
                last = size;
            } else if (first < n) {
                last = size + fresh.rfind('\n') + 1;
            }
            size += n;
            done_ += static_cast<std::int64_t>(n);
        }
        begun_.assign(piece.memory.get() + last, size - last);
        piece.size = last;
        piece.line = line_;
        piece.bytes_read = done_;
        std::memset(piece.memory.get() + last, 0, kPadding);
        line_ += count_lines(piece.text());
        return true;
    }

  private:
    static constexpr std::size_t kMaxLine = std::size_t(64) << 20;  // a file without line ends must not fill the memory

    void grow(LinePiece& piece, std::size_t size) {
        Buffer<char> wider(pool_, 2 * size + piece_bytes_ + 1 + kPadding);
        std::memcpy(wider.get(), piece.memory.get(), size);
        piece.memory = std::move(wider);
    }

    std::size_t read_some(char* where) const {
        for (;;) {
#ifdef _WIN32
            const auto n = ::_read(file_, where, static_cast<unsigned>(std::min<std::size_t>(piece_bytes_, 1 << 30)));
#else
            const auto n = ::read(file_, where, piece_bytes_);
#endif
            if (n >= 0) return static_cast<std::size_t>(n);
            if (errno != EINTR) throw_error();
        }
    }

    // The same file, which stays open if a thread still reads it when the caller's is closed.
    static int own(int file) {
#ifdef _WIN32
        return ::_dup(file);
#else
        return ::dup(file);
#endif
    }

    [[noreturn]] static void throw_error() { throw std::system_error(errno, std::generic_category()); }

    int file_;
    std::size_t piece_bytes_;
    std::string begun_;  // the beginning of the next line
    std::int64_t line_ = 1, done_ = 0;
    std::shared_ptr<MemoryPool> pool_ = std::make_shared<MemoryPool>();
};

}  // namespace confidently
