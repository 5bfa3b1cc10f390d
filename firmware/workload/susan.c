/*
 * Smooths a grey image, and finds its edges and its corners.
 *
 * The algorithms are those of S. M. Smith and J. M. Brady, SUSAN: a new approach to low level image processing,
 * International Journal of Computer Vision 23 (1997) 45-78: how much of a round mask of 37 pixels is as bright as its
 * centre decides. Everything is computed in integers, so that every processor draws the same. Edges are not thinned
 * after their non-maximum suppression, as section 4 leaves open.
 *
 *   susan [-t THRESHOLD] WHAT IMAGE
 *
 * WHAT has letters: `s` smooths, `e` draws the edges, `c` the corners; each writes an image to standard output. IMAGE
 * is a binary PGM of 8 bits. THRESHOLD is the difference in brightness that matters [default: 20].
 */
#include <stdint.h>
#include <string.h>

#include "whole.h"

#define RADIUS      3
#define MASK_PIXELS 37
/* The comparison's value for equal brightness. */
#define ALIKE     100
#define SIDE_MAX  1024
#define EDGE_AREA (MASK_PIXELS * ALIKE * 3 / 4)
#define CORNER_AREA (MASK_PIXELS * ALIKE / 2)
/* Twice the variance of the smoothing mask, whose standard deviation is 1.5 pixels, in halves. */
#define SPREAD_HALVES 9

struct image {
    int width, height;
    uint8_t *pixel;
};

static const char *image_path;
/* By the absolute difference in brightness: for areas, and for smoothing. */
static uint8_t alike[256];
static uint16_t weight[256];
/* By place in the smoothing mask. */
static uint16_t nearness[2 * RADIUS + 1][2 * RADIUS + 1];
/* How far the mask reaches to each side, by row. */
static const int8_t reach[2 * RADIUS + 1] = { 1, 2, 3, 3, 3, 2, 1 };

static void *room_for(size_t count, size_t each)
{
    void *room = calloc(count, each);
    if (room == NULL) {
        refuse(image_path, "does not fit into memory");
    }
    return room;
}

/*
 * exp(-x) in 2^30ths, of `x` in 2^16ths. A 256th of x makes the series short; the result is squared eight times.
 */
static uint32_t exp_minus(uint32_t x)
{
    const uint64_t one = 1u << 30;
    uint64_t y, series;
    int i;

    if (x > 20u << 16) {
        return 0;
    }
    y = (uint64_t)x << 6;
    series = one - y + (y * y >> 31) - (y * y >> 30) * y / 6 / one;
    for (i = 0; i < 8; i++) {
        series = series * series >> 30;
    }
    return (uint32_t)series;
}

static void fill_tables(uint32_t threshold)
{
    uint32_t difference;
    int x, y;

    for (difference = 0; difference < 256; difference++) {
        /* (difference / threshold)^2 in 2^16ths; what is beyond 20 counts as nothing. */
        uint64_t square = ((uint64_t)difference * difference << 16) / (threshold * threshold);
        uint64_t sixth = square > 20u << 16 ? 21u << 16 : (square * square >> 16) * square >> 16;
        sixth = sixth > 20u << 16 ? 21u << 16 : sixth;
        alike[difference] = (uint8_t)(((uint64_t)ALIKE * exp_minus((uint32_t)sixth) + (1u << 29)) >> 30);
        square = square > 20u << 16 ? 21u << 16 : square;
        weight[difference] = (uint16_t)(exp_minus((uint32_t)square) >> 18);
    }
    for (y = -RADIUS; y <= RADIUS; y++) {
        for (x = -RADIUS; x <= RADIUS; x++) {
            uint32_t exponent = ((uint32_t)(x * x + y * y) << 17) / SPREAD_HALVES;
            nearness[y + RADIUS][x + RADIUS] = (uint16_t)(exp_minus(exponent) >> 18);
        }
    }
}

/* The next number of a PGM's header, behind spaces and comments. */
static int header_number(const unsigned char **at, int most)
{
    int value = 0;
    for (;;) {
        if (**at == '#') {
            while (**at != '\n' && **at != 0) {
                ++*at;
            }
        } else if (**at == ' ' || **at == '\n' || **at == '\r' || **at == '\t') {
            ++*at;
        } else {
            break;
        }
    }
    if (**at < '0' || **at > '9') {
        refuse(image_path, "expected a number in the header");
    }
    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (*(*at)++ - '0');
        if (value > most) {
            refuse(image_path, "a number in the header is too large");
        }
    }
    return value;
}

static struct image read_image(void)
{
    struct image image;
    size_t length, pixels;
    unsigned char *bytes = whole(image_path, &length);
    const unsigned char *at = bytes + 2;

    if (length < 2 || bytes[0] != 'P' || bytes[1] != '5') {
        refuse(image_path, "expected a binary PGM");
    }
    image.width = header_number(&at, SIDE_MAX);
    image.height = header_number(&at, SIDE_MAX);
    if (header_number(&at, 255) != 255) {
        refuse(image_path, "expected 255 for white");
    }
    at++;
    pixels = (size_t)image.width * (size_t)image.height;
    if (image.width <= 2 * RADIUS || image.height <= 2 * RADIUS) {
        refuse(image_path, "is smaller than the mask");
    }
    if (at > bytes + length || pixels > (size_t)(bytes + length - at)) {
        refuse(image_path, "ends before its last pixel");
    }
    image.pixel = room_for(pixels, 1);
    memcpy(image.pixel, at, pixels);
    free(bytes);
    return image;
}

static void write_image(const struct image *image)
{
    printf("P5\n%d %d\n255\n", image->width, image->height);
    fwrite(image->pixel, 1, (size_t)image->width * (size_t)image->height, stdout);
}

static struct image copy_of(const struct image *image)
{
    struct image copy = *image;
    size_t pixels = (size_t)image->width * (size_t)image->height;
    copy.pixel = room_for(pixels, 1);
    memcpy(copy.pixel, image->pixel, pixels);
    return copy;
}

static unsigned distance(unsigned a, unsigned b)
{
    return a > b ? a - b : b - a;
}

/* The middle of the eight neighbours, for what is alike to nothing around. */
static uint8_t median(const uint8_t *pixel, int width)
{
    uint8_t sorted[8];
    int count = 0, x, y, i;

    for (y = -1; y <= 1; y++) {
        for (x = -1; x <= 1; x++) {
            uint8_t value = pixel[y * width + x];
            if (x == 0 && y == 0) {
                continue;
            }
            for (i = count++; i > 0 && sorted[i - 1] > value; i--) {
                sorted[i] = sorted[i - 1];
            }
            sorted[i] = value;
        }
    }
    return (uint8_t)((sorted[3] + sorted[4]) / 2);
}

/* Section 5: the mean of those around, by nearness and likeness, without the pixel itself. */
static void smooth(const struct image *image)
{
    struct image out = copy_of(image);
    int row, column, x, y;

    for (row = RADIUS; row < image->height - RADIUS; row++) {
        for (column = RADIUS; column < image->width - RADIUS; column++) {
            const uint8_t *centre = image->pixel + row * image->width + column;
            uint32_t total = 0, sum = 0;
            for (y = -RADIUS; y <= RADIUS; y++) {
                const uint8_t *line = centre + y * image->width;
                for (x = -RADIUS; x <= RADIUS; x++) {
                    uint32_t part = (uint32_t)nearness[y + RADIUS][x + RADIUS] *
                                        weight[distance(line[x], *centre)] >> 12;
                    total += part;
                    sum += part * line[x];
                }
            }
            /* The centre's own part is the largest there is. */
            total -= (uint32_t)nearness[RADIUS][RADIUS] * weight[0] >> 12;
            sum -= ((uint32_t)nearness[RADIUS][RADIUS] * weight[0] >> 12) * *centre;
            out.pixel[row * image->width + column] =
                total == 0 ? median(centre, image->width) : (uint8_t)(sum / total);
        }
    }
    write_image(&out);
    free(out.pixel);
}

/* How much of the mask is like its centre. */
static int area(const uint8_t *centre, int width)
{
    int sum = 0, x, y;
    for (y = -RADIUS; y <= RADIUS; y++) {
        const uint8_t *line = centre + y * width;
        for (x = -reach[y + RADIUS]; x <= reach[y + RADIUS]; x++) {
            sum += alike[distance(line[x], *centre)];
        }
    }
    return sum;
}

/* Sums over what is like the centre: of places, and of their products. */
struct moments {
    int x, y, xx, yy, xy;
};

static struct moments moments_of(const uint8_t *centre, int width)
{
    struct moments m = { 0, 0, 0, 0, 0 };
    int x, y;
    for (y = -RADIUS; y <= RADIUS; y++) {
        const uint8_t *line = centre + y * width;
        for (x = -reach[y + RADIUS]; x <= reach[y + RADIUS]; x++) {
            int like = alike[distance(line[x], *centre)];
            m.x += like * x;
            m.y += like * y;
            m.xx += like * x * x;
            m.yy += like * y * y;
            m.xy += like * x * y;
        }
    }
    return m;
}

/* Each pixel's response: what its area lacks of `most`. */
static int16_t *responses(const struct image *image, int most)
{
    int16_t *response = room_for((size_t)image->width * (size_t)image->height, sizeof *response);
    int row, column;

    for (row = RADIUS; row < image->height - RADIUS; row++) {
        for (column = RADIUS; column < image->width - RADIUS; column++) {
            int at = row * image->width + column;
            int found = area(image->pixel + at, image->width);
            response[at] = (int16_t)(found < most ? most - found : 0);
        }
    }
    return response;
}

/*
 * The step across the edge at `centre`, in a line `width` wide (section 4): towards the centre of gravity where the
 * area lies beside the pixel, else across the longer extent of the area.
 */
static int across(const uint8_t *centre, int width, int found)
{
    struct moments m = moments_of(centre, width);
    int x, y;

    if (found > 6 * ALIKE && m.x * m.x + m.y * m.y > found * found / 2) {
        x = m.x;
        y = m.y;
    } else if (m.yy > 2 * m.xx) {
        return 1;
    } else if (m.xx > 2 * m.yy) {
        return width;
    } else {
        /* The area lies along one diagonal; the step is along the other. */
        return m.xy > 0 ? width - 1 : width + 1;
    }
    if (abs(y) > 2 * abs(x)) {
        return width;
    }
    if (abs(x) > 2 * abs(y)) {
        return 1;
    }
    return (x > 0) == (y > 0) ? width + 1 : width - 1;
}

static void edges(const struct image *image)
{
    struct image out = copy_of(image);
    int16_t *response = responses(image, EDGE_AREA);
    int row, column;

    for (row = RADIUS; row < image->height - RADIUS; row++) {
        for (column = RADIUS; column < image->width - RADIUS; column++) {
            int at = row * image->width + column, step;
            if (response[at] == 0) {
                continue;
            }
            step = across(image->pixel + at, image->width, EDGE_AREA - response[at]);
            if (response[at] > response[at - step] && response[at] >= response[at + step]) {
                out.pixel[at] = 0;
            }
        }
    }
    write_image(&out);
    free(response);
    free(out.pixel);
}

/*
 * Whether the area of a corner at `centre` is one piece (section 3): its centre of gravity is away from the pixel,
 * and what lies between and beyond, up to the mask's end, is like the pixel.
 */
static int is_one_piece(const uint8_t *centre, int width, int found)
{
    struct moments m = moments_of(centre, width);
    int longer = abs(m.x) > abs(m.y) ? abs(m.x) : abs(m.y), i;

    if (m.x * m.x + m.y * m.y < found * found / 2) {
        return 0;
    }
    for (i = 1; i <= RADIUS - 1; i++) {
        /* The i-th step, rounded to the nearest pixel. */
        int x = (2 * i * m.x + (m.x > 0 ? longer : -longer)) / (2 * longer);
        int y = (2 * i * m.y + (m.y > 0 ? longer : -longer)) / (2 * longer);
        if (alike[distance(centre[y * width + x], *centre)] < ALIKE / 2) {
            return 0;
        }
    }
    return 1;
}

/* Whether no pixel in five by five has more, nor an earlier one as much. */
static int is_largest(const int16_t *response, int width)
{
    int x, y;
    for (y = -2; y <= 2; y++) {
        for (x = -2; x <= 2; x++) {
            int other = response[y * width + x];
            int is_earlier = y < 0 || (y == 0 && x < 0);
            if (other > *response || (is_earlier && other == *response)) {
                return 0;
            }
        }
    }
    return 1;
}

static void corners(const struct image *image)
{
    struct image out = copy_of(image);
    int16_t *response = responses(image, CORNER_AREA);
    int row, column, x, y;

    for (row = RADIUS; row < image->height - RADIUS; row++) {
        for (column = RADIUS; column < image->width - RADIUS; column++) {
            int at = row * image->width + column;
            if (response[at] != 0 &&
                !is_one_piece(image->pixel + at, image->width, CORNER_AREA - response[at])) {
                response[at] = 0;
            }
        }
    }
    for (row = RADIUS; row < image->height - RADIUS; row++) {
        for (column = RADIUS; column < image->width - RADIUS; column++) {
            int at = row * image->width + column;
            if (response[at] == 0 || !is_largest(response + at, image->width)) {
                continue;
            }
            for (y = -1; y <= 1; y++) {
                for (x = -1; x <= 1; x++) {
                    out.pixel[at + y * image->width + x] = x == 0 && y == 0 ? 0 : 255;
                }
            }
        }
    }
    write_image(&out);
    free(response);
    free(out.pixel);
}

int main(int argc, char **argv)
{
    struct image image;
    const char *what;
    int threshold = 20;

    if (argc == 5 && strcmp(argv[1], "-t") == 0) {
        threshold = atoi(argv[2]);
        argv += 2;
        argc -= 2;
    }
    if (argc != 3 || argv[1][strspn(argv[1], "sec")] != 0 || threshold < 1 || threshold > 255) {
        fprintf(stderr, "usage: susan [-t 1..255] [s][e][c] IMAGE\n");
        return 2;
    }
    image_path = argv[2];
    image = read_image();
    fill_tables((uint32_t)threshold);
    for (what = argv[1]; *what != 0; what++) {
        if (*what == 's') {
            smooth(&image);
        } else if (*what == 'e') {
            edges(&image);
        } else {
            corners(&image);
        }
    }
    free(image.pixel);
    return 0;
}
