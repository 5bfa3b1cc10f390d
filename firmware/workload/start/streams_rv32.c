/*
 * Standard input, output and errors for picolibc, which leaves them to whoever has a system: files 0, 1 and 2,
 * buffered.
 *
 * Owns that exit() writes what is still buffered. Leaves every call to calls.c.
 */
#include <stdio.h>
#include <unistd.h>

#include <stdio-bufio.h>

#define BUFFER_BYTES 1024

static char in_buffer[BUFFER_BYTES], out_buffer[BUFFER_BYTES], error_buffer[1];

static struct __file_bufio in =
    FDEV_SETUP_BUFIO(0, in_buffer, sizeof in_buffer, read, write, lseek, close, __SRD, 0);
static struct __file_bufio out =
    FDEV_SETUP_BUFIO(1, out_buffer, sizeof out_buffer, read, write, lseek, close, __SWR, 0);
static struct __file_bufio errors =
    FDEV_SETUP_BUFIO(2, error_buffer, sizeof error_buffer, read, write, lseek, close, __SWR, 0);

FILE *const stdin = &in.xfile.cfile.file;
FILE *const stdout = &out.xfile.cfile.file;
FILE *const stderr = &errors.xfile.cfile.file;

__attribute__((destructor)) static void write_rest(void)
{
    fflush(stdout);
}
