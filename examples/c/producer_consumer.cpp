// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A producer and a consumer on two threads, written to the eleven functions of acl_mbuf.h, behind a small RAII handle.
//
//     producer_consumer_cpp [messages]
//
// Does what producer_consumer.c does: messages are chains of labelled buffers, the producer keeps copy-refs of some and sends
// half of these again, the consumer verifies and frees. Here nobody calls free: a handle that goes out of scope does, also on
// the way out of an error.
//
// Exits with 0 if every message arrived, was verified, and was freed; with 1 if not; with 2 if the argument is no number.

#include <acl_mbuf.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

namespace {

// ---- Handles ----

// A call that failed, and its code.
class Error : public std::runtime_error {
public:
    Error(const char *call, aclError code)
        : std::runtime_error(std::string(call) + ": error " + std::to_string(code)), code_(code) {}

    aclError code() const noexcept { return code_; }

private:
    aclError code_;
};

void check(const char *call, aclError code)
{
    if (code != ACL_SUCCESS) {
        throw Error(call, code);
    }
}

// Buffers made and freed, by all threads. Relaxed: they are read once the threads have ended.
struct Counts {
    std::atomic<std::uint64_t> made{0};
    std::atomic<std::uint64_t> freed{0};
    std::atomic<std::uint64_t> not_freed{0};
};

Counts counts;

// A buffer that somebody else frees: one of a chain, or what a Buffer holds. As cheap to copy as a pointer, and valid for as
// long as the chain is.
class View {
public:
    explicit View(aclrtMbuf handle) noexcept : handle_(handle) {}

    std::uint8_t *data() const { return static_cast<std::uint8_t *>(area().first); }

    // Bytes that the buffer has room for: what was asked for.
    std::size_t size() const { return area().second; }

    // Bytes of it that are valid.
    std::size_t length() const
    {
        std::size_t length = 0;
        check("aclrtGetBufDataLen", aclrtGetBufDataLen(handle_, &length));
        return length;
    }

    void set_length(std::size_t length) const { check("aclrtSetBufDataLen", aclrtSetBufDataLen(handle_, length)); }

    template <typename T>
    T user(std::size_t offset = 0) const
    {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 96, "what the user area can hold");
        T value;
        check("aclrtGetBufUserData", aclrtGetBufUserData(handle_, &value, sizeof value, offset));
        return value;
    }

    template <typename T>
    void set_user(const T &value, std::size_t offset = 0) const
    {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 96, "what the user area can hold");
        check("aclrtSetBufUserData", aclrtSetBufUserData(handle_, &value, sizeof value, offset));
    }

protected:
    aclrtMbuf handle() const noexcept { return handle_; }
    void set_handle(aclrtMbuf handle) noexcept { handle_ = handle; }

private:
    std::pair<void *, std::size_t> area() const
    {
        void *data = nullptr;
        std::size_t size = 0;
        check("aclrtGetBufData", aclrtGetBufData(handle_, &data, &size));
        return {data, size};
    }

    aclrtMbuf handle_;
};

// Owns a chain, and frees it. Empty when it was moved from.
class Buffer : public View {
public:
    Buffer() noexcept : View(nullptr) {}

    static Buffer allocate(std::size_t size)
    {
        aclrtMbuf handle = nullptr;
        check("aclrtAllocBuf", aclrtAllocBuf(&handle, size));
        counts.made.fetch_add(1, std::memory_order_relaxed);
        return Buffer(handle);
    }

    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    Buffer(Buffer &&other) noexcept : View(other.release()) {}

    Buffer &operator=(Buffer &&other) noexcept
    {
        Buffer taken(std::move(other));
        const aclrtMbuf old = handle();
        set_handle(taken.handle());
        taken.set_handle(old);
        return *this;
    }

    ~Buffer()
    {
        if (handle() == nullptr) {
            return;
        }
        std::uint32_t buffers = 0;
        if (aclrtGetBufChainNum(handle(), &buffers) == ACL_SUCCESS && aclrtFreeBuf(handle()) == ACL_SUCCESS) {
            counts.freed.fetch_add(buffers, std::memory_order_relaxed);
        } else {
            counts.not_freed.fetch_add(1, std::memory_order_relaxed);
        }
    }

    explicit operator bool() const noexcept { return handle() != nullptr; }

    // Another chain on the same data. Lengths and user areas are copied, and independent from then on.
    Buffer copy_ref() const
    {
        const std::uint32_t buffers = count();
        aclrtMbuf copy = nullptr;
        check("aclrtCopyBufRef", aclrtCopyBufRef(handle(), &copy));
        counts.made.fetch_add(buffers, std::memory_order_relaxed);
        return Buffer(copy);
    }

    // Takes the other chain over. If that fails, `other` keeps it.
    void append(Buffer &&other)
    {
        check("aclrtAppendBufChain", aclrtAppendBufChain(handle(), other.handle()));
        other.release();
    }

    // Buffers in the chain, this one included.
    std::uint32_t count() const
    {
        std::uint32_t buffers = 0;
        check("aclrtGetBufChainNum", aclrtGetBufChainNum(handle(), &buffers));
        return buffers;
    }

    // One of them; 0 is this one.
    View at(std::uint32_t index) const
    {
        aclrtMbuf buffer = nullptr;
        check("aclrtGetBufFromChain", aclrtGetBufFromChain(handle(), index, &buffer));
        return View(buffer);
    }

private:
    explicit Buffer(aclrtMbuf handle) noexcept : View(handle) {}

    aclrtMbuf release() noexcept
    {
        aclrtMbuf handle = this->handle();
        set_handle(nullptr);
        return handle;
    }
};

static_assert(sizeof(Buffer) == sizeof(void *), "a handle is a pointer");
static_assert(std::is_nothrow_move_constructible_v<Buffer> && !std::is_copy_constructible_v<Buffer>, "and owned by one");

// ---- The ring ----

// Between one producer and one consumer. `written_` counts what was put in, and only the producer changes it; `taken_` counts
// what was taken out, and only the consumer does. Each is stored with release once the slot was used, and loaded with acquire
// by the other side before it uses the slot. So what was done to a buffer before it was pushed happened before what is done to
// it after it was popped: handing over a handle needs no more than this.
class Ring {
public:
    // Waits while the ring is full. An empty handle tells the consumer that this is the end.
    void push(Buffer message)
    {
        const std::size_t written = written_.load(std::memory_order_relaxed);
        while (written - taken_.load(std::memory_order_acquire) == slots) {
            std::this_thread::yield();
        }
        slots_[written % slots] = std::move(message);
        written_.store(written + 1, std::memory_order_release);
    }

    // Waits while the ring is empty.
    Buffer pop()
    {
        const std::size_t taken = taken_.load(std::memory_order_relaxed);
        while (written_.load(std::memory_order_acquire) == taken) {
            std::this_thread::yield();
        }
        Buffer message = std::move(slots_[taken % slots]);
        taken_.store(taken + 1, std::memory_order_release);
        return message;
    }

private:
    static constexpr std::size_t slots = 64;

    alignas(64) std::atomic<std::size_t> written_{0};
    alignas(64) std::atomic<std::size_t> taken_{0};
    alignas(64) std::array<Buffer, slots> slots_;
};

// ---- What travels ----

// At the start of every buffer's user area.
struct Label {
    std::uint64_t sequence; // of the message: 0, 1, 2 ...
    std::uint64_t sending;  // 1, or 2 when it is sent again
    std::uint32_t length;   // bytes of data in this buffer
    std::uint32_t checksum; // of these bytes
};

// The data of a chain's first buffer.
struct Header {
    std::uint32_t parts; // buffers that follow
    std::uint32_t bytes; // of data in them
};

// FNV-1a.
std::uint32_t checksum(const std::uint8_t *data, std::size_t length)
{
    std::uint32_t sum = 2166136261U;
    for (std::size_t i = 0; i < length; i++) {
        sum = (sum ^ data[i]) * 16777619U;
    }
    return sum;
}

constexpr std::uint32_t max_parts = 4;
constexpr std::uint32_t max_payload = 2048;

std::uint32_t parts_of(std::uint64_t sequence)
{
    return 1 + static_cast<std::uint32_t>(sequence % max_parts);
}

std::uint32_t size_of_part(std::uint64_t sequence, std::uint32_t part)
{
    const std::uint64_t mixed = (sequence * max_parts + part) * 0x9E3779B97F4A7C15U;
    return 1 + static_cast<std::uint32_t>(mixed >> 32) % max_payload;
}

// ---- The producer ----

class Producer {
public:
    Producer(Ring &ring, std::uint64_t messages) : ring_(ring), messages_(messages) {}

    void run()
    {
        try {
            for (std::uint64_t sequence = 0; sequence < messages_; sequence++) {
                send(sequence);
            }
            while (!window_.empty()) {
                settle_oldest();
            }
        } catch (const std::exception &error) {
            failure_ = error.what();
            window_.clear();
        }
        ring_.push(Buffer());
    }

    std::uint64_t sent() const { return sent_; }
    std::uint64_t kept() const { return kept_; }
    std::uint64_t resent() const { return resent_; }
    const std::optional<std::string> &failure() const { return failure_; }

private:
    static constexpr std::uint64_t keep_every = 8;
    static constexpr std::size_t window = 16;

    void send(std::uint64_t sequence)
    {
        Buffer message = build(sequence);
        // Before the message is pushed: afterwards it is the consumer's, and may be freed at any moment.
        if (sequence % keep_every == 0) {
            keep(message);
        }
        ring_.push(std::move(message));
        sent_++;
    }

    static Buffer build(std::uint64_t sequence)
    {
        Header header{parts_of(sequence), 0};
        for (std::uint32_t part = 0; part < header.parts; part++) {
            header.bytes += size_of_part(sequence, part);
        }
        Buffer head = Buffer::allocate(sizeof header);
        std::memcpy(head.data(), &header, sizeof header);
        seal(head, sequence);
        for (std::uint32_t part = 0; part < header.parts; part++) {
            head.append(build_part(sequence, part));
        }
        return head;
    }

    static Buffer build_part(std::uint64_t sequence, std::uint32_t part)
    {
        Buffer buffer = Buffer::allocate(size_of_part(sequence, part));
        std::uint8_t *const data = buffer.data();
        const std::size_t size = buffer.size();
        for (std::size_t i = 0; i < size; i++) {
            data[i] = static_cast<std::uint8_t>(sequence + part + i * 7);
        }
        seal(buffer, sequence);
        return buffer;
    }

    // Declares all of the data valid, and labels it.
    static void seal(const Buffer &buffer, std::uint64_t sequence)
    {
        const std::size_t size = buffer.size();
        buffer.set_length(size);
        buffer.set_user(Label{sequence, 1, static_cast<std::uint32_t>(size), checksum(buffer.data(), size)});
    }

    // Keeps a second handle on every buffer of the message. No data is copied.
    void keep(const Buffer &message)
    {
        if (window_.size() == window) {
            settle_oldest();
        }
        window_.push_back(message.copy_ref());
        kept_++;
    }

    // Takes the oldest copy out of the window: every other one is sent again, the rest counts as acknowledged.
    void settle_oldest()
    {
        Buffer copy = std::move(window_.front());
        window_.pop_front();
        if (copy.user<Label>().sequence / keep_every % 2 == 0) {
            return;
        }
        // The copy's user area is its own: the original's label stays what it is.
        copy.set_user(std::uint64_t{2}, offsetof(Label, sending));
        ring_.push(std::move(copy));
        resent_++;
    }

    Ring &ring_;
    std::uint64_t messages_;
    std::deque<Buffer> window_; // copies of messages that may have to be sent again
    std::uint64_t sent_ = 0;
    std::uint64_t kept_ = 0;
    std::uint64_t resent_ = 0;
    std::optional<std::string> failure_;
};

// ---- The consumer ----

class Consumer {
public:
    explicit Consumer(Ring &ring) : ring_(ring) {}

    void run()
    {
        for (Buffer message = ring_.pop(); message; message = ring_.pop()) {
            received_++;
            try {
                if (verify(message)) {
                    verified_++;
                }
            } catch (const std::exception &error) {
                failure_ = error.what();
            }
        }
    }

    std::uint64_t received() const { return received_; }
    std::uint64_t verified() const { return verified_; }
    std::uint64_t bytes() const { return bytes_; }
    const std::optional<std::string> &failure() const { return failure_; }

private:
    // Whether the message is whole, and comes when it should.
    bool verify(const Buffer &message)
    {
        const std::optional<Label> label = verify_buffer(message);
        if (!label || label->length != sizeof(Header)) {
            return false;
        }
        Header header;
        std::memcpy(&header, message.data(), sizeof header);
        if (!comes_in_order(*label) || !verify_parts(message, label->sequence, header)) {
            return false;
        }
        bytes_ += header.bytes;
        return true;
    }

    bool comes_in_order(const Label &label)
    {
        if (label.sending != 1) {
            return label.sending == 2 && label.sequence < expected_;
        }
        return label.sequence == std::exchange(expected_, label.sequence + 1);
    }

    // Whether the buffers behind the head are those that the header announces.
    static bool verify_parts(const Buffer &message, std::uint64_t sequence, const Header &header)
    {
        const std::uint32_t buffers = message.count();
        if (buffers != header.parts + 1) {
            return false;
        }
        std::uint64_t bytes = 0;
        for (std::uint32_t index = 1; index < buffers; index++) {
            const std::optional<Label> label = verify_buffer(message.at(index));
            if (!label || label->sequence != sequence) {
                return false;
            }
            bytes += label->length;
        }
        return bytes == header.bytes;
    }

    // The label, if the data is what it says.
    static std::optional<Label> verify_buffer(const View &buffer)
    {
        const Label label = buffer.user<Label>();
        const std::size_t length = buffer.length();
        if (length > buffer.size() || length != label.length || checksum(buffer.data(), length) != label.checksum) {
            return std::nullopt;
        }
        return label;
    }

    Ring &ring_;
    std::uint64_t expected_ = 0; // sequence number of the next message that is sent for the first time
    std::uint64_t received_ = 0;
    std::uint64_t verified_ = 0;
    std::uint64_t bytes_ = 0;
    std::optional<std::string> failure_;
};

// ---- Both ----

// Prints what was done; says whether that is what should have been.
bool report(std::uint64_t messages, const Producer &producer, const Consumer &consumer)
{
    for (const auto &failure : {producer.failure(), consumer.failure()}) {
        if (failure) {
            std::cerr << *failure << '\n';
        }
    }
    std::cout << "sent      " << producer.sent() << " messages; " << producer.kept() << " kept as copy-refs, "
              << producer.resent() << " of them sent again\n"
              << "received  " << consumer.received() << " messages, " << consumer.verified() << " verified, "
              << consumer.bytes() << " bytes of payload\n"
              << "buffers   " << counts.made << " made, " << counts.freed << " freed; " << counts.not_freed
              << " frees refused\n";
    return !producer.failure() && !consumer.failure() && producer.sent() == messages &&
           consumer.received() == producer.sent() + producer.resent() && consumer.verified() == consumer.received() &&
           counts.made == counts.freed && counts.not_freed == 0;
}

bool run(std::uint64_t messages)
{
    Ring ring;
    Producer producer(ring, messages);
    Consumer consumer(ring);
    std::thread consuming([&consumer] { consumer.run(); });
    producer.run();
    consuming.join();
    return report(messages, producer, consumer);
}

} // namespace

int main(int argc, char **argv)
{
    std::uint64_t messages = 20000;
    if (argc > 1) {
        const std::string_view text = argv[1];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), messages);
        if (argc > 2 || error != std::errc() || end != text.data() + text.size()) {
            std::cerr << "usage: " << argv[0] << " [messages]\n";
            return 2;
        }
    }
    try {
        return run(messages) ? 0 : 1;
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
