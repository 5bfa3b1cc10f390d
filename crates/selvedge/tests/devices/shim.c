/*
 * Linux's spidev and i2c-dev for a program that is started with LD_PRELOAD: a device file is a socket to an emulated
 * device, and ioctls keep the drivers' limits and their errors (drivers/spi/spidev.c, drivers/i2c/i2c-dev.c).
 *
 *   BUS_FILE     the device file, and       BUS_SOCKET  the emulated device's socket
 *   BUS_BUFSIZ   what spidev was loaded with; by default 4096
 *   BUS_ADDRESS  the I2C device's address
 *   BUS_NACK     of so many messages, one is not acknowledged, three times
 *   BUS_STRETCH  of so many messages, one has its clock held for 20 ms
 *   BUS_LOG      a file that gets a line of counts at the end
 *
 * Owns no timing but that; what a wire takes is the emulated device's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <linux/spi/spidev.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define I2C_MESSAGE_BYTES_MAX 8192

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The one device file that is open, as a descriptor of its socket. */
static int device = -1;
static uint32_t transaction_bytes_max;
static uint8_t mode, bits;
static uint32_t speed_hz;
static struct { unsigned long messages, longest, refused, nacks, stretches; } counts;

static const char *told(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static unsigned long number(const char *name, const char *otherwise)
{
    return strtoul(told(name, otherwise), NULL, 0);
}

static int fails(int error)
{
    errno = error;
    return -1;
}

/* Nonzero if all of it went. */
static int move(ssize_t (*call)(int, void *, size_t), void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t moved = call(device, at, count);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return 0;
        at += moved;
        count -= (size_t)moved;
    }
    return 1;
}

static ssize_t put(int descriptor, void *bytes, size_t count)
{
    return send(descriptor, bytes, count, MSG_NOSIGNAL);
}

/* One transaction of the emulated device, whose messages are drawn in broker/src/device/socket_bus.rs. */
static int transact(uint8_t *there, uint8_t *back, uint32_t count)
{
    uint8_t head[5];
    uint32_t length = 0;
    if (count == 0)
        return 1;
    if (count > transaction_bytes_max || !move(put, &count, 4) || !move(put, there, count))
        return 0;
    while (length == 0) {
        if (!move(read, head, 5))
            return 0;
        memcpy(&length, head, 4);
    }
    return length == count && move(read, back, count);
}

static int open_device(void)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    uint32_t greeting[3];
    strncpy(name.sun_path, told("BUS_SOCKET", ""), sizeof name.sun_path - 1);
    device = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (device >= 0 && connect(device, (struct sockaddr *)&name, sizeof name) == 0 && move(read, greeting, sizeof greeting)) {
        transaction_bytes_max = greeting[0];
        return device;
    }
    if (device >= 0)
        close(device);
    return fails(ENODEV);
}

/* A file that holds what the driver says about itself. */
static int open_limit(void)
{
    const char *value = told("BUS_BUFSIZ", "4096");
    int file = memfd_create("bufsiz", MFD_CLOEXEC);
    if (file >= 0 && (dprintf(file, "%s\n", value) < 0 || lseek(file, 0, SEEK_SET) < 0))
        return fails(EIO);
    return file;
}

static int open_any(const char *path, int flags, mode_t permissions)
{
    static int (*real)(const char *, int, ...);
    int result;
    if (strcmp(path, told("BUS_FILE", "")) == 0) {
        pthread_mutex_lock(&lock);
        result = device < 0 ? open_device() : fails(EBUSY);
        pthread_mutex_unlock(&lock);
        return result;
    }
    if (strcmp(path, "/sys/module/spidev/parameters/bufsiz") == 0)
        return open_limit();
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "open64");
    return real(path, flags, permissions);
}

#define OPENS(name)                                             \
    int name(const char *path, int flags, ...)                  \
    {                                                           \
        va_list rest;                                           \
        mode_t permissions = 0;                                 \
        va_start(rest, flags);                                  \
        if (flags & (O_CREAT | O_TMPFILE))                      \
            permissions = va_arg(rest, mode_t);                 \
        va_end(rest);                                           \
        return open_any(path, flags, permissions);              \
    }
OPENS(open)
OPENS(open64)

int close(int descriptor)
{
    static int (*real)(int);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "close");
    if (descriptor >= 0 && descriptor == device)
        device = -1;
    return real(descriptor);
}

static void stretch(void)
{
    unsigned long every = number("BUS_STRETCH", "0");
    struct timespec held = { .tv_nsec = 20 * 1000 * 1000 };
    if (every && counts.messages % every == 0) {
        counts.stretches++;
        nanosleep(&held, NULL);
    }
}

static void count(uint32_t bytes)
{
    counts.messages++;
    if (bytes > counts.longest)
        counts.longest = bytes;
}

static int refuse(int error)
{
    counts.refused++;
    return fails(error);
}

/* SPI_IOC_MESSAGE: chip select lasts for all transfers. */
static int spi_message(struct spi_ioc_transfer *transfers, size_t transfer_count)
{
    uint64_t total = 0;
    uint8_t *there, *back, *at;
    int went;
    for (size_t i = 0; i < transfer_count; i++)
        total += transfers[i].len;
    if (total > number("BUS_BUFSIZ", "4096"))
        return refuse(EMSGSIZE);
    there = calloc(2, total + 1);
    if (!there)
        return fails(ENOMEM);
    at = there;
    for (size_t i = 0; i < transfer_count; at += transfers[i++].len)
        if (transfers[i].tx_buf)
            memcpy(at, (void *)(uintptr_t)transfers[i].tx_buf, transfers[i].len);
    at = back = there + total;
    count((uint32_t)total);
    went = transact(there, back, (uint32_t)total);
    for (size_t i = 0; went && i < transfer_count; at += transfers[i++].len)
        if (transfers[i].rx_buf)
            memcpy((void *)(uintptr_t)transfers[i].rx_buf, at, transfers[i].len);
    free(there);
    return went ? (int)total : fails(EIO);
}

static int spi(unsigned long request, void *argument)
{
    switch (request) {
    case SPI_IOC_WR_MODE: mode = *(uint8_t *)argument; return 0;
    case SPI_IOC_WR_BITS_PER_WORD: bits = *(uint8_t *)argument; return bits == 8 ? 0 : refuse(EINVAL);
    case SPI_IOC_WR_MAX_SPEED_HZ: speed_hz = *(uint32_t *)argument; return speed_hz ? 0 : refuse(EINVAL);
    case SPI_IOC_WR_LSB_FIRST: return *(uint8_t *)argument ? refuse(EINVAL) : 0;
    default:
        if (_IOC_NR(request) != 0 || _IOC_SIZE(request) % sizeof(struct spi_ioc_transfer))
            return refuse(ENOTTY);
        return spi_message(argument, _IOC_SIZE(request) / sizeof(struct spi_ioc_transfer));
    }
}

/* I2C_RDWR, of which a write and a read of as many bytes are one transaction. */
static int i2c(struct i2c_rdwr_ioctl_data *data)
{
    static int refusals;
    unsigned long every = number("BUS_NACK", "0");
    struct i2c_msg *messages = data->msgs;
    if (data->nmsgs > I2C_RDWR_IOCTL_MAX_MSGS)
        return refuse(EINVAL);
    for (uint32_t i = 0; i < data->nmsgs; i++) {
        if (messages[i].len > I2C_MESSAGE_BYTES_MAX)
            return refuse(EINVAL);
        if (messages[i].addr != number("BUS_ADDRESS", "0"))
            return refuse(ENXIO);
    }
    if (data->nmsgs != 2 || messages[0].flags || messages[1].flags != I2C_M_RD || messages[0].len != messages[1].len)
        return refuse(EOPNOTSUPP);
    if (refusals == 0 && every && (counts.messages + 1) % every == 0)
        refusals = 4;
    if (refusals > 1) {
        refusals--;
        counts.nacks++;
        return fails(refusals % 2 ? ENXIO : EREMOTEIO);
    }
    refusals = 0;
    count(messages[0].len);
    stretch();
    return transact(messages[0].buf, messages[1].buf, messages[0].len) ? 2 : fails(EIO);
}

int ioctl(int descriptor, unsigned long request, ...)
{
    static int (*real)(int, unsigned long, ...);
    va_list rest;
    void *argument;
    va_start(rest, request);
    argument = va_arg(rest, void *);
    va_end(rest);
    if (descriptor < 0 || descriptor != device) {
        if (!real)
            *(void **)&real = dlsym(RTLD_NEXT, "ioctl");
        return real(descriptor, request, argument);
    }
    if (_IOC_TYPE(request) == SPI_IOC_MAGIC)
        return spi(request, argument);
    return request == I2C_RDWR ? i2c(argument) : refuse(ENOTTY);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("BUS_LOG");
    FILE *log = path && counts.messages ? fopen(path, "w") : NULL;
    if (!log)
        return;
    fprintf(log, "messages %lu longest %lu refused %lu nacks %lu stretches %lu mode %u speed_hz %u\n", counts.messages,
            counts.longest, counts.refused, counts.nacks, counts.stretches, mode, speed_hz);
    fclose(log);
}
