// A host in C++: Fletcher's checksum of up to 255 bytes, modulo 256. Its name is C's, so that a woven function can have
// its parameters and its result.
#include <stdint.h>

template <typename Sum> class Fletcher
{
    Sum low = 0, high = 0;

public:
    void add(uint8_t byte)
    {
        low += byte;
        high += low;
    }
    uint16_t value() const { return (uint16_t)high << 8 | low; }
};

extern "C" uint16_t fletcher(const uint8_t *data, uint8_t count)
{
    Fletcher<uint8_t> sum;
    while (count--) {
        sum.add(*data++);
    }
    return sum.value();
}
